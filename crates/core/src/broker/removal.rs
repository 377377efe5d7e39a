//! Jobs that are to be removed: where they wait, while their data leaves, or
//! wherever they were sent.

use super::{Broker, Held};
use crate::agent::{BrokerSends, Cx, FromBroker};
use crate::event::{Event, EventKind};
use crate::ids::{DomainId, JobId};
use crate::message::{EndState, JobEnd, Target};
use crate::time::{SimDuration, SimTime, transfer_time};

impl Broker {
    /// Removes a job on behalf of whoever brought it, or of a client: here if it
    /// still waits, else wherever it was sent. `false` if it is not known here (any
    /// more).
    ///
    /// Over a cycle of links a job may be here several times. The request goes the
    /// way that the job has gone, visit by visit, so that nobody on the way brings
    /// the job again, to a broker that has forgotten it, as one that is wanted.
    ///
    /// A request that crosses a refusal is not lost: the job ends when it comes
    /// back. One that comes again is not sent on again: over a cycle of links, where
    /// the job never arrived at the last of them, it would go round for ever.
    pub(crate) fn cancel(
        &mut self,
        cx: &mut impl Cx<BrokerSends>,
        job: JobId,
        by: Option<DomainId>,
    ) -> bool {
        self.now = cx.now();
        let Some(arrival) = self.visit_to_remove(job, by) else {
            return false;
        };
        let latest = self.jobs.get(&job);
        let is_latest = latest.is_some_and(|held| held.arrival == arrival);
        // What was asked for it is not asked any more.
        let ours = is_latest
            .then(|| self.matched(cx, |own, broker, cx| own.withdraw(broker, cx, job)))
            .flatten();
        // A request would overtake data that is on its way: that is stopped.
        let leaves = ours != Some(true) && is_latest && self.is_leaving(cx.now(), job);
        let stopped = ours == Some(true) || leaves && cx.recall(job);
        let asked = Event::new(EventKind::CancelRequested, job, self.config.domain);
        let Some(held) = self.visits_mut(job).find(|held| held.arrival == arrival) else {
            return false;
        };
        if !held.unwanted {
            cx.emit(cx.now(), asked);
        }
        if stopped {
            let (sent, processors) = (held.sent.take(), held.spec.processors());
            if let (Some(to), true) = (sent, leaves) {
                self.never_came(to, processors);
            }
            self.end_unwanted(cx, job);
            return true;
        }
        held.unwanted = true;
        let sent = held.sent;
        let followed = std::mem::replace(&mut held.followed, sent.is_some());
        match sent {
            None if is_latest => self.end_unwanted(cx, job),
            Some(to) if !followed => {
                let due = cx.now() + self.config.latency(to);
                self.post(cx, due, FromBroker::removes(to, job));
            }
            _ => {}
        }
        true
    }

    /// All visits of a job, the earliest first.
    pub(super) fn visits(&self, job: JobId) -> impl DoubleEndedIterator<Item = &Held> {
        let earlier = self.earlier.get(&job).into_iter().flatten();
        earlier.chain(self.jobs.get(&job))
    }

    /// The same, to change them.
    pub(super) fn visits_mut(&mut self, job: JobId) -> impl DoubleEndedIterator<Item = &mut Held> {
        let earlier = self.earlier.get_mut(&job).into_iter().flatten();
        earlier.chain(self.jobs.get_mut(&job))
    }

    /// Whether a peer has forwarded a job to this broker that is here still.
    pub(crate) fn has_come_from(&self, job: JobId, peer: DomainId) -> bool {
        let mut visits = self.visits(job);
        visits.any(|held| held.route.from == Some(peer))
    }

    /// Which visit is meant, by its arrival, when a job is to be removed for this
    /// peer, or a client: the first that is from there and was not followed yet. What
    /// never came from a client is removed for it all the same.
    fn visit_to_remove(&self, job: JobId, by: Option<DomainId>) -> Option<u64> {
        let is_its = |held: &&Held| held.route.from == by;
        let any = by.is_none() && !self.visits(job).any(|held| is_its(&held));
        let its = || self.visits(job).filter(|held| any || is_its(held));
        let open = its().find(|held| !held.followed || held.sent.is_none());
        open.or_else(|| its().next_back()).map(|held| held.arrival)
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
    pub fn is_unwanted(&self, job: JobId) -> bool {
        self.jobs.get(&job).is_some_and(|held| held.unwanted)
    }

    /// The same of a visit with so many forwards.
    pub(crate) fn is_unwanted_at(&self, job: JobId, hop: u32) -> bool {
        let mut visits = self.visits(job);
        visits.any(|held| held.route.hop == hop && held.unwanted)
    }

    /// A job that is to be removed is here.
    pub(super) fn end_unwanted(&mut self, cx: &mut impl Cx<BrokerSends>, job: JobId) {
        let cancelled = Event::new(EventKind::Cancelled, job, self.config.domain);
        cx.emit(cx.now(), cancelled);
        self.matched(cx, |own, broker, cx| own.is_back(broker, cx, job));
        if let Some(held) = self.release(job) {
            self.queue.remove(&held.arrival);
            self.parked.remove(&held.arrival);
            self.resting
                .retain(|(_, arrival), _| *arrival != held.arrival);
            let end = JobEnd::without_run(job, EndState::Cancelled);
            self.pass_back(cx, held.route.from, end);
        }
    }

    /// Lets go of the latest visit of a job that is with this target.
    pub(super) fn let_go(&mut self, job: JobId, by: Target) -> Option<Held> {
        if self.jobs.get(&job)?.sent == Some(by) {
            return self.release(job);
        }
        let earlier = self.earlier.get_mut(&job)?;
        let latest = earlier.iter().rposition(|held| held.sent == Some(by))?;
        Some(earlier.remove(latest))
    }

    /// How long the data of a job is on its way to a peer; `None` if it has none that is known
    /// of, or the link has no bandwidth.
    pub(super) fn carries(&self, to: DomainId, job: &Held) -> Option<SimDuration> {
        let bandwidth = self.config.neighbour(to)?.bandwidth;
        let data_kib = job.spec.data_kib;
        (data_kib > 0 && bandwidth.is_some()).then(|| transfer_time(data_kib, bandwidth))
    }

    /// How long so much data is on its way to a peer.
    pub(super) fn transfer_to(&self, to: DomainId, data_kib: u64) -> SimDuration {
        let bandwidth = self.config.neighbour(to).and_then(|one| one.bandwidth);
        transfer_time(data_kib, bandwidth)
    }
}
