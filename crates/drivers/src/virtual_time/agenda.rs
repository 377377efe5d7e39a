//! Messages under way, in the order in which they take effect.

use gridrig_core::agent::{BrokerSends, FromBroker, FromLrms, LrmsSends, ToBroker, ToLrms, ToPeer};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::Entry;
use gridrig_core::load::LoadSample;
use gridrig_core::message::{News, Target};
use gridrig_core::time::SimTime;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// A message on its way to a broker or an LRMS.
#[derive(Clone, Debug)]
pub(super) enum Message {
    /// A job enters the grid.
    Submit { to: Entry, job: JobId },
    /// A client wants a job removed.
    Cancel { to: Entry, job: JobId },
    /// From this broker.
    FromBroker(DomainId, BrokerSends),
    /// From this LRMS.
    FromLrms(ClusterId, LrmsSends),
    /// Resource information, which several brokers share.
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
        let (kind, (domain, cluster), index) = match self {
            Message::Submit { to, job } => (Kind::Arrival, entry(*to), job.0),
            Message::Cancel { to, job } => (Kind::Cancellation, entry(*to), job.0),
            Message::FromBroker(_, FromBroker::Lrms(cluster, said)) => {
                let to = (0, cluster.0 + 1);
                match said {
                    ToLrms::Dispatch(passed) => (Kind::Arrival, to, passed.job.0),
                    ToLrms::Cancel(job) | ToLrms::Locate(job) => (Kind::Cancellation, to, job.0),
                }
            }
            Message::FromBroker(_, FromBroker::Peer(domain, said)) => {
                let to = (domain.0, 0);
                match said {
                    ToPeer::Forward(passed) => (Kind::Arrival, to, passed.job.0),
                    ToPeer::Cancel(job) | ToPeer::Locate(job) => (Kind::Cancellation, to, job.0),
                    ToPeer::News(news) => (kind_of(*news), to, news.job().0),
                    ToPeer::Info(never) => match *never {},
                }
            }
            Message::FromLrms(_, FromLrms::Broker(domain, said)) => match said {
                ToBroker::News(news) => (kind_of(*news), (domain.0, 0), news.job().0),
                ToBroker::Info(never) => match *never {},
            },
            Message::FromBroker(_, FromBroker::Client(end))
            | Message::FromLrms(_, FromLrms::Client(end)) => (Kind::Notice, (0, 0), end.job.0),
            Message::Info { to, from, .. } => {
                let (peer, sender) = match from {
                    Target::Cluster(cluster) => (0, u32::from(cluster.0)),
                    Target::Peer(domain) => (1, u32::from(domain.0)),
                };
                (Kind::Information, (to.0, peer), sender)
            }
        };
        (at, kind, domain, cluster, index)
    }
}

fn entry(to: Entry) -> (u16, u16) {
    match to {
        Entry::Domain(domain) => (domain.0, 0),
        Entry::Cluster(cluster) => (0, cluster.0 + 1),
    }
}

fn kind_of(news: News) -> Kind {
    match news {
        News::Ended(_) => Kind::Notice,
        News::Refused { .. } => Kind::Refusal,
    }
}

/// A priority queue over the key of design 5, never over insertion order: two
/// machines' messages at one instant do not depend on who spoke first.
#[derive(Default)]
pub(super) struct Agenda {
    /// With the place of the message in `slots`: what is sorted stays small.
    heap: BinaryHeap<Reverse<(Key, u32)>>,
    slots: Vec<Option<Message>>,
    free: Vec<u32>,
    /// Those that are about a job; information alone keeps no run going.
    about_jobs: usize,
}

impl Agenda {
    pub fn push(&mut self, at: SimTime, message: Message) {
        let key = message.key(at);
        self.about_jobs += usize::from(key.1 != Kind::Information);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.slots[slot as usize] = Some(message);
        self.heap.push(Reverse((key, slot)));
    }

    pub fn next_time(&self) -> Option<SimTime> {
        self.heap.peek().map(|Reverse((key, _))| key.0)
    }

    /// The next message that takes effect at this instant.
    pub fn pop_at(&mut self, now: SimTime) -> Option<Message> {
        if self.next_time()? > now {
            return None;
        }
        let Reverse((key, slot)) = self.heap.pop()?;
        self.about_jobs -= usize::from(key.1 != Kind::Information);
        self.free.push(slot);
        self.slots[slot as usize].take()
    }

    pub fn has_job_messages(&self) -> bool {
        self.about_jobs > 0
    }
}
