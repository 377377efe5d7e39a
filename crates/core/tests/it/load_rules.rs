//! What an LRMS reports of its load (design 4).

use gridrig_core::cluster::{Cluster, ClusterConfig};
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::event::NoEvents;
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::JobSpec;
use gridrig_core::load::{FreeSpace, Mean, Window};
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::{Decimal, SimDuration, SimTime};

fn secs(secs: u64) -> SimTime {
    SimTime::from_secs(secs)
}

/// 4 processors; from 10 s to 20 s a job has three of them and one that wants
/// two waits; that one runs from 20 s to 50 s.
fn loaded(until: u64) -> Cluster {
    let resources = Resources::homogeneous(4);
    let config = ClusterConfig::new(ClusterId(0), resources, DisciplineKind::Fcfs);
    let mut cluster = Cluster::new(config);
    let job =
        |id, processors, run| JobSpec::rigid(JobId(id), processors, SimDuration::from_secs(run));
    for job in [job(0, 3, 10), job(1, 2, 30)] {
        cluster
            .submit(secs(10), &job, &mut NoEvents)
            .expect("it fits");
    }
    while let Some(now) = cluster.poll_timeout().filter(|now| *now <= secs(until)) {
        cluster.handle_completions(now, &mut NoEvents, &mut Vec::new());
        cluster.handle_pass(now, &mut NoEvents);
    }
    cluster
}

fn check(at: u64, window: Window, queued: (u64, u64), busy: (u64, u64)) {
    let sample = loaded(at).sample(secs(at));
    let same = |mean: Mean, (value_secs, weight_secs): (u64, u64)| {
        let left = mean.sum * u128::from(weight_secs);
        let right = u128::from(value_secs) * u128::from(mean.weight);
        assert_eq!(left, right, "at {at} s over {window:?}: {mean:?}");
    };
    same(sample.queued_over(window), queued);
    same(sample.busy_over(window), busy);
}

#[test]
fn the_instant_value_is_that_after_the_last_change() {
    check(10, Window::Instant, (1, 1), (3, 1));
    check(20, Window::Instant, (0, 1), (2, 1));
    check(50, Window::Instant, (0, 1), (0, 1));
}

#[test]
fn a_mean_is_time_weighted_over_the_window() {
    // From 20 s to 50 s: nothing waits, 2 processors all the time.
    check(50, Window::Seconds30, (0, 30), (60, 30));
    // From 15 s to 45 s: 5 s of the first state, 25 s of the second.
    check(45, Window::Seconds30, (5, 30), (5 * 3 + 25 * 2, 30));
    // The last 30 s of a long idle time.
    check(400, Window::Seconds30, (0, 30), (0, 30));
    // From 15 s to 315 s.
    check(315, Window::Seconds300, (5, 300), (5 * 3 + 30 * 2, 300));
}

#[test]
fn before_a_full_window_has_passed_the_mean_is_over_the_time_there_was() {
    check(20, Window::Seconds30, (10, 20), (30, 20));
    check(20, Window::Seconds300, (10, 20), (30, 20));
}

#[test]
fn at_time_0_a_mean_is_the_value_of_the_instant() {
    let resources = Resources::homogeneous(4);
    let config = ClusterConfig::new(ClusterId(0), resources, DisciplineKind::Fcfs);
    let mut cluster = Cluster::new(config);
    let job = JobSpec::rigid(JobId(0), 3, SimDuration::from_secs(5));
    cluster
        .submit(secs(0), &job, &mut NoEvents)
        .expect("it fits");
    cluster.handle_pass(secs(0), &mut NoEvents);
    let sample = cluster.sample(secs(0));
    assert_eq!(sample.busy_over(Window::Seconds30), Mean::instant(3));
    assert_eq!(sample.queued_over(Window::Seconds300), Mean::instant(0));
}

#[test]
fn work_left_counts_what_runs_to_its_end_and_what_waits_in_full() {
    let sample = loaded(15).sample(secs(15));
    let processor_secs = 3 * 5 + 2 * 30;
    assert_eq!(sample.work_left, processor_secs * 1_000_000_000);
    assert_eq!(sample.queued_processors, 2);
    assert_eq!(sample.free(), 1);
}

#[test]
fn work_left_shrinks_as_jobs_run_and_what_has_ended_leaves_none() {
    let left = |at| loaded(at).sample(secs(at)).work_left / 1_000_000_000;
    assert_eq!(left(10), 3 * 10 + 2 * 30);
    assert_eq!(left(25), 2 * 25);
    assert_eq!(left(60), 0);
}

