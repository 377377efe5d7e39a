//! The reference broker (design 5).

mod delegate;
mod domains;
mod flock;
mod keeping;
mod late;
mod matchmaking;
mod predicted;
mod propagation;
mod removal;
mod reserving;
mod together;
mod view;

pub use view::RefView;

pub(super) use removal::Removal;

use super::cluster::RefLoad;
use domains::Chosen;
use gridrig_core::agent::{Asked, ClaimStep, Deal};
use gridrig_core::broker::MatchmakingKind;
use gridrig_core::grid::{BrokerSettings, Grid};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{JobSpec, Reason};
use gridrig_core::message::Target;
use gridrig_core::policy::Tie;
use gridrig_core::rng;
use gridrig_core::time::SimTime;
use rand::rngs::ChaCha8Rng;
use std::cmp::Ordering;

/// A stay of a job at this broker.
struct Visit {
    spec: JobSpec,
    from: Option<DomainId>,
    way: RefWay,
    sent_to: Option<Target>,
    sent_at: SimTime,
    /// When it is to start where it was sent, if that is told.
    starts: Option<SimTime>,
    /// To be removed, wherever it is.
    unwanted: bool,
    followed: bool,
    refused_by: Vec<Target>,
    /// It has come back where it entered and is not looked at before this.
    rests_until: Option<SimTime>,
    /// Of a neighbour's request: when it came.
    asked_at: SimTime,
    /// When the request for it gets to the neighbour that was asked last.
    asking_at: SimTime,
    /// Processors that were delegated for it: where, by whom, and until when at most.
    lease: Option<(ClusterId, DomainId, Option<SimTime>)>,
    /// When what was delegated to the neighbour that asks is taken back.
    lent_until: Option<SimTime>,
    /// Whether it is to start on them in the next delegation cycle.
    served: bool,
    /// Neighbours that have no processors for it.
    rejected_by: Vec<DomainId>,
    together: together::Together,
}

/// The way a job has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefWay {
    /// Forwards.
    pub hop: u32,
    /// Where it entered.
    pub origin: DomainId,
    /// Whether it is to stay.
    pub settled: bool,
}

impl Visit {
    /// The way of a job that is forwarded once more.
    fn onward(&self) -> RefWay {
        RefWay {
            hop: self.way.hop + 1,
            ..self.way
        }
    }
}

/// What a cycle decides about one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// To an own cluster, or to one that was delegated until some instant.
    Dispatch(JobId, ClusterId, Option<SimTime>),
    /// To a peer, with the way it has come, this forward included.
    Forward(JobId, DomainId, RefWay),
    /// Back to the forwarder.
    Refuse(JobId, DomainId, Reason),
    /// Turned away for good.
    Reject(JobId, Reason),
    /// A neighbour is asked for its processors.
    Ask(JobId, DomainId, RefWay),
    /// A neighbour is told something about them.
    Say(DomainId, Deal),
    /// A cluster is told something about a part of a job.
    Claim(Asked, ClusterId, ClaimStep<()>),
    /// A cluster is wanted for a part of a job, of these components.
    Part(JobId, ClusterId, u64),
    /// All clusters hold their parts of a job, this one the largest.
    Begun(JobId, ClusterId),
    /// It is removed.
    Drop(JobId),
}

/// A broker kept as plain lists.
pub struct RefBroker<'a> {
    grid: &'a Grid,
    domain: DomainId,
    settings: BrokerSettings,
    /// Its policy by name, and as it is written.
    policy: String,
    written: String,
    views: Vec<RefView>,
    /// In order of arrival, those already sent on included: a job that comes
    /// back keeps its place.
    visits: Vec<Visit>,
    turn: u64,
    /// Forwards of inter-rr.
    forwards: usize,
    rng: ChaCha8Rng,
    /// The instant of the cycle, by which peers are open or closed; `None`:
    /// all are taken to be open.
    at: Option<SimTime>,
    /// Under pull: for how many processors others ask here, and how many jobs each was
    /// sent; how many have come here; what was asked for last, and whether something has
    /// changed since.
    asked: Vec<(DomainId, u32)>,
    sent: Vec<DomainId>,
    came: u32,
    told: Option<Deal>,
    has_changed: bool,
    /// Under delegate: requests that were here, and when.
    seen: Vec<(SimTime, JobId)>,
    flock: flock::Flock,
    /// Jobs that were sent somewhere and have run, in order of their news.
    ran: Vec<predicted::Ran>,
    /// What the last request for parts was called.
    last_name: SimTime,
}

