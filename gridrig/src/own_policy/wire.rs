//! What is said to the program of a policy and what it answers: a line of JSON each.

use gridrig_core::grid::{Grid, GridCluster};
use gridrig_core::ids::DomainId;
use gridrig_core::job::Component;
use gridrig_core::load::Fraction;
use gridrig_core::message::JobEnd;
use gridrig_core::plan::Waiting;
use gridrig_core::policy::{Candidate, Queued};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Name and version of the protocol of policies.
pub const POLICY: &str = "gridrig.policy.1";
/// The same of disciplines.
pub const DISCIPLINE: &str = "gridrig.discipline.1";
/// The columns of a pass.
pub const LISTS: [&str; 2] = ["waiting", "running"];

/// The first line to a program.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Hello {
    /// `gridrig.policy.1`.
    pub protocol: &'static str,
    /// The name of the policy.
    pub policy: String,
    /// The seed of the run. Take random numbers from it and the domain alone.
    pub seed: u64,
    /// The domain whose broker asks.
    pub domain: String,
    /// The candidates, own clusters first.
    pub candidates: Vec<Known>,
    /// The columns that may be wanted.
    pub columns: Vec<&'static str>,
}

/// A candidate, by what never changes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Known {
    /// Its name.
    pub name: String,
    /// `cluster`, or `peer`: the broker of another domain.
    kind: &'static str,
    /// Processors of the cluster, or of all clusters of the peer's domain.
    processors: u64,
    /// The clusters of the peer's domain.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    clusters: Vec<Known>,
    /// The nodes of the cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<Nodes>,
}

/// Nodes that are alike.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Nodes {
    count: u32,
    processors: u32,
    speed: f64,
}

impl Known {
    /// A cluster.
    pub fn cluster(cluster: &GridCluster) -> Self {
        let GridCluster { name, config, .. } = cluster;
        let nodes = config.resources.groups().iter().map(|group| Nodes {
            count: group.count,
            processors: group.cpu_count,
            speed: group.speed.as_f64(),
        });
        Known {
            name: name.clone(),
            kind: "cluster",
            processors: config.resources.processors().into(),
            clusters: Vec::new(),
            nodes: nodes.collect(),
        }
    }

    /// The candidates of this domain's broker, in their order.
    pub fn all(grid: &Grid, domain: DomainId) -> Vec<Known> {
        let clusters = |domain: DomainId| {
            let ids = grid.domains[domain.index()].clusters.iter();
            ids.map(|id| Known::cluster(&grid.clusters[id.index()]))
        };
        let peers = grid.providers_of(domain).map(|link| {
            let clusters: Vec<Known> = clusters(link.provider).collect();
            Known {
                name: grid.domains[link.provider.index()].name.clone(),
                kind: "peer",
                processors: clusters.iter().map(|it| it.processors).sum(),
                clusters,
                nodes: Vec::new(),
            }
        });
        clusters(domain).chain(peers).collect()
    }
}

/// The answer to the first line.
#[derive(Deserialize)]
#[cfg_attr(test, derive(Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HelloAnswer {
    /// The protocol of the first line.
    pub protocol: String,
    /// The columns that are wanted. Default: all.
    pub columns: Option<Vec<String>>,
}

/// A column of each cycle, and its value for a candidate.
pub type Column = (&'static str, fn(&Candidate) -> Value);

/// All columns.
pub const COLUMNS: [Column; 10] = [
    ("free", |it| it.free.into()),
    ("queued", |it| number(it.queued[0])),
    ("queued_30s", |it| number(it.queued[1])),
    ("queued_300s", |it| number(it.queued[2])),
    ("utilization", |it| number(it.utilization[0])),
    ("utilization_30s", |it| number(it.utilization[1])),
    ("utilization_300s", |it| number(it.utilization[2])),
    ("free_memory_kib", |it| it.space.memory_kib.into()),
    ("free_disk_mib", |it| it.space.disk_mib.into()),
    ("free_generic_resources", |it| {
        let all = it.space.generic.iter();
        all.map(|(name, count)| (name.to_string(), json!(count)))
            .collect()
    }),
];

fn number(fraction: Fraction) -> Value {
    match (fraction.denominator, i64::try_from(fraction.numerator)) {
        (1, Ok(whole)) => whole.into(),
        _ => fraction.as_f64().into(),
    }
}

/// A cycle of the broker in which jobs wait.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cycle {
    /// Which line this is, from 1.
    pub cycle: u64,
    /// The time of the run.
    pub now_s: f64,
    /// The jobs that wait, in the order of the queue.
    pub requests: Vec<Request>,
    /// The columns that are wanted, each with a value for every candidate.
    pub candidates: BTreeMap<&'static str, Vec<Value>>,
    /// Jobs that were sent from here and whose end was heard of since the line before.
    pub ended: Vec<Ended>,
}

/// A job that waits.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Request {
    /// Its number in the run.
    job: u32,
    /// Processors of all components.
    processors: u32,
    /// How long it runs at speed 1.0 as its user would say: the requested time, else
    /// the run time.
    estimate_s: f64,
    /// Data that goes with it to a peer.
    #[serde(skip_serializing_if = "is_zero")]
    data_kib: u64,
    /// What it is made of, where that is more than processors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    components: Vec<Part>,
    /// Positions of the candidates that may have it, at least one.
    pub candidates: Vec<usize>,
}

