//! What an emulated LRMS does, and in which order.

use gridrig_core::cluster::{Cluster, ClusterConfig, Finished, JobStatus};
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::event::{Event, EventKind, EventSink, NoEvents};
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::{Components, JobSpec, Reason, Requirements};
use gridrig_core::placement::PlacementRun;
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use std::sync::Arc;

const FIRST_FIT: DisciplineKind = DisciplineKind::FirstInFirstFit;

fn secs(secs: u64) -> SimTime {
    SimTime::from_secs(secs)
}

fn cluster(resources: Resources, discipline: DisciplineKind) -> Cluster {
    Cluster::new(ClusterConfig::new(ClusterId(0), resources, discipline))
}

fn plain(processors: u32) -> Cluster {
    cluster(Resources::homogeneous(processors), FIRST_FIT)
}

/// A group of nodes that any job may use.
fn nodes(count: u32, cpu_count: u32) -> Resource {
    Resource {
        name: None,
        count,
        cpu_count,
        architecture: None,
        os: None,
        memory_mib: None,
        disk_mib: None,
        speed: Decimal::ONE,
        generic: Default::default(),
    }
}

fn groups(groups: &[Resource]) -> Resources {
    Resources::new(groups.to_vec()).expect("the test has processors")
}

fn job(id: u32, processors: u32, run_time_secs: u64) -> JobSpec {
    let run_time = SimDuration::from_secs(run_time_secs);
    JobSpec::rigid(JobId(id), processors, run_time)
}

fn with_memory(job: JobSpec, memory_kib: u64) -> JobSpec {
    let requirements = Requirements {
        memory_kib,
        ..Requirements::default()
    };
    JobSpec {
        components: Components::one(job.processors(), requirements),
        ..job
    }
}

fn run(resource: u16, node: u32, nodes: u32, processors: u32) -> PlacementRun {
    PlacementRun {
        resource,
        node,
        nodes,
        processors,
    }
}

fn submit(cluster: &mut Cluster, at: u64, job: &JobSpec) {
    cluster
        .submit(secs(at), job, &mut NoEvents)
        .expect("the job can run here");
}

fn complete(cluster: &mut Cluster, at: SimTime) -> Vec<u32> {
    let mut finished = Vec::new();
    cluster.handle_completions(at, &mut NoEvents, &mut finished);
    finished.iter().map(|done: &Finished| done.job.0).collect()
}

/// Start and placement of a running job, `None` while it waits.
fn running(cluster: &Cluster, id: u32) -> Option<(SimTime, Vec<PlacementRun>)> {
    match cluster.query(JobId(id)).expect("the job is here") {
        JobStatus::Queued { .. } => None,
        JobStatus::Running { start, placement } => Some((start, placement)),
    }
}

/// Lets time pass up to `until` and answers the ends, in order.
fn play(cluster: &mut Cluster, until: u64) -> Vec<(u32, SimTime)> {
    let mut ends = Vec::new();
    while let Some(now) = cluster.poll_timeout().filter(|now| *now <= secs(until)) {
        for id in complete(cluster, now) {
            ends.push((id, now));
        }
        cluster.handle_pass(now, &mut NoEvents);
    }
    ends
}

#[test]
fn a_completion_frees_processors_for_an_arrival_at_the_same_instant() {
    let mut cluster = plain(2);
    submit(&mut cluster, 0, &job(0, 2, 10));
    cluster.handle_pass(secs(0), &mut NoEvents);
    assert_eq!(complete(&mut cluster, secs(10)), [0]);
    submit(&mut cluster, 10, &job(1, 2, 10));
    cluster.handle_pass(secs(10), &mut NoEvents);
    assert_eq!(running(&cluster, 1).map(|(start, _)| start), Some(secs(10)));
}

#[test]
fn nothing_starts_before_the_pass_of_its_instant() {
    let mut cluster = plain(2);
    submit(&mut cluster, 0, &job(0, 1, 10));
    assert_eq!(running(&cluster, 0), None);
    assert_eq!(cluster.next_pass(), Some(secs(0)));
    cluster.handle_pass(secs(0), &mut NoEvents);
    assert_eq!(cluster.next_pass(), None);
    assert_eq!(cluster.busy(), 1);
}

