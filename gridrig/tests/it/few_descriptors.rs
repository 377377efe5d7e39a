//! A service to which more connections come than it has file descriptors.

use crate::patience::Patience;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn a_client_is_served_beside_slow_ones_that_take_every_descriptor() {
    let words = "ulimit -n 40; exec \"$0\" emulator --name a1 --processors 4";
    let mut service = Command::new("sh")
        .args(["-c", words, env!("CARGO_BIN_EXE_gridrig")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(service.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    let url = line["listening"].as_str().unwrap();
    let address = url.strip_prefix("http://").unwrap();
    let connect = |text: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let mut slow = Vec::new();
    for _ in 0..5 {
        slow.extend((0..60).map(|_| connect("GET / HT")));
        let head = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        let mut answer = String::new();
        connect(head).read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("ok"), "{answer}");
    }
    service.kill().unwrap();
    let said = service.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr);
    let mut lines = said.lines();
    let first = lines.next().unwrap_or_default();
    assert!(
        first.contains("fewer file descriptors") && first.contains("most=40"),
        "{said}"
    );
    assert!(lines.count() <= 1, "{said}");
}

#[test]
fn a_service_takes_the_descriptors_that_it_may_have_for_its_connections() {
    let words = "ulimit -Sn 100; exec \"$0\" emulator --name a1 --processors 4";
    let mut service = Command::new("sh")
        .args(["-c", words, env!("CARGO_BIN_EXE_gridrig")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(service.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    let limits = format!("/proc/{}/limits", service.id());
    let patience = Patience::seconds(60);
    loop {
        let limits = std::fs::read_to_string(&limits).unwrap();
        let files = limits
            .lines()
            .find(|line| line.starts_with("Max open files"));
        if files.unwrap().split_whitespace().nth(3) == Some("1280") {
            break;
        }
        patience.wait(&limits);
    }
    service.kill().unwrap();
    let said = service.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stderr), "");
}
