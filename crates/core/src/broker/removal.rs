//! Jobs that are to be removed: where they wait, while their data leaves, or
//! wherever they were sent.

use super::Broker;
use crate::agent::{BrokerSends, Cx, FromBroker};
use crate::event::{Event, EventKind};
use crate::ids::{DomainId, JobId};
use crate::message::{EndState, JobEnd, Target};
use crate::time::{SimDuration, SimTime, transfer_time};

impl Broker {
    /// Removes a job: here if it still waits, else wherever it was sent.
    /// `false` if it is not known here (any more).
    ///
    /// A request that crosses a refusal is not lost: the job ends when it comes
    /// back. One that comes again is not sent on again: over a cycle of links, where
    /// the job never arrived at the last of them, it would go round for ever.
    pub(crate) fn cancel(&mut self, cx: &mut impl Cx<BrokerSends>, job: JobId) -> bool {
        // What was asked for it is not asked any more.
        let ours = self.matched(cx, |own, broker, cx| own.withdraw(broker, cx, job));
        // A request would overtake data that is on its way: that is stopped.
        let leaves = ours != Some(true) && self.is_leaving(cx.now(), job);
        let stopped = ours == Some(true) || leaves && cx.recall(job);
        let Some(held) = self.jobs.get_mut(&job) else {
            return false;
        };
        if !held.unwanted {
            let asked = Event::new(EventKind::CancelRequested, job, self.config.domain);
            cx.emit(cx.now(), asked);
        }
        if stopped {
            held.sent = None;
            self.end_unwanted(cx, job);
            return true;
        }
        held.unwanted = true;
        let sent = held.sent;
        let followed = std::mem::replace(&mut held.followed, sent.is_some());
        // A job that was here before comes back to each visit in its turn.
        for held in self.earlier.get_mut(&job).into_iter().flatten() {
            held.unwanted = true;
        }
        let Some(to) = sent else {
            self.end_unwanted(cx, job);
            return true;
        };
        if followed {
            return true;
        }
        let due = cx.now() + self.config.latency(to);
        self.post(cx, due, FromBroker::removes(to, job));
        true
    }

    /// Whether the data of a job is still on its way out to a peer.
    fn is_leaving(&self, now: SimTime, job: JobId) -> bool {
        let Some(held) = self.jobs.get(&job) else {
            return false;
        };
        let Some(Target::Peer(to)) = held.sent else {
            return false;
        };
        let transfer = self.transfer_to(to, held.spec.data_kib);
        transfer > SimDuration::ZERO && now <= held.sent_at + transfer
    }

    /// Whether a job that is held here is to be removed.
    #[must_use]
    pub fn is_unwanted(&self, job: JobId) -> bool {
        self.jobs.get(&job).is_some_and(|held| held.unwanted)
    }

    /// A job that is to be removed is here.
    pub(super) fn end_unwanted(&mut self, cx: &mut impl Cx<BrokerSends>, job: JobId) {
        let cancelled = Event::new(EventKind::Cancelled, job, self.config.domain);
        cx.emit(cx.now(), cancelled);
        if let Some(held) = self.release(job) {
            self.queue.remove(&held.arrival);
            self.parked.remove(&held.arrival);
            let end = JobEnd::without_run(job, EndState::Cancelled);
            self.pass_back(cx, held.route.from, end);
        }
    }

    /// How long so much data is on its way to a peer.
    pub(super) fn transfer_to(&self, to: DomainId, data_kib: u64) -> SimDuration {
        let bandwidth = self.config.neighbour(to).and_then(|one| one.bandwidth);
        transfer_time(data_kib, bandwidth)
    }
}
