//! A broker as a participant: what reaches it, and what it sends, over links on
//! which every message arrives once.

use crate::agent::{
    BrokerSends, Brought, Cancel, Cx, Due, Envelope, EnvelopeId, FromBroker, Handle, Participant,
    Passed, ToLrms, ToPeer, Told,
};
use crate::broker::{Broker, Pending};
use crate::event::{Event, EventKind, Party};
use crate::ids::{DomainId, JobId};
use crate::job::Reason;
use crate::load::LoadSample;
use crate::message::{News, Outgoing, Route, Target};
use crate::time::{SimDuration, SimTime, transfer_time};
use std::sync::Arc;

impl Participant for Broker {
    type Sends = BrokerSends;

    fn next_due(&self) -> Option<SimTime> {
        self.poll_timeout(self.now)
    }
}

impl Handle<Brought<'_>> for Broker {
    type Answer = Result<(), Reason>;

    fn handle(&mut self, cx: &mut impl Cx<BrokerSends>, brought: Brought<'_>) -> Self::Answer {
        self.now = cx.now();
        let (job, now) = (brought.spec.id, self.now);
        let route = self.way(brought.route);
        let taken = self.take_over(now, brought.spec.clone(), route, cx);
        if let Err(reason) = taken {
            let by = self.config().domain;
            match route.from {
                Some(peer) => {
                    let refused = Event::new(EventKind::Refused, job, by);
                    cx.emit(now, refused.to(peer).because(reason));
                    self.send_back(cx, peer, job, reason);
                }
                None => {
                    let rejected = Event::new(EventKind::Rejected, job, by);
                    cx.emit(now, rejected.because(reason));
                    let seen = Event::new(EventKind::FinishSeen, job, Party::Client);
                    cx.emit(now, seen);
                }
            }
        }
        taken
    }
}

/// The answer is whether the job is known here (still).
impl Handle<Cancel> for Broker {
    type Answer = bool;

    fn handle(&mut self, cx: &mut impl Cx<BrokerSends>, Cancel(job): Cancel) -> bool {
        self.now = cx.now();
        let now = self.now;
        self.sending(cx, |broker, cx, out| {
            // A request would overtake data that is on its way: that is stopped.
            let stopped = broker.is_leaving(now, job) && cx.recall(job);
            (stopped && broker.recall(now, job, cx, out)) || broker.cancel(now, job, cx, out)
        })
    }
}

/// News of a job changes nothing if the job is not with whoever tells it.
impl Handle<Told<News>> for Broker {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<BrokerSends>, news: Told<News>) {
        self.now = cx.now();
        let (now, by) = (self.now, news.from);
        self.sending(cx, |broker, cx, out| match news.said {
            News::Ended(end) if end.state.is_lost() => {
                broker.lose_touch(now, end.job, by, cx, out);
            }
            News::Ended(end) => broker.handle_end_from(now, by, end, cx, out),
            News::Refused { job, reason, .. } => {
                broker.handle_refusal(now, job, by, reason, cx, out);
            }
        });
    }
}

/// Samples that several brokers are told at once.
impl Handle<Told<Arc<[LoadSample]>>> for Broker {
    type Answer = ();

    fn handle(&mut self, _cx: &mut impl Cx<BrokerSends>, info: Told<Arc<[LoadSample]>>) {
        self.share_info(info.from, &info.said);
    }
}

/// The truth about a peer: what its clusters are at, and what waits at its
/// broker. No message can bring it.
#[derive(Clone, Debug)]
pub struct PeerState {
    /// The peer.
    pub peer: DomainId,
    /// The load of its clusters, this instant.
    pub samples: Arc<[LoadSample]>,
    /// What waits there.
    pub pending: Pending,
}

impl Handle<PeerState> for Broker {
    type Answer = ();

    fn handle(&mut self, _cx: &mut impl Cx<BrokerSends>, truth: PeerState) {
        self.share_info(Target::Peer(truth.peer), &truth.samples);
        self.handle_pending(truth.peer, truth.pending);
    }
}

