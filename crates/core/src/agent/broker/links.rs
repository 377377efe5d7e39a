//! What reaches a broker over its links, in both layers: from clients and peers,
//! where a message of a peer is one input, and of load, which is relayed.

use super::BrokerAgent;
use crate::agent::{BrokerSends, Brought, Cancel, Cx, Due, Handle, Participant};
use crate::broker::{Broker, Pending};
use crate::conversation::{Asked, ClaimAnswer, Deal, FromBroker, ToPeer};
use crate::envelope::{Envelope, EnvelopeId, Received, Told, Undelivered};
use crate::event::{Event, EventKind, Party};
use crate::ids::{ClusterId, DomainId};
use crate::job::Reason;
use crate::load::LoadSample;
use crate::message::{News, Route, Target};
use crate::session::{Push, Taken};
use crate::time::{SimDuration, SimTime};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

impl Participant for Broker {
    type Sends = BrokerSends;

    fn next_due(&self) -> Option<SimTime> {
        self.poll_timeout(self.now)
    }
}

/// An own LRMS holds processors for a part of a job, or does not.
impl Handle<Told<(Asked, ClaimAnswer)>> for Broker {
    type Answer = ();

    fn handle(
        &mut self,
        cx: &mut impl Cx<BrokerSends>,
        Told { from, said }: Told<(Asked, ClaimAnswer)>,
    ) {
        if let Target::Cluster(from) = from {
            self.handle_claim(cx, from, said);
        }
    }
}

impl Handle<Brought<'_>> for Broker {
    type Answer = Result<(), Reason>;

    fn handle(&mut self, cx: &mut impl Cx<BrokerSends>, brought: Brought<'_>) -> Self::Answer {
        self.now = cx.now();
        let (job, now) = (brought.spec.id, self.now);
        let route = self.way(brought.route);
        if route.from.is_some() {
            self.brought();
        }
        let taken = self.take_over(cx, brought.spec.clone(), route);
        if let Err(reason) = taken {
            match route.from {
                Some(peer) => self.refuse(cx, peer, job, reason),
                None => {
                    let rejected = Event::new(EventKind::Rejected, job, self.config().domain);
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
        self.cancel(cx, job, None)
    }
}

/// What a peer says over a link on which everything arrives once.
type Heard<'a> = Told<ToPeer<Brought<'a>, Infallible>>;

impl Handle<Heard<'_>> for Broker {
    type Answer = ();

    #[inline]
    fn handle(&mut self, cx: &mut impl Cx<BrokerSends>, Told { from, said }: Heard<'_>) {
        match said {
            ToPeer::Forward(brought) => drop(self.handle(cx, brought)),
            ToPeer::Cancel(job) => drop(self.cancel(cx, job, from.peer())),
            ToPeer::News(said) => self.handle(cx, Told { from, said }),
            ToPeer::Info(never) => match never {},
            ToPeer::Drain(until) => self.close_until(from, until),
            ToPeer::Request(job, at) => self.handle_request(cx, from, (job.spec, at), job.route),
            ToPeer::Deal(deal) => self.handle_deal(cx, from, deal),
        }
    }
}

/// What a peer says over a link that may fail. The answer is what the peer learns of
/// its message.
impl Handle<Received<ToPeer>> for BrokerAgent {
    type Answer = Result<(), Undelivered>;

    fn handle(&mut self, cx: &mut impl Cx<FromBroker>, heard: Received<ToPeer>) -> Self::Answer {
        let envelope = heard.with(());
        match heard.said {
            ToPeer::Forward(job) => return Ok(self.handle(cx, *job).map(drop)?),
            ToPeer::Cancel(job) => {
                self.notes.now = self.notes.now.max(cx.now());
                // Repeated, it would be taken for one about another visit.
                if self.notes.store.hear(envelope.from.into(), envelope.id) {
                    let by = self.on_behalf_of(job, envelope.from);
                    self.remove(cx, job, by);
                    self.settle();
                }
            }
            ToPeer::News(news) => drop(self.handle(cx, envelope.with(news))),
            ToPeer::Info(push) => {
                let taken = self.handle(cx, envelope.with(push));
                taken.map_err(|Unexpected| Undelivered::Declined(None))?;
            }
            ToPeer::Drain(until) => {
                self.notes.now = self.notes.now.max(cx.now());
                self.broker.close_until(envelope.from, until);
                self.settle();
            }
            ToPeer::Request(job, at) => {
                if self.notes.store.hear(envelope.from.into(), envelope.id) {
                    let (from, spec, route) = (envelope.from, job.spec, job.route);
                    let brought = Brought { spec: &spec, route };
                    let broker = &self.broker;
                    self.notes.asked.retain(|job, _| broker.holds(*job));
                    self.notes.asked.insert(spec.id, spec.clone());
                    let said = ToPeer::Request(brought, at);
                    self.inside(cx, Told { from, said });
                    self.settle();
                }
            }
            ToPeer::Deal(deal) => {
                let is_old = matches!(deal, Deal::Room { .. }) && self.notes.is_old(&envelope);
                if !is_old && self.notes.store.hear(envelope.from.into(), envelope.id) {
                    self.hear_deal(cx, envelope.from, deal);
                }
            }
        }
        Ok(())
    }
}

impl BrokerAgent {
    /// A peer says something about processors, or cannot be asked for any, which comes to
    /// the same as if it had none.
    pub(super) fn hear_deal(&mut self, cx: &mut impl Cx<FromBroker>, from: Target, deal: Deal) {
        let said = ToPeer::<Brought<'_>, Infallible>::Deal(deal);
        self.inside(cx, Told { from, said });
        self.settle();
    }
}

/// News of a job changes nothing if the job is not with whoever tells it.
impl Handle<Told<News>> for Broker {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<BrokerSends>, news: Told<News>) {
        self.now = cx.now();
        let by = news.from;
        match news.said {
            News::Ended(end) if end.state.is_lost() => {
                self.lose_touch(cx, end.job, by, None);
            }
            News::Ended(end) => self.handle_end(cx, by, end),
            News::Refused { job, reason, .. } => self.handle_refusal(cx, job, by, reason),
        }
    }
}

