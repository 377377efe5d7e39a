//! `CreateActivity` over loopback beside a bare axum echo that takes and gives
//! as many bytes. Each server has one thread, whose processor time is what a
//! rate per core is counted by (Linux only; elsewhere by the wall clock); the
//! client writes ready-made requests from another. Quote the ratio: rates
//! depend on the machine.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench measures wall time, prints, and fails by panicking"
)]

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::resource::Resources;
use gridrig_core::time::Decimal;
use gridrig_drivers::real_time::RunClock;
use gridrig_emulator::faces::bes::Setup;
use gridrig_emulator::{Config, spawn};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Connections that ask side by side.
const CONNECTIONS: usize = 8;
/// How long each of the two is asked, and how often.
const ROUND: Duration = Duration::from_secs(3);
const ROUNDS: usize = 3;

const REQUEST: &str = r#"<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body><bes:CreateActivity xmlns:bes="http://schemas.ggf.org/bes/2006/08/bes-factory"><bes:ActivityDocument><jsdl:JobDefinition xmlns:jsdl="http://schemas.ggf.org/jsdl/2005/11/jsdl" xmlns:p="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix"><jsdl:JobDescription><jsdl:JobIdentification><jsdl:JobName>bench runtime=1h</jsdl:JobName></jsdl:JobIdentification><jsdl:Application><p:POSIXApplication><p:Executable>./wrapper.sh</p:Executable><p:Output>stdout</p:Output><p:Error>stderr</p:Error><p:Environment name="GW_HOSTNAME">host</p:Environment><p:Environment name="GW_USER">user</p:Environment><p:Environment name="GW_JOB_ID">0</p:Environment></p:POSIXApplication></jsdl:Application><jsdl:Resources><jsdl:TotalCPUCount><jsdl:Exact>1</jsdl:Exact></jsdl:TotalCPUCount></jsdl:Resources></jsdl:JobDescription></jsdl:JobDefinition></bes:ActivityDocument></bes:CreateActivity></soapenv:Body></soapenv:Envelope>"#;

fn main() {
    let lrms = lrms();
    let size = once(lrms);
    let echo = echo(size);
    assert_eq!(once(echo), size);
    let (mut bes, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(rate(echo, "echo"));
        bes.push(rate(lrms, "lrms-bench"));
    }
    let (bes, bare) = (median(&mut bes), median(&mut bare));
    println!(
        "request {} bytes, answer {size} bytes, {CONNECTIONS} connections",
        REQUEST.len()
    );
    println!("bare axum echo   {bare:>8.0} per second and core");
    println!("CreateActivity   {bes:>8.0} per second and core (wanted: 2000)");
    println!("ratio            {:>8.2}", bes / bare);
    if bes < 2000.0 {
        println!("the wanted rate is missed on this machine in this run");
        std::process::exit(1);
    }
}

/// An LRMS with the face, in a thread of its own.
fn lrms() -> SocketAddr {
    let (address, addresses) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let clock = RunClock::starting_in(Duration::ZERO, Decimal::from_whole(1));
            let nodes = Resources::homogeneous(1_000_000);
            let discipline = DisciplineKind::FirstInFirstFit;
            let mut config = Config::new("bench", nodes, discipline, clock);
            config.faces.bes = Some(Setup::default());
            let door = TcpListener::bind("127.0.0.1:0").unwrap();
            let handle = spawn(config, door).await.unwrap();
            address.send(handle.address()).unwrap();
            std::future::pending::<()>().await;
        });
    });
    addresses.recv().unwrap()
}

/// A server that reads the body and answers with so many bytes.
fn echo(size: usize) -> SocketAddr {
    let door = TcpListener::bind("127.0.0.1:0").unwrap();
    door.set_nonblocking(true).unwrap();
    let address = door.local_addr().unwrap();
    let serve = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(door).unwrap();
            let answer = move |body: Bytes| async move {
                let text = body.iter().copied().cycle().take(size).collect::<Vec<u8>>();
                ([("content-type", "text/xml; charset=utf-8")], text)
            };
            let router = Router::new().route("/services/bes", post(answer));
            axum::serve(listener, router).await.unwrap();
        });
    };
    std::thread::Builder::new()
        .name("echo".into())
        .spawn(serve)
        .unwrap();
    address
}

struct Connection {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Connection {
    fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        Connection { stream, reader }
    }

    /// The size of the answer's body.
    fn read(&mut self) -> usize {
        let (mut size, mut line) = (0, String::new());
        self.reader.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        loop {
            line.clear();
            self.reader.read_line(&mut line).unwrap();
            let header = line.trim_end().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(length) = header.strip_prefix("content-length:") {
                size = length.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; size];
        self.reader.read_exact(&mut body).unwrap();
        size
    }
}

fn message() -> Vec<u8> {
    let head = format!(
        "POST /services/bes HTTP/1.1\r\nhost: 127.0.0.1:1\r\ncontent-type: text/xml; charset=utf-8\r\n\
         content-length: {}\r\n\r\n",
        REQUEST.len()
    );
    [head.as_bytes(), REQUEST.as_bytes()].concat()
}

fn once(address: SocketAddr) -> usize {
    let mut connection = Connection::to(address);
    connection.stream.write_all(&message()).unwrap();
    connection.read()
}

/// Processor seconds that the threads of this name have used; `None` where the
/// system does not tell. Linux counts in hundredths of a second.
fn processor_seconds(name: &str) -> Option<f64> {
    let (mut ticks, mut found) = (0.0, false);
    for task in std::fs::read_dir("/proc/self/task").ok()?.flatten() {
        let read = |file: &str| std::fs::read_to_string(task.path().join(file)).ok();
        if read("comm").is_some_and(|comm| comm.trim() == name) {
            let stat = read("stat")?;
            let (_, fields) = stat.rsplit_once(')')?;
            let fields: Vec<&str> = fields.split_whitespace().collect();
            found = true;
            // utime and stime, fields 14 and 15 of proc_pid_stat(5).
            ticks += fields.get(11)?.parse::<f64>().ok()?;
            ticks += fields.get(12)?.parse::<f64>().ok()?;
        }
    }
    found.then_some(ticks / 100.0)
}

/// Answers per second of the server's thread over one round.
fn rate(address: SocketAddr, thread: &str) -> f64 {
    let message = message();
    let mut connections: Vec<Connection> =
        (0..CONNECTIONS).map(|_| Connection::to(address)).collect();
    let before = processor_seconds(thread);
    let (begin, mut answers) = (Instant::now(), 0_u32);
    while begin.elapsed() < ROUND {
        for connection in &mut connections {
            connection.stream.write_all(&message).unwrap();
        }
        for connection in &mut connections {
            connection.read();
            answers += 1;
        }
    }
    let wall = begin.elapsed().as_secs_f64();
    let used = processor_seconds(thread).zip(before);
    let seconds = used.map_or(wall, |(after, before)| after - before);
    f64::from(answers) / seconds
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
