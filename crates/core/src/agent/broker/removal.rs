//! Jobs that are to be removed: stopped while their data is on its way, or
//! followed to where they were sent, in an order that cannot lose the request.

use super::notes::{UnderWay, visit_before};
use super::{BrokerAgent, Reminder};
use crate::agent::Cx;
use crate::conversation::{Arrival, FromBroker};
use crate::envelope::Undelivered;
use crate::event::Party;
use crate::ids::{DomainId, JobId};
use crate::message::{EndState, JobEnd, Target};

impl BrokerAgent {
    /// Removes a job on behalf of this peer, or of a client, here or wherever it was
    /// sent; `false` if it is not known here (any more). One that is looked for is
    /// removed when it is known where it is.
    pub(super) fn remove(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        job: JobId,
        by: Option<DomainId>,
    ) -> bool {
        if self.is_sought_for(job, |from| from == by) {
            return true;
        }
        let known = self.broker.cancel(&mut self.notes.writing(cx), job, by);
        if known {
            self.note_removed(job);
        }
        known || (by.is_none() && self.is_sought_for(job, |_| true))
    }

    /// For whom a peer asks to remove a job. A link may be that of a client, whose jobs
    /// have entered here: for itself.
    pub(super) fn on_behalf_of(&self, job: JobId, from: Target) -> Option<DomainId> {
        let peer = from.peer()?;
        let record = self.notes.store.get(job);
        let is_its = record.is_some_and(|record| record.came_from(Party::Broker(peer)));
        let entered = is_its && !self.broker.has_come_from(job, peer);
        (!entered).then_some(peer)
    }

    /// Whether a job is looked for that somebody of this kind has brought: it is then
    /// removed when it is known where it is.
    fn is_sought_for(&mut self, job: JobId, who: impl Fn(Option<DomainId>) -> bool) -> bool {
        let mut is_sought = false;
        for search in self.searches_of(job).filter(|search| search.held) {
            if who(search.from()) {
                search.unwanted = true;
                is_sought = true;
            }
        }
        is_sought
    }

    /// A job is here again: it may be one to be removed.
    pub(super) fn remove_unwanted(&mut self, cx: &mut impl Cx<FromBroker>, job: JobId) {
        if self.broker.is_unwanted(job) {
            let by = self.broker.route(job).and_then(|route| route.from);
            self.remove(cx, job, by);
        }
    }

    /// A job that was to be removed may have ended here.
    pub(super) fn note_removed(&mut self, job: JobId) {
        self.note_end(JobEnd::without_run(job, EndState::Cancelled));
    }

    /// Asks a receiver to remove a job, unless the job may still be on its way.
    fn ask_to_remove(&mut self, cx: &mut impl Cx<FromBroker>, job: JobId, target: Target) {
        if let Some(request) = self.notes.removes(job, target) {
            self.write_to(cx, target, request);
        }
    }

    /// A receiver has confirmed to have a job: it is asked to remove it if
    /// that was wanted meanwhile.
    pub(super) fn remove_confirmed(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        job: &Arrival,
        target: Target,
    ) {
        let (job_id, hop) = visit_before(job, target);
        let sent = self.notes.sent_as(job, target);
        let missed = sent.is_some_and(|sent| !sent.told);
        if missed && self.broker.is_unwanted_at(job_id, hop) {
            self.ask_to_remove(cx, job_id, target);
        }
    }

    /// What has become of a request to remove a job. Who answers it has the job no
    /// more, or never had it. A peer with a session that did not is asked again when
    /// it shows that it lives, others after a while, for as long as the job is there.
    pub(super) fn note_asked_to_remove(
        &mut self,
        cx: &impl Cx<FromBroker>,
        job: JobId,
        target: Target,
        result: Result<(), Undelivered>,
    ) {
        use Undelivered::{Declined, NoAnswer};
        let is_partner = self.partners.has(target);
        let is_answered = matches!(result, Ok(()) | Err(Declined(_)));
        let mut is_there = false;
        let unwanted = |sent: &&mut UnderWay| {
            let (_, hop) = visit_before(&sent.job, target);
            sent.target == target && self.broker.is_unwanted_at(job, hop)
        };
        for sent in self.notes.visits_of(job).filter(unwanted) {
            sent.perhaps_removed |= is_answered || result == Err(NoAnswer);
            sent.told = is_answered || !is_partner;
            is_there = true;
        }
        if is_there && !is_answered && !is_partner {
            self.remind_of(cx, Reminder::Remove(target, job));
        }
    }

    /// A peer has shown that it lives: it is asked to remove what could not be
    /// asked for earlier.
    pub(super) fn ask_again_to_remove(&mut self, cx: &mut impl Cx<FromBroker>, peer: DomainId) {
        let target = Target::Peer(peer);
        let (to_remove, under_way) = (&mut self.notes.to_remove, &self.notes.under_way);
        let mut missed = Vec::new();
        to_remove.retain(|job| {
            let mut visits = under_way.range((*job, 0)..=(*job, u32::MAX)).peekable();
            let is_there = visits.peek().is_some();
            let is_missed = |((_, hop), sent): &(&(JobId, u32), &UnderWay)| {
                let there = sent.target == target && sent.confirmed;
                there && !sent.told && self.broker.is_unwanted_at(*job, *hop)
            };
            missed.extend(visits.filter(is_missed).map(|_| *job));
            is_there
        });
        for job in missed {
            self.ask_to_remove(cx, job, target);
        }
    }
}
