//! What participants say to each other: an enum for each direction of a
//! conversation, so that nobody can be told what is not for him.

use super::ledger::Arrival;
use super::letter::Message;
use crate::event::{MessageKind, Party};
use crate::ids::{ClusterId, DomainId, JobId};
use crate::job::{Entry, JobSpec};
use crate::load::LoadSample;
use crate::message::{JobEnd, News};
use crate::session::Push;

/// A client to the broker or LRMS where its job enters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submit {
    /// Where.
    pub entry: Entry,
    /// The job.
    pub spec: JobSpec,
    /// Its idempotency key.
    pub key: String,
}

/// A broker to an LRMS of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToLrms {
    /// A job.
    Dispatch(Box<Arrival>),
    /// A request to remove a job.
    Cancel(JobId),
    /// Whether the LRMS has this job, from an earlier life of the broker.
    /// Delivered means yes.
    Locate(JobId),
}

/// An LRMS to its broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToBroker {
    /// What has become of a job.
    News(News),
    /// Its load.
    Info(Vec<LoadSample>),
}

/// A broker to a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToPeer {
    /// A job.
    Forward(Box<Arrival>),
    /// What has become of a job.
    News(News),
    /// The load of the sender's clusters: all of it, or in a session, where it
    /// has a number above 0, only what has moved.
    Info(Push),
    /// A request to remove a job.
    Cancel(JobId),
    /// Whether the peer has this job, from an earlier life of the sender.
    /// Delivered means yes.
    Locate(JobId),
}

/// All that a broker sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromBroker {
    /// To an LRMS of its own.
    Lrms(ClusterId, ToLrms),
    /// To a peer.
    Peer(DomainId, ToPeer),
    /// To the client that brought a job: its end.
    Client(JobEnd),
}

/// All that an LRMS sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromLrms {
    /// To the broker that it reports to, or that brought a job.
    Broker(DomainId, ToBroker),
    /// To the client that brought a job: its end.
    Client(JobEnd),
}

impl Message for Submit {
    fn to(&self) -> Party {
        match self.entry {
            Entry::Domain(domain) => Party::Broker(domain),
            Entry::Cluster(cluster) => Party::Lrms(cluster),
        }
    }

    fn kind(&self) -> Option<MessageKind> {
        Some(MessageKind::Submit)
    }
}

impl Message for FromBroker {
    fn to(&self) -> Party {
        match self {
            FromBroker::Lrms(cluster, _) => Party::Lrms(*cluster),
            FromBroker::Peer(domain, _) => Party::Broker(*domain),
            FromBroker::Client(_) => Party::Client,
        }
    }

    fn kind(&self) -> Option<MessageKind> {
        match self {
            FromBroker::Lrms(_, ToLrms::Dispatch(_)) => Some(MessageKind::Dispatch),
            FromBroker::Lrms(_, ToLrms::Cancel(_) | ToLrms::Locate(_))
            | FromBroker::Peer(_, ToPeer::Cancel(_) | ToPeer::Locate(_)) => None,
            FromBroker::Peer(_, ToPeer::Forward(_)) => Some(MessageKind::Forward),
            FromBroker::Peer(_, ToPeer::News(news)) => Some(news.kind()),
            FromBroker::Peer(_, ToPeer::Info(_)) => Some(MessageKind::Info),
            FromBroker::Client(_) => Some(MessageKind::Notify),
        }
    }

    fn carries_data(&self) -> bool {
        matches!(self, FromBroker::Peer(_, ToPeer::Forward(job)) if job.spec.data_kib > 0)
    }
}

impl Message for FromLrms {
    fn to(&self) -> Party {
        match self {
            FromLrms::Broker(domain, _) => Party::Broker(*domain),
            FromLrms::Client(_) => Party::Client,
        }
    }

    fn kind(&self) -> Option<MessageKind> {
        Some(match self {
            FromLrms::Broker(_, ToBroker::News(news)) => news.kind(),
            FromLrms::Broker(_, ToBroker::Info(_)) => MessageKind::Info,
            FromLrms::Client(_) => MessageKind::Notify,
        })
    }
}
