//! A meta-broker: a queue of its own, a cycle, a policy, and a map back to
//! whoever a job came from (LSAP 4.1, design 5).

mod access;
mod config;
mod consider;
mod decide;
mod matchmaking;
mod propagation;
mod removal;
mod survey;
mod view;

pub use crate::policy::{Blocking, Commit, LocalInfo, MatchmakingKind, OwnDispatch};
pub use access::Access;
pub use config::{BrokerConfig, Neighbour, PeerConfig, Relation};
pub use view::Pending;

use crate::agent::{BrokerSends, Cx, Envelope, EnvelopeId, FromBroker, ToPeer};
use crate::event::{Event, EventKind, Party};
use crate::ids::{DomainId, IdMap, JobId};
use crate::job::{JobRequest, JobSpec, Reason};
use crate::load::LoadSample;
use crate::message::{EndState, JobEnd, News, Route, Target};
use crate::policy::{InformationNeed, Policy};
use crate::time::{SimDuration, SimTime};
use matchmaking::Matchmaking;
use rand::rngs::ChaCha8Rng;
use std::collections::BTreeMap;
use std::sync::Arc;
use survey::Survey;
use view::Known;

/// A meta-broker.
///
/// - Getters: [`spec`](Self::spec), [`queued`](Self::queued),
///   [`pending`](Self::pending), [`need`](Self::need),
///   [`information_age`](Self::information_age).
/// - Commands: [`set_access`](Self::set_access), [`take_back`](Self::take_back).
/// - For a broker that was restarted: [`restore`](Self::restore).
/// - Inputs, each [handled](crate::agent::Handle) with what it sets off: a job that
///   is [brought](crate::agent::Brought), a request to [remove](crate::agent::Cancel)
///   one, [news](News) of one, samples, and timers that are
///   [due](crate::agent::Due).
/// - Time: ask [`poll_timeout`](Self::poll_timeout) after any change.
pub struct Broker {
    config: BrokerConfig,
    policy: Box<dyn Policy>,
    /// How jobs and processors are brought together; `None`: as the policy says, by
    /// the broker itself.
    matchmaking: Option<Box<dyn Matchmaking>>,
    known: Vec<Known>,
    /// What the policy looks at.
    survey: Survey,
    /// Whether information has come in that the survey does not show yet.
    informed: bool,
    /// Jobs that wait for a cycle, in order of arrival.
    queue: BTreeMap<u64, JobId>,
    /// Jobs that only closed peers can take, in order of arrival: they wait
    /// until one opens, or their windows close.
    parked: BTreeMap<u64, JobId>,
    /// When the first of these happens.
    reopening: SimTime,
    /// Jobs that have come back where they entered: until when they rest, and their
    /// arrival.
    resting: BTreeMap<(SimTime, u64), JobId>,
    next_arrival: u64,
    jobs: IdMap<Held>,
    /// Earlier visits of the same jobs, by how often they had been forwarded then,
    /// which a cycle among consumers has brought back here. News of an end passes
    /// through the latest visit first.
    earlier: IdMap<Vec<Held>>,
    propagation: propagation::Propagation,
    /// Turns taken by round-robin and by rotating ties.
    turn: u64,
    /// Turns taken by the peers of inter-rr.
    peer_turn: u64,
    rng: ChaCha8Rng,
    last_cycle: Option<SimTime>,
    /// Time between cycles.
    interval: SimDuration,
    /// Until when it is drained by hand, once it has been.
    drained: Option<SimTime>,
    /// The instant of the latest input.
    pub(crate) now: SimTime,
}

/// A job that came here and whose end is not known yet.
struct Held {
    spec: JobSpec,
    route: Route,
    arrival: u64,
    /// Where it was sent; `None` while it waits for a cycle.
    sent: Option<Target>,
    /// When that was.
    sent_at: SimTime,
    /// Where it is a neighbour's request for processors: when that was meant to arrive.
    asked_at: SimTime,
    /// It is to be removed, wherever it is.
    unwanted: bool,
    /// Whoever it was sent to has been asked so, since touch was last lost with it.
    followed: bool,
    /// Touch with it has been lost there.
    lost: bool,
    refused_by: Vec<Target>,
    /// How late it is, where it is placed or reserved for.
    late: Option<matchmaking::Late>,
}

