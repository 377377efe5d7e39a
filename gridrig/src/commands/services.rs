//! The services, one by one: `gridrig emulator`, `broker`, `replay` and `load`.

mod broker;
mod emulator;
mod load;
mod replay;

pub(super) use broker::broker;
pub(super) use emulator::emulator;
pub(super) use load::load;
pub(super) use replay::replay;

use crate::cli::ServiceArgs;
use crate::exit::Failure;
use anyhow::anyhow;
use gridrig_core::agent::Memory;
use gridrig_drivers::real_time::RunClock;
use gridrig_service::JournalSetup;
use gridrig_service::http::NotifyHosts;
use gridrig_service::tls::{ServerTls, TlsFiles};
use std::fmt::Debug;
use std::future::Future;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The clock of a service: the one it is told, or one that starts now.
fn clock(args: &ServiceArgs) -> RunClock {
    match args.epoch {
        Some(epoch) => RunClock::with_epoch(epoch, args.speed),
        None => RunClock::starting_in(Duration::ZERO, args.speed),
    }
}

/// How a service of this name keeps a journal in the file. One of other settings would
/// decide otherwise on what it was told, so its journal is told apart.
fn journal(path: &Path, memory: Memory, name: &str, settings: &impl Debug) -> JournalSetup {
    let mut hasher = DefaultHasher::new();
    format!("{settings:?}").hash(&mut hasher);
    JournalSetup {
        path: path.to_owned(),
        memory,
        of: format!("{name} {:016x}", hasher.finish()),
        ..JournalSetup::default()
    }
}

/// Where clients of a service may have news posted to.
fn notify_hosts(args: &ServiceArgs) -> NotifyHosts {
    match args.notify_anywhere {
        true => NotifyHosts::Anywhere,
        false => NotifyHosts::Loopback,
    }
}

/// What a server shows of itself, if it was given a certificate.
fn server_tls(
    cert: Option<&PathBuf>,
    key: Option<&PathBuf>,
    client_ca: Option<&PathBuf>,
) -> anyhow::Result<Option<ServerTls>> {
    let files = cert.cloned().zip(key.cloned()).map(|(cert, key)| TlsFiles {
        cert,
        key,
        client_ca: client_ca.cloned(),
    });
    Ok(files.as_ref().map(ServerTls::read).transpose()?)
}

/// On how many threads a service runs.
#[derive(Clone, Copy)]
enum Threads {
    /// On this one. Where one task owns everything that matters, others only
    /// hand work to each other, and each time a processor has to wake up.
    One,
    /// As many as there are processors.
    All,
}

/// Runs a service until Ctrl-C. An address that cannot be bound is a mistake
/// of the user's, anything later a failure.
fn serve(
    listen: SocketAddr,
    threads: Threads,
    service: impl Future<Output = std::io::Result<()>>,
) -> Result<(), Failure> {
    let mut builder = match threads {
        Threads::One => tokio::runtime::Builder::new_current_thread(),
        Threads::All => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = builder.enable_all().build().map_err(Failure::run)?;
    runtime
        .block_on(service)
        .map_err(|source| match source.kind() {
            std::io::ErrorKind::AddrInUse
            | std::io::ErrorKind::AddrNotAvailable
            | std::io::ErrorKind::PermissionDenied => Failure::input(anyhow!(
                "--listen {listen}: {source} (expected an address that is free, or port 0)"
            )),
            std::io::ErrorKind::InvalidInput => Failure::input(source),
            _ => Failure::run(source),
        })
}
