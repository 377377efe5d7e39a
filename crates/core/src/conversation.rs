//! What participants say to each other: an enum for each direction of a
//! conversation, so that nobody can be told what is not for him.
//!
//! `J` is how a job goes along: as a whole [`Arrival`] where it crosses a wire,
//! or as its number and way ([`Passed`]) where all that is known of it is at
//! hand. `I` is what is told of load; a [`Broker`](crate::broker::Broker) and an
//! [`Lrms`](crate::agent::Lrms) by themselves tell nothing of it.

mod claim;

pub use claim::{ClaimAnswer, ClaimShare, ClaimStep};

use crate::envelope::Message;
use crate::event::{MessageKind, Party};
use crate::ids::{ClusterId, DomainId, JobId};
use crate::job::{Entry, JobSpec};
use crate::load::LoadSample;
use crate::message::{JobEnd, News, Route, Target};
use crate::reservation::ReservationUse;
use crate::session::Push;
use crate::time::{SimDuration, SimTime};
use std::convert::Infallible;
use std::sync::Arc;

/// All that a client sends: to the broker or LRMS where jobs of it enter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromClient {
    /// Where.
    pub to: Entry,
    /// What.
    pub said: ToEntry,
}

/// A client to whoever takes its jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToEntry {
    /// A job.
    Submit(Box<Arrival>),
    /// A request to remove a job.
    Cancel(JobId),
    /// How a job stands, asked of somebody who does not publish ends.
    Query(JobId),
    /// The ends of jobs that entered there, from a position on.
    Ends {
        /// The position.
        after: u64,
        /// How long the answer may wait for an end, on the wall.
        wait: SimDuration,
    },
}

/// A job on its way into an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Arrival {
    /// The idempotency key; a submission without one is never a repetition.
    pub key: Option<String>,
    /// The job's name in the run; `None` lets the machine give one.
    pub id: Option<JobId>,
    /// The job; its `id` counts only together with `id`.
    pub spec: JobSpec,
    /// The way it has come from a broker; `None` from a client.
    pub route: Option<Route>,
    /// When it was meant to arrive, if the sender says so.
    pub meant: Option<SimTime>,
    /// Where news of its end are to be sent, if not to the configured place.
    pub notify: Option<Arc<str>>,
    /// What whoever submitted it calls it: its name in a description of
    /// another system, cut to 200 characters. By it a job is found
    /// again that came through somebody else's broker.
    pub tag: Option<Arc<str>>,
    /// Under whose name it is to run here, if its sender's identity is mapped.
    pub identity: Option<Arc<str>>,
    /// The advance reservation in which it is to run, at an LRMS.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub reservation: Option<Box<ReservationUse>>,
    /// Its sender looks for it: it is taken only if it is here under its key, or
    /// is found further on by a broker that was restarted.
    pub sought: bool,
}

impl Arrival {
    /// A job from outside that is told nothing else of: no key, name or tag.
    pub fn of(spec: JobSpec) -> Self {
        Arrival {
            key: None,
            id: None,
            spec,
            route: None,
            meant: None,
            notify: None,
            tag: None,
            identity: None,
            reservation: None,
            sought: false,
        }
    }

    /// Who hands it over.
    pub fn from(&self) -> Party {
        let broker = self.route.and_then(|route| route.from);
        broker.map_or(Party::Client, Party::Broker)
    }

    /// Forwards so far.
    pub fn hop(&self) -> u32 {
        self.route.map_or(0, |route| route.hop)
    }
}

/// A job that a broker passes on, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The job.
    pub job: JobId,
    /// Its way, up to the receiver.
    pub route: Route,
    /// Whether its data takes time to get there.
    pub has_data: bool,
}

/// What a [`Broker`](crate::broker::Broker) sends.
pub type BrokerSends = FromBroker<Passed, Infallible>;

/// What an [`Lrms`](crate::agent::Lrms) sends.
pub type LrmsSends = FromLrms<Infallible>;

/// A broker to an LRMS of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToLrms<J = Box<Arrival>> {
    /// A job. Of one that is [sought](Arrival::sought) it is asked whether the LRMS
    /// has it, from an earlier life of the broker: delivered means yes.
    Dispatch(J),
    /// A request to remove a job.
    Cancel(JobId),
    /// About processors for a part of a job that several clusters run together.
    Claim(Asked, ClaimStep<J>),
}

/// An LRMS to its broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToBroker<I = Vec<LoadSample>> {
    /// What has become of a job.
    News(News),
    /// About processors for a part of a job.
    Claim(Asked, ClaimAnswer),
    /// Its load.
    Info(I),
}

/// A broker to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ToPeer<J = Box<Arrival>, I = Push> {
    /// A job. Of one that is [sought](Arrival::sought) it is asked whether the peer
    /// has it, from an earlier life of one of the two: delivered means yes.
    Forward(J),
    /// What has become of a job.
    News(News),
    /// The load of the sender's clusters: all of it, or in a session, where it
    /// has a number above 0, only what has moved.
    Info(I),
    /// A request to remove a job.
    Cancel(JobId),
    /// The sender is drained: it takes no new jobs before this instant.
    Drain(SimTime),
    /// The sender asks for the processors that a job needs: in a message that is meant
    /// to arrive at this instant.
    Request(J, SimTime),
    /// How jobs and processors come together.
    Deal(Deal),
}