impl Broker {
    /// A broker with an empty queue. `rng` is its own stream.
    pub fn new(config: BrokerConfig, rng: ChaCha8Rng) -> Self {
        let latency = config.settings.lrms_latency;
        let own = config.clusters.iter();
        let own = own.map(|own| Known::cluster(own, latency));
        let peers = config.peers.iter().map(Known::peer);
        let known = own.chain(peers).collect();
        let matchmaking = matchmaking::build(&config);
        let interval = matchmaking.as_ref().map(|it| it.interval(&config.settings));
        let interval = interval.unwrap_or(config.settings.interval);
        let counts_own = matchmaking.as_ref().is_some_and(|it| it.counts_own());
        Broker {
            known,
            matchmaking,
            policy: (config.settings.policy.entry().build)(&config.settings),
            survey: Survey::new(&config, counts_own),
            informed: true,
            queue: BTreeMap::new(),
            parked: BTreeMap::new(),
            reopening: SimTime::ZERO,
            resting: BTreeMap::new(),
            next_arrival: 0,
            jobs: IdMap::default(),
            earlier: IdMap::default(),
            propagation: Default::default(),
            turn: 0,
            peer_turn: 0,
            rng,
            last_cycle: None,
            interval,
            drained: None,
            now: SimTime::ZERO,
            config,
        }
    }

    /// How it was set up.
    pub fn config(&self) -> &BrokerConfig {
        &self.config
    }

    /// A job that is held here, for sending it on.
    pub fn spec(&self, job: JobId) -> Option<&JobSpec> {
        self.jobs.get(&job).map(|held| &held.spec)
    }

    /// Where a job was sent: `Some(None)` while it waits for a cycle, `None`
    /// when it is not held here.
    pub fn whereabouts(&self, job: JobId) -> Option<Option<Target>> {
        self.jobs.get(&job).map(|held| held.sent)
    }

    /// The way a job has come that is held here.
    pub fn route(&self, job: JobId) -> Option<Route> {
        self.jobs.get(&job).map(|held| held.route)
    }

    /// Whether a job that is held here is with this target.
    pub fn is_with(&self, job: JobId, target: Target) -> bool {
        self.with(job, target).is_some()
    }

    /// The latest visit of a job that is with this target.
    fn with(&self, job: JobId, target: Target) -> Option<&Held> {
        self.visits(job).rfind(|held| held.sent == Some(target))
    }

    /// Jobs that wait for a cycle.
    pub fn queued(&self) -> usize {
        self.queue.len() + self.parked.len() + self.resting.len()
    }

    /// Jobs whose end is not known here yet.
    pub fn held(&self) -> usize {
        self.jobs.len()
    }

    /// What waits here, as the full-information bound is told.
    pub fn pending(&self) -> Pending {
        let mut pending = Pending::default();
        let waiting = self.queue.values().chain(self.parked.values());
        for job in waiting.chain(self.resting.values()) {
            pending.add(&self.jobs[job].spec);
        }
        pending
    }

    /// What the policy must be told before a cycle.
    pub fn need(&self) -> InformationNeed {
        self.config.settings.policy.entry().need
    }

    /// Age of the oldest information in use about each candidate.
    pub fn information_age(&self, now: SimTime) -> impl Iterator<Item = (Target, SimDuration)> {
        let all = self.known.iter();
        all.map(move |known| (known.target, now.since(known.information_from())))
    }

    /// The samples in use about each candidate: one of an own cluster, those of
    /// all its clusters of a peer.
    pub fn samples(&self) -> impl Iterator<Item = (Target, &[LoadSample])> {
        let all = self.known.iter();
        all.map(|known| (known.target, known.samples()))
    }

    /// Takes a job into the queue that has come this way; it is decided in the next
    /// cycle.
    ///
    /// # Errors
    /// [`Reason::QueueFull`] past the bound, [`Reason::Draining`] while it is drained;
    /// nothing is changed then.
    pub(crate) fn take_over(
        &mut self,
        cx: &mut impl Cx<BrokerSends>,
        spec: JobSpec,
        route: Route,
    ) -> Result<(), Reason> {
        if self.is_drained(cx.now()) {
            return Err(Reason::Draining);
        }
        let limit = self.config.queue_limit;
        if limit.is_some_and(|limit| self.queued() >= limit) {
            return Err(Reason::QueueFull);
        }
        let arrived = Event::new(EventKind::BrokerArrival, spec.id, self.config.domain);
        self.restore(spec, route, None);
        cx.emit(cx.now(), arrived.with(route.hop));
        Ok(())
    }

    /// Holds a job that has come this way: it waits here, or was `sent` to whoever
    /// has it.
    pub fn restore(&mut self, spec: JobSpec, route: Route, sent: Option<Target>) {
        let (job, arrival) = (spec.id, self.next_arrival);
        self.next_arrival += 1;
        if sent.is_none() {
            self.queue.insert(arrival, job);
        }
        let mut latest = Held {
            spec,
            route,
            arrival,
            sent,
            sent_at: SimTime::ZERO,
            asked_at: SimTime::ZERO,
            unwanted: false,
            followed: false,
            lost: false,
            refused_by: Vec::new(),
            late: None,
        };
        if let Some(mut before) = self.jobs.remove(&job) {
            // A broker that was restarted may be brought an earlier visit last.
            if before.route.hop > route.hop {
                std::mem::swap(&mut before, &mut latest);
            }
            let earlier = self.earlier.entry(job).or_default();
            let at = earlier.partition_point(|one| one.route.hop <= before.route.hop);
            earlier.insert(at, before);
        }
        self.jobs.insert(job, latest);
    }

