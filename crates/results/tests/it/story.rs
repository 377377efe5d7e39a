//! A small grid and a day in its life, worked out by hand.
//!
//! Domain `a` has the cluster `a1`: two nodes of two x86 processors, 1 GiB
//! and 100 MiB of disk each. Domain `b` has `b1`: four nodes of one arm
//! processor, twice as fast. `a` may forward to `b`, once. Instants in ms:
//!
//! | job | wants | at broker a | at broker b | queued | start | finish | seen |
//! |---|---|---|---|---|---|---|---|
//! | 0 | 3 x 10 s | 0 | | a1, 5001 | 5001 | 15001 | 15002 |
//! | 1 | 2 x 8 s | 1000 | 5050 | b1, 7501 | 7501 | 11501 | 11552 |
//! | 2 | 2 x 4 s, x86 | 6000 | | a1, 10001 | 15001 | 19001 | 19002 |
//! | 3 | 50 x 1 s | 7000, rejected at 10000 | | | | | 10000 |

use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::event::{Event, EventKind, EventSink, Party};
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster, Link, LinkHours};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, JobLabel, JobSpec, Reason, Submission};
use gridrig_core::placement::PlacementRun;
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use gridrig_core::timetable::{Hours, Timetable};
use gridrig_results::{EventLog, JobTable, Measure};
use std::num::NonZeroU32;

pub const A: DomainId = DomainId(0);
pub const B: DomainId = DomainId(1);
pub const A1: ClusterId = ClusterId(0);
pub const B1: ClusterId = ClusterId(1);

pub fn ms(millis: u64) -> SimTime {
    SimTime::from_nanos(millis * 1_000_000)
}

pub const fn nodes(node: u32, nodes: u32, processors: u32) -> PlacementRun {
    PlacementRun {
        resource: 0,
        node,
        nodes,
        processors,
    }
}

fn cluster(id: ClusterId, name: &str, group: Resource) -> GridCluster {
    let resources = Resources::new(vec![group]).unwrap();
    GridCluster {
        name: name.to_owned(),
        domain: Some(DomainId(id.0)),
        config: ClusterConfig::new(id, resources, DisciplineKind::FirstInFirstFit),
    }
}

pub fn grid() -> Grid {
    let a1 = Resource {
        name: Some("fat".to_owned()),
        count: 2,
        cpu_count: 2,
        architecture: Some("x86".to_owned()),
        os: Some("LINUX".to_owned()),
        memory_mib: Some(1024),
        disk_mib: Some(100),
        speed: Decimal::ONE,
        generic: "gpu:v100:3".parse().unwrap(),
    };
    let b1 = Resource {
        name: None,
        count: 4,
        cpu_count: 1,
        architecture: Some("arm".to_owned()),
        os: None,
        memory_mib: None,
        disk_mib: None,
        speed: Decimal::from_whole(2),
        generic: Default::default(),
    };
    let domain = |name: &str, cluster| Domain {
        name: name.to_owned(),
        broker: BrokerSettings::default(),
        clusters: vec![cluster],
        topology: Default::default(),
    };
    Grid {
        domains: vec![domain("a", A1), domain("b", B1)],
        clusters: vec![cluster(A1, "a1", a1), cluster(B1, "b1", b1)],
        hours: Vec::new(),
        links: vec![Link {
            consumer: A,
            provider: B,
            latency: SimDuration::from_millis(50),
            bandwidth: None,
        }],
    }
}

/// The grid in which `b` is open to `a` in these seconds of each period.
pub fn open_in(period: u64, offset: u64, [from, until]: [u64; 2]) -> Grid {
    let seconds = SimDuration::from_secs;
    let hours = Hours {
        from: seconds(from),
        until: seconds(until),
    };
    let mut grid = grid();
    grid.hours.push(LinkHours {
        consumer: A,
        provider: B,
        timetable: Timetable::new(seconds(period), seconds(offset), &[hours]).unwrap(),
    });
    grid
}

/// The third job alone has one.
fn account(job: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(31).filter(|_| job == 2)
}

fn submission(job: u32, intended_ms: u64, processors: u32, run_time_s: u64) -> Submission {
    Submission {
        spec: JobSpec {
            requested_time: (job == 0).then(|| SimDuration::from_secs(60)),
            account: account(job),
            executable: NonZeroU32::new(job).filter(|_| job < 3),
            ..JobSpec::rigid(JobId(job), processors, SimDuration::from_secs(run_time_s))
        },
        at: ms(intended_ms),
        entry: Entry::Domain(A),
        label: JobLabel {
            trace_id: u64::from(job) + 100,
            workload: 0,
            user: (job == 1).then_some(7),
            failed_in_trace: job == 2,
        },
    }
}

