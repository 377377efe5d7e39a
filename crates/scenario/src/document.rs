//! The scenario as it is written: every key that means something, and no
//! other. Defaults are named here; `resolve` completes a document with
//! them, so that what is written into run directories has the same types.

mod background;
mod broker;
mod faults;
mod grid;
mod policy;
mod preferences;

pub use background::Background;
pub use broker::{Broker, Commands, Words};
pub use faults::{
    Between, Distribution, Failures, Faults, LinkFaults, MemoryName, Outage, Restart,
};
pub use grid::{Cluster, Domain, Link, Lrms, LrmsName, Mesh, NodeOutage, Roles, Slurm};
pub use policy::{DisciplineText, Own, PolicyText};
pub use preferences::{Benchmark, Preferences};

use crate::provides::TimeOfDay;
use crate::threshold::{Figure, Threshold};
use crate::value::{
    AboveZero, At, Count, Duration, Identifier, KeepText, Name, Named, PathText, Positive, Share,
    Str, UntilText, Whole, inline_schema, named,
};
use crate::workload::{ComponentsFrom, Sanitize, SizeFrom, SpreadBy, ZeroRunTime};
use crate::{ClockName, Over, Stop};
use gridrig_core::policy::Tie;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor, value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;

/// What is run, on which grid, and what is measured. Durations are strings
/// with their unit (ns, us, ms, s, min, h, d, w), such as "5s" or "87.08d".
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "Scenario")
)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Document {
    /// The jobs: one table, or a list of them.
    pub workload: At<Workloads>,
    /// A run without brokers: everything goes straight into this cluster.
    pub cluster: Option<At<Cluster>>,
    /// A run with brokers: the sites.
    pub domain: Option<At<List<Domain>>>,
    /// Which brokers may forward to which.
    pub link: Option<At<List<Link>>>,
    /// Links between all domains that have none of their own.
    pub mesh: Option<At<Mesh>>,
    /// What goes wrong on the way.
    pub faults: Option<At<Faults>>,
    /// How it is run.
    pub run: Option<At<Run>>,
    /// What is measured.
    pub measure: Option<At<Measure>>,
}

/// A list whose elements know where they stand.
pub type List<T> = Vec<At<T>>;

/// `[workload]`, or `[[workload]]` where there are several.
#[derive(Clone, Debug, Serialize)]
pub struct Workloads(Vec<At<Workload>>);

impl At<Workloads> {
    /// Each workload and where it stands.
    pub(crate) fn iter_mut(&mut self) -> Vec<(Range<usize>, &mut Workload)> {
        let whole = self.span();
        let span = |one: &At<Workload>| Some(one.span()).filter(|own| !own.is_empty());
        let many = self.get_mut().0.iter_mut();
        many.map(|one| (span(one).unwrap_or(whole.clone()), one.get_mut()))
            .collect()
    }
}

impl<'de> Deserialize<'de> for Workloads {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;

