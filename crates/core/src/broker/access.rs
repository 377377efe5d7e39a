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

    /// Whether jobs may be sent there; `None` for what is no candidate.
    #[must_use]
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
        self.queue.insert(held.arrival, job);
        true
    }
}
