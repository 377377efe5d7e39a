//! What messages meet on their way under a plan of faults, for whoever watches a run.

use gridrig_core::agent::{
    ClaimStep, Deal, FromBroker, FromClient, FromLrms, Message, ToBroker, ToEntry, ToLrms, ToPeer,
    Undelivered,
};
use gridrig_core::event::Party;
use gridrig_core::ids::JobId;
use gridrig_core::message::News;
use gridrig_core::time::SimTime;

/// A step of a conversation between services, or of a client with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// A client submits a job.
    Submit,
    /// A client wants a job removed.
    ClientCancel,
    /// A client asks for a job that it may have had removed.
    ClientSearch,
    /// A client asks for ends of jobs.
    AskForEnds,
    /// A service answers that.
    Ends,
    /// A broker hands a job to an LRMS.
    Dispatch,
    /// A broker that has forgotten it asks an LRMS for a job.
    LrmsSearch,
    /// A broker wants an LRMS to remove a job.
    LrmsCancel,
    /// A broker asks an LRMS to hold processors for a part of a job.
    ClaimRequest,
    /// A broker tells an LRMS when a part begins.
    ClaimBegin,
    /// A broker lets go of a part.
    ClaimRelease,
    /// An LRMS tells whether it holds processors for a part.
    ClaimAnswer,
    /// An LRMS turns a job away.
    LrmsRefusal,
    /// An LRMS tells the end of a job.
    LrmsEnd,
    /// An LRMS tells its load.
    LrmsLoad,
    /// A broker forwards a job.
    Forward,
    /// A broker asks a peer for a job that one of them has forgotten.
    PeerSearch,
    /// A broker wants a peer to remove a job.
    PeerCancel,
    /// A broker sends a job back.
    PeerRefusal,
    /// A broker tells a peer the end of a job.
    PeerEnd,
    /// A broker tells a peer its load.
    PeerLoad,
    /// A broker tells a peer that it is drained.
    Drain,
    /// A broker asks a peer for the processors of a job.
    LeaseRequest,
    /// A broker has none for it.
    LeaseRejection,
    /// A broker delegates them.
    Delegation,
    /// A broker releases them.
    LeaseRelease,
    /// A broker tells a peer for how many processors it wants a job.
    Room,
    /// A broker asks a peer for a session.
    OpenSession,
    /// A broker asks whether a peer lives.
    Heartbeat,
    /// A broker asks a peer for its load.
    AskForLoad,
}

impl Step {
    /// Whether it is information about load.
    pub fn is_information(self) -> bool {
        matches!(self, Step::LrmsLoad | Step::PeerLoad | Step::AskForLoad)
    }
}

/// What a message met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// It leaves, and will arrive later than it was to.
    Delay,
    /// It leaves, and will be overtaken.
    Detour,
    /// Its sender stopped while it was under way.
    SenderStopped,
    /// Its receiver has stopped.
    ReceiverStopped,
    /// There is no way to the receiver.
    NoWay,
    /// It is lost on the way.
    Loss,
    /// It arrives, and this answer to it is lost.
    LostAnswer(Result<(), Undelivered>),
    /// It arrives, and so does this answer.
    Nothing(Result<(), Undelivered>),
}

impl Met {
    /// What its receiver answers, whether or not the answer gets back.
    pub fn answer(self) -> Option<Result<(), Undelivered>> {
        match self {
            Met::LostAnswer(answer) | Met::Nothing(answer) => Some(answer),
            _ => None,
        }
    }
}

/// A message meets something, or arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// When.
    pub at: SimTime,
    /// Whose message it is.
    pub from: Party,
    /// Whom it is for.
    pub to: Party,
    /// What it is.
    pub step: Step,
    /// Which job it is about, if it is about one.
    pub job: Option<JobId>,
    /// What it meets.
    pub met: Met,
}

/// A message that says which step it is, and of which job.
pub(super) trait Says: Message {
    fn step(&self) -> (Step, Option<JobId>);
}

impl Says for FromClient {
    fn step(&self) -> (Step, Option<JobId>) {
        match &self.said {
            ToEntry::Submit(job) => match job.sought {
                true => (Step::ClientSearch, Some(job.spec.id)),
                false => (Step::Submit, Some(job.spec.id)),
            },
            ToEntry::Cancel(job) => (Step::ClientCancel, Some(*job)),
            // Of services of ours nothing else is asked.
            ToEntry::Query(_) | ToEntry::Ends { .. } => (Step::AskForEnds, None),
        }
    }
}

impl Says for FromBroker {
    fn step(&self) -> (Step, Option<JobId>) {
        match self {
            FromBroker::Lrms(_, ToLrms::Dispatch(job)) => match job.sought {
                true => (Step::LrmsSearch, Some(job.spec.id)),
                false => (Step::Dispatch, Some(job.spec.id)),
            },
            FromBroker::Lrms(_, ToLrms::Cancel(job)) => (Step::LrmsCancel, Some(*job)),
            FromBroker::Lrms(_, ToLrms::Claim(asked, step)) => {
                let step = match step {
                    ClaimStep::Hold { .. } | ClaimStep::Reserve { .. } => Step::ClaimRequest,
                    ClaimStep::Begin { .. } => Step::ClaimBegin,
                    ClaimStep::Release => Step::ClaimRelease,
                };
                (step, Some(asked.job))
            }
            FromBroker::Peer(_, ToPeer::Forward(job)) => match job.sought {
                true => (Step::PeerSearch, Some(job.spec.id)),
                false => (Step::Forward, Some(job.spec.id)),
            },
            FromBroker::Peer(_, ToPeer::Cancel(job)) => (Step::PeerCancel, Some(*job)),
            FromBroker::Peer(_, ToPeer::News(News::Refused { job, .. })) => {
                (Step::PeerRefusal, Some(*job))
            }
            FromBroker::Peer(_, ToPeer::News(News::Ended(end))) => (Step::PeerEnd, Some(end.job)),
            FromBroker::Peer(_, ToPeer::Info(_)) => (Step::PeerLoad, None),
            FromBroker::Peer(_, ToPeer::Drain(_)) => (Step::Drain, None),
            FromBroker::Peer(_, ToPeer::Request(job, _)) => (Step::LeaseRequest, job.id),
            FromBroker::Peer(_, ToPeer::Deal(deal)) => match deal {
                Deal::Reject(asked) => (Step::LeaseRejection, Some(asked.job)),
                Deal::Delegate { asked, .. } => (Step::Delegation, Some(asked.job)),
                Deal::Release(asked) => (Step::LeaseRelease, Some(asked.job)),
                Deal::Room { .. } => (Step::Room, None),
            },
            FromBroker::Client(end) => (Step::Ends, Some(end.job)),
        }
    }
}

impl Says for FromLrms {
    fn step(&self) -> (Step, Option<JobId>) {
        match self {
            FromLrms::Broker(_, ToBroker::News(News::Refused { job, .. })) => {
                (Step::LrmsRefusal, Some(*job))
            }
            FromLrms::Broker(_, ToBroker::News(News::Ended(end))) => (Step::LrmsEnd, Some(end.job)),
            FromLrms::Broker(_, ToBroker::Claim(asked, _)) => (Step::ClaimAnswer, Some(asked.job)),
            FromLrms::Broker(_, ToBroker::Info(_)) => (Step::LrmsLoad, None),
            FromLrms::Client(end) => (Step::Ends, Some(end.job)),
        }
    }
}