        impl<'de> Visitor<'de> for OneOrMany {
            type Value = Workloads;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table, or a list of tables")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Workloads, A::Error> {
                let one = Workload::deserialize(value::MapAccessDeserializer::new(map))?;
                Ok(Workloads(vec![At::new(one)]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Workloads, A::Error> {
                let list = Vec::deserialize(value::SeqAccessDeserializer::new(list))?;
                Ok(Workloads(list))
            }
        }

        deserializer.deserialize_any(OneOrMany)
    }
}

inline_schema!([] Workloads, "Workloads", |generator| {
    let one = generator.subschema_for::<Workload>();
    schemars::json_schema!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
});

/// A trace, how it is reduced, and where its jobs enter. The steps apply in
/// this order: size, sanitize, max_processors, window, keep or share or load,
/// zero_run_time, scale, min_run_time, offset.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Workload {
    /// The trace file (SWF, plain or gzip), looked for from the working
    /// directory, then from the directory of the scenario.
    pub trace: Option<At<Str<PathText>>>,
    /// Instead of a trace, a workload model (JSON): the jobs are generated, with
    /// the seed of the run in place of the model's.
    pub model: Option<At<Str<PathText>>>,
    /// With a model of Lublin and Feitelson: the offered load that its jobs of this seed
    /// have, on the processors of the model. Default: what its parameters give.
    pub model_load: Option<At<Positive>>,
    /// The domain where its jobs enter. Default: the only one there is.
    pub domain: Option<At<Str<Identifier>>>,
    /// Instead of a domain: over all domains, "round-robin" or "random".
    pub spread: Option<At<Str<Name<SpreadBy>>>>,
    /// Instead of a domain, a cluster that it enters past any broker, such as
    /// background load.
    pub cluster: Option<At<Str<Identifier>>>,
    /// Shift against the other workloads, in time of the run. Default "0s".
    pub offset: Option<Duration>,
    /// The field that gives the size of a job. Default "allocated".
    pub size: Option<Str<Name<SizeFrom>>>,
    /// Of which components a job is: what the "comments" JobComponents and JobDivision of the
    /// trace say, "one" whatever they say, or as many of equal size as its "queue" says (SWF
    /// field 15), as in KOALA's workloads; a job whose queue is no number from 1 to 64 is not
    /// divided. Default "comments", or "one" with draw.components.
    pub components_from: Option<At<Str<Name<ComponentsFrom>>>>,
    /// Rules that leave jobs out before all other steps, such as
    /// "failed,wider-than=64". Default: none.
    pub sanitize: Option<Str<Sanitize>>,
    /// Wider jobs are left out, and counted. Default: none are.
    pub max_processors: Option<Count>,
    /// The part of the trace that is run. Default: all of it.
    pub window: Option<At<Window>>,
    /// Keep m of every n jobs, "m/n", evenly spread, or "all" (the default).
    pub keep: Option<At<Str<KeepText>>>,
    /// Shift of the pattern of keep, below n. Default 0.
    pub phase: Option<At<Whole<0, 999_999>>>,
    /// Instead of keep: keep each job with this probability, at random.
    pub share: Option<At<Positive>>,
    /// Instead of keep: keep as many jobs, at random, as give this offered load.
    pub load: Option<At<Load>>,
    /// What becomes of run times of 0, before scaling. Default "1s".
    pub zero_run_time: Option<Str<ZeroRunTime>>,
    /// By how much the trace is compressed. Default: not at all.
    pub scale: Option<Scale>,
    /// No run is shorter, after scaling. Default "0s".
    pub min_run_time: Option<Duration>,
    /// Requested resources that nodes have to offer, besides processors.
    pub requirements: Option<Vec<Str<Name<Requirement>>>>,
    /// Requirements that the trace does not have, drawn with the seed of the
    /// run. Default: none are.
    pub draw: Option<At<Draw>>,
    /// What the users of all its jobs say for brokers that predict. Default: nothing.
    pub preferences: Option<At<Preferences>>,
}

/// Requirements that are drawn (LA Grid 4.3.1).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Draw {
    /// Architectures with their weights. Default: none is wanted.
    pub architecture: Option<At<BTreeMap<String, Weight>>>,
    /// Operating systems with their weights. Default: none is wanted.
    pub os: Option<At<BTreeMap<String, Weight>>>,
    /// The least and the most jobs in a row that want the same of both. Default
    /// [3, 6].
    pub burst: Option<At<Vec<Count>>>,
    /// Memory per processor: MiB with weights. Default: none is wanted.
    pub memory_mib: Option<At<BTreeMap<String, Weight>>>,
    /// MiB of disk per processor, hour of run time and GiB of memory per
    /// processor, times a factor between 1/2 and 3/2. Default: none is wanted.
    pub disk_rate_mib: Option<Count>,
    /// No job wants more disk than this. Default 1048576.
    pub disk_most_mib: Option<Count>,
    /// Whether the disk is also the data that goes with a forwarded job.
    /// Default false.
    pub disk_is_data: Option<bool>,
    /// Data that goes with a forwarded job: MiB with weights. Default: none does.
    pub data_mib: Option<At<BTreeMap<String, Weight>>>,
    /// Generic resources of each node of a job, with their weights: "gpu:2",
    /// "gpu:1,nic:1", or "none". Default: none are wanted.
    pub generic_resources: Option<At<BTreeMap<String, Weight>>>,
    /// Into how many components a job is divided, at most one for each of its
    /// processors: numbers from 1 to 64 with weights. Memory, disk and generic
    /// resources are drawn for each. Default: no job is divided.
    pub components: Option<At<BTreeMap<String, Weight>>>,
    /// To how many accounts the jobs are charged, each with the same chances: numbers
    /// from 1. Default: to none.
    pub accounts: Option<Count>,
    /// Which jobs are to start within a window, on processors that are reserved for them.
    /// Default: none.
    pub start_window: Option<At<StartWindows>>,
}

