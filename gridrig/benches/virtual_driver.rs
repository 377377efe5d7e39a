//! Speed of the virtual driver as ratios taken in one run.
//!
//! Beside each case a bare loop is timed: sorted arrivals and a binary heap of
//! completions, no model at all. Absolute numbers depend on the machine; the
//! ratios are what a change is judged by.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark"
)]

use gridrig::scenario::Scenario;
use gridrig_core::broker::OwnDispatch;
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster, Link};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, JobLabel, JobSpec, Submission};
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::rng;
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use gridrig_drivers::virtual_time::{Options, run};
use gridrig_results::{EventLog, JobTable, Measure, RunSummary};
use gridrig_tracelab::prepare::{merge, prepare};
use gridrig_tracelab::spec::WorkloadSpec;
use rand::{Rng, RngExt};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// As in the command.
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PROCESSORS: u32 = 450;
const ROUNDS: usize = 5;

fn main() {
    let steady = workload(100_000, 0, Entry::Cluster(ClusterId(0)));
    let burst = workload(200_000, 100_000, Entry::Cluster(ClusterId(0)));
    let brokered = workload(100_000, 0, Entry::Domain(DomainId(0)));
    println!("case                          jobs      jobs/s   bare jobs/s   times bare");
    let per_job_steady = report("steady, 80 % load", &steady, &single());
    let per_job_burst = report("half of it at time 0", &burst, &single());
    report(
        "one broker, one cluster",
        &brokered,
        &federation(1, PROCESSORS),
    );
    report(
        "two brokers, round-robin",
        &brokered,
        &federation(2, PROCESSORS / 2 + 31),
    );
    let plain = workload(20_000, 0, Entry::Cluster(ClusterId(0)));
    let with_memory = wanting_memory(plain.clone());
    for discipline in [
        DisciplineKind::EasyBackfill,
        DisciplineKind::ConservativeBackfill,
    ] {
        let name = discipline.name();
        report(name, &plain, &planned(discipline));
        report(
            &format!("{name}, memory"),
            &with_memory,
            &planned(discipline),
        );
    }
    println!(
        "burst / steady, time per job: {:.2}",
        per_job_burst / per_job_steady
    );
    place_on_several_clusters();
}

/// So many jobs a second are placed on several clusters at least.
const AIM: f64 = 200_000.0;

/// 500 sets of 200 jobs of KOALA's W1 and as many of W2 under each of its policies, without
/// local users; the broker looks at its clusters when it places a job. First set by set, then
/// on all processors, as `gridrig run` runs them, which is what the aim is about.
fn place_on_several_clusters() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../resources/scenarios/koala-das2.toml"
    );
    let live = ["local_info=fresh", "exchange=1d"].map(|it| format!("domain.0.broker.{it}"));
    let scenario = Scenario::load(Path::new(file), &live).expect("the shipped scenario");
    let set = |set: u64| {
        let spec = WorkloadSpec {
            seed: set / 2 + 1,
            scale_arrival: Decimal::from_whole(1 + set % 2),
            ..scenario.workloads[0].clone()
        };
        merge(vec![prepare(&spec, 0).expect("a workload")]).expect("jobs")
    };
    let sets: Vec<Vec<Submission>> = (0..1000).map(set).collect();
    let jobs: usize = sets.iter().map(Vec::len).sum();
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    println!("sets of several components       jobs  jobs/s, one core, and all");
    for policy in &scenario.policies {
        let grid = scenario.grid_for(policy.as_ref());
        let place = |submissions: &Vec<Submission>| {
            let mut log = EventLog::default();
            let options = Options::default();
            let go_on = |_, _| ControlFlow::Continue(());
            let outcome = run(&grid, submissions, &options, &mut log, go_on);
            assert_eq!(outcome.ended, submissions.len());
        };
        let rate = |workers: usize| {
            let begin = Instant::now();
            let next = AtomicUsize::new(0);
            let set = || sets.get(next.fetch_add(1, Ordering::Relaxed));
            thread::scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(|| std::iter::from_fn(set).for_each(place));
                }
            });
            jobs as f64 / begin.elapsed().as_secs_f64()
        };
        let (one, all) = (rate(1), rate(cores));
        let name = policy.as_ref().map(ToString::to_string).unwrap_or_default();
        println!(
            "{name:<30} {jobs:>8} {one:>11.0} {all:>11.0} on {cores} processors   aim: {AIM:.0}"
        );
        if all < AIM {
            println!("virtual_driver: {name} places fewer jobs a second than its aim");
            std::process::exit(1);
        }
    }
}

/// Times a case and the bare loop in turn; answers the median seconds per job.
fn report(name: &str, submissions: &[Submission], grid: &Grid) -> f64 {
    let mut ours = Vec::new();
    let mut bare = Vec::new();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let mut log = EventLog::default();
        let options = Options::default();
        let outcome = run(grid, submissions, &options, &mut log, |_, _| {
            ControlFlow::Continue(())
        });
        let metrics = summarize(&log, submissions, grid);
        ours.push(begin.elapsed().as_secs_f64());
        assert_eq!(outcome.ended, submissions.len());
        std::hint::black_box(metrics);
        let begin = Instant::now();
        std::hint::black_box(bare_loop(submissions));
        bare.push(begin.elapsed().as_secs_f64());
    }
    let (ours, bare) = (median(ours), median(bare));
    let jobs = submissions.len() as f64;
    println!(
        "{name:<26} {jobs:>8} {:>11.0} {:>13.0} {:>12.1}",
        jobs / ours,
        jobs / bare,
        ours / bare
    );
    ours / jobs
}

