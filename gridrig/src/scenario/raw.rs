//! The scenario as it is written: every key that means something, and no
//! other. Defaults are named here and applied in [`super::resolve`].

use super::provides::{DayHours, TimeOfDay};
use super::value::{
    AboveZero, At, Count, Duration, Identifier, KeepText, Name, Named, PathText, Positive, Str,
    Text, UntilText, Whole, named,
};
use super::{BrokerKind, ClockName, OverName, Stop};
use gridrig_core::broker::{LocalInfo, OwnDispatch};
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::load::Window;
use gridrig_core::policy::{PolicyKind, Tie};
use gridrig_emulator::faces::FaceKind;
use gridrig_metabroker_stub::lagrid::LinkProtocol;
use gridrig_results::threshold::{Figure, Threshold};
use gridrig_tracelab::spec::{Sanitize, SizeFrom, SpreadBy, ZeroRunTime};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor, value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// What is run, on which grid, and what is measured. Durations are strings
/// with their unit (ns, us, ms, s, min, h, d, w), such as "5s" or "87.08d".
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Scenario")]
pub(crate) struct RawScenario {
    /// The jobs: one table, or a list of them.
    pub(crate) workload: At<Workloads>,
    /// A run without brokers: everything goes straight into this cluster.
    pub(crate) cluster: Option<At<RawCluster>>,
    /// A run with brokers: the sites.
    pub(crate) domain: Option<At<List<RawDomain>>>,
    /// Which brokers may forward to which.
    pub(crate) link: Option<At<List<RawLink>>>,
    /// Links between all domains that have none of their own.
    pub(crate) mesh: Option<At<RawMesh>>,
    /// How it is run.
    pub(crate) run: Option<At<RawRun>>,
    /// What is measured.
    pub(crate) measure: Option<At<RawMeasure>>,
}

/// A list whose elements know where they stand.
#[derive(Debug)]
pub(crate) struct List<T>(pub(crate) Vec<At<T>>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
            type Value = List<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<List<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(List(all))
            }
        }

        deserializer.deserialize_any(ListVisitor(std::marker::PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for List<T> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Owned(format!("ListOf{}", T::schema_name()))
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": generator.subschema_for::<T>() })
    }
}

/// `[workload]`, or `[[workload]]` where there are several.
#[derive(Debug)]
pub(crate) enum Workloads {
    One(Box<RawWorkload>),
    Many(Vec<At<RawWorkload>>),
}

impl At<Workloads> {
    /// Each workload and where it stands.
    pub(crate) fn iter(&self) -> Vec<(Range<usize>, &RawWorkload)> {
        match self.get() {
            Workloads::One(one) => vec![(self.span(), &**one)],
            Workloads::Many(many) => many.iter().map(|one| (one.span(), one.get())).collect(),
        }
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
                let one = RawWorkload::deserialize(value::MapAccessDeserializer::new(map))?;
                Ok(Workloads::One(Box::new(one)))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Workloads, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(Workloads::Many(all))
            }
        }

        deserializer.deserialize_any(OneOrMany)
    }
}

impl JsonSchema for Workloads {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Workloads")
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<RawWorkload>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
    }
}

