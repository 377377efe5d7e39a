//! One queue for all, at the central domain (`cern`): a domain asks for a job whenever it
//! has room for one, and gets the first of the queue.

use super::push::{could_run_there, from_elsewhere};
use super::{Around, Fit, Matchmaking, fits_here};
use crate::agent::{Deal, FromBroker, ToPeer};
use crate::broker::{Broker, Held};
use crate::ids::{DomainId, JobId};
use crate::message::Target;
use crate::time::SimTime;
use std::collections::BTreeMap;

/// Domains ask the central broker for jobs.
#[derive(Default)]
pub struct Pull {
    /// At the central domain: for how many processors each other one asks.
    asked: BTreeMap<DomainId, u32>,
    /// Room of the own clusters.
    room: Vec<i64>,
    /// What the central broker was asked for last.
    told: Option<Deal>,
    /// When the own room has been looked at, if nothing has changed since.
    looked: Option<SimTime>,
}

impl Pull {
    /// What to ask for now.
    fn ask(broker: &Broker) -> Deal {
        let from = broker.config.central;
        let theirs = broker.jobs.values().filter(|held| held.route.from == from);
        let room = broker.room().into_iter().max().unwrap_or(0);
        Deal::Room {
            processors: u32::try_from(room).unwrap_or(0),
            jobs: theirs.count() as u32,
        }
    }
}

impl Matchmaking for Pull {
    fn begin(&mut self, broker: &Broker, _: SimTime) -> Option<Vec<u64>> {
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
            Target::Peer(peer) => self.asked.get(&peer).copied().unwrap_or(0),
            Target::Cluster(_) => 0,
        };
        let theirs = match asked >= job.spec.processors() {
            true => Fit::Now,
            false => Fit::Later,
        };
        fits_here(&self.room, index, job).unwrap_or(theirs)
    }

    fn take(&mut self, broker: &mut Broker, _: &mut Around<'_>, job: JobId, index: usize) -> bool {
        let processors = broker.jobs[&job].spec.processors();
        if let Some(room) = self.room.get_mut(index) {
            *room -= i64::from(processors);
        }
        if let Target::Peer(peer) = broker.known[index].target
            && let Some(asked) = self.asked.get_mut(&peer)
        {
            *asked -= processors;
        }
        self.looked = None;
        false
    }

    fn next_due(&self, broker: &Broker, now: SimTime) -> Option<SimTime> {
        let asks = !broker.is_central() && !broker.config.clusters.is_empty();
        let due = || broker.next_after(now, broker.interval, self.looked);
        (asks && self.looked.is_none()).then(due)
    }

    fn act(&mut self, broker: &mut Broker, mut cx: &mut Around<'_>) {
        self.looked = Some(cx.now());
        let asks = Self::ask(broker);
        if let Some(central) = broker.config.central.filter(|_| self.told != Some(asks)) {
            self.told = Some(asks);
            let due = cx.now() + broker.config.latency(Target::Peer(central));
            broker.post(&mut cx, due, FromBroker::Peer(central, ToPeer::Deal(asks)));
        }
    }

    fn deal(&mut self, broker: &mut Broker, _: &mut Around<'_>, from: DomainId, deal: Deal) {
        let Deal::Room { processors, jobs } = deal else {
            return;
        };
        let there = |held: &&Held| held.sent == Some(Target::Peer(from));
        // Who has not got a job yet that is on its way there asks again when it has.
        if broker.jobs.values().filter(there).count() as u32 == jobs {
            self.asked.insert(from, processors);
        }
    }

    fn is_back(&mut self, _: &mut Broker, _: &mut Around<'_>, _: JobId) {
        self.looked = None;
    }
}
