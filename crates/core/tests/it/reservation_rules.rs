//! Advance reservations, each case worked out by hand.

use gridrig_core::cluster::{
    Cluster, ClusterConfig, Finished, NodeChange, Overrun, PlannedChange, Reserving,
};
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::event::NoEvents;
use gridrig_core::event::{Event, EventKind, EventSink};
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::{JobSpec, Reason, StartWindow};
use gridrig_core::resource::Resources;
use gridrig_core::time::{Decimal, SimDuration, SimTime};

/// What is told of the jobs, by second.
#[derive(Default)]
struct Told(Vec<(u64, &'static str, u32)>);

impl EventSink for Told {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        let job = event.job.map_or(0, |job| job.0);
        self.0
            .push((at.as_nanos() / 1_000_000_000, event.kind.name(), job));
    }
}

impl Told {
    fn when(&self, kind: EventKind, job: u32) -> Option<u64> {
        let mut all = self.0.iter();
        all.find(|told| (told.1, told.2) == (kind.name(), job))
            .map(|told| told.0)
    }

    fn start(&self, job: u32) -> Option<u64> {
        self.when(EventKind::Started, job)
    }
}

fn secs(secs: u64) -> SimTime {
    SimTime::from_secs(secs)
}

/// Arrival, processors, estimate, run time; and the window.
type Job = (u64, u32, u64, u64, Option<(u64, u64, bool)>);

fn spec(id: u32, (_, processors, estimate, run_time, window): Job) -> JobSpec {
    JobSpec {
        requested_time: Some(SimDuration::from_secs(estimate)),
        start_window: window.map(|(earliest, latest, flexible)| {
            Box::new(StartWindow {
                earliest: secs(earliest),
                latest: secs(latest),
                flexible,
            })
        }),
        ..JobSpec::rigid(JobId(id), processors, SimDuration::from_secs(run_time))
    }
}

fn cluster(kind: DisciplineKind, overrun: Overrun, share: &str) -> Cluster {
    Cluster::new(config(kind, overrun, share))
}

fn config(kind: DisciplineKind, overrun: Overrun, share: &str) -> ClusterConfig {
    let mut config = ClusterConfig::new(ClusterId(0), Resources::homogeneous(4), kind);
    config.reserving = Some(Reserving {
        overrun,
        most_share: Decimal::parse(share).unwrap(),
        longest: None,
        most_ahead: None,
    });
    config
}

/// The last node of these is down from 5 s to 50 s.
fn failing(kind: DisciplineKind, resources: Resources) -> Cluster {
    let (resource, node) = match resources.groups() {
        [only] => (0, only.count - 1),
        more => (more.len() as u16 - 1, 0),
    };
    let planned = |at: u64, up: bool| PlannedChange {
        at: secs(at),
        change: NodeChange {
            resource,
            node,
            nodes: 1,
            up,
        },
    };
    Cluster::new(ClusterConfig {
        resources,
        node_plan: [planned(5, false), planned(50, true)].into(),
        ..config(kind, Overrun::Kill, "1")
    })
}

/// Runs jobs on four processors to their ends; answers what was told, and who was refused.
fn run(mut cluster: Cluster, jobs: &[Job]) -> (Told, Vec<u32>) {
    let (mut told, mut refused) = (Told::default(), Vec::new());
    let mut left = (0u32..).zip(jobs).peekable();
    loop {
        let arrival = left.peek().map(|(_, job)| secs(job.0));
        let due = cluster.poll_timeout().into_iter().chain(arrival).min();
        let Some(now) = due else {
            return (told, refused);
        };
        let mut ended: Vec<Finished> = Vec::new();
        cluster.handle_completions(now, &mut told, &mut ended);
        cluster.handle_node_changes(now, &mut told, &mut ended);
        cluster.handle_reservations(now, &mut told, &mut ended);
        while let Some((id, job)) = left.next_if(|(_, job)| secs(job.0) == now) {
            if cluster.submit(now, &spec(id, *job), &mut told).is_err() {
                refused.push(id);
            }
        }
        cluster.handle_pass(now, &mut told);
    }
}

fn kept(kind: DisciplineKind, jobs: &[Job]) -> (Told, Vec<u32>) {
    run(cluster(kind, Overrun::Kill, "1"), jobs)
}

#[test]
fn a_reserved_job_starts_in_time_and_no_discipline_starts_others_in_its_place() {
    for kind in DisciplineKind::ALL {
        let jobs = [
            (0, 4, 20, 20, Some((10, 10, false))),
            // Too long before it, and short enough.
            (0, 2, 15, 15, None),
            (1, 2, 5, 5, None),
        ];
        let (told, refused) = kept(*kind, &jobs);
        assert!(refused.is_empty());
        assert_eq!(told.start(0), Some(10), "{kind:?}");
        assert_eq!(told.start(1), Some(30), "{kind:?}");
        let short = match kind {
            // Nobody passes the head of the queue.
            DisciplineKind::Fcfs => 30,
            // It plans every 30 s.
            DisciplineKind::SlurmBackfill => 30,
            _ => 1,
        };
        assert_eq!(told.start(2), Some(short), "{kind:?}");
    }
}

#[test]
fn a_reservation_is_the_earliest_in_the_window_that_all_plans_leave() {
    let jobs = [
        (0, 4, 20, 20, None),
        // The head of the queue is promised 20 to 30.
        (1, 4, 10, 10, None),
        (2, 1, 5, 5, Some((5, 30, false))),
        (3, 4, 5, 5, Some((5, 34, false))),
    ];
    for kind in [
        DisciplineKind::EasyBackfill,
        DisciplineKind::ConservativeBackfill,
    ] {
        let (told, refused) = kept(kind, &jobs);
        assert_eq!((told.start(1), told.start(2)), (Some(20), Some(30)));
        assert_eq!(refused, [3], "{kind:?}: 30 to 35 is taken in part");
        assert_eq!(told.when(EventKind::PromiseWithdrawn, 1), None);
    }
}

#[test]
fn what_cannot_be_reserved_is_refused_and_leaves_nothing_behind() {
    let mut cluster = cluster(DisciplineKind::EasyBackfill, Overrun::Kill, "0.5");
    let mut refuse = |now, job: Job| cluster.submit(secs(now), &spec(9, job), &mut NoEvents);
    let window = |earliest, latest| Some((earliest, latest, false));
    assert_eq!(
        refuse(5, (0, 1, 1, 1, window(0, 4))),
        Err(Reason::NotReserved),
        "a window in the past"
    );
    assert_eq!(
        refuse(5, (0, 5, 1, 1, window(9, 9))),
        Err(Reason::NeverFits),
        "wider than the cluster"
    );
    assert_eq!(
        refuse(5, (0, 3, 1, 1, window(9, 9))),
        Err(Reason::NotReserved),
        "more than half of the processors"
    );
    assert_eq!(refuse(5, (0, 2, 1, 1, window(9, 9))), Ok(()));
    assert_eq!(cluster.present(), 1);
    let mut none = ClusterConfig::new(
        ClusterId(0),
        Resources::homogeneous(4),
        DisciplineKind::Fcfs,
    );
    none.reserving = None;
    let taken =
        Cluster::new(none).submit(secs(5), &spec(9, (0, 1, 1, 1, window(9, 9))), &mut NoEvents);
    assert_eq!(taken, Err(Reason::NotReserved), "it reserves nothing");
}

#[test]
fn a_flexible_one_starts_early_and_makes_room_for_another() {
    // Reserved at 50, the end of its window, it starts as soon as that opens.
    let (told, _) = kept(
        DisciplineKind::Fcfs,
        &[(0, 4, 10, 10, Some((20, 50, true)))],
    );
    assert_eq!(told.start(0), Some(20));
    // The queue comes first: it needs the processors until 40.
    let jobs = [
        (0, 4, 10, 10, Some((20, 50, true))),
        (1, 4, 39, 39, None),
        (2, 4, 10, 10, None),
    ];
    let (told, _) = kept(DisciplineKind::Fcfs, &jobs);
    assert_eq!(
        (told.start(1), told.start(2), told.start(0)),
        (Some(1), Some(40), Some(50))
    );
    // It is moved to 20, so that the second has 45 to 65.
    let jobs = [
        (0, 4, 10, 10, Some((20, 50, true))),
        (1, 4, 20, 20, Some((45, 45, false))),
        (2, 4, 1, 1, Some((35, 65, true))),
    ];
    let (told, refused) = kept(DisciplineKind::Fcfs, &jobs);
    assert!(refused.is_empty());
    assert_eq!(
        (told.start(0), told.start(1), told.start(2)),
        (Some(20), Some(45), Some(35))
    );
}

#[test]
fn a_job_that_runs_too_long_is_ended_for_a_reservation_or_delays_it() {
    let jobs = [
        (0, 3, 10, 25, None),
        (0, 1, 10, 10, None),
        (1, 2, 5, 5, Some((10, 10, false))),
        (1, 1, 5, 5, Some((12, 12, false))),
    ];
    let (told, _) = run(
        cluster(DisciplineKind::EasyBackfill, Overrun::Kill, "1"),
        &jobs,
    );
    assert_eq!(told.when(EventKind::Failed, 0), Some(10));
    assert_eq!((told.start(2), told.start(3)), (Some(10), Some(12)));
    let (told, _) = run(
        cluster(DisciplineKind::EasyBackfill, Overrun::Delay, "1"),
        &jobs,
    );
    assert_eq!(told.when(EventKind::Finished, 0), Some(25));
    assert_eq!(told.when(EventKind::PromiseWithdrawn, 2), Some(10));
    // Beside the late one there is a processor for the other.
    assert_eq!((told.start(2), told.start(3)), (Some(25), Some(12)));
}

#[test]
fn a_job_that_is_removed_gives_its_reservation_back() {
    let mut cluster = cluster(DisciplineKind::EasyBackfill, Overrun::Kill, "1");
    let window = Some((10, 10, false));
    let first = spec(0, (0, 4, 20, 20, window));
    cluster.submit(secs(0), &first, &mut NoEvents).unwrap();
    cluster
        .submit(secs(0), &spec(1, (0, 4, 15, 15, None)), &mut NoEvents)
        .unwrap();
    cluster.handle_pass(secs(0), &mut NoEvents);
    assert_eq!(cluster.busy(), 0);
    assert!(cluster.cancel(secs(1), JobId(0), &mut NoEvents));
    cluster.handle_pass(secs(1), &mut NoEvents);
    assert_eq!(cluster.busy(), 4, "the other one starts at once");
}

const THAT_PROMISE: [DisciplineKind; 2] = [
    DisciplineKind::EasyBackfill,
    DisciplineKind::ConservativeBackfill,
];

#[test]
fn who_lost_what_was_reserved_to_a_failure_goes_before_who_came_later() {
    let one = Resources::homogeneous(1).groups()[0].clone();
    let jobs = [
        (0, 1, 30, 30, None),
        // On the other node, which is down then.
        (1, 1, 10, 10, Some((10, 10, false))),
        // Promised what the first gives back, as long as nobody knows better.
        (12, 1, 10, 10, None),
    ];
    for kind in THAT_PROMISE {
        let two = Resources::new(vec![one.clone(), one.clone()]).unwrap();
        let (told, _) = run(failing(kind, two), &jobs);
        assert_eq!(told.when(EventKind::PromiseWithdrawn, 1), Some(10));
        assert_eq!(
            (told.start(1), told.start(2)),
            (Some(30), Some(40)),
            "{kind:?}"
        );
    }
}

#[test]
fn what_was_promised_before_a_node_failed_is_in_the_way_of_no_reservation() {
    let jobs = [
        (0, 2, 20, 20, None),
        // Promised 20 to 30, and never before 50 once a node is down.
        (1, 4, 10, 10, None),
        (5, 2, 10, 10, Some((20, 20, false))),
    ];
    for kind in THAT_PROMISE {
        let (told, refused) = run(failing(kind, Resources::homogeneous(4)), &jobs);
        assert!(refused.is_empty(), "{kind:?}");
        assert_eq!((told.start(1), told.start(2)), (Some(50), Some(20)));
    }
}
