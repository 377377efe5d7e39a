//! Scenario files: what is run, on which grid, and what is measured.
//!
//! [`document`] has the types of everything that is written: the TOML file, the
//! resolved scenario of a run directory and, by [`grid`], the grid of its
//! manifest. They refuse keys that they do not know, and the JSON Schema is made
//! from them. [`Scenario`] is what a document means, beside the document itself
//! with every default in its place. The format has a page of its own,
//! `docs/scenario.md`.

pub mod confined;
pub mod document;
mod error;
pub mod external;
mod failure_table;
mod failures;
pub mod faults;
pub mod grid;
pub mod interface;
pub mod measure;
mod nearest;
mod pooled;
mod provides;
mod reader;
mod reduced;
mod replicate;
mod resolve;
pub mod sanitize;
#[cfg(feature = "schema")]
mod schema;
mod source;
pub mod threshold;
mod toml;
pub mod value;
pub mod workload;

pub use error::{Place, ScenarioError};
pub use measure::{Measure, Stop};
pub use pooled::{POOLED, POOLED_RESOURCES, is_bound};
pub use provides::{DayHours, TimeOfDay};
pub use reduced::REDUCTION_KEY;
pub use replicate::{Over, Replicate, Replication};
#[cfg(feature = "schema")]
pub use schema::json_schema;

use document::{Broker, Cluster, DisciplineText, Document, Own};
use error::Result;
use external::External;
use faults::Faults;
use gridrig_core::decision::About;
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::{Components, Entry};
use gridrig_core::policy::{Placement, PolicySpec};
use gridrig_core::time::{Decimal, SimDuration};
use interface::LinkProtocol;
use source::Source;
use std::collections::BTreeMap;
use std::path::Path;
use threshold::{Figure, Threshold};
use value::{At, Named, Written, named};
use workload::{Keep, WorkloadSpec};

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
    /// The document with every default in its place; see
    /// [`written`](Self::written).
    pub document: Document,
    /// How brokers talk in real time, by the two domains of a link, the lower
    /// first; links that are not here talk natively.
    pub protocols: BTreeMap<(DomainId, DomainId), LinkProtocol>,
    /// What is compared: each policy once, or a single `None` in a run
    /// without brokers.
    pub policies: Vec<Option<PolicySpec>>,
    /// The programs of those that are the user's own, by their names.
    pub own_policies: BTreeMap<String, Own>,
    /// Brokers that are somebody else's programs, and their policies; then
    /// `policies` is a single `None`.
    pub external: External,
    /// What goes wrong on the way; see [`fault_plan`](Self::fault_plan).
    pub faults: Option<Faults>,
    /// Whether the bounds are run too: their policies are among `policies`, and
    /// [`pooled`](Self::pooled) is one run more.
    pub bounds: bool,
    /// How the rig's time passes.
    pub clock: Clock,
    /// How many times faster than the wall clock the rig runs when its clock
    /// is real. About in virtual time too, where it means nothing.
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
    /// The smallest differences that matter, where the file says them.
    pub relevant: BTreeMap<Figure, f64>,
    /// Of which jobs it is recorded how brokers decided.
    pub decisions: About,
    /// Submission lag times compression beyond which a run in real time is
    /// not valid, in trace time.
    pub lag_tolerance: SimDuration,
    /// What is measured.
    pub measure: Measure,
    /// Whether the regret of decisions is computed.
    pub regret: bool,
    /// What is legal and probably not meant.
    pub warnings: Vec<Warning>,
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
pub enum BrokerKind {
    /// Ours.
    Gridrig,
    /// Somebody else's program.
    External,
}

/// `run.clock` as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockName {
    /// From event to event.
    Virtual,
    /// With the wall clock.
    Real,
}

named!(BrokerKind, "a kind of broker", "gridrig" => BrokerKind::Gridrig, "external" => BrokerKind::External);
named!(ClockName, "a clock", "virtual" => ClockName::Virtual, "real" => ClockName::Real);

/// Something that is legal and probably not meant, or that limits what the
/// results say.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// A stable name for programs.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
}

/// Each value once, in the order in which they come first.
pub fn each_once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
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

impl<'a> ScenarioText<'a> {
    /// This text with overrides; files are looked for from the working directory, and
    /// traces have to exist.
    pub fn new(file: &'a Path, text: &'a str, sets: &'a [String]) -> Self {
        ScenarioText {
            file,
            text,
            sets,
            directory: Path::new(""),
            traces_may_be_missing: false,
        }
    }
}

/// The largest scenario file. What is read of one takes fifty times as much.
const MOST_BYTES: u64 = 8 << 20;

fn text_of(path: &Path) -> std::io::Result<String> {
    let bytes = std::fs::metadata(path)?.len();
    if bytes > MOST_BYTES {
        let why = format!("it has {bytes} bytes: expected at most {MOST_BYTES}");
        return Err(std::io::Error::other(why));
    }
    std::fs::read_to_string(path)
}

impl Scenario {
    /// Whether a job could run on one of these clusters, or has no more processors than
    /// they have together where a policy places jobs on several.
    pub fn could_run(&self, job: &Components, clusters: &[ClusterId]) -> bool {
        let resources = |id: &ClusterId| &self.grid.clusters[id.index()].config.resources;
        let mut policies = self.policies.iter().flatten();
        let placement = |policy: &PolicySpec| policy.placement();
        let together = policies.any(|it| placement(it).is_some_and(Placement::is_together));
        let processors = clusters.iter().map(|id| resources(id).processors());
        let some = clusters.iter().any(|id| resources(id).could_run(job));
        some || together && clusters.len() > 1 && job.processors() <= processors.sum()
    }

