//! The grid as it is written: clusters, domains with their brokers, links; and
//! what of it is settings of the core, both ways.

use super::broker::there;
use super::{Background, Broker, DisciplineText, Failures, List};
use crate::failure_table::FailureTable;
use crate::interface::{FaceKind, LinkProtocol, SLEEP, SlurmAccess};
use crate::provides::DayHours;
use crate::value::{
    AboveZero, At, Count, Duration, Identifier, Name, Named, Number, PathText, Positive, Share,
    Str, Whole, Written, fill, named, or,
};
use gridrig_core::cluster::{ClusterConfig, OnNodeFailure, Overrun, Reserving, RunTimes};
use gridrig_core::discipline::{DisciplineKind, OwnDiscipline, SlurmBackfillSettings};
use gridrig_core::grid::GridCluster;
use gridrig_core::ids::ClusterId;
use gridrig_core::resource::{Benchmarks, Resources};
use gridrig_core::time::{Decimal, SimDuration};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

/// An emulated cluster.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Cluster {
    /// Its name, unlike that of any other cluster. Needed in a domain;
    /// elsewhere the default is "cluster".
    pub name: Option<Str<Identifier>>,
    /// This number of single-processor nodes, all alike. Either this or
    /// resources.
    pub processors: Option<Count>,
    /// A cluster file (XML), found like a trace. Either this or processors.
    pub resources: Option<Str<PathText>>,
    /// Which waiting job is started next: one of ours, or the user's own. Default
    /// "first-in-first-fit".
    pub discipline: Option<DisciplineText>,
    /// Time between scheduling passes. Default "0s": a pass follows every
    /// change at once.
    pub interval: Option<Duration>,
    /// Settings of the discipline "slurm-backfill"; not allowed with others.
    pub slurm: Option<Slurm>,
    /// How long programs run here, by their number (SWF field 14) and the processors of
    /// the job, whatever their jobs say: { 5 = { 1 = "15355s", 8 = "2942s" } }. No scale
    /// divides these times. Default: none is known.
    pub run_times: Option<BTreeMap<Number, BTreeMap<Number, Duration>>>,
    /// What it achieves in benchmarks, the more the faster: { linpack = 1250 }. Brokers that
    /// predict are told. Default: none is known.
    pub benchmarks: Option<BTreeMap<Str<Identifier>, Positive>>,
    /// What becomes of a job that runs on a node that fails: "fail", "requeue" (it
    /// runs again) or "resume" (what it has run counts as done). Default "requeue".
    pub on_node_failure: Option<Str<Name<OnNodeFailure>>>,
    /// It reserves processors for jobs that are to start within a window. Default: it
    /// refuses them.
    pub reservations: Option<Reservations>,
    /// Dummy jobs keep its background load within a range, in virtual time. Default: none do.
    pub background: Option<Background>,
    /// Each of its nodes fails by itself, and is repaired: times are those of the
    /// trace, as arrivals are. Default: none does.
    pub node_failures: Option<Failures>,
    /// A table of the failures of its nodes (CSV: node, down_s, up_s), found like a
    /// trace; times are those of the trace. Default: none.
    pub node_failures_file: Option<Str<PathText>>,
    /// What stands in that file.
    #[serde(skip)]
    pub(crate) failures: Option<FailureTable>,
    /// When all of its nodes are down. Default: never.
    pub outages: Option<Vec<NodeOutage>>,
    /// Interfaces of other systems that it offers besides its own when it is
    /// a service. Default: none.
    pub faces: Option<Vec<Str<Name<FaceKind>>>>,
    /// With the face arc: how long each of a computing element's own steps
    /// around the LRMS takes, on the wall. Default "0s".
    pub arc_step: Option<Duration>,
    /// In real time: a directory of its own, in which the commands of Slurm
    /// are installed for this cluster.
    pub slurm_bin: Option<Str<PathText>>,
    /// What runs its jobs. Default "emulated"; "slurm": a real Slurm, in real
    /// time only.
    pub lrms: Option<Str<Name<LrmsName>>>,
    /// How a real Slurm is reached and used.
    pub lrms_settings: Option<Lrms>,
}

