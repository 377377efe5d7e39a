//! Forwarding policies of a broker, one file each behind one trait.

mod best_broker_rank;
mod domains;
mod free_node;
mod full_information;
mod inter;
mod local_only;
mod queue_length;
mod random;
mod round_robin;
mod settings;
mod utilization;

pub use settings::{BrokerSettings, LocalInfo, OwnDispatch};

pub use domains::{
    Aggregate, Choice, DomainPolicy, Information, Kinds, Machine, Site, Traveller, Wanted,
};

use crate::job::JobSpec;
use crate::load::{Fraction, FreeSpace, Window};
use crate::message::Target;
use crate::time::Decimal;
use std::cmp::Ordering;

/// A candidate as the broker sees it: the last information it has received,
/// less what it has sent since if it keeps count of that.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Who.
    pub target: Target,
    /// Queued jobs (a peer: summed over its clusters), by window.
    pub queued: [Fraction; 3],
    /// Busy processors over all processors, by window.
    pub utilization: [Fraction; 3],
    /// Free processors this instant (a peer: the most that one of its
    /// clusters has).
    pub free: i64,
    /// Free processors that no queued job is waiting for, likewise.
    pub free_beyond_queue: i64,
    /// Processor-nanoseconds left to do per processor.
    pub work_per_processor: Fraction,
    /// Free memory and disk (a peer: of its clusters together), what it has been
    /// sent since not counted.
    pub space: FreeSpace,
}

impl Candidate {
    /// Queued jobs over this window.
    #[must_use]
    pub fn queued_over(&self, window: Window) -> Fraction {
        self.queued[window as usize]
    }

    /// Utilization over this window.
    #[must_use]
    pub fn utilization_over(&self, window: Window) -> Fraction {
        self.utilization[window as usize]
    }
}

/// How equally good candidates are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Tie {
    /// `tied[counter mod n]`, then counter + 1; one counter per broker, which
    /// every decision moves.
    #[default]
    Rotate,
    /// Own clusters before peers, and in turn among those.
    Local,
    /// The first in candidate order.
    First,
    /// Any, from the broker's random stream.
    Random,
}

impl Tie {
    /// All rules.
    pub const ALL: [Tie; 4] = [Tie::Rotate, Tie::Local, Tie::First, Tie::Random];

    /// The name used in scenarios and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The rule with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tie| tie.name() == name)
    }
}

/// What a policy has to know beyond what was exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InformationNeed {
    /// What was last received is all there is.
    Received,
    /// The truth about every cluster in reach, and its own decisions counted:
    /// a bound, not a policy one could deploy.
    Truth,
}

/// Orders candidates for a job.
pub trait Policy: Send + Sync {
    /// Whether the policy considers this candidate at all.
    fn admits(&self, _candidate: &Candidate) -> bool {
        true
    }

    /// `Less` when `a` is the better choice, `Equal` when they tie.
    fn compare(&self, job: &JobSpec, a: &Candidate, b: &Candidate) -> Ordering;

    /// The tie rule in force, given the configured one.
    fn tie(&self, configured: Tie) -> Tie {
        configured
    }

    /// What it must be told.
    fn need(&self) -> InformationNeed {
        InformationNeed::Received
    }
}

/// A policy as a broker uses it.
pub enum Rule {
    /// Candidates are compared one by one.
    Candidates(Box<dyn Policy>),
    /// Whole domains are weighed, cluster by cluster.
    Domains(Box<dyn DomainPolicy>),
}

impl Rule {
    /// What it must be told.
    #[must_use]
    pub fn need(&self) -> InformationNeed {
        match self {
            Rule::Candidates(policy) => policy.need(),
            Rule::Domains(_) => InformationNeed::Received,
        }
    }
}

/// The policies there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyKind {
    /// In turn.
    RoundRobin,
    /// Any.
    Random,
    /// The fewest queued jobs (30 s mean).
    QueueLength,
    /// The most free processors (instant).
    FreeNode,
    /// The smallest utilization (30 s mean).
    Utilization,
    /// The domain of the highest rank (LA Grid 4.3.4, "Inter"); its own is
    /// promoted as the broker's `origin_promotion` says.
    BestBrokerRank,
    /// The same with the origin promoted by 10 %.
    BestBrokerRank110,
    /// The same with the origin promoted by 25 %.
    BestBrokerRank125,
    /// The highest rank on aggregated information (LA Grid 4.3.4, "Aggr").
    BestBrokerRankAggr,
    /// The same with the origin promoted by 10 %.
    BestBrokerRankAggr110,
    /// The same with the origin promoted by 25 %.
    BestBrokerRankAggr125,
    /// Here if there is room, else to the peers in turn (LA Grid 4.3.4).
    InterRoundRobin,
    /// Here if there is room, else to any peer (LA Grid 4.3.4).
    InterRandom,
    /// Never a peer: the bound without a federation.
    LocalOnly,
    /// The truth at once: the bound of information.
    FullInformation,
}

impl PolicyKind {
    /// All policies, in the order of reports.
    pub const ALL: [PolicyKind; 15] = [
        PolicyKind::RoundRobin,
        PolicyKind::Random,
        PolicyKind::QueueLength,
        PolicyKind::FreeNode,
        PolicyKind::Utilization,
        PolicyKind::BestBrokerRank,
        PolicyKind::BestBrokerRank110,
        PolicyKind::BestBrokerRank125,
        PolicyKind::BestBrokerRankAggr,
        PolicyKind::BestBrokerRankAggr110,
        PolicyKind::BestBrokerRankAggr125,
        PolicyKind::InterRoundRobin,
        PolicyKind::InterRandom,
        PolicyKind::LocalOnly,
        PolicyKind::FullInformation,
    ];