    /// What is known of a candidate.
    fn known_mut(&mut self, target: Target) -> Option<&mut Known> {
        self.known.iter_mut().find(|known| known.target == target)
    }

    /// Takes in a sample of an own cluster or of a peer's cluster.
    pub(crate) fn handle_info(&mut self, from: Target, samples: &[LoadSample]) {
        if let Some(known) = self.known_mut(from) {
            known.receive(samples);
            self.informed = true;
        }
    }

    /// Takes in samples of a peer's clusters that go to several brokers at once.
    pub(crate) fn share_info(&mut self, peer: DomainId, samples: &Arc<[LoadSample]>) {
        if let Some(known) = self.known_mut(Target::Peer(peer)) {
            known.share(samples);
            self.informed = true;
        }
    }

    /// Takes in what waits in a peer's broker: the truth only.
    pub(crate) fn handle_pending(&mut self, peer: DomainId, pending: Pending) {
        if let Some(known) = self.known_mut(Target::Peer(peer)) {
            known.set_pending(pending);
        }
    }

    /// A job came back from where it was sent: it is decided again in the next
    /// cycle, in its old place, without that candidate. One that has wandered
    /// enough goes on back to where it entered, and rests or stays there. One that
    /// was to be removed has found its end.
    pub(crate) fn handle_refusal(
        &mut self,
        cx: &mut impl Cx<BrokerSends>,
        job: JobId,
        by: Target,
        reason: Reason,
    ) {
        let policy = self.config.settings.policy.entry();
        let returns = reason == Reason::HopsExhausted && policy.wanders();
        let held = self.jobs.get_mut(&job);
        let Some(held) = held.filter(|held| held.sent == Some(by)) else {
            return;
        };
        (held.sent, held.lost) = (None, false);
        self.matched(cx, |own, broker, cx| own.is_back(broker, cx, job));
        let Some(held) = self.jobs.get_mut(&job) else {
            return;
        };
        if held.unwanted {
            return self.end_unwanted(cx, job);
        }
        // Neighbours may count on processors here for as long as they wait.
        let waits =
            reason == Reason::ServiceLost && self.config.settings.matchmaking().makes_deals();
        match (returns, held.route.from) {
            // It may go there later: others are tried meanwhile.
            _ if waits || reason == Reason::Draining => {
                self.queue.insert(held.arrival, job);
                let pause = self.config.settings.exchange;
                return self.close_until(by, cx.now() + pause);
            }
            (true, Some(_)) => return self.turn_away(cx, job, reason),
            (true, None) => {
                // One that cannot run here would only go round.
                let request = JobRequest::from(&held.spec);
                let own = self.known.iter().filter(|known| {
                    matches!(known.target, Target::Cluster(_))
                        && known.access != Access::Gone
                        && !held.refused_by.contains(&known.target)
                });
                let runs_here = own.into_iter().any(|known| known.could_run(&request, 0));
                let rest = self.config.settings.reschedule_interval();
                if let Some(rest) = rest.filter(|_| runs_here) {
                    let until = cx.now() + rest;
                    self.resting.insert((until, held.arrival), job);
                    return;
                }
                held.route.settled = true;
            }
            (false, _) => {
                held.refused_by.push(by);
                // An own cluster is not tried by an earlier visit either: else a job could
                // go round for the sake of one that never takes it.
                if let (Target::Cluster(_), Some(earlier)) = (by, self.earlier.get_mut(&job)) {
                    earlier.iter_mut().for_each(|held| held.refused_by.push(by));
                }
            }
        }
        self.queue.insert(held.arrival, job);
    }

    /// News of a job's end, from an own LRMS or a peer: it goes back to whoever the
    /// job came from. It changes nothing if the job is not there.
    pub(crate) fn handle_end(&mut self, cx: &mut impl Cx<BrokerSends>, by: Target, end: JobEnd) {
        if let Some(held) = self.let_go(end.job, by) {
            self.matched(cx, |own, broker, cx| own.is_back(broker, cx, end.job));
            if let Some(index) = self.known.iter().position(|known| known.target == by) {
                let sent = (JobRequest::from(&held.spec).estimate, held.sent_at);
                self.policy.note_end(index, sent, &end);
            }
            self.pass_back(cx, held.route.from, end);
        }
    }

