//! What a job asks for and what becomes of it.

mod unsaid;

pub use unsaid::{SeveralComponents, Unsaid};

use crate::generic::Generics;
use crate::ids::{ClusterId, DomainId, JobId};
use crate::time::{Decimal, SimDuration, SimTime};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use strum::{EnumString, IntoStaticStr, VariantArray};

/// What a job needs of every node it runs on. `Default` needs nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Requirements {
    /// Processor architecture, compared without regard to ASCII case.
    pub architecture: Option<Arc<str>>,
    /// Operating system, compared without regard to ASCII case.
    pub os: Option<Arc<str>>,
    /// Memory taken per processor, in KiB.
    pub memory_kib: u64,
    /// Disk a node must have, in MiB. It is a property of the node, not used up.
    pub disk_mib: u64,
    /// Least speed of a node, in millionths of speed 1.0; 0 is any.
    pub speed_millionths: u64,
    /// Most processors on one node; 0 is any number.
    #[cfg_attr(feature = "serde", serde(default))]
    pub most_per_node: u32,
    /// What is taken of each node, however many processors are taken there:
    /// that is what Slurm's `--gres` means, and what an accelerator in ADL is
    /// asked of. JSDL 1.0 has no word for it.
    pub generic: Generics,
}

impl Requirements {
    /// The most processors of one node.
    pub fn most_on_node(&self) -> u32 {
        NonZeroU32::new(self.most_per_node).map_or(u32::MAX, NonZeroU32::get)
    }

    /// Whether any node will do.
    pub fn is_any(&self) -> bool {
        self.architecture.is_none()
            && self.os.is_none()
            && self.memory_kib == 0
            && self.disk_mib == 0
            && self.speed_millionths == 0
            && self.most_per_node == 0
            && self.generic.is_empty()
    }
}

/// A part of a job: processors that need the same of their nodes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Component {
    /// Processors wanted, at least 1.
    pub processors: u32,
    /// What their nodes must offer.
    pub requirements: Requirements,
    /// The only cluster that will do (a *fixed* request of KOALA, section 3.1).
    pub cluster: Option<ClusterId>,
}

impl Component {
    /// Whether it may be at a cluster, as far as it names one.
    pub fn may_be_at(&self, cluster: ClusterId) -> bool {
        self.cluster.is_none_or(|named| named == cluster)
    }
}

/// How a job of one component may be divided over several clusters (a *flexible* request).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Division {
    /// As the policy likes within bounds.
    Bounds {
        /// The least processors on a cluster; 0 is any.
        least_component: u32,
        /// Over so many clusters at most; 0 is all.
        most_components: u32,
    },
    /// Into components of these sizes, the ways in order of preference. Each sums up to the
    /// job, which is for who makes it to see to.
    Splits(Box<[Box<[u32]>]>),
}

impl Division {
    /// Whether parts of so many processors on as many clusters can come of it. Of splits it is
    /// only looked at how many and how small they may be.
    pub fn permits(&self, parts: &[u64]) -> bool {
        let within = |least: u32, most: usize| {
            parts.len() <= most && parts.iter().all(|part| *part >= u64::from(least))
        };
        match self {
            _ if parts.len() == 1 => true,
            Division::Bounds {
                least_component,
                most_components: 0,
            } => within(*least_component, usize::MAX),
            Division::Bounds {
                least_component,
                most_components,
            } => within(*least_component, *most_components as usize),
            Division::Splits(splits) => splits.iter().any(|sizes| {
                let least = sizes.iter().min();
                within(least.copied().unwrap_or(0), sizes.len())
            }),
        }
    }
}

/// Data that a component reads: it has to be at its cluster before the job starts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Input {
    /// The position of the component.
    pub component: u8,
    /// Its size, in MiB.
    pub data_mib: u64,
    /// The clusters that have it; of any other one it has to be brought to.
    pub clusters: Box<[ClusterId]>,
}

/// Most inputs that interfaces take for one job.
pub const MOST_INPUTS: usize = 256;

impl Input {
    /// How much of all that a cluster does not have, in MiB.
    pub fn missing_mib(all: &[Input], cluster: ClusterId) -> u64 {
        let missing = all.iter().filter(|it| !it.clusters.contains(&cluster));
        missing.fold(0, |sum, it| sum.saturating_add(it.data_mib))
    }
}

/// Most components that interfaces take for one job.
pub const MOST_COMPONENTS: usize = 64;