/// How a cluster reserves processors in advance.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Reservations {
    /// What becomes of a job that runs longer than estimated on processors that are
    /// reserved for another by then: "kill" (it is ended) or "delay" (the other one waits).
    /// Default "kill".
    pub overrun: Option<Str<Name<Overrun>>>,
    /// How much of its processors may be reserved at one instant. Default 1.
    pub most_share: Option<Share>,
    /// How long a reservation may be at most. No scale divides it. Default: any.
    pub longest: Option<Str<AboveZero>>,
    /// How far ahead a reservation may start at most. No scale divides it. Default: any.
    pub most_ahead: Option<Str<AboveZero>>,
}

impl Reservations {
    fn of(settings: &Reserving) -> Self {
        Reservations {
            overrun: Some(Written::of(settings.overrun)),
            most_share: Some(Share(settings.most_share)),
            longest: settings.longest.map(Written::of),
            most_ahead: settings.most_ahead.map(Written::of),
        }
    }

    fn settings(&self) -> Reserving {
        Reserving {
            overrun: or(&self.overrun, Overrun::default()),
            most_share: self.most_share.map_or(Decimal::ONE, |share| share.0),
            longest: self.longest.as_ref().map(|it| it.value()),
            most_ahead: self.most_ahead.as_ref().map(|it| it.value()),
        }
    }
}

/// All nodes of a cluster are down. Times are those of the trace, as arrivals
/// are, from the start of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct NodeOutage {
    /// From then on.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub from: Option<Duration>,
    /// Until then.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub until: Option<Duration>,
}

/// What runs the jobs of a cluster, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LrmsName {
    /// The model.
    Emulated,
    /// A real Slurm.
    Slurm,
}

named!(LrmsName, "an LRMS", "emulated" => LrmsName::Emulated, "slurm" => LrmsName::Slurm);

/// A real Slurm, driven through its commands.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Lrms {
    /// The directory of its commands. Default: found by PATH.
    pub bin: Option<Str<PathText>>,
    /// Its slurm.conf. Default: SLURM_CONF, or where Slurm looks.
    pub conf: Option<Str<PathText>>,
    /// The partition that jobs go to. Default: Slurm's default one.
    pub partition: Option<Str<Identifier>>,
    /// A batch script, found like a trace; {seconds}, {job} and {processors}
    /// are filled in. Default: one that sleeps.
    pub template: Option<Str<PathText>>,
    /// What stands in the template.
    #[serde(skip)]
    pub(crate) script: Option<String>,
    /// Time between two looks at the jobs, on the wall. Default "500ms".
    pub poll: Option<Str<AboveZero>>,
    /// How long a Slurm that does not answer is waited for, on the wall,
    /// before its jobs are lost. Default "60s".
    pub patience: Option<Duration>,
}

/// SchedulerParameters of Slurm, by its names. No scale divides them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Slurm {
    /// Time between plans. Default "30s".
    pub bf_interval: Option<Str<AboveZero>>,
    /// Reservations begin and end on multiples of it. Default "60s"; "0s": they
    /// are not rounded.
    pub bf_resolution: Option<Duration>,
    /// A job that could start only later gets no reservation. Default "1d".
    pub bf_window: Option<Duration>,
    /// Jobs that one plan looks at. Default 500.
    pub bf_max_job_test: Option<Count>,
}

/// One administrative site: a broker and its clusters.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Domain {
    /// Its name, unlike that of any other domain.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub name: Option<At<Str<Identifier>>>,
    /// Hours of the trace's day in which it takes jobs of others, such as
    /// "18:00-08:00". Default: always.
    pub provides: Option<At<List<Str<DayHours>>>>,
    /// The domain above it in the tree; the two are linked. Default: none.
    pub parent: Option<At<Str<Identifier>>>,
    /// Domains with the same parent, or like this one without any, that it is linked
    /// with; one of the two need say so. Default: none.
    pub siblings: Option<At<List<Str<Identifier>>>>,
    /// The site that it is part of, by which results tell apart what is delegated.
    pub site: Option<Str<Identifier>>,
    /// The grid that it is part of, likewise.
    pub grid: Option<Str<Identifier>>,
    /// Whether it has neither clusters nor jobs that enter there. Default false.
    pub administrative: Option<At<bool>>,
    /// Whether it has the queue of all domains, with which it is linked, under the
    /// matchmakings push and pull. Default false.
    pub central: Option<At<bool>>,
    /// Its clusters. Default: none, all its jobs are forwarded.
    pub clusters: Option<List<Cluster>>,
    /// How its broker behaves.
    pub broker: Option<At<Broker>>,
}

