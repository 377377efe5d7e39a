//! Journals: the inputs of an agent in their order, each written down before it
//! is handled.
//!
//! An agent is changed by its inputs alone. A new one that handles them again
//! stands where the old one stood, and all that it says bears the same names.

use super::{
    Agent, Alive, Arrival, Asked, BrokerAgent, Cancel, ClaimAnswer, ClaimStep, ClientAgent, Cx,
    Drain, Due, Envelope, Fate, Follow, Freeze, FromBroker, FromClient, FromLrms, Handle, LogsRead,
    Lost, LrmsAgent, Message, Observation, Outside, PeerSession, Published, Pull, Received, Stands,
    ToPeer, Undelivered,
};
use crate::cluster::{NodeChange, ProcessorIds};
use crate::decision::Decision;
use crate::event::{Event, EventSink};
use crate::ids::JobId;
use crate::job::Reason;
use crate::message::News;
use crate::reservation::ReservationOrder;
use crate::session::Push;
use crate::time::{SimTime, WallTime};
use std::collections::{BTreeMap, BTreeSet};

/// What a participant that is restarted knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[strum(serialize_all = "kebab-case")]
pub enum Memory {
    /// All that it knew: it handles the inputs in its journal again.
    #[default]
    Journal,
    /// Nothing: it asks its peers and LRMSs.
    None,
}

impl Memory {
    /// Both.
    pub const ALL: [Memory; 2] = [Memory::Journal, Memory::None];

    /// The name used in commands.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What a journal has in order.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Record<I> {
    /// An input, with what the clocks showed.
    Input {
        /// The time of the model.
        at: SimTime,
        /// The time on the wall.
        wall: WallTime,
        /// What was handed to the agent.
        input: I,
    },
    /// While it handled the input before, the agent has stopped the data of this
    /// job ([`Cx::recall`]).
    Stopped(JobId),
}

/// An agent that can be brought back by its inputs.
pub trait Journaled: Agent {
    /// All that it may be told.
    type Input: Clone + From<Fate<Self::Sends>>;

    /// Handles an input again.
    ///
    /// # Errors
    /// When it is the fate of a message that was not sent.
    fn repeat<S: EventSink>(
        &mut self,
        cx: &mut Again<Self::Sends, S>,
        input: Self::Input,
    ) -> Result<(), NotSent>;
}

/// A journal tells what has become of a message of this number that the agent has
/// not sent: it is another agent's, or that of another version of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message {0} was not sent after what is before")]
pub struct NotSent(u64);

/// What an agent is given that handles its inputs again: nothing is delivered.
#[derive(Debug)]
pub struct Again<M, S> {
    now: SimTime,
    wall: WallTime,
    events: S,
    /// Messages of which the agent does not know yet what has become of them.
    unanswered: BTreeMap<u64, Envelope<M>>,
    called_back: BTreeSet<u64>,
    /// Jobs whose data was stopped at this input.
    stopped: Vec<JobId>,
}

impl<M, S: EventSink> EventSink for Again<M, S> {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        self.events.emit(at, event);
    }

    fn wants_decision(&self, job: JobId) -> bool {
        self.events.wants_decision(job)
    }

    fn decided(&mut self, at: SimTime, decision: Decision) {
        self.events.decided(at, decision);
    }
}

impl<M: Message, S: EventSink> Cx<M> for Again<M, S> {
    fn now(&self) -> SimTime {
        self.now
    }

    fn wall(&self) -> WallTime {
        self.wall
    }

    fn send(&mut self, envelope: Envelope<M>) {
        self.unanswered.insert(envelope.id.number, envelope);
    }

    /// Where the journal does not say that it was stopped, it may have left.
    fn recall(&mut self, job: JobId) -> bool {
        if !self.stopped.contains(&job) {
            return false;
        }
        let mut latest = self.unanswered.iter().rev();
        let data = latest.find(|(_, sent)| sent.message.data_of() == Some(job));
        self.called_back.extend(data.map(|(number, _)| *number));
        true
    }
}

/// An agent on its way to where it stood.
#[derive(Debug)]
pub struct Replay<A: Journaled, S> {
    agent: A,
    cx: Again<A::Sends, S>,
    /// Read, and not handled yet: what was stopped at it may follow.
    next: Option<A::Input>,
}

impl<A: Journaled, S: EventSink> Replay<A, S> {
    /// From the agent as it began; `events` are told what happens.
    pub fn new(agent: A, events: S) -> Self {
        let cx = Again {
            now: SimTime::ZERO,
            wall: WallTime::ZERO,
            events,
            unanswered: BTreeMap::new(),
            called_back: BTreeSet::new(),
            stopped: Vec::new(),
        };
        let next = None;
        Replay { agent, cx, next }
    }

