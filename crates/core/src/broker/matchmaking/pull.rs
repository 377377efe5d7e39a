//! One queue for all, at the central domain (`cern`): a domain asks for a job whenever it
//! has room for one, and gets the first of the queue.

use super::push::{could_run_there, from_elsewhere};
use super::{Around, Fit, Matchmaking, fits_here};
use crate::agent::{Deal, FromBroker, ToPeer};
use crate::broker::{Broker, Held};
use crate::ids::{DomainId, JobId};
use crate::message::Target;
use crate::time::{SimDuration, SimTime};
use std::collections::BTreeMap;

/// Domains ask the central broker for jobs.
#[derive(Default)]
pub struct Pull {
    /// At the central domain: what it knows of the others.
    asks: BTreeMap<DomainId, Asks>,
    /// At any other one: so many jobs have come from there.
    came: u32,
    /// Room of the own clusters.
    room: Vec<i64>,
    /// What the central broker was asked for last.
    told: Option<Deal>,
    /// When the own room has been looked at, if nothing has changed since.
    looked: Option<SimTime>,
}

/// What the central domain knows of another one.
#[derive(Default)]
struct Asks {
    /// For how many processors it asks, less those of the jobs that it was sent since.
    processors: u32,
    /// Jobs that it was sent in all, but for those that never came there.
    sent: u32,
    /// For how many processors it has said last to ask, after how many jobs.
    said: (u32, u32),
    /// By now all jobs have come there that will: if it has not said so, some were lost.
    until: SimTime,
}

/// So long after a job was meant to be there a domain may take to say so, beside ten cycles.
const SLOW: SimDuration = SimDuration::from_secs(60);

impl Asks {
    /// Takes what it has said for true, unless jobs are on their way there, which will
    /// take some of it: it says so again when it has got them.
    fn believe(&mut self) {
        let (processors, jobs) = self.said;
        if jobs >= self.sent {
            self.processors = processors;
        }
    }

    fn take(&mut self, processors: u32, until: SimTime) {
        self.processors = self.processors.saturating_sub(processors);
        self.sent += 1;
        self.until = self.until.max(until);
    }

    fn never_came(&mut self, processors: u32) {
        self.processors += processors;
        self.sent = self.sent.saturating_sub(1);
        self.believe();
    }

    /// Until when to wait for jobs that are on their way.
    fn due(&self) -> Option<SimTime> {
        (self.sent > self.said.1).then_some(self.until)
    }
}

impl Matchmaking for Pull {
    fn begin(&mut self, broker: &Broker, _: &Around<'_>) -> Option<Vec<u64>> {
        self.room = broker.room();
        None
    }

    fn fit(&self, broker: &Broker, index: usize, job: &Held) -> Fit {
        if !broker.is_central() {
            return from_elsewhere(broker, index, job);
        }
        if !could_run_there(broker, index, job) {
            return Fit::Never;
        }
        let asked = match broker.known[index].target {
            Target::Peer(peer) => self.asks.get(&peer).map_or(0, |asks| asks.processors),
            Target::Cluster(_) => 0,
        };
        let theirs = match asked >= job.spec.processors() {
            true => Fit::Now,
            false => Fit::Later,
        };
        fits_here(&self.room, index, job).unwrap_or(theirs)
    }

    fn take(&mut self, broker: &mut Broker, cx: &mut Around<'_>, job: JobId, index: usize) -> bool {
        let spec = &broker.jobs[&job].spec;
        let processors = spec.processors();
        if let Some(room) = self.room.get_mut(index) {
            *room -= i64::from(processors);
        }
        if let (true, Target::Peer(peer)) = (broker.is_central(), broker.known[index].target) {
            let there = broker.transfer_to(peer, spec.data_kib);
            let way = broker.config.latency(Target::Peer(peer));
            let cycles = SimDuration::from_nanos(broker.interval.as_nanos().saturating_mul(10));
            let until = cx.now() + there + way + way + cycles + SLOW;
            self.asks.entry(peer).or_default().take(processors, until);
        }
        self.looked = None;
        false
    }

    fn next_due(&self, broker: &Broker, now: SimTime) -> Option<SimTime> {
        if broker.is_central() {
            let due = self.asks.values().filter_map(Asks::due).min();
            return due.map(|due| due.max(now));
        }
        let asks = !broker.config.clusters.is_empty();
        let due = || broker.next_after(now, broker.interval, self.looked);
        (asks && self.looked.is_none()).then(due)
    }

    fn act(&mut self, broker: &mut Broker, mut cx: &mut Around<'_>) {
        let now = cx.now();
        for asks in self.asks.values_mut() {
            if asks.due().is_some_and(|due| due <= now) {
                asks.sent = asks.said.1;
                asks.believe();
            }
        }
        if broker.is_central() {
            return;
        }
        self.looked = Some(now);
        let room = broker.room().into_iter().max().unwrap_or(0);
        let asks = Deal::Room {
            processors: u32::try_from(room).unwrap_or(0),
            jobs: self.came,
        };
        if let Some(central) = broker.config.central.filter(|_| self.told != Some(asks)) {
            self.told = Some(asks);
            let due = cx.now() + broker.config.latency(Target::Peer(central));
            broker.post(&mut cx, due, FromBroker::Peer(central, ToPeer::Deal(asks)));
        }
    }

    fn deal(&mut self, _: &mut Broker, _: &mut Around<'_>, from: DomainId, deal: Deal) {
        if let Deal::Room { processors, jobs } = deal {
            let asks = self.asks.entry(from).or_default();
            asks.said = (processors, jobs);
            asks.believe();
        }
    }

    fn brought(&mut self) {
        self.came += 1;
        self.looked = None;
    }

    fn never_came(&mut self, to: DomainId, processors: u32) {
        self.asks.entry(to).or_default().never_came(processors);
    }

    fn is_back(&mut self, _: &mut Broker, _: &mut Around<'_>, _: JobId) {
        self.looked = None;
    }
}
