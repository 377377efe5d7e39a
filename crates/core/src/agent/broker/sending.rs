//! What a broker has decided becomes messages, each under its key.

use super::{BrokerAgent, UnderWay};
use crate::agent::Cx;
use crate::agent::conversation::{FromBroker, ToLrms, ToPeer};
use crate::agent::ledger::Arrival;
use crate::agent::letter::{Letter, LetterId};
use crate::event::{Event, EventKind, Party};
use crate::ids::{ClusterId, DomainId, JobId};
use crate::message::{EndState, JobEnd, News, Outgoing, Route, Target};
use crate::time::transfer_time;
use crate::time::{SimDuration, SimTime};
use std::sync::Arc;

impl BrokerAgent {
    pub(super) fn send(&mut self, cx: &mut impl Cx<FromBroker>, outgoing: Outgoing) {
        match outgoing {
            Outgoing::Dispatch { job, cluster } => {
                let hop = self.ledger.get(job).map_or(0, |record| record.hop);
                let due = self.now + self.broker.config().settings.lrms_latency;
                let from = Some(self.broker.config().domain);
                let Some(route) = self.broker.route(job) else {
                    return;
                };
                let route = Route { from, hop, ..route };
                let Some(dispatch) = self.on_its_way(job, self.key(job, hop), route, due) else {
                    return;
                };
                self.note_sent(job, Target::Cluster(cluster), hop);
                if hop > 0 {
                    *self.taken_in.entry(self.origin(job)).or_default() += 1;
                }
                let dispatch = FromBroker::Lrms(cluster, ToLrms::Dispatch(dispatch));
                self.post(cx, None, due, dispatch);
            }
            Outgoing::Forward { job, to, route } => {
                let neighbour = self.neighbours.iter().find(|other| other.domain == to);
                let bandwidth = neighbour.and_then(|other| other.bandwidth);
                let data_kib = self.broker.spec(job).map_or(0, |spec| spec.data_kib);
                let data = transfer_time(data_kib, bandwidth);
                // Its data goes with it.
                let due = self.now + self.latency(Target::Peer(to)) + data;
                let key = self.forward_key(job, route);
                let Some(forward) = self.on_its_way(job, key, route, due) else {
                    return;
                };
                self.note_sent(job, Target::Peer(to), route.hop);
                let id = self.post(
                    cx,
                    None,
                    due,
                    FromBroker::Peer(to, ToPeer::Forward(forward)),
                );
                if let Some(sent) = self.under_way.get_mut(&job)
                    && data > SimDuration::ZERO
                {
                    sent.data = Some(id);
                }
            }
            Outgoing::Refuse { job, to, reason } => {
                let state = EndState::Rejected(reason);
                self.ledger.end(JobEnd::without_run(job, state));
                let news = News::Refused { job, reason };
                self.write_to_peer(cx, to, ToPeer::News(news));
            }
            Outgoing::Notify { end, to } => {
                self.write_to_peer(cx, to, ToPeer::News(News::Ended(end)));
            }
            Outgoing::Seen { end } => self.seen(cx, end),
            Outgoing::Cancel { job, to } => self.ask_to_remove(cx, job, to),
        }
    }

    /// A job that is held here as its next receiver gets it.
    pub(super) fn on_its_way(
        &self,
        job: JobId,
        key: String,
        route: Route,
        due: SimTime,
    ) -> Option<Box<Arrival>> {
        let arrival = Arrival {
            key: Some(key),
            id: Some(job),
            route: Some(route),
            meant: Some(due),
            tag: self.ledger.get(job).and_then(|record| record.tag.clone()),
            ..Arrival::of(self.broker.spec(job)?.clone())
        };
        Some(Box::new(arrival))
    }

    pub(super) fn note_sent(&mut self, job: JobId, target: Target, hop: u32) {
        let sent = UnderWay {
            target,
            due: self.now + self.latency(target),
            hop,
            confirmed: false,
            perhaps: false,
            told: false,
            data: None,
        };
        self.under_way.insert(job, sent);
    }

    /// The key a job travels under from here: the one it came with, with the
    /// hop it is on; for a job without such a key, one of this broker's own.
    pub(super) fn key(&self, job: JobId, hop: u32) -> String {
        let record = self.ledger.get(job);
        match record.and_then(|record| record.base_key.as_ref()) {
            Some(base) => format!("{base}/{hop}"),
            None => {
                let (life, domain) = (self.incarnation, self.broker.config().domain.0);
                format!("{life}/{domain}/{}/{hop}", job.0)
            }
        }
    }

    /// The same towards a peer: one that has let the job pass by gets it a
    /// second time when it has settled.
    pub(super) fn forward_key(&self, job: JobId, route: Route) -> String {
        let key = self.key(job, route.hop);
        match route.settled {
            true => format!("settled:{key}"),
            false => key,
        }
    }

    pub(super) fn seen(&mut self, cx: &mut impl Cx<FromBroker>, end: JobEnd) {
        self.ledger.end(end);
        self.ledger.publish(end);
        let Some(record) = self.ledger.get(end.job) else {
            return;
        };
        let (from, address) = (record.from, record.notify.clone());
        if let Party::Broker(peer) = from {
            self.write_to_peer(cx, peer, ToPeer::News(News::Ended(end)));
        }
        if address.is_some() {
            cx.emit(
                self.now,
                Event::new(EventKind::Notified, end.job, self.here).to(Party::Client),
            );
            self.post(cx, address, self.now, FromBroker::Client(end));
        }
    }

    pub(super) fn write_to_lrms(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        cluster: ClusterId,
        what: ToLrms,
    ) {
        let due = self.now + self.broker.config().settings.lrms_latency;
        self.post(cx, None, due, FromBroker::Lrms(cluster, what));
    }

    pub(super) fn write_to_peer(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        peer: DomainId,
        what: ToPeer,
    ) {
        let due = self.now + self.latency(Target::Peer(peer));
        self.post(cx, None, due, FromBroker::Peer(peer, what));
    }

    /// One-way latency to a place that jobs are sent to.
    pub(super) fn latency(&self, target: Target) -> SimDuration {
        match target {
            Target::Cluster(_) => self.broker.config().settings.lrms_latency,
            Target::Peer(peer) => {
                let mut neighbours = self.neighbours.iter();
                let known = neighbours.find(|neighbour| neighbour.domain == peer);
                known.map_or(SimDuration::ZERO, |neighbour| neighbour.latency)
            }
        }
    }

    pub(super) fn post(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        address: Option<Arc<str>>,
        due: SimTime,
        message: FromBroker,
    ) -> LetterId {
        let (incarnation, number) = (self.incarnation, self.letters_written);
        self.letters_written += 1;
        let id = LetterId {
            incarnation,
            number,
        };
        let from = self.here;
        cx.send(Letter {
            id,
            from,
            address,
            due,
            message,
        });
        id
    }
}