/// A trace, how it is reduced, and where its jobs enter. The steps apply in
/// this order: size, sanitize, max_processors, window, keep or share or load,
/// zero_run_time, scale, min_run_time, offset.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Workload")]
pub(crate) struct RawWorkload {
    /// The trace file (SWF, plain or gzip), looked for from the working
    /// directory, then from the directory of the scenario.
    pub(crate) trace: Option<At<Str<PathText>>>,
    /// Instead of a trace, a workload model (JSON): the jobs are generated, with
    /// the seed of the run in place of the model's.
    pub(crate) model: Option<At<Str<PathText>>>,
    /// The domain where its jobs enter. Default: the only one there is.
    pub(crate) domain: Option<At<Str<Identifier>>>,
    /// Instead of a domain: over all domains, "round-robin" or "random".
    pub(crate) spread: Option<At<Str<Name<SpreadBy>>>>,
    /// Instead of a domain, a cluster that it enters past any broker, such as
    /// background load.
    pub(crate) cluster: Option<At<Str<Identifier>>>,
    /// Shift against the other workloads, in time of the run. Default "0s".
    pub(crate) offset: Option<Duration>,
    /// The field that gives the size of a job. Default "allocated".
    pub(crate) size: Option<Str<Name<SizeFrom>>>,
    /// Rules that leave jobs out before all other steps, such as
    /// "failed,wider-than=64". Default: none.
    pub(crate) sanitize: Option<Str<Sanitize>>,
    /// Wider jobs are left out, and counted. Default: none are.
    pub(crate) max_processors: Option<Count>,
    /// The part of the trace that is played. Default: all of it.
    pub(crate) window: Option<At<RawWindow>>,
    /// Keep m of every n jobs, "m/n", evenly spread, or "all" (the default).
    pub(crate) keep: Option<At<Str<KeepText>>>,
    /// Shift of the pattern of keep, below n. Default 0.
    pub(crate) phase: Option<At<Whole<0, 999_999>>>,
    /// Instead of keep: keep each job with this probability, at random.
    pub(crate) share: Option<At<Positive>>,
    /// Instead of keep: keep as many jobs, at random, as load the processors
    /// to this.
    pub(crate) load: Option<At<RawLoad>>,
    /// What becomes of run times of 0, before scaling. Default "1s".
    pub(crate) zero_run_time: Option<Str<ZeroRunTime>>,
    /// No run is shorter, after scaling. Default "0s".
    pub(crate) min_run_time: Option<Duration>,
    /// By how much the trace is compressed. Default: not at all.
    pub(crate) scale: Option<RawScale>,
    /// Requested resources that nodes have to offer, besides processors.
    pub(crate) requirements: Option<Vec<Str<Name<Requirement>>>>,
    /// Requirements that the trace does not have, drawn with the seed of the
    /// run. Default: none are.
    pub(crate) draw: Option<At<RawDraw>>,
}

/// Requirements that are drawn (LA Grid 4.3.1).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Draw")]
pub(crate) struct RawDraw {
    /// Architectures with their weights. Default: none is wanted.
    pub(crate) architecture: Option<BTreeMap<String, Weight>>,
    /// Operating systems with their weights. Default: none is wanted.
    pub(crate) os: Option<BTreeMap<String, Weight>>,
    /// From how many to how many jobs in a row want the same of both. Default
    /// [3, 6].
    pub(crate) burst: Option<At<Vec<Count>>>,
    /// Memory per processor: MiB with weights. Default: none is wanted.
    pub(crate) memory_mib: Option<At<BTreeMap<String, Weight>>>,
    /// MiB of disk per processor, hour of run time and GiB of memory per
    /// processor, times a factor between 1/2 and 3/2. Default: none is wanted.
    pub(crate) disk_rate_mib: Option<Count>,
    /// No job wants more disk than this. Default 1048576.
    pub(crate) disk_most_mib: Option<Count>,
    /// Whether the disk is also the data that goes with a forwarded job.
    /// Default false.
    pub(crate) disk_is_data: Option<bool>,
}

/// A weight.
pub(crate) type Weight = Whole<0, 1_000_000>;

named!(
    SpreadBy, "a way to spread jobs over the domains",
    "round-robin" => SpreadBy::RoundRobin,
    "random" => SpreadBy::Random,
);

/// The part [start, start + length) of a trace, counted from its time 0, or
/// the one of that length that represents the trace best.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Window")]
pub(crate) struct RawWindow {
    /// Where it begins. Default "0s".
    pub(crate) start: Option<At<Duration>>,
    /// How long it is.
    #[schemars(required)]
    pub(crate) length: Option<Str<AboveZero>>,
    /// Instead of start: how the window is chosen.
    pub(crate) choose: Option<Str<Name<Choose>>>,
    /// A chosen window starts at a multiple of this. Default "1d".
    pub(crate) step: Option<At<Str<AboveZero>>>,
    /// Warm-up that no chosen window may touch, after the first submit.
    /// Default: found by a rule.
    pub(crate) skip_start: Option<At<Duration>>,
    /// Wrap-up that no chosen window may touch, before the last submit.
    /// Default: found by a rule.
    pub(crate) skip_end: Option<At<Duration>>,
}

