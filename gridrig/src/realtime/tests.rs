//! Small grids over real sockets.

#[path = "../../tests/it/calm.rs"]
mod calm;

use super::*;
use calm::same_when_calm;
use gridrig_core::broker::LocalInfo;
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::event::{Event, EventKind, MessageKind};
use gridrig_core::grid::{BrokerSettings, Domain, GridCluster, Link};
use gridrig_core::ids::JobId;
use gridrig_core::job::{Entry, JobLabel, JobSpec};
use gridrig_core::resource::Resources;
use gridrig_core::time::SimDuration;
use gridrig_drivers::virtual_time;
use gridrig_replayer::observation::Names;
use gridrig_replayer::player::Outlets;
use gridrig_results::EventLog;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Two sites of 8 processors with everything in phase on a 50 ms link.
pub(super) fn two_sites(policy: &str) -> Grid {
    let broker = BrokerSettings {
        policy: policy.parse().unwrap(),
        ..BrokerSettings::default()
    };
    let site = |index: u16, name: &str| Domain {
        name: name.to_owned(),
        broker: broker.clone(),
        clusters: vec![ClusterId(index)],
        topology: Default::default(),
    };
    let cluster = |index: u16| GridCluster {
        name: format!("c{index}"),
        domain: Some(DomainId(index)),
        config: ClusterConfig::new(
            ClusterId(index),
            Resources::homogeneous(8),
            DisciplineKind::FirstInFirstFit,
        ),
    };
    let link = |consumer: u16, provider: u16| Link {
        consumer: DomainId(consumer),
        provider: DomainId(provider),
        latency: SimDuration::from_millis(50),
        bandwidth: None,
    };
    Grid {
        domains: vec![site(0, "a"), site(1, "b")],
        clusters: vec![cluster(0), cluster(1)],
        links: vec![link(0, 1), link(1, 0)],
        hours: Vec::new(),
    }
}

/// Jobs that enter at site a; one of them, job 10, at the instant of a cycle.
pub(super) fn jobs(count: u32) -> Vec<Submission> {
    let job = |id: u32| Submission {
        spec: JobSpec::rigid(
            JobId(id),
            1 + id % 5,
            SimDuration::from_secs(u64::from(7 + id * 3 % 20)),
        ),
        at: SimTime::from_nanos(1_500_000_000 + u64::from(id) * 1_700_000_000 / 2),
        entry: Entry::Domain(DomainId(0)),
        label: JobLabel::default(),
    };
    (0..count).map(job).collect()
}

pub(super) fn options(speed: u64) -> RealOptions {
    RealOptions {
        liveness: gridrig_metabroker_stub::Liveness {
            every: Duration::from_millis(100),
            ..gridrig_metabroker_stub::Liveness::default()
        },
        ..RealOptions::new(Decimal::from_whole(speed), 1, "test")
    }
}

pub(super) async fn run(grid: &Grid, jobs: &[Submission], options: &RealOptions) -> RealOutcome {
    let outcome = run_real(grid, jobs, options, std::future::pending(), |_| {});
    let bounded = tokio::time::timeout(Duration::from_secs(120), outcome);
    bounded
        .await
        .expect("the run ends")
        .expect("the run starts")
}

fn executing(log: &EventLog) -> BTreeMap<JobId, ClusterId> {
    let started = log.records().map(|(_, event)| event);
    let started = started.filter(|event| event.kind == EventKind::Started);
    started
        .filter_map(|event| Some((event.job?, event.by.cluster()?)))
        .collect()
}

pub(super) fn ended(log: &EventLog) -> BTreeMap<JobId, usize> {
    let mut ended = BTreeMap::new();
    for (_, event) in log.records().filter(|(_, event)| event.kind.is_terminal()) {
        *ended.entry(event.job.unwrap()).or_default() += 1;
    }
    ended
}

