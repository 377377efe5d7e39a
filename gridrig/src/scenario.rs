//! Scenario files: what is run, on which grid, and what is measured.
//!
//! A scenario has two types. The raw one has the keys of the TOML file and
//! refuses all others; [`Scenario`] is what they mean, with every default in
//! its place. The format has a page of its own, `docs/scenario.md`.

pub(crate) mod confined;
mod document;
mod error;
pub mod external;
mod nearest;
mod pooled;
mod provides;
mod raw;
mod replicate;
mod resolve;
mod schema;
mod value;
mod write;

pub use error::{Place, ScenarioError};
pub use pooled::{POOLED, POOLED_RESOURCES};
pub use provides::{DayHours, Provides, TimeOfDay};
pub use replicate::{Over, Replicate, Replication};
pub use schema::json_schema;

use document::Source;
use external::External;
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::Entry;
use gridrig_core::policy::PolicyKind;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_emulator::faces::FaceKind;
use gridrig_emulator::lrms::slurm;
use gridrig_metabroker_stub::lagrid::LinkProtocol;
use gridrig_results::threshold::{Figure, Threshold};
use gridrig_tracelab::spec::WorkloadSpec;
use raw::RawScenario;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use value::{Named, named};

/// A scenario with every default in its place.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// `run.name`, or the name of the file without its extension.
    pub name: String,
    /// The workloads in file order; their paths are those of existing files.
    pub workloads: Vec<WorkloadSpec>,
    /// The grid. Its brokers have the first policy; see
    /// [`grid_for`](Self::grid_for).
    pub grid: Grid,
    /// Where the resources of each cluster of the grid come from.
    pub cluster_sources: Vec<ClusterSource>,
    /// The interfaces of other systems that each cluster of the grid offers
    /// when it is a service.
    pub faces: Vec<Vec<FaceKind>>,
    /// How brokers talk in real time, by the two domains of a link, the lower
    /// first; links that are not here talk natively.
    pub protocols: BTreeMap<(DomainId, DomainId), LinkProtocol>,
    /// When domains take the jobs of others, as written; the grid has it by
    /// link.
    pub provides: Provides,
    /// How long each step of a computing element around its LRMS takes, on the
    /// wall, where it takes any time.
    pub arc_steps: BTreeMap<ClusterId, std::time::Duration>,
    /// Directories in which clusters install the commands of Slurm, in real
    /// time.
    pub slurm_bins: BTreeMap<ClusterId, PathBuf>,
    /// Clusters whose jobs a real LRMS runs, in real time.
    pub lrms: BTreeMap<ClusterId, RealLrms>,
    /// What is compared: each policy once, or a single `None` in a run
    /// without brokers.
    pub policies: Vec<Option<PolicyKind>>,
    /// Brokers that are somebody else's programs, and their policies; then
    /// `policies` is a single `None`.
    pub external: External,
    /// Whether the bounds are run too: their policies are among `policies`, and
    /// [`pooled`](Self::pooled) is one run more.
    pub bounds: bool,
    /// How the rig's time passes.
    pub clock: Clock,
    /// How many times faster than the wall clock the rig runs when its clock
    /// is real. Kept in virtual time too, where it means nothing.
    pub speed: Decimal,
    /// The seed of all random streams.
    pub seed: u64,
    /// What varies between replications; `None` is one run.
    pub replicate: Option<Replicate>,
    /// Bounds that every run has to keep.
    pub require: Vec<Threshold>,
    /// What policies are compared by, the first of them before all; at least
    /// one.
    pub primary: Vec<Figure>,
    /// Submission lag times compression beyond which a run in real time is
    /// not valid, in trace time.
    pub lag_tolerance: SimDuration,
    /// What is measured.
    pub measure: Measure,
    /// What is legal and probably not meant.
    pub warnings: Vec<Warning>,
}

/// A real LRMS in the place of an emulated one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealLrms {
    /// How it is reached and used.
    pub settings: slurm::Settings,
    /// The file of the batch script, where it is not the usual one.
    pub template: Option<PathBuf>,
}

/// Where the resources of a cluster come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterSource {
    /// `processors = N`.
    Processors(u32),
    /// `resources = "FILE"`, as it was found.
    File(PathBuf),
}

/// How the rig's time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// From event to event.
    Virtual,
    /// With the wall clock.
    Real {
        /// So many times faster: intervals, latencies and run times shrink
        /// with it.
        speed: Decimal,
    },
}

/// `broker.kind` as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BrokerKind {
    Gridrig,
    External,
}

/// `run.clock` as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockName {
    Virtual,
    Real,
}

named!(ClockName, "a clock", "virtual" => ClockName::Virtual, "real" => ClockName::Real);

/// `run.replicate.over` as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OverName {
    Window,
    SamplePhase,
    Seed,
    BrokerPhase,
    Shake,
}

named!(
    OverName, "something that varies",
    "window" => OverName::Window,
    "sample-phase" => OverName::SamplePhase,
    "seed" => OverName::Seed,
    "broker-phase" => OverName::BrokerPhase,
    "shake" => OverName::Shake,
);

