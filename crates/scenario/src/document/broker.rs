//! A broker as it is written, ours or somebody else's.

use crate::BrokerKind;
use crate::value::{
    AboveZero, Count, Duration, Name, NotNegative, Number, Positive, Str, Whole, Written,
    inline_schema, or,
};
use gridrig_core::broker::{Blocking, Commit, LocalInfo, MatchmakingKind, OwnDispatch};
use gridrig_core::grid::BrokerSettings;
use gridrig_core::load::Window;
use gridrig_core::policy as core;
use gridrig_core::time::{Decimal, SimDuration};
use serde::de::{Deserializer, Error, SeqAccess, Visitor, value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// How a broker behaves.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Broker {
    /// Time between scheduling cycles. Default "5s".
    pub interval: Option<Str<AboveZero>>,
    /// Time between exchanges of information. Default "15s".
    pub exchange: Option<Str<AboveZero>>,
    /// First cycle. Default: domain i of n (from 0) at i/n of its interval.
    pub phase: Option<Duration>,
    /// Forwards a job may make. Default 1.
    pub max_hops: Option<Whole<0, { u32::MAX as u64 }>>,
    /// Forwards a job may make under inter-rr and inter-random before it goes
    /// back to where it entered. Default: max_hops.
    pub ttl: Option<Whole<0, { u32::MAX as u64 }>>,
    /// What best-broker-rank multiplies the rank of a job's origin by; the
    /// policies that name a promotion have their own. Default 1.
    pub origin_promotion: Option<Positive>,
    /// Whether jobs sent since the last information are counted.
    /// Default "ignored".
    pub own_dispatch: Option<Str<Name<OwnDispatch>>>,
    /// When a job leaves its queue: "early", in the next cycle, or "late", when
    /// there is room where the policy sends it. Default "early".
    pub commit: Option<Str<Name<Commit>>>,
    /// Whether the jobs behind one that waits for room wait too ("head") or may
    /// pass it ("skip"). Default "head".
    pub blocking: Option<Str<Name<Blocking>>>,
    /// How jobs and processors are brought together, for all brokers alike: "route",
    /// "independent", "push", "pull", "flock" or "delegate". Default "route".
    pub matchmaking: Option<Str<Name<MatchmakingKind>>>,
    /// Time between cycles in which waiting jobs are matched with free processors:
    /// under delegate and flock, and under independent with late commitment. Default
    /// "300s".
    pub matchmaking_interval: Option<Str<AboveZero>>,
    /// Under delegate, time between cycles in which neighbours are asked for
    /// processors. Default "60s".
    pub delegation_interval: Option<Str<AboveZero>>,
    /// Under delegate, they are asked while what runs and waits here is more than so
    /// many times the processors that are here. Default 1.
    pub delegation_threshold: Option<Positive>,
    /// Under delegate, for so long a request that was here is rejected if it comes
    /// again. Default "1h".
    pub delegation_memory: Option<Duration>,
    /// Under delegate and flock, what this broker has delegated it takes back after so long,
    /// whether it has been released or not. Default: never.
    pub lease_timeout: Option<Str<AboveZero>>,
    /// Under flock, in so long the past usage of an account counts half. Default "1d".
    pub usage_half_life: Option<Str<AboveZero>>,
    /// What it takes that several clusters run a job together, under the policies that
    /// place its components. Default: nothing.
    pub co_allocation: Option<CoAllocation>,
    /// How it gets information about its own clusters. Default "exchange".
    pub local_info: Option<Str<Name<LocalInfo>>>,
    /// Whether it tells those who forward jobs to it, besides the load of its own clusters,
    /// what it knows of its providers' (LA Grid 2.1). Default false.
    pub propagate_info: Option<bool>,
    /// One-way latency between the broker and its clusters. Default "1ms".
    pub lrms_latency: Option<Str<AboveZero>>,
    /// Window of the mean that queue-length looks at. Default "30s".
    pub queue_window: Option<Str<Name<Window>>>,
    /// Window of the mean that utilization looks at. Default "30s".
    pub utilization_window: Option<Str<Name<Window>>>,
    /// From when until when it takes no new jobs, in time of the run, such as
    /// [["2h", "4h"]]. Default: never.
    #[serde(default, deserialize_with = "windows")]
    pub drain: Option<Vec<[Duration; 2]>>,
    /// "gridrig" (the default), or "external": somebody else's program, in
    /// real time. It then takes the keys below instead of those above.
    pub kind: Option<Str<Name<BrokerKind>>>,
    /// Texts that are written to files in its directory, by name, with
    /// placeholders filled in.
    pub files: Option<BTreeMap<String, String>>,
    /// The command that sets it up, or several that run one after the other.
    pub start: Option<Commands>,
    /// A program that runs as long as the run does.
    pub serve: Option<Words>,
    /// A command that is repeated until it succeeds: the broker is then ready
    /// for jobs.
    pub ready: Option<Words>,
    /// The command that submits a job. Or outlet.
    pub submit: Option<Words>,
    /// The interface that takes its jobs: json:URL, bes:URL, arc:URL,
    /// lagrid:URL#INITIATOR, lagrid-soap12:URL#INITIATOR,
    /// lagrid-json:URL#INITIATOR or slurm:DIR. Or submit.
    pub outlet: Option<String>,
    /// Text that submit prints on standard output on success. Default: none;
    /// exit code 0 is success.
    pub expect: Option<String>,
    /// The command that cleans up, or several.
    pub stop: Option<Commands>,
    /// How long a submission may take, in wall time. Default "60s".
    pub timeout: Option<Str<AboveZero>>,
    /// Submissions that run at a time. Default 4.
    pub at_once: Option<Count>,
    /// How long start and ready may take together, and stop, in wall time.
    /// Default "120s".
    pub start_timeout: Option<Str<AboveZero>>,
    /// Wall time without news of any job after which jobs that it accepted and
    /// that reached no cluster count as lost. Default "60s".
    pub lost_after: Option<Str<AboveZero>>,
}

