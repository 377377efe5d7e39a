//! What is known of a policy beforehand, how a scenario names one, and the
//! settings of the broker that it is built for.

use super::{
    Blocking, CoAllocation, Commit, LocalInfo, MatchmakingKind, OWN, OwnDispatch, POLICIES,
    Placement, Policy, Tie,
};
use crate::door::Door;
use crate::load::Window;
use crate::time::{Decimal, SimDuration};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// What a policy has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InformationNeed {
    /// Nothing but who there is.
    Nothing,
    /// What was last received, in sums by candidate.
    Totals,
    /// The same, cluster by cluster (LA Grid 2.2, flat).
    Clusters,
    /// The same in aggregated form (LA Grid 2.2, N-to-N).
    Aggregated,
    /// The truth about every cluster in reach, and its own decisions counted:
    /// a bound, not a policy one could deploy.
    Truth,
}

impl InformationNeed {
    /// Whether it is about the clusters of each domain.
    pub(crate) fn is_by_cluster(self) -> bool {
        matches!(
            self,
            InformationNeed::Clusters | InformationNeed::Aggregated
        )
    }

    /// Whether it grows stale between exchanges.
    pub fn is_received(self) -> bool {
        !matches!(self, InformationNeed::Nothing | InformationNeed::Truth)
    }
}

/// A policy in the table.
pub struct PolicyEntry {
    /// The name used in scenarios and results.
    pub name: &'static str,
    /// Where it sends a job, in a few words for those who read a result.
    pub summary: &'static str,
    /// What may be set.
    pub parameters: &'static [Parameter],
    /// What it has to know.
    pub need: InformationNeed,
    /// Whether it is no contender but what is possible at best or at worst.
    pub is_bound: bool,
    /// Whether it predicts when jobs start.
    pub predicts: bool,
    /// Whether it draws among candidates, whatever the rule for ties.
    pub draws: bool,
    /// How it places the components of a job on several clusters, if it does.
    pub placement: Option<Placement>,
    /// The policy for a broker with these settings, which name it.
    pub build: fn(&BrokerSettings) -> Box<dyn Policy>,
}

impl PolicyEntry {
    /// A contender.
    pub(super) const fn new(
        name: &'static str,
        summary: &'static str,
        parameters: &'static [Parameter],
        need: InformationNeed,
        build: fn(&BrokerSettings) -> Box<dyn Policy>,
    ) -> Self {
        PolicyEntry {
            name,
            summary,
            parameters,
            need,
            is_bound: false,
            predicts: false,
            draws: false,
            placement: None,
            build,
        }
    }

    /// Whether a job goes from broker to broker until one has room for it, at
    /// most `ttl` times: that is what this parameter is for.
    pub fn wanders(&self) -> bool {
        self.has(&BrokerSettings::TTL)
    }

    /// Whether a job may wait at the broker until whoever it is for has room.
    pub fn can_commit_late(&self) -> bool {
        self.has(&BrokerSettings::COMMIT)
    }

    fn has(&self, parameter: &Parameter) -> bool {
        self.parameters.iter().any(|p| p.name == parameter.name)
    }

    /// What may be given: its own parameters, and if it is no bound what all take.
    pub fn all_parameters(&self) -> impl Iterator<Item = &'static Parameter> {
        let common = [&BrokerSettings::MATCHMAKING].into_iter();
        let common = common.filter(|_| !self.is_bound && self.placement.is_none());
        self.parameters.iter().chain(common)
    }

    /// What may be given, for messages.
    fn takes(&self) -> String {
        let known = self.all_parameters();
        let known = known.map(|known| format!("{} ({})", known.name, known.values));
        match known.collect::<Vec<_>>().join("; ") {
            none if none.is_empty() => format!("left out: {} has no parameters", self.name),
            known => format!("a parameter of {}: {known}", self.name),
        }
    }
}

/// Something about a policy that may be set.
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub values: Values,
    /// What it is where nothing is given.
    pub default: fn(&BrokerSettings) -> String,
}

