//! What becomes of letters that do not arrive, and of jobs whose service is
//! gone.

use super::BrokerMachine;
use crate::real_time::letter::Message;
use crate::real_time::outbox::{Delivery, TransportError};
use gridrig_core::event::{Event, EventKind, EventSink, MessageKind, Party};
use gridrig_core::ids::JobId;
use gridrig_core::job::Reason;
use gridrig_core::message::{JobEnd, Target};
use gridrig_core::time::SimTime;

impl BrokerMachine {
    /// Learns how the delivery of a letter ended.
    pub(super) fn note_delivery(&mut self, delivery: Delivery) {
        let Delivery { letter, result } = delivery;
        let job = match letter.message {
            Message::Dispatch { ref spec, .. } | Message::Forward { ref spec, .. } => Some(spec.id),
            _ => None,
        };
        if let (Err(_), Some(kind)) = (&result, letter.message.kind()) {
            self.undelivered.count(kind);
        }
        if let (Err(_), Party::Broker(peer)) = (&result, letter.to) {
            match &letter.message {
                Message::Update(_) => self.partners.want_full(peer),
                Message::Notice(JobEnd { job, .. }) | Message::Refusal { job, .. } => {
                    self.partners.owe(peer, *job);
                }
                _ => {}
            }
        }
        if let (Message::Locate(job), Some(target)) = (&letter.message, target_of(letter.to)) {
            return self.note_answer(*job, target, &result);
        }
        if let (Message::Cancel(job), Some(target)) = (&letter.message, target_of(letter.to)) {
            // Who answers has the job no more, or never had it.
            match result {
                Ok(()) | Err(TransportError::Answered { .. }) => {}
                Err(_) => self.note_not_asked(*job, target),
            }
            return;
        }
        let (Some(job), Some(target)) = (job, target_of(letter.to)) else {
            return;
        };
        match result {
            Err(TransportError::CalledBack) => {}
            Ok(()) if self.broker.whereabouts(job) == Some(Some(target)) => {
                if let Some(sent) = self.under_way.get_mut(&job) {
                    sent.confirmed = true;
                    sent.recall = None;
                }
                self.remove_confirmed(job);
            }
            Ok(()) => {}
            Err(error) if self.partners.has(target) => self.handle_silence(job, target, &error),
            Err(error) => self.handle_lost_job(job, target, &error),
        }
    }

    /// A peer with a session did not take a job. If it certainly has not seen
    /// it, the job waits for the next cycle; if it may have, the job stays on
    /// the books until the peer says so.
    fn handle_silence(&mut self, job: JobId, target: Target, error: &TransportError) {
        if self.broker.whereabouts(job) != Some(Some(target)) {
            return;
        }
        let perhaps = self.under_way.get_mut(&job).is_some_and(|sent| {
            sent.perhaps |= matches!(error, TransportError::NoAnswer { .. });
            sent.perhaps
        });
        match error {
            TransportError::Answered { .. } => self.handle_lost_job(job, target, error),
            _ if perhaps => {}
            _ => {
                let (by, to) = (party_of(target), self.here);
                let reason = Reason::ServiceLost;
                self.recorder.emit(
                    self.now,
                    Event::new(EventKind::Refused, job, by)
                        .to(to)
                        .because(reason),
                );
                self.undelivered.count(MessageKind::Refuse);
                self.under_way.remove(&job);
                self.broker.take_back(job, target);
                if self.broker.is_unwanted(job) {
                    self.cancel(self.now, job);
                }
            }
        }
    }

    /// A service has stopped answering: the jobs it had confirmed are lost.
    /// Answers how many there were.
    pub fn handle_lost(&mut self, now: SimTime, target: Target) -> usize {
        self.set_now(now);
        let there = self
            .under_way
            .iter()
            .filter(|(_, sent)| sent.target == target && sent.confirmed);
        let lost: Vec<JobId> = there.map(|(job, _)| *job).collect();
        for &job in &lost {
            self.under_way.remove(&job);
            if self.broker.whereabouts(job) == Some(Some(target)) {
                self.fail(job);
            }
        }
        self.settle();
        lost.len()
    }

    /// A job did not get where it was sent. If the receiver cannot have it,
    /// the job comes back like a refused one and the next candidate is tried;
    /// if it may have it, sending it elsewhere could run it twice, so it is
    /// given up by name.
    fn handle_lost_job(&mut self, job: JobId, target: Target, error: &TransportError) {
        if self.broker.whereabouts(job) != Some(Some(target)) {
            return;
        }
        let reason = match error {
            TransportError::NoAnswer { .. } => return self.fail(job),
            TransportError::Answered { reason, .. } => reason.unwrap_or(Reason::ServiceLost),
            TransportError::NotReached { .. }
            | TransportError::Busy { .. }
            | TransportError::CalledBack => Reason::ServiceLost,
        };
        self.under_way.remove(&job);
        let by = party_of(target);
        self.recorder.emit(
            self.now,
            Event::new(EventKind::Refused, job, by)
                .to(self.here)
                .because(reason),
        );
        // Nobody sent this refusal, so it is counted as one that never came.
        self.undelivered.count(MessageKind::Refuse);
        self.refused(job, target, reason);
    }
}

pub(super) fn party_of(target: Target) -> Party {
    match target {
        Target::Cluster(cluster) => Party::Lrms(cluster),
        Target::Peer(domain) => Party::Broker(domain),
    }
}

fn target_of(party: Party) -> Option<Target> {
    match party {
        Party::Lrms(cluster) => Some(Target::Cluster(cluster)),
        Party::Broker(domain) => Some(Target::Peer(domain)),
        Party::Client => None,
    }
}
