//! Every operation of the peer protocol over loopback, in JSON and in SOAP,
//! beside a bare axum echo that takes and gives as many bytes. Broker and echo
//! live on one thread and one runtime: whether the kernel wakes that thread on
//! the client's core or on another one decides more than what it has to do, and
//! has to be the same for both. They are asked on one connection each, in blocks
//! that take turns. Ratios are medians over pairs of blocks; quote them: times
//! depend on the machine and on its neighbours.
//!
//! `LA_GRID_ROUNDS` says how often each is asked (2,000 by default).
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench measures wall time, prints, and fails by panicking"
)]

use axum::Router;
use axum::body::Bytes;
use axum::extract::Path;
use axum::routing::post;
use gridrig_core::agent::BrokerSetup;
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::decision::About;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster, Link};
use gridrig_core::ids::JobId;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::JobSpec;
use gridrig_core::load::LoadSample;
use gridrig_core::resource::Resources;
use gridrig_core::session::Roles;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_drivers::real_time::RunClock;
use gridrig_metabroker_stub::lagrid::{LinkSetup, Links};
use gridrig_metabroker_stub::{Config, Liveness, Peer, run};
use gridrig_protocol::jsdl::JobDefinition;
use gridrig_protocol::lagrid::{
    Auth, CancelJob, ClusterReport, Codec, ConnEvent, Form, Heartbeat, JSON_PATH, JobLanguage,
    JobNews, JobReport, JobState, NotifyConn, NotifyJob, OpenConn, OpenConnAnswer, Origin,
    Proposal, QueryJob, Reference, Request, RequestResourceData, ResourceLanguage, ResourceUpdate,
    Role, SOAP_PATH, SendResourceData, SubmitJob, UpdateKind, Verdict, envelope,
};
use gridrig_protocol::rest::LoadReport;
use gridrig_protocol::soap::{Envelope, Version};
use gridrig_protocol::tls::peer_client;
use gridrig_service::http::{Monitoring, NotifyHosts};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// As in the command.
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Clusters of each of the two domains (LA Grid's have 7 or 8).
const CLUSTERS: u16 = 8;
/// Requests of a block.
const BLOCK: u32 = 50;
/// What a median may be of the echo's.
const MOST: [(Codec, f64); 2] = [(Codec::Json, 2.0), (Codec::Soap11, 4.0)];

fn main() {
    let rounds = std::env::var("LA_GRID_ROUNDS").map_or(2000, |text| text.parse().unwrap());
    let (broker, echo) = serve();
    println!("milliseconds from the first byte sent to the last byte received");
    println!(
        "{rounds} requests of each kind, in blocks of {BLOCK} in turn with an echo of the same \
         sizes on the same thread; ratios are medians over pairs of blocks"
    );
    println!();
    println!(
        "{:<20} {:<5} {:>6} {:>6}  {:>7} {:>7}  {:>7} {:>7}  {:>5} {:>5}   LA Grid, Table 3",
        "operation", "codec", "in B", "out B", "p50", "p99", "echo50", "echo99", "r50", "r99"
    );
    let mut missed = Vec::new();
    for (codec, most) in MOST {
        let mut bench = Bench {
            broker: Connection::to(broker),
            echo: Connection::to(echo),
            codec,
            rounds,
        };
        for (name, ratio) in bench.all() {
            if ratio > most {
                missed.push(format!("{name} in {}: {ratio:.2} > {most}", codec.name()));
            }
        }
    }
    println!();
    if missed.is_empty() {
        println!("every median is within 2x (JSON) and 4x (SOAP) of the echo's");
        return;
    }
    println!("missed on this machine in this run: {}", missed.join("; "));
    std::process::exit(1);
}

/// A broker of domain a that decides nothing while the bench lasts, with a
/// session for domain b, and an echo, both on one thread.
fn serve() -> (SocketAddr, SocketAddr) {
    let door = || TcpListener::bind("127.0.0.1:0").unwrap();
    let (broker_door, echo_door) = (door(), door());
    let address = |door: &TcpListener| door.local_addr().unwrap();
    let addresses = (address(&broker_door), address(&echo_door));
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let broker = run(config(), broker_door, std::future::pending());
            let (broker, ()) = tokio::join!(broker, echo(echo_door));
            broker.unwrap();
        });
    });
    addresses
}