impl<'a> RefBroker<'a> {
    /// The broker of this domain, with nothing received yet.
    pub fn new(grid: &'a Grid, domain: DomainId, seed: u64) -> Self {
        let this = &grid.domains[domain.index()];
        let view = |target, latency, bandwidth, clusters: &[ClusterId]| {
            let idle = |id: &ClusterId| {
                let resources = &grid.clusters[id.index()].config.resources;
                (*id, RefLoad::idle(resources.processors()))
            };
            RefView {
                target,
                latency,
                bandwidth,
                loads: clusters.iter().map(idle).collect(),
                sent: Vec::new(),
                waiting: Vec::new(),
            }
        };
        let mut views = Vec::new();
        for id in &this.clusters {
            let latency = this.broker.lrms_latency;
            views.push(view(Target::Cluster(*id), latency, None, &[*id]));
        }
        for link in grid.links.iter().filter(|link| link.consumer == domain) {
            let told = propagation::told(grid, link.provider, domain);
            let to = Target::Peer(link.provider);
            views.push(view(to, link.latency, link.bandwidth, &told));
        }
        RefBroker {
            grid,
            domain,
            settings: this.broker.clone(),
            policy: this.broker.policy.entry().name.to_owned(),
            written: this.broker.policy.to_string(),
            views,
            visits: Vec::new(),
            turn: 0,
            forwards: 0,
            rng: rng::stream(seed, &format!("broker.{}", this.name)),
            at: None,
            asked: Vec::new(),
            sent: Vec::new(),
            came: 0,
            told: None,
            has_changed: true,
            seen: Vec::new(),
            flock: flock::Flock::default(),
            ran: Vec::new(),
            last_name: SimTime::ZERO,
        }
    }

    /// A job arrives.
    pub fn arrive(&mut self, spec: &JobSpec, from: Option<DomainId>, way: RefWay) {
        if from.is_some() {
            self.came += 1;
            self.has_changed = true;
        }
        self.visits.push(Visit {
            spec: spec.clone(),
            from,
            way,
            sent_to: None,
            sent_at: SimTime::ZERO,
            starts: None,
            unwanted: false,
            followed: false,
            refused_by: Vec::new(),
            rests_until: None,
            asked_at: SimTime::ZERO,
            asking_at: SimTime::ZERO,
            lease: None,
            lent_until: None,
            served: false,
            rejected_by: Vec::new(),
            together: together::Together::default(),
        });
    }

    /// A candidate sends the job back: decided again, without that candidate.
    /// A job that has wandered enough rests or stays where it entered, and elsewhere
    /// is passed on: to whom, is the answer.
    pub fn refused(
        &mut self,
        now: SimTime,
        job: JobId,
        by: Target,
        reason: Reason,
    ) -> Option<DomainId> {
        let index = self.latest(job)?;
        let returns = reason == Reason::HopsExhausted && self.wanders();
        self.has_changed = true;
        let visit = &mut self.visits[index];
        visit.sent_to = None;
        if visit.unwanted {
            return None;
        }
        if !returns {
            visit.refused_by.push(by);
            let is_own = matches!(by, Target::Cluster(_));
            let earlier = self.visits[..index].iter_mut();
            for visit in earlier.filter(|it| is_own && it.spec.id == job) {
                visit.refused_by.push(by);
            }
            return None;
        }
        if visit.from.is_some() {
            return self.visits.remove(index).from;
        }
        self.comes_to_rest(now, index);
        None
    }

    fn wanders(&self) -> bool {
        self.policy == "inter-rr" || self.policy == "inter-random"
    }

