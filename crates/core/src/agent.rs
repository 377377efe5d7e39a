//! The participants of a grid as agents: pure state machines that a driver
//! gives a clock, a way for messages and a log.
//!
//! Every input enters by [`Handle::handle`]: a message ([`Brought`] or
//! [`Arrival`], [`Told`] or [`Received`], [`Cancel`]), a timer that is [`Due`], the [`Fate`] of a message
//! that the agent has sent, or word from outside the grid (a service is
//! [`Lost`] or [`Alive`], the session with a peer [changes](PeerSession), a real LRMS
//! [acts](Outside)). Every message leaves by [`Cx::send`]. Delivery, sessions,
//! recovery, removal and the relaying of information are rules, so they are
//! here; how to wait and how a message travels is the driver's.
//!
//! There are two layers with the same inputs and the same messages. A
//! [`Broker`](crate::broker::Broker) and an [`Lrms`] decide, over links on which
//! every message arrives once; a [`BrokerAgent`] and an [`LrmsAgent`] have one of
//! them inside and add what links and peers that fail ask for: names, keys,
//! memory, sessions. Where nothing fails nothing is paid for that.

mod broker;
mod client;
mod journal;
mod lrms;
mod peer_link;
mod store;
#[cfg(test)]
mod tests;
mod tries;

pub use crate::conversation::{
    Arrival, Asked, BrokerSends, ClaimAnswer, ClaimShare, ClaimStep, Deal, FromBroker, FromClient,
    FromLrms, LrmsSends, Order, Passed, ToBroker, ToEntry, ToLrms, ToPeer,
};
pub use crate::envelope::{
    Cx, Envelope, EnvelopeId, Fate, Message, Received, Tally, Told, Undelivered,
};
pub use broker::{
    Alive, BrokerAgent, BrokerSetup, GridNames, KEEP_ENDED, Lost, PeerSession, PeerState, Pull,
    Sampled, SessionChange, SetupError, Unexpected, Updated,
};
pub use client::{
    Attempt, Attempts, ClientAgent, ClientSetup, GivenUp, LogsRead, Observation, Patience, Place,
    Published, Stands,
};
pub use journal::{
    Again, BrokerInput, ClientInput, Journaled, LrmsInput, Memory, NotSent, Record, Replay, Resumed,
};
pub use lrms::{
    Claimed, Completions, Exchange, Follow, Home, JobNews, Lrms, LrmsAgent, LrmsSetup, Outside,
    Pass,
};
pub use peer_link::{Ask, PeerLink};
pub use store::{JobState, JobView, Receipt, SubmitError, digest};
pub use tries::{AfterTry, Tries};

use crate::ids::{ClusterId, JobId};
use crate::job::JobSpec;
use crate::load::LoadSample;
use crate::message::{JobEnd, Route};
use crate::time::{SimDuration, SimTime, WallTime};

/// Time between tries to say something to somebody who does not answer, on the
/// wall: beyond the [`Tries`] of one message.
pub const SAY_AGAIN: SimDuration = SimDuration::from_millis(500);

/// Somebody who sends messages and has timers.
pub trait Participant {
    /// What it sends.
    type Sends;

    /// When its next timer on the clock of the model is due.
    fn next_due(&self) -> Option<SimTime>;
}

/// A participant as a service runs it.
pub trait Agent: Participant<Sends: Message> + Send + 'static {
    /// The latest instant that it has handled.
    fn now(&self) -> SimTime;

    /// When its next timer on the wall clock is due.
    fn next_wall_due(&self) -> Option<WallTime> {
        None
    }

    /// How long it waits past the instant of a timer for messages that were
    /// meant to arrive before it.
    fn grace(&self) -> SimDuration {
        SimDuration::ZERO
    }

    /// Own clusters whose present load is to come with its next timer.
    fn reads(&self) -> Vec<ClusterId> {
        Vec::new()
    }

    /// How many ends of jobs it has published.
    fn published(&self) -> u64;

    /// Messages that never arrived, by kind.
    fn undelivered(&self) -> Tally;

    /// What has become of jobs here since this was last asked, for an agent
    /// that is [followed](Follow).
    fn take_news(&mut self) -> Vec<JobNews> {
        Vec::new()
    }
}

/// A participant that takes inputs of this kind.
pub trait Handle<I>: Participant {
    /// What whoever brings the input learns at once.
    type Answer;

    /// Handles the input at the instant of `cx`. Inputs come in order of time;
    /// one that lies before what has been handled counts as of now.
    fn handle(&mut self, cx: &mut impl Cx<Self::Sends>, input: I) -> Self::Answer;
}

/// A job reaches a participant. The answer is why it is not taken; whoever
/// forwarded or dispatched it is told so by a message.
#[derive(Clone, Copy, Debug)]
pub struct Brought<'a> {
    /// The job.
    pub spec: &'a JobSpec,
    /// The way it has come from a broker; `None` from a client.
    pub route: Option<Route>,
}

/// Timers are due.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Due {
    /// Those of the model whose nominal instant is the time of `cx`.
    Model {
        /// The present load of the clusters that the agent [reads](Agent::reads).
        loads: Vec<LoadSample>,
    },
    /// All those of the wall clock that are not after the time of `cx`.
    Wall,
}

/// A request to remove a job, here or wherever it was sent. The answer is
/// whether the job is known here (still).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Cancel(pub JobId);

/// The broker takes no new jobs before this instant; one that has passed sets it back
/// to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Drain(pub SimTime);

/// All timers stop, so that messages run dry at the end of a run: nothing new
/// begins any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Freeze;

/// An agent that takes jobs in and remembers them: what a service asks of it,
/// whichever it is. A job that cannot be taken is rejected for good when a
/// client brings it, and sent back to a broker by a message of its own.
pub trait JobHolder:
    Journaled<Input: From<Arrival> + From<Cancel> + From<Due> + From<Freeze>>
    + Handle<Arrival, Answer = Result<Receipt, SubmitError>>
    + Handle<Cancel, Answer = bool>
    + Handle<Due, Answer = ()>
    + Handle<Fate<<Self as Participant>::Sends>, Answer = ()>
    + Handle<Freeze, Answer = ()>
{
    /// What is known of a job; `None` if it was never here or is forgotten.
    fn view(&self, job: JobId) -> Option<JobView>;

    /// At most `limit` jobs with a name above `after`.
    fn list(&self, after: Option<JobId>, limit: usize) -> Vec<JobView>;

    /// At most `limit` ends of jobs that entered here, from position `after`
    /// on, and the position of the first one given.
    fn ends(&self, after: u64, limit: usize) -> (u64, Vec<JobEnd>);
}