/// A connection between two brokers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Link {
    /// The two domains; each may forward to the other.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub between: Option<At<List<Str<Identifier>>>>,
    /// Restricts the link to one direction.
    pub roles: Option<At<Roles>>,
    /// Hours of the trace's day in which jobs are taken over this link,
    /// instead of those of the providing domain.
    pub provides: Option<At<List<Str<DayHours>>>>,
    /// One-way latency. Default "1ms".
    pub latency: Option<Str<AboveZero>>,
    /// MiB of job data a second: a forwarded job arrives later by its data
    /// divided by this. Default: data takes no time.
    pub bandwidth_mib_s: Option<Positive>,
    /// How the two brokers talk in real time: "native" (the default), or in
    /// sessions of the LA Grid protocol as "json", "soap" (1.1) or "soap12".
    pub protocol: Option<Str<Name<LinkProtocol>>>,
}

/// Settings of the links that are not written one by one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Mesh {
    /// One-way latency. Default "1ms".
    pub latency: Option<Str<AboveZero>>,
    /// MiB of job data a second. Default: data takes no time.
    pub bandwidth_mib_s: Option<Positive>,
}

/// Who forwards and who takes jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Roles {
    /// The domain that forwards.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub consumer: Option<At<Str<Identifier>>>,
    /// The domain that takes jobs.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub provider: Option<At<Str<Identifier>>>,
}

impl Slurm {
    fn of(settings: &SlurmBackfillSettings) -> Self {
        Slurm {
            bf_interval: Some(Written::of(settings.bf_interval)),
            bf_resolution: Some(Str(settings.bf_resolution)),
            bf_window: Some(Str(settings.bf_window)),
            bf_max_job_test: Some(Whole(settings.bf_max_job_test.into())),
        }
    }

    fn settings(&self) -> SlurmBackfillSettings {
        let default = SlurmBackfillSettings::default();
        SlurmBackfillSettings {
            bf_interval: or(&self.bf_interval, default.bf_interval),
            bf_resolution: or(&self.bf_resolution, default.bf_resolution),
            bf_window: or(&self.bf_window, default.bf_window),
            bf_max_job_test: self
                .bf_max_job_test
                .map_or(default.bf_max_job_test, Whole::as_u32),
        }
    }
}

/// As they are written; none where there are none.
fn run_times(known: &RunTimes) -> Option<BTreeMap<Number, BTreeMap<Number, Duration>>> {
    let times = |of: &BTreeMap<NonZeroU32, SimDuration>| {
        let sizes = of.iter().map(|(size, time)| (Number(*size), Str(*time)));
        sizes.collect()
    };
    let programs = known.0.iter();
    let programs = programs.map(|(number, of)| (Number(*number), times(of)));
    there(programs.collect(), BTreeMap::is_empty)
}

fn benchmarks(known: &Benchmarks) -> BTreeMap<Str<Identifier>, Positive> {
    let written = |(name, result): (&Arc<str>, &Decimal)| {
        (Str(Identifier(name.to_string())), Positive(*result))
    };
    known.iter().map(written).collect()
}

impl Cluster {
    /// This cluster of a grid, with what no grid says from `written`.
    pub(crate) fn of(cluster: &GridCluster, written: Cluster) -> Self {
        let config = &cluster.config;
        let plans = config.discipline == DisciplineKind::SlurmBackfill;
        let own = written.discipline.filter(|it| it.own().is_some());
        let ours = || DisciplineText::Named(Written::of(config.discipline));
        Cluster {
            name: Some(Str(Identifier(cluster.name.clone()))),
            discipline: own.or_else(|| Some(ours())),
            interval: Some(Str(config.interval)),
            slurm: plans.then(|| Slurm::of(&config.slurm)),
            run_times: run_times(&config.run_times),
            benchmarks: there(
                benchmarks(config.resources.benchmarks()),
                BTreeMap::is_empty,
            ),
            on_node_failure: (config.on_node_failure != OnNodeFailure::default())
                .then(|| Written::of(config.on_node_failure)),
            reservations: config.reserving.as_ref().map(Reservations::of),
            background: config.background.as_ref().map(Background::of),
            ..written
        }
    }