/// A component of a job.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Part {
    processors: u32,
    architecture: Option<String>,
    os: Option<String>,
    /// Memory for each processor.
    memory_kib: u64,
    disk_mib: u64,
    /// Least speed of a node; 0 is any.
    speed: f64,
    /// Most processors on one node; 0 is any number.
    most_per_node: u32,
    /// On each node, by name.
    generic_resources: BTreeMap<String, u32>,
}

impl From<&Component> for Part {
    fn from(component: &Component) -> Self {
        let wants = &component.requirements;
        let generic = wants.generic.iter();
        Part {
            processors: component.processors,
            architecture: wants.architecture.as_deref().map(str::to_owned),
            os: wants.os.as_deref().map(str::to_owned),
            memory_kib: wants.memory_kib,
            disk_mib: wants.disk_mib,
            speed: wants.speed_millionths as f64 / 1e6,
            most_per_node: wants.most_per_node,
            generic_resources: generic.map(|(n, c)| (n.to_string(), c)).collect(),
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl From<&Queued<'_>> for Request {
    fn from(queued: &Queued<'_>) -> Self {
        let request = &queued.request;
        let only = request.components.only();
        let plain = only.is_some_and(|it| it.requirements.is_any());
        let components = request.components.iter().filter(|_| !plain);
        Request {
            job: request.id.0,
            processors: request.processors,
            estimate_s: request.estimate.as_secs_f64(),
            data_kib: request.data_kib,
            components: components.map(Part::from).collect(),
            candidates: queued.possible.clone(),
        }
    }
}

/// A job that has ended.
#[derive(Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ended {
    /// Its number in the run.
    job: u32,
    /// Whom it was sent to.
    candidate: usize,
    /// How it ended, such as `completed`.
    state: &'static str,
    /// When it started, if it ran.
    start_s: Option<f64>,
    /// When it finished, if it ran.
    finish_s: Option<f64>,
}

impl Ended {
    /// The end of a job that was sent to this candidate.
    pub fn new(candidate: usize, end: &JobEnd) -> Self {
        Ended {
            job: end.job.0,
            candidate,
            state: end.state.name(),
            start_s: end.start.map(|at| at.as_secs_f64()),
            finish_s: end.finish.map(|at| at.as_secs_f64()),
        }
    }
}

/// The answer to a cycle.
#[derive(PartialEq, Deserialize)]
#[cfg_attr(test, derive(Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CycleAnswer {
    /// One for each request, in their order.
    pub answers: Vec<Answer>,
}

/// What becomes of a job.
#[derive(Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(Serialize, schemars::JsonSchema))]
#[serde(untagged, deny_unknown_fields)]
pub enum Answer {
    /// The candidate in this place gets it.
    Index(usize),
    /// The candidate of this name gets it, or `hold`: it waits for the next cycle.
    Name(String),
    /// It is turned away.
    Reject {
        /// Why, in words.
        reject: String,
    },
}

/// The first line to the program of a discipline.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DisciplineHello {
    /// `gridrig.discipline.1`.
    pub protocol: &'static str,
    /// The name of the discipline.
    pub discipline: String,
    /// The seed of the run. Take random numbers from it and the cluster alone.
    pub seed: u64,
    /// The cluster.
    pub cluster: Known,
    /// The lists that may be wanted.
    pub columns: Vec<&'static str>,
}

/// A scheduling pass of a cluster in which jobs wait.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Pass {
    /// Which pass this is, from 1.
    pub pass: u64,
    /// The time of the run.
    pub now_s: f64,
    /// Free processors, on nodes that are up.
    pub free: u32,
    /// The jobs that wait, in the order of arrival.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Vec<Waits>>,
    /// The jobs that run, in the order of their expected ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<Vec<Runs>>,
}

/// A job that waits in a cluster.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Waits {
    /// Its number in the run.
    pub job: u32,
    /// Processors of all components.
    pub processors: u32,
    /// How long it runs, as its user would say, on the slowest nodes that it may have.
    pub estimate_s: f64,
    /// Since when it waits.
    pub since_s: f64,
}

/// A job that runs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Runs {
    /// Its number in the run.
    pub job: u32,
    /// Processors that it has.
    pub processors: u32,
    /// When it should end by its estimate.
    pub expected_end_s: f64,
}

impl From<&Waiting> for Waits {
    fn from(waiting: &Waiting) -> Self {
        Waits {
            job: waiting.job.0,
            processors: waiting.demand.processors,
            estimate_s: waiting.demand.length.as_secs_f64(),
            since_s: waiting.since.as_secs_f64(),
        }
    }
}

/// The answer to a pass.
#[derive(PartialEq, Deserialize)]
#[cfg_attr(test, derive(Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PassAnswer {
    /// Jobs that are to start, in this order; one that does not fit goes on waiting.
    pub start: Vec<u32>,
    /// When there is to be a pass though nothing has changed.
    pub wakeup_s: Option<f64>,
}

/// All messages, for their schema.
#[cfg(test)]
#[derive(Serialize, schemars::JsonSchema)]
pub struct Messages {
    /// The first line to a program.
    hello: Hello,
    /// Its answer.
    hello_answer: HelloAnswer,
    /// Each further line.
    cycle: Cycle,
    /// The answer to it.
    cycle_answer: CycleAnswer,
    /// The first line to the program of a discipline.
    discipline_hello: DisciplineHello,
    /// Each further line to it.
    pass: Pass,
    /// The answer to it.
    pass_answer: PassAnswer,
}
