//! Parts of jobs that several clusters run together, over links that may fail: all begin
//! or none does.
//!
//! The LRMS of the largest part tells of the job. It is told to begin when all others have
//! confirmed that they do, and it does not if it hears of that too late; so whatever is
//! lost, a job that has started has all its processors until its end. What others hold for
//! one that has not is released.

use super::notes::{Begins, Notes};
use super::{BrokerAgent, Reminder};
use crate::agent::{Cx, Handle};
use crate::conversation::{Arrival, Asked, ClaimAnswer, ClaimStep, FromBroker, Passed, ToLrms};
use crate::envelope::{Envelope, Received, Told, Undelivered};
use crate::event::MessageKind;
use crate::ids::ClusterId;
use crate::message::Target;
use crate::time::SimTime;

impl Notes {
    /// What goes out of what the broker says of processors for a part of a job.
    pub fn claim(
        &mut self,
        to: ClusterId,
        (asked, step): (Asked, ClaimStep<Passed>),
        due: SimTime,
    ) -> Option<FromBroker> {
        let (job, target) = (asked.job, Target::Cluster(to));
        let step = step.with_job(|passed| {
            self.claimed.insert(job, passed.route);
            self.request(passed, due)
        })?;
        let leads = match step {
            ClaimStep::Hold { .. } | ClaimStep::Reserve { .. } => None,
            ClaimStep::Begin { leads, .. } => Some(leads),
            ClaimStep::Release => {
                let its = |begins: &Begins| begins.asked_at == asked.at;
                if self.beginning.get(&job).is_some_and(its)
                    && let Some(begins) = self.beginning.remove(&job)
                    && begins.last.is_some()
                {
                    // It was dispatched, and that will never be said.
                    self.undelivered.count(MessageKind::Dispatch);
                }
                // It may have gone there as a whole since.
                let sent = self.sent_to(job, target);
                if sent.is_some_and(|sent| sent.job.meant == Some(asked.at)) {
                    self.forget_sent(job, target);
                }
                None
            }
        };
        let said = FromBroker::Lrms(to, ToLrms::Claim(asked, step));
        let Some(leads) = leads else {
            return Some(said);
        };
        let begins = self.beginning.entry(job).or_default();
        begins.asked_at = asked.at;
        if !leads {
            begins.others.insert(to);
            return Some(said);
        }
        begins.last = Some((due, said));
        let spec = self.store.get(job)?.spec.clone();
        let sent = Arrival {
            id: Some(job),
            route: self.claimed.get(&job).copied(),
            meant: Some(asked.at),
            ..Arrival::of(spec)
        };
        self.note_sent(target, Box::new(sent), false);
        // A request to remove it goes there when it is known to have begun.
        if let Some(sent) = self.sent_to(job, target) {
            sent.perhaps = true;
        }
        self.last_to_begin(asked).map(|(_, said)| said)
    }

    /// What is said to the last one, once all others have confirmed.
    fn last_to_begin(&mut self, asked: Asked) -> Option<(SimTime, FromBroker)> {
        let begins = self.beginning.get(&asked.job)?;
        if begins.asked_at != asked.at || !begins.others.is_empty() {
            return None;
        }
        self.beginning.remove(&asked.job)?.last
    }
}

impl BrokerAgent {
    /// What has become of something that was said of processors for a part of a job.
    pub(super) fn note_claim_said(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        envelope: Envelope<FromBroker>,
        result: Result<(), Undelivered>,
    ) {
        use ClaimStep::{Begin, Hold, Release, Reserve};
        let FromBroker::Lrms(to, ToLrms::Claim(asked, step)) = &envelope.message else {
            return;
        };
        let (to, asked) = (*to, *asked);
        let target = Target::Cluster(to);
        match (step, result) {
            (Begin { leads: false, .. }, Ok(())) => {
                let begins = self.notes.beginning.get_mut(&asked.job);
                if let Some(begins) = begins.filter(|it| it.asked_at == asked.at) {
                    begins.others.remove(&to);
                }
                if let Some((due, said)) = self.notes.last_to_begin(asked) {
                    self.notes.post(cx, None, due, said);
                }
            }
            (Begin { leads: true, .. }, Ok(())) => {
                let sent = self.notes.sent_to(asked.job, target);
                if let Some(sent) = sent.filter(|sent| sent.job.meant == Some(asked.at)) {
                    sent.confirmed = true;
                    let job = sent.job.clone();
                    self.remove_confirmed(cx, &job, target);
                }
            }
            // Of those that were told in vain to begin or to let go the receiver has told
            // itself what it has to.
            (_, Ok(())) | (Begin { leads: true, .. } | Release, Err(Undelivered::Declined(_))) => {}
            (Begin { leads: true, .. } | Release, Err(_)) => {
                self.remind_of(cx, Reminder::Say(Box::new(envelope)));
            }
            // It may hold them, and says so.
            (Hold { .. }, Err(Undelivered::NoAnswer)) => {}
            // A search asks many times: nothing is given up for a message that is lost.
            (Reserve { .. }, Err(Undelivered::NoAnswer)) => {
                self.remind_of(cx, Reminder::Say(Box::new(envelope)));
            }
            (Hold { .. } | Reserve { .. } | Begin { .. }, Err(_)) => {
                let (from, said) = (target, (asked, ClaimAnswer::No));
                self.inside(cx, Told { from, said });
            }
        }
    }
}

/// An LRMS holds processors for a part of a job, or does not, or no more. The answer is
/// whether the message is new.
impl Handle<Received<(Asked, ClaimAnswer)>> for BrokerAgent {
    type Answer = bool;

    fn handle(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        heard: Received<(Asked, ClaimAnswer)>,
    ) -> bool {
        self.notes.now = self.notes.now.max(cx.now());
        let (from, said) = (heard.from, heard.said);
        let new = self.notes.store.hear(from.into(), heard.id);
        if new {
            self.inside(cx, Told { from, said });
            self.settle();
            self.find_cycle(heard.meant.unwrap_or(self.notes.now));
        }
        new
    }
}
