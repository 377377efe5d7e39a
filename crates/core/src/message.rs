//! What machines tell each other, besides the jobs themselves.

use crate::event::{MessageKind, Party};
use crate::ids::{ClusterId, DomainId, JobId};
use crate::job::Reason;
use crate::time::SimTime;

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[strum(serialize_all = "kebab-case")]
pub enum EndState {
    /// It ran to its end.
    Completed,
    /// It was turned away.
    Rejected(Reason),
    /// It was removed on request.
    Cancelled,
    /// It was lost.
    Failed(Reason),
}

impl EndState {
    /// Told in the place of an end: touch with the job is lost. Its end may
    /// still come.
    pub const LOST: EndState = EndState::Failed(Reason::Lost);

    /// Whether this is no end, but that touch with the job is lost.
    pub fn is_lost(self) -> bool {
        self == EndState::LOST
    }

    /// The name used in files and interfaces.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Why, where there is a reason.
    pub const fn reason(self) -> Option<Reason> {
        match self {
            EndState::Rejected(reason) | EndState::Failed(reason) => Some(reason),
            EndState::Completed | EndState::Cancelled => None,
        }
    }
}

/// The news of a job's end, on its way back along the brokers it came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JobEnd {
    /// The job.
    pub job: JobId,
    /// How it ended.
    pub state: EndState,
    /// Where it ran.
    pub cluster: Option<ClusterId>,
    /// When it started.
    pub start: Option<SimTime>,
    /// When it ended.
    pub finish: Option<SimTime>,
}

impl JobEnd {
    /// The end of a job of which nobody knows that it ran.
    pub const fn without_run(job: JobId, state: EndState) -> Self {
        JobEnd {
            job,
            state,
            cluster: None,
            start: None,
            finish: None,
        }
    }
}

/// What is said of a job to whoever sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum News {
    /// It is over.
    Ended(JobEnd),
    /// It comes back: it was not taken.
    Refused {
        /// The job.
        job: JobId,
        /// Why.
        reason: Reason,
        /// Which time that the job was brought, by the
        /// [digest](crate::agent::digest) of its key then; `None` if that is not
        /// said.
        visit: Option<u64>,
    },
}

impl News {
    /// The job.
    pub const fn job(self) -> JobId {
        match self {
            News::Ended(end) => end.job,
            News::Refused { job, .. } => job,
        }
    }

    /// How results count it.
    pub const fn kind(self) -> MessageKind {
        match self {
            News::Ended(_) => MessageKind::Notify,
            News::Refused { .. } => MessageKind::Refuse,
        }
    }
}

/// The way that a job has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Route {
    /// The broker it comes from; `None` if it enters the grid here.
    pub from: Option<DomainId>,
    /// Forwards so far.
    pub hop: u32,
    /// Where it entered the grid.
    pub origin: DomainId,
    /// Whether it has wandered enough: it is kept here or refused.
    pub settled: bool,
    /// Until when the processors that it is sent to are delegated to its sender, if not for
    /// as long as it runs.
    #[cfg_attr(feature = "serde", serde(default))]
    pub until: Option<SimTime>,
}

impl Route {
    /// That of a job which enters the grid at this domain.
    pub const fn entering(origin: DomainId) -> Self {
        Route {
            from: None,
            hop: 0,
            origin,
            settled: false,
            until: None,
        }
    }
}

/// Where a broker may send a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Target {
    /// A cluster of its own.
    Cluster(ClusterId),
    /// A peer.
    Peer(DomainId),
}

impl Target {
    /// The domain, if this is a peer.
    pub const fn peer(self) -> Option<DomainId> {
        match self {
            Target::Peer(domain) => Some(domain),
            Target::Cluster(_) => None,
        }
    }
}

impl From<Target> for Party {
    fn from(target: Target) -> Party {
        match target {
            Target::Cluster(cluster) => Party::Lrms(cluster),
            Target::Peer(domain) => Party::Broker(domain),
        }
    }
}