/// Jobs that are to start within a window. No scale divides these times.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct StartWindows {
    /// Of how many jobs that is so, each with this chance.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub share: Option<Share>,
    /// Their windows open up to so long after they are submitted, drawn evenly. Default
    /// "0s".
    pub notice: Option<Duration>,
    /// How long the windows are. Default "0s": there is one instant to start at.
    pub length: Option<Duration>,
    /// Whether an LRMS may move a start within its window. Default false.
    pub flexible: Option<bool>,
}

/// A weight.
pub type Weight = Whole<0, 1_000_000>;

/// The part [start, start + length) of a trace, counted from its time 0, or
/// the one of that length that represents the trace best.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Window {
    /// Where it begins. Default "0s".
    pub start: Option<At<Duration>>,
    /// How long it is.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub length: Option<Str<AboveZero>>,
    /// Instead of start: how the window is chosen.
    pub choose: Option<Str<Name<Choose>>>,
    /// A chosen window starts at a multiple of this. Default "1d".
    pub step: Option<At<Str<AboveZero>>>,
    /// Warm-up that no chosen window may touch, after the first submit.
    /// Default: found by a rule.
    pub skip_start: Option<At<Duration>>,
    /// Wrap-up that no chosen window may touch, before the last submit.
    /// Default: found by a rule.
    pub skip_end: Option<At<Duration>>,
}

/// How a window is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choose {
    /// By how well it represents the trace.
    Representative,
}

named!(Choose, "a way to choose a window", "representative" => Choose::Representative);

/// A load that decides how many jobs are kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Load {
    /// Offered load after all steps: processor-seconds wanted per second over
    /// processors.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub offered: Option<Positive>,
    /// The processors of that load. Default: all that the jobs can reach.
    pub processors: Option<Count>,
}

/// Divisors of the times of a trace.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Scale {
    /// Inter-arrival times are divided by this. Default 1.
    pub arrival: Option<Positive>,
    /// Run times and requested times are divided by this. Default 1.
    pub run_time: Option<Positive>,
}

/// A requested resource that is taken seriously.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Memory per processor.
    Memory,
}

named!(Requirement, "a requirement", "memory" => Requirement::Memory);

/// How the scenario is run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Run {
    /// The name of the run's directory. Default: the file's own, without
    /// extension.
    pub name: Option<Str<Identifier>>,
    /// "virtual" (the default) or "real" time.
    pub clock: Option<Str<Name<ClockName>>>,
    /// How many times faster than the wall clock the run is in real time.
    /// Default 1.
    pub speed: Option<Positive>,
    /// The forwarding policies to compare, by name, as a table with name and
    /// parameters, or with name and exec as a program of one's own. Default
    /// ["round-robin"]. With brokers that are external:
    /// what {policy} stands for, each in its turn.
    pub policies: Option<At<List<PolicyText>>>,
    /// Whether every replication is also run as its bounds: local-only,
    /// full-information (virtual time) and one pooled cluster. Default: true in
    /// virtual time where several policies are compared.
    pub bounds: Option<At<bool>>,
    /// Which of equally good candidates is chosen. Default "rotate".
    pub tie: Option<At<Str<Name<Tie>>>>,
    /// The seed of all random streams. Default 1.
    pub seed: Option<Whole<0, { u64::MAX }>>,
    /// How long a day of the trace is in the run, for the hours of providers.
    /// Default: 24 h divided by scale.arrival.
    pub day: Option<At<Str<AboveZero>>>,
    /// Time of day at the start of the run, for the same. Default "00:00".
    pub starts_at: Option<At<Str<TimeOfDay>>>,
    /// What varies between replications. Default: one run.
    pub replicate: Option<At<Replicate>>,
    /// Bounds on figures of every run, such as "delay_s.p95 < 60".
    pub require: Option<Vec<Str<Threshold>>>,
    /// The figures by which `gridrig compare` judges policies; the first gives
    /// the verdict. Default ["delay_s.mean"].
    pub primary: Option<Vec<Str<Figure>>>,
    /// The smallest differences of these figures that matter, such as
    /// { delay_s.mean = 0.5 }. Default for figures in seconds: a tenth of the longest
    /// broker interval; for others any difference matters.
    pub relevant: Option<At<BTreeMap<String, BTreeMap<String, Positive>>>>,
    /// The share of jobs of which it is recorded how brokers decided about them, from 0 to
    /// 1; which ones, their numbers say. Default: 0 in virtual time, 1 in real time.
    pub decisions: Option<Share>,
    /// A run in real time is valid if its submission lag times compression
    /// (time of the trace) is at most this. Default "30s".
    pub lag_tolerance: Option<Duration>,
}

