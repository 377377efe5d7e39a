//! What becomes of messages that do not arrive, and of jobs whose service is
//! gone.

use super::notes::UnderWay;
use super::{BrokerAgent, Reminder};
use crate::agent::SAY_AGAIN;
use crate::agent::conversation::{FromBroker, ToLrms, ToPeer};
use crate::agent::envelope::{Fate, Message, Undelivered};
use crate::agent::{Cx, Handle};
use crate::event::{Event, EventKind, MessageKind, Party};
use crate::ids::JobId;
use crate::job::Reason;
use crate::message::Target;

/// A service has stopped answering: touch is lost with the jobs that it had
/// confirmed, or may have.
/// The answer is how many there were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lost(pub Target);

impl Handle<Lost> for BrokerAgent {
    type Answer = usize;

    fn handle(&mut self, cx: &mut impl Cx<FromBroker>, Lost(target): Lost) -> usize {
        self.notes.now = self.notes.now.max(cx.now());
        let lost = self.lose_all(cx, |sent| sent.target == target && sent.is_there());
        self.settle();
        lost
    }
}

impl BrokerAgent {
    /// Gives up the jobs under way of which this is true; answers how many
    /// there were.
    pub(super) fn lose_all(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        which: impl Fn(&UnderWay) -> bool,
    ) -> usize {
        let lost = self.notes.under_way.iter().filter(|(_, sent)| which(sent));
        let lost: Vec<(JobId, Target)> = lost.map(|(job, sent)| (*job, sent.target)).collect();
        for &(job, target) in &lost {
            self.notes.under_way.remove(&job);
            self.lose_touch(cx, job, target);
        }
        lost.len()
    }

    /// Learns what became of a message.
    pub(super) fn note_fate(&mut self, cx: &mut impl Cx<FromBroker>, fate: Fate<FromBroker>) {
        let Fate { envelope, result } = fate;
        if let (Err(_), Some(kind)) = (result, envelope.message.kind()) {
            self.notes.undelivered.count(kind);
        }
        match envelope.message {
            FromBroker::Lrms(cluster, what) => {
                let target = Target::Cluster(cluster);
                match what {
                    ToLrms::Dispatch(job) => self.note_job_sent(cx, job.spec.id, target, result),
                    ToLrms::Cancel(job) => self.note_asked_to_remove(cx, job, target, result),
                    ToLrms::Locate(job) => self.note_answer(cx, job, target, result),
                }
            }
            FromBroker::Peer(peer, what) => {
                let target = Target::Peer(peer);
                match what {
                    ToPeer::Forward(job) => self.note_job_sent(cx, job.spec.id, target, result),
                    ToPeer::Cancel(job) => self.note_asked_to_remove(cx, job, target, result),
                    ToPeer::Locate(job) => self.note_answer(cx, job, target, result),
                    ToPeer::Info(_) if result.is_err() => self.partners.want_full(peer),
                    ToPeer::News(news) if result.is_err() => self.partners.miss(peer, news),
                    ToPeer::News(_) | ToPeer::Info(_) => {}
                }
            }
            FromBroker::Client(_) => {}
        }
    }

    /// Who answers a request to remove a job has the job no more, or never had
    /// it; others are asked again.
    fn note_asked_to_remove(
        &mut self,
        cx: &impl Cx<FromBroker>,
        job: JobId,
        target: Target,
        result: Result<(), Undelivered>,
    ) {
        match result {
            Ok(()) | Err(Undelivered::Declined(_)) => {}
            Err(_) => self.note_not_asked(cx, job, target),
        }
    }

    fn note_job_sent(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        job: JobId,
        target: Target,
        result: Result<(), Undelivered>,
    ) {
        match result {
            Err(Undelivered::CalledBack) => {}
            Ok(()) => {
                if let Some(sent) = self.sent_there(job, target) {
                    sent.confirmed = true;
                    sent.has_data = false;
                    self.remove_confirmed(cx, job);
                }
            }
            Err(error) if self.partners.has(target) => self.handle_silence(cx, job, target, error),
            Err(error) if error.is_passing() && self.may_be_there(job, target, error) => {
                self.remind_of(cx, Reminder::Dispatch(job, target));
            }
            Err(error) => self.handle_lost_job(cx, job, target, error),
        }
    }

