//! Messages under way, in the order in which they take effect.

use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, Reason};
use gridrig_core::load::LoadSample;
use gridrig_core::message::{JobEnd, Route, Target};
use gridrig_core::time::SimTime;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

/// A message on its way to a broker or an LRMS.
#[derive(Clone, Debug)]
pub(super) enum Message {
    /// A request to remove a job, from outside or from the broker that sent it.
    Cancel { to: Entry, job: JobId },
    /// A job enters the grid.
    Submit { to: Entry, job: JobId },
    /// A job from a peer.
    Forward {
        to: DomainId,
        job: JobId,
        route: Route,
    },
    /// A job from the cluster's own broker.
    Dispatch { to: ClusterId, job: JobId },
    /// A job comes back.
    Refusal {
        to: DomainId,
        from: Target,
        job: JobId,
        reason: Reason,
    },
    /// News of a job's end.
    Notice { to: DomainId, end: JobEnd },
    /// Resource information.
    Info {
        to: DomainId,
        from: Target,
        samples: Arc<[LoadSample]>,
    },
}

/// The kinds of design 5 that are messages, in the order of one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Cancellation,
    Arrival,
    Refusal,
    Notice,
    Information,
}

/// (time, kind, domain, cluster, trace index), and for information, which is
/// about no job, its sender.
type Key = (SimTime, Kind, u16, u16, u32);

impl Message {
    fn key(&self, at: SimTime) -> Key {
        let entry = |to: &Entry| match to {
            Entry::Domain(domain) => (domain.0, 0),
            Entry::Cluster(cluster) => (0, cluster.0 + 1),
        };
        let (kind, (domain, cluster), index) = match self {
            Message::Cancel { to, job } => (Kind::Cancellation, entry(to), job.0),
            Message::Submit { to, job } => (Kind::Arrival, entry(to), job.0),
            Message::Forward { to, job, .. } => (Kind::Arrival, (to.0, 0), job.0),
            Message::Dispatch { to, job } => (Kind::Arrival, (0, to.0 + 1), job.0),
            Message::Refusal { to, job, .. } => (Kind::Refusal, (to.0, 0), job.0),
            Message::Notice { to, end } => (Kind::Notice, (to.0, 0), end.job.0),
            Message::Info { to, from, .. } => {
                let sender = match from {
                    Target::Cluster(cluster) => (0, u32::from(cluster.0)),
                    Target::Peer(domain) => (1, u32::from(domain.0)),
                };
                (Kind::Information, (to.0, sender.0), sender.1)
            }
        };
        (at, kind, domain, cluster, index)
    }
}

struct Scheduled {
    key: Key,
    message: Message,
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

/// A priority queue over the key of design 5, never over insertion order: two
/// machines' messages at one instant do not depend on who spoke first.
#[derive(Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<Scheduled>>,
    /// Those that are about a job; information alone keeps no run going.
    about_jobs: usize,
}

impl Agenda {
    pub fn push(&mut self, at: SimTime, message: Message) {
        let key = message.key(at);
        self.about_jobs += usize::from(key.1 != Kind::Information);
        self.heap.push(Reverse(Scheduled { key, message }));
    }

    pub fn next_time(&self) -> Option<SimTime> {
        self.heap.peek().map(|Reverse(next)| next.key.0)
    }

    /// The next message that takes effect at this instant.
    pub fn pop_at(&mut self, now: SimTime) -> Option<Message> {
        if self.next_time()? > now {
            return None;
        }
        let Reverse(next) = self.heap.pop()?;
        self.about_jobs -= usize::from(next.key.1 != Kind::Information);
        Some(next.message)
    }

    pub fn has_job_messages(&self) -> bool {
        self.about_jobs > 0
    }
}
