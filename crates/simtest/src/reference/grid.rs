//! The reference simulation: one instant after the other, in the order of
//! design 5.

mod claims;
mod endings;
mod leases;

use super::broker::{Decision, RefBroker, RefWay};
use super::cluster::{RefCluster, RefLoad};
use crate::trail::{Step, Trails};
use gridrig_core::agent::{Asked, ClaimAnswer, ClaimStep, Deal};
use gridrig_core::broker::{LocalInfo, MatchmakingKind};
use gridrig_core::event::Party;
use gridrig_core::grid::{Domain, Grid, Link};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, Reason, Submission};
use gridrig_core::message::Target;
use gridrig_core::time::{SimDuration, SimTime};

/// A request to remove a job, made where it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefCancellation {
    /// When.
    pub at: SimTime,
    /// Which.
    pub job: JobId,
}

/// Runs a grid until the news of every job's end has arrived, or until
/// nothing happens before `stop_at` any more.
///
/// Submissions have job ids 0, 1, 2, ... in order of time.
pub fn simulate(
    grid: &Grid,
    submissions: &[Submission],
    cancellations: &[RefCancellation],
    seed: u64,
    stop_at: SimTime,
) -> Trails {
    let mut simulation = Simulation::new(grid, submissions, cancellations, seed);
    while simulation.unseen > 0 {
        match simulation.next_instant() {
            Some(now) if now <= stop_at => simulation.instant(now),
            _ => break,
        }
    }
    let mut trails = simulation.trails;
    for cluster in &simulation.clusters {
        trails.promises.extend(cluster.first_promises());
    }
    trails
}

/// A message that takes effect later.
struct Item {
    at: SimTime,
    kind: Kind,
    /// Receiving domain and cluster, job: the order among equals.
    key: (u16, u16, u32),
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Cancellation,
    Arrival,
    Lease,
    Information,
}

enum What {
    CancelAtBroker(DomainId, JobId, Option<DomainId>),
    CancelAtCluster(ClusterId, JobId),
    Submit(JobId),
    ToBroker(DomainId, JobId, Option<DomainId>, RefWay),
    ToCluster(ClusterId, JobId, DomainId, Option<SimTime>),
    Back(DomainId, JobId, Target, Reason),
    News(DomainId, JobId),
    Ask(DomainId, JobId, DomainId, RefWay),
    Say(DomainId, DomainId, Deal),
    Claim(ClusterId, (Asked, ClaimStep<()>)),
    Answer(DomainId, ClusterId, (Asked, ClaimAnswer)),
    Information(DomainId, Target, Vec<(ClusterId, RefLoad)>),
}

struct Simulation<'a> {
    grid: &'a Grid,
    submissions: &'a [Submission],
    clusters: Vec<RefCluster>,
    brokers: Vec<RefBroker<'a>>,
    agenda: Vec<Item>,
    /// When each cluster has its next pass, if it has changed.
    passes: Vec<Option<SimTime>>,
    cycles: Vec<SimTime>,
    delegations: Vec<SimTime>,
    samplings: Vec<SimTime>,
    /// The broker that handed a job to a cluster.
    handed_by: Vec<Option<DomainId>>,
    /// Jobs on processors of others, and until when.
    leases: Vec<(SimTime, ClusterId, JobId)>,
    parts: Vec<claims::Part>,
    unseen: usize,
    trails: Trails,
}

impl<'a> Simulation<'a> {
    fn new(
        grid: &'a Grid,
        submissions: &'a [Submission],
        cancellations: &[RefCancellation],
        seed: u64,
    ) -> Self {
        let ids = (0u16..).map(DomainId).take(grid.domains.len());
        let clusters = grid.clusters.iter();
        let phase = |domain: &Domain| after(SimTime::ZERO, domain.broker.phase);
        let mut simulation = Simulation {
            grid,
            submissions,
            clusters: clusters
                .map(|c| RefCluster::new(c.config.clone()))
                .collect(),
            brokers: ids.map(|id| RefBroker::new(grid, id, seed)).collect(),
            agenda: Vec::new(),
            passes: vec![None; grid.clusters.len()],
            cycles: grid.domains.iter().map(phase).collect(),
            delegations: grid.domains.iter().map(phase).collect(),
            samplings: vec![SimTime::ZERO; grid.domains.len()],
            handed_by: vec![None; submissions.len()],
            leases: Vec::new(),
            parts: Vec::new(),
            unseen: submissions.len(),
            trails: Trails::new(submissions.len()),
        };
        for submission in submissions {
            let key = simulation.key_of(submission.entry, submission.spec.id);
            let what = What::Submit(submission.spec.id);
            simulation.add(submission.at, Kind::Arrival, key, what);
        }
        for cancellation in cancellations {
            let job = cancellation.job;
            let entry = submissions[job.index()].entry;
            let what = match entry {
                Entry::Domain(domain) => What::CancelAtBroker(domain, job, None),
                Entry::Cluster(cluster) => What::CancelAtCluster(cluster, job),
            };
            let key = simulation.key_of(entry, job);
            simulation.add(cancellation.at, Kind::Cancellation, key, what);
        }
        simulation
    }