/// What it takes that several clusters run a job together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct CoAllocation {
    /// Time between placement and start, by the number of components, from 1; of more than
    /// are given that of the last: ["10s", "15s"]. Default: none.
    pub startup: Option<Vec<Duration>>,
    /// By how much of itself startup grows for each other job that has been placed and has not
    /// begun: 0.1. Default 0.
    pub startup_contention: Option<NotNegative>,
    /// What run times are multiplied by, by the number of clusters, likewise: [1, 1.25].
    /// Default 1.
    pub wide_area: Option<Vec<Positive>>,
    /// How long some programs run instead, by their number (SWF field 14), the processors of
    /// the job and the number of clusters, from 1: { 1 = { 36 = ["150s", "180s"] } }. No
    /// scale divides these times. Default: none is known.
    pub run_times: Option<BTreeMap<Number, BTreeMap<Number, Vec<Duration>>>>,
    /// How fast a cluster gets what components of a job read (JobInputs), before the job
    /// starts: MiB a second. Default: no limit.
    pub bandwidth_mib_s: Option<Positive>,
    /// Processors that are held for a part of a job are given back if nothing more is heard
    /// for so long. Default "60s".
    pub claim_timeout: Option<Str<AboveZero>>,
}

impl CoAllocation {
    /// None where there is nothing to say.
    fn of(settings: &core::CoAllocation) -> Option<Self> {
        let default = core::CoAllocation::default();
        let some = |list: &[SimDuration]| list.iter().copied().map(Str).collect::<Vec<_>>();
        let sizes = |of: &BTreeMap<_, Vec<_>>| {
            let sizes = of.iter().map(|(size, times)| (Number(*size), some(times)));
            sizes.collect()
        };
        let programs = settings.run_times.iter();
        let programs = programs.map(|(number, of)| (Number(*number), sizes(of)));
        let wide_area = settings.wide_area.iter().copied().map(Positive);
        (*settings != default).then(|| CoAllocation {
            startup: there(some(&settings.startup), Vec::is_empty),
            startup_contention: other(settings.startup_contention, Decimal::ZERO),
            wide_area: there(wide_area.collect(), Vec::is_empty),
            run_times: there(programs.collect(), BTreeMap::is_empty),
            bandwidth_mib_s: settings.bandwidth.map(Positive),
            claim_timeout: other(settings.claim_timeout, default.claim_timeout),
        })
    }

    fn settings(&self) -> core::CoAllocation {
        let plain = |list: &Vec<Duration>| list.iter().map(|time| time.0).collect::<Vec<_>>();
        let sizes = |of: &BTreeMap<Number, Vec<Duration>>| {
            of.iter()
                .map(|(size, times)| (size.0, plain(times)))
                .collect()
        };
        let programs = self.run_times.iter().flatten();
        let factors = self.wide_area.iter().flatten();
        let default = core::CoAllocation::default();
        core::CoAllocation {
            startup: self.startup.as_ref().map(plain).unwrap_or_default(),
            startup_contention: self.startup_contention.map_or(Decimal::ZERO, |it| it.0),
            wide_area: factors.map(|factor| factor.0).collect(),
            run_times: programs.map(|(number, of)| (number.0, sizes(of))).collect(),
            bandwidth: self.bandwidth_mib_s.map(|bandwidth| bandwidth.0),
            claim_timeout: or(&self.claim_timeout, default.claim_timeout),
        }
    }
}

/// A command as a list of words; no shell interprets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct Words(
    #[serde(deserialize_with = "words")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub Vec<String>,
);

fn windows<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<[Duration; 2]>>, D::Error> {
    let all = Vec::<[Duration; 2]>::deserialize(from)?;
    match all.iter().all(|[from, until]| from.0 < until.0) {
        true => Ok(Some(all)),
        false => Err(D::Error::custom(
            "a drain without length, expected [from, until]",
        )),
    }
}

fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let words = Vec::<String>::deserialize(deserializer)?;
    match words.first() {
        Some(program) if !program.is_empty() => Ok(words),
        _ => Err(D::Error::custom(
            "a command without words, expected its program and arguments",
        )),
    }
}

