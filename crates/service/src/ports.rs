//! Ports for programs that have to be told theirs before they start.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the range from which systems draw the ports of everybody else's
/// connections (32768 and up on Linux, 49152 and up by IANA), so that none is
/// taken away between this call and the program's own.
const FIRST: u16 = 20_000;
const PER_PROCESS: u16 = 200;
const PROCESSES: u32 = 60;

/// So many free ports of 127.0.0.1, each different. Processes that ask at the
/// same time mostly look in places of their own, and one process is not given
/// a port twice before it has been given 199 others.
///
/// # Errors
/// When fewer are free.
pub fn free_ports(count: usize) -> io::Result<Vec<u16>> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let place = u16::try_from(std::process::id() % PROCESSES).unwrap_or(0);
    let from = FIRST + place * PER_PROCESS;
    let ports: Vec<u16> = std::iter::repeat_with(|| NEXT.fetch_add(1, Ordering::Relaxed))
        .take(usize::from(PER_PROCESS))
        .map(|step| from + step % PER_PROCESS)
        .filter(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .take(count)
        .collect();
    match ports.len() == count {
        true => Ok(ports),
        false => {
            let to = from + PER_PROCESS - 1;
            let found = ports.len();
            Err(io::Error::other(format!(
                "{found} ports of 127.0.0.1 from {from} to {to} are free: expected {count}"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ports_are_free_and_different() {
        let ports = free_ports(20).unwrap();
        let more = free_ports(20).unwrap();
        let all: BTreeSet<u16> = ports.iter().chain(&more).copied().collect();
        assert_eq!(all.len(), 40);
        for port in ports {
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        }
    }

    #[test]
    fn more_than_there_are_is_said() {
        let said = free_ports(1_000).unwrap_err().to_string();
        assert!(said.contains("expected 1000"), "{said}");
    }
}