impl Handle<Due> for Broker {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<BrokerSends>, due: Due) {
        self.now = cx.now();
        if let Due::Model { loads } = due {
            self.handle_loads(&loads);
            self.handle_due(cx);
        }
    }
}

impl Broker {
    /// Takes in the load of own clusters.
    fn handle_loads(&mut self, loads: &[LoadSample]) {
        for load in loads {
            let from = Target::Cluster(load.cluster);
            self.handle_info(from, std::slice::from_ref(load));
        }
    }

    /// Tells those who forward jobs here, at each exchange, that this broker is
    /// drained: for three exchanges, so that one or two of these messages may be lost.
    /// After its end they are told that for as long.
    fn tell_drain(&self, cx: &mut impl Cx<BrokerSends>) {
        let (now, exchange) = (cx.now(), self.config().settings.exchange);
        let three = exchange + exchange + exchange;
        let end = self.drain_end(now).filter(|end| now <= *end + three);
        let Some(until) = end.map(|end| end.min(now + three)) else {
            return;
        };
        for peer in self.config().neighbours.iter().filter(|one| one.consumer) {
            let told = FromBroker::Peer(peer.domain, ToPeer::Drain(until));
            cx.send(Envelope {
                id: EnvelopeId::default(),
                from: self.config().domain.into(),
                address: None,
                due: now + peer.latency,
                message: told,
            });
        }
    }

    /// The way that a job has come: what a peer has not forwarded enters the grid
    /// here.
    pub(crate) fn way(&self, route: Option<Route>) -> Route {
        let route = route.filter(|route| route.hop > 0);
        route.unwrap_or(Route::entering(self.config().domain))
    }
}

