//! What happens in a run. Everything a run reports is computed from these.

use crate::ids::{ClusterId, DomainId, JobId};
use crate::job::{Entry, Reason};
use crate::placement::PlacementRun;
use crate::time::SimTime;

/// Somebody who sends and receives messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Party {
    /// Whoever submits: the replayer.
    Client,
    /// A domain's broker.
    Broker(DomainId),
    /// A cluster's LRMS.
    Lrms(ClusterId),
}

/// One thing that happened to a job, or one message that was sent.
///
/// `Submitted`, `Dispatched`, `Forwarded`, `Refused`, `Notified` and
/// `InfoSent` each stand for exactly one message: see [`Event::message`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The replayer hands the job over; `intended` is when it should have.
    Submitted {
        /// The job.
        job: JobId,
        /// To whom.
        entry: Entry,
        /// When the trace wants it.
        intended: SimTime,
    },
    /// A broker has the job; hop 0 is the entry broker.
    BrokerArrival {
        /// The job.
        job: JobId,
        /// Whose broker.
        domain: DomainId,
        /// Forwards so far.
        hop: u32,
    },
    /// A broker sends the job to a peer.
    Forwarded {
        /// The job.
        job: JobId,
        /// From this domain's broker.
        from: DomainId,
        /// To this domain's broker.
        to: DomainId,
    },
    /// A broker or an LRMS sends the job back.
    Refused {
        /// The job.
        job: JobId,
        /// Who refuses.
        by: Party,
        /// Who gets it back.
        to: Party,
        /// Why.
        reason: Reason,
    },
    /// A broker hands the job to an LRMS of its own.
    Dispatched {
        /// The job.
        job: JobId,
        /// From this domain's broker.
        domain: DomainId,
        /// To this LRMS.
        cluster: ClusterId,
    },
    /// An LRMS accepts the job into its queue.
    Queued {
        /// The job.
        job: JobId,
        /// Where.
        cluster: ClusterId,
    },
    /// The job begins to run.
    Started {
        /// The job.
        job: JobId,
        /// Where.
        cluster: ClusterId,
        /// On which processors, node by node.
        placement: &'a [PlacementRun],
    },
    /// The job ended by itself. Terminal.
    Finished {
        /// The job.
        job: JobId,
        /// Where.
        cluster: ClusterId,
    },
    /// A message about the job's end travels towards its submitter.
    Notified {
        /// The job.
        job: JobId,
        /// Who sends.
        from: Party,
        /// Who receives.
        to: Party,
    },
    /// The news of the job's end has reached the entry broker, where its way
    /// ends: what a client asks or is told beyond that is no message of the
    /// model. A job that came past any broker is seen at its end.
    FinishSeen {
        /// The job.
        job: JobId,
        /// Who has seen it.
        by: Party,
    },
    /// The job is turned away for good. Terminal.
    Rejected {
        /// The job.
        job: JobId,
        /// By whom.
        by: Party,
        /// Why.
        reason: Reason,
    },
    /// The job was removed on request. Terminal.
    Cancelled {
        /// The job.
        job: JobId,
        /// Where it was.
        by: Party,
    },
    /// The job was lost to a fault. Terminal.
    Failed {
        /// The job.
        job: JobId,
        /// Where.
        by: Party,
        /// Why.
        reason: Reason,
    },
    /// Resource information is sent.
    InfoSent {
        /// Who sends.
        from: Party,
        /// Who receives.
        to: Party,
    },
}

/// The kinds of message, as counted in results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageKind {
    /// Client to broker or LRMS: a job.
    Submit,
    /// Broker to broker: a job.
    Forward,
    /// Broker to LRMS: a job.
    Dispatch,
    /// A job sent back.
    Refuse,
    /// News of a job's end.
    Notify,
    /// Resource information.
    Info,
}

impl MessageKind {
    /// All kinds, in the order of reports.
    pub const ALL: [MessageKind; 6] = [
        MessageKind::Submit,
        MessageKind::Forward,
        MessageKind::Dispatch,
        MessageKind::Refuse,
        MessageKind::Notify,
        MessageKind::Info,
    ];

    /// The name used in files and interfaces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            MessageKind::Submit => "submit",
            MessageKind::Forward => "forward",
            MessageKind::Dispatch => "dispatch",
            MessageKind::Refuse => "refuse",
            MessageKind::Notify => "notify",
            MessageKind::Info => "info",
        }
    }
}

