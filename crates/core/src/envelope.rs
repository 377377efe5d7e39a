//! Messages in their envelopes, and what becomes of them.

use crate::event::{EventSink, MessageKind, Party};
use crate::ids::JobId;
use crate::job::Reason;
use crate::message::Target;
use crate::time::{SimTime, WallTime};
use std::sync::Arc;

/// What an agent may send.
pub trait Message: Clone + Send + Sync + 'static {
    /// Who is to receive it.
    fn to(&self) -> Party;

    /// How results count it; requests to remove a job and questions are not
    /// counted.
    fn kind(&self) -> Option<MessageKind>;

    /// Whether it only asks for a job: whoever is told to come again does so later, and
    /// keeps nobody waiting meanwhile.
    fn is_question(&self) -> bool {
        false
    }

    /// The job whose data goes with it.
    fn data_of(&self) -> Option<JobId> {
        None
    }
}

/// The name of a message: repeated deliveries of one message share it. Numbers
/// of one incarnation of a sender only rise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EnvelopeId {
    /// Which life of the sender wrote it, so that a restarted one, which
    /// counts from 0 again, is not taken for an echo.
    pub incarnation: u64,
    /// Counted by the sender over all its messages.
    pub number: u64,
}

impl EnvelopeId {
    /// The name before any message of a life.
    pub(crate) fn first(incarnation: u64) -> Self {
        EnvelopeId {
            incarnation,
            number: 0,
        }
    }

    /// This name; the next message has the next one.
    pub(crate) fn take(&mut self) -> Self {
        let id = *self;
        self.number += 1;
        id
    }
}

/// A message with its envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope<M> {
    /// Its name; of no meaning before it is given one for its way over a link
    /// that may fail.
    pub id: EnvelopeId,
    /// Who sends.
    pub from: Party,
    /// Where the receiver is, if it has said so itself.
    pub address: Option<Arc<str>>,
    /// When it is to arrive: the nominal sending instant plus the latency.
    pub due: SimTime,
    /// What it says, and to whom.
    pub message: M,
}

/// What an agent is given while it handles an input: two clocks, the log (it is
/// an [`EventSink`]) and the outbox.
pub trait Cx<M>: EventSink {
    /// The time of the model.
    fn now(&self) -> SimTime;

    /// The time on the wall.
    fn wall(&self) -> WallTime;

    /// Sends a message off; it is to arrive when it is due. Of what becomes of
    /// it the agent learns as a [`Fate`].
    fn send(&mut self, envelope: Envelope<M>);

    /// Stops the message that carries the data of a job while it is on its way;
    /// `false` if it is being handed over already.
    fn recall(&mut self, _job: JobId) -> bool {
        false
    }
}

impl<M, C: Cx<M> + ?Sized> Cx<M> for &mut C {
    fn now(&self) -> SimTime {
        (**self).now()
    }

    fn wall(&self) -> WallTime {
        (**self).wall()
    }

    fn send(&mut self, envelope: Envelope<M>) {
        (**self).send(envelope);
    }

    fn recall(&mut self, job: JobId) -> bool {
        (**self).recall(job)
    }
}

/// A message as it reaches a broker from a cluster of its own or from a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Received<T> {
    /// Who says it.
    pub from: Target,
    /// The name of its message; without one it is never a repetition.
    pub id: Option<EnvelopeId>,
    /// When it was meant to arrive, if that is known.
    pub meant: Option<SimTime>,
    /// What is said.
    pub said: T,
}

impl<T> Received<T> {
    /// A message without a name, which arrives whenever it does.
    pub const fn new(from: Target, said: T) -> Self {
        Received {
            from,
            id: None,
            meant: None,
            said,
        }
    }

    /// Something else in the same envelope.
    pub(crate) fn with<U>(&self, said: U) -> Received<U> {
        Received {
            from: self.from,
            id: self.id,
            meant: self.meant,
            said,
        }
    }
}

/// A message as it reaches a participant over a link on which it arrives once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told<T> {
    /// Who says it.
    pub from: Target,
    /// What is said.
    pub said: T,
}

/// What became of a message, as its sender learns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate<M> {
    /// The message.
    pub envelope: Envelope<M>,
    /// Whether it arrived.
    pub result: Result<(), Undelivered>,
}

/// Why a message was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Undelivered {
    /// The receiver has certainly not seen it.
    NotReached,
    /// No answer came: the receiver may have seen it.
    NoAnswer,
    /// The receiver has too much to do.
    Busy,
    /// The sender has called it back before it left.
    CalledBack,
    /// The receiver turned it away.
    Declined(Option<Reason>),
}

impl Undelivered {
    /// Whether a later try may have better luck: the receiver did not say no.
    pub fn is_passing(self) -> bool {
        use Undelivered::{Busy, NoAnswer, NotReached};
        matches!(self, NotReached | NoAnswer | Busy)
    }

    /// Whether nobody was there, or nobody answered.
    pub fn is_silence(self) -> bool {
        matches!(self, Undelivered::NotReached | Undelivered::NoAnswer)
    }
}

/// Messages counted by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally([u64; MessageKind::ALL.len()]);

impl Tally {
    /// Counts one.
    pub fn count(&mut self, kind: MessageKind) {
        self.0[kind as usize] += 1;
    }

    /// How many of this kind.
    pub fn of(&self, kind: MessageKind) -> u64 {
        self.0[kind as usize]
    }

    /// How many of any kind.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}
