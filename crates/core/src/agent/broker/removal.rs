//! Jobs that are to be removed: stopped while their data is on its way, or
//! followed to where they were sent, in an order that cannot lose the request.

use super::{BrokerAgent, Reminder};
use crate::agent::conversation::{FromBroker, ToLrms, ToPeer};
use crate::agent::{Cancel, Cx};
use crate::ids::{DomainId, JobId};
use crate::message::{EndState, JobEnd, Target};

impl BrokerAgent {
    /// Removes a job, here or wherever it was sent; `false` if it is not
    /// known here (any more).
    pub(super) fn remove(&mut self, cx: &mut impl Cx<FromBroker>, job: JobId) -> bool {
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

    /// Asks a receiver to remove a job, unless the job may still be on its way
    /// there: then it is asked when it has confirmed to have the job.
    pub(super) fn ask_to_remove(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        job: JobId,
        target: Target,
    ) {
        if self.notes.may_ask_to_remove(job) {
            self.write_cancel(cx, job, target);
        }
    }

    pub(super) fn write_cancel(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        job: JobId,
        target: Target,
    ) {
        let request = match target {
            Target::Cluster(cluster) => FromBroker::Lrms(cluster, ToLrms::Cancel(job)),
            Target::Peer(peer) => FromBroker::Peer(peer, ToPeer::Cancel(job)),
        };
        self.write_to(cx, target, request);
    }

    /// A receiver has confirmed to have a job: it is asked to remove it if
    /// that was wanted meanwhile.
    pub(super) fn remove_confirmed(&mut self, cx: &mut impl Cx<FromBroker>, job: JobId) {
        let missed = self.notes.under_way.get(&job).filter(|sent| !sent.told);
        if let Some(to) = missed.map(|sent| sent.target)
            && self.broker.is_unwanted(job)
        {
            self.ask_to_remove(cx, job, to);
        }
    }

    /// A request to remove a job did not get there. A peer with a session is
    /// asked again when it shows that it lives, others after a while, for as
    /// long as the job is there.
    pub(super) fn note_not_asked(&mut self, cx: &impl Cx<FromBroker>, job: JobId, target: Target) {
        let sent = self.notes.under_way.get_mut(&job);
        let Some(sent) = sent.filter(|sent| sent.target == target) else {
            return;
        };
        sent.told = !self.partners.has(target);
        if sent.told {
            self.remind_of(cx, Reminder::Cancel(job, target));
        }
    }

    /// A peer has shown that it lives: it is asked to remove what could not be
    /// asked for earlier.
    pub(super) fn ask_again_to_remove(&mut self, cx: &mut impl Cx<FromBroker>, peer: DomainId) {
        let missed = self.notes.under_way.iter().filter(|(job, sent)| {
            let there = sent.target == Target::Peer(peer) && sent.confirmed;
            there && !sent.told && self.broker.is_unwanted(**job)
        });
        let missed: Vec<JobId> = missed.map(|(job, _)| *job).collect();
        for job in missed {
            self.ask_to_remove(cx, job, Target::Peer(peer));
        }
    }
}