/// How a window is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choose {
    Representative,
}

named!(Choose, "a way to choose a window", "representative" => Choose::Representative);

/// A load that decides how many jobs are kept.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Load")]
pub(crate) struct RawLoad {
    /// Offered load after all steps: processor-seconds wanted per second over
    /// processors.
    #[schemars(required)]
    pub(crate) offered: Option<Positive>,
    /// On so many processors. Default: all in reach of where the jobs enter.
    pub(crate) processors: Option<Count>,
}

/// Divisors of the times of a trace.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Scale")]
pub(crate) struct RawScale {
    /// Inter-arrival times are divided by this. Default 1.
    pub(crate) arrival: Option<Positive>,
    /// Run times and requested times are divided by this. Default 1.
    pub(crate) run_time: Option<Positive>,
}

/// A requested resource that is taken seriously.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    Memory,
}

named!(Requirement, "a requirement", "memory" => Requirement::Memory);

/// An emulated cluster.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Cluster")]
pub(crate) struct RawCluster {
    /// Its name, unlike that of any other cluster. Needed in a domain;
    /// elsewhere the default is "cluster".
    pub(crate) name: Option<At<Str<Identifier>>>,
    /// So many single-processor nodes, all alike. Or resources.
    pub(crate) processors: Option<At<Count>>,
    /// A cluster file (XML), found like a trace. Or processors.
    pub(crate) resources: Option<At<Str<PathText>>>,
    /// Which job is next. Default "first-in-first-fit".
    pub(crate) discipline: Option<Str<Name<DisciplineKind>>>,
    /// What the discipline "slurm-backfill" goes by, and no other.
    pub(crate) slurm: Option<At<RawSlurm>>,
    /// Time between scheduling passes. Default "0s": a pass follows every
    /// change at once.
    pub(crate) interval: Option<Duration>,
    /// Interfaces of other systems that it offers besides its own when it is
    /// a service. Default: none.
    pub(crate) faces: Option<List<Str<Name<FaceKind>>>>,
    /// With the face arc: how long each of a computing element's own steps
    /// around the LRMS takes, on the wall. Default "0s".
    pub(crate) arc_step: Option<Duration>,
    /// In real time: a directory of its own, in which the commands of Slurm
    /// are installed for this cluster.
    pub(crate) slurm_bin: Option<At<Str<PathText>>>,
    /// What runs its jobs. Default "emulated"; "slurm": a real Slurm, in real
    /// time only.
    pub(crate) lrms: Option<At<Str<Name<LrmsName>>>>,
    /// How a real Slurm is reached and used.
    pub(crate) lrms_settings: Option<At<RawLrms>>,
}

/// What runs the jobs of a cluster, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LrmsName {
    Emulated,
    Slurm,
}

named!(LrmsName, "an LRMS", "emulated" => LrmsName::Emulated, "slurm" => LrmsName::Slurm);

/// A real Slurm, driven through its commands.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Lrms")]
pub(crate) struct RawLrms {
    /// The directory of its commands. Default: found by PATH.
    pub(crate) bin: Option<Str<PathText>>,
    /// Its slurm.conf. Default: SLURM_CONF, or where Slurm looks.
    pub(crate) conf: Option<Str<PathText>>,
    /// The partition that jobs go to. Default: Slurm's default one.
    pub(crate) partition: Option<Str<Identifier>>,
    /// A batch script, found like a trace; {seconds}, {job} and {processors}
    /// are filled in. Default: one that sleeps.
    pub(crate) template: Option<At<Str<PathText>>>,
    /// Time between two looks at the jobs, on the wall. Default "500ms".
    pub(crate) poll: Option<Str<AboveZero>>,
    /// How long a Slurm that does not answer is waited for, on the wall,
    /// before its jobs are lost. Default "60s".
    pub(crate) patience: Option<Duration>,
}

