//! Candidates that come and go, and jobs that did not reach one.

use super::Broker;
use crate::ids::JobId;
use crate::message::Target;
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
        if let Some(known) = self.known_mut(target) {
            known.access = access;
            // Who waits for somebody to open is looked at in the next cycle.
            self.reopening = SimTime::ZERO;
        }
    }

    /// Sends no jobs to a candidate before this instant.
    pub(crate) fn close_until(&mut self, target: Target, until: SimTime) {
        if let Some(known) = self.known_mut(target) {
            known.closed_until = until;
            self.reopening = SimTime::ZERO;
        }
    }

    /// Takes no new jobs before this instant; what is here goes on.
    pub fn drain(&mut self, until: SimTime) {
        self.drained = Some(until);
    }

    /// When the latest drain ends, or has ended, that has begun by now.
    pub(crate) fn drain_end(&self, now: SimTime) -> Option<SimTime> {
        let planned = self.config.settings.drain.iter();
        let begun = planned.filter(|[from, _]| SimTime::ZERO + *from <= now);
        let ends = begun.map(|[_, until]| SimTime::ZERO + *until);
        ends.chain(self.drained).max()
    }

    /// Whether it takes no new jobs at this instant.
    pub fn is_drained(&self, now: SimTime) -> bool {
        self.drain_end(now).is_some_and(|end| now < end)
    }

    /// Whether jobs may be sent there at this instant.
    pub fn is_open(&self, target: Target, now: SimTime) -> bool {
        let mut known = self.known.iter();
        known.any(|known| known.target == target && known.is_open(now))
    }

    /// Whether jobs may be sent there; `None` for what is no candidate.
    pub fn access(&self, target: Target) -> Option<Access> {
        let known = self.known.iter().find(|known| known.target == target);
        known.map(|known| known.access)
    }

    /// Takes a job back that never got where it was sent: unlike after a
    /// refusal, it may be sent there again. `false` if it is not there.
    pub fn take_back(&mut self, job: JobId, from: Target) -> bool {
        let held = self.jobs.get_mut(&job);
        let Some(held) = held.filter(|held| held.sent == Some(from)) else {
            return false;
        };
        held.sent = None;
        let processors = held.spec.processors();
        self.queue.insert(held.arrival, job);
        self.never_came(from, processors);
        true
    }
}
