//! The disciplines that plan, each case worked out by hand.

use gridrig_core::cluster::{Cluster, ClusterConfig};
use gridrig_core::discipline::{DisciplineKind, SlurmBackfillSettings};
use gridrig_core::event::{Event, EventKind, EventSink};
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::{Components, JobSpec, Requirements};
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::{Decimal, SimDuration, SimTime};

const EASY: DisciplineKind = DisciplineKind::EasyBackfill;
const CONSERVATIVE: DisciplineKind = DisciplineKind::ConservativeBackfill;
const SLURM: DisciplineKind = DisciplineKind::SlurmBackfill;

/// Arrival, processors, run time and estimate, in seconds.
type Job = (u64, u32, u64, u64);

#[derive(Default)]
struct Starts(Vec<Option<u64>>);

impl EventSink for Starts {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        if let (EventKind::Started, Some(job)) = (event.kind, event.job) {
            self.0[job.index()] = Some(at.as_nanos() / 1_000_000_000);
        }
    }
}

fn group(count: u32, speed: &str, memory_mib: Option<u64>) -> Resource {
    Resource {
        name: None,
        count,
        cpu_count: 1,
        architecture: None,
        os: None,
        memory_mib,
        disk_mib: None,
        speed: Decimal::parse(speed).expect("a speed"),
        generic: Default::default(),
    }
}

/// When each job starts, in seconds.
fn starts_on(resources: Resources, kind: DisciplineKind, jobs: &[(Job, u64)]) -> Vec<u64> {
    starts_with(SlurmBackfillSettings::default(), resources, kind, jobs)
}

fn starts_with(
    slurm: SlurmBackfillSettings,
    resources: Resources,
    kind: DisciplineKind,
    jobs: &[(Job, u64)],
) -> Vec<u64> {
    let mut config = ClusterConfig::new(ClusterId(0), resources, kind);
    config.slurm = slurm;
    let mut cluster = Cluster::new(config);
    let mut starts = Starts(vec![None; jobs.len()]);
    let mut left = (0u32..).zip(jobs).peekable();
    loop {
        let arrival = left.peek().map(|(_, job)| SimTime::from_secs(job.0.0));
        let Some(now) = cluster.poll_timeout().into_iter().chain(arrival).min() else {
            break;
        };
        cluster.handle_completions(now, &mut starts, &mut Vec::new());
        while let Some((id, ((_, processors, run_time, estimate), memory_kib))) =
            left.next_if(|(_, job)| SimTime::from_secs(job.0.0) == now)
        {
            let requirements = Requirements {
                memory_kib: *memory_kib,
                ..Requirements::default()
            };
            let job = JobSpec {
                requested_time: Some(SimDuration::from_secs(*estimate)),
                components: Components::one(*processors, requirements),
                ..JobSpec::rigid(JobId(id), *processors, SimDuration::from_secs(*run_time))
            };
            let taken = cluster.submit(now, &job, &mut starts);
            taken.expect("it fits the empty cluster");
        }
        cluster.handle_pass(now, &mut starts);
    }
    let starts = starts.0.into_iter();
    starts
        .map(|start| start.expect("every job starts"))
        .collect()
}

fn starts(kind: DisciplineKind, jobs: &[Job]) -> Vec<u64> {
    let jobs: Vec<(Job, u64)> = jobs.iter().map(|job| (*job, 0)).collect();
    starts_on(Resources::homogeneous(10), kind, &jobs)
}

#[test]
fn the_shortest_estimate_is_next_and_nobody_passes_it() {
    let sjf = DisciplineKind::ShortestJobFirst;
    let by_estimate = [
        (0, 10, 10, 10),
        (1, 5, 5, 20),
        (2, 10, 5, 8),
        (3, 5, 1, 30),
        // As short as the third by its estimate, and came later.
        (4, 5, 3, 8),
    ];
    assert_eq!(starts(sjf, &by_estimate), [0, 15, 10, 18, 15]);
    // The last one would fit beside the first.
    let waiting = [(0, 5, 10, 10), (1, 10, 5, 5), (1, 5, 6, 6)];
    assert_eq!(starts(sjf, &waiting), [0, 10, 15]);
    // A shorter one that comes later passes.
    let passed = [(0, 5, 10, 10), (1, 10, 5, 5), (2, 5, 4, 4)];
    assert_eq!(starts(sjf, &passed), [0, 10, 2]);
}