fn config() -> Config {
    let site = |index: u16, name: &str| Domain {
        name: name.to_owned(),
        broker: BrokerSettings {
            interval: SimDuration::from_secs(36_000),
            ..BrokerSettings::default()
        },
        clusters: (index * CLUSTERS..(index + 1) * CLUSTERS)
            .map(ClusterId)
            .collect(),
        topology: Default::default(),
    };
    let cluster = |index: u16| GridCluster {
        name: format!("c{index}"),
        domain: Some(DomainId(index / CLUSTERS)),
        config: ClusterConfig::new(
            ClusterId(index),
            Resources::homogeneous(64),
            DisciplineKind::Fcfs,
        ),
    };
    let link = |consumer: u16, provider: u16| Link {
        consumer: DomainId(consumer),
        provider: DomainId(provider),
        latency: SimDuration::from_millis(1),
        bandwidth: None,
    };
    let grid = Grid {
        domains: vec![site(0, "a"), site(1, "b")],
        clusters: (0..2 * CLUSTERS).map(cluster).collect(),
        links: vec![link(0, 1), link(1, 0)],
        hours: Vec::new(),
    };
    // Nobody listens there: b is this bench, and takes no messages.
    let nowhere = "http://127.0.0.1:9";
    let peer = Peer {
        name: "b".to_owned(),
        url: nowhere.to_owned(),
    };
    let client = peer_client(None, Duration::from_secs(5)).unwrap();
    let setup = LinkSetup::new("b", nowhere, Codec::Json, Roles::new(true, true));
    let broker = BrokerSetup::of(&grid, DomainId(0), 1).unwrap();
    let setups = BTreeMap::from([(DomainId(1), setup)]);
    Config {
        links: Links::new(("a", &broker.names), 1, &client, setups),
        setup: broker,
        lrms: (0..CLUSTERS)
            .map(|index| (ClusterId(index), nowhere.to_owned()))
            .collect(),
        peers: BTreeMap::from([(DomainId(1), peer)]),
        peer_door: None,
        journal: None,
        clock: RunClock::starting_in(Duration::ZERO, Decimal::ONE),
        notify: NotifyHosts::default(),
        hosts: Vec::new(),
        monitoring: Monitoring::default(),
        keep_events: 1000,
        decisions: About::None,
        faults: Default::default(),
        liveness: Liveness::default(),
        introduces: None,
        asks: false,
    }
}

/// A server that reads the body and answers with as many bytes as the path
/// says.
async fn echo(door: TcpListener) {
    door.set_nonblocking(true).unwrap();
    let listener = tokio::net::TcpListener::from_std(door).unwrap();
    let answer = async |Path(size): Path<usize>, body: Bytes| {
        let text: Vec<u8> = body.iter().copied().cycle().take(size).collect();
        ([("content-type", "text/xml; charset=utf-8")], text)
    };
    let router = Router::new().route("/echo/{size}", post(answer));
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router).await.unwrap();
}

struct Connection {
    address: SocketAddr,
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Connection {
    fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        Connection {
            address,
            stream,
            reader,
        }
    }

    /// Posts a body; how long it took, and the answer.
    fn post(&mut self, path: &str, media: &str, body: &[u8]) -> (Duration, Vec<u8>) {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: {media}\r\ncontent-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        let message = [head.as_bytes(), body].concat();
        let begin = Instant::now();
        self.stream.write_all(&message).unwrap();
        let answer = self.read();
        (begin.elapsed(), answer)
    }