impl Handle<Due> for Broker {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<BrokerSends>, due: Due) {
        self.now = cx.now();
        if let Due::Model { loads } = due {
            for load in &loads {
                let from = Target::Cluster(load.cluster);
                self.handle_info(from, std::slice::from_ref(load));
            }
            let now = self.now;
            self.sending(cx, |broker, cx, out| broker.handle_cycle(now, cx, out));
        }
    }
}

impl Broker {
    /// The way that a job has come: what a peer has not forwarded enters the grid
    /// here.
    pub(crate) fn way(&self, route: Option<Route>) -> Route {
        let route = route.filter(|route| route.hop > 0);
        route.unwrap_or(Route::entering(self.config().domain))
    }

    /// Gives a job up that is with this target: see [`Broker::lose_touch`].
    pub(crate) fn give_up(
        &mut self,
        cx: &mut impl Cx<BrokerSends>,
        job: JobId,
        target: Target,
    ) -> bool {
        let now = cx.now();
        self.sending(cx, |broker, cx, out| {
            broker.lose_touch(now, job, target, cx, out)
        })
    }

    /// Does something, and sends what it has set off.
    fn sending<C: Cx<BrokerSends>, R>(
        &mut self,
        cx: &mut C,
        what: impl FnOnce(&mut Self, &mut C, &mut Vec<Outgoing>) -> R,
    ) -> R {
        let mut out = std::mem::take(&mut self.out);
        let answer = what(self, cx, &mut out);
        for outgoing in out.drain(..) {
            self.send_off(cx, outgoing);
        }
        self.out = out;
        answer
    }

    #[inline]
    fn send_off(&self, cx: &mut impl Cx<BrokerSends>, outgoing: Outgoing) {
        let now = cx.now();
        match outgoing {
            Outgoing::Dispatch {
                job,
                cluster,
                route,
            } => {
                let has_data = false;
                let passed = Passed {
                    job,
                    route,
                    has_data,
                };
                let due = now + self.config().settings.lrms_latency;
                self.post(cx, due, FromBroker::Lrms(cluster, ToLrms::Dispatch(passed)));
            }
            Outgoing::Forward { job, to, route } => {
                // Its data goes with it.
                let data = self.transfer_time(job, to);
                let passed = Passed {
                    job,
                    route,
                    has_data: data > SimDuration::ZERO,
                };
                let due = now + self.config().latency(Target::Peer(to)) + data;
                self.post(cx, due, FromBroker::Peer(to, ToPeer::Forward(passed)));
            }
            Outgoing::Refuse { job, to, reason } => self.send_back(cx, to, job, reason),
            Outgoing::Notify { end, to } => self.tell(cx, to, News::Ended(end)),
            Outgoing::Seen { end } => self.post(cx, now, FromBroker::Client(end)),
            Outgoing::Cancel { job, to } => {
                let due = now + self.config().latency(to);
                self.post(cx, due, FromBroker::removes(to, job));
            }
        }
    }

    /// How long the data of a job is on its way to a peer.
    fn transfer_time(&self, job: JobId, to: DomainId) -> SimDuration {
        let bandwidth = self.config().neighbour(to).and_then(|one| one.bandwidth);
        let data_kib = || self.spec(job).map_or(0, |spec| spec.data_kib);
        bandwidth.map_or(SimDuration::ZERO, |bandwidth| {
            transfer_time(data_kib(), Some(bandwidth))
        })
    }

    fn send_back(&self, cx: &mut impl Cx<BrokerSends>, to: DomainId, job: JobId, reason: Reason) {
        let refused = News::Refused {
            job,
            reason,
            visit: None,
        };
        self.tell(cx, to, refused);
    }

    fn tell(&self, cx: &mut impl Cx<BrokerSends>, peer: DomainId, news: News) {
        let due = cx.now() + self.config().latency(Target::Peer(peer));
        self.post(cx, due, FromBroker::Peer(peer, ToPeer::News(news)));
    }

    #[inline]
    fn post(&self, cx: &mut impl Cx<BrokerSends>, due: SimTime, message: BrokerSends) {
        cx.send(Envelope {
            id: EnvelopeId::default(),
            from: Party::Broker(self.config().domain),
            address: None,
            due,
            message,
        });
    }
}