/// What a parameter may be.
pub enum Values {
    /// A decimal number above 0 and at most this.
    Number(u64),
    /// A whole number of at most this.
    Whole(u32),
    /// One of these words.
    Word(fn() -> Vec<&'static str>),
    /// A time above 0, with its unit.
    Time,
}

impl Values {
    /// The value in its one form, if it is one of these.
    fn read(&self, text: &str) -> Option<String> {
        let number = Decimal::parse(text);
        match self {
            Values::Number(most) => {
                let within = |n: Decimal| !n.is_zero() && n <= Decimal::from_whole(*most);
                number.filter(|n| within(*n)).map(|n| n.to_string())
            }
            Values::Whole(most) => {
                let (whole, part) = number?.ratio();
                (part == 1 && whole <= u64::from(*most)).then(|| whole.to_string())
            }
            Values::Word(words) => words().contains(&text).then(|| text.to_owned()),
            Values::Time => {
                let time = SimDuration::parse(text).ok().filter(|time| !time.is_zero());
                time.map(|time| time.to_string())
            }
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::Number(most) => write!(f, "a number above 0 and up to {most}"),
            Values::Whole(most) => write!(f, "a whole number from 0 to {most}"),
            Values::Word(words) => write!(f, "one of {}", words().join(", ")),
            Values::Time => f.write_str("a time above 0 such as 15min"),
        }
    }
}

impl Parameter {
    /// Something that is so, `true`, or is not.
    pub(super) const fn flag(name: &'static str, default: fn(&BrokerSettings) -> String) -> Self {
        Parameter {
            name,
            values: Values::Word(|| vec!["false", "true"]),
            default,
        }
    }

    /// A whole number of any size.
    pub(super) const fn whole(name: &'static str, default: fn(&BrokerSettings) -> String) -> Self {
        Parameter {
            name,
            values: Values::Whole(u32::MAX),
            default,
        }
    }

    /// The window of a mean.
    pub(super) const fn window(default: fn(&BrokerSettings) -> String) -> Self {
        Parameter {
            name: "window",
            values: Values::Word(|| Window::ALL.map(Window::name).to_vec()),
            default,
        }
    }

    /// What the policy of these settings has, as it is written.
    pub(super) fn of(&self, settings: &BrokerSettings) -> String {
        let given = settings.policy.given.get(self.name).cloned();
        given.unwrap_or_else(|| (self.default)(settings))
    }
}

/// A policy by its name, with what is given of its parameters. `Default` is the
/// first of the table. It is written as its name, or as `name(key=value,...)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicySpec {
    /// Position in [`POLICIES`].
    position: usize,
    given: BTreeMap<&'static str, String>,
    /// The name of one that is not in the table.
    own: Option<Arc<str>>,
}

impl PolicySpec {
    /// Every policy, nothing being given.
    pub fn all() -> impl Iterator<Item = PolicySpec> {
        (0..POLICIES.len()).map(|position| PolicySpec {
            position,
            ..PolicySpec::default()
        })
    }

    /// The policy with this name, nothing being given.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|policy| policy.entry().name == name)
    }

    /// A policy of the user's own with this name.
    pub fn own(name: &str) -> Self {
        PolicySpec {
            own: Some(name.into()),
            ..PolicySpec::default()
        }
    }

    /// Whether it is the user's own.
    pub fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// How it places jobs, if it does.
    pub fn placement(&self) -> Option<Placement> {
        let reserve = self.given.get(BrokerSettings::RESERVE.name);
        let keeps_one = reserve.is_some_and(|reserve| reserve != "none");
        let kept = keeps_one.then_some(Placement::KeptReservation);
        self.entry().placement.or(kept)
    }

    /// What the table has of it.
    pub fn entry(&self) -> &'static PolicyEntry {
        match self.own {
            Some(_) => &OWN,
            None => &POLICIES[self.position],
        }
    }
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.own.as_deref().unwrap_or(self.entry().name))?;
        let given = self.given.iter();
        let given: Vec<String> = given.map(|(key, value)| format!("{key}={value}")).collect();
        match given.is_empty() {
            true => Ok(()),
            false => write!(f, "({})", given.join(",")),
        }
    }
}