    /// Where it sends a job, in a few words for those who read a result.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self {
            PolicyKind::RoundRobin => "in turn, whatever is known",
            PolicyKind::Random => "anywhere, each place as likely",
            PolicyKind::QueueLength => "where the fewest jobs wait",
            PolicyKind::FreeNode => "where the most processors are free",
            PolicyKind::Utilization => "where the smallest share of the processors is busy",
            PolicyKind::BestBrokerRank => {
                "to the domain with the most and fastest free processors (its rank)"
            }
            PolicyKind::BestBrokerRank110 => "by rank, that of the job's own domain times 1.10",
            PolicyKind::BestBrokerRank125 => "by rank, that of the job's own domain times 1.25",
            PolicyKind::BestBrokerRankAggr => {
                "by rank, each domain known in sums and ranges only (aggregated)"
            }
            PolicyKind::BestBrokerRankAggr110 => {
                "by rank of aggregated domains, that of the job's own domain times 1.10"
            }
            PolicyKind::BestBrokerRankAggr125 => {
                "by rank of aggregated domains, that of the job's own domain times 1.25"
            }
            PolicyKind::InterRoundRobin => "here if there is room, else to the peers in turn",
            PolicyKind::InterRandom => "here if there is room, else to any peer",
            PolicyKind::LocalOnly => "never to a peer (no federation)",
            PolicyKind::FullInformation => {
                "where it can start at once, else to the least work, by the truth of the instant"
            }
        }
    }

    /// The name used in scenarios and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            PolicyKind::RoundRobin => "round-robin",
            PolicyKind::Random => "random",
            PolicyKind::QueueLength => "queue-length",
            PolicyKind::FreeNode => "free-node",
            PolicyKind::Utilization => "utilization",
            PolicyKind::BestBrokerRank => "best-broker-rank",
            PolicyKind::BestBrokerRank110 => "best-broker-rank-1.10",
            PolicyKind::BestBrokerRank125 => "best-broker-rank-1.25",
            PolicyKind::BestBrokerRankAggr => "best-broker-rank-aggr",
            PolicyKind::BestBrokerRankAggr110 => "best-broker-rank-aggr-1.10",
            PolicyKind::BestBrokerRankAggr125 => "best-broker-rank-aggr-1.25",
            PolicyKind::InterRoundRobin => "inter-rr",
            PolicyKind::InterRandom => "inter-random",
            PolicyKind::LocalOnly => "local-only",
            PolicyKind::FullInformation => "full-information",
        }
    }

    /// The policy with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }

    /// Whether the policy works on information that grows stale between
    /// exchanges.
    #[must_use]
    pub const fn uses_received_information(self) -> bool {
        !matches!(
            self,
            PolicyKind::RoundRobin
                | PolicyKind::Random
                | PolicyKind::LocalOnly
                | PolicyKind::FullInformation
        )
    }

    /// Whether a job goes from broker to broker until one has room for it, at
    /// most `ttl` times.
    #[must_use]
    pub const fn wanders(self) -> bool {
        matches!(self, PolicyKind::InterRoundRobin | PolicyKind::InterRandom)
    }

    /// The policy itself.
    #[must_use]
    pub fn build(self, settings: &BrokerSettings) -> Rule {
        use best_broker_rank::BestBrokerRank;
        let candidates = |policy: Box<dyn Policy>| Rule::Candidates(policy);
        let rank = |information, promotion: &str| {
            Rule::Domains(Box::new(BestBrokerRank {
                information,
                promotion: Decimal::parse(promotion).unwrap_or(settings.origin_promotion),
                hops: settings.hops(),
            }))
        };
        let inter = |peers| {
            let ttl = settings.hops();
            Rule::Domains(Box::new(inter::Inter { peers, ttl }))
        };
        match self {
            PolicyKind::RoundRobin => candidates(Box::new(round_robin::RoundRobin)),
            PolicyKind::Random => candidates(Box::new(random::Random)),
            PolicyKind::QueueLength => candidates(Box::new(queue_length::QueueLength {
                window: settings.queue_window,
            })),
            PolicyKind::FreeNode => candidates(Box::new(free_node::FreeNode)),
            PolicyKind::Utilization => candidates(Box::new(utilization::Utilization {
                window: settings.utilization_window,
            })),
            PolicyKind::BestBrokerRank => rank(Information::Flat, AS_CONFIGURED),
            PolicyKind::BestBrokerRank110 => rank(Information::Flat, "1.10"),
            PolicyKind::BestBrokerRank125 => rank(Information::Flat, "1.25"),
            PolicyKind::BestBrokerRankAggr => rank(Information::Aggregated, AS_CONFIGURED),
            PolicyKind::BestBrokerRankAggr110 => rank(Information::Aggregated, "1.10"),
            PolicyKind::BestBrokerRankAggr125 => rank(Information::Aggregated, "1.25"),
            PolicyKind::InterRoundRobin => inter(inter::Peers::InTurn),
            PolicyKind::InterRandom => inter(inter::Peers::AtRandom),
            PolicyKind::LocalOnly => candidates(Box::new(local_only::LocalOnly)),
            PolicyKind::FullInformation => candidates(Box::new(full_information::FullInformation)),
        }
    }
}

/// No number: the promotion is that of the settings.
const AS_CONFIGURED: &str = "";