/// One command, or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Commands(pub Vec<Vec<String>>);

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
                "words and commands in one list, expected words only, or commands only",
            )),
            (false, true) => Ok(Commands(vec![one])),
            (true, _) => Ok(Commands(several)),
        }
    }
}

inline_schema!([] Commands, "Commands", |generator| {
    let words = generator.subschema_for::<Words>();
    schemars::json_schema!({ "anyOf": [words, { "type": "array", "items": words }] })
});

/// What is not empty.
pub(super) fn there<T>(all: T, is_empty: fn(&T) -> bool) -> Option<T> {
    Some(all).filter(|all| !is_empty(all))
}

/// A setting that is not worth a word where it is the default.
fn unusual<W: Written>(setting: W::Value) -> Option<W>
where
    W::Value: Default + PartialEq,
{
    other(setting, W::Value::default())
}

/// The same with another default.
fn other<W: Written>(setting: W::Value, default: W::Value) -> Option<W>
where
    W::Value: PartialEq,
{
    (setting != default).then(|| W::of(setting))
}

impl Broker {
    /// These settings of a broker of ours, with what they do not say from
    /// `written`; tie and policy are those of the run.
    pub(crate) fn of(own: &BrokerSettings, written: Broker) -> Self {
        let default = BrokerSettings::default();
        Broker {
            interval: Some(Written::of(own.interval)),
            exchange: Some(Written::of(own.exchange)),
            phase: Some(Str(own.phase)),
            max_hops: Some(Whole(own.max_hops.into())),
            ttl: Some(Whole(own.ttl.into())),
            origin_promotion: Some(Positive(own.origin_promotion)),
            own_dispatch: Some(Written::of(own.own_dispatch)),
            commit: unusual(own.commit),
            blocking: unusual(own.blocking),
            matchmaking: unusual(own.matchmaking),
            matchmaking_interval: other(own.matchmaking_interval, default.matchmaking_interval),
            delegation_interval: other(own.delegation_interval, default.delegation_interval),
            delegation_threshold: other(own.delegation_threshold, default.delegation_threshold),
            delegation_memory: other(own.delegation_memory, default.delegation_memory),
            lease_timeout: own.lease_timeout.map(Written::of),
            usage_half_life: other(own.usage_half_life, default.usage_half_life),
            co_allocation: CoAllocation::of(&own.co_allocation),
            local_info: Some(Written::of(own.local_info)),
            propagate_info: own.propagate_info.then_some(true),
            lrms_latency: Some(Written::of(own.lrms_latency)),
            queue_window: Some(Written::of(own.queue_window)),
            utilization_window: Some(Written::of(own.utilization_window)),
            drain: there(
                own.drain.iter().map(|one| one.map(Str)).collect(),
                Vec::is_empty,
            ),
            ..written
        }
    }

    /// The settings, which are those of the design where nothing is written;
    /// `phase` says the first cycle from the interval.
    pub(crate) fn settings(&self, phase: impl Fn(SimDuration) -> SimDuration) -> BrokerSettings {
        let default = BrokerSettings::default();
        let interval = or(&self.interval, default.interval);
        let max_hops = self.max_hops.map_or(default.max_hops, Whole::as_u32);
        let drain = self.drain.iter().flatten();
        let co_allocation = self.co_allocation.as_ref();
        BrokerSettings {
            interval,
            exchange: or(&self.exchange, default.exchange),
            phase: self.phase.map_or_else(|| phase(interval), |phase| phase.0),
            max_hops,
            ttl: self.ttl.map_or(max_hops, Whole::as_u32),
            origin_promotion: or(&self.origin_promotion, default.origin_promotion),
            own_dispatch: or(&self.own_dispatch, default.own_dispatch),
            commit: or(&self.commit, default.commit),
            blocking: or(&self.blocking, default.blocking),
            matchmaking: or(&self.matchmaking, default.matchmaking),
            matchmaking_interval: or(&self.matchmaking_interval, default.matchmaking_interval),
            delegation_interval: or(&self.delegation_interval, default.delegation_interval),
            delegation_threshold: or(&self.delegation_threshold, default.delegation_threshold),
            delegation_memory: or(&self.delegation_memory, default.delegation_memory),
            lease_timeout: self.lease_timeout.as_ref().map(|timeout| timeout.0.0),
            usage_half_life: or(&self.usage_half_life, default.usage_half_life),
            co_allocation: co_allocation.map_or_else(Default::default, CoAllocation::settings),
            local_info: or(&self.local_info, default.local_info),
            propagate_info: self.propagate_info.unwrap_or_default(),
            queue_window: or(&self.queue_window, default.queue_window),
            utilization_window: or(&self.utilization_window, default.utilization_window),
            lrms_latency: or(&self.lrms_latency, default.lrms_latency),
            drain: drain.map(|one| one.map(|at| at.0)).collect(),
            // What a document says elsewhere.
            tie: default.tie,
            policy: default.policy,
            door: default.door,
            external: default.external,
        }
    }
}
