//! How a broker comes by what it knows, and when it acts on it.

use crate::agent::ClaimShare;
use crate::ids::ClusterId;
use crate::job::JobSpec;
use crate::time::{Decimal, SimDuration, transfer_time};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use strum::{EnumString, IntoStaticStr};

/// Whether a broker counts what it has sent since its last information.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OwnDispatch {
    /// It believes the last information, whatever it has done since.
    #[default]
    Ignored,
    /// It subtracts what it has sent itself from its last view: each job that
    /// arrived there after the sample was taken.
    Debited,
}

/// Where a broker's knowledge of its own clusters comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LocalInfo {
    /// From the exchange, like that of its peers.
    #[default]
    Exchange,
    /// Own clusters are read live at each cycle.
    Fresh,
}

/// When a job leaves a broker's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Commit {
    /// In the cycle after its arrival, wherever it may have to wait.
    #[default]
    Early,
    /// When whoever the policy chooses has as many processors free as it wants.
    Late,
}

impl Commit {
    /// All of them.
    pub const ALL: [Commit; 2] = [Commit::Early, Commit::Late];

    /// The name used in scenarios and results.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What those do that stand behind a job that has no room yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Blocking {
    /// They wait with it.
    #[default]
    Head,
    /// They may pass it.
    Skip,
}

/// How jobs and processors are brought together, beside the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum MatchmakingKind {
    /// Each broker sends its jobs to the candidate that the policy chooses.
    #[default]
    Route,
    /// Each domain for itself: jobs stay where they enter.
    Independent,
    /// One queue at the central domain, which sends a job to a domain that has room
    /// by what it was last told.
    Push,
    /// One queue at the central domain, of which domains ask for jobs when they have
    /// room.
    Pull,
    /// Jobs stay where they enter, and their job managers ask one domain after the other
    /// for processors, which serves users by their past usage.
    Flock,
    /// Jobs stay where they enter, and processors are delegated to them over the
    /// links of the tree (DMM).
    Delegate,
    /// One broker places the components of a job on several clusters of its own, which
    /// run them together (KOALA).
    CoAllocate,
}

impl MatchmakingKind {
    /// All that every policy may be under: [`CoAllocate`](Self::CoAllocate) is a matter of
    /// the policy.
    pub const ALL: [MatchmakingKind; 6] = [
        MatchmakingKind::Route,
        MatchmakingKind::Independent,
        MatchmakingKind::Push,
        MatchmakingKind::Pull,
        MatchmakingKind::Flock,
        MatchmakingKind::Delegate,
    ];

    /// The name used in scenarios and results.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether brokers make deals for it, which one that has forgotten them cannot keep.
    pub fn makes_deals(self) -> bool {
        self == MatchmakingKind::Pull || self.is_lending()
    }

    /// Whether processors are delegated.
    pub fn is_lending(self) -> bool {
        matches!(self, MatchmakingKind::Flock | MatchmakingKind::Delegate)
    }

    /// Whether all jobs wait at one domain.
    pub fn is_central(self) -> bool {
        matches!(self, MatchmakingKind::Push | MatchmakingKind::Pull)
    }
}

/// How components are placed. Idle processors are compared once for a job but under
/// [`WorstFit`](Self::WorstFit) and [`CloseToFiles`](Self::CloseToFiles); of equal clusters the first of the scenario is taken, and of
/// equal components the first of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The largest component first, each where the most processors are idle still.
    WorstFit,
    /// The largest component first, each where the least has to be brought of what it reads,
    /// of several such where the most processors are idle still.
    CloseToFiles,
    /// The largest component first, each on the first cluster that has room, by idle
    /// processors (KOALA, Figure 1).
    ClusterMinimization,
    /// As one component that is divided: each cluster in turn, by idle processors, takes
    /// what it has (KOALA, Figure 3).
    FlexibleClusterMinimization,
    /// By advance reservations that start within a short time of one another (JSS 3.2).
    Reservations,
    /// Not at all: the whole job is reserved for at several clusters, and one reservation kept.
    KeptReservation,
}