    fn hops(&self) -> u32 {
        match self.wanders() {
            true => self.settings.ttl,
            false => self.settings.max_hops,
        }
    }

    /// The job has ended. `None` if it is not known here; else who is to be
    /// told, `Some(None)` being its submitter. `run` is from when until when it ran.
    pub fn ended(
        &mut self,
        job: JobId,
        run: Option<(SimTime, SimTime)>,
    ) -> Option<Option<DomainId>> {
        let index = self.latest(job)?;
        self.has_changed = true;
        let visit = self.visits.remove(index);
        self.note_run(&visit, run);
        Some(visit.from)
    }

    /// The jobs that wait for a cycle.
    pub fn waiting(&self) -> Vec<JobSpec> {
        let waiting = self.visits.iter().filter(|visit| visit.sent_to.is_none());
        waiting.map(|visit| visit.spec.clone()).collect()
    }

    /// Everybody this broker may send to.
    pub fn targets(&self) -> Vec<Target> {
        self.views.iter().map(|view| view.target).collect()
    }

    /// Decides every waiting job, first come first served.
    pub(super) fn cycle(&mut self, now: SimTime) -> Vec<Decision> {
        let mut decisions = Vec::new();
        let mut index = 0;
        while index < self.visits.len() {
            let visit = &self.visits[index];
            if visit.sent_to.is_some() || visit.rests_until.is_some_and(|until| now < until) {
                index += 1;
                continue;
            }
            self.at = Some(now);
            match self.decide(index) {
                Chosen::View(view) => {
                    let before = self.visits.len();
                    decisions.extend(self.keep_or_send(now, index, view));
                    // It may have been turned away.
                    index += 1 + self.visits.len() - before;
                }
                Chosen::NoRoom if self.keeps_others_waiting(index) => break,
                Chosen::NoRoom => index += 1,
                Chosen::Nobody if self.could_wait(index) => index += 1,
                lost => decisions.push(self.turn_away(index, &lost)),
            }
        }
        decisions
    }

    /// Nobody takes a job.
    fn turn_away(&mut self, index: usize, lost: &Chosen) -> Decision {
        let visit = self.visits.remove(index);
        let job = visit.spec.id;
        let reason = match lost {
            Chosen::Back => Reason::HopsExhausted,
            Chosen::TooLate => Reason::NotReserved,
            _ if visit.refused_by.is_empty() => Reason::NoCandidate,
            _ => Reason::AllRefused,
        };
        match visit.from {
            Some(from) => Decision::Refuse(job, from, reason),
            None => Decision::Reject(job, reason),
        }
    }

    /// Whether somebody would take the job if no peer were closed. Asking
    /// leaves no trace.
    fn could_wait(&mut self, index: usize) -> bool {
        let before = (self.turn, self.forwards);
        self.at = None;
        let chosen = self.decide(index);
        (self.turn, self.forwards) = before;
        matches!(chosen, Chosen::View(_) | Chosen::NoRoom)
    }

    fn send(
        &mut self,
        now: SimTime,
        index: usize,
        view: usize,
        starts: Option<SimTime>,
    ) -> Decision {
        self.count_on(now, index, view, starts);
        let view = &mut self.views[view];
        let visit = &mut self.visits[index];
        (visit.sent_to, visit.sent_at) = (Some(view.target), now);
        self.has_changed = true;
        if let Target::Peer(peer) = view.target {
            self.sent.push(peer);
        }
        let asked = self.asked.iter_mut();
        for (_, asked) in asked.filter(|(peer, _)| view.target == Target::Peer(*peer)) {
            *asked -= visit.spec.processors();
        }
        let lends = self.settings.matchmaking().is_lending();
        if let (true, Some(to), Target::Cluster(cluster)) = (lends, visit.from, view.target) {
            return Decision::Say(to, visit.lend(now, &self.settings, (cluster, None)));
        }
        match view.target {
            Target::Cluster(cluster) => Decision::Dispatch(visit.spec.id, cluster, None),
            Target::Peer(peer) => Decision::Forward(visit.spec.id, peer, visit.onward()),
        }
    }

