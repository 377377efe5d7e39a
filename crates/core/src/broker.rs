//! A meta-broker: a queue of its own, a cycle, a policy, and a map back to
//! whoever a job came from (LSAP 4.1, design 5).

mod access;
mod view;

pub use access::Access;
pub use view::Pending;

use crate::event::{Event, EventSink, Party};
use crate::ids::{ClusterId, DomainId, IdMap, JobId};
use crate::job::{JobSpec, Reason};
use crate::load::{LoadSample, Window};
use crate::message::{EndState, JobEnd, Outgoing, Target};
use crate::policy::{Candidate, InformationNeed, Policy, PolicyKind, Tie};
use crate::resource::Resources;
use crate::time::{SimDuration, SimTime};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use std::collections::BTreeMap;
use std::sync::Arc;
use view::Known;

/// Whether a broker counts what it has sent since its last information.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OwnDispatch {
    /// It believes the last information, whatever it has done since.
    #[default]
    Ignored,
    /// It subtracts what it has sent itself from its last view: each job that
    /// arrived there after the sample was taken.
    Debited,
}

/// Where a broker's knowledge of its own clusters comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LocalInfo {
    /// From the exchange, like that of its peers.
    #[default]
    Exchange,
    /// Own clusters are read live at each cycle.
    Fresh,
}

/// A peer that provides for this broker.
#[derive(Clone, Debug)]
pub struct PeerConfig {
    /// Whose broker.
    pub domain: DomainId,
    /// One-way latency of the link.
    pub latency: SimDuration,
    /// Its own clusters.
    pub clusters: Vec<(ClusterId, Arc<Resources>)>,
    /// `reach[n]`: every cluster that a job may get to from there with `n`
    /// further forwards.
    pub reach: Vec<Vec<Arc<Resources>>>,
}

/// How a broker is set up. All of these can reverse a ranking of policies, so
/// all are reported.
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    /// Whose broker this is.
    pub domain: DomainId,
    /// Time between scheduling cycles (LSAP: 5 s).
    pub interval: SimDuration,
    /// First cycle.
    pub phase: SimDuration,
    /// Forwards a job may make.
    pub max_hops: u32,
    /// Whether it counts what it has sent.
    pub own_dispatch: OwnDispatch,
    /// How it knows its own clusters.
    pub local_info: LocalInfo,
    /// How equals are told apart.
    pub tie: Tie,
    /// The forwarding policy.
    pub policy: PolicyKind,
    /// Window of the queue-length policy.
    pub queue_window: Window,
    /// Window of the utilization policy.
    pub utilization_window: Window,
    /// One-way latency between broker and its LRMSs.
    pub lrms_latency: SimDuration,
    /// The most jobs that may wait for a cycle; beyond, they are refused.
    pub queue_limit: Option<usize>,
    /// Own clusters in file order.
    pub clusters: Vec<(ClusterId, Arc<Resources>)>,
    /// Providing peers in link order.
    pub peers: Vec<PeerConfig>,
}

/// A meta-broker.
///
/// - Getters: [`spec`](Self::spec), [`queued`](Self::queued),
///   [`pending`](Self::pending), [`need`](Self::need),
///   [`information_age`](Self::information_age).
/// - Commands: [`submit`](Self::submit), [`cancel`](Self::cancel),
///   [`set_access`](Self::set_access).
/// - For a broker that was started anew: [`set_aside`](Self::set_aside),
///   [`put_back`](Self::put_back), [`place`](Self::place).
/// - Messages in: [`handle_info`](Self::handle_info),
///   [`handle_refusal`](Self::handle_refusal), [`handle_end`](Self::handle_end).
/// - Time: ask [`poll_timeout`](Self::poll_timeout) after any change; when it
///   is due, call [`handle_cycle`](Self::handle_cycle).
///
/// What is to be sent is appended to `out`.
pub struct Broker {
    config: BrokerConfig,
    policy: Box<dyn Policy>,
    known: Vec<Known>,
    /// Jobs that wait for a cycle, in order of arrival.
    queue: BTreeMap<u64, JobId>,
    next_arrival: u64,
    jobs: IdMap<Held>,
    /// Turns taken by round-robin and by rotating ties.
    turn: u64,
    rng: ChaCha8Rng,
    last_cycle: Option<SimTime>,
}

/// What a cycle does with a job that it does not turn away.
enum Choice {
    /// It goes to the candidate at this position.
    Send(usize),
    /// Only candidates that are closed for now could run it.
    Wait,
}