    fn read(&mut self) -> Vec<u8> {
        let (mut size, mut line) = (0, String::new());
        self.reader.read_line(&mut line).unwrap();
        let good = line.starts_with("HTTP/1.1 200");
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
        assert!(good, "{}", String::from_utf8_lossy(&body));
        body
    }
}

struct Bench {
    broker: Connection,
    echo: Connection,
    codec: Codec,
    rounds: u32,
}

impl Bench {
    /// Every operation; the ratio of its median to the echo's.
    fn all(&mut self) -> Vec<(&'static str, f64)> {
        let connection = self.open().connection;
        // Jobs have one number in the whole run, so JSON and SOAP take turns.
        let first = match self.codec {
            Codec::Json => 0,
            _ => 10_000_000,
        };
        let name = || connection.clone();
        let report = |job| JobReport {
            job,
            state: JobState::Completed,
            reason: None,
            cluster: Some(0),
            start_ns: Some(1),
            finish_ns: Some(2),
        };
        let jobs = self.rounds;
        vec![
            self.time("15 to 659", |_| opening(Some(connection.clone()))),
            self.time("-", |number| Heartbeat {
                connection: name(),
                sequence: u64::from(number) + 1,
                incarnation: 1,
            }),
            self.time("69 to 983", |_| RequestResourceData {
                connection: name(),
                form: None,
                since: None,
            }),
            self.time("-", |number| push(name(), u64::from(number) + 1)),
            self.time("124 to 3162", |number| submission(name(), first + number)),
            self.time("-", |number| QueryJob {
                connection: name(),
                job: first + number % jobs,
            }),
            self.time("-", |number| NotifyJob {
                connection: name(),
                letter: None,
                meant_ns: None,
                news: JobNews::State,
                report: report(first + number),
                reference: Reference::of_job("", first + number).parameters,
            }),
            self.time("-", |number| CancelJob {
                connection: name(),
                job: first + number % jobs,
            }),
            self.time("-", |_| NotifyConn {
                connection: name(),
                event: ConnEvent::Error,
                code: "bench".to_owned(),
                reason: "nothing is wrong".to_owned(),
            }),
        ]
    }

    /// Opens a connection.
    fn open(&mut self) -> OpenConnAnswer {
        let request = opening(None);
        let (path, media, body) = self.written(&request);
        let (_, answer) = self.broker.post(&path, media, &body);
        let answer: OpenConnAnswer = match self.codec {
            Codec::Json => serde_json::from_slice(&answer).unwrap(),
            _ => {
                let envelope = Envelope::read(&answer, Version::Soap11).unwrap();
                gridrig_protocol::lagrid::Message::from_element(&envelope.body).unwrap()
            }
        };
        assert!(matches!(answer.verdict, Verdict::Accepted(_)), "{answer:?}");
        answer
    }

    /// Where to post a request, as what, and its bytes.
    fn written<R: Request>(&self, request: &R) -> (String, &'static str, Vec<u8>) {
        match self.codec {
            Codec::Json => {
                let path = format!("{JSON_PATH}/{}", R::OPERATION.name());
                (path, "application/json", request.to_json())
            }
            _ => {
                let text = envelope(request, Version::Soap11, "http://127.0.0.1/lagrid").write();
                let path = SOAP_PATH.to_owned();
                (path, Version::Soap11.media_type(), text.into_bytes())
            }
        }
    }