/// SchedulerParameters of Slurm, by its names. No scale divides them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Slurm")]
pub(crate) struct RawSlurm {
    /// Time between plans. Default "30s".
    pub(crate) bf_interval: Option<Str<AboveZero>>,
    /// Reservations begin and end on multiples of it. Default "60s"; "0s": they
    /// are not rounded.
    pub(crate) bf_resolution: Option<Duration>,
    /// A job that could start only later gets no reservation. Default "1d".
    pub(crate) bf_window: Option<Duration>,
    /// Jobs that one plan looks at. Default 500.
    pub(crate) bf_max_job_test: Option<Count>,
}

/// One administrative site: a broker and its clusters.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Domain")]
pub(crate) struct RawDomain {
    /// Its name, unlike that of any other domain.
    #[schemars(required)]
    pub(crate) name: Option<At<Str<Identifier>>>,
    /// How its broker behaves.
    pub(crate) broker: Option<RawBroker>,
    /// Hours of the trace's day in which it takes jobs of others, such as
    /// "18:00-08:00". Default: always.
    pub(crate) provides: Option<At<List<Str<DayHours>>>>,
    /// Its clusters. Default: none, all its jobs are forwarded.
    pub(crate) clusters: Option<List<RawCluster>>,
}

/// How a broker behaves.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Broker")]
pub(crate) struct RawBroker {
    /// Time between scheduling cycles. Default "5s".
    pub(crate) interval: Option<Str<AboveZero>>,
    /// Time between exchanges of information. Default "15s".
    pub(crate) exchange: Option<Str<AboveZero>>,
    /// First cycle. Default: domain i of n (from 0) at i/n of its interval.
    pub(crate) phase: Option<Duration>,
    /// Forwards a job may make. Default 1.
    pub(crate) max_hops: Option<Whole<0, { u32::MAX as u64 }>>,
    /// Forwards a job may make under inter-rr and inter-random before it goes
    /// back to where it entered. Default: max_hops.
    pub(crate) ttl: Option<Whole<0, { u32::MAX as u64 }>>,
    /// What best-broker-rank multiplies the rank of a job's origin by; the
    /// policies that name a promotion have their own. Default 1.
    pub(crate) origin_promotion: Option<Positive>,
    /// Whether it counts what it has sent since its last information.
    /// Default "ignored".
    pub(crate) own_dispatch: Option<Str<Name<OwnDispatch>>>,
    /// How it knows its own clusters. Default "exchange".
    pub(crate) local_info: Option<Str<Name<LocalInfo>>>,
    /// One-way latency between the broker and its clusters. Default "1ms".
    pub(crate) lrms_latency: Option<Str<AboveZero>>,
    /// Window of the mean that queue-length looks at. Default "30s".
    pub(crate) queue_window: Option<Str<Name<Window>>>,
    /// Window of the mean that utilization looks at. Default "30s".
    pub(crate) utilization_window: Option<Str<Name<Window>>>,
    /// "gridrig" (the default), or "external": somebody else's program, in
    /// real time. The keys above are then not its own, those below are.
    pub(crate) kind: Option<At<Str<Name<BrokerKind>>>>,
    /// Texts that are written to files in its directory, by name, with places
    /// filled in.
    pub(crate) files: Option<At<BTreeMap<String, String>>>,
    /// The command that sets it up, or several that run one after the other.
    pub(crate) start: Option<At<Commands>>,
    /// A program that runs as long as the run does.
    pub(crate) serve: Option<At<Words>>,
    /// A command that is tried until it ends well: it is ready for jobs then.
    pub(crate) ready: Option<At<Words>>,
    /// The command that submits a job. Or outlet.
    pub(crate) submit: Option<At<Words>>,
    /// The interface that takes its jobs: json:URL, bes:URL, arc:URL,
    /// lagrid:URL, lagrid-soap12:URL, lagrid-json:URL or slurm:DIR. Or submit.
    pub(crate) outlet: Option<At<String>>,
    /// What submit says on standard output when it has worked. Default: its
    /// exit code is enough.
    pub(crate) expect: Option<String>,
    /// The command that cleans up, or several.
    pub(crate) stop: Option<At<Commands>>,
    /// How long a submission may take, in wall time. Default "60s".
    pub(crate) timeout: Option<Str<AboveZero>>,
    /// Submissions that run at a time. Default 4.
    pub(crate) at_once: Option<Count>,
    /// How long start and ready may take together, and stop, in wall time.
    /// Default "120s".
    pub(crate) start_timeout: Option<Str<AboveZero>>,
    /// Wall time without anything new of any job after which those that it
    /// took and no cluster has had count as lost. Default "60s".
    pub(crate) lost_after: Option<Str<AboveZero>>,
}

