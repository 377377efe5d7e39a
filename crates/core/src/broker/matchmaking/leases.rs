//! Processors of others that a broker holds for its jobs, and what brokers say to each
//! other about them.

use super::Around;
use super::Request;
use crate::agent::{Asked, Deal, FromBroker, Passed, ToPeer};
use crate::broker::{Broker, Held};
use crate::event::{Event, EventKind};
use crate::ids::{ClusterId, DomainId, JobId};
use crate::message::{Route, Target};
use crate::time::SimTime;
use std::collections::BTreeMap;

/// Processors that a neighbour has delegated for a job.
#[derive(Clone, Copy)]
pub(super) struct Lease {
    pub cluster: ClusterId,
    pub from: DomainId,
    pub asked: Asked,
    /// Until when they are this broker's at most.
    pub until: Option<SimTime>,
}

/// What a broker has delegated and takes back by itself: when, of which job, to whom and
/// for which request.
#[derive(Default)]
pub(super) struct Lent(BTreeMap<(SimTime, JobId), (DomainId, Asked)>);

impl Lent {
    /// Delegates processors of this cluster to whoever has asked for them, until the
    /// time-out of this broker, and no longer than it has them itself.
    pub fn delegate(
        &mut self,
        broker: &Broker,
        cx: &mut Around<'_>,
        (to, asked): (DomainId, Asked),
        (cluster, until): (ClusterId, Option<SimTime>),
    ) {
        let timeout = broker.config.settings.lease_timeout;
        let own = timeout.map(|timeout| cx.now() + timeout);
        let until = own.into_iter().chain(until).min();
        if let Some(until) = until {
            self.0.insert((until, asked.job), (to, asked));
        }
        let delegated = Deal::Delegate {
            asked,
            cluster,
            until,
        };
        say(broker, cx, to, delegated);
    }

    /// It was released.
    pub fn forget(&mut self, job: JobId) {
        self.0.retain(|(_, lent), _| *lent != job);
    }

    /// When the next time-out comes, or now if it has come while the broker was stopped.
    pub fn next_due(&self, now: SimTime) -> Option<SimTime> {
        self.0
            .first_key_value()
            .map(|((until, _), _)| now.max(*until))
    }

    /// The next one whose time-out has come, which is said.
    pub fn expire(&mut self, broker: &Broker, cx: &mut Around<'_>) -> Option<(DomainId, Asked)> {
        let now = cx.now();
        let first = self.0.first_entry().filter(|first| first.key().0 <= now);
        let (to, asked) = first?.remove();
        let expired = Event::new(EventKind::LeaseExpired, asked.job, broker.config.domain);
        cx.emit(now, expired.to(to).at(asked.at));
        Some((to, asked))
    }
}

/// Asks a neighbour for the processors of a job.
pub(super) fn ask(broker: &mut Broker, mut cx: &mut Around<'_>, job: JobId, to: DomainId) {
    let here = broker.config.domain;
    let Some(held) = broker.jobs.get_mut(&job) else {
        return;
    };
    (held.sent, held.sent_at) = (Some(Target::Peer(to)), cx.now());
    broker.queue.remove(&held.arrival);
    let mut passed = held.passed_by(here);
    passed.route.hop += 1;
    let asked = Event::new(EventKind::LeaseRequested, job, here);
    cx.emit(cx.now(), asked.to(to).with(passed.route.hop));
    let due = cx.now() + broker.config.latency(Target::Peer(to));
    let request = ToPeer::Request(passed, due);
    broker.post(&mut cx, due, FromBroker::Peer(to, request));
}

/// Says something to a neighbour.
pub(super) fn say(broker: &Broker, mut cx: &mut Around<'_>, to: DomainId, deal: Deal) {
    let (kind, asked) = match deal {
        Deal::Reject(asked) => (EventKind::LeaseRejected, asked),
        Deal::Delegate { asked, .. } => (EventKind::Delegated, asked),
        Deal::Release(asked) => (EventKind::Released, asked),
        Deal::Room { .. } => return,
    };
    let said = Event::new(kind, asked.job, broker.config.domain);
    cx.emit(cx.now(), said.to(to).at(asked.at));
    let due = cx.now() + broker.config.latency(Target::Peer(to));
    broker.post(&mut cx, due, FromBroker::Peer(to, ToPeer::Deal(deal)));
}