/// A request for the processors of a job: a broker that has given one up may ask the same
/// neighbour or LRMS again, and what is said of the first must not be taken for the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Asked {
    /// The job.
    pub job: JobId,
    /// When the request was meant to arrive.
    pub at: SimTime,
}

/// What brokers say to bring jobs and processors together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Deal {
    /// The sender has no processors for this request, and will have none.
    Reject(Asked),
    /// The processors of this cluster that were asked for are the receiver's, until it
    /// releases them.
    Delegate {
        /// What they were asked for by.
        asked: Asked,
        /// Where they are.
        cluster: ClusterId,
        /// Until then at most.
        until: Option<SimTime>,
    },
    /// The sender needs no processors for what it has asked for, or no more.
    Release(Asked),
    /// The sender has room.
    Room {
        /// For a job of so many processors.
        processors: u32,
        /// After so many jobs of the receiver's have come there in all.
        jobs: u32,
    },
}

/// All that a broker sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromBroker<J = Box<Arrival>, I = Push> {
    /// To an LRMS of its own.
    Lrms(ClusterId, ToLrms<J>),
    /// To a peer.
    Peer(DomainId, ToPeer<J, I>),
    /// To the client that brought a job: its end.
    Client(JobEnd),
}

/// All that an LRMS sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromLrms<I = Vec<LoadSample>> {
    /// To the broker that it reports to, or that brought a job.
    Broker(DomainId, ToBroker<I>),
    /// To the client that brought a job: its end.
    Client(JobEnd),
}

/// What happens between the completions and the cycles of one instant, in this
/// order (design 5). Where nothing fails there are neither faults nor fates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// A service stops.
    Crash,
    /// A service is there again.
    Repair,
    /// Jobs are removed.
    Cancellation,
    /// Jobs arrive.
    Arrival,
    /// Jobs come back.
    Refusal,
    /// Ends of jobs become known.
    Notice,
    /// Processors are asked for, delegated and released.
    Lease,
    /// Senders learn what has become of their messages.
    Fate,
    /// Information is received.
    Information,
}

/// The place in an instant: the order, the receiver's domain and cluster, and the
/// job, or for information, which is about no job, its sender.
type Place = (Order, u16, u16, u32);

impl Entry {
    /// The place of what a client says here about a job.
    #[inline]
    pub fn place(self, order: Order, job: JobId) -> Place {
        match self {
            Entry::Domain(domain) => (order, domain.0, 0, job.0),
            Entry::Cluster(cluster) => (order, 0, cluster.0 + 1, job.0),
        }
    }
}

impl<J, I> ToPeer<J, I> {
    /// Its place, from this broker to that one; `job` names a job.
    #[inline]
    fn place(&self, from: DomainId, to: DomainId, job: impl Fn(&J) -> JobId) -> Place {
        match self {
            ToPeer::Forward(passed) => (Order::Arrival, to.0, 0, job(passed).0),
            ToPeer::Cancel(job) => (Order::Cancellation, to.0, 0, job.0),
            ToPeer::News(news) => (news.order(), to.0, 0, news.job().0),
            ToPeer::Info(_) => (Order::Information, to.0, 1, u32::from(from.0)),
            ToPeer::Drain(_) => (Order::Information, to.0, 2, u32::from(from.0)),
            ToPeer::Request(passed, _) => (Order::Lease, to.0, from.0, job(passed).0),
            ToPeer::Deal(deal) => (Order::Lease, to.0, from.0, deal.job().0),
        }
    }

    /// The same with its job as `job` makes it, or nothing if that makes nothing.
    #[inline]
    pub fn with_job<K, L: From<I>>(self, job: impl FnOnce(J) -> Option<K>) -> Option<ToPeer<K, L>> {
        Some(match self {
            ToPeer::Forward(passed) => ToPeer::Forward(job(passed)?),
            ToPeer::Cancel(job) => ToPeer::Cancel(job),
            ToPeer::News(news) => ToPeer::News(news),
            ToPeer::Info(info) => ToPeer::Info(info.into()),
            ToPeer::Drain(until) => ToPeer::Drain(until),
            ToPeer::Request(passed, at) => ToPeer::Request(job(passed)?, at),
            ToPeer::Deal(deal) => ToPeer::Deal(deal),
        })
    }
}

impl Deal {
    /// The job; 0 for what is about none.
    fn job(self) -> JobId {
        match self {
            Deal::Reject(asked) | Deal::Release(asked) | Deal::Delegate { asked, .. } => asked.job,
            Deal::Room { .. } => JobId(0),
        }
    }
}

