//! Jobs that are to be removed: stopped while their data is on its way, or
//! followed to where they were sent, in an order that cannot lose the request.

use super::{BrokerMachine, end_of};
use crate::real_time::letter::Message;
use crate::real_time::recall::Recall;
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::message::{EndState, Target};
use gridrig_core::time::SimTime;

impl BrokerMachine {
    /// Removes a job, here or wherever it was sent; `false` if it is not
    /// known here (any more).
    pub fn cancel(&mut self, now: SimTime, job: JobId) -> bool {
        self.set_now(now);
        let (recorder, out) = (&mut self.recorder, &mut self.out);
        let sent = self.under_way.get(&job);
        let recall = sent.and_then(|sent| sent.recall.as_ref());
        let stopped = self.broker.is_leaving(self.now, job)
            && recall.is_some_and(Recall::call_back)
            && self.broker.recall(self.now, job, recorder, out);
        let known = stopped || self.broker.cancel(self.now, job, recorder, out);
        if stopped {
            self.under_way.remove(&job);
        }
        if known {
            self.note_removed(job);
        }
        self.settle();
        known
    }

    /// A job that was to be removed may have ended here.
    pub(super) fn note_removed(&mut self, job: JobId) {
        if self.broker.whereabouts(job).is_none() {
            self.ledger.end(end_of(job, EndState::Cancelled));
        }
    }

    /// The letter just written can be called back until it leaves.
    pub(super) fn make_recallable(&mut self, job: JobId) {
        let recall = Recall::default();
        if let (Some(letter), Some(sent)) = (self.letters.last_mut(), self.under_way.get_mut(&job))
        {
            letter.recall = Some(recall.clone());
            sent.recall = Some(recall);
        }
    }

    /// Asks a receiver to remove a job, unless the job may still be on its way
    /// there: then it is asked when it has confirmed to have the job.
    pub(super) fn ask_to_remove(&mut self, job: JobId, to: Target) {
        if let Some(sent) = self.under_way.get_mut(&job) {
            // Data has a courier of its own, which this letter would overtake.
            if !sent.confirmed && (sent.perhaps || sent.recall.is_some()) {
                return;
            }
            sent.told = true;
        }
        match to {
            Target::Cluster(cluster) => self.write_to_lrms(cluster, Message::Cancel(job)),
            Target::Peer(peer) => self.write_to_peer(peer, Message::Cancel(job)),
        }
    }

    /// A receiver has confirmed to have a job: it is asked to remove it if
    /// that was wanted meanwhile.
    pub(super) fn remove_confirmed(&mut self, job: JobId) {
        let owed = self.under_way.get(&job).filter(|sent| !sent.told);
        if let Some(to) = owed.map(|sent| sent.target)
            && self.broker.is_unwanted(job)
        {
            self.ask_to_remove(job, to);
        }
    }

    /// A request to remove a job did not get there. A peer with a session is
    /// asked again when it shows that it lives, others after a while, for as
    /// long as the job is there.
    pub(super) fn note_not_asked(&mut self, job: JobId, target: Target) {
        let sent = self.under_way.get_mut(&job);
        let Some(sent) = sent.filter(|sent| sent.target == target) else {
            return;
        };
        sent.told = false;
        if self.partners.has(target) {
            return;
        }
        sent.told = true;
        let due = self.now + self.ask_again;
        let to = super::delivery::party_of(target);
        self.post(to, None, due, Message::Cancel(job));
    }

    /// A peer has shown that it lives: it is asked to remove what could not be
    /// asked for earlier.
    pub(super) fn ask_again_to_remove(&mut self, peer: DomainId) {
        let owed = self.under_way.iter().filter(|(job, sent)| {
            let there = sent.target == Target::Peer(peer) && sent.confirmed;
            there && !sent.told && self.broker.is_unwanted(**job)
        });
        let owed: Vec<JobId> = owed.map(|(job, _)| *job).collect();
        for job in owed {
            self.ask_to_remove(job, Target::Peer(peer));
        }
    }
}
