//! Seeded random grids and jobs in which instants coincide on purpose.
//!
//! All times lie on a coarse grid, and intervals, phases and latencies are
//! drawn from short lists of its multiples, so that completions, arrivals,
//! cycles and samples often fall on one instant: that is where two readings of
//! the design part.

mod drains;
mod failures;
mod late;
mod matchmaking;
mod parameters;
mod predicting;
mod propagating;
mod run_times;
mod tight;
mod together;
mod windows;

pub use drains::with_drains;
pub use failures::{with_failures, with_long_failures};
pub use late::committing_late;
pub use matchmaking::matched;
pub use predicting::predicting;
pub use propagating::propagating;
pub use run_times::with_run_times;
pub use together::co_allocating;
pub use windows::with_windows;

use crate::reference::RefCancellation;
use gridrig_core::broker::{Blocking, Commit, LocalInfo, OwnDispatch};
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::{DisciplineKind, SlurmBackfillSettings};
use gridrig_core::generic::Generics;
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster, Link, LinkHours};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{
    Component, Components, Entry, JobLabel, JobSpec, Requirements, Submission,
};
use gridrig_core::load::Window;
use gridrig_core::policy::{PolicySpec, Tie};
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::rng;
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use gridrig_core::timetable::{Hours, Timetable};
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;
use std::sync::Arc;

/// The disciplines that scenarios draw, those that promise starts last. A list of
/// its own, as that of policies.
const DISCIPLINES: [DisciplineKind; 5] = [
    DisciplineKind::FirstInFirstFit,
    DisciplineKind::Fcfs,
    DisciplineKind::EasyBackfill,
    DisciplineKind::ConservativeBackfill,
    DisciplineKind::SlurmBackfill,
];

/// The policies that the reference models itself. A list of its own: a policy
/// that is added to the table shifts no scenario.
const POLICIES: [&str; 15] = [
    "round-robin",
    "random",
    "queue-length",
    "free-node",
    "utilization",
    "best-broker-rank",
    "best-broker-rank-1.10",
    "best-broker-rank-1.25",
    "best-broker-rank-aggr",
    "best-broker-rank-aggr-1.10",
    "best-broker-rank-aggr-1.25",
    "inter-rr",
    "inter-random",
    "local-only",
    "full-information",
];

/// A grid with its jobs, all from one seed.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed that brings it back.
    pub seed: u64,
    /// The grid.
    pub grid: Grid,
    /// The jobs, sorted by time, ids 0, 1, 2, ...
    pub submissions: Vec<Submission>,
    /// Requests to remove jobs, some of them hopeless.
    pub cancellations: Vec<RefCancellation>,
}

/// The scenario of this seed: one to four domains and the links between them.
pub fn grid_scenario(seed: u64) -> Scenario {
    let mut rng = rng::stream(seed, "scenario.grid");
    let mut grid = grid(&mut rng);
    parameters::give(&mut rng::stream(seed, "scenario.parameters"), &mut grid);
    let mut rng = rng::stream(seed, "scenario.promises");
    for cluster in &mut grid.clusters {
        tight::promise(&mut rng, &mut cluster.config);
    }
    with_jobs(seed, grid)
}

/// A scenario of one cluster without any broker; half of them are tight.
pub fn cluster_scenario(seed: u64) -> Scenario {
    let mut rng = rng::stream(seed, "scenario.tight");
    let (is_tight, exact) = (once_in(&mut rng, 2), once_in(&mut rng, 2));
    let mut scenario = lone_cluster(seed);
    if is_tight {
        tight::tighten(&mut rng, &mut scenario, exact);
    }
    scenario
}

/// A scenario of one small cluster whose discipline promises, with a pass at
/// each change; estimates are exact.
pub fn exact_scenario(seed: u64) -> Scenario {
    let mut rng = rng::stream(seed, "scenario.exact");
    let mut scenario = lone_cluster(seed);
    tight::tighten(&mut rng, &mut scenario, true);
    scenario.grid.clusters[0].config.slurm.bf_resolution = SimDuration::ZERO;
    scenario
}

/// The same with every cluster under this discipline.
pub fn under(discipline: DisciplineKind, mut scenario: Scenario) -> Scenario {
    for cluster in &mut scenario.grid.clusters {
        cluster.config.discipline = discipline;
    }
    scenario
}