impl Broker {
    /// Sends a job to processors that it was delegated.
    pub(super) fn send_to_leased(&mut self, mut cx: &mut Around<'_>, job: JobId, lease: Lease) {
        if let Some(held) = self.jobs.get_mut(&job) {
            held.route.until = lease.until;
        }
        self.send_to(&mut cx, job, Target::Cluster(lease.cluster));
    }

    /// Whether a job is there too late for processors that were delegated.
    pub(super) fn comes_too_late(&self, now: SimTime, lease: Lease) -> bool {
        let there = now + self.config.latency(Target::Cluster(lease.cluster));
        lease.until.is_some_and(|until| until <= there)
    }

    /// Whether a job or a request is here.
    pub(crate) fn holds(&self, job: JobId) -> bool {
        self.jobs.contains_key(&job)
    }

    /// A job or a request is not here any more.
    pub(super) fn forget(&mut self, job: JobId) {
        if let Some(held) = self.jobs.remove(&job) {
            self.queue.remove(&held.arrival);
            self.parked.remove(&held.arrival);
        }
    }

    /// Takes in a request of a neighbour, which waits like a job.
    pub(super) fn take_in(&mut self, request: &Request<'_>) {
        self.restore(request.spec.clone(), request.route, None);
        if let Some(held) = self.jobs.get_mut(&request.spec.id) {
            held.asked_at = request.at;
        }
    }

    /// An earlier request of the neighbour for the same job, which it has given up: that it
    /// says so is on its way.
    pub(super) fn given_up(&self, request: &Request<'_>) -> Option<Asked> {
        let held = self.jobs.get(&request.spec.id)?;
        let its = held.route.from == Some(request.from) && held.asked_at < request.at;
        its.then(|| held.asked_here())
    }

    /// The request of a neighbour that is here.
    pub(super) fn asked_by(&self, from: DomainId, asked: Asked) -> Option<&Held> {
        let held = self.jobs.get(&asked.job)?;
        let is_it = held.route.from == Some(from) && held.asked_at == asked.at;
        is_it.then_some(held)
    }

    /// Jobs whose processors neighbours were asked for, which have not answered or have
    /// delegated some.
    pub(crate) fn asked(&self) -> impl Iterator<Item = (Asked, DomainId)> {
        let lends = self.config.settings.matchmaking().is_lending();
        let all = self.jobs.values().filter(move |_| lends);
        all.filter_map(|held| {
            let peer = held.sent?.peer()?;
            Some((self.asked_there(held, peer), peer))
        })
    }

    /// The request for the processors of a job, that a neighbour was asked for last.
    pub(super) fn asked_there(&self, held: &Held, peer: DomainId) -> Asked {
        Asked {
            job: held.spec.id,
            at: held.sent_at + self.config.latency(Target::Peer(peer)),
        }
    }

    /// The job for which a neighbour was asked by this request, and no other one since.
    pub(super) fn asking(&self, from: DomainId, asked: Asked) -> Option<&Held> {
        let held = self.jobs.get(&asked.job)?;
        let asks = held.sent == Some(Target::Peer(from)) && self.asked_there(held, from) == asked;
        asks.then_some(held)
    }

    /// A request for the processors of a job is over: it waits here again.
    pub(super) fn stop_asking(&mut self, job: JobId) {
        if let Some(held) = self.jobs.get_mut(&job) {
            held.sent = None;
            self.queue.insert(held.arrival, job);
        }
    }
}

impl Held {
    /// What is said of the job where this broker asks for processors.
    pub(super) fn passed_by(&self, here: DomainId) -> Passed {
        let from = Some(here);
        Passed {
            job: self.spec.id,
            route: Route { from, ..self.route },
            has_data: false,
        }
    }

    /// The request that this is, of a neighbour.
    pub(super) fn asked_here(&self) -> Asked {
        Asked {
            job: self.spec.id,
            at: self.asked_at,
        }
    }
}