fn in_virtual_time(grid: &Grid, jobs: &[Submission]) -> EventLog {
    let mut log = EventLog::default();
    let options = virtual_time::Options {
        seed: 1,
        ..virtual_time::Options::default()
    };
    virtual_time::run(grid, jobs, &options, &mut log, |_, _| {
        ControlFlow::Continue(())
    });
    log
}

fn assert_all_accounted_for(outcome: &RealOutcome) {
    for (kind, exchanged) in &outcome.messages {
        assert_eq!(exchanged.received, exchanged.logged, "{}", kind.name());
    }
}

#[tokio::test]
async fn every_message_of_a_run_is_a_request_counted_at_a_service() {
    let (grid, jobs) = (two_sites("round-robin"), jobs(20));
    let outcome = run(&grid, &jobs, &options(20)).await;
    assert_eq!(outcome.faults, Vec::<String>::new());
    assert_eq!(ended(&outcome.log).len(), 20);
    assert_all_accounted_for(&outcome);
    assert_eq!(outcome.messages[&MessageKind::Submit].received, 20);
    assert!(outcome.messages[&MessageKind::Forward].received > 0);
    assert!(outcome.messages[&MessageKind::Info].received > 0);
    assert!(!outcome.interrupted && outcome.unfinished.is_empty());
}

#[tokio::test]
async fn a_panic_of_a_service_ends_the_run_at_once_and_is_named() {
    let (grid, mut jobs) = (two_sites("round-robin"), jobs(2));
    // The second would be waited for for an hour.
    jobs[1].at += SimDuration::from_secs(3600);
    let started = Started::of(&grid, &options(1)).await.unwrap();
    let services = Arc::clone(&started.services);
    let panicking = async {
        let entered = services.broker(DomainId(0)).unwrap().recorder();
        while entered.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let broker = services.broker(DomainId(1)).unwrap();
        let _: u32 = broker.ask(|_| panic!("a broken invariant")).await;
    };
    let outcome = conduct(started, &grid, &jobs, std::future::pending(), |_| {});
    let both = async { tokio::join!(outcome, panicking) };
    let (outcome, ()) = tokio::time::timeout(Duration::from_secs(60), both)
        .await
        .expect("the run ends");
    let outcome = outcome.unwrap();
    let faults = outcome.faults.join("\n");
    assert!(faults.contains("broker-b broke off: "), "{faults}");
    assert!(faults.contains("a broken invariant"), "{faults}");
    assert!(!outcome.interrupted);
}

#[tokio::test]
async fn a_run_goes_on_from_its_journals_after_a_panic_of_a_service() {
    let (grid, mut jobs) = (two_sites("round-robin"), jobs(2));
    jobs[1].at += SimDuration::from_secs(8);
    let dir = tempfile::tempdir().unwrap();
    let begin = || {
        let journals = Journals::open(dir.path(), "run").unwrap();
        RealOptions {
            journals: Some(journals),
            ..options(1)
        }
    };
    let started = Started::of(&grid, &begin()).await.unwrap();
    let services = Arc::clone(&started.services);
    let panicking = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let lrms = services.lrms(ClusterId(0)).unwrap();
        let _: u32 = lrms.ask(|_| panic!("a broken invariant")).await;
    };
    let outcome = conduct(started, &grid, &jobs, std::future::pending(), |_| {});
    let (outcome, ()) = tokio::join!(outcome, panicking);
    let outcome = outcome.unwrap();
    assert!(outcome.broke_off && ended(&outcome.log).len() < 2);
    let outcome = run(&grid, &jobs, &begin()).await;
    assert_eq!(outcome.faults, Vec::<String>::new());
    assert_eq!(ended(&outcome.log).len(), 2);
}

/// The run in a runtime of its own, for tests that compare in several tries.
fn run_now(grid: &Grid, jobs: &[Submission], options: &RealOptions) -> RealOutcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(run(grid, jobs, options))
}