    /// Lets go of the latest visit of a job.
    fn release(&mut self, job: JobId) -> Option<Held> {
        let latest = self.jobs.remove(&job)?;
        if let Some(mut earlier) = self.earlier.remove(&job)
            && let Some(before) = earlier.pop()
        {
            self.jobs.insert(job, before);
            self.earlier.insert(job, earlier);
        }
        Some(latest)
    }

    /// Touch with a job is lost that is with this target: whoever it came from is
    /// told. It stays as sent there, so that its end is passed on if that comes
    /// after all. Of several visits it is the one with so many forwards, or the latest
    /// of which that is not known yet: else the news would go round where each of two
    /// has the job from the other. The answer is whether it is so.
    pub(crate) fn lose_touch(
        &mut self,
        cx: &mut impl Cx<BrokerSends>,
        job: JobId,
        target: Target,
        hop: Option<u32>,
    ) -> bool {
        let mut visits = self.visits_mut(job).filter(|held| !held.lost);
        let is_its = |held: &&mut Held| {
            held.sent == Some(target) && hop.is_none_or(|hop| hop == held.route.hop)
        };
        let Some(held) = visits.rfind(is_its) else {
            return false;
        };
        (held.followed, held.lost) = (false, true);
        let from = held.route.from;
        drop(visits);
        let lost = Event::new(EventKind::LostTouch, job, self.config.domain);
        cx.emit(cx.now(), lost.to(target).because(Reason::Lost));
        self.pass_back(cx, from, JobEnd::without_run(job, EndState::LOST));
        true
    }

    /// When the next cycle with something to decide is due.
    pub fn poll_timeout(&self, now: SimTime) -> Option<SimTime> {
        let own = self.matchmaking.as_ref();
        let own = own.and_then(|own| own.next_due(self, now));
        self.next_cycle(now).into_iter().chain(own).min()
    }

    fn next_cycle(&self, now: SimTime) -> Option<SimTime> {
        let parked = (!self.parked.is_empty()).then_some(self.reopening);
        let rests = self.resting.keys().next().map(|(until, _)| *until);
        let waits = [(!self.queue.is_empty()).then_some(now), parked, rests];
        let waits = waits.into_iter().flatten();
        let from = now.max(waits.min().filter(|from| *from < SimTime::MAX)?);
        Some(self.next_after(from, self.interval, self.last_cycle))
    }

    /// The next of instants so far apart, after the last one.
    fn next_after(&self, from: SimTime, apart: SimDuration, last: Option<SimTime>) -> SimTime {
        let next = from.next_on_grid(self.config.settings.phase, apart);
        match last {
            Some(last) if last >= next => last + apart,
            _ => next,
        }
    }

    /// Nobody can take the job: back to the forwarder, or rejected for good.
    fn turn_away(&mut self, cx: &mut impl Cx<BrokerSends>, job: JobId, reason: Reason) {
        let held = self.release(job).expect("a queued job is held");
        if let Some(to) = held.route.from {
            return self.refuse(cx, to, job, reason);
        }
        let rejected = Event::new(EventKind::Rejected, job, self.config.domain);
        cx.emit(cx.now(), rejected.because(reason));
        let end = JobEnd::without_run(job, EndState::Rejected(reason));
        self.pass_back(cx, None, end);
    }

    /// A job goes back to the peer that it came from.
    pub(crate) fn refuse(
        &self,
        cx: &mut impl Cx<BrokerSends>,
        to: DomainId,
        job: JobId,
        reason: Reason,
    ) {
        let refused = Event::new(EventKind::Refused, job, self.config.domain);
        cx.emit(cx.now(), refused.to(to).because(reason));
        let visit = None;
        self.tell(cx, to, News::Refused { job, reason, visit });
    }

    fn pass_back(&self, cx: &mut impl Cx<BrokerSends>, from: Option<DomainId>, end: JobEnd) {
        let (now, here) = (cx.now(), self.config.domain);
        if let Some(to) = from {
            cx.emit(now, Event::new(EventKind::Notified, end.job, here).to(to));
            return self.tell(cx, to, News::Ended(end));
        }
        if !end.state.is_lost() {
            cx.emit(now, Event::new(EventKind::FinishSeen, end.job, here));
        }
        self.post(cx, now, FromBroker::Client(end));
    }

    fn tell(&self, cx: &mut impl Cx<BrokerSends>, peer: DomainId, news: News) {
        let due = cx.now() + self.config.latency(Target::Peer(peer));
        self.post(cx, due, FromBroker::Peer(peer, ToPeer::News(news)));
    }

    #[inline]
    fn post(&self, cx: &mut impl Cx<BrokerSends>, due: SimTime, message: BrokerSends) {
        cx.send(Envelope {
            id: EnvelopeId::default(),
            from: Party::Broker(self.config.domain),
            address: None,
            due,
            message,
        });
    }
}
