//! What becomes of messages that do not arrive, and of jobs whose service is
//! gone.

use super::notes::{UnderWay, visit_before};
use super::{BrokerAgent, Reminder};
use crate::agent::SAY_AGAIN;
use crate::agent::{Cx, Handle};
use crate::conversation::{Arrival, Asked, Deal, FromBroker, ToLrms, ToPeer};
use crate::envelope::{Envelope, Fate, Message, Undelivered};
use crate::event::{Event, EventKind, MessageKind};
use crate::job::Reason;
use crate::message::Target;

/// A service has stopped answering: touch is lost with the jobs that it had
/// confirmed, or may have, and what it was asked for it will not delegate.
/// The answer is how many there were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lost(pub Target);

impl Handle<Lost> for BrokerAgent {
    type Answer = usize;

    fn handle(&mut self, cx: &mut impl Cx<FromBroker>, Lost(target): Lost) -> usize {
        self.notes.now = self.notes.now.max(cx.now());
        let lost = self.lose_all(cx, |sent| sent.target == target && sent.is_there());
        let asked = self.broker.asked();
        let asked = asked.filter(|(_, peer)| Target::Peer(*peer) == target);
        let mut asked: Vec<Asked> = asked.map(|(asked, _)| asked).collect();
        asked.sort_unstable_by_key(|asked| asked.job);
        for asked in asked {
            self.hear_deal(cx, target, Deal::Reject(asked));
        }
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
        let lost: Vec<_> = lost.map(|(visit, sent)| (*visit, sent.target)).collect();
        for &(visit, target) in &lost {
            self.notes.under_way.remove(&visit);
            self.lose_touch(cx, visit, target);
        }
        lost.len()
    }

    /// Learns what became of a message.
    pub(super) fn note_fate(&mut self, cx: &mut impl Cx<FromBroker>, fate: Fate<FromBroker>) {
        let Fate { envelope, result } = fate;
        if let (Err(_), Some(kind)) = (result, envelope.message.kind()) {
            self.notes.undelivered.count(kind);
        }
        let Some(target) = envelope.message.target() else {
            return;
        };
        use FromBroker::{Lrms, Peer};
        if let (Peer(_, ToPeer::Request(..) | ToPeer::Deal(_)), Err(error)) =
            (&envelope.message, result)
        {
            return self.note_unsaid(cx, target, envelope, error);
        }
        if let Lrms(_, ToLrms::Claim(..)) = &envelope.message {
            return self.note_claim_said(cx, envelope, result);
        }
        match envelope.message {
            Lrms(_, ToLrms::Dispatch(job)) | Peer(_, ToPeer::Forward(job)) => {
                self.note_job_sent(cx, job, target, result);
            }
            Lrms(_, ToLrms::Cancel(job)) | Peer(_, ToPeer::Cancel(job)) => {
                self.note_asked_to_remove(cx, job, target, result);
            }
            Peer(to, ToPeer::Info(_)) if result.is_err() => self.partners.want_full(to),
            Peer(to, ToPeer::News(news)) if result.is_err() => self.partners.miss(to, news),
            Lrms(_, ToLrms::Claim(..)) | Peer(..) | FromBroker::Client(_) => {}
        }
    }

    /// What was said about processors has not arrived for certain. A request that has
    /// not, or was declined, is rejected by that; anything else is said until it is heard,
    /// in the same message, which counts once.
    fn note_unsaid(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        peer: Target,
        envelope: Envelope<FromBroker>,
        error: Undelivered,
    ) {
        let FromBroker::Peer(_, said) = &envelope.message else {
            return;
        };
        match said {
            ToPeer::Request(job, at) if error != Undelivered::NoAnswer => {
                let (job, at) = (job.spec.id, *at);
                self.hear_deal(cx, peer, Deal::Reject(Asked { job, at }));
            }
            _ if matches!(error, Undelivered::Declined(_)) => {}
            _ => self.remind_of(cx, Reminder::Say(Box::new(envelope))),
        }
    }

    /// Whether a job has got where it was sent. If the receiver cannot have it, it
    /// is here again; if it may have it, sending it elsewhere could run it twice.
    fn note_job_sent(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        job: Box<Arrival>,
        target: Target,
        result: Result<(), Undelivered>,
    ) {
        if job.sought {
            return self.note_answer(cx, job, target, result);
        }
        // Touch with it may be lost, or it may be over.
        let Some(sent) = self.notes.sent_as(&job, target) else {
            return;
        };
        let error = match result {
            Ok(()) => {
                sent.confirmed = true;
                sent.has_data = false;
                return self.remove_confirmed(cx, &job, target);
            }
            Err(Undelivered::CalledBack) => return,
            Err(error) => error,
        };
        let was_there = sent.confirmed;
        sent.perhaps |= error == Undelivered::NoAnswer || was_there;
        let reason = match (error, target) {
            (Undelivered::Declined(reason), _) => reason.unwrap_or(Reason::ServiceLost),
            // It is kept as sent until the peer says so. One that was found there is
            // sent again as well, for its end may have been told already.
            _ if sent.perhaps && self.partners.has(target) => {
                sent.confirmed = false;
                self.notes
                    .unsure
                    .insert((target, visit_before(&job, target)));
                return;
            }
            // It is sent there again under its key, until that is answered, or the
            // LRMS is [`Lost`].
            (_, Target::Cluster(_)) if sent.perhaps => {
                sent.confirmed = false;
                return self.remind_of(cx, Reminder::Bring(target, job));
            }
            // Anywhere else it could run a second time.
            _ if was_there || error == Undelivered::NoAnswer => {
                let visit = visit_before(&job, target);
                self.notes.under_way.remove(&visit);
                return self.lose_touch(cx, visit, target);
            }
            _ => Reason::ServiceLost,
        };
        self.notes.under_way.remove(&visit_before(&job, target));
        let (here, job) = (self.notes.domain, job.spec.id);
        let refused = Event::new(EventKind::Refused, job, here);
        cx.emit(self.notes.now, refused.to(here).because(reason));
        // Nobody sent this refusal, so it is counted as one that never came.
        self.notes.undelivered.count(MessageKind::Refuse);
        match error {
            // The next candidate is tried.
            Undelivered::Declined(_) => self.refused(cx, job, target, reason),
            _ if !self.partners.has(target) => self.refused(cx, job, target, reason),
            // A peer with a session may get it yet.
            _ => {
                self.broker.take_back(job, target);
                self.remove_unwanted(cx, job);
            }
        }
    }

    /// Something is to be said again after a while on the wall.
    pub(super) fn remind_of(&mut self, cx: &impl Cx<FromBroker>, reminder: Reminder) {
        let at = cx.wall() + SAY_AGAIN;
        self.reminders.entry(at).or_default().push(reminder);
    }
}