/// What differs, if fewer than so many jobs run where they should.
fn elsewhere(
    wanted: &BTreeMap<JobId, ClusterId>,
    found: &BTreeMap<JobId, ClusterId>,
    enough: usize,
) -> Option<String> {
    let same = wanted
        .iter()
        .filter(|(job, cluster)| found.get(*job) == Some(*cluster));
    (same.count() < enough).then(|| format!("{wanted:?}, but {found:?}"))
}

#[test]
fn jobs_run_where_virtual_time_says() {
    let jobs = jobs(24);
    for policy in ["round-robin", "free-node"] {
        let grid = two_sites(policy);
        let wanted = executing(&in_virtual_time(&grid, &jobs));
        same_when_calm(policy, || {
            let outcome = run_now(&grid, &jobs, &options(10));
            assert_all_accounted_for(&outcome);
            // Job 10 is meant for the very instant of a cycle. A machine that
            // stands still for long may move a job; the burst may not.
            elsewhere(&wanted, &executing(&outcome.log), 23)
        });
    }
}

/// A third site, and too few processors where the jobs enter for the widest
/// of them. Data takes a second or so.
fn three_sites(policy: &str) -> Grid {
    let mut grid = two_sites(policy);
    grid.clusters[0].config.resources = Resources::homogeneous(4);
    let mut third = grid.clusters[1].clone();
    third.name = "c2".to_owned();
    third.domain = Some(DomainId(2));
    third.config.id = ClusterId(2);
    grid.clusters.push(third);
    let mut site = grid.domains[1].clone();
    site.name = "c".to_owned();
    site.clusters = vec![ClusterId(2)];
    grid.domains.push(site);
    for domain in &mut grid.domains {
        domain.broker.ttl = 2;
    }
    for (consumer, provider) in [(0, 2), (2, 0), (1, 2), (2, 1)] {
        let like = grid.links[0];
        grid.links.push(Link {
            consumer: DomainId(consumer),
            provider: DomainId(provider),
            ..like
        });
    }
    for link in &mut grid.links {
        link.bandwidth = Some(Decimal::from_whole(8));
    }
    grid
}

#[test]
fn policies_over_domains_choose_as_in_virtual_time() {
    let mut jobs = jobs(24);
    for job in &mut jobs {
        job.spec.data_kib = 1024 * u64::from(job.spec.id.0 % 12);
    }
    for policy in ["best-broker-rank", "best-broker-rank-aggr-1.25", "inter-rr"] {
        let grid = three_sites(policy);
        let log = in_virtual_time(&grid, &jobs);
        let wanted = executing(&log);
        assert_eq!(wanted.len(), 24);
        let returned = |(_, event): &(SimTime, Event<'_>)| {
            let reason = gridrig_core::job::Reason::HopsExhausted;
            event.kind == EventKind::Refused && event.reason == Some(reason)
        };
        assert_eq!(log.records().any(|r| returned(&r)), policy == "inter-rr");
        same_when_calm(policy, || {
            let outcome = run_now(&grid, &jobs, &options(10));
            assert_eq!(ended(&outcome.log).len(), 24);
            assert_all_accounted_for(&outcome);
            elsewhere(&wanted, &executing(&outcome.log), 22)
        });
    }
}

#[test]
fn brokers_may_read_their_own_clusters_live() {
    let (mut grid, jobs) = (two_sites("free-node"), jobs(24));
    let unread = executing(&in_virtual_time(&grid, &jobs));
    for domain in &mut grid.domains {
        domain.broker.local_info = LocalInfo::Fresh;
    }
    let wanted = executing(&in_virtual_time(&grid, &jobs));
    assert!(elsewhere(&wanted, &unread, 20).is_some(), "{wanted:?}");
    same_when_calm("read live", || {
        let outcome = run_now(&grid, &jobs, &options(10));
        assert_all_accounted_for(&outcome);
        elsewhere(&wanted, &executing(&outcome.log), 22)
    });
}