impl Placement {
    /// Whether several clusters run a job.
    pub fn is_together(self) -> bool {
        self != Placement::KeptReservation
    }

    /// Whether clusters are asked to reserve.
    pub fn reserves(self) -> bool {
        matches!(self, Placement::Reservations | Placement::KeptReservation)
    }
}

/// What it takes that several clusters run a job together. `Default`: nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoAllocation {
    /// Time between placement and start, by the number of components, from 1; of more
    /// than are given that of the last. It is the overhead of the middleware (KOALA 6.1).
    pub startup: Vec<SimDuration>,
    /// By how much of itself that grows for each other job that is placed and has not begun.
    pub startup_contention: Decimal,
    /// What run times are multiplied by, by the number of clusters, likewise.
    pub wide_area: Vec<Decimal>,
    /// How long some programs run in their place, by their number, the processors of the job
    /// and the number of clusters, from 1 (KOALA, Figure 5); of more that of the last.
    pub run_times: BTreeMap<NonZeroU32, BTreeMap<NonZeroU32, Vec<SimDuration>>>,
    /// How fast a cluster gets what parts of jobs read, in MiB/s; `None` is at once.
    pub bandwidth: Option<Decimal>,
    /// Processors that are held for a part are given back if nothing more is heard.
    pub claim_timeout: SimDuration,
}

impl Default for CoAllocation {
    fn default() -> Self {
        CoAllocation {
            startup: Vec::new(),
            startup_contention: Decimal::ZERO,
            wide_area: Vec::new(),
            run_times: BTreeMap::new(),
            bandwidth: None,
            claim_timeout: SimDuration::from_secs(60),
        }
    }
}

/// That of so many, of a list from 1; of more than are given that of the last.
fn of_so_many<T: Copy>(list: &[T], count: usize) -> Option<T> {
    list.get(count.saturating_sub(1)).or(list.last()).copied()
}

impl CoAllocation {
    /// Time between placement and start of a job of so many components.
    pub fn startup(&self, components: usize) -> SimDuration {
        of_so_many(&self.startup, components).unwrap_or_default()
    }

    /// The same while so many others are being started.
    pub fn startup_among(&self, components: usize, others: usize) -> SimDuration {
        let alone = self.startup(components);
        let more = self.startup_contention.multiply(alone.as_nanos());
        alone + SimDuration::from_nanos(more.saturating_mul(others as u64))
    }

    /// How long so many MiB are on their way to a cluster.
    pub fn transfer(&self, mib: u64) -> SimDuration {
        transfer_time(mib.saturating_mul(1024), self.bandwidth)
    }

    /// How long it takes until all these parts of a job have what they read. Each cluster gets
    /// its own beside the others.
    pub fn staging(
        &self,
        job: &JobSpec,
        parts: impl Iterator<Item = (ClusterId, ClaimShare)>,
    ) -> SimDuration {
        let all = parts.map(|(cluster, share)| share.missing_mib(job, cluster));
        self.transfer(all.max().unwrap_or(0))
    }

    /// The same with no start earlier than so long after all clusters are told of it.
    pub fn not_before(mut self, least: SimDuration) -> Self {
        for it in &mut self.startup {
            *it = least.max(*it);
        }
        if self.startup.is_empty() {
            self.startup.push(least);
        }
        self
    }

    /// How long a job of this program and size, whose run time on one cluster is known, runs
    /// at speed 1.0 on so many.
    pub fn length(
        &self,
        (executable, processors): (Option<NonZeroU32>, u32),
        run_time: SimDuration,
        clusters: usize,
    ) -> SimDuration {
        let of_program = executable.and_then(|number| self.run_times.get(&number));
        let of_size = of_program.zip(NonZeroU32::new(processors));
        let row = of_size.and_then(|(sizes, size)| sizes.get(&size));
        let known = row.and_then(|row| of_so_many(row, clusters));
        known.unwrap_or_else(|| {
            let factor = of_so_many(&self.wide_area, clusters).unwrap_or(Decimal::ONE);
            SimDuration::from_nanos(factor.multiply(run_time.as_nanos()))
        })
    }
}