/// What a job is made of, nearly always one component: all of them start together,
/// on one cluster, run for the same time and end together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Components {
    /// The first, or the only one.
    pub first: Component,
    /// The others, in the order in which they are given processors.
    pub more: Box<[Component]>,
}

impl Components {
    /// Only this one.
    pub fn one(processors: u32, requirements: Requirements) -> Self {
        Components {
            first: Component {
                processors,
                requirements,
                cluster: None,
            },
            more: Box::default(),
        }
    }

    /// All of them; `None` without any.
    pub fn new(all: impl IntoIterator<Item = Component>) -> Option<Self> {
        let mut all = all.into_iter();
        let (first, more) = (all.next()?, all.collect());
        Some(Components { first, more })
    }

    /// All of them in order.
    pub fn iter(&self) -> impl Iterator<Item = &Component> + Clone {
        std::iter::once(&self.first).chain(&self.more)
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Component> {
        std::iter::once(&mut self.first).chain(&mut self.more)
    }

    /// The only one; `None` if there are several.
    pub fn only(&self) -> Option<&Component> {
        self.more.is_empty().then_some(&self.first)
    }

    /// Whether one of them names its cluster.
    pub fn name_clusters(&self) -> bool {
        self.iter().any(|component| component.cluster.is_some())
    }

    /// Processors of all, at most what their number can hold.
    pub fn processors(&self) -> u32 {
        let more = self.more.iter().map(|component| component.processors);
        more.fold(self.first.processors, u32::saturating_add)
    }
}

/// A job as a broker or an LRMS sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JobSpec {
    /// Its name in this run.
    pub id: JobId,
    /// Processors wanted, and what their nodes must offer.
    pub components: Components,
    /// Run time at speed 1.0. Known to the emulation, not to any policy but
    /// the full-information bound.
    pub run_time: SimDuration,
    /// The user's estimate, if the trace has one.
    pub requested_time: Option<SimDuration>,
    /// Data that goes with it when it is forwarded, in KiB.
    pub data_kib: u64,
    /// What its components read, where several clusters run them.
    #[cfg_attr(feature = "serde", serde(default))]
    pub inputs: Box<[Input]>,
    /// The account or project that it is charged to, by its number.
    pub account: Option<NonZeroU32>,
    /// The program that it runs, by its number.
    pub executable: Option<NonZeroU32>,
    /// It asks for processors that are reserved for it.
    pub start_window: Option<Box<StartWindow>>,
    /// How it may be divided, where its user has said so.
    pub division: Option<Box<Division>>,
    /// What its user has said for a broker that predicts.
    pub preferences: Option<Arc<Preferences>>,
}

/// What a user says of a job for a broker that predicts (JSS 2.4), all of it optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Preferences {
    /// What is wanted; `None`: what the policy of the broker is for.
    pub objective: Option<Objective>,
    /// How some system fares in benchmarks that are like the job, by their names.
    pub benchmarks: BTreeMap<Arc<str>, Measured>,
    /// How long the files that it reads take to be in place.
    pub stage_in: Option<SimDuration>,
    /// How long the files that it writes take to be back.
    pub stage_out: Option<SimDuration>,
}

/// The result of a system in a benchmark, above 0, and how long the job takes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Measured {
    /// The more, the faster.
    pub result: Decimal,
    /// The run time of the job; `None` is its estimate.
    pub time: Option<SimDuration>,
}

/// What a user wants of a job (JSS 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Objective {
    /// It starts early.
    EarlyStart,
    /// It is done early.
    EarlyCompletion,
}

/// When a job is to start: it asks for an advance reservation, of its processors for as
/// long as it is estimated to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StartWindow {
    /// Not before.
    pub earliest: SimTime,
    /// Not after.
    pub latest: SimTime,
    /// Whether the LRMS may move the start within the window, as long as the job has not
    /// started.
    pub flexible: bool,
}

impl JobSpec {
    /// A job of which no more is known, not even its name: that is 0.
    pub fn of(components: Components, run_time: SimDuration) -> Self {
        JobSpec {
            id: JobId(0),
            components,
            run_time,
            requested_time: None,
            data_kib: 0,
            inputs: Box::default(),
            account: None,
            executable: None,
            start_window: None,
            division: None,
            preferences: None,
        }
    }

    /// A job that needs nothing but processors.
    pub fn rigid(id: JobId, processors: u32, run_time: SimDuration) -> Self {
        let components = Components::one(processors, Requirements::default());
        JobSpec {
            id,
            ..Self::of(components, run_time)
        }
    }