    /// Takes in what the journal has next.
    ///
    /// # Errors
    /// When what it has before is not of this agent.
    pub fn take(&mut self, record: Record<A::Input>) -> Result<(), NotSent> {
        match record {
            Record::Stopped(job) => self.cx.stopped.push(job),
            Record::Input { at, wall, input } => {
                self.handle_last()?;
                (self.cx.now, self.cx.wall) = (at, wall);
                self.next = Some(input);
            }
        }
        Ok(())
    }

    fn handle_last(&mut self) -> Result<(), NotSent> {
        if let Some(input) = self.next.take() {
            self.agent.repeat(&mut self.cx, input)?;
            // Whoever followed it is gone.
            drop(self.agent.take_news());
        }
        self.cx.stopped.clear();
        Ok(())
    }

    /// The journal has no more.
    ///
    /// # Errors
    /// When what it has last is not of this agent.
    pub fn finish(mut self) -> Result<Resumed<A>, NotSent> {
        self.handle_last()?;
        let (wall, mut unanswered) = (self.cx.wall, self.cx.unanswered);
        unanswered.retain(|number, _| !self.cx.called_back.contains(number));
        Ok(Resumed {
            agent: self.agent,
            wall,
            unanswered: unanswered.into_values().collect(),
        })
    }
}

/// An agent that goes on.
#[derive(Debug)]
pub struct Resumed<A: Agent> {
    /// As it stood.
    pub agent: A,
    /// What the clock on the wall showed last.
    pub wall: WallTime,
    /// What it has said and does not know to have arrived: that may have arrived,
    /// or not, and is said again, by the same names
    /// ([`Tries::AGAIN`](super::Tries::AGAIN)).
    pub unanswered: Vec<Envelope<A::Sends>>,
}

impl<A: Agent> From<A> for Resumed<A> {
    /// One that begins.
    fn from(agent: A) -> Self {
        Resumed {
            agent,
            wall: WallTime::ZERO,
            unanswered: Vec::new(),
        }
    }
}

/// The inputs of an agent in one type. Of a fate it has the number of the message,
/// which the agent says again by itself.
macro_rules! inputs {
    ($(#[$what:meta])* $all:ident of $agent:ty, $sends:ty: $($kind:ident($input:ty)),+) => {
        #[doc = concat!("All that a [`", stringify!($agent), "`] may be told.")]
        $(#[$what])*
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "it is made to be written and dropped")]
        pub enum $all {
            $(#[doc = concat!("A `", stringify!($input), "`.")]
            $kind($input),)+
            /// What has become of the message of this number.
            Fate(u64, Result<(), Undelivered>),
        }

        $(impl From<$input> for $all {
            fn from(input: $input) -> Self {
                $all::$kind(input)
            }
        })+

        impl From<Fate<$sends>> for $all {
            fn from(fate: Fate<$sends>) -> Self {
                $all::Fate(fate.envelope.id.number, fate.result)
            }
        }

        impl Journaled for $agent {
            type Input = $all;

            fn repeat<S: EventSink>(
                &mut self,
                cx: &mut Again<$sends, S>,
                input: $all,
            ) -> Result<(), NotSent> {
                match input {
                    $($all::$kind(input) => {
                        let _ = self.handle(cx, input);
                    })+
                    $all::Fate(number, result) => {
                        let envelope = cx.unanswered.remove(&number).ok_or(NotSent(number))?;
                        self.handle(cx, Fate { envelope, result });
                    }
                }
                Ok(())
            }
        }
    };
}

inputs!(
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    BrokerInput of BrokerAgent, FromBroker:
    Job(Arrival),
    Cancel(Cancel),
    News(Received<News>),
    Claim(Received<(Asked, ClaimAnswer)>),
    Update(Received<Push>),
    Peer(Received<ToPeer>),
    Session(PeerSession),
    Pull(Pull),
    Drain(Drain),
    Due(Due),
    Lost(Lost),
    Alive(Alive),
    Freeze(Freeze)
);

inputs!(
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    ClientInput of ClientAgent, FromClient:
    Cancel(Cancel),
    Due(Due),
    Published(Published),
    Stands(Stands),
    Observation(Observation),
    LogsRead(LogsRead),
    Freeze(Freeze)
);

inputs!(
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    LrmsInput of LrmsAgent, FromLrms:
    Job(Arrival),
    Cancel(Cancel),
    Claim(Received<(Asked, ClaimStep)>),
    Started(Outside<ProcessorIds>),
    Finished(Outside<()>),
    Failed(Outside<Reason>),
    Nodes(NodeChange),
    Reservation(ReservationOrder),
    Due(Due),
    Follow(Follow),
    Freeze(Freeze)
);