    fn next_instant(&self) -> Option<SimTime> {
        let completions = self.clusters.iter().filter_map(RefCluster::next_completion);
        let passes = self.passes.iter().flatten().copied();
        completions
            .chain(self.agenda.iter().map(|item| item.at))
            .chain(passes)
            .chain(self.cycles.iter().copied())
            .chain(self.delegations.iter().copied())
            .chain(self.samplings.iter().copied())
            .chain(self.lease_ends())
            .chain(self.brokers.iter().filter_map(RefBroker::gives_up_at))
            .min()
    }

    /// Rounds of the order of design 5 until nothing is left to happen at
    /// this instant. Sampling belongs to the first round: a job of length 0
    /// that has just started is seen running.
    fn instant(&mut self, now: SimTime) {
        loop {
            let is_due = |it: &RefCluster| it.next_completion() == Some(now);
            let due: Vec<bool> = self.clusters.iter().map(is_due).collect();
            self.completions(now);
            self.node_changes(now);
            self.reservations(now, &due);
            self.end_leases(now);
            self.messages(now, Kind::Cancellation);
            self.messages(now, Kind::Arrival);
            self.messages(now, Kind::Lease);
            self.messages(now, Kind::Information);
            for index in 0..self.brokers.len() {
                if self.cycles[index] != now && self.brokers[index].has_news() {
                    self.cycle(now, index);
                }
                if self.cycles[index] == now {
                    self.cycle(now, index);
                    self.cycles[index] = after(now, self.brokers[index].interval());
                }
                let is_due = |it: &RefBroker<'_>| it.gives_up_at().is_some_and(|at| at <= now);
                while is_due(&self.brokers[index]) {
                    let said = self.brokers[index].give_up_due(now);
                    self.carry_out_all(now, self.brokers[index].domain(), said);
                }
                // Who has waited for one that has given up.
                if self.brokers[index].has_news() {
                    self.cycle(now, index);
                }
                self.take_back(now, index);
                if self.delegations[index] == now {
                    let interval = self.delegation_cycle(now, index);
                    self.delegations[index] = after(now, interval);
                }
            }
            for index in 0..self.clusters.len() {
                if self.passes[index] == Some(now) {
                    self.pass(now, index);
                }
            }
            for index in 0..self.brokers.len() {
                if self.samplings[index] == now {
                    self.sample(now, index);
                    self.samplings[index] = after(now, self.grid.domains[index].broker.exchange);
                }
            }
            let ends_now = |cluster: &RefCluster| cluster.next_completion() == Some(now);
            if !self.clusters.iter().any(ends_now) {
                break;
            }
        }
    }

    fn messages(&mut self, now: SimTime, kind: Kind) {
        let due = |item: &mut Item| item.at == now && item.kind == kind;
        let mut due: Vec<Item> = self.agenda.extract_if(.., due).collect();
        due.sort_by_key(|item| item.key);
        for item in due {
            self.message(now, item.what);
        }
    }

    fn message(&mut self, now: SimTime, what: What) {
        match what {
            What::CancelAtBroker(domain, job, by) => self.cancel_at_broker(now, domain, job, by),
            What::CancelAtCluster(cluster, job) => self.cancel_at_cluster(now, cluster, job),
            What::Submit(job) => self.submit(now, job),
            What::ToBroker(domain, job, from, way) => {
                self.arrive_at_broker(now, domain, job, from, way);
            }
            What::ToCluster(cluster, job, from, until) => {
                self.dispatched_to(now, cluster, (job, until), from);
            }
            What::Ask(domain, job, from, way) => {
                let spec = &self.submissions[job.index()].spec;
                let said = self.brokers[domain.index()].request(now, spec, from, way);
                self.carry_out_all(now, domain, said);
            }
            What::Say(domain, from, deal) => {
                let said = self.brokers[domain.index()].told(now, from, deal);
                self.carry_out_all(now, domain, said);
            }
            What::Claim(to, said) => self.told(now, to, said),
            What::Answer(domain, from, answer) => {
                let said = self.brokers[domain.index()].hear(now, from, answer);
                self.carry_out_all(now, domain, said);
            }
            What::Back(domain, job, by, reason) => {
                self.give_up(now, domain, job);
                let back_to = self.brokers[domain.index()].refused(now, job, by, reason);
                if let Some(from) = self.brokers[domain.index()].unwanted_by(job) {
                    self.cancel_at_broker(now, domain, job, from);
                } else if let Some(to) = back_to {
                    self.carry_out(now, domain, Decision::Refuse(job, to, reason));
                }
            }
            // A part of a job that waits again ran where others did not begin.
            What::News(domain, job) if self.brokers[domain.index()].waits_again(job) => {}
            What::News(domain, job) => self.news_at_broker(now, domain, job),
            What::Information(domain, from, loads) => {
                self.brokers[domain.index()].inform(from, &loads);
            }
        }
    }