    /// Processors of all components (the job's size).
    pub fn processors(&self) -> u32 {
        self.components.processors()
    }

    /// The clusters that it names: of its components, and of what they read.
    pub fn named_clusters(&self) -> impl Iterator<Item = ClusterId> {
        let own = self.components.iter().filter_map(|one| one.cluster);
        let read = self.inputs.iter().flat_map(|it| it.clusters.iter());
        own.chain(read.copied())
    }
}

/// What a user would tell of a job: all that a policy or a discipline may go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobRequest<'a> {
    /// Its name in this run.
    pub id: JobId,
    /// Processors of all components, at least 1.
    pub processors: u32,
    /// How long it is said to run at speed 1.0: the requested time, else the run
    /// time.
    pub estimate: SimDuration,
    /// What it is made of.
    pub components: &'a Components,
    /// Data that goes with it when it is forwarded, in KiB.
    pub data_kib: u64,
    /// What its user has said for a broker that predicts.
    pub preferences: Option<&'a Preferences>,
}

impl<'a> From<&'a JobSpec> for JobRequest<'a> {
    fn from(spec: &'a JobSpec) -> Self {
        JobRequest {
            id: spec.id,
            processors: spec.processors(),
            estimate: spec.requested_time.unwrap_or(spec.run_time),
            components: &spec.components,
            data_kib: spec.data_kib,
            preferences: spec.preferences.as_deref(),
        }
    }
}

/// Where a submission enters the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Entry {
    /// At a domain's broker.
    Domain(DomainId),
    /// Straight at a cluster, past any broker: a run without brokers, or
    /// background load.
    Cluster(ClusterId),
}

/// Stands for the workload of the dummy jobs by which background loads are controlled.
pub const DUMMIES: u16 = u16::MAX;

/// Where a job came from; carried into the results, seen by no machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct JobLabel {
    /// The job number of the trace (SWF field 1).
    pub trace_id: u64,
    /// Position of its workload in the scenario.
    pub workload: u16,
    /// SWF field 12, if given.
    pub user: Option<u32>,
    /// Whether the trace says that the job failed or was cancelled after it
    /// ran; it is replayed as it ran, and marked.
    pub failed_in_trace: bool,
}

impl JobLabel {
    /// Whether it keeps a background load within its range.
    pub fn is_dummy(&self) -> bool {
        self.workload == DUMMIES
    }
}

/// A job with the instant at which the replayer intends to submit it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The job.
    pub spec: JobSpec,
    /// When it should be handed over.
    pub at: SimTime,
    /// To whom.
    pub entry: Entry,
    /// Where it came from.
    pub label: JobLabel,
}

/// Why a job was refused, rejected or failed, or why touch with it was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Reason {
    /// No set of nodes of the cluster could ever hold it.
    NeverFits,
    /// No cluster that the broker can reach could ever run it.
    NoCandidate,
    /// Every candidate refused it.
    AllRefused,
    /// The service it was sent to did not answer.
    ServiceLost,
    /// Somebody asked for it to be removed.
    UserRequest,
    /// The run ended first.
    RunEnded,
    /// A queue bound was reached.
    QueueFull,
    /// The broker is drained: it takes no new jobs.
    Draining,
    /// It has been forwarded as often as it may be, and no broker had room.
    HopsExhausted,
    /// A real LRMS did not take it.
    LrmsRefused,
    /// A real LRMS ended it before its time, or its script failed.
    LrmsFailed,
    /// Somebody else's broker or service turned its submission down.
    SubmitFailed,
    /// Somebody else's broker took it, and no LRMS has ever had it.
    NotPlaced,
    /// The service that has it, or may have it, stopped answering.
    Lost,
    /// A node that it ran on failed.
    NodeFailed,
    /// The processors that it had were taken back by the broker that had delegated them.
    LeaseExpired,
    /// It has been tried to place it on several clusters as often as it may be.
    TriesExhausted,
    /// A policy of the user's own did not want it.
    PolicyRejected,
    /// No processors can be reserved for it within its start window.
    NotReserved,
    /// It ran longer than estimated, and its processors are reserved for another job.
    OverranReservation,
}

impl Reason {
    /// Every reason, for readers that map names back.
    pub const ALL: &'static [Reason] = <Reason as VariantArray>::VARIANTS;

    /// The name used in files and interfaces.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The reason with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}