/// The error is what was expected.
impl FromStr for PolicySpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, given) = match text.strip_suffix(')').and_then(|t| t.split_once('(')) {
            Some((name, given)) => (name, given.split(',').collect()),
            None => (text, Vec::new()),
        };
        let mut policy = Self::named(name).ok_or_else(|| {
            let names: Vec<&str> = POLICIES.iter().map(|entry| entry.name).collect();
            format!("a policy, one of {}", names.join(", "))
        })?;
        let entry = policy.entry();
        for pair in given {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let parameter = entry.all_parameters().find(|p| p.name == key.trim());
            let read = parameter.and_then(|p| Some((p.name, p.values.read(value.trim())?)));
            let expected = || format!("`{}` to be {}", pair.trim(), entry.takes());
            let (key, value) = read.ok_or_else(expected)?;
            if policy.given.insert(key, value).is_some() {
                return Err(format!("`{key}` to be given once"));
            }
        }
        let matched = policy.given.contains_key(BrokerSettings::MATCHMAKING.name);
        match policy.placement() {
            Some(_) if matched => Err("reserve=none with a matchmaking".to_owned()),
            _ => Ok(policy),
        }
    }
}

/// The settings of a broker that do not follow from the rest of the grid.
/// `Default` is design 5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerSettings {
    /// Time between scheduling cycles.
    pub interval: SimDuration,
    /// Time between exchanges of information: at its multiples every LRMS of
    /// the domain is sampled.
    pub exchange: SimDuration,
    /// First cycle.
    pub phase: SimDuration,
    /// Forwards a job may make.
    pub max_hops: u32,
    /// Forwards a job may make under the `inter-*` policies before it goes
    /// back to where it entered.
    pub ttl: u32,
    /// What best-broker-rank multiplies the rank of a job's origin by, unless
    /// it is given another number. So it is with `ttl`, `tie` and the windows.
    pub origin_promotion: Decimal,
    /// Whether the broker counts what it has sent.
    pub own_dispatch: OwnDispatch,
    /// How it gets information about its own clusters.
    pub local_info: LocalInfo,
    /// Whether it tells those who forward jobs to it what it knows of its providers, too.
    pub propagate_info: bool,
    /// When a job leaves the queue, under the policies that can tell.
    pub commit: Commit,
    /// What is behind a job that has no room yet.
    pub blocking: Blocking,
    /// How jobs and processors are brought together, unless the policy says it.
    pub matchmaking: MatchmakingKind,
    /// Time between cycles in which waiting jobs are matched with processors that are
    /// free.
    pub matchmaking_interval: SimDuration,
    /// Time between cycles in which processors of others are asked for.
    pub delegation_interval: SimDuration,
    /// They are asked for while what runs and waits here is more than so many times
    /// the processors that are here.
    pub delegation_threshold: Decimal,
    /// For so long a request that was here is refused if it comes again.
    pub delegation_memory: SimDuration,
    /// What this broker delegates it takes back after so long; `None`: when it is released.
    pub lease_timeout: Option<SimDuration>,
    /// In so long the past usage of a user counts half.
    pub usage_half_life: SimDuration,
    /// What jobs cost that several clusters run together.
    pub co_allocation: CoAllocation,
    /// How equals are told apart.
    pub tie: Tie,
    /// The forwarding policy.
    pub policy: PolicySpec,
    /// Where the policy is had if it is the user's own.
    pub door: Option<Door<dyn Policy>>,
    /// Window of the queue-length policy.
    pub queue_window: Window,
    /// Window of the utilization policy.
    pub utilization_window: Window,
    /// One-way latency between broker and its LRMSs, above 0.
    pub lrms_latency: SimDuration,
    /// From when until when it takes no new jobs.
    pub drain: Vec<[SimDuration; 2]>,
    /// Whether it is somebody else's program, of which nothing is seen but
    /// what reaches its LRMSs: none of the other settings is its own then.
    pub external: bool,
}