    /// Asks the broker and the echo in blocks that take turns.
    fn time<R: Request>(&mut self, paper: &str, request: impl Fn(u32) -> R) -> (&'static str, f64) {
        let (mut own, mut bare, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        let (mut sent, mut size) = (0, 0);
        for block in 0..self.rounds.div_ceil(BLOCK) {
            let numbers = block * BLOCK..self.rounds.min((block + 1) * BLOCK);
            let (mut bodies, mut here) = (Vec::new(), Vec::new());
            for number in numbers {
                let (path, media, body) = self.written(&request(number));
                let (took, answer) = self.broker.post(&path, media, &body);
                here.push(took);
                (sent, size) = (body.len(), answer.len());
                bodies.push((media, body, size));
            }
            let mut there = Vec::new();
            for (media, body, size) in bodies {
                let (took, answer) = self.echo.post(&format!("/echo/{size}"), media, &body);
                assert_eq!(answer.len(), size);
                there.push(took);
            }
            let (block_own, block_bare) = (quantiles(&mut here), quantiles(&mut there));
            ratios.push([0, 1].map(|at| block_own[at] / block_bare[at]));
            own.append(&mut here);
            bare.append(&mut there);
        }
        let (own, bare) = (quantiles(&mut own), quantiles(&mut bare));
        let ratio = [0, 1].map(|at| {
            ratios.sort_by(|a, b| a[at].total_cmp(&b[at]));
            ratios[(ratios.len() - 1) / 2][at]
        });
        println!(
            "{:<20} {:<5} {:>6} {:>6}  {:>7.3} {:>7.3}  {:>7.3} {:>7.3}  {:>5.2} {:>5.2}   {}",
            R::OPERATION.name(),
            if self.codec == Codec::Json {
                "JSON"
            } else {
                "SOAP"
            },
            sent,
            size,
            own[0],
            own[1],
            bare[0],
            bare[1],
            ratio[0],
            ratio[1],
            paper
        );
        (R::OPERATION.name(), ratio[0])
    }
}

/// Median and 99 % quantile in milliseconds (type 1: a time that was taken).
fn quantiles(times: &mut [Duration]) -> [f64; 2] {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    [at(0.5), at(0.99)].map(|time| time.as_secs_f64() * 1000.0)
}

fn opening(connection: Option<String>) -> OpenConn {
    OpenConn {
        initiator: "b".to_owned(),
        endpoint: Reference::of("http://127.0.0.1:9/lagrid"),
        incarnation: 1,
        connection,
        round: 1,
        max_rounds: 3,
        proposal: Proposal {
            authentication: vec![Auth::None],
            initiator_roles: vec![Role::Provider, Role::Consumer],
            responder_roles: vec![Role::Provider, Role::Consumer],
            heartbeat_ms: 60_000,
            job_languages: vec![JobLanguage::Jsdl],
            resource_languages: vec![ResourceLanguage::Clusters],
            resource_forms: vec![Form::Flat],
        },
    }
}

/// The load of all clusters of domain b.
fn push(connection: String, sequence: u64) -> SendResourceData {
    let clusters = CLUSTERS..2 * CLUSTERS;
    SendResourceData {
        connection,
        letter: None,
        meant_ns: None,
        update: ResourceUpdate {
            kind: UpdateKind::Full,
            sequence,
            from_sequence: None,
            form: Form::Flat,
            at_ns: 0,
            clusters: clusters
                .map(|index| ClusterReport {
                    name: None,
                    groups: Vec::new(),
                    load: LoadReport::from(&LoadSample::idle(ClusterId(index), 64)),
                })
                .collect(),
            inventory: None,
            removed: Vec::new(),
        },
    }
}

/// A probe job, as in the paper: it sleeps for ten seconds.
fn submission(connection: String, number: u32) -> SubmitJob {
    let spec = JobSpec::rigid(JobId(number), 1, SimDuration::from_secs(10));
    SubmitJob {
        connection,
        key: format!("bench/b/{number}/1"),
        origin: Some(Origin {
            domain: "b".to_owned(),
            job: number,
            user: None,
        }),
        hop: 1,
        ttl: None,
        forwarder: Some(Reference::of_job("http://127.0.0.1:9/lagrid", number)),
        meant_ns: None,
        job: JobDefinition::of(&spec, Some("probe".to_owned())).unwrap(),
    }
}