#[tokio::test]
async fn a_workload_may_go_straight_into_a_cluster() {
    let config = ClusterConfig::new(
        ClusterId(0),
        Resources::homogeneous(4),
        DisciplineKind::FirstInFirstFit,
    );
    let grid = Grid::single_cluster("alone", config);
    let mut jobs = jobs(10);
    for job in &mut jobs {
        job.entry = Entry::Cluster(ClusterId(0));
    }
    let outcome = run(&grid, &jobs, &options(50)).await;
    // Every fifth job wants five of four processors.
    assert_eq!(ended(&outcome.log).len(), 10);
    let rejected = outcome
        .log
        .records()
        .filter(|(_, e)| e.kind == EventKind::Rejected);
    assert_eq!(rejected.count(), 2);
    assert_all_accounted_for(&outcome);
    assert_eq!(outcome.faults, Vec::<String>::new());
}

/// A run in which this service is killed at that second; every job ends at most
/// once, and those with which touch is lost are named.
fn killed_at(second: u64, service: ServiceId) -> RealOutcome {
    let mut options = options(10);
    options.faults.push(Fault {
        at: SimTime::from_secs(second),
        service,
        kind: FaultKind::Kill,
    });
    let outcome = run_now(&two_sites("round-robin"), &jobs(20), &options);
    let ended = ended(&outcome.log);
    assert!(ended.values().all(|ends| *ends == 1), "{ended:?}");
    let named = |job: &JobId| {
        outcome
            .faults
            .iter()
            .any(|fault| fault.contains(&job.to_string()))
    };
    assert!(outcome.lost.iter().all(named), "{:?}", outcome.faults);
    assert_eq!(outcome.failed, []);
    outcome
}

#[test]
fn touch_is_lost_with_the_jobs_of_a_killed_lrms_by_name() {
    same_when_calm("a killed LRMS", || {
        let outcome = killed_at(12, ServiceId::Lrms(ClusterId(1)));
        assert_eq!(outcome.unfinished, []);
        let lost = outcome.lost.len();
        assert_eq!(ended(&outcome.log).len() + lost, 20);
        // What had not gone there yet runs elsewhere.
        let executing = executing(&outcome.log);
        let elsewhere = executing.values().filter(|c| **c == ClusterId(0)).count();
        // Where the machine stood still, it may have died before it had a job.
        let expected = lost > 0 && elsewhere > 10;
        (!expected).then(|| format!("{lost} lost, {elsewhere} ran elsewhere"))
    });
}

#[test]
fn touch_is_lost_with_the_jobs_of_a_killed_broker_by_name() {
    same_when_calm("a killed broker", || {
        let outcome = killed_at(7, ServiceId::Broker(DomainId(0)));
        let without_end = outcome.lost.len() + outcome.unfinished.len();
        assert_eq!(ended(&outcome.log).len() + without_end, 20);
        let expected = !outcome.lost.is_empty() && !outcome.faults.is_empty();
        (!expected).then(|| format!("{:?} of {:?}", outcome.lost, outcome.faults))
    });
}

#[tokio::test]
async fn a_slow_service_loses_nothing() {
    let (grid, jobs) = (two_sites("round-robin"), jobs(8));
    let mut options = options(20);
    for (at, fault) in [
        (6, AnswerFault::Slow(Duration::from_millis(40))),
        (9, AnswerFault::None),
    ] {
        let (at, service) = (SimTime::from_secs(at), ServiceId::Broker(DomainId(1)));
        options.faults.push(Fault {
            at,
            service,
            kind: FaultKind::Answers(fault),
        });
    }
    let outcome = run(&grid, &jobs, &options).await;
    assert_eq!(ended(&outcome.log).len(), 8);
    assert_all_accounted_for(&outcome);
    assert!(outcome.failed.is_empty());
}

#[tokio::test]
async fn an_interrupted_run_is_a_valid_one() {
    let (grid, jobs) = (two_sites("round-robin"), jobs(20));
    let shutdown = tokio::time::sleep(Duration::from_millis(1500));
    let outcome = run_real(&grid, &jobs, &options(10), shutdown, |_| {})
        .await
        .unwrap();
    assert!(outcome.interrupted);
    assert!(outcome.log.is_sorted());
    assert!(ended(&outcome.log).len() < 20);
    assert_all_accounted_for(&outcome);
    assert_eq!(outcome.faults, Vec::<String>::new());
}