#[test]
fn easy_lets_a_job_pass_that_ends_by_the_shadow_time() {
    let jobs = [(0, 6, 10, 10), (0, 8, 10, 10), (0, 4, 10, 10)];
    assert_eq!(starts(EASY, &jobs), [0, 10, 0]);
    let longer = [(0, 6, 10, 10), (0, 8, 10, 10), (0, 4, 10, 11)];
    assert_eq!(starts(EASY, &longer), [0, 10, 20]);
}

#[test]
fn easy_lets_a_job_pass_on_processors_that_the_head_leaves_over_and_only_on_those() {
    let jobs = [
        (0, 6, 10, 10),
        (0, 8, 10, 10),
        (0, 2, 100, 100),
        (0, 2, 100, 100),
    ];
    assert_eq!(starts(EASY, &jobs), [0, 10, 0, 20]);
    let first_fit = DisciplineKind::FirstInFirstFit;
    assert_eq!(starts(first_fit, &jobs), [0, 100, 0, 0]);
}

#[test]
fn conservative_protects_also_those_behind_the_head() {
    let jobs = [
        (0, 6, 10, 10),
        (0, 8, 10, 10),
        (0, 10, 10, 10),
        (0, 2, 25, 25),
    ];
    assert_eq!(starts(EASY, &jobs), [0, 10, 25, 0]);
    assert_eq!(starts(CONSERVATIVE, &jobs), [0, 10, 20, 30]);
}

#[test]
fn conservative_compresses_when_a_job_ends_before_its_estimate() {
    let jobs = [(0, 6, 10, 100), (0, 8, 10, 10), (0, 10, 5, 5)];
    assert_eq!(starts(CONSERVATIVE, &jobs), [0, 10, 20]);
}

#[test]
fn a_job_past_its_estimate_keeps_its_processors_and_the_plan_waits_for_its_end() {
    let jobs = [(0, 4, 30, 10), (0, 8, 10, 10), (15, 4, 5, 5)];
    for kind in [EASY, CONSERVATIVE] {
        assert_eq!(starts(kind, &jobs), [0, 30, 40], "{kind:?}");
    }
}

#[test]
fn slurm_passes_the_head_only_when_it_plans() {
    // Half a minute after the start the plan has room for the third job until
    // the second one's reservation, which begins at 100 s rounded down to 60 s;
    // there is none for the fourth, which would still run then.
    let jobs = [
        (0, 6, 100, 100),
        (1, 10, 100, 100),
        (2, 2, 25, 25),
        (2, 2, 200, 200),
    ];
    assert_eq!(starts(SLURM, &jobs), [0, 100, 30, 200]);
    assert_eq!(starts(EASY, &jobs), [0, 100, 2, 200]);
}

#[test]
fn a_reservation_of_slurm_that_begins_early_takes_nothing_that_is_not_free_yet() {
    // The second job's reservation of eight begins at 60 s instead of 100 s. Of
    // its eight six are the first one's until then; two of the four others are
    // spare, for ever, and the third job gets them.
    let jobs = [(0, 6, 100, 100), (1, 8, 100, 100), (2, 2, 200, 200)];
    assert_eq!(starts(SLURM, &jobs), [0, 100, 30]);
    // With no processor to spare it waits.
    let jobs = [(0, 6, 100, 100), (1, 9, 100, 100), (2, 2, 200, 200)];
    assert_eq!(starts(SLURM, &jobs), [0, 100, 200]);
}

#[test]
fn slurm_starts_the_head_at_the_end_that_makes_room_for_it() {
    let jobs = [(0, 10, 17, 60), (1, 10, 5, 60), (2, 10, 5, 60)];
    assert_eq!(starts(SLURM, &jobs), [0, 17, 22]);
}