/// The clusters of a domain were sampled: of the broker's own or of a peer's. All
/// that are told share what is said.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// Whose clusters.
    pub domain: DomainId,
    /// Their load.
    pub samples: Arc<[LoadSample]>,
}

impl Handle<Sampled> for Broker {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<BrokerSends>, sampled: Sampled) {
        match sampled.domain == self.config().domain {
            true => {
                self.handle_loads(&sampled.samples);
                self.tell_drain(cx);
            }
            false => {
                self.share_info(sampled.domain, &sampled.samples);
                self.note_info(cx.now(), sampled.domain);
            }
        }
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
        self.share_info(truth.peer, &truth.samples);
        self.handle_pending(truth.peer, truth.pending);
    }
}

/// Samples of an own cluster or of a peer's clusters. An update in a session that
/// will not do leaves the count as it is.
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

/// How far ahead of this one the clock of a sender may be. A sample from the
/// far future would outweigh every later one.
const AHEAD: SimDuration = SimDuration::from_secs(60);

/// The samples of one exchange, on their way to the consumers as one message, and newer ones
/// than consumers have of LRMSs whose samples come an exchange late or more.
#[derive(Default)]
pub(super) struct Round {
    at: SimTime,
    samples: BTreeMap<ClusterId, LoadSample>,
    late: BTreeMap<ClusterId, LoadSample>,
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
        match from {
            Target::Peer(peer) => self.broker.note_info(self.notes.now, peer),
            Target::Cluster(_) => {
                for sample in samples {
                    self.collect(cx, sample);
                }
            }
        }
        self.settle();
    }

    /// Whether samples from there are expected, and about those clusters.
    fn expects(&self, from: Target, samples: &[LoadSample]) -> bool {
        let its = self.broker.samples().find(|(target, _)| *target == from);
        let is_its = |its: &[LoadSample], sample: &LoadSample| {
            its.iter().any(|known| known.cluster == sample.cluster)
        };
        its.is_some_and(|(_, its)| samples.iter().all(|sample| is_its(its, sample)))
    }

    /// The samples of one instant travel on as one message; a newer instant
    /// sends off what an LRMS that fell silent left incomplete. What comes too late for that
    /// goes along with the next message, or consumers never hear of an LRMS that is always late.
    fn collect(&mut self, cx: &mut impl Cx<FromBroker>, sample: &LoadSample) {
        if sample.at > self.round.at && !self.round.samples.is_empty() {
            self.relay(cx);
        }
        if sample.at < self.round.at {
            let mut known = self.broker.samples().flat_map(|(_, known)| known);
            if known.any(|known| (known.cluster, known.at) == (sample.cluster, sample.at)) {
                self.round.late.insert(sample.cluster, sample.clone());
            }
            return;
        }
        self.round.at = sample.at;
        self.round.samples.insert(sample.cluster, sample.clone());
        if self.round.samples.len() >= self.broker.config().clusters.len() {
            self.relay(cx);
        }
    }

    fn relay(&mut self, cx: &mut impl Cx<FromBroker>) {
        let mut samples = std::mem::take(&mut self.round.late);
        samples.append(&mut self.round.samples);
        if self.frozen {
            return;
        }
        let samples: Vec<LoadSample> = samples.into_values().collect();
        self.broker.tell_drain(&mut self.notes.writing(cx));
        for index in 0..self.broker.config().neighbours.len() {
            let to = self.broker.config().neighbours[index];
            let mut told = samples.clone();
            told.extend(self.broker.passed_on(self.round.at, to.domain));
            let push = match self.partners.update(to.domain, &told) {
                Some(Some(push)) => push,
                None if to.consumer => told.into(),
                _ => continue,
            };
            let told = Event::new(EventKind::InfoSent, None, self.notes.domain);
            cx.emit(self.notes.now, told.to(to.domain));
            // Peers have the sample one link latency after it was taken.
            let due = self.round.at + to.latency;
            let info = FromBroker::Peer(to.domain, ToPeer::Info(push));
            self.notes.post(cx, None, due, info);
        }
    }
}
