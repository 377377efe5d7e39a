//! What a broker does with jobs, news and information that reach it, and at its
//! cycles.

use super::{BrokerAgent, Reminder};
use crate::agent::conversation::{Arrival, FromBroker};
use crate::agent::envelope::{Fate, Received, Told};
use crate::agent::store::{Opened, Receipt, SubmitError};
use crate::agent::{Brought, Cancel, Cx, Due, Freeze, Handle};
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
        let job = match self.notes.store.open(&arrival)? {
            Opened::Repeated(receipt) => {
                self.tell_again(cx, receipt.job, arrival.from());
                return Ok(receipt);
            }
            Opened::New(job) => job,
        };
        let (key, route, hop) = (arrival.key.clone(), arrival.route, arrival.hop());
        let meant = arrival.meant.unwrap_or(now);
        let spec = self.notes.store.enter(arrival, job, now);
        let brought = Brought { spec: &spec, route };
        // It may have been here in an earlier life.
        let is_sought = key.is_some() && meant < self.born;
        let mut writing = self.notes.writing(cx);
        let taken = self.broker.bring(&mut writing, brought, !is_sought);
        match taken {
            Err(reason) => {
                let end = JobEnd::without_run(job, EndState::Rejected(reason));
                self.notes.store.end(end);
                // A peer that forwards is told by a message.
                if hop == 0 {
                    self.notes.store.publish(end);
                }
            }
            Ok(()) if is_sought => self.search(cx, job),
            Ok(()) => {}
        }
        self.settle();
        self.find_cycle(meant);
        let receipt = Receipt::first(job, now, taken);
        Ok(self.notes.store.answer(key, receipt))
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
            News::Ended(end) if end.state.is_lost() => {
                self.lose_touch(cx, end.job, by);
                self.settle();
            }
            News::Ended(end) => {
                if self.broker.whereabouts(end.job) == Some(Some(by)) {
                    self.notes.under_way.remove(&end.job);
                    let said = news.said;
                    self.inside(cx, Told { from: by, said });
                    self.note_end(end);
                }
                self.settle();
            }
            News::Refused { job, reason } => {
                let sent = self.notes.under_way.get(&job);
                if sent.is_some_and(|sent| sent.target == by) {
                    self.notes.under_way.remove(&job);
                }
                self.refused(cx, job, by, reason);
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

    /// Says again what is due to be said again.
    fn remind(&mut self, cx: &mut impl Cx<FromBroker>) {
        while let Some((due, reminder)) = self.reminders.first().copied()
            && due <= cx.wall()
        {
            self.reminders.pop_first();
            let still_there = match reminder {
                Reminder::Locate(job, target) => self.is_asked(job, target),
                Reminder::Cancel(job, target) => {
                    let sent = self.notes.under_way.get(&job);
                    sent.is_some_and(|sent| sent.target == target)
                }
                Reminder::Dispatch(job, target) => {
                    let sent = self.notes.under_way.get(&job);
                    sent.is_some_and(|sent| sent.target == target && !sent.confirmed)
                }
            };
            if !still_there {
                continue;
            }
            match reminder {
                Reminder::Locate(job, target) => self.ask(cx, job, target),
                Reminder::Cancel(job, target) => self.write_cancel(cx, job, target),
                Reminder::Dispatch(job, target) => {
                    self.send_again(cx, target, |one, _| one == job);
                }
            }
        }
    }
}
