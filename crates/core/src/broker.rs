//! A meta-broker: a queue of its own, a cycle, a policy, and a map back to
//! whoever a job came from (LSAP 4.1, design 5).

mod access;
mod config;
mod decide;
mod removal;
mod survey;
mod view;

pub use crate::policy::{LocalInfo, OwnDispatch};
pub use access::Access;
pub use config::{BrokerConfig, Neighbour, PeerConfig};
pub use view::Pending;

use crate::event::{Event, EventKind, EventSink, Party};
use crate::ids::{DomainId, IdMap, JobId};
use crate::job::{JobSpec, Reason};
use crate::load::LoadSample;
use crate::message::{EndState, JobEnd, Outgoing, Route, Target};
use crate::policy::{InformationNeed, Policy};
use crate::time::{SimDuration, SimTime};
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
/// - Commands: [`submit`](Self::submit), [`cancel`](Self::cancel),
///   [`set_access`](Self::set_access).
/// - For a broker that was started anew: [`restore`](Self::restore).
/// - Messages in: [`handle_info`](Self::handle_info), [`share_info`](Self::share_info),
///   [`handle_refusal`](Self::handle_refusal), [`handle_end`](Self::handle_end).
/// - Time: ask [`poll_timeout`](Self::poll_timeout) after any change; when it
///   is due, call [`handle_cycle`](Self::handle_cycle).
///
/// What is to be sent is appended to `out`.
pub struct Broker {
    config: BrokerConfig,
    policy: Box<dyn Policy>,
    known: Vec<Known>,
    /// What the policy looks at.
    survey: Survey,
    /// Whether information has come in that the survey does not show yet.
    informed: bool,
    /// Jobs that wait for a cycle, in order of arrival.
    queue: BTreeMap<u64, JobId>,
    /// Jobs that only closed peers can take, in order of arrival: they wait
    /// until one opens.
    parked: BTreeMap<u64, JobId>,
    /// When the first of those peers opens.
    reopening: SimTime,
    next_arrival: u64,
    jobs: IdMap<Held>,
    /// Turns taken by round-robin and by rotating ties.
    turn: u64,
    /// Turns taken by the peers of inter-rr.
    peer_turn: u64,
    rng: ChaCha8Rng,
    last_cycle: Option<SimTime>,
    /// The instant of the latest input that it handled as a participant.
    pub(crate) now: SimTime,
    /// Reused: what an input has set off.
    pub(crate) out: Vec<Outgoing>,
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
    /// It is to be removed, wherever it is.
    unwanted: bool,
    refused_by: Vec<Target>,
    /// An earlier visit of the same job, which a cycle among consumers has
    /// brought back here. News of its end passes through the later one first.
    earlier: Option<Box<Held>>,
}

impl Broker {
    /// A broker with an empty queue. `rng` is its own stream.
    #[must_use]
    pub fn new(config: BrokerConfig, rng: ChaCha8Rng) -> Self {
        let latency = config.settings.lrms_latency;
        let own = config
            .clusters
            .iter()
            .map(|(id, resources)| Known::cluster(*id, Arc::clone(resources), latency));
        let peers = config.peers.iter().map(Known::peer);
        let known = own.chain(peers).collect();
        Broker {
            known,
            policy: (config.settings.policy.entry().build)(&config.settings),
            survey: Survey::new(&config),
            informed: true,
            queue: BTreeMap::new(),
            parked: BTreeMap::new(),
            reopening: SimTime::ZERO,
            next_arrival: 0,
            jobs: IdMap::default(),
            turn: 0,
            peer_turn: 0,
            rng,
            last_cycle: None,
            now: SimTime::ZERO,
            out: Vec::new(),
            config,
        }
    }

    /// How it was set up.
    #[must_use]
    pub fn config(&self) -> &BrokerConfig {
        &self.config
    }

    /// A job that is held here, for sending it on.
    #[must_use]
    pub fn spec(&self, job: JobId) -> Option<&JobSpec> {
        self.jobs.get(&job).map(|held| &held.spec)
    }

    /// Where a job was sent: `Some(None)` while it waits for a cycle, `None`
    /// when it is not held here.
    #[must_use]
    pub fn whereabouts(&self, job: JobId) -> Option<Option<Target>> {
        self.jobs.get(&job).map(|held| held.sent)
    }

    /// The way a job has come that is held here.
    #[must_use]
    pub fn route(&self, job: JobId) -> Option<Route> {
        self.jobs.get(&job).map(|held| held.route)
    }

    /// Whether a job that is held here is with this target.
    #[must_use]
    pub fn is_with(&self, job: JobId, target: Target) -> bool {
        self.with(job, target).is_some()
    }

    /// The latest visit of a job that is with this target.
    fn with(&self, job: JobId, target: Target) -> Option<&Held> {
        let latest = self.jobs.get(&job);
        let mut visits = std::iter::successors(latest, |held| held.earlier.as_deref());
        visits.find(|held| held.sent == Some(target))
    }