    fn submit(&mut self, now: SimTime, job: JobId) {
        let entry = self.submissions[job.index()].entry;
        let intended = self.submissions[job.index()].at;
        self.trails.note(now, job, Step::Submitted(entry, intended));
        match entry {
            Entry::Domain(domain) => {
                let way = RefWay {
                    hop: 0,
                    origin: domain,
                    settled: false,
                };
                self.arrive_at_broker(now, domain, job, None, way);
            }
            Entry::Cluster(cluster) => {
                if let Err(reason) = self.arrive_at_cluster(now, cluster, job) {
                    let by = Party::Lrms(cluster);
                    self.trails.note(now, job, Step::Rejected(by, reason));
                    self.seen(now, job, Party::Client);
                }
            }
        }
    }

    fn arrive_at_broker(
        &mut self,
        now: SimTime,
        domain: DomainId,
        job: JobId,
        from: Option<DomainId>,
        way: RefWay,
    ) {
        self.trails.note(now, job, Step::Arrived(domain, way.hop));
        let spec = &self.submissions[job.index()].spec;
        self.brokers[domain.index()].arrive(spec, from, way);
    }

    fn arrive_at_cluster(
        &mut self,
        now: SimTime,
        cluster: ClusterId,
        job: JobId,
    ) -> Result<(), Reason> {
        let spec = &self.submissions[job.index()].spec;
        self.clusters[cluster.index()].submit(now, spec)?;
        self.trails.note(now, job, Step::Queued(cluster));
        self.changed(now, cluster.index());
        Ok(())
    }

    fn cycle(&mut self, now: SimTime, index: usize) {
        let settings = &self.grid.domains[index].broker;
        let truth = settings.policy.entry().name == "full-information";
        let fresh = truth || settings.local_info == LocalInfo::Fresh;
        for target in self.brokers[index].targets() {
            match target {
                Target::Cluster(cluster) if fresh => {
                    let loads = self.loads(now, &[cluster]);
                    self.brokers[index].inform(target, &loads);
                }
                Target::Peer(peer) if truth => {
                    let loads = self.loads(now, &self.grid.domains[peer.index()].clusters);
                    self.brokers[index].inform(target, &loads);
                    let waiting = self.brokers[peer.index()].waiting();
                    self.brokers[index].inform_waiting(peer, waiting);
                }
                _ => {}
            }
        }
        let domain = self.brokers[index].domain();
        let mut decisions = match settings.matchmaking() {
            MatchmakingKind::Flock => self.brokers[index].fair_cycle(now),
            MatchmakingKind::CoAllocate if !self.brokers[index].keeps_one() => {
                let all = self.cycles[index] == now;
                self.brokers[index].scan(now, all)
            }
            _ => self.brokers[index].cycle(now),
        };
        let pulled = self.brokers[index].pull();
        decisions.extend(pulled.map(|(to, deal)| Decision::Say(to, deal)));
        self.carry_out_all(now, domain, decisions);
    }

    fn carry_out_all(&mut self, now: SimTime, domain: DomainId, decisions: Vec<Decision>) {
        for decision in decisions {
            self.carry_out(now, domain, decision);
        }
    }