/// A broker by itself tells nothing of load.
impl From<Infallible> for Push {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl<J, I> FromBroker<J, I> {
    /// Its place, from this broker; `job` names a job.
    #[inline]
    pub fn place(&self, from: DomainId, job: impl Fn(&J) -> JobId) -> Place {
        match self {
            FromBroker::Lrms(to, ToLrms::Dispatch(passed)) => {
                (Order::Arrival, 0, to.0 + 1, job(passed).0)
            }
            FromBroker::Lrms(to, ToLrms::Cancel(job)) => (Order::Cancellation, 0, to.0 + 1, job.0),
            FromBroker::Lrms(to, ToLrms::Claim(asked, step)) => {
                let order = match step {
                    ClaimStep::Hold { .. } | ClaimStep::Reserve { .. } => Order::Arrival,
                    ClaimStep::Begin { .. } | ClaimStep::Release => Order::Lease,
                };
                (order, 0, to.0 + 1, asked.job.0)
            }
            FromBroker::Peer(to, said) => said.place(from, *to, job),
            FromBroker::Client(end) => (Order::Notice, 0, 0, end.job.0),
        }
    }

    /// A job on its way to this target.
    pub fn brings(target: Target, job: J) -> Self {
        match target {
            Target::Cluster(to) => FromBroker::Lrms(to, ToLrms::Dispatch(job)),
            Target::Peer(to) => FromBroker::Peer(to, ToPeer::Forward(job)),
        }
    }

    /// The LRMS or the peer that it goes to.
    pub fn target(&self) -> Option<Target> {
        match self {
            FromBroker::Lrms(cluster, _) => Some(Target::Cluster(*cluster)),
            FromBroker::Peer(domain, _) => Some(Target::Peer(*domain)),
            FromBroker::Client(_) => None,
        }
    }

    /// A request to this target to remove a job.
    pub fn removes(target: Target, job: JobId) -> Self {
        match target {
            Target::Cluster(to) => FromBroker::Lrms(to, ToLrms::Cancel(job)),
            Target::Peer(to) => FromBroker::Peer(to, ToPeer::Cancel(job)),
        }
    }
}

impl<I> FromLrms<I> {
    /// Its place, from this LRMS.
    #[inline]
    pub fn place(&self, from: ClusterId) -> Place {
        match self {
            FromLrms::Broker(to, ToBroker::News(news)) => (news.order(), to.0, 0, news.job().0),
            FromLrms::Broker(to, ToBroker::Claim(asked, _)) => {
                (Order::Lease, to.0, from.0 + 1, asked.job.0)
            }
            FromLrms::Broker(to, ToBroker::Info(_)) => {
                (Order::Information, to.0, 0, u32::from(from.0))
            }
            FromLrms::Client(end) => (Order::Notice, 0, 0, end.job.0),
        }
    }
}

impl Message for FromClient {
    fn to(&self) -> Party {
        self.to.into()
    }

    fn kind(&self) -> Option<MessageKind> {
        matches!(self.said, ToEntry::Submit(_)).then_some(MessageKind::Submit)
    }
}

impl News {
    /// When in an instant it takes effect.
    #[inline]
    fn order(self) -> Order {
        match self {
            News::Ended(_) => Order::Notice,
            News::Refused { .. } => Order::Refusal,
        }
    }
}

impl Message for FromBroker {
    fn to(&self) -> Party {
        self.target().map_or(Party::Client, Party::from)
    }

    fn kind(&self) -> Option<MessageKind> {
        match self {
            FromBroker::Lrms(_, ToLrms::Dispatch(job)) => {
                Some(MessageKind::Dispatch).filter(|_| !job.sought)
            }
            FromBroker::Peer(_, ToPeer::Forward(job)) => {
                Some(MessageKind::Forward).filter(|_| !job.sought)
            }
            // It is by this that the job gets where it is dispatched to.
            FromBroker::Lrms(_, ToLrms::Claim(_, ClaimStep::Begin { leads: true, .. })) => {
                Some(MessageKind::Dispatch)
            }
            FromBroker::Lrms(_, ToLrms::Cancel(_) | ToLrms::Claim(..))
            | FromBroker::Peer(
                _,
                ToPeer::Cancel(_) | ToPeer::Drain(_) | ToPeer::Request(..) | ToPeer::Deal(_),
            ) => None,
            FromBroker::Peer(_, ToPeer::News(news)) => Some(news.kind()),
            FromBroker::Peer(_, ToPeer::Info(_)) => Some(MessageKind::Info),
            FromBroker::Client(_) => Some(MessageKind::Notify),
        }
    }

    fn is_question(&self) -> bool {
        match self {
            FromBroker::Lrms(_, ToLrms::Dispatch(job))
            | FromBroker::Peer(_, ToPeer::Forward(job)) => job.sought,
            _ => false,
        }
    }

    fn data_of(&self) -> Option<JobId> {
        match self {
            FromBroker::Peer(_, ToPeer::Forward(job)) if job.spec.data_kib > 0 && !job.sought => {
                job.id
            }
            _ => None,
        }
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
            FromLrms::Broker(_, ToBroker::Claim(..)) => return None,
            FromLrms::Broker(_, ToBroker::Info(_)) => MessageKind::Info,
            FromLrms::Client(_) => MessageKind::Notify,
        })
    }
}
