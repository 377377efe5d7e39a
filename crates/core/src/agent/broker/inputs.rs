//! What a broker does with jobs and news that reach it, and at its cycles.

use super::{BrokerAgent, Reminder};
use crate::agent::store::{Opened, Receipt, SubmitError};
use crate::agent::{Brought, Cancel, Cx, Drain, Due, Freeze, Handle};
use crate::conversation::{Arrival, FromBroker};
use crate::envelope::{Fate, Received, Told};
use crate::message::{EndState, JobEnd, News};

impl Handle<Arrival> for BrokerAgent {
    type Answer = Result<Receipt, SubmitError>;

    fn handle(&mut self, cx: &mut impl Cx<FromBroker>, arrival: Arrival) -> Self::Answer {
        let now = self.notes.now.max(cx.now());
        self.notes.now = now;
        let meant = arrival.meant.unwrap_or(now);
        // It may have been here in an earlier life.
        let again = arrival.key.is_some() && meant < self.born;
        if arrival.sought {
            return self.look_for(cx, arrival, again);
        }
        if again && !self.may_come_again(cx, &arrival) {
            return Err(SubmitError::NotFoundYet);
        }
        let job = match self.notes.store.open(&arrival, again)? {
            Opened::Repeated(receipt) => {
                self.tell_again(cx, &arrival);
                return Ok(receipt);
            }
            Opened::New(job) => job,
        };
        let (route, hop) = (arrival.route, arrival.hop());
        let sought = again.then(|| arrival.clone());
        let spec = self.notes.store.enter(arrival, job, now);
        if let Some(arrival) = sought {
            let arrival = Arrival {
                id: Some(job),
                spec,
                ..arrival
            };
            self.search(cx, arrival, true);
            self.settle();
            return Ok(Receipt::first(job, now, Ok(())));
        }
        let taken = self.inside(cx, Brought { spec: &spec, route });
        if let Err(reason) = taken {
            let end = JobEnd::without_run(job, EndState::Rejected(reason));
            self.notes.store.end(end);
            // A peer that forwards is told by a message.
            if hop == 0 {
                self.notes.store.publish(end);
            }
        }
        self.settle();
        self.find_cycle(meant);
        Ok(self.notes.store.answer(Receipt::first(job, now, taken)))
    }
}

impl Handle<Cancel> for BrokerAgent {
    type Answer = bool;

    fn handle(&mut self, cx: &mut impl Cx<FromBroker>, Cancel(job): Cancel) -> bool {
        let known = self.remove(cx, job, None);
        self.settle();
        known
    }
}

/// News of a job changes nothing if the job is not with whoever tells it, such
/// as one that was never sent there. The answer is whether the message
/// is new; a repeated one is to be confirmed again and has no effect.
impl Handle<Received<News>> for BrokerAgent {
    type Answer = bool;

    fn handle(&mut self, cx: &mut impl Cx<FromBroker>, news: Received<News>) -> bool {
        self.notes.now = self.notes.now.max(cx.now());
        let (by, meant) = (news.from, news.meant);
        if !self.notes.store.hear(by.into(), news.id) {
            return false;
        }
        match news.said {
            News::Ended(end) => {
                if self.broker.is_with(end.job, by) {
                    self.notes.forget_sent(end.job, by);
                    let said = news.said;
                    self.inside(cx, Told { from: by, said });
                    self.note_end(end);
                }
                self.settle();
            }
            News::Refused { job, reason, visit } => {
                if self.broker.whereabouts(job) == Some(Some(by)) {
                    match self.notes.missed_by(job, by, visit) {
                        None => {
                            self.notes.forget_sent(job, by);
                            self.refused(cx, job, by, reason);
                        }
                        Some(latest) => drop(self.send_again(cx, by, vec![latest])),
                    }
                }
                self.settle();
                self.find_cycle(meant.unwrap_or(self.notes.now));
            }
        }
        true
    }
}

impl Handle<Due> for BrokerAgent {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<FromBroker>, due: Due) {
        self.notes.now = self.notes.now.max(cx.now());
        match due {
            Due::Model { .. } => {
                self.next_cycle = None;
                self.inside(cx, due);
            }
            Due::Wall => self.remind(cx),
        }
        self.settle();
    }
}

impl Handle<Fate<FromBroker>> for BrokerAgent {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<FromBroker>, fate: Fate<FromBroker>) {
        self.notes.now = self.notes.now.max(cx.now());
        self.note_fate(cx, fate);
        self.settle();
    }
}

impl Handle<Drain> for BrokerAgent {
    type Answer = ();

    fn handle(&mut self, _cx: &mut impl Cx<FromBroker>, Drain(until): Drain) {
        self.broker.drain(until);
    }
}

impl Handle<Freeze> for BrokerAgent {
    type Answer = ();

    fn handle(&mut self, _cx: &mut impl Cx<FromBroker>, _freeze: Freeze) {
        self.frozen = true;
    }
}

impl BrokerAgent {
    /// Says again what is due to be said again, if it is still to be said.
    fn remind(&mut self, cx: &mut impl Cx<FromBroker>) {
        while let Some(due) = self.reminders.first_entry()
            && *due.key() <= cx.wall()
        {
            for reminder in due.remove() {
                match reminder {
                    Reminder::Bring(target, job) => {
                        let sent = self.notes.sent_as(&job, target);
                        let waits = match job.sought {
                            true => sent.is_some() || self.search_with(&job, target).is_some(),
                            false => sent.is_some_and(|sent| !sent.confirmed),
                        };
                        if waits {
                            self.bring_again(cx, target, job);
                        }
                    }
                    Reminder::Say(envelope) => cx.send(*envelope),
                    Reminder::Remove(target, job) => {
                        if self.notes.sent_to(job, target).is_some() {
                            self.write_to(cx, target, FromBroker::removes(target, job));
                        }
                    }
                }
            }
        }
    }
}