pub fn submissions() -> Vec<Submission> {
    let mut all = vec![
        submission(0, 0, 3, 10),
        submission(1, 999, 2, 8),
        submission(2, 6_000, 2, 4),
        submission(3, 7_000, 50, 1),
    ];
    all[2].spec.components.first.requirements.architecture = Some("X86".into());
    all
}

pub const PLACE_0: &[PlacementRun] = &[nodes(0, 1, 2), nodes(1, 1, 1)];
pub const PLACE_1: &[PlacementRun] = &[nodes(0, 2, 1)];
pub const PLACE_2: &[PlacementRun] = &[nodes(0, 1, 2)];

pub fn submitted(job: u32, intended_ms: u64) -> Event<'static> {
    Event::new(EventKind::Submitted, JobId(job), Party::Client)
        .to(Entry::Domain(A))
        .at(ms(intended_ms))
}

pub fn arrived(job: u32, domain: DomainId, hop: u32) -> Event<'static> {
    Event::new(EventKind::BrokerArrival, JobId(job), domain).with(hop)
}

pub fn dispatched(job: u32, domain: DomainId, cluster: ClusterId) -> Event<'static> {
    Event::new(EventKind::Dispatched, JobId(job), domain).to(cluster)
}

pub fn queued(job: u32, cluster: ClusterId) -> Event<'static> {
    Event::new(EventKind::Queued, JobId(job), cluster)
}

pub fn started(job: u32, cluster: ClusterId, placement: &'static [PlacementRun]) -> Event<'static> {
    Event::new(EventKind::Started, JobId(job), cluster).on(placement)
}

pub fn finished(job: u32, cluster: ClusterId) -> Event<'static> {
    Event::new(EventKind::Finished, JobId(job), cluster)
}

pub fn notified(job: u32, from: Party, to: Party) -> Event<'static> {
    Event::new(EventKind::Notified, JobId(job), from).to(to)
}

pub fn seen(job: u32) -> Event<'static> {
    Event::new(EventKind::FinishSeen, JobId(job), Party::Broker(A))
}

pub fn rejected(job: u32) -> Event<'static> {
    Event::new(EventKind::Rejected, JobId(job), Party::Broker(A)).because(Reason::NoCandidate)
}

pub fn forwarded(job: u32) -> Event<'static> {
    Event::new(EventKind::Forwarded, JobId(job), A).to(B)
}

/// What happens, as (ms, event).
pub fn events() -> Vec<(u64, Event<'static>)> {
    let (broker_a, broker_b) = (Party::Broker(A), Party::Broker(B));
    let (lrms_a, lrms_b) = (Party::Lrms(A1), Party::Lrms(B1));
    vec![
        (0, submitted(0, 0)),
        (0, arrived(0, A, 0)),
        (1_000, submitted(1, 999)),
        (1_000, arrived(1, A, 0)),
        (5_000, dispatched(0, A, A1)),
        (5_000, forwarded(1)),
        (5_001, queued(0, A1)),
        (5_001, started(0, A1, PLACE_0)),
        (5_050, arrived(1, B, 1)),
        (6_000, submitted(2, 6_000)),
        (6_000, arrived(2, A, 0)),
        (7_000, submitted(3, 7_000)),
        (7_000, arrived(3, A, 0)),
        (7_500, dispatched(1, B, B1)),
        (7_501, queued(1, B1)),
        (7_501, started(1, B1, PLACE_1)),
        (10_000, dispatched(2, A, A1)),
        (10_000, rejected(3)),
        (10_000, seen(3)),
        (10_001, queued(2, A1)),
        (11_501, finished(1, B1)),
        (11_501, notified(1, lrms_b, broker_b)),
        (11_502, notified(1, broker_b, broker_a)),
        (11_552, seen(1)),
        (15_001, finished(0, A1)),
        (15_001, notified(0, lrms_a, broker_a)),
        (15_001, started(2, A1, PLACE_2)),
        (15_002, seen(0)),
        (19_001, finished(2, A1)),
        (19_001, notified(2, lrms_a, broker_a)),
        (19_002, seen(2)),
    ]
}

/// The log of these events in the order of time, with some information sent.
pub fn log_of(mut events: Vec<(u64, Event<'_>)>) -> EventLog {
    events.sort_by_key(|(at, _)| *at);
    let mut log = EventLog::default();
    for (at, event) in events {
        log.emit(ms(at), event);
    }
    for second in [0, 15] {
        let (from, to) = (Party::Lrms(A1), Party::Broker(A));
        log.emit(
            SimTime::from_secs(second),
            Event::new(EventKind::InfoSent, None::<JobId>, from).to(to),
        );
    }
    log
}

pub fn log() -> EventLog {
    log_of(events())
}

pub fn table() -> JobTable {
    JobTable::build(&log(), &submissions(), &grid(), &["day".to_owned()])
}

/// Everything is measured, with a bound of 5 s.
pub fn measure() -> Measure {
    Measure {
        tau: SimDuration::from_secs(5),
        ..Measure::default()
    }
}