/// What is measured (design 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Jobs submitted before are not measured; time of the run.
    pub from: SimDuration,
    /// Jobs submitted after are not measured; time of the run.
    pub until: Until,
    /// When the run ends.
    pub stop: Stop,
    /// The bound of bounded slowdown, in time of the run.
    pub tau: SimDuration,
    /// Whether the regret of decisions is computed.
    pub regret: bool,
}

/// The end of what is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The last finish.
    End,
    /// So long after the start of the run.
    At(SimDuration),
}

/// When a run ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// When every job has ended.
    #[default]
    Drained,
    /// With the last submission (DMM's rule); the rest stay unfinished.
    LastArrival,
}

named!(Stop, "a rule to stop", "drained" => Stop::Drained, "last-arrival" => Stop::LastArrival);

impl Stop {
    /// The name used in scenarios and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        value::name_of(self)
    }
}

/// Something that is legal and probably not meant, or that limits what the
/// results say.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Warning {
    /// A stable name for programs.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
}

/// The text of a scenario and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct ScenarioText<'a> {
    /// The path of the file, as it is to stand in messages. Its directory is
    /// the second place where files are looked for, its stem the name of the
    /// run.
    pub file: &'a Path,
    /// The TOML.
    pub text: &'a str,
    /// Overrides, each `path.to.key=value`.
    pub sets: &'a [String],
    /// The first place where files are looked for; empty is the working
    /// directory of the process.
    pub directory: &'a Path,
    /// Whether a trace that does not exist is taken as it is written, so that
    /// a scenario can be looked at without its data.
    pub traces_may_be_missing: bool,
}

impl Scenario {
    /// Reads a scenario file and applies overrides, each
    /// `path.to.key=value`, in order.
    ///
    /// # Errors
    /// When a file cannot be read or something in it is not a scenario; see
    /// [`ScenarioError`]. All of them are mistakes of input.
    pub fn load(path: &Path, sets: &[String]) -> Result<Self, ScenarioError> {
        let text = std::fs::read_to_string(path).map_err(|source| ScenarioError::Read {
            file: path.display().to_string(),
            source,
        })?;
        Self::parse(&ScenarioText {
            file: path,
            text: &text,
            sets,
            directory: Path::new(""),
            traces_may_be_missing: false,
        })
    }

    /// Reads the text of a scenario.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn parse(text: &ScenarioText<'_>) -> Result<Self, ScenarioError> {
        Self::parse_confined(text, None)
    }

    /// The same of somebody who may name no program, directory or real LRMS,
    /// and only those files that `may_read` says; `None` is no limit.
    ///
    /// # Errors
    /// As [`load`](Self::load), and at a key that leads further.
    pub(crate) fn parse_confined(
        text: &ScenarioText<'_>,
        may_read: Option<&dyn Fn(&str) -> bool>,
    ) -> Result<Self, ScenarioError> {
        let file = text.file.display().to_string();
        let source = Source::new(&file, text.text, text.sets);
        let document = source.parse()?;
        let reader = toml::de::Deserializer::from(document.root.clone());
        let raw = RawScenario::deserialize(reader).map_err(|e| document.typing_error(&e))?;
        // Before any file is looked for.
        may_read.map_or(Ok(()), |may_read| confined::check(&document, may_read))?;
        resolve::resolve(&document, text, &raw)
    }

    /// The grid with this policy at every broker; `None` leaves it as it is
    /// (a run without brokers).
    #[must_use]
    pub fn grid_for(&self, policy: impl Into<Option<PolicyKind>>) -> Grid {
        let mut grid = self.grid.clone();
        if let Some(policy) = policy.into() {
            for domain in &mut grid.domains {
                domain.broker.policy = policy;
            }
        }
        grid
    }

    /// Processors at speed 1.0, rounded down, that the clusters in reach of
    /// this entry are worth: what offered loads refer to.
    #[must_use]
    pub fn capacity_in_reach(&self, entry: Entry) -> u64 {
        resolve::capacity_in_reach(entry, &self.grid)
    }

    /// By how much arrivals are compressed, at most: a second of the run is
    /// so many seconds of a trace.
    #[must_use]
    pub fn compression(&self) -> Decimal {
        let scales = self.workloads.iter().map(|workload| workload.scale_arrival);
        scales.max_by(|a, b| a.compare(*b)).unwrap_or(Decimal::ONE)
    }

    /// By how much run times are compressed, at most.
    #[must_use]
    pub fn run_time_compression(&self) -> Decimal {
        let scales = self.workloads.iter();
        let scales = scales.map(|workload| workload.scale_run_time);
        scales.max_by(|a, b| a.compare(*b)).unwrap_or(Decimal::ONE)
    }

    /// The whole scenario as TOML, defaults included: read again from the
    /// same working directory, it is the same scenario.
    #[must_use]
    pub fn to_resolved_toml(&self) -> String {
        write::to_toml(self, write::Paths::Whole)
    }

    /// The same with the bare names of files, for comparing scenarios across
    /// directories and hosts. The content of the files has hashes of its own.
    #[must_use]
    pub fn to_canonical_toml(&self) -> String {
        write::to_toml(self, write::Paths::Names)
    }
}