#[test]
fn a_cancelled_job_leaves_no_work_whether_it_runs_or_waits() {
    let mut cluster = loaded(15);
    assert!(cluster.cancel(secs(15), JobId(1), &mut NoEvents));
    let sample = cluster.sample(secs(15));
    assert_eq!((sample.queued_processors, sample.queued), (0, 0));
    assert_eq!(sample.work_left, 3 * 5 * 1_000_000_000);
    assert!(cluster.cancel(secs(15), JobId(0), &mut NoEvents));
    assert_eq!(cluster.sample(secs(15)).work_left, 0);
    // A job that comes later is all the work there is.
    let job = JobSpec::rigid(JobId(2), 4, SimDuration::from_secs(10));
    cluster
        .submit(secs(16), &job, &mut NoEvents)
        .expect("it fits");
    cluster.handle_pass(secs(16), &mut NoEvents);
    assert_eq!(cluster.sample(secs(17)).work_left, 4 * 9 * 1_000_000_000);
}

#[test]
fn between_passes_a_job_counts_from_its_arrival_and_to_its_end() {
    let resources = Resources::homogeneous(4);
    let mut config = ClusterConfig::new(ClusterId(0), resources, DisciplineKind::Fcfs);
    config.interval = SimDuration::from_secs(10);
    let mut cluster = Cluster::new(config);
    let job = JobSpec::rigid(JobId(0), 2, SimDuration::from_secs(15));
    cluster
        .submit(secs(3), &job, &mut NoEvents)
        .expect("it fits");
    cluster.handle_pass(secs(10), &mut NoEvents);
    cluster.handle_completions(secs(25), &mut NoEvents, &mut Vec::new());
    assert_eq!(cluster.next_pass(), Some(secs(30)));
    // It waits from 3 s to 10 s and has two processors from then to 25 s.
    let sample = cluster.sample(secs(29));
    let mean = |value_secs: u128| Mean {
        sum: value_secs * 1_000_000_000,
        weight: 29_000_000_000,
    };
    assert_eq!(sample.queued_over(Window::Seconds30), mean(7));
    assert_eq!(sample.busy_over(Window::Seconds30), mean(2 * 15));
}

#[test]
fn at_time_0_a_mean_is_the_value_of_the_instant_before_the_pass_too() {
    let resources = Resources::homogeneous(4);
    let config = ClusterConfig::new(ClusterId(0), resources, DisciplineKind::Fcfs);
    let mut cluster = Cluster::new(config);
    let job = JobSpec::rigid(JobId(0), 3, SimDuration::from_secs(5));
    cluster
        .submit(secs(0), &job, &mut NoEvents)
        .expect("it fits");
    let sample = cluster.sample(secs(0));
    assert_eq!(sample.queued_over(Window::Seconds30), Mean::instant(1));
}

#[test]
fn what_is_free_beside_processors_is_told_where_nodes_have_bounds() {
    let nodes = Resource {
        name: None,
        count: 2,
        cpu_count: 2,
        architecture: None,
        os: None,
        memory_mib: Some(4),
        disk_mib: Some(100),
        speed: Decimal::ONE,
        generic: "gpu:4".parse().unwrap(),
    };
    let unbounded = Resources::homogeneous(3).groups()[0].clone();
    let resources = Resources::new(vec![nodes, unbounded]).unwrap();
    let config = ClusterConfig::new(ClusterId(0), resources, DisciplineKind::Fcfs);
    let mut cluster = Cluster::new(config);
    let space = |memory, node_memory, disk, gpus| FreeSpace {
        memory_kib: Some(memory),
        node_memory_kib: Some(node_memory),
        disk_mib: Some(disk),
        generic: [("gpu".into(), gpus)].into(),
    };
    assert_eq!(*cluster.sample(secs(0)).space, space(8192, 4096, 200, 8));
    let mut job = JobSpec::rigid(JobId(0), 3, SimDuration::from_secs(5));
    job.components.first.requirements.memory_kib = 1000;
    job.components.first.requirements.generic = "gpu:3".parse().unwrap();
    cluster.submit(secs(0), &job, &mut NoEvents).unwrap();
    cluster.handle_pass(secs(0), &mut NoEvents);
    assert_eq!(*cluster.sample(secs(0)).space, space(5192, 3096, 100, 2));
    cluster.handle_completions(secs(5), &mut NoEvents, &mut Vec::new());
    assert_eq!(*cluster.sample(secs(5)).space, space(8192, 4096, 200, 8));
    let unknown = Cluster::new(ClusterConfig::new(
        ClusterId(0),
        Resources::homogeneous(3),
        DisciplineKind::Fcfs,
    ));
    assert_eq!(*unknown.sample(secs(0)).space, FreeSpace::default());
}