#[test]
fn a_job_of_length_0_ends_in_a_new_round_of_its_instant_and_the_next_one_starts_in_it() {
    let mut cluster = plain(1);
    submit(&mut cluster, 5, &job(0, 1, 0));
    submit(&mut cluster, 5, &job(1, 1, 7));
    cluster.handle_pass(secs(5), &mut NoEvents);
    assert_eq!(running(&cluster, 1), None);
    assert_eq!(cluster.next_completion(), Some(secs(5)));
    assert_eq!(complete(&mut cluster, secs(5)), [0]);
    cluster.handle_pass(secs(5), &mut NoEvents);
    assert_eq!(running(&cluster, 1).map(|(start, _)| start), Some(secs(5)));
}

#[test]
fn jobs_that_end_at_one_instant_end_in_trace_order() {
    let mut cluster = plain(3);
    for id in [2, 0, 1] {
        submit(&mut cluster, 0, &job(id, 1, 4));
    }
    cluster.handle_pass(secs(0), &mut NoEvents);
    assert_eq!(complete(&mut cluster, secs(4)), [0, 1, 2]);
}

#[test]
fn under_first_in_first_fit_the_first_job_that_fits_runs_and_then_again() {
    let mut cluster = plain(4);
    for (id, processors) in [(0, 3), (1, 2), (2, 1), (3, 1)] {
        submit(&mut cluster, 0, &job(id, processors, 10));
    }
    cluster.handle_pass(secs(0), &mut NoEvents);
    let started = |id| running(&cluster, id).is_some();
    assert_eq!([0, 1, 2, 3].map(started), [true, false, true, false]);
}

#[test]
fn under_first_in_first_fit_a_wide_job_starves_behind_narrow_ones() {
    let mut cluster = plain(2);
    submit(&mut cluster, 0, &job(0, 1, 10));
    cluster.handle_pass(secs(0), &mut NoEvents);
    submit(&mut cluster, 1, &job(1, 2, 10));
    submit(&mut cluster, 1, &job(2, 1, 20));
    submit(&mut cluster, 1, &job(3, 1, 20));
    let ends = play(&mut cluster, 100);
    // Job 2 takes the free half at once, job 3 the other at 10.
    assert_eq!(
        ends,
        [(0, secs(10)), (2, secs(21)), (3, secs(30)), (1, secs(40))]
    );
}

#[test]
fn under_fcfs_nobody_passes_the_head_of_the_queue() {
    let mut cluster = cluster(Resources::homogeneous(2), DisciplineKind::Fcfs);
    submit(&mut cluster, 0, &job(0, 1, 10));
    submit(&mut cluster, 0, &job(1, 2, 10));
    submit(&mut cluster, 0, &job(2, 1, 1));
    let ends = play(&mut cluster, 100);
    assert_eq!(ends, [(0, secs(10)), (1, secs(20)), (2, secs(21))]);
}

#[test]
fn with_an_interval_passes_happen_at_its_multiples_only() {
    let mut config = ClusterConfig::new(ClusterId(0), Resources::homogeneous(2), FIRST_FIT);
    config.interval = SimDuration::from_secs(5);
    let mut cluster = Cluster::new(config);
    submit(&mut cluster, 3, &job(0, 1, 1));
    assert_eq!(cluster.next_pass(), Some(secs(5)));
    cluster.handle_pass(secs(5), &mut NoEvents);
    assert_eq!(cluster.next_pass(), None);
    submit(&mut cluster, 5, &job(1, 1, 100));
    assert_eq!(cluster.next_pass(), Some(secs(5)));
}