/// The same with generic resources on some nodes, which some of the jobs take.
pub fn with_generics(mut scenario: Scenario) -> Scenario {
    let mut rng = rng::stream(scenario.seed, "scenario.generics");
    let mut some = |texts: &[&str]| pick(&mut rng, texts).parse().unwrap_or_default();
    for cluster in &mut scenario.grid.clusters {
        let mut groups = cluster.config.resources.groups().to_vec();
        for group in &mut groups {
            group.generic = some(&[
                "",
                "",
                "gpu:1",
                "gpu:a100:2",
                "gpu:v100:4",
                "gpu:a100:2,nic:1",
                "nic:3",
            ]);
        }
        if let Some(resources) = Resources::new(groups) {
            cluster.config.resources = resources;
        }
    }
    for submission in &mut scenario.submissions {
        let wishes = [
            "",
            "",
            "",
            "gpu:1",
            "gpu:1",
            "gpu:a100:2",
            "gpu:v100:1,nic:1",
            "nic:1",
        ];
        submission.spec.components.first.requirements.generic = some(&wishes);
    }
    scenario
}

/// The same with jobs of which every third has several components.
pub fn with_components(mut scenario: Scenario) -> Scenario {
    let mut rng = rng::stream(scenario.seed, "scenario.components");
    for submission in &mut scenario.submissions {
        if !once_in(&mut rng, 3) {
            continue;
        }
        let Components { first, more } = &mut submission.spec.components;
        if once_in(&mut rng, 2) {
            first.processors = first.processors.min(2);
        }
        let others = (0..pick(&mut rng, &[1, 1, 1, 2, 3])).map(|_| Component {
            processors: pick(&mut rng, &[1, 1, 2, 3]),
            requirements: Requirements {
                architecture: pick(&mut rng, &[None, None, Some("x86"), Some("ppc")])
                    .map(Arc::from),
                memory_kib: pick(&mut rng, &[0, 0, 512, 1_024, 2_048]),
                generic: pick(
                    &mut rng,
                    &[Generics::default(), first.requirements.generic.clone()],
                ),
                ..Requirements::default()
            },
            cluster: None,
        });
        *more = others.collect();
    }
    scenario
}

fn lone_cluster(seed: u64) -> Scenario {
    let mut rng = rng::stream(seed, "scenario.cluster");
    let mut config = cluster(&mut rng, ClusterId(0));
    let mut rng = rng::stream(seed, "scenario.promises");
    tight::promise(&mut rng, &mut config);
    with_jobs(seed, Grid::single_cluster("only", config))
}

fn with_jobs(seed: u64, grid: Grid) -> Scenario {
    let mut rng = rng::stream(seed, "scenario.jobs");
    let submissions = submissions(&mut rng, &grid);
    let cancellations = cancellations(&mut rng, &submissions);
    Scenario {
        seed,
        grid,
        submissions,
        cancellations,
    }
}

/// One of these.
pub(crate) fn pick<T: Clone>(rng: &mut ChaCha8Rng, choices: &[T]) -> T {
    choices[rng.random_range(0..choices.len())].clone()
}

/// True once in `n` times.
pub(crate) fn once_in(rng: &mut ChaCha8Rng, n: u32) -> bool {
    rng.random_range(0..n) == 0
}

fn millis(millis: u64) -> SimDuration {
    SimDuration::from_millis(millis)
}

fn grid(rng: &mut ChaCha8Rng) -> Grid {
    let mut grid = Grid::default();
    let domains = rng.random_range(1..=4u16);
    // One policy everywhere is the ordinary case; a mixture is legal.
    let common = pick(rng, &POLICIES);
    let mixed = once_in(rng, 4);
    for domain in 0..domains {
        let mut own = Vec::new();
        for _ in 0..rng.random_range(1..=3) {
            let id = ClusterId(grid.clusters.len() as u16);
            own.push(id);
            grid.clusters.push(GridCluster {
                name: format!("c{}", id.0),
                domain: Some(DomainId(domain)),
                config: cluster(rng, id),
            });
        }
        let mut broker = broker(rng);
        let policy = if mixed { pick(rng, &POLICIES) } else { common };
        broker.policy = PolicySpec::named(policy).expect("a policy of the table");
        grid.domains.push(Domain {
            name: format!("d{domain}"),
            broker,
            clusters: own,
            topology: Default::default(),
        });
    }
    links(rng, &mut grid, domains);
    hours(rng, &mut grid);
    grid
}

