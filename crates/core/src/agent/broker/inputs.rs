//! What a broker does with jobs, news and information that reach it, and at its
//! cycles.

use super::{BrokerAgent, Reminder};
use crate::agent::conversation::{FromBroker, ToLrms, ToPeer};
use crate::agent::ledger::{Arrival, Opened, Receipt, SubmitError};
use crate::agent::letter::{Fate, Received};
use crate::agent::{Cancel, Cx, Due, Freeze, Handle};
use crate::job::JobSpec;
use crate::load::LoadSample;
use crate::message::{News, Route, Target};
use crate::session::{Push, Taken};
use crate::time::SimDuration;

/// How far ahead of this one the clock of a sender may be. A sample from the
/// far future would outweigh every later one.
const AHEAD: SimDuration = SimDuration::from_secs(60);

impl Handle<Arrival> for BrokerAgent {
    type Answer = Result<Receipt, SubmitError>;

    fn handle(&mut self, cx: &mut impl Cx<FromBroker>, arrival: Arrival) -> Self::Answer {
        self.set_now(cx.now());
        let job = match self.ledger.open(&arrival)? {
            Opened::Repeated(receipt) => {
                self.tell_again(cx, receipt.job, arrival.from());
                self.settle(cx);
                return Ok(receipt);
            }
            Opened::New(job) => job,
        };
        let spec = JobSpec {
            id: job,
            ..arrival.spec.clone()
        };
        // What a peer has not forwarded enters the grid here.
        let route = arrival.route.filter(|route| route.hop > 0);
        let route = route.unwrap_or(Route::entering(self.broker.config().domain));
        let taken = self.broker.take_over(self.now, spec.clone(), route, cx);
        let receipt = Receipt {
            job,
            at: self.now,
            taken,
            repeated: false,
        };
        let meant = arrival.meant.unwrap_or(self.now);
        let perhaps_known = arrival.key.is_some() && meant < self.born;
        self.ledger.enter(arrival, spec, &receipt);
        match taken {
            Err(reason) => self.turn_away(cx, job, route.from, reason),
            Ok(()) if perhaps_known => self.search(cx, job, route),
            Ok(()) => {}
        }
        self.settle(cx);
        self.find_cycle(meant);
        Ok(receipt)
    }
}

impl Handle<Cancel> for BrokerAgent {
    type Answer = bool;

    fn handle(&mut self, cx: &mut impl Cx<FromBroker>, Cancel(job): Cancel) -> bool {
        self.set_now(cx.now());
        let known = self.remove(cx, job);
        self.settle(cx);
        known
    }
}

/// News of a job changes nothing if the job is not with whoever tells it: it
/// has been given up, or was never sent there. The answer is whether the letter
/// is new; a repeated one is to be confirmed again and has no effect.
impl Handle<Received<News>> for BrokerAgent {
    type Answer = bool;

    fn handle(&mut self, cx: &mut impl Cx<FromBroker>, news: Received<News>) -> bool {
        self.set_now(cx.now());
        let (by, meant) = (news.from, news.meant);
        if !self.ledger.hear(by.into(), news.id) {
            return false;
        }
        match news.said {
            News::Ended(end) => {
                if self.broker.whereabouts(end.job) == Some(Some(by)) {
                    self.end(cx, end);
                }
                self.settle(cx);
            }
            News::Refused { job, reason } => {
                let sent = self.under_way.get(&job);
                if sent.is_some_and(|sent| sent.target == by) {
                    self.under_way.remove(&job);
                }
                self.refused(cx, job, by, reason);
                self.settle(cx);
                self.find_cycle(meant.unwrap_or(self.now));
            }
        }
        true
    }
}

/// Samples of an own cluster or of a peer's clusters. The answer is whether the
/// letter is new.
impl Handle<Received<Vec<LoadSample>>> for BrokerAgent {
    type Answer = Result<bool, Unexpected>;

    fn handle(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        info: Received<Vec<LoadSample>>,
    ) -> Self::Answer {
        self.set_now(cx.now());
        self.check(info.from, &info.said)?;
        let new = self.ledger.hear(info.from.into(), info.id);
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
        self.set_now(cx.now());
        let Received { from, id, said, .. } = update;
        self.check(from, &said.samples)?;
        let new = self.ledger.hear(from.into(), id);
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
    /// Whether it counts; `None` if its letter was here before.
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
        self.set_now(cx.now());
        match due {
            Due::Model { loads } => {
                for load in &loads {
                    let from = Target::Cluster(load.cluster);
                    self.broker.handle_info(from, std::slice::from_ref(load));
                }
                self.next_cycle = None;
                self.broker.handle_cycle(self.now, cx, &mut self.out);
            }
            Due::Wall => self.remind(cx),
        }
        self.settle(cx);
    }
}

impl Handle<Fate<FromBroker>> for BrokerAgent {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<FromBroker>, fate: Fate<FromBroker>) {
        self.set_now(cx.now());
        self.note_fate(cx, fate);
        self.settle(cx);
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
        let late = |sample: &LoadSample| sample.at > self.now + AHEAD;
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
        self.settle(cx);
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
                    let sent = self.under_way.get(&job);
                    sent.is_some_and(|sent| sent.target == target)
                }
            };
            if !still_there {
                continue;
            }
            match reminder {
                Reminder::Locate(job, Target::Cluster(cluster)) => {
                    self.write_to_lrms(cx, cluster, ToLrms::Locate(job));
                }
                Reminder::Locate(job, Target::Peer(peer)) => {
                    self.write_to_peer(cx, peer, ToPeer::Locate(job));
                }
                Reminder::Cancel(job, target) => self.write_cancel(cx, job, target),
            }
        }
    }
}