#[test]
fn a_job_that_could_never_run_is_rejected_when_it_is_submitted() {
    let resources = groups(&[Resource {
        memory_mib: Some(1),
        ..nodes(2, 2)
    }]);
    let mut cluster = cluster(resources, FIRST_FIT);
    let mut refusal = |job: &JobSpec| cluster.submit(secs(0), job, &mut NoEvents).err();
    assert_eq!(refusal(&job(0, 5, 1)), Some(Reason::NeverFits));
    assert_eq!(refusal(&job(1, 0, 1)), Some(Reason::NeverFits));
    // 1 MiB per node holds one processor of 600 KiB, so two in all.
    assert_eq!(
        refusal(&with_memory(job(2, 3, 1), 600)),
        Some(Reason::NeverFits)
    );
    assert_eq!(refusal(&with_memory(job(3, 2, 1), 600)), None);
    assert_eq!(refusal(&with_memory(job(4, 4, 1), 512)), None);
}

#[test]
fn a_bound_on_the_queue_counts_waiting_jobs_only() {
    let mut config = ClusterConfig::new(ClusterId(0), Resources::homogeneous(1), FIRST_FIT);
    config.queue_limit = Some(1);
    let mut cluster = Cluster::new(config);
    submit(&mut cluster, 0, &job(0, 1, 10));
    cluster.handle_pass(secs(0), &mut NoEvents);
    submit(&mut cluster, 0, &job(1, 1, 10));
    let third = cluster.submit(secs(0), &job(2, 1, 10), &mut NoEvents);
    assert_eq!(third, Err(Reason::QueueFull));
}

#[test]
fn placement_goes_by_resource_then_node_with_as_many_processors_as_are_free() {
    let mut cluster = cluster(groups(&[nodes(2, 2), nodes(3, 4)]), FIRST_FIT);
    submit(&mut cluster, 0, &job(0, 3, 100));
    submit(&mut cluster, 0, &job(1, 6, 100));
    cluster.handle_pass(secs(0), &mut NoEvents);
    let placement = |id| running(&cluster, id).expect("it fits").1;
    assert_eq!(placement(0), [run(0, 0, 1, 2), run(0, 1, 1, 1)]);
    assert_eq!(
        placement(1),
        [run(0, 1, 1, 1), run(1, 0, 1, 4), run(1, 1, 1, 1)]
    );
}

#[test]
fn memory_left_on_a_node_limits_the_processors_taken_there() {
    let group = Resource {
        memory_mib: Some(2),
        ..nodes(3, 4)
    };
    let mut cluster = cluster(groups(&[group]), FIRST_FIT);
    submit(&mut cluster, 0, &with_memory(job(0, 1, 100), 1_024));
    submit(&mut cluster, 0, &with_memory(job(1, 4, 100), 600));
    submit(&mut cluster, 0, &job(2, 4, 100));
    cluster.handle_pass(secs(0), &mut NoEvents);
    let placement = |id| running(&cluster, id).expect("it fits").1;
    assert_eq!(placement(0), [run(0, 0, 1, 1)]);
    // 1024 KiB are left on the first node and 2048 KiB on each other.
    assert_eq!(
        placement(1),
        [run(0, 0, 1, 1), run(0, 1, 1, 3)],
        "one of 600 KiB on the first node, three on the second"
    );
    // Neighbours that give alike are one run.
    assert_eq!(placement(2), [run(0, 0, 1, 2), run(0, 1, 2, 1)]);
}

#[test]
fn nodes_without_limits_keep_their_count_while_a_job_with_a_memory_need_waits() {
    let limited = Resource {
        memory_mib: Some(1),
        ..nodes(1, 1)
    };
    let mut cluster = cluster(groups(&[nodes(70, 1), limited]), FIRST_FIT);
    submit(&mut cluster, 0, &job(0, 70, 10));
    submit(&mut cluster, 0, &job(1, 1, 20));
    cluster.handle_pass(secs(0), &mut NoEvents);
    // It waits for the nodes of job 0, whose end changes what it may have.
    submit(&mut cluster, 1, &with_memory(job(2, 71, 5), 1));
    submit(&mut cluster, 1, &with_memory(job(3, 66, 5), 1));
    let ends = play(&mut cluster, 100);
    assert_eq!(
        ends,
        [(0, secs(10)), (3, secs(15)), (1, secs(20)), (2, secs(25))]
    );
    assert_eq!((cluster.busy(), cluster.present()), (0, 0));
}