/// A command as its words: no shell has a part in it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub(crate) struct Words(
    #[serde(deserialize_with = "words")]
    #[schemars(length(min = 1))]
    pub(crate) Vec<String>,
);

fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let words = Vec::<String>::deserialize(deserializer)?;
    match words.first() {
        Some(program) if !program.is_empty() => Ok(words),
        _ => Err(D::Error::custom(
            "a command without a program, expected its words",
        )),
    }
}

/// One command, or several.
#[derive(Clone, Debug)]
pub(crate) struct Commands(pub(crate) Vec<Vec<String>>);

impl<'de> Deserialize<'de> for Commands {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        enum Part {
            Word(String),
            Command(Words),
        }

        impl<'de> Deserialize<'de> for Part {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct PartVisitor;

                impl<'de> Visitor<'de> for PartVisitor {
                    type Value = Part;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a word, or a list of words")
                    }

                    fn visit_str<E: Error>(self, word: &str) -> Result<Part, E> {
                        Ok(Part::Word(word.to_owned()))
                    }

                    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Part, A::Error> {
                        let list = value::SeqAccessDeserializer::new(list);
                        Words::deserialize(list).map(Part::Command)
                    }
                }

                deserializer.deserialize_any(PartVisitor)
            }
        }

        let parts = Vec::<Part>::deserialize(deserializer)?;
        let mut one: Vec<String> = Vec::new();
        let mut several: Vec<Vec<String>> = Vec::new();
        for part in parts {
            match part {
                Part::Word(word) => one.push(word),
                Part::Command(words) => several.push(words.0),
            }
        }
        match (one.is_empty(), several.is_empty()) {
            (false, false) => Err(D::Error::custom(
                "words beside commands, expected the words of one command, or a list of commands",
            )),
            (false, true) => Ok(Commands(vec![one])),
            (true, _) => Ok(Commands(several)),
        }
    }
}

impl JsonSchema for Commands {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Commands")
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let words = generator.subschema_for::<Words>();
        json_schema!({ "anyOf": [words, { "type": "array", "items": words }] })
    }
}

/// The name of a policy: one of ours, or the broker's own where that is
/// somebody else's.
#[derive(Clone, Debug)]
pub(crate) struct PolicyText(pub(crate) String);

impl Text for PolicyText {
    const EXPECTED: &'static str = "the name of a policy";

    fn read(text: &str) -> Result<Self, String> {
        match text.len() {
            0..=200 => Ok(PolicyText(text.to_owned())),
            _ => Err("the name of a policy, at most 200 bytes".to_owned()),
        }
    }

    fn schema() -> Schema {
        let names = PolicyKind::ALL.map(PolicyKind::name);
        json_schema!({ "anyOf": [
            { "type": "string", "enum": names },
            { "type": "string", "description": "of a broker with kind = \"external\"" },
        ] })
    }
}

/// A connection between two brokers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Link")]
pub(crate) struct RawLink {
    /// The two domains; each may forward to the other.
    #[schemars(required)]
    pub(crate) between: Option<At<List<Str<Identifier>>>>,
    /// Restricts the link to one direction.
    pub(crate) roles: Option<At<RawRoles>>,
    /// Hours of the trace's day in which jobs are taken over this link,
    /// instead of those of the providing domain.
    pub(crate) provides: Option<At<List<Str<DayHours>>>>,
    /// One-way latency. Default "1ms".
    pub(crate) latency: Option<Str<AboveZero>>,
    /// How the two brokers talk in real time: "native" (the default), or in
    /// sessions of the LA Grid protocol as "json", "soap" (1.1) or "soap12".
    pub(crate) protocol: Option<Str<Name<LinkProtocol>>>,
    /// MiB of job data a second carries. A forwarded job that has data arrives
    /// so much later. Default: data costs no time.
    pub(crate) bandwidth_mib_s: Option<Positive>,
}