/// Now and then a provider is closed for a part of a short day. It is open for
/// at least an interval of the consumer, so that no job waits forever.
fn hours(rng: &mut ChaCha8Rng, grid: &mut Grid) {
    for link in &grid.links {
        if !once_in(rng, 4) {
            continue;
        }
        let day = pick(rng, &[6_000, 20_000, 60_000]);
        let interval = grid.domains[link.consumer.index()].broker.interval;
        let open = rng.random_range(interval.as_nanos() / 1_000_000..=day);
        let from = rng.random_range(0..day);
        let hours = Hours {
            from: millis(from),
            until: millis((from + open) % day),
        };
        let starts_at = millis(rng.random_range(0..day));
        if let Some(timetable) = Timetable::new(millis(day), starts_at, &[hours]) {
            let (consumer, provider) = (link.consumer, link.provider);
            grid.hours.push(LinkHours {
                consumer,
                provider,
                timetable,
            });
        }
    }
}

fn broker(rng: &mut ChaCha8Rng) -> BrokerSettings {
    BrokerSettings {
        interval: millis(pick(rng, &[500, 1_000, 1_500, 5_000])),
        exchange: millis(pick(rng, &[500, 1_000, 4_000, 15_000])),
        phase: millis(pick(rng, &[0, 0, 250, 500, 1_250, 7_000])),
        max_hops: rng.random_range(1..=3),
        ttl: rng.random_range(1..=4),
        origin_promotion: pick(
            rng,
            &[Decimal::ONE, Decimal::parse("1.5").unwrap_or(Decimal::ONE)],
        ),
        own_dispatch: pick(rng, &[OwnDispatch::Ignored, OwnDispatch::Debited]),
        commit: Commit::Early,
        blocking: Blocking::Head,
        local_info: pick(rng, &[LocalInfo::Exchange, LocalInfo::Fresh]),
        tie: pick(rng, &Tie::ALL),
        policy: PolicySpec::default(),
        queue_window: pick(rng, &Window::ALL),
        utilization_window: pick(rng, &Window::ALL),
        lrms_latency: millis(pick(rng, &[1, 1, 50, 500, 1_000])),
        drain: Vec::new(),
        ..BrokerSettings::default()
    }
}

fn links(rng: &mut ChaCha8Rng, grid: &mut Grid, domains: u16) {
    for a in 0..domains {
        for b in a + 1..domains {
            let (a, b) = (DomainId(a), DomainId(b));
            let latency = millis(pick(rng, &[1, 50, 100, 200, 500, 1_000]));
            let bandwidth = pick(
                rng,
                &[None, None, Decimal::parse("0.5"), Decimal::parse("4")],
            );
            let mut add = |consumer, provider, latency| {
                grid.links.push(Link {
                    consumer,
                    provider,
                    latency,
                    bandwidth,
                });
            };
            match rng.random_range(0..8) {
                0 => {}
                1 => add(a, b, latency),
                2 => add(b, a, latency),
                _ => {
                    add(a, b, latency);
                    add(b, a, latency);
                }
            }
        }
    }
    // Link order is an order of candidates, so it must not always be that of
    // the domains.
    for last in (1..grid.links.len()).rev() {
        let other = rng.random_range(0..=last);
        grid.links.swap(last, other);
    }
}

fn cluster(rng: &mut ChaCha8Rng, id: ClusterId) -> ClusterConfig {
    let discipline = pick(rng, &DISCIPLINES);
    let mut config = ClusterConfig::new(id, resources(rng), discipline);
    config.interval = millis(pick(rng, &[0, 0, 0, 5, 500, 750]));
    config.slurm = SlurmBackfillSettings {
        bf_interval: millis(pick(rng, &[500, 700, 3_000, 30_000])),
        bf_resolution: millis(pick(rng, &[1, 250, 1_000])),
        bf_window: millis(pick(rng, &[2_000, 86_400_000])),
        bf_max_job_test: pick(rng, &[1, 3, 500]),
    };
    if once_in(rng, 6) {
        config.queue_limit = Some(rng.random_range(0..4));
    }
    config
}

fn resources(rng: &mut ChaCha8Rng) -> Resources {
    if once_in(rng, 4) {
        return Resources::homogeneous(rng.random_range(1..=12));
    }
    let mut groups = Vec::new();
    for _ in 0..rng.random_range(1..=4) {
        groups.push(resource(rng));
    }
    // A group without nodes is legal, a cluster without processors is not.
    Resources::new(groups).unwrap_or_else(|| Resources::homogeneous(3))
}