/// What varies between replications.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Replicate {
    /// What varies.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub over: Option<Str<Name<Over>>>,
    /// The step between windows, or the largest shift of a submission (shake).
    pub step: Option<At<Str<AboveZero>>>,
    /// How many replications.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub count: Option<At<Whole<1, 100_000>>>,
}

/// What is measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Measure {
    /// Jobs submitted before are not measured. Default "0s".
    pub from: Option<Duration>,
    /// Jobs submitted after are not measured. Default "end".
    pub until: Option<At<Str<UntilText>>>,
    /// When the run ends. Default "drained".
    pub stop: Option<Str<Name<Stop>>>,
    /// The bound of bounded slowdown, in time of the run. Default: 10 s
    /// divided by the (largest) run-time scale.
    pub tau: Option<Str<AboveZero>>,
    /// Whether jobs that enter at a cluster, past any broker, are measured: not those of a
    /// background load. Default true.
    pub direct: Option<bool>,
    /// Whether the regret of decisions is computed after the run. Default
    /// true.
    pub regret: Option<bool>,
}

impl Document {
    /// Its domains in file order.
    pub(crate) fn domains(&self) -> impl Iterator<Item = &Domain> {
        let domains = self.domain.iter().flat_map(At::get);
        domains.map(At::get)
    }

    /// Its clusters in the order of their ids.
    pub fn clusters(&self) -> impl Iterator<Item = &Cluster> {
        let of_domains = self.domains().flat_map(|domain| &domain.clusters);
        let of_domains = of_domains.flatten();
        self.cluster.iter().chain(of_domains).map(At::get)
    }

    /// The same.
    pub(crate) fn clusters_mut(&mut self) -> impl Iterator<Item = &mut Cluster> {
        let domains = self.domain.iter_mut();
        let domains = domains.flat_map(At::get_mut);
        let of_domains = domains.flat_map(|domain| &mut domain.get_mut().clusters);
        let of_domains = of_domains.flatten();
        self.cluster.iter_mut().chain(of_domains).map(At::get_mut)
    }

    /// The bare names of files, for comparing documents across directories and
    /// hosts.
    pub(crate) fn name_no_directory(&mut self) {
        self.each_file(|path| {
            let name = Path::new(&*path).file_name();
            if let Some(name) = name.map(|name| name.to_string_lossy().into_owned()) {
                *path = name;
            }
        });
    }

    /// All that it names which may be a file: paths, and the words of programs.
    pub fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        self.clone().each_file(|path| files.push(path.clone()));
        files
    }

    fn each_file(&mut self, mut visit: impl FnMut(&mut String)) {
        for (_, workload) in self.workload.iter_mut() {
            let files = [&mut workload.trace, &mut workload.model];
            for path in files.into_iter().flatten() {
                visit(&mut path.get_mut().0.0);
            }
        }
        for cluster in self.clusters_mut() {
            cluster.files().for_each(|path| visit(&mut path.0.0));
            if let Some(DisciplineText::Own(own)) = &mut cluster.discipline {
                own.files().for_each(&mut visit);
            }
        }
        let run = self.run.as_mut().map(At::get_mut);
        let policies = run.and_then(|run| run.policies.as_mut());
        for policy in policies.into_iter().flat_map(At::get_mut) {
            if let PolicyText::Own(own) = policy.get_mut() {
                own.files().for_each(&mut visit);
            }
        }
    }
}