    fn carry_out(&mut self, now: SimTime, domain: DomainId, decision: Decision) {
        self.note_predicted(now, domain, &decision);
        match decision {
            Decision::Dispatch(job, cluster, until) => {
                self.trails
                    .note(now, job, Step::Dispatched(domain, cluster));
                let at = after(now, self.lrms_latency(domain));
                let key = self.key_of(Entry::Cluster(cluster), job);
                let what = What::ToCluster(cluster, job, domain, until);
                self.add(at, Kind::Arrival, key, what);
            }
            Decision::Forward(job, to, way) => {
                self.trails.note(now, job, Step::Forwarded(domain, to));
                let at = after(now, self.link_latency(domain, to));
                let at = after(at, self.carrying(domain, to, job));
                let key = self.key_of(Entry::Domain(to), job);
                let what = What::ToBroker(to, job, Some(domain), way);
                self.add(at, Kind::Arrival, key, what);
            }
            Decision::Claim(asked, to, said) => self.tell(now, (domain, to), (asked, said)),
            Decision::Part(job, cluster, bits) => {
                self.trails.note(now, job, Step::Asked(cluster, bits));
            }
            Decision::Begun(job, lead) => {
                self.trails.note(now, job, Step::Dispatched(domain, lead));
            }
            Decision::Drop(job) => {
                let by = Party::Broker(domain);
                self.trails.note(now, job, Step::Cancelled(by));
                self.news_at_broker(now, domain, job);
            }
            Decision::Refuse(job, to, reason) => {
                let parties = (Party::Broker(domain), Party::Broker(to));
                let step = Step::Refused(parties.0, parties.1, reason);
                self.trails.note(now, job, step);
                if to == domain {
                    return;
                }
                let at = after(now, self.link_latency(to, domain));
                self.back(at, to, job, Target::Peer(domain), reason);
            }
            Decision::Ask(job, to, way) => self.ask(now, domain, (job, to), way),
            Decision::Say(to, deal) => self.say(now, domain, to, deal),
            Decision::Reject(job, reason) => {
                let by = Party::Broker(domain);
                self.trails.note(now, job, Step::Rejected(by, reason));
                self.seen(now, job, by);
            }
        }
    }

    /// Samples every LRMS of a domain, for its own broker and for its consumers.
    fn sample(&mut self, now: SimTime, index: usize) {
        let domain = self.brokers[index].domain();
        let clusters = &self.grid.domains[index].clusters;
        for cluster in clusters {
            let parties = (Party::Lrms(*cluster), Party::Broker(domain));
            self.trails.information.push((now, parties.0, parties.1));
            let loads = self.loads(now, &[*cluster]);
            let what = What::Information(domain, Target::Cluster(*cluster), loads);
            let at = after(now, self.lrms_latency(domain));
            self.add(at, Kind::Information, (domain.0, cluster.0, 0), what);
        }
        for link in &self.grid.links {
            if link.provider == domain {
                let parties = (Party::Broker(domain), Party::Broker(link.consumer));
                self.trails.information.push((now, parties.0, parties.1));
                let mut loads = self.loads(now, clusters);
                loads.extend(self.brokers[index].passed_on(link.consumer));
                let what = What::Information(link.consumer, Target::Peer(domain), loads);
                let at = after(now, link.latency);
                self.add(at, Kind::Information, (link.consumer.0, 0, 0), what);
            }
        }
    }

    /// A changed cluster has a pass at once, or at the next multiple of its
    /// interval.
    fn changed(&mut self, now: SimTime, index: usize) {
        let interval = self.grid.clusters[index].config.interval.as_nanos();
        // There is none of an interval of 0.
        let due = now.as_nanos().checked_next_multiple_of(interval);
        let due = due.map_or(now, SimTime::from_nanos);
        self.passes[index] = Some(self.passes[index].map_or(due, |pass| pass.min(due)));
    }

    fn loads(&self, now: SimTime, clusters: &[ClusterId]) -> Vec<(ClusterId, RefLoad)> {
        let load = |id: &ClusterId| (*id, self.clusters[id.index()].sample(now));
        clusters.iter().map(load).collect()
    }

    fn lrms_latency(&self, domain: DomainId) -> SimDuration {
        self.grid.domains[domain.index()].broker.lrms_latency
    }

    /// The latency of the link over which `consumer` forwards to `provider`;
    /// what comes back takes the same link.
    fn link_latency(&self, consumer: DomainId, provider: DomainId) -> SimDuration {
        let link = self.link(consumer, provider);
        link.map_or(SimDuration::ZERO, |link| link.latency)
    }

    fn link(&self, consumer: DomainId, provider: DomainId) -> Option<&Link> {
        let mut links = self.grid.links.iter();
        links.find(|link| (link.consumer, link.provider) == (consumer, provider))
    }

    fn key_of(&self, entry: Entry, job: JobId) -> (u16, u16, u32) {
        match entry {
            Entry::Domain(domain) => (domain.0, 0, job.0),
            Entry::Cluster(cluster) => {
                let domain = self.grid.clusters[cluster.index()].domain;
                (domain.map_or(0, |domain| domain.0), cluster.0, job.0)
            }
        }
    }

    fn add(&mut self, at: SimTime, kind: Kind, key: (u16, u16, u32), what: What) {
        self.agenda.push(Item {
            at,
            kind,
            key,
            what,
        });
    }
}

fn after(at: SimTime, wait: SimDuration) -> SimTime {
    SimTime::from_nanos(at.as_nanos().saturating_add(wait.as_nanos()))
}
