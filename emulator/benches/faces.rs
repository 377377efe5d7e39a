//! How fast the ARC face creates jobs, beside a bare axum echo in the same run.
//!
//! Each server has one thread; both get the same requests over the same kept
//! connections. Beside the rate on the wall stands the rate per second of the
//! server's own processor time, which is what "per core" means where clients
//! and server share processors.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark"
)]

use axum::Router;
use axum::routing::post;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::resource::Resources;
use gridrig_core::time::Decimal;
use gridrig_drivers::real_time::RunClock;
use gridrig_emulator::faces::arc::Setup;
use gridrig_emulator::faces::{FaceKind, Faces};
use gridrig_emulator::{Config, spawn};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

const REQUESTS: usize = 20_000;
const CONNECTIONS: usize = 4;

/// What ARC's client 6.17 sends for a job.
const ADL: &str = r#"<adl:ActivityDescription xmlns:emiestypes="http://www.eu-emi.eu/es/2010/12/types" xmlns:nordugrid-adl="http://www.nordugrid.org/es/2011/12/nordugrid-adl" xmlns:adl="http://www.eu-emi.eu/es/2010/12/adl">
  <adl:ActivityIdentification>
    <adl:Name>emu2</adl:Name>
  </adl:ActivityIdentification>
  <adl:Application>
    <adl:Executable>
      <adl:Path>/bin/sleep</adl:Path>
      <adl:Argument>86400</adl:Argument>
    </adl:Executable>
    <adl:Output>out.txt</adl:Output>
    <adl:Error>err.txt</adl:Error>
  </adl:Application>
  <adl:Resources>
    <adl:SlotRequirement>
      <adl:NumberOfSlots>3</adl:NumberOfSlots>
    </adl:SlotRequirement>
    <adl:QueueName>batch</adl:QueueName>
    <adl:WallTime>600</adl:WallTime>
  </adl:Resources>
  <adl:DataStaging>
    <adl:OutputFile>
      <adl:Name>out.txt</adl:Name>
    </adl:OutputFile>
    <adl:OutputFile>
      <adl:Name>err.txt</adl:Name>
    </adl:OutputFile>
  </adl:DataStaging>
</adl:ActivityDescription>"#;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    println!("server             requests   per second   per second of its processor");
    let echo = echo_server();
    let bare = report("bare axum echo", "echo", echo, "/", 200);
    let clock = RunClock::starting_in(Duration::ZERO, Decimal::ONE);
    let nodes = Resources::homogeneous(450);
    let mut config = Config::new("bench", nodes, DisciplineKind::FirstInFirstFit, clock);
    config.faces = Faces::of(&[FaceKind::Arc]);
    config.faces.arc = Some(Setup {
        max_jobs: 2 * REQUESTS,
        ..Setup::default()
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let lrms = runtime.block_on(spawn(config, listener)).unwrap();
    let path = "/arex/rest/1.0/jobs?action=new";
    let arc = report("ARC job creation", "lrms-bench", lrms.address(), path, 201);
    println!("times the echo: {:.2}", bare / arc);
    runtime.block_on(lrms.stop()).unwrap();
}

/// An echo in a thread of its own.
fn echo_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    std::thread::Builder::new()
        .name("echo".to_owned())
        .spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let router = Router::new().route("/", post(async |body: String| body));
                axum::serve(listener, router).await.unwrap();
            });
        })
        .unwrap();
    address
}

/// Processor seconds of the thread of this name, in hundredths of a second.
fn processor_s(thread: &str) -> f64 {
    let mut seconds = 0.0;
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let stat = std::fs::read_to_string(task.unwrap().path().join("stat")).unwrap_or_default();
        let Some((name, rest)) = stat.rsplit_once(") ") else {
            continue;
        };
        if name.split_once('(').is_some_and(|(_, name)| name == thread) {
            let fields: Vec<f64> = rest
                .split(' ')
                .map(|field| field.parse().unwrap_or(0.0))
                .collect();
            // utime and stime, fields 14 and 15 of proc(5).
            seconds += (fields[11] + fields[12]) / 100.0;
        }
    }
    seconds
}

/// Sends the requests; answers the rate per second of the server's processor.
fn report(name: &str, thread: &str, address: SocketAddr, path: &str, status: u16) -> f64 {
    let (began, used) = (Instant::now(), processor_s(thread));
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(move || send(address, path, status, REQUESTS / CONNECTIONS));
        }
    });
    let wall = began.elapsed().as_secs_f64();
    let used = processor_s(thread) - used;
    let (rate, per_core) = (REQUESTS as f64 / wall, REQUESTS as f64 / used);
    println!("{name:<18} {REQUESTS:>8} {rate:>12.0} {per_core:>29.0}");
    per_core
}

/// Sends so many requests over one connection, each after the last answer.
fn send(address: SocketAddr, path: &str, status: u16, requests: usize) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nAccept: text/xml\r\nContent-Length: {}\r\n\r\n{ADL}",
        ADL.len()
    );
    let expected = format!("HTTP/1.1 {status}");
    let mut buffer = vec![0; 64 * 1024];
    for _ in 0..requests {
        stream.write_all(request.as_bytes()).unwrap();
        let mut have = 0;
        loop {
            have += stream.read(&mut buffer[have..]).unwrap();
            let text = std::str::from_utf8(&buffer[..have]).unwrap();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head
                    .lines()
                    .find_map(|line| line.strip_prefix("content-length: "));
                if body.len() >= length.unwrap().parse().unwrap() {
                    assert!(head.starts_with(&expected), "{text}");
                    assert!(status != 201 || body.contains("<status-code>201"), "{text}");
                    break;
                }
            }
        }
    }
}