#[test]
fn a_plan_keeps_to_the_resources_it_promised() {
    // Four slow and four fast processors. The head waits for all eight; the
    // third job fits beside it only where its end comes in time, which on the
    // slow ones it would not.
    let nodes = Resources::new(vec![group(4, "0.5", None), group(4, "1", None)]);
    let nodes = nodes.expect("eight processors");
    let jobs = [
        ((0, 4, 10, 10), 0),
        ((0, 8, 10, 10), 0),
        ((0, 2, 10, 10), 0),
    ];
    assert_eq!(starts_on(nodes, EASY, &jobs), [0, 20, 0]);
}

/// Nodes of two processors with so much memory.
fn pairs(count: u32, memory_mib: u64) -> Resources {
    let group = Resource {
        cpu_count: 2,
        ..group(count, "1", Some(memory_mib))
    };
    Resources::new(vec![group]).expect("processors")
}

/// With these settings `slurm-backfill` promises, as the other two do.
const EXACT: SlurmBackfillSettings = SlurmBackfillSettings {
    bf_interval: SimDuration::from_secs(30),
    bf_resolution: SimDuration::ZERO,
    bf_window: SimDuration::from_secs(86_400),
    bf_max_job_test: 500,
};

#[test]
fn narrow_jobs_with_memory_do_not_keep_a_wide_one_from_its_promised_start() {
    // The wide job needs 32 whole nodes. One narrow job after another would
    // sit on nodes of its own for ever, though the sum of memory that is left
    // beside the wide job would do for all of them.
    let narrow = 64 * 1_024;
    let mut jobs = vec![
        ((0, 3, 1_000, 1_000), narrow),
        ((1, 32, 10, 10), 32 * narrow),
    ];
    jobs.extend((1..=200).map(|i| ((100 * i, 1, 1_000, 1_000), narrow)));
    for kind in [EASY, CONSERVATIVE, SLURM] {
        let starts = starts_with(EXACT, pairs(33, 2_048), kind, &jobs);
        assert_eq!(starts[1], 1_000, "{kind:?}");
    }
    // Rounded to a minute it is held for that long.
    let starts = starts_on(pairs(33, 2_048), SLURM, &jobs);
    assert!((1_000..=1_060).contains(&starts[1]), "{}", starts[1]);
}

#[test]
fn a_job_may_pass_on_nodes_that_the_head_leaves_and_takes_the_first_of_them() {
    // The head will have the first two nodes. The fourth job is long: it has
    // to sit on the third node, though the first one has room for it now.
    let mib = 1_024;
    let jobs = [
        ((0, 1, 10, 10), 1_024 * mib),
        ((0, 1, 10, 10), 2_048 * mib),
        ((0, 2, 10, 10), 2_048 * mib),
        ((0, 1, 100, 100), 512 * mib),
        ((0, 1, 5, 5), 2_048 * mib),
    ];
    assert_eq!(starts_on(pairs(3, 2_048), EASY, &jobs), [0, 0, 10, 0, 20]);
}

#[test]
fn a_reservation_made_by_resource_is_kept_when_the_first_job_with_memory_comes() {
    let mib = 1_024;
    for kind in [CONSERVATIVE, SLURM] {
        let jobs = [
            ((0, 3, 100, 100), 0),
            ((0, 4, 50, 50), 0),
            ((40, 1, 200, 200), 1_024 * mib),
        ];
        let starts = starts_with(EXACT, pairs(2, 2_048), kind, &jobs);
        assert_eq!(starts, [0, 100, 150], "{kind:?}");
    }
}

#[test]
fn a_refused_job_does_not_change_how_a_cluster_plans() {
    let nodes = pairs(2, 2_048);
    let mut cluster = Cluster::new(ClusterConfig::new(ClusterId(0), nodes, EASY));
    let job = JobSpec {
        components: Components::one(
            1,
            Requirements {
                memory_kib: 4_096 * 1_024,
                ..Requirements::default()
            },
        ),
        ..JobSpec::rigid(JobId(0), 1, SimDuration::from_secs(1))
    };
    let mut events = Starts::default();
    for _ in 0..3 {
        assert!(cluster.submit(SimTime::ZERO, &job, &mut events).is_err());
    }
    assert_eq!(cluster.poll_timeout(), None);
}