impl Default for BrokerSettings {
    fn default() -> Self {
        BrokerSettings {
            interval: SimDuration::from_secs(5),
            exchange: SimDuration::from_secs(15),
            phase: SimDuration::ZERO,
            max_hops: 1,
            ttl: 1,
            origin_promotion: Decimal::ONE,
            own_dispatch: OwnDispatch::default(),
            local_info: LocalInfo::default(),
            propagate_info: false,
            commit: Commit::default(),
            blocking: Blocking::default(),
            matchmaking: MatchmakingKind::default(),
            matchmaking_interval: SimDuration::from_secs(300),
            delegation_interval: SimDuration::from_secs(60),
            delegation_threshold: Decimal::ONE,
            delegation_memory: SimDuration::from_secs(3600),
            lease_timeout: None,
            usage_half_life: SimDuration::from_secs(86_400),
            co_allocation: CoAllocation::default(),
            tie: Tie::default(),
            policy: PolicySpec::default(),
            door: None,
            queue_window: Window::Seconds30,
            utilization_window: Window::Seconds30,
            lrms_latency: SimDuration::from_millis(1),
            drain: Vec::new(),
            external: false,
        }
    }
}

impl BrokerSettings {
    /// What a policy takes under which jobs wander.
    pub(super) const TTL: Parameter = Parameter::whole("ttl", |settings| settings.ttl.to_string());

    /// For which jobs processors are reserved, to know when they start.
    pub(super) const RESERVE: Parameter = Parameter {
        name: "reserve",
        values: Values::Word(|| vec!["none", "windows", "all"]),
        default: |_| "none".to_owned(),
    };

    /// What becomes of a job that has come back where it entered.
    pub(super) const TTL_END: Parameter = Parameter {
        name: "ttl_end",
        values: Values::Word(|| vec!["reschedule", "settle"]),
        default: |_| "reschedule".to_owned(),
    };

    /// How long it rests there before it is decided again.
    pub(super) const RESCHEDULE_INTERVAL: Parameter = Parameter {
        name: "reschedule_interval",
        values: Values::Time,
        default: |settings| settings.exchange.to_string(),
    };

    /// What a policy takes that knows of free processors, where nothing is passed
    /// on for want of them.
    pub(super) const COMMIT: Parameter = Parameter {
        name: "commit",
        values: Values::Word(|| Commit::ALL.map(Commit::name).to_vec()),
        default: |settings| settings.commit.name().to_owned(),
    };

    /// What every policy takes: it chooses, whatever brings jobs and processors
    /// together.
    const MATCHMAKING: Parameter = Parameter {
        name: "matchmaking",
        values: Values::Word(|| MatchmakingKind::ALL.map(MatchmakingKind::name).to_vec()),
        default: |settings| settings.matchmaking.name().to_owned(),
    };

    /// How jobs and processors are brought together under the policy in force. A bound
    /// is one of routing.
    pub fn matchmaking(&self) -> MatchmakingKind {
        match self.policy.placement() {
            Some(_) => MatchmakingKind::CoAllocate,
            None if self.policy.entry().is_bound => MatchmakingKind::Route,
            None => Self::MATCHMAKING.of(self).parse().expect("a matchmaking"),
        }
    }

    /// The same under this policy.
    pub fn matchmaking_under(&self, policy: &PolicySpec) -> MatchmakingKind {
        let mut under = self.clone();
        under.policy = policy.clone();
        under.matchmaking()
    }

    /// Forwards a job may make under the policy in force.
    pub fn hops(&self) -> u32 {
        match self.policy.entry().wanders() {
            true => Self::TTL.of(self).parse().expect("a whole number"),
            false => self.max_hops,
        }
    }

    /// How long a job rests that has come back where it entered, before it is
    /// decided again; `None` where it stays there.
    pub fn reschedule_interval(&self) -> Option<SimDuration> {
        let again = Self::TTL_END.of(self) == "reschedule";
        let interval = Self::RESCHEDULE_INTERVAL.of(self);
        let interval = || SimDuration::parse(&interval).expect("a time");
        (self.policy.entry().wanders() && again).then(interval)
    }

    /// Whether jobs wait here until there is room for them, under this policy.
    pub fn commits_late(&self, policy: &PolicySpec) -> bool {
        let given = policy.given.get(Self::COMMIT.name);
        let commit = given.map_or(self.commit.name(), String::as_str);
        policy.entry().can_commit_late() && commit == Commit::Late.name()
    }
}