/// How many kinds of event there are.
pub const EVENT_KINDS: usize = 14;

/// Their names, as interfaces show them, by [`Event::ordinal`].
pub const EVENT_NAMES: [&str; EVENT_KINDS] = [
    "submitted",
    "broker-arrival",
    "forwarded",
    "refused",
    "dispatched",
    "queued",
    "started",
    "finished",
    "notified",
    "finish-seen",
    "rejected",
    "cancelled",
    "failed",
    "info-sent",
];

impl Event<'_> {
    /// Which of the kinds of event this is, below [`EVENT_KINDS`].
    #[must_use]
    pub const fn ordinal(&self) -> usize {
        match self {
            Event::Submitted { .. } => 0,
            Event::BrokerArrival { .. } => 1,
            Event::Forwarded { .. } => 2,
            Event::Refused { .. } => 3,
            Event::Dispatched { .. } => 4,
            Event::Queued { .. } => 5,
            Event::Started { .. } => 6,
            Event::Finished { .. } => 7,
            Event::Notified { .. } => 8,
            Event::FinishSeen { .. } => 9,
            Event::Rejected { .. } => 10,
            Event::Cancelled { .. } => 11,
            Event::Failed { .. } => 12,
            Event::InfoSent { .. } => 13,
        }
    }

    /// Its name, as interfaces show it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        EVENT_NAMES[self.ordinal()]
    }

    /// The kind of message this event stands for, if it is one.
    #[must_use]
    pub fn message(&self) -> Option<MessageKind> {
        Some(match self {
            Event::Submitted { .. } => MessageKind::Submit,
            Event::Forwarded { .. } => MessageKind::Forward,
            Event::Dispatched { .. } => MessageKind::Dispatch,
            Event::Refused { .. } => MessageKind::Refuse,
            Event::Notified { .. } => MessageKind::Notify,
            Event::InfoSent { .. } => MessageKind::Info,
            _ => return None,
        })
    }

    /// The job this is about; information is about none.
    #[must_use]
    pub fn job(&self) -> Option<JobId> {
        Some(match *self {
            Event::Submitted { job, .. }
            | Event::BrokerArrival { job, .. }
            | Event::Forwarded { job, .. }
            | Event::Refused { job, .. }
            | Event::Dispatched { job, .. }
            | Event::Queued { job, .. }
            | Event::Started { job, .. }
            | Event::Finished { job, .. }
            | Event::Notified { job, .. }
            | Event::FinishSeen { job, .. }
            | Event::Rejected { job, .. }
            | Event::Cancelled { job, .. }
            | Event::Failed { job, .. } => job,
            Event::InfoSent { .. } => return None,
        })
    }

    /// The same about a job of another name; information stays as it is.
    #[must_use]
    pub fn about(mut self, name: JobId) -> Self {
        match &mut self {
            Event::Submitted { job, .. }
            | Event::BrokerArrival { job, .. }
            | Event::Forwarded { job, .. }
            | Event::Refused { job, .. }
            | Event::Dispatched { job, .. }
            | Event::Queued { job, .. }
            | Event::Started { job, .. }
            | Event::Finished { job, .. }
            | Event::Notified { job, .. }
            | Event::FinishSeen { job, .. }
            | Event::Rejected { job, .. }
            | Event::Cancelled { job, .. }
            | Event::Failed { job, .. } => *job = name,
            Event::InfoSent { .. } => {}
        }
        self
    }

    /// Whether the job ends with this.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(
            self,
            Event::Finished { .. }
                | Event::Rejected { .. }
                | Event::Cancelled { .. }
                | Event::Failed { .. }
        )
    }
}

/// Whoever keeps the events: drivers tell, results listen.
pub trait EventSink {
    /// Takes note of an event. Times never decrease within one machine.
    fn emit(&mut self, at: SimTime, event: Event<'_>);
}

/// Keeps nothing.
pub struct NoEvents;

impl EventSink for NoEvents {
    fn emit(&mut self, _at: SimTime, _event: Event<'_>) {}
}

impl<S: EventSink + ?Sized> EventSink for &mut S {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        (**self).emit(at, event);
    }
}