    /// Jobs that wait for a cycle.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queue.len() + self.parked.len()
    }

    /// Jobs whose end is not known here yet.
    #[must_use]
    pub fn held(&self) -> usize {
        self.jobs.len()
    }

    /// What waits here, as the full-information bound is told.
    #[must_use]
    pub fn pending(&self) -> Pending {
        let mut pending = Pending::default();
        for job in self.queue.values().chain(self.parked.values()) {
            pending.add(&self.jobs[job].spec);
        }
        pending
    }

    /// What the policy must be told before a cycle.
    #[must_use]
    pub fn need(&self) -> InformationNeed {
        self.config.settings.policy.entry().need
    }

    /// Age of the oldest information in use about each candidate.
    pub fn information_age(&self, now: SimTime) -> impl Iterator<Item = (Target, SimDuration)> {
        self.known
            .iter()
            .map(move |known| (known.target, now.since(known.information_from())))
    }

    /// The samples in use about each candidate: one of an own cluster, those of
    /// all its clusters of a peer.
    pub fn samples(&self) -> impl Iterator<Item = (Target, &[LoadSample])> {
        self.known
            .iter()
            .map(|known| (known.target, known.samples()))
    }

    /// Takes a job into the queue; it is decided in the next cycle. A job that
    /// comes `from` a peer is taken to have entered there; see
    /// [`Broker::take_over`] for one that tells more.
    ///
    /// # Errors
    /// [`Reason::QueueFull`] past the bound; nothing is changed then.
    pub fn submit(
        &mut self,
        now: SimTime,
        spec: JobSpec,
        from: Option<DomainId>,
        hop: u32,
        events: &mut impl EventSink,
    ) -> Result<(), Reason> {
        let origin = from.unwrap_or(self.config.domain);
        let route = Route {
            from,
            hop,
            origin,
            settled: false,
        };
        self.take_over(now, spec, route, events)
    }

    /// Takes a job into the queue that has come this way.
    ///
    /// # Errors
    /// As [`Broker::submit`].
    pub fn take_over(
        &mut self,
        now: SimTime,
        spec: JobSpec,
        route: Route,
        events: &mut impl EventSink,
    ) -> Result<(), Reason> {
        if self
            .config
            .queue_limit
            .is_some_and(|limit| self.queued() >= limit)
        {
            return Err(Reason::QueueFull);
        }
        let (job, hop) = (spec.id, route.hop);
        self.restore(spec, route, None);
        events.emit(
            now,
            Event::new(EventKind::BrokerArrival, job, self.config.domain).with(hop),
        );
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
        let mut held = Held {
            spec,
            route,
            arrival,
            sent,
            sent_at: SimTime::ZERO,
            unwanted: false,
            refused_by: Vec::new(),
            earlier: self.jobs.remove(&job).map(Box::new),
        };
        // A broker that was started anew may be brought an earlier visit last.
        let is_later = |one: &Held| one.route.hop > route.hop;
        if let Some(mut latest) = held.earlier.take_if(|one| is_later(one)) {
            let mut place = &mut latest.earlier;
            while place.as_deref().is_some_and(is_later) {
                place = &mut place.as_mut().expect("there is one").earlier;
            }
            held.earlier = place.take();
            *place = Some(Box::new(held));
            held = *latest;
        }
        self.jobs.insert(job, held);
    }

    /// Takes in a sample of an own cluster or of a peer's cluster.
    pub fn handle_info(&mut self, from: Target, samples: &[LoadSample]) {
        if let Some(known) = self.known.iter_mut().find(|known| known.target == from) {
            known.receive(samples);
            self.informed = true;
        }
    }

    /// The same for samples that go to several brokers at once.
    pub fn share_info(&mut self, from: Target, samples: &Arc<[LoadSample]>) {
        if let Some(known) = self.known.iter_mut().find(|known| known.target == from) {
            known.share(samples);
            self.informed = true;
        }
    }

    /// Takes in what waits in a peer's broker: the truth only.
    pub fn handle_pending(&mut self, peer: DomainId, pending: Pending) {
        if let Some(known) = self
            .known
            .iter_mut()
            .find(|k| k.target == Target::Peer(peer))
        {
            known.set_pending(pending);
        }
    }

    /// A job came back from where it was sent: it is decided again in the next
    /// cycle, in its old place, without that candidate. One that has wandered
    /// enough goes on back to where it entered, and stays there. One that was
    /// to be removed has found its end.
    pub fn handle_refusal(
        &mut self,
        now: SimTime,
        job: JobId,
        by: Target,
        reason: Reason,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) {
        let policy = self.config.settings.policy.entry();
        let returns = reason == Reason::HopsExhausted && policy.wanders();
        let Some(held) = self.jobs.get_mut(&job) else {
            return;
        };
        if held.sent != Some(by) {
            return;
        }
        held.sent = None;
        if held.unwanted {
            return self.end_unwanted(now, job, events, out);
        }
        match (returns, held.route.from) {
            (true, Some(_)) => return self.turn_away(now, job, reason, events, out),
            (true, None) => held.route.settled = true,
            (false, _) => held.refused_by.push(by),
        }
        self.queue.insert(held.arrival, job);
    }

    /// News of a job's end, from an own LRMS or a peer: it goes back to
    /// whoever the job came from.
    pub fn handle_end(
        &mut self,
        now: SimTime,
        end: JobEnd,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) {
        if let Some(held) = self.release(end.job) {
            self.queue.remove(&held.arrival);
            self.parked.remove(&held.arrival);
            self.pass_back(now, held.route.from, end, events, out);
        }
    }

    /// The same from this target; it changes nothing if the job is not there.
    pub fn handle_end_from(
        &mut self,
        now: SimTime,
        by: Target,
        end: JobEnd,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) {
        if let Some(held) = self.let_go(end.job, by) {
            self.pass_back(now, held.route.from, end, events, out);
        }
    }

    /// Lets go of the latest visit of a job that is with this target.
    fn let_go(&mut self, job: JobId, by: Target) -> Option<Held> {
        let mut latest = self.jobs.remove(&job)?;
        if latest.sent == Some(by) {
            if let Some(earlier) = latest.earlier.take() {
                self.jobs.insert(job, *earlier);
            }
            return Some(latest);
        }
        let mut place = &mut latest.earlier;
        while place.as_ref().is_some_and(|held| held.sent != Some(by)) {
            place = &mut place.as_mut().expect("there is one").earlier;
        }
        let mut found = place.take();
        *place = found.as_mut().and_then(|held| held.earlier.take());
        self.jobs.insert(job, latest);
        found.map(|held| *held)
    }

    /// Touch with a job is lost that is with this target: whoever it came from is
    /// told. It stays as sent there, so that its end is passed on if that comes
    /// after all. The answer is whether it is so.
    pub fn lose_touch(
        &mut self,
        now: SimTime,
        job: JobId,
        target: Target,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) -> bool {
        let Some(from) = self.with(job, target).map(|held| held.route.from) else {
            return false;
        };
        let lost = Event::new(EventKind::LostTouch, job, self.config.domain);
        events.emit(now, lost.to(target).because(Reason::Lost));
        let end = JobEnd::without_run(job, EndState::LOST);
        self.pass_back(now, from, end, events, out);
        true
    }

    /// Lets go of the latest visit of a job.
    fn release(&mut self, job: JobId) -> Option<Held> {
        let mut held = self.jobs.remove(&job)?;
        if let Some(earlier) = held.earlier.take() {
            self.jobs.insert(job, *earlier);
        }
        Some(held)
    }

    /// When the next cycle with something to decide is due.
    #[must_use]
    pub fn poll_timeout(&self, now: SimTime) -> Option<SimTime> {
        let from = match (self.queue.is_empty(), self.parked.is_empty()) {
            (false, _) => now,
            (true, false) if self.reopening < SimTime::MAX => now.max(self.reopening),
            _ => return None,
        };
        let settings = &self.config.settings;
        let next = from.next_on_grid(settings.phase, settings.interval);
        match self.last_cycle {
            Some(last) if last >= next => Some(last + settings.interval),
            _ => Some(next),
        }
    }

    /// Nobody can take the job: back to the forwarder, or rejected for good.
    fn turn_away(
        &mut self,
        now: SimTime,
        job: JobId,
        reason: Reason,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) {
        let by = Party::Broker(self.config.domain);
        let held = self.release(job).expect("a queued job is held");
        match held.route.from {
            Some(to) => {
                events.emit(
                    now,
                    Event::new(EventKind::Refused, job, by)
                        .to(Party::Broker(to))
                        .because(reason),
                );
                out.push(Outgoing::Refuse { job, to, reason });
            }
            None => {
                events.emit(
                    now,
                    Event::new(EventKind::Rejected, job, by).because(reason),
                );
                let state = EndState::Rejected(reason);
                let end = JobEnd::without_run(job, state);
                self.pass_back(now, None, end, events, out);
            }
        }
    }

    fn pass_back(
        &mut self,
        now: SimTime,
        from: Option<DomainId>,
        end: JobEnd,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) {
        let here = Party::Broker(self.config.domain);
        match from {
            Some(to) => {
                let job = end.job;
                events.emit(
                    now,
                    Event::new(EventKind::Notified, job, here).to(Party::Broker(to)),
                );
                out.push(Outgoing::Notify { end, to });
            }
            None => {
                if !end.state.is_lost() {
                    events.emit(now, Event::new(EventKind::FinishSeen, end.job, here));
                }
                out.push(Outgoing::Seen { end });
            }
        }
    }
}
