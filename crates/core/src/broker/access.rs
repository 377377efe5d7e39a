//! Candidates that come and go, and jobs whose whereabouts have to be found
//! out before anything is decided about them.

use super::Broker;
use crate::event::{Event, EventKind, EventSink, Party};
use crate::ids::JobId;
use crate::message::{Outgoing, Target};
use crate::time::SimTime;

/// Whether jobs may be sent to a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Access {
    /// They may.
    #[default]
    Open,
    /// Not now: a job that nobody else could run waits for it.
    Closed,
    /// No more: a job is decided as if it were not there.
    Gone,
}

impl Broker {
    /// Opens or closes a candidate. Jobs that are there already stay.
    pub fn set_access(&mut self, target: Target, access: Access) {
        let known = self.known.iter_mut().find(|known| known.target == target);
        if let Some(known) = known {
            known.access = access;
            // Who waits for somebody to open is looked at in the next cycle.
            self.reopening = SimTime::ZERO;
        }
    }

    /// Whether jobs may be sent there; `None` for what is no candidate.
    #[must_use]
    pub fn access(&self, target: Target) -> Option<Access> {
        let known = self.known.iter().find(|known| known.target == target);
        known.map(|known| known.access)
    }

    /// Takes a waiting job out of the cycles until it is put back or placed;
    /// `false` if it does not wait here.
    pub fn set_aside(&mut self, job: JobId) -> bool {
        let held = self.jobs.get(&job).filter(|held| held.sent.is_none());
        let arrival = held.map(|held| held.arrival);
        arrival.is_some_and(|arrival| self.unqueue(arrival))
    }

    /// A job that was looked for is nowhere else: it is decided here, in its
    /// place in the queue.
    pub fn put_back(&mut self, now: SimTime, job: JobId, events: &mut impl EventSink) {
        if let Some(held) = self.jobs.get(&job).filter(|held| held.sent.is_none()) {
            self.queue.insert(held.arrival, job);
            self.tell_found(now, job, self.config.domain, events);
        }
    }

    /// Tells where a job is that was looked for.
    fn tell_found(
        &self,
        now: SimTime,
        job: JobId,
        to: impl Into<Party>,
        events: &mut impl EventSink,
    ) {
        let hop = self.route(job).map_or(0, |route| route.hop);
        let found = Event::new(EventKind::Recovered, job, self.config.domain);
        events.emit(now, found.to(to).with(hop));
    }

    /// Takes a job back that never got where it was sent: unlike after a
    /// refusal, it may be sent there again. `false` if it is not there.
    pub fn take_back(&mut self, job: JobId, from: Target) -> bool {
        let held = self.jobs.get_mut(&job);
        let Some(held) = held.filter(|held| held.sent == Some(from)) else {
            return false;
        };
        held.sent = None;
        self.queue.insert(held.arrival, job);
        true
    }

    /// Sends a job that is set aside, or still waits, to this target without
    /// asking the policy: it is there already, from an earlier life of this
    /// broker, and is sent once more under the same key.
    pub fn place(
        &mut self,
        now: SimTime,
        job: JobId,
        target: Target,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) {
        let Some(held) = self.jobs.get(&job).filter(|held| held.sent.is_none()) else {
            return;
        };
        let arrival = held.arrival;
        self.unqueue(arrival);
        self.tell_found(now, job, target, events);
        self.hand_over(now, job, target, out);
    }

    /// Takes a job out of the two queues of those that wait.
    fn unqueue(&mut self, arrival: u64) -> bool {
        let queued = self.queue.remove(&arrival).or(self.parked.remove(&arrival));
        queued.is_some()
    }
}
