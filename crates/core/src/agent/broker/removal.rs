//! Jobs that are to be removed: stopped while their data is on its way, or
//! followed to where they were sent, in an order that cannot lose the request.

use super::{BrokerAgent, Reminder};
use crate::agent::{Cancel, Cx};
use crate::conversation::{Arrival, FromBroker};
use crate::envelope::Undelivered;
use crate::ids::{DomainId, JobId};
use crate::message::{EndState, JobEnd, Target};

impl BrokerAgent {
    /// Removes a job, here or wherever it was sent; `false` if it is not
    /// known here (any more). One that is looked for is removed when it is known
    /// where it is.
    pub(super) fn remove(&mut self, cx: &mut impl Cx<FromBroker>, job: JobId) -> bool {
        let mut is_sought = false;
        for search in self.searches_of(job).filter(|search| search.held) {
            search.unwanted = true;
            is_sought = true;
        }
        if is_sought {
            return true;
        }
        let known = self.inside(cx, Cancel(job));
        if known {
            self.note_removed(job);
        }
        known
    }

    /// A job has been found, or is here again: it may be one to be removed.
    pub(super) fn remove_unwanted(&mut self, cx: &mut impl Cx<FromBroker>, job: JobId) {
        if self.broker.is_unwanted(job) {
            self.remove(cx, job);
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
        let job_id = job.spec.id;
        let missed = self
            .notes
            .sent_as(job, target)
            .is_some_and(|sent| !sent.told);
        if missed && self.broker.is_unwanted(job_id) {
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
        let Some(sent) = self.notes.sent_to(job, target) else {
            return;
        };
        sent.perhaps_removed |= matches!(result, Ok(()) | Err(NoAnswer | Declined(_)));
        if matches!(result, Ok(()) | Err(Declined(_))) {
            return;
        }
        sent.told = !is_partner;
        if !is_partner {
            self.remind_of(cx, Reminder::Remove(target, job));
        }
    }

    /// A peer has shown that it lives: it is asked to remove what could not be
    /// asked for earlier.
    pub(super) fn ask_again_to_remove(&mut self, cx: &mut impl Cx<FromBroker>, peer: DomainId) {
        let target = Target::Peer(peer);
        let missed = self.notes.under_way.iter().filter(|((job, _), sent)| {
            let there = sent.target == target && sent.confirmed;
            there && !sent.told && self.broker.is_unwanted(*job)
        });
        let missed: Vec<JobId> = missed.map(|((job, _), _)| *job).collect();
        for job in missed {
            self.ask_to_remove(cx, job, target);
        }
    }
}
