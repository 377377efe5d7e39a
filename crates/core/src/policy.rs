//! Forwarding policies of a broker, one file each behind one trait.

mod free_node;
mod full_information;
mod local_only;
mod queue_length;
mod random;
mod round_robin;
mod utilization;

use crate::job::JobSpec;
use crate::load::{Fraction, Window};
use crate::message::Target;
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
    pub const fn name(self) -> &'static str {
        match self {
            Tie::Rotate => "rotate",
            Tie::Local => "local",
            Tie::First => "first",
            Tie::Random => "random",
        }
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
    /// Never a peer: the bound without a federation.
    LocalOnly,
    /// The truth at once: the bound of information.
    FullInformation,
}

impl PolicyKind {
    /// All policies, in the order of reports.
    pub const ALL: [PolicyKind; 7] = [
        PolicyKind::RoundRobin,
        PolicyKind::Random,
        PolicyKind::QueueLength,
        PolicyKind::FreeNode,
        PolicyKind::Utilization,
        PolicyKind::LocalOnly,
        PolicyKind::FullInformation,
    ];

    /// The name used in scenarios and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            PolicyKind::RoundRobin => "round-robin",
            PolicyKind::Random => "random",
            PolicyKind::QueueLength => "queue-length",
            PolicyKind::FreeNode => "free-node",
            PolicyKind::Utilization => "utilization",
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
        matches!(
            self,
            PolicyKind::QueueLength | PolicyKind::FreeNode | PolicyKind::Utilization
        )
    }

    /// The policy itself. Windows are those of queue length and utilization.
    #[must_use]
    pub fn build(self, queue_window: Window, utilization_window: Window) -> Box<dyn Policy> {
        match self {
            PolicyKind::RoundRobin => Box::new(round_robin::RoundRobin),
            PolicyKind::Random => Box::new(random::Random),
            PolicyKind::QueueLength => Box::new(queue_length::QueueLength {
                window: queue_window,
            }),
            PolicyKind::FreeNode => Box::new(free_node::FreeNode),
            PolicyKind::Utilization => Box::new(utilization::Utilization {
                window: utilization_window,
            }),
            PolicyKind::LocalOnly => Box::new(local_only::LocalOnly),
            PolicyKind::FullInformation => Box::new(full_information::FullInformation),
        }
    }
}