    /// Which candidate gets the job, as a position in `views`.
    fn choose(&mut self, index: usize) -> Chosen {
        let visit = &self.visits[index];
        let (candidates, lacks_room) = self.candidates(index);
        let mut tied: Vec<usize> = Vec::new();
        for candidate in candidates {
            let Some(best) = tied.first() else {
                tied.push(candidate);
                continue;
            };
            let (a, b) = (&self.views[candidate], &self.views[*best]);
            let order = match self.predicts() {
                true => self.predicted(visit, a).0.cmp(&self.predicted(visit, b).0),
                false => self.compare(&visit.spec, a, b),
            };
            match order {
                Ordering::Less => tied = vec![candidate],
                Ordering::Equal => tied.push(candidate),
                Ordering::Greater => {}
            }
        }
        if tied.is_empty() {
            return match lacks_room {
                true => Chosen::NoRoom,
                false => Chosen::Nobody,
            };
        }
        let rule = match self.policy.as_str() {
            "round-robin" => Tie::Rotate,
            "random" => Tie::Random,
            _ => self.settings.tie,
        };
        self.choose_among(index, rule, tied)
    }

    /// An own cluster that could hold the job when empty; a peer from which
    /// the forwards that are left lead to such a cluster.
    fn could_ever_run(&self, visit: &Visit, target: Target) -> bool {
        match target {
            Target::Cluster(id) => self.could_hold(&visit.spec, &[id]),
            Target::Peer(_) if self.policy == "local-only" => false,
            Target::Peer(_) if visit.way.settled || visit.way.hop >= self.hops() => false,
            Target::Peer(peer) => {
                let left = self.hops() - visit.way.hop - 1;
                self.could_hold(&visit.spec, &self.clusters_within(peer, left))
            }
        }
    }

    /// Whether one of these clusters could hold a job when empty.
    fn could_hold(&self, job: &JobSpec, clusters: &[ClusterId]) -> bool {
        clusters.iter().any(|id| {
            let resources = &self.grid.clusters[id.index()].config.resources;
            resources.could_run(&job.components)
        })
    }

    fn clusters_within(&self, domain: DomainId, hops: u32) -> Vec<ClusterId> {
        let mut clusters = self.grid.domains[domain.index()].clusters.clone();
        if hops > 0 {
            let asks = self.settings.matchmaking() == MatchmakingKind::Delegate;
            for link in &self.grid.links {
                let may = !asks || self.is_near(domain, link.provider);
                if link.consumer == domain && may {
                    clusters.extend(self.clusters_within(link.provider, hops - 1));
                }
            }
        }
        clusters
    }

    /// `Less` if `a` is better.
    fn compare(&self, job: &JobSpec, a: &RefView, b: &RefView) -> Ordering {
        let truth = self.policy == "full-information";
        let debited = truth || self.is_debited();
        match self.policy.as_str() {
            "round-robin" | "random" | "local-only" => Ordering::Equal,
            "queue-length" => {
                let window = self.settings.queue_window;
                let length = |view: &RefView| view.queued(window, debited);
                length(a).compare(length(b))
            }
            "free-node" => b.free(debited).cmp(&a.free(debited)),
            "utilization" => {
                let window = self.settings.utilization_window;
                let used = |view: &RefView| view.utilization(window, debited);
                used(a).compare(used(b))
            }
            "full-information" => {
                let wanted = i128::from(job.processors());
                let must_wait = |view: &RefView| view.free_beyond_queue() < wanted;
                must_wait(a)
                    .cmp(&must_wait(b))
                    .then(a.work_per_processor().compare(b.work_per_processor()))
            }
            other => unreachable!("{other} does not compare candidates"),
        }
    }

    fn latest(&self, job: JobId) -> Option<usize> {
        self.visits.iter().rposition(|visit| visit.spec.id == job)
    }

    /// Its domain.
    pub fn domain(&self) -> DomainId {
        self.domain
    }
}
