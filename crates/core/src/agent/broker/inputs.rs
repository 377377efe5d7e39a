//! What a broker does with jobs, news and information that reach it, and at its
//! cycles.

use super::{BrokerAgent, Reminder};
use crate::agent::store::{Opened, Receipt, SubmitError};
use crate::agent::{Brought, Cancel, Cx, Due, Freeze, Handle};
use crate::conversation::{Arrival, FromBroker};
use crate::envelope::{Fate, Received, Told};
use crate::load::LoadSample;
use crate::message::{EndState, JobEnd, News, Target};
use crate::session::{Push, Taken};
use crate::time::SimDuration;

/// How far ahead of this one the clock of a sender may be. A sample from the
/// far future would outweigh every later one.
const AHEAD: SimDuration = SimDuration::from_secs(60);

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
        let known = self.remove(cx, job);
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
                let is_there = self.broker.whereabouts(job) == Some(Some(by));
                if is_there && self.notes.is_latest(job, by, visit) {
                    self.notes.forget_sent(job, by);
                    self.refused(cx, job, by, reason);
                }
                self.settle();
                self.find_cycle(meant.unwrap_or(self.notes.now));
            }
        }
        true
    }
}

/// Samples of an own cluster or of a peer's clusters. The answer is whether the
/// message is new.
impl Handle<Received<Vec<LoadSample>>> for BrokerAgent {
    type Answer = Result<bool, Unexpected>;

    fn handle(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        info: Received<Vec<LoadSample>>,
    ) -> Self::Answer {
        self.notes.now = self.notes.now.max(cx.now());
        self.check(info.from, &info.said)?;
        let new = self.notes.store.hear(info.from.into(), info.id);
        if new {
            self.inform(cx, info.from, &info.said);
        }
        Ok(new)
    }
}

/// What a peer says of its clusters in a session. An update that will not do
/// leaves the count as it is.
impl Handle<Received<Push>> for BrokerAgent {
    type Answer = Result<Updated, Unexpected>;

    fn handle(&mut self, cx: &mut impl Cx<FromBroker>, update: Received<Push>) -> Self::Answer {
        self.notes.now = self.notes.now.max(cx.now());
        let Received { from, id, said, .. } = update;
        self.check(from, &said.samples)?;
        let new = self.notes.store.hear(from.into(), id);
        let (taken, have) = self.partners.take(from, &said, new);
        if taken == Some(Taken::New) {
            self.inform(cx, from, &said.samples);
        }
        Ok(Updated { taken, have })
    }
}

/// What became of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Updated {
    /// Whether it counts; `None` if its envelope was here before.
    pub taken: Option<Taken>,
    /// The last update that counted.
    pub have: u64,
}

/// Samples of clusters that their sender does not have, or from the far future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unexpected;

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

impl Handle<Freeze> for BrokerAgent {
    type Answer = ();

    fn handle(&mut self, _cx: &mut impl Cx<FromBroker>, _freeze: Freeze) {
        self.frozen = true;
    }
}

impl BrokerAgent {
    /// Whether these samples may count.
    fn check(&self, from: Target, samples: &[LoadSample]) -> Result<(), Unexpected> {
        let late = |sample: &LoadSample| sample.at > self.notes.now + AHEAD;
        match self.expects(from, samples) && !samples.iter().any(late) {
            true => Ok(()),
            false => Err(Unexpected),
        }
    }

    /// Samples are taken in; those of own clusters are relayed to the consumers.
    fn inform(&mut self, cx: &mut impl Cx<FromBroker>, from: Target, samples: &[LoadSample]) {
        self.broker.handle_info(from, samples);
        if let Target::Cluster(_) = from {
            for sample in samples {
                self.collect(cx, sample);
            }
        }
        self.settle();
    }

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
