//! What an agent is given in tests.

use super::{Agent, Cx, Due, Envelope, Handle};
use crate::event::{Event, EventSink};
use crate::ids::JobId;
use crate::time::{SimTime, WallTime};

/// Keeps what an agent says.
pub(super) struct Around<M> {
    now: SimTime,
    pub wall: WallTime,
    /// Names of events.
    pub log: Vec<(SimTime, &'static str)>,
    pub envelopes: Vec<Envelope<M>>,
    /// Whether a message can be called back still.
    pub recalls: bool,
}

impl<M> EventSink for Around<M> {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        self.log.push((at, event.kind.name()));
    }
}

impl<M> Cx<M> for Around<M> {
    fn now(&self) -> SimTime {
        self.now
    }

    fn wall(&self) -> WallTime {
        self.wall
    }

    fn send(&mut self, envelope: Envelope<M>) {
        self.envelopes.push(envelope);
    }

    fn recall(&mut self, _job: JobId) -> bool {
        self.recalls
    }
}

/// An agent in a test.
pub(super) struct Tested<A: Agent> {
    pub agent: A,
    pub around: Around<A::Sends>,
}

impl<A: Agent> Tested<A> {
    pub fn new(agent: A) -> Self {
        let around = Around {
            now: SimTime::ZERO,
            wall: WallTime::ZERO,
            log: Vec::new(),
            envelopes: Vec::new(),
            recalls: true,
        };
        Tested { agent, around }
    }

    pub fn handle<I>(&mut self, now: SimTime, input: I) -> A::Answer
    where
        A: Handle<I>,
    {
        self.around.now = now;
        self.agent.handle(&mut self.around, input)
    }

    /// The messages since this was last asked.
    pub fn envelopes(&mut self) -> Vec<Envelope<A::Sends>> {
        std::mem::take(&mut self.around.envelopes)
    }
}

impl<A: Agent + Handle<Due>> Tested<A> {
    /// The timers of this instant are due.
    pub fn step(&mut self, at: SimTime) {
        self.handle(at, Due::Model { loads: Vec::new() });
    }

    /// All timers up to this instant, in order.
    pub fn advance(&mut self, now: SimTime) {
        while let Some(due) = self.agent.next_due().filter(|due| *due <= now) {
            self.step(due);
        }
    }
}

impl<A: Agent> std::ops::Deref for Tested<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.agent
    }
}