/// What all links are like that are not written one by one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Mesh")]
pub(crate) struct RawMesh {
    /// One-way latency. Default "1ms".
    pub(crate) latency: Option<Str<AboveZero>>,
    /// MiB of job data a second carries. Default: data costs no time.
    pub(crate) bandwidth_mib_s: Option<Positive>,
}

/// Who forwards and who takes jobs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Roles")]
pub(crate) struct RawRoles {
    /// The domain that forwards.
    #[schemars(required)]
    pub(crate) consumer: Option<At<Str<Identifier>>>,
    /// The domain that takes jobs.
    #[schemars(required)]
    pub(crate) provider: Option<At<Str<Identifier>>>,
}

/// How the scenario is run.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Run")]
pub(crate) struct RawRun {
    /// The name of the run's directory. Default: the file's own, without
    /// extension.
    pub(crate) name: Option<Str<Identifier>>,
    /// "virtual" (the default) or "real" time.
    pub(crate) clock: Option<Str<Name<ClockName>>>,
    /// How many times faster than the wall clock the whole rig runs in real
    /// time. Default 1.
    pub(crate) speed: Option<Positive>,
    /// The forwarding policies to compare. Default ["round-robin"]. With
    /// brokers that are external: what {policy} stands for, each in its turn.
    pub(crate) policies: Option<At<List<Str<PolicyText>>>>,
    /// Whether every replication is also run as its bounds: local-only,
    /// full-information (virtual time) and one pooled cluster. Default: true in
    /// virtual time where several policies are compared.
    pub(crate) bounds: Option<At<bool>>,
    /// How equally good candidates are told apart. Default "rotate".
    pub(crate) tie: Option<At<Str<Name<Tie>>>>,
    /// The seed of all random streams. Default 1.
    pub(crate) seed: Option<Whole<0, { u64::MAX }>>,
    /// How long a day of the trace is in the run, for the hours of providers.
    /// Default: 24 h divided by scale.arrival.
    pub(crate) day: Option<At<Str<AboveZero>>>,
    /// Time of day at the start of the run, for the same. Default "00:00".
    pub(crate) starts_at: Option<At<Str<TimeOfDay>>>,
    /// What varies between replications. Default: one run.
    pub(crate) replicate: Option<At<RawReplicate>>,
    /// Bounds on figures of every run, such as "delay_s.p95 < 60".
    pub(crate) require: Option<Vec<Str<Threshold>>>,
    /// What `gridrig compare` judges policies by, the first of them before
    /// all. Default ["delay_s.mean"].
    pub(crate) primary: Option<Vec<Str<Figure>>>,
    /// The largest submission lag times compression (time of the trace)
    /// before a run in real time is not valid. Default "30s".
    pub(crate) lag_tolerance: Option<Duration>,
}

/// What varies between replications.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Replicate")]
pub(crate) struct RawReplicate {
    /// What varies.
    #[schemars(required)]
    pub(crate) over: Option<Str<Name<OverName>>>,
    /// How far: of the window, or the most that a shaken job moves.
    pub(crate) step: Option<At<Str<AboveZero>>>,
    /// How many replications.
    #[schemars(required)]
    pub(crate) count: Option<At<Whole<1, 100_000>>>,
}

/// What is measured.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Measure")]
pub(crate) struct RawMeasure {
    /// Jobs submitted before are not measured. Default "0s".
    pub(crate) from: Option<Duration>,
    /// Jobs submitted after are not measured. Default "end".
    pub(crate) until: Option<At<Str<UntilText>>>,
    /// When the run ends. Default "drained".
    pub(crate) stop: Option<Str<Name<Stop>>>,
    /// The bound of bounded slowdown, in time of the run. Default: 10 s
    /// divided by the (largest) run-time scale.
    pub(crate) tau: Option<Str<AboveZero>>,
    /// Whether the regret of decisions is computed after the run. Default
    /// true.
    pub(crate) regret: Option<bool>,
}