fn resource(rng: &mut ChaCha8Rng) -> Resource {
    let speeds = ["1", "1", "2", "0.5", "1.25", "0.3", "3.7"];
    let speed = pick(rng, &speeds);
    // Now and then more nodes than the 64 bits of a word.
    let most = pick(rng, &[4, 4, 4, 4, 4, 140]);
    Resource {
        name: None,
        count: rng.random_range(0..=most),
        cpu_count: pick(rng, &[1, 2, 3, 4, 8]),
        architecture: pick(rng, &[None, Some("x86"), Some("X86"), Some("ppc")]).map(str::to_owned),
        os: pick(rng, &[None, Some("LINUX"), Some("aix")]).map(str::to_owned),
        memory_mib: pick(rng, &[None, Some(0), Some(1), Some(4), Some(7)]),
        disk_mib: pick(rng, &[None, Some(10), Some(100)]),
        speed: Decimal::parse(speed).unwrap_or(Decimal::ONE),
        generic: Default::default(),
    }
}

fn submissions(rng: &mut ChaCha8Rng, grid: &Grid) -> Vec<Submission> {
    let widest = grid.clusters.iter();
    let widest = widest.map(|cluster| cluster.config.resources.processors());
    let widest = widest.max().unwrap_or(1);
    let background = grid.domains.is_empty() || once_in(rng, 3);
    let number = rng.random_range(3..=60u32);
    let step = millis(pick(rng, &[250, 500, 500, 2_000]));
    let mut at = SimTime::ZERO;
    let mut submissions = Vec::new();
    for id in 0..number {
        // Two jobs in three come in a burst: at the instant of the one before.
        if once_in(rng, 3) {
            let steps = rng.random_range(0..=8u64);
            at = SimTime::from_nanos(at.as_nanos() + steps * step.as_nanos());
        }
        let cluster = rng.random_range(0..grid.clusters.len());
        let entry = if grid.domains.is_empty() || (background && once_in(rng, 6)) {
            Entry::Cluster(ClusterId(cluster as u16))
        } else {
            let domain = rng.random_range(0..grid.domains.len());
            Entry::Domain(DomainId(domain as u16))
        };
        submissions.push(Submission {
            spec: job(rng, JobId(id), widest),
            at,
            entry,
            label: JobLabel::default(),
        });
    }
    submissions
}

fn job(rng: &mut ChaCha8Rng, id: JobId, widest: u32) -> JobSpec {
    let processors = match rng.random_range(0..10) {
        0 => widest + rng.random_range(0..=1),
        1 | 2 => rng.random_range(1..=widest),
        3 => rng.random_range(1..=widest.min(40)),
        _ => rng.random_range(1..=widest.min(4)),
    };
    let run_times = [0, 0, 250, 500, 1_000, 1_500, 3_000, 10_000, 40_000];
    let requirements = if once_in(rng, 3) {
        Requirements {
            architecture: pick(rng, &[None, None, Some("x86"), Some("PPC")]).map(Arc::from),
            os: pick(rng, &[None, None, Some("linux"), Some("AIX")]).map(Arc::from),
            memory_kib: pick(rng, &[0, 0, 512, 1_000, 1_024, 3_000]),
            disk_mib: pick(rng, &[0, 0, 10, 50]),
            speed_millionths: pick(rng, &[0, 0, 0, 300_000, 1_000_000, 1_250_001]),
            most_per_node: [0, 0, 0, 1, 2][processors as usize % 5],
            generic: Default::default(),
        }
    } else {
        Requirements::default()
    };
    let run_time = pick(rng, &run_times);
    // Right, too long and too short estimates.
    let estimates = [run_time, 2 * run_time, 7 * run_time + 250, run_time / 2];
    let requested = pick(rng, &[&[None][..], &estimates.map(Some)].concat());
    let components = Components::one(processors, requirements);
    JobSpec {
        id,
        requested_time: requested.map(millis),
        data_kib: pick(rng, &[0, 0, 256, 1_024, 4_096]),
        ..JobSpec::of(components, millis(run_time))
    }
}

fn cancellations(rng: &mut ChaCha8Rng, submissions: &[Submission]) -> Vec<RefCancellation> {
    if once_in(rng, 2) {
        return Vec::new();
    }
    let mut cancellations = Vec::new();
    for submission in submissions {
        if once_in(rng, 6) {
            let wait = millis(pick(rng, &[0, 250, 500, 501, 1_000, 2_000, 5_000, 20_000]));
            cancellations.push(RefCancellation {
                at: SimTime::from_nanos(submission.at.as_nanos() + wait.as_nanos()),
                job: submission.spec.id,
            });
        }
    }
    cancellations
}