#[test]
fn slurm_starts_jobs_at_their_reservations_between_plans_if_nothing_is_rounded() {
    // As `slurm_passes_the_head_only_when_it_plans`: but the third job, planned
    // at 30 s for the 10 s that the first one leaves it, starts at once then.
    let jobs = [
        ((0, 6, 40, 40), 0),
        ((1, 10, 100, 100), 0),
        ((2, 8, 10, 10), 0),
    ];
    let nodes = Resources::homogeneous(14);
    let starts = starts_with(EXACT, nodes, SLURM, &jobs);
    assert_eq!(starts, [0, 40, 30]);
}

#[test]
fn a_job_that_scattered_memory_cannot_hold_waits_until_a_node_can() {
    // The sum of the memory left would do for the third job, no node has it.
    let nodes = Resources::new(vec![Resource {
        cpu_count: 2,
        ..group(2, "1", Some(4))
    }])
    .expect("four processors");
    let mib = 1_024;
    let jobs = [
        ((0, 1, 10, 10), 3 * mib),
        ((0, 1, 20, 20), 3 * mib),
        ((0, 1, 5, 5), 2 * mib),
    ];
    for kind in [EASY, CONSERVATIVE, SLURM] {
        assert_eq!(
            starts_on(nodes.clone(), kind, &jobs),
            [0, 0, 10],
            "{kind:?}"
        );
    }
}

#[test]
fn the_defaults_are_those_of_slurm_22_05() {
    let settings = SlurmBackfillSettings::default();
    assert_eq!(settings.bf_interval, SimDuration::from_secs(30));
    assert_eq!(settings.bf_resolution, SimDuration::from_secs(60));
    assert_eq!(settings.bf_window, SimDuration::from_secs(24 * 3600));
    assert_eq!(settings.bf_max_job_test, 500);
}

/// What a cluster promises, and takes back, of one job.
#[derive(Default)]
struct Told(Vec<(u64, &'static str, u64)>);

impl EventSink for Told {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        let seconds = |at: SimTime| at.as_nanos() / 1_000_000_000;
        if event.job == Some(JobId(1)) {
            self.0
                .push((seconds(at), event.kind.name(), seconds(event.instant())));
        }
    }
}

#[test]
fn a_start_is_promised_once_and_withdrawn_before_it_is_missed() {
    for kind in [EASY, CONSERVATIVE, SLURM] {
        let mut config = ClusterConfig::new(ClusterId(0), Resources::homogeneous(10), kind);
        config.slurm = EXACT;
        let mut cluster = Cluster::new(config);
        let mut told = Told::default();
        // The first job is expected to end at 60 s and ends at 100 s.
        for (id, processors, run_time, estimate) in [(0, 9, 100, 60), (1, 10, 10, 10)] {
            let job = JobSpec {
                requested_time: Some(SimDuration::from_secs(estimate)),
                ..JobSpec::rigid(JobId(id), processors, SimDuration::from_secs(run_time))
            };
            cluster.submit(SimTime::ZERO, &job, &mut told).unwrap();
        }
        while let Some(now) = cluster.poll_timeout() {
            cluster.handle_completions(now, &mut told, &mut Vec::new());
            cluster.handle_pass(now, &mut told);
        }
        let kinds: Vec<&str> = told.0.iter().map(|(_, kind, _)| *kind).collect();
        let withdrawn = [
            "queued",
            "promised",
            "promise-withdrawn",
            "started",
            "finished",
        ];
        assert_eq!(kinds, withdrawn, "{kind:?}: {:?}", told.0);
        assert_eq!(told.0[1], (0, "promised", 60), "{kind:?}");
        assert_eq!(told.0[3].0, 100, "{kind:?}");
    }
}