    /// How the cluster with these nodes is set up.
    pub(crate) fn config(&self, id: ClusterId, resources: Resources) -> ClusterConfig {
        let written = self.discipline.as_ref();
        let discipline = match written {
            Some(DisciplineText::Named(ours)) => ours.value(),
            _ => DisciplineKind::FirstInFirstFit,
        };
        let own = written.and_then(DisciplineText::own);
        let (background, slurm) = (self.background.as_ref(), self.slurm.as_ref());
        let results = self.benchmarks.iter().flatten();
        let results = results.map(|(name, result)| (name.0.0.as_str().into(), result.0));
        let resources = resources.with_benchmarks(results.collect());
        ClusterConfig {
            background: background.map(|it| it.settings(resources.processors())),
            own_discipline: own.map(|name| OwnDiscipline {
                name: name.to_owned(),
                door: None,
            }),
            interval: or(&self.interval, SimDuration::ZERO),
            slurm: slurm.map_or_else(Default::default, Slurm::settings),
            is_real: self.is_real(),
            run_times: Arc::new(RunTimes(self.known_run_times())),
            on_node_failure: or(&self.on_node_failure, OnNodeFailure::default()),
            reserving: self.reservations.as_ref().map(Reservations::settings),
            ..ClusterConfig::new(id, resources, discipline)
        }
    }

    fn known_run_times(&self) -> BTreeMap<NonZeroU32, BTreeMap<NonZeroU32, SimDuration>> {
        let programs = self.run_times.iter().flatten();
        let times = |of: &BTreeMap<Number, Duration>| {
            let sizes = of.iter().map(|(size, time)| (size.0, time.0));
            sizes.collect()
        };
        programs.map(|(number, of)| (number.0, times(of))).collect()
    }

    /// All files and directories that it names.
    pub(super) fn files(&mut self) -> impl Iterator<Item = &mut Str<PathText>> {
        let lrms = self.lrms_settings.iter_mut();
        let lrms = lrms.flat_map(|it| [&mut it.bin, &mut it.conf, &mut it.template]);
        let own = [
            &mut self.resources,
            &mut self.node_failures_file,
            &mut self.slurm_bin,
        ];
        own.into_iter().chain(lrms).flatten()
    }

    /// Whether nodes of it fail.
    pub(crate) fn fails(&self) -> bool {
        let drawn = self.node_failures.is_some() || self.outages.is_some();
        drawn || self.node_failures_file.is_some()
    }

    /// Whether a real LRMS runs its jobs.
    pub(crate) fn is_real(&self) -> bool {
        or(&self.lrms, LrmsName::Emulated) == LrmsName::Slurm
    }

    /// The interfaces of other systems that it offers when it is a service.
    pub fn faces(&self) -> Vec<FaceKind> {
        self.faces.iter().flatten().map(Written::value).collect()
    }

    /// Has it offer this interface too.
    pub fn show(&mut self, face: FaceKind) {
        let faces = self.faces.get_or_insert_default();
        let face = Written::of(face);
        if !faces.contains(&face) {
            faces.push(face);
        }
    }

    /// How long each step of a computing element around its LRMS takes, on the
    /// wall.
    pub fn arc_step(&self) -> std::time::Duration {
        wall(or(&self.arc_step, SimDuration::ZERO))
    }

    /// The directory in which it installs the commands of Slurm.
    pub fn slurm_bin(&self) -> Option<PathBuf> {
        self.slurm_bin.as_ref().map(|dir| PathBuf::from(&dir.0.0))
    }

    /// How the real LRMS that runs its jobs is reached, if one does.
    pub fn real_lrms(&self) -> Option<SlurmAccess> {
        let settings = self.lrms_settings.as_ref().filter(|_| self.is_real())?;
        let path = |text: &Option<Str<PathText>>| Some(PathBuf::from(&text.as_ref()?.0.0));
        let default = SlurmAccess::default();
        Some(SlurmAccess {
            bin: path(&settings.bin),
            conf: path(&settings.conf),
            partition: settings.partition.as_ref().map(|name| name.0.0.clone()),
            template: settings.script.clone().unwrap_or_else(|| SLEEP.to_owned()),
            poll: settings
                .poll
                .map_or(default.poll, |poll| wall(poll.value())),
            patience: settings.patience.map_or(default.patience, |it| wall(it.0)),
        })
    }
}

impl Lrms {
    /// Writes down the defaults.
    pub(crate) fn complete(&mut self) {
        let default = SlurmAccess::default();
        let model = |wall: std::time::Duration| {
            SimDuration::from_nanos(u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX))
        };
        fill(&mut self.poll, model(default.poll));
        fill(&mut self.patience, model(default.patience));
    }
}

fn wall(length: SimDuration) -> std::time::Duration {
    std::time::Duration::from_nanos(length.as_nanos())
}