/// A job that came here and whose end is not known yet.
struct Held {
    spec: JobSpec,
    /// The peer it came from; `None` if it entered here.
    from: Option<DomainId>,
    hop: u32,
    arrival: u64,
    /// Where it was sent; `None` while it waits for a cycle.
    sent: Option<Target>,
    refused_by: Vec<Target>,
    /// An earlier visit of the same job, which a cycle among consumers has
    /// brought back here. News of its end passes through the later one first.
    earlier: Option<Box<Held>>,
}

impl Broker {
    /// A broker with an empty queue. `rng` is its own stream.
    #[must_use]
    pub fn new(config: BrokerConfig, rng: ChaCha8Rng) -> Self {
        let own = config
            .clusters
            .iter()
            .map(|(id, resources)| Known::cluster(*id, Arc::clone(resources), config.lrms_latency));
        let peers = config.peers.iter().map(|peer| {
            Known::peer(
                peer.domain,
                &peer.clusters,
                peer.reach.clone(),
                peer.latency,
            )
        });
        Broker {
            known: own.chain(peers).collect(),
            policy: config
                .policy
                .build(config.queue_window, config.utilization_window),
            queue: BTreeMap::new(),
            next_arrival: 0,
            jobs: IdMap::default(),
            turn: 0,
            rng,
            last_cycle: None,
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

    /// Jobs that wait for a cycle.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queue.len()
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
        for job in self.queue.values() {
            pending.add(&self.jobs[job].spec);
        }
        pending
    }

    /// What the policy must be told before a cycle.
    #[must_use]
    pub fn need(&self) -> InformationNeed {
        self.policy.need()
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

    /// Takes a job into the queue; it is decided in the next cycle.
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
        if self
            .config
            .queue_limit
            .is_some_and(|limit| self.queue.len() >= limit)
        {
            return Err(Reason::QueueFull);
        }
        let job = spec.id;
        let arrival = self.next_arrival;
        self.next_arrival += 1;
        let earlier = self.jobs.remove(&job).map(Box::new);
        let refused_by = Vec::new();
        let held = Held {
            spec,
            from,
            hop,
            arrival,
            sent: None,
            refused_by,
            earlier,
        };
        self.jobs.insert(job, held);
        self.queue.insert(arrival, job);
        events.emit(
            now,
            Event::BrokerArrival {
                job,
                domain: self.config.domain,
                hop,
            },
        );
        Ok(())
    }

    /// Takes in a sample of an own cluster or of a peer's cluster.
    pub fn handle_info(&mut self, from: Target, samples: &[LoadSample]) {
        if let Some(known) = self.known.iter_mut().find(|known| known.target == from) {
            for sample in samples {
                known.receive(sample);
            }
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
    /// cycle, in its old place, without that candidate.
    pub fn handle_refusal(&mut self, job: JobId, by: Target) {
        let Some(held) = self.jobs.get_mut(&job) else {
            return;
        };
        if held.sent == Some(by) {
            held.sent = None;
            held.refused_by.push(by);
            self.queue.insert(held.arrival, job);
        }
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
            self.pass_back(now, held.from, end, events, out);
        }
    }

    /// Lets go of the latest visit of a job.
    fn release(&mut self, job: JobId) -> Option<Held> {
        let mut held = self.jobs.remove(&job)?;
        if let Some(earlier) = held.earlier.take() {
            self.jobs.insert(job, *earlier);
        }
        Some(held)
    }

    /// Removes a job: here if it still waits, else wherever it was sent.
    /// `false` if it is not known here (any more).
    pub fn cancel(
        &mut self,
        now: SimTime,
        job: JobId,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) -> bool {
        let Some(held) = self.jobs.get(&job) else {
            return false;
        };
        if let Some(to) = held.sent {
            out.push(Outgoing::Cancel { job, to });
            return true;
        }
        let by = Party::Broker(self.config.domain);
        events.emit(now, Event::Cancelled { job, by });
        let state = EndState::Cancelled;
        let end = JobEnd {
            job,
            state,
            cluster: None,
            start: None,
            finish: None,
        };
        self.handle_end(now, end, events, out);
        true
    }

    /// When the next cycle with something to decide is due.
    #[must_use]
    pub fn poll_timeout(&self, now: SimTime) -> Option<SimTime> {
        if self.queue.is_empty() {
            return None;
        }
        let next = now.next_on_grid(self.config.phase, self.config.interval);
        match self.last_cycle {
            Some(last) if last >= next => Some(last + self.config.interval),
            _ => Some(next),
        }
    }

    /// Decides every waiting job, first come first served, on one view.
    pub fn handle_cycle(
        &mut self,
        now: SimTime,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) {
        self.last_cycle = Some(now);
        let counts_own = self.config.own_dispatch == OwnDispatch::Debited
            || self.policy.need() == InformationNeed::Truth;
        let mut view: Vec<Candidate> = self
            .known
            .iter()
            .map(|known| known.candidate(counts_own))
            .collect();
        let mut waiting = Vec::new();
        while let Some((arrival, job)) = self.queue.pop_first() {
            match self.choose(job, &view) {
                Ok(Choice::Wait) => waiting.push((arrival, job)),
                Ok(Choice::Send(chosen)) => {
                    let held = &self.jobs[&job];
                    if counts_own {
                        let work = view::work_of(&held.spec);
                        view::debit(&mut view[chosen], held.spec.processors, work);
                        self.known[chosen].note_sent(now, &held.spec);
                    }
                    self.send(now, job, chosen, events, out);
                }
                Err(reason) => self.turn_away(now, job, reason, events, out),
            }
        }
        self.queue.extend(waiting);
    }

    fn choose(&mut self, job: JobId, view: &[Candidate]) -> Result<Choice, Reason> {
        let held = &self.jobs[&job];
        let hops_left = self.config.max_hops.saturating_sub(held.hop);
        let able = |known: &Known| {
            let within_hops = match known.target {
                Target::Cluster(_) => known.could_run(&held.spec, 0),
                Target::Peer(_) => hops_left > 0 && known.could_run(&held.spec, hops_left - 1),
            };
            within_hops && !held.refused_by.contains(&known.target)
        };
        let possible = |index: &usize| {
            let known = &self.known[*index];
            known.access == Access::Open && able(known) && self.policy.admits(&view[*index])
        };
        let mut tied: Vec<usize> = Vec::with_capacity(view.len());
        for index in (0..view.len()).filter(possible) {
            let order = match tied.first() {
                None => std::cmp::Ordering::Equal,
                Some(&best) => self.policy.compare(&held.spec, &view[index], &view[best]),
            };
            if order.is_lt() {
                tied.clear();
            }
            if order.is_le() {
                tied.push(index);
            }
        }
        let closed = |known: &Known| known.access == Access::Closed && able(known);
        match (tied.is_empty(), held.refused_by.is_empty()) {
            (true, _) if self.known.iter().any(closed) => Ok(Choice::Wait),
            (true, true) => Err(Reason::NoCandidate),
            (true, false) => Err(Reason::AllRefused),
            _ => Ok(Choice::Send(self.break_tie(tied, view))),
        }
    }

    /// One of the equally good ones, never an empty list.
    fn break_tie(&mut self, mut tied: Vec<usize>, view: &[Candidate]) -> usize {
        let rule = self.policy.tie(self.config.tie);
        if rule == Tie::Local {
            let own = |index: &usize| matches!(view[*index].target, Target::Cluster(_));
            if tied.iter().any(own) {
                tied.retain(own);
            }
        }
        match rule {
            Tie::Rotate | Tie::Local => {
                let turn = (self.turn % tied.len() as u64) as usize;
                self.turn += 1;
                tied[turn]
            }
            Tie::First => tied[0],
            Tie::Random => tied[self.rng.random_range(0..tied.len())],
        }
    }

    fn send(
        &mut self,
        now: SimTime,
        job: JobId,
        chosen: usize,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) {
        let target = self.known[chosen].target;
        self.send_to(now, job, target, events, out);
    }

    fn send_to(
        &mut self,
        now: SimTime,
        job: JobId,
        target: Target,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) {
        let domain = self.config.domain;
        let held = self.jobs.get_mut(&job).expect("a queued job is held");
        held.sent = Some(target);
        match target {
            Target::Cluster(cluster) => {
                events.emit(
                    now,
                    Event::Dispatched {
                        job,
                        domain,
                        cluster,
                    },
                );
                out.push(Outgoing::Dispatch { job, cluster });
            }
            Target::Peer(to) => {
                events.emit(
                    now,
                    Event::Forwarded {
                        job,
                        from: domain,
                        to,
                    },
                );
                out.push(Outgoing::Forward {
                    job,
                    to,
                    hop: held.hop + 1,
                });
            }
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
        match held.from {
            Some(to) => {
                events.emit(
                    now,
                    Event::Refused {
                        job,
                        by,
                        to: Party::Broker(to),
                        reason,
                    },
                );
                out.push(Outgoing::Refuse { job, to, reason });
            }
            None => {
                events.emit(now, Event::Rejected { job, by, reason });
                let state = EndState::Rejected(reason);
                let end = JobEnd {
                    job,
                    state,
                    cluster: None,
                    start: None,
                    finish: None,
                };
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
                    Event::Notified {
                        job,
                        from: here,
                        to: Party::Broker(to),
                    },
                );
                out.push(Outgoing::Notify { end, to });
            }
            None => {
                events.emit(
                    now,
                    Event::FinishSeen {
                        job: end.job,
                        by: here,
                    },
                );
                out.push(Outgoing::Seen { end });
            }
        }
    }
}