    /// Whether an own cluster may have a job that was sent there without an
    /// answer, or has one that was found there: it is sent the job again under the
    /// same key, until it answers or is [`Lost`].
    fn may_be_there(&mut self, job: JobId, target: Target, error: Undelivered) -> bool {
        let sent = self.notes.under_way.get_mut(&job);
        let sent = sent.filter(|sent| sent.target == target);
        let Some((sent, Target::Cluster(_))) = sent.zip(Some(target)) else {
            return false;
        };
        sent.perhaps |= error == Undelivered::NoAnswer || sent.confirmed;
        sent.confirmed = false;
        sent.perhaps
    }

    /// A job that is there, or may be, and with which touch is not lost.
    fn sent_there(&mut self, job: JobId, target: Target) -> Option<&mut UnderWay> {
        let is_there = self.broker.whereabouts(job) == Some(Some(target));
        let sent = self.notes.under_way.get_mut(&job);
        sent.filter(|_| is_there)
    }

    /// A peer with a session did not take a job. If it certainly has not seen
    /// it, the job waits for the next cycle; if it may have, the job is kept
    /// as sent until the peer says so.
    fn handle_silence(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        job: JobId,
        target: Target,
        error: Undelivered,
    ) {
        let Some(sent) = self.sent_there(job, target) else {
            return;
        };
        sent.perhaps |= error == Undelivered::NoAnswer || sent.confirmed;
        match error {
            Undelivered::Declined(_) => self.handle_lost_job(cx, job, target, error),
            // One that was found there is sent again as well, for its end may have
            // been told already.
            _ if sent.perhaps => sent.confirmed = false,
            _ => {
                let (by, to) = (Party::from(target), self.notes.domain);
                let reason = Reason::ServiceLost;
                cx.emit(
                    self.notes.now,
                    Event::new(EventKind::Refused, job, by)
                        .to(to)
                        .because(reason),
                );
                self.notes.undelivered.count(MessageKind::Refuse);
                self.notes.under_way.remove(&job);
                self.broker.take_back(job, target);
                self.remove_unwanted(cx, job);
            }
        }
    }

    /// A job did not get where it was sent. If the receiver cannot have it,
    /// the job comes back like a refused one and the next candidate is tried;
    /// if it may have it, sending it elsewhere could run it twice, so touch with
    /// it is lost.
    fn handle_lost_job(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        job: JobId,
        target: Target,
        error: Undelivered,
    ) {
        let Some(sent) = self.sent_there(job, target) else {
            return;
        };
        let reason = match error {
            Undelivered::NotReached | Undelivered::Busy if sent.confirmed => {
                return self.lose_touch(cx, job, target);
            }
            Undelivered::NoAnswer => return self.lose_touch(cx, job, target),
            Undelivered::Declined(reason) => reason.unwrap_or(Reason::ServiceLost),
            Undelivered::NotReached | Undelivered::Busy | Undelivered::CalledBack => {
                Reason::ServiceLost
            }
        };
        self.notes.under_way.remove(&job);
        let by = Party::from(target);
        cx.emit(
            self.notes.now,
            Event::new(EventKind::Refused, job, by)
                .to(self.notes.domain)
                .because(reason),
        );
        // Nobody sent this refusal, so it is counted as one that never came.
        self.notes.undelivered.count(MessageKind::Refuse);
        self.refused(cx, job, target, reason);
    }

    /// Something is to be said again after a while on the wall.
    pub(super) fn remind_of(&mut self, cx: &impl Cx<FromBroker>, reminder: Reminder) {
        self.reminders.insert((cx.wall() + SAY_AGAIN, reminder));
    }
}
