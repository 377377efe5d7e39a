//! What machines send each other in real time.

use super::recall::Recall;
use gridrig_core::event::{MessageKind, Party};
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::job::{JobSpec, Reason};
use gridrig_core::load::LoadSample;
use gridrig_core::message::JobEnd;
use gridrig_core::session::Push;
use gridrig_core::time::SimTime;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A message between machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A job from whoever submits.
    Submit {
        /// The job.
        spec: JobSpec,
        /// Its idempotency key.
        key: String,
    },
    /// A job to an LRMS of the broker's own.
    Dispatch {
        /// The job.
        spec: JobSpec,
        /// Its idempotency key for this hop.
        key: String,
        /// Whose broker sends it.
        from: DomainId,
        /// Forwards so far.
        hop: u32,
        /// What it is called everywhere, if it came with such a name.
        tag: Option<Arc<str>>,
    },
    /// A job to a peer.
    Forward {
        /// The job.
        spec: JobSpec,
        /// Its idempotency key for this hop.
        key: String,
        /// What it is called everywhere, if it came with such a name.
        tag: Option<Arc<str>>,
        /// Whose broker sends it.
        from: DomainId,
        /// Forwards so far, this one included.
        hop: u32,
        /// Where the job entered the grid.
        origin: DomainId,
        /// Whether it has wandered enough: the receiver keeps it or refuses it.
        settled: bool,
    },
    /// A job comes back.
    Refusal {
        /// The job.
        job: JobId,
        /// Why.
        reason: Reason,
    },
    /// News of a job's end.
    Notice(JobEnd),
    /// Resource information.
    Info(Vec<LoadSample>),
    /// Resource information for a peer with a session: numbered, in full or
    /// only what has moved.
    Update(Push),
    /// A request to remove a job.
    Cancel(JobId),
    /// A question: whether the receiver has this job, from an earlier life of
    /// the sender. Delivered means yes.
    Locate(JobId),
}

impl Message {
    /// How results count it; requests to remove a job and questions are not
    /// counted.
    #[must_use]
    pub fn kind(&self) -> Option<MessageKind> {
        Some(match self {
            Message::Submit { .. } => MessageKind::Submit,
            Message::Dispatch { .. } => MessageKind::Dispatch,
            Message::Forward { .. } => MessageKind::Forward,
            Message::Refusal { .. } => MessageKind::Refuse,
            Message::Notice(_) => MessageKind::Notify,
            Message::Info(_) | Message::Update(_) => MessageKind::Info,
            Message::Cancel(_) | Message::Locate(_) => return None,
        })
    }

    /// Whether the data of a job goes with it.
    #[must_use]
    pub fn carries_data(&self) -> bool {
        matches!(self, Message::Forward { spec, .. } if spec.data_kib > 0)
    }

    /// The job it is about; information is about none.
    #[must_use]
    pub fn job(&self) -> Option<JobId> {
        match self {
            Message::Submit { spec, .. }
            | Message::Dispatch { spec, .. }
            | Message::Forward { spec, .. } => Some(spec.id),
            Message::Refusal { job, .. } | Message::Cancel(job) | Message::Locate(job) => {
                Some(*job)
            }
            Message::Notice(end) => Some(end.job),
            Message::Info(_) | Message::Update(_) => None,
        }
    }
}

/// The name of a letter: repeated deliveries of one letter share it. Numbers
/// of one incarnation of a sender only rise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LetterId {
    /// Which life of the sender wrote it, so that a restarted one, which
    /// counts from 0 again, is not taken for an echo.
    pub incarnation: u64,
    /// Counted by the sender over all its letters.
    pub number: u64,
}

/// A message with its envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// Its name.
    pub id: LetterId,
    /// Who sends.
    pub from: Party,
    /// Who receives.
    pub to: Party,
    /// Where the receiver is, if it has said so itself.
    pub address: Option<Arc<str>>,
    /// When it is to arrive: the nominal sending instant plus the latency.
    pub due: SimTime,
    /// What it says.
    pub message: Message,
    /// By which it can be called back, where that may be wanted.
    pub recall: Option<Recall>,
}

/// Messages counted by kind, from several threads.
#[derive(Debug, Default)]
pub struct Tally([AtomicU64; MessageKind::ALL.len()]);

impl Tally {
    /// Counts one.
    pub fn count(&self, kind: MessageKind) {
        self.0[kind as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How many of this kind.
    #[must_use]
    pub fn of(&self, kind: MessageKind) -> u64 {
        self.0[kind as usize].load(Ordering::Relaxed)
    }

    /// How many of any kind.
    #[must_use]
    pub fn total(&self) -> u64 {
        MessageKind::ALL.iter().map(|kind| self.of(*kind)).sum()
    }
}