#[test]
fn over_mixed_speeds_a_job_runs_at_the_slowest_and_times_are_floored() {
    let speed = |text| Decimal::parse(text).expect("a decimal");
    let fast = Resource {
        speed: speed("2"),
        ..nodes(1, 2)
    };
    let slow = Resource {
        speed: speed("0.3"),
        ..nodes(1, 1)
    };
    let mut cluster = cluster(groups(&[fast, slow]), FIRST_FIT);
    submit(&mut cluster, 0, &job(0, 3, 1));
    let ends = play(&mut cluster, 100);
    assert_eq!(ends, [(0, SimTime::from_nanos(3_333_333_333))]);
    submit(&mut cluster, 100, &job(1, 2, 1));
    let ends = play(&mut cluster, 200);
    assert_eq!(ends, [(1, SimTime::from_nanos(100_500_000_000))]);
}

#[test]
fn nodes_are_of_the_wanted_kind_whatever_the_case_and_unnamed_kinds_fit_no_wish() {
    let x86 = Resource {
        architecture: Some("x86".to_owned()),
        os: Some("LINUX".to_owned()),
        disk_mib: Some(10),
        ..nodes(1, 1)
    };
    let mut cluster = cluster(groups(&[nodes(1, 1), x86]), FIRST_FIT);
    let wish = |id, architecture: &str, os: &str, disk_mib| {
        let requirements = Requirements {
            architecture: Some(Arc::from(architecture)),
            os: Some(Arc::from(os)),
            disk_mib,
            ..Requirements::default()
        };
        JobSpec {
            components: Components::one(1, requirements),
            ..job(id, 1, 10)
        }
    };
    let mut refusal = |job: &JobSpec| cluster.submit(secs(0), job, &mut NoEvents).err();
    assert_eq!(refusal(&wish(0, "X86", "linux", 10)), None);
    assert_eq!(
        refusal(&wish(1, "ppc", "linux", 0)),
        Some(Reason::NeverFits)
    );
    assert_eq!(refusal(&wish(2, "x86", "aix", 0)), Some(Reason::NeverFits));
    assert_eq!(
        refusal(&wish(3, "x86", "linux", 11)),
        Some(Reason::NeverFits)
    );
    cluster.handle_pass(secs(0), &mut NoEvents);
    assert_eq!(running(&cluster, 0).expect("it fits").1, [run(1, 0, 1, 1)]);
}

#[test]
fn a_job_that_asks_for_speed_runs_on_nodes_that_have_it_or_nowhere() {
    let fast = Resource {
        speed: Decimal::parse("2.5").unwrap(),
        ..nodes(1, 1)
    };
    let mut cluster = cluster(groups(&[nodes(3, 1), fast]), FIRST_FIT);
    let wish = |id, processors, speed_millionths| {
        let mut job = job(id, processors, 10);
        job.components.first.requirements.speed_millionths = speed_millionths;
        job
    };
    let mut refusal = |job: &JobSpec| cluster.submit(secs(0), job, &mut NoEvents).err();
    assert_eq!(refusal(&wish(0, 1, 2_500_000)), None);
    assert_eq!(refusal(&wish(1, 1, 2_500_001)), Some(Reason::NeverFits));
    assert_eq!(refusal(&wish(2, 2, 1_000_001)), Some(Reason::NeverFits));
    assert_eq!(refusal(&wish(3, 3, 1_000_000)), None);
    cluster.handle_pass(secs(0), &mut NoEvents);
    assert_eq!(running(&cluster, 0).expect("it fits").1, [run(1, 0, 1, 1)]);
    assert_eq!(running(&cluster, 3).expect("it fits").1, [run(0, 0, 3, 1)]);
}

