//! Processors of others that a broker holds for its jobs, and what brokers say to each
//! other about them.

use super::Around;
use crate::agent::{Deal, FromBroker, Passed, ToPeer};
use crate::broker::Broker;
use crate::event::{Event, EventKind};
use crate::ids::{ClusterId, DomainId, JobId};
use crate::message::{Route, Target};

/// Processors that a neighbour has delegated for a job.
#[derive(Clone, Copy)]
pub(super) struct Lease {
    pub cluster: ClusterId,
    pub from: DomainId,
}

/// Asks a neighbour for the processors of a job.
pub(super) fn ask(broker: &mut Broker, mut cx: &mut Around<'_>, job: JobId, to: DomainId) {
    let here = broker.config.domain;
    let Some(held) = broker.jobs.get_mut(&job) else {
        return;
    };
    (held.sent, held.sent_at) = (Some(Target::Peer(to)), cx.now());
    broker.queue.remove(&held.arrival);
    let route = Route {
        from: Some(here),
        hop: held.route.hop + 1,
        ..held.route
    };
    let passed = Passed {
        job,
        route,
        has_data: false,
    };
    let asked = Event::new(EventKind::LeaseRequested, job, here);
    cx.emit(cx.now(), asked.to(to).with(route.hop));
    let due = cx.now() + broker.config.latency(Target::Peer(to));
    broker.post(&mut cx, due, FromBroker::Peer(to, ToPeer::Request(passed)));
}

/// Says something to a neighbour.
pub(super) fn say(broker: &Broker, mut cx: &mut Around<'_>, to: DomainId, deal: Deal) {
    let (kind, job) = match deal {
        Deal::Reject(job) => (EventKind::LeaseRejected, job),
        Deal::Delegate { job, .. } => (EventKind::Delegated, job),
        Deal::Release(job) => (EventKind::Released, job),
        Deal::Room { .. } => return,
    };
    let said = Event::new(kind, job, broker.config.domain);
    cx.emit(cx.now(), said.to(to));
    let due = cx.now() + broker.config.latency(Target::Peer(to));
    broker.post(&mut cx, due, FromBroker::Peer(to, ToPeer::Deal(deal)));
}

impl Broker {
    /// A job or a request is not here any more.
    pub(super) fn forget(&mut self, job: JobId) {
        if let Some(held) = self.jobs.remove(&job) {
            self.queue.remove(&held.arrival);
            self.parked.remove(&held.arrival);
        }
    }

    /// Jobs whose processors neighbours were asked for, which have not answered or have
    /// delegated some.
    pub(crate) fn asked(&self) -> impl Iterator<Item = (JobId, DomainId)> {
        let lends = self.config.settings.matchmaking().is_lending();
        let all = self.jobs.iter().filter(move |_| lends);
        all.filter_map(|(job, held)| Some((*job, held.sent?.peer()?)))
    }

    /// A request for the processors of a job was rejected: it waits here again. The answer
    /// is whether it was asked for there.
    pub(super) fn take_back_request(&mut self, job: JobId, from: DomainId) -> bool {
        let asked = self.jobs.get_mut(&job);
        let asked = asked.filter(|held| held.sent == Some(Target::Peer(from)));
        asked.is_some_and(|held| {
            held.sent = None;
            self.queue.insert(held.arrival, job);
            true
        })
    }
}