fn summarize(log: &EventLog, submissions: &[Submission], grid: &Grid) -> RunSummary {
    let table = JobTable::build(log, submissions, grid, &[]);
    let known = RunSummary::default();
    RunSummary::compute(&table, &Measure::default(), SimDuration::ZERO, known)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Sorted arrivals and a heap of completions that name their jobs: the least
/// any simulator does.
fn bare_loop(submissions: &[Submission]) -> u64 {
    let mut ends: BinaryHeap<Reverse<(SimTime, JobId)>> = BinaryHeap::new();
    let mut sum = 0;
    let mut complete = |Reverse((end, job)): Reverse<(SimTime, JobId)>| {
        sum ^= end.as_nanos() + u64::from(job.0);
    };
    for submission in submissions {
        while ends
            .peek()
            .is_some_and(|Reverse((end, _))| *end <= submission.at)
        {
            ends.pop().into_iter().for_each(&mut complete);
        }
        let end = submission.at + submission.spec.run_time;
        ends.push(Reverse((end, submission.spec.id)));
    }
    while let Some(next) = ends.pop() {
        complete(next);
    }
    sum
}

/// Mean size about 14 and mean run time about 1 h, arrivals for 80 % load; the
/// first `at_zero` arrive at time 0.
fn workload(jobs: u32, at_zero: u32, entry: Entry) -> Vec<Submission> {
    let mut rng = rng::stream(1, "bench");
    let draw: Vec<(u32, u64)> = (0..jobs)
        .map(|_| {
            let size = match rng.next_u32() % 8 {
                0..3 => 1,
                3..6 => 1 << (rng.next_u32() % 5),
                6 => rng.random_range(1..=32),
                _ => rng.random_range(16..=160),
            };
            (size, rng.random_range(1..7_200))
        })
        .collect();
    let work: u64 = draw.iter().map(|(size, run)| u64::from(*size) * run).sum();
    let span_ns = work as f64 / (f64::from(PROCESSORS) * 0.8) * 1e9;
    let gap = span_ns / f64::from(jobs) * f64::from(jobs) / f64::from(jobs - at_zero);
    let mut at = 0.0;
    draw.iter()
        .enumerate()
        .map(|(index, (size, run))| {
            if index as u32 >= at_zero {
                at += gap * rng.random_range(0.0..2.0);
            }
            let id = JobId(index as u32);
            Submission {
                spec: JobSpec::rigid(id, *size, SimDuration::from_secs(*run)),
                at: SimTime::from_nanos(at as u64),
                entry,
                label: JobLabel {
                    trace_id: u64::from(id.0),
                    ..JobLabel::default()
                },
            }
        })
        .collect()
}

fn cluster(id: u16, processors: u32) -> ClusterConfig {
    let resources = Resources::homogeneous(processors);
    ClusterConfig::new(ClusterId(id), resources, DisciplineKind::FirstInFirstFit)
}

/// The same jobs, each of which wants up to 2 GiB per processor.
fn wanting_memory(mut submissions: Vec<Submission>) -> Vec<Submission> {
    let mut rng = rng::stream(1, "memory");
    for submission in &mut submissions {
        let mib = 1u64 << rng.random_range(6..=11);
        submission.spec.components.first.requirements.memory_kib = mib * 1024;
    }
    submissions
}

/// One cluster of nodes with two processors and 3 GiB each.
fn planned(discipline: DisciplineKind) -> Grid {
    let mut config = cluster(0, PROCESSORS);
    let groups = vec![Resource {
        name: None,
        count: PROCESSORS / 2,
        cpu_count: 2,
        architecture: None,
        os: None,
        memory_mib: Some(3072),
        disk_mib: None,
        speed: Decimal::ONE,
        generic: Default::default(),
    }];
    config.resources = Resources::new(groups).unwrap_or(config.resources);
    config.discipline = discipline;
    Grid::single_cluster("cluster", config)
}

fn single() -> Grid {
    Grid::single_cluster("cluster", cluster(0, PROCESSORS))
}

/// So many domains of one cluster each, all linked with all.
fn federation(domains: u16, processors: u32) -> Grid {
    let broker = BrokerSettings {
        own_dispatch: OwnDispatch::Ignored,
        ..BrokerSettings::default()
    };
    let mut grid = Grid::default();
    for id in 0..domains {
        let name = format!("d{id}");
        grid.domains.push(Domain {
            name,
            broker: broker.clone(),
            clusters: vec![ClusterId(id)],
            topology: Default::default(),
        });
        let config = cluster(id, processors);
        grid.clusters.push(GridCluster {
            name: format!("c{id}"),
            domain: Some(DomainId(id)),
            config,
        });
        for other in (0..domains).filter(|other| *other != id) {
            let latency = SimDuration::from_millis(50);
            let (consumer, provider) = (DomainId(id), DomainId(other));
            grid.links.push(Link {
                consumer,
                provider,
                latency,
                bandwidth: None,
            });
        }
    }
    grid
}