#[tokio::test]
async fn the_truth_is_not_to_be_had_in_real_time() {
    let grid = two_sites("full-information");
    let refused = run_real(
        &grid,
        &jobs(1),
        &options(10),
        std::future::pending(),
        |_| {},
    )
    .await;
    let message = refused.unwrap_err().to_string();
    assert!(
        message.contains("policy = \"full-information\""),
        "{message}"
    );
}

#[tokio::test]
async fn services_in_other_processes_tell_the_same_log_page_by_page() {
    let grid = two_sites("round-robin");
    let clock = RunClock::starting_in(Duration::from_millis(100), Decimal::from_whole(50));
    let services = Services::start(&grid, &options(50), clock).await.unwrap();
    let jobs = jobs(10);
    let client = gridrig_protocol::client::Client::new(Duration::from_secs(10)).unwrap();
    let urls: Vec<String> = [
        services.broker(DomainId(0)).unwrap().url(),
        services.broker(DomainId(1)).unwrap().url(),
        services.lrms(ClusterId(0)).unwrap().url(),
        services.lrms(ClusterId(1)).unwrap().url(),
    ]
    .into();
    let found = remote::clock_of(&client, &urls[0]).await.unwrap();
    assert_eq!(found.epoch_unix_ns(), clock.epoch_unix_ns());
    assert_eq!(found.speed(), clock.speed());
    let config = PlayConfig {
        entries: BTreeMap::from([(Entry::Domain(DomainId(0)), urls[0].clone())]),
        outlets: Outlets::default(),
        clock,
        run_id: "remote".to_owned(),
        patience: Patience::default(),
        faults: Default::default(),
    };
    let recorder = Recorder::default();
    let played = player::play(&config, &jobs, &recorder, std::future::pending(), |_| {});
    let played = played.await.unwrap();
    assert_eq!(played.ends.len(), 10);
    services.wind_up().await;
    let (none, names) = (BTreeMap::new(), Names::new());
    let (log, ..) = remote::collect(&client, recorder.take(), &urls, &none, &names)
        .await
        .unwrap();
    assert!(log.is_sorted());
    assert_eq!(ended(&log).len(), 10);
    for kind in MessageKind::ALL {
        assert_eq!(
            log.messages(kind),
            services.received(kind),
            "{}",
            kind.name()
        );
    }
    services.stop().await;
}

#[tokio::test]
async fn of_a_log_with_a_gap_there_is_what_is_left() {
    let nodes = Resources::homogeneous(4);
    let clock = RunClock::starting_in(Duration::ZERO, Decimal::from_whole(1));
    let discipline = DisciplineKind::FirstInFirstFit;
    let config = gridrig_emulator::Config {
        keep_events: 1,
        faults: Default::default(),
        ..gridrig_emulator::Config::new("test", nodes, discipline, clock)
    };
    let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let lrms = gridrig_emulator::spawn(config, door).await.unwrap();
    let client = gridrig_protocol::client::Client::new(Duration::from_secs(10)).unwrap();
    let job: gridrig_protocol::rest::JobSubmission =
        serde_json::from_str(r#"{"processors":1,"run_time":"1h"}"#).unwrap();
    client.submit(&lrms.url(), &job).await.unwrap();
    let page = client.events(&lrms.url(), 0).await.unwrap();
    assert!(page.first > 0 && page.total == page.first + 1, "{page:?}");
    let none = BTreeMap::new();
    let read = remote::collect(&client, Vec::new(), &[lrms.url()], &none, &Names::new()).await;
    let (log, _, gaps) = read.unwrap();
    assert_eq!((log.len(), gaps.len()), (1, 1), "{gaps:?}");
    lrms.stop().await.unwrap();
}