#[test]
fn disk_is_a_property_of_the_node_and_not_used_up() {
    let group = Resource {
        disk_mib: Some(10),
        ..nodes(1, 2)
    };
    let mut cluster = cluster(groups(&[group]), FIRST_FIT);
    for id in 0..2 {
        let mut job = job(id, 1, 10);
        job.components.first.requirements.disk_mib = 10;
        submit(&mut cluster, 0, &job);
    }
    cluster.handle_pass(secs(0), &mut NoEvents);
    assert_eq!(cluster.busy(), 2);
}

#[test]
fn a_cancelled_job_gives_its_processors_to_the_pass_of_the_same_instant() {
    let mut cluster = plain(2);
    submit(&mut cluster, 0, &job(0, 2, 100));
    submit(&mut cluster, 0, &job(1, 2, 10));
    cluster.handle_pass(secs(0), &mut NoEvents);
    assert!(cluster.cancel(secs(3), JobId(0), &mut NoEvents));
    assert!(!cluster.cancel(secs(3), JobId(0), &mut NoEvents));
    cluster.handle_pass(secs(3), &mut NoEvents);
    assert_eq!(play(&mut cluster, 200), [(1, secs(13))]);
}

#[test]
fn a_job_counts_as_waiting_until_it_starts_and_as_present_until_it_ends() {
    let mut cluster = plain(4);
    let counts = |cluster: &Cluster| (cluster.queued(), cluster.present(), cluster.busy());
    for id in 0..4 {
        submit(&mut cluster, 0, &job(id, 2, 10));
    }
    assert_eq!(counts(&cluster), (4, 4, 0));
    cluster.handle_pass(secs(0), &mut NoEvents);
    assert_eq!(counts(&cluster), (2, 4, 4));
    assert_eq!(complete(&mut cluster, secs(10)), [0, 1]);
    assert_eq!(counts(&cluster), (2, 2, 0));
}

#[test]
fn a_waiting_job_is_known_by_the_instant_it_was_accepted() {
    let mut cluster = plain(1);
    submit(&mut cluster, 7, &job(0, 1, 10));
    let since = secs(7);
    let status = cluster.query(JobId(0));
    assert_eq!(status, Some(JobStatus::Queued { since }));
    assert_eq!(cluster.query(JobId(1)), None);
}

#[test]
fn a_pass_that_is_not_due_yet_starts_nothing() {
    let mut config = ClusterConfig::new(ClusterId(0), Resources::homogeneous(2), FIRST_FIT);
    config.interval = SimDuration::from_secs(5);
    let mut cluster = Cluster::new(config);
    submit(&mut cluster, 3, &job(0, 1, 1));
    cluster.handle_pass(secs(4), &mut NoEvents);
    assert_eq!(running(&cluster, 0), None);
    assert_eq!(cluster.next_pass(), Some(secs(5)));
}

/// The losses that a cluster tells of.
#[derive(Default)]
struct Losses(Vec<(SimTime, u32, Reason)>);

impl EventSink for Losses {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        if event.kind == EventKind::Failed {
            let (job, reason) = (event.job.unwrap(), event.reason.unwrap());
            self.0.push((at, job.0, reason));
        }
    }
}

#[test]
fn jobs_that_are_lost_leave_nothing_behind() {
    let mut cluster = plain(2);
    for id in [5, 3, 4] {
        submit(&mut cluster, 0, &job(id, 2, 10));
    }
    cluster.handle_pass(secs(0), &mut NoEvents);
    let mut losses = Losses::default();
    for id in [3, 4, 5] {
        assert!(cluster.fail(secs(4), JobId(id), Reason::ServiceLost, &mut losses));
    }
    assert!(!cluster.fail(secs(4), JobId(3), Reason::ServiceLost, &mut losses));
    let told = [3, 4, 5].map(|id| (secs(4), id, Reason::ServiceLost));
    assert_eq!(losses.0, told);
    let sample = cluster.sample(secs(4));
    assert_eq!((sample.queued, sample.busy, sample.work_left), (0, 0, 0));
    assert_eq!((cluster.present(), cluster.next_completion()), (0, None));
    // It takes jobs again, those that it has lost included.
    submit(&mut cluster, 4, &job(3, 2, 10));
    assert_eq!(play(&mut cluster, 100), [(3, secs(14))]);
}