    /// Reads a scenario file and applies overrides, each
    /// `path.to.key=value`, in order.
    ///
    /// # Errors
    /// When a file cannot be read or something in it is not a scenario; see
    /// [`ScenarioError`]. All of them are mistakes of input.
    pub fn load(path: &Path, sets: &[String]) -> Result<Self> {
        let text = text_of(path).map_err(|source| ScenarioError::Read {
            file: path.display().to_string(),
            source,
        })?;
        Self::parse(&ScenarioText::new(path, &text, sets))
    }

    /// Reads the text of a scenario.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn parse(text: &ScenarioText<'_>) -> Result<Self> {
        Self::parse_confined(text, None)
    }

    /// The same of somebody who may name no program, directory or real LRMS,
    /// and only those files that `may_read` says; `None` is no limit.
    ///
    /// # Errors
    /// As [`load`](Self::load), and at a key that leads further.
    pub fn parse_confined(
        text: &ScenarioText<'_>,
        may_read: Option<&dyn Fn(&str) -> bool>,
    ) -> Result<Self> {
        let file = text.file.display().to_string();
        let source = Source::new(&file, text.text, text.sets);
        let tables = source.parse()?;
        let document = tables.document()?;
        // Before any file is looked for.
        may_read.map_or(Ok(()), |may_read| confined::check(&tables, may_read))?;
        resolve::resolve(&tables, text, document)
    }

    /// The grid with this policy at every broker; `None` leaves it as it is
    /// (a run without brokers).
    pub fn grid_for(&self, policy: Option<&PolicySpec>) -> Grid {
        let mut grid = self.grid.clone();
        if let Some(policy) = policy {
            for domain in &mut grid.domains {
                domain.broker.policy = policy.clone();
            }
        }
        grid
    }

    /// Processors at speed 1.0, rounded down, that the clusters in reach of
    /// this entry are worth: what offered loads refer to.
    pub fn capacity_in_reach(&self, entry: Entry) -> u64 {
        resolve::capacity_in_reach(entry, &self.grid)
    }

    /// By how much arrivals are compressed, at most: a second of the run is
    /// so many seconds of a trace.
    pub fn compression(&self) -> Decimal {
        resolve::largest(self.workloads.iter().map(|it| it.scale_arrival))
    }

    /// By how much run times are compressed, at most.
    pub fn run_time_compression(&self) -> Decimal {
        resolve::largest(self.workloads.iter().map(|it| it.scale_run_time))
    }

    /// What the document says of each cluster, in the order of their ids.
    pub fn clusters(&self) -> impl Iterator<Item = &Cluster> {
        self.document.clusters()
    }

    /// The clusters whose discipline is the user's own.
    pub fn own_disciplines(&self) -> impl Iterator<Item = (ClusterId, &Own)> {
        let clusters = (0..).map(ClusterId).zip(self.clusters());
        clusters.filter_map(|(id, cluster)| match &cluster.discipline {
            Some(DisciplineText::Own(own)) => Some((id, own)),
            _ => None,
        })
    }

    /// Whether a program of the user's decides anything, whatever the policy.
    pub fn asks_programs(&self) -> bool {
        !self.own_policies.is_empty() || self.own_disciplines().next().is_some()
    }

    /// The document of this scenario: what a replication varies is as it is in
    /// the grid and in the workloads.
    pub fn written(&self) -> Document {
        let mut document = self.document.clone();
        let domains = document.domain.iter_mut();
        let domains = domains.flat_map(At::get_mut);
        for (domain, settings) in domains.zip(self.grid.domains.iter().map(|it| &it.broker)) {
            if !settings.external {
                let broker = Broker::of(settings, Broker::default());
                domain.get_mut().broker = Some(At::new(broker));
            }
        }
        let workloads = document.workload.iter_mut().into_iter();
        for ((_, workload), spec) in workloads.zip(&self.workloads) {
            if let (Some(window), Some(spec)) = (&mut workload.window, spec.window) {
                window.get_mut().start = Some(Written::of(spec.start));
            }
            if let Keep::Systematic { phase, .. } = spec.keep {
                workload.phase = Some(Written::of(phase));
            }
        }
        if let Some(run) = document.run.as_mut().map(At::get_mut) {
            run.clock = Some(Written::of(match self.clock {
                Clock::Virtual => ClockName::Virtual,
                Clock::Real { .. } => ClockName::Real,
            }));
            run.seed = Some(Written::of(self.seed));
            run.replicate = run.replicate.take().filter(|_| self.replicate.is_some());
        }
        document
    }

    /// The whole scenario as TOML, defaults included: read again from the
    /// same working directory, it is the same scenario.
    pub fn to_resolved_toml(&self) -> String {
        toml::of(&self.written())
    }

    /// The same with the bare names of files, for comparing scenarios across
    /// directories and hosts. The content of the files has hashes of its own.
    pub fn to_canonical_toml(&self) -> String {
        let mut document = self.written();
        document.name_no_directory();
        toml::of(&document)
    }
}
