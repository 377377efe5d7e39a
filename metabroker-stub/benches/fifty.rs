//! Fifty brokers in one process, each a whole service on its own loopback
//! socket, that hold sessions with each other and exchange resource information
//! every 15 s: how much of a core that takes. Every broker has eight clusters,
//! whose LRMSs this bench plays from one thread of its own; what that thread
//! takes is said beside. Sessions and intervals are as they come; the bar is for
//! them.
//!
//! `FIFTY_SECONDS` is how long to look (75 by default, rounded up to whole
//! exchanges), `FIFTY_BROKERS` how many there are, `FIFTY_TOPOLOGY` is `mesh` (each
//! with each, the default) or `star`, `FIFTY_CODEC` is `json` (default) or `soap`,
//! `FIFTY_HEARTBEAT` the seconds between heartbeats (as the broker has it by
//! default).
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench measures, prints, and fails by panicking"
)]

use gridrig_core::agent::{BrokerAgent, BrokerSetup};
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::decision::About;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::event::MessageKind;
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster, Link};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::load::LoadSample;
use gridrig_core::resource::Resources;
use gridrig_core::session::Roles;
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use gridrig_drivers::real_time::RunClock;
use gridrig_metabroker_stub::lagrid::{LinkSetup, Links, roles_towards};
use gridrig_metabroker_stub::{Config, Liveness, Peer, spawn};
use gridrig_protocol::client::Client;
use gridrig_protocol::lagrid::Codec;
use gridrig_protocol::rest::{InfoReport, LoadReport, Place};
use gridrig_protocol::tls::peer_client;
use gridrig_service::http::{Monitoring, NotifyHosts, Samples};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// As in the command.
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Clusters of each domain (LA Grid's have 7 or 8).
const CLUSTERS: u16 = 8;
/// Time between exchanges of information.
const EXCHANGE: Duration = Duration::from_secs(15);
/// The most of a core that the brokers may take, in percent.
const MOST: f64 = 5.0;

/// How all of them talk.
struct Talk {
    codec: Codec,
    /// The broker's own choice if there is none.
    heartbeat: Option<SimDuration>,
}

type Handle = gridrig_service::Handle<BrokerAgent>;

fn main() {
    let number = |name: &str, usual: u64| {
        std::env::var(name).map_or(usual, |text| text.parse().expect("a whole number"))
    };
    let brokers = u16::try_from(number("FIFTY_BROKERS", 50)).unwrap();
    let rounds = number("FIFTY_SECONDS", 75).div_ceil(EXCHANGE.as_secs());
    let codec = match std::env::var("FIFTY_CODEC").as_deref() {
        Ok("soap") => Codec::Soap11,
        _ => Codec::Json,
    };
    let star = std::env::var("FIFTY_TOPOLOGY").is_ok_and(|name| name == "star");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let heartbeat = match number("FIFTY_HEARTBEAT", 0) {
        0 => None,
        seconds => Some(SimDuration::from_secs(seconds)),
    };
    let talk = Talk { codec, heartbeat };
    let share = runtime.block_on(measure(&grid(brokers, star), &talk, rounds));
    println!("the bar is {MOST} % of a core");
    if share > MOST {
        println!("missed on this machine in this run");
        std::process::exit(1);
    }
}

/// Domains of equal clusters that are peers of each other, or all of the first.
fn grid(brokers: u16, star: bool) -> Grid {
    let domain = |index: u16| Domain {
        name: format!("d{index:02}"),
        broker: BrokerSettings {
            exchange: SimDuration::from_secs(EXCHANGE.as_secs()),
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
    let pairs = (0..brokers).flat_map(|a| (0..brokers).map(move |b| (a, b)));
    let pairs = pairs.filter(|(a, b)| a != b && (!star || *a == 0 || *b == 0));
    let link = |(consumer, provider)| Link {
        consumer: DomainId(consumer),
        provider: DomainId(provider),
        latency: SimDuration::from_millis(50),
        bandwidth: None,
    };
    Grid {
        domains: (0..brokers).map(domain).collect(),
        clusters: (0..brokers * CLUSTERS).map(cluster).collect(),
        links: pairs.map(link).collect(),
        hours: Vec::new(),
    }
}

/// Runs the brokers; the percentage of a core that they have taken.
async fn measure(grid: &Grid, talk: &Talk, rounds: u64) -> f64 {
    let clock = RunClock::starting_in(Duration::ZERO, Decimal::ONE);
    let doors: Vec<TcpListener> = (grid.domains.iter())
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    let url = |door: &TcpListener| format!("http://{}", door.local_addr().unwrap());
    let urls: Vec<String> = doors.iter().map(url).collect();
    let usual = LinkSetup::new("", "", talk.codec, Roles::BOTH)
        .stance
        .heartbeat;
    let mut brokers = Vec::new();
    for (index, door) in (0u16..).zip(doors) {
        let config = config(grid, DomainId(index), &urls, talk, clock);
        brokers.push(spawn(config, door).await.unwrap());
    }
    let client = Client::new(Duration::from_secs(30)).unwrap();
    let sessions = all_open(&client, &urls).await;
    println!(
        "{} brokers of {CLUSTERS} clusters, {sessions} ends of sessions in {}, heartbeats every {}",
        brokers.len(),
        talk.codec.name(),
        talk.heartbeat.unwrap_or(usual)
    );

    let begin = Instant::now();
    let (all_before, own_before) = (processor_time("/proc/self/task"), own_time());
    let (sent_before, beats_before) = (updates(&brokers), heartbeats(&brokers));
    for round in 0..rounds {
        report_loads(&client, grid, &urls, clock, round).await;
        let next = EXCHANGE * u32::try_from(round + 1).unwrap();
        tokio::time::sleep_until((begin + next).into()).await;
    }
    let (all, own) = (processor_time("/proc/self/task"), own_time());
    let took = begin.elapsed().as_secs_f64();
    let sent = updates(&brokers) - sent_before;
    let beats = heartbeats(&brokers) - beats_before;
    let lost: u64 = brokers.iter().map(undelivered).sum();
    let percent = |time: Duration| 100.0 * time.as_secs_f64() / took;
    let own = own - own_before;
    let share = percent(all - all_before - own);
    println!("{rounds} exchanges in {took:.1} s: {sent} updates to peers, {lost} not delivered");
    // In SOAP all operations have one route.
    if talk.codec == Codec::Json {
        println!("{beats} heartbeats");
    }
    println!(
        "the brokers took {share:.2} % of a core, what plays their LRMSs {:.2} %",
        percent(own)
    );
    assert_eq!(sent, sessions * rounds, "every peer is told in every round");
    assert_eq!(lost, 0);
    for broker in &brokers {
        broker.kill();
    }
    share
}

fn config(grid: &Grid, domain: DomainId, urls: &[String], talk: &Talk, clock: RunClock) -> Config {
    let setup = BrokerSetup::of(grid, domain, 1).unwrap();
    let neighbours = setup
        .config
        .neighbours
        .iter()
        .map(|neighbour| neighbour.domain);
    let name = |domain: DomainId| grid.domains[domain.index()].name.clone();
    let links = neighbours.clone().map(|peer| {
        let (name, roles) = (name(peer), roles_towards(&setup, peer));
        let mut link = LinkSetup::new(&name, &urls[peer.index()], talk.codec, roles);
        if let Some(heartbeat) = talk.heartbeat {
            link.stance.heartbeat = heartbeat;
        }
        (peer, link)
    });
    let client = peer_client(None, Duration::from_secs(10)).unwrap();
    let links = Links::new((&setup.name, &setup.names), 1, &client, links.collect());
    let peers = neighbours.map(|peer| {
        let (name, url) = (name(peer), urls[peer.index()].clone());
        (peer, Peer { name, url })
    });
    let clusters = grid.domains[domain.index()].clusters.iter();
    Config {
        peers: peers.collect(),
        links,
        // No job is dispatched, so that nobody has to listen there.
        lrms: clusters
            .map(|id| (*id, "http://127.0.0.1:9".to_owned()))
            .collect(),
        peer_door: None,
        journal: None,
        clock,
        notify: NotifyHosts::default(),
        hosts: Vec::new(),
        monitoring: Monitoring::default(),
        keep_events: 1000,
        decisions: About::None,
        faults: Default::default(),
        liveness: Liveness::default(),
        introduces: None,
        asks: false,
        setup,
    }
}

/// Waits until every session is open at both ends; how many ends there are.
async fn all_open(client: &Client, urls: &[String]) -> u64 {
    let patience = Instant::now() + Duration::from_secs(120);
    loop {
        let (mut ends, mut open) = (0, 0);
        for url in urls {
            let peers = client.peers(url).await.unwrap().peers;
            ends += peers.len() as u64;
            let is_open = |state: &str| u64::from(state == "open");
            let sessions = peers.iter().filter_map(|peer| peer.session.as_ref());
            open += sessions.map(|session| is_open(&session.state)).sum::<u64>();
        }
        if open == ends {
            return ends;
        }
        assert!(Instant::now() < patience, "{open} of {ends} sessions open");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// What the LRMSs of all domains report in one exchange: loads that have moved.
async fn report_loads(client: &Client, grid: &Grid, urls: &[String], clock: RunClock, round: u64) {
    let at = clock.now();
    for (domain, url) in grid.domains.iter().zip(urls) {
        for cluster in &domain.clusters {
            let busy = (u64::from(cluster.0) + 7 * round) % 64;
            let report = report(*cluster, busy as u32, at);
            client.inform(url, &report).await.unwrap();
        }
    }
}

fn report(cluster: ClusterId, busy: u32, at: SimTime) -> InfoReport {
    let sample = LoadSample {
        at,
        busy,
        ..LoadSample::idle(cluster, 64)
    };
    InfoReport {
        from: Place::from(gridrig_core::event::Party::Lrms(cluster)),
        letter: None,
        meant_ns: None,
        samples: vec![LoadReport::from(&sample)],
    }
}

/// Resource updates that the brokers have sent.
fn updates(brokers: &[Handle]) -> u64 {
    let of = |broker: &Handle| {
        let counts = broker.recorder().counts();
        let info = counts
            .messages()
            .find(|(kind, _)| *kind == MessageKind::Info);
        info.map_or(0, |(_, sent)| sent)
    };
    brokers.iter().map(of).sum()
}

/// Heartbeats that the brokers have answered.
fn heartbeats(brokers: &[Handle]) -> u64 {
    let of = |broker: &Handle| {
        let text = broker.metrics().text(Samples::default());
        let mut lines = text.lines();
        let count = lines
            .find(|line| line.contains("duration_seconds_count") && line.contains("heartbeat"));
        let count = count.and_then(|line| line.rsplit(' ').next()?.parse().ok());
        count.unwrap_or(0)
    };
    brokers.iter().map(of).sum()
}

fn undelivered(broker: &Handle) -> u64 {
    let kinds = MessageKind::ALL.into_iter();
    kinds.map(|kind| broker.undelivered().of(kind)).sum()
}

/// Processor time of all threads.
fn processor_time(tasks: &str) -> Duration {
    let threads = std::fs::read_dir(tasks).unwrap();
    let times = threads.map(|thread| scheduled(&thread.unwrap().path().join("schedstat")));
    times.sum()
}

/// Processor time of this thread.
fn own_time() -> Duration {
    scheduled("/proc/thread-self/schedstat".as_ref())
}

/// The first number there: nanoseconds on a processor.
fn scheduled(path: &std::path::Path) -> Duration {
    let text = std::fs::read_to_string(path).unwrap();
    let nanos = text.split_whitespace().next().unwrap();
    Duration::from_nanos(nanos.parse().unwrap())
}
