//! The virtual-time loop.

use super::agenda::{Agenda, Message};
use super::alarms::Alarms;
use gridrig_core::broker::{Broker, LocalInfo};
use gridrig_core::cluster::{Cluster, Finished};
use gridrig_core::event::{Event, EventKind, EventSink, Party};
use gridrig_core::grid::{Grid, Link};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, Reason, Submission};
use gridrig_core::load::LoadSample;
use gridrig_core::message::{EndState, JobEnd, Outgoing, Target};
use gridrig_core::policy::InformationNeed;
use gridrig_core::rng;
use gridrig_core::submitter::Submitter;
use gridrig_core::time::{SimDuration, SimTime, transfer_time};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A request to remove a job at an instant, made where the job came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancellation {
    /// When.
    pub at: SimTime,
    /// Which.
    pub job: JobId,
}

/// What a run may be told besides the grid and the jobs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Seed of every broker's random stream.
    pub seed: u64,
    /// Nothing happens after this instant; `None` runs until every job has
    /// ended.
    pub stop_at: Option<SimTime>,
    /// Jobs to remove on the way.
    pub cancellations: &'a [Cancellation],
}

/// How a run went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The last instant that was worked on.
    pub end: SimTime,
    /// Jobs whose end has been seen where they entered.
    pub ended: usize,
    /// Whether the observer broke the run off.
    pub interrupted: bool,
}

/// Instants between two calls of the observer.
const OBSERVE_EVERY: u64 = 1 << 14;

/// Runs the grid on these submissions, telling `events` everything.
///
/// `submissions` are sorted by time with job ids 0, 1, 2, ... `observe` is
/// called now and then with the virtual time and the number of jobs that have
/// ended, and may break the run off.
///
/// The same arguments give the same events, to the byte.
pub fn run<S: EventSink>(
    grid: &Grid,
    submissions: &[Submission],
    options: &Options<'_>,
    events: &mut S,
    mut observe: impl FnMut(SimTime, usize) -> ControlFlow<()>,
) -> Outcome {
    let mut simulation = Simulation::new(grid, submissions, options, events);
    let mut instants = 0;
    let mut interrupted = false;
    while simulation.ended < submissions.len() {
        let Some(next) = simulation.next_instant() else {
            break;
        };
        if options.stop_at.is_some_and(|stop| next > stop) {
            break;
        }
        simulation.handle_instant(next);
        instants += 1;
        if instants % OBSERVE_EVERY == 0 && observe(next, simulation.ended).is_break() {
            interrupted = true;
            break;
        }
    }
    Outcome {
        end: simulation.now,
        ended: simulation.ended,
        interrupted,
    }
}

/// The first link that joins two domains, for both directions.
fn ways(grid: &Grid) -> Vec<Option<Link>> {
    let domains = grid.domains.len();
    let mut ways = vec![None; domains * domains];
    for link in &grid.links {
        let (a, b) = (link.consumer.index(), link.provider.index());
        for way in [a * domains + b, b * domains + a] {
            ways[way].get_or_insert(*link);
        }
    }
    ways
}

struct Simulation<'a, S> {
    grid: &'a Grid,
    submissions: &'a [Submission],
    submitter: Submitter<'a>,
    clusters: Vec<Cluster>,
    /// When each of them has something to do.
    due: Alarms,
    brokers: Vec<Broker>,
    /// When each of them has something to decide.
    cycles: Alarms,
    /// When the LRMSs of each domain are sampled next.
    next_samples: Alarms,
    /// The link between two domains, whichever way it was given, by position.
    ways: Vec<Option<Link>>,
    agenda: Agenda,
    /// Jobs whose data was stopped on its way to a peer.
    recalled: BTreeSet<JobId>,
    events: &'a mut S,
    now: SimTime,
    ended: usize,
    finished: Vec<Finished>,
    outgoing: Vec<Outgoing>,
}

impl<'a, S: EventSink> Simulation<'a, S> {
    fn new(
        grid: &'a Grid,
        submissions: &'a [Submission],
        options: &Options<'_>,
        events: &'a mut S,
    ) -> Self {
        let brokers = grid.domains.iter().enumerate().map(|(index, domain)| {
            let config = grid.broker_config(DomainId(index as u16));
            Broker::new(
                config,
                rng::stream(options.seed, &format!("broker.{}", domain.name)),
            )
        });
        let mut agenda = Agenda::default();
        for cancellation in options.cancellations {
            let to = submissions[cancellation.job.index()].entry;
            agenda.push(
                cancellation.at,
                Message::Cancel {
                    to,
                    job: cancellation.job,
                },
            );
        }
        let mut next_samples = Alarms::new(grid.domains.len());
        for domain in 0..grid.domains.len() {
            next_samples.set(domain, SimTime::ZERO);
        }
        Simulation {
            brokers: brokers.collect(),
            clusters: grid
                .clusters
                .iter()
                .map(|c| Cluster::new(c.config.clone()))
                .collect(),
            due: Alarms::new(grid.clusters.len()),
            cycles: Alarms::new(grid.domains.len()),
            next_samples,
            ways: ways(grid),
            grid,
            submitter: Submitter::new(submissions),
            submissions,
            agenda,
            recalled: BTreeSet::new(),
            events,
            now: SimTime::ZERO,
            ended: 0,
            finished: Vec::new(),
            outgoing: Vec::new(),
        }
    }

    fn next_instant(&self) -> Option<SimTime> {
        // Instants lie below `MAX`, which stands for never: one comparison a
        // machine instead of one option.
        let or_never = |at: Option<SimTime>| at.unwrap_or(SimTime::MAX);
        let next = or_never(self.submitter.poll_timeout());
        let next = next.min(self.due.earliest()).min(self.cycles.earliest());
        if next == SimTime::MAX && !self.agenda.has_job_messages() {
            // Only information is left to exchange, and nobody to use it.
            return None;
        }
        let next = next.min(or_never(self.agenda.next_time()));
        let next = next.min(self.next_samples.earliest());
        (next < SimTime::MAX).then_some(next)
    }

    /// Finds anew when a cluster that something was done to is due.
    fn look_at(&mut self, cluster: usize) {
        let due = self.clusters[cluster].poll_timeout();
        self.due.set(cluster, due.unwrap_or(SimTime::MAX));
    }

    /// Finds anew when a broker that something was done to decides. That
    /// moves with what it holds only, not with time.
    fn look_at_broker(&mut self, domain: DomainId) {
        let due = self.brokers[domain.index()].poll_timeout(self.now);
        self.cycles.set(domain.index(), due.unwrap_or(SimTime::MAX));
    }

    /// One instant, in the order of design 5. Jobs of length 0 that start in
    /// it end in a further round.
    fn handle_instant(&mut self, now: SimTime) {
        self.now = now;
        loop {
            self.handle_completions();
            self.handle_messages();
            self.handle_cycles();
            let mut from = 0;
            while let Some(index) = self.due.due(from, now) {
                self.clusters[index].handle_pass(now, self.events);
                self.look_at(index);
                from = index + 1;
            }
            self.handle_samples();
            if self.next_completion(0).is_none() {
                break;
            }
        }
    }

    /// The first cluster from this one on where a job ends at this instant.
    fn next_completion(&self, mut from: usize) -> Option<usize> {
        while let Some(index) = self.due.due(from, self.now) {
            if self.clusters[index].next_completion() == Some(self.now) {
                return Some(index);
            }
            from = index + 1;
        }
        None
    }

    fn handle_completions(&mut self) {
        let mut from = 0;
        while let Some(index) = self.next_completion(from) {
            from = index + 1;
            let mut finished = std::mem::take(&mut self.finished);
            self.clusters[index].handle_completions(self.now, self.events, &mut finished);
            self.look_at(index);
            for Finished { job, start, finish } in finished.drain(..) {
                let end = JobEnd {
                    job,
                    state: EndState::Completed,
                    cluster: Some(ClusterId(index as u16)),
                    start: Some(start),
                    finish: Some(finish),
                };
                self.notify_from_cluster(ClusterId(index as u16), end);
            }
            self.finished = finished;
        }
    }

    /// An LRMS tells its broker, or, for a job that came past any broker, the
    /// submitter knows at once.
    fn notify_from_cluster(&mut self, cluster: ClusterId, end: JobEnd) {
        let job = end.job;
        match self.broker_of(cluster, job) {
            Some(to) => {
                let from = Party::Lrms(cluster);
                let at = self.now + self.lrms_latency(to);
                self.emit(Event::new(EventKind::Notified, job, from).to(Party::Broker(to)));
                self.agenda.push(at, Message::Notice { to, end });
            }
            None => {
                self.emit(Event::new(EventKind::FinishSeen, job, Party::Client));
                self.ended += 1;
            }
        }
    }

    fn handle_messages(&mut self) {
        let now = self.now;
        // Alone at its instant, a submission need not pass through the heap.
        let alone = self.agenda.next_time() != Some(now);
        while let Some(submission) = self.submitter.handle_timeout(now) {
            let (job, to) = (submission.spec.id, submission.entry);
            match alone {
                true => self.handle_submission(to, job),
                false => self.agenda.push(now, Message::Submit { to, job }),
            }
        }
        while let Some(message) = self.agenda.pop_at(now) {
            self.handle_message(message);
        }
    }

    fn handle_message(&mut self, message: Message) {
        match message {
            Message::Submit { to, job } => self.handle_submission(to, job),
            Message::Cancel { to, job } => self.handle_cancel(to, job),
            Message::Forward { job, .. } if self.recalled.remove(&job) => {}
            Message::Forward { to, job, route } => {
                let spec = self.submissions[job.index()].spec.clone();
                let broker = &mut self.brokers[to.index()];
                let taken = broker.take_over(self.now, spec, route, self.events);
                self.look_at_broker(to);
                if let (Err(reason), Some(from)) = (taken, route.from) {
                    let (by, back) = (Party::Broker(to), Party::Broker(from));
                    self.emit(
                        Event::new(EventKind::Refused, job, by)
                            .to(back)
                            .because(reason),
                    );
                    self.send_refusal(to, from, job, reason);
                }
            }
            Message::Dispatch { to, job } => {
                let spec = &self.submissions[job.index()].spec;
                let cluster = &mut self.clusters[to.index()];
                let taken = cluster.submit(self.now, spec, self.events);
                self.look_at(to.index());
                if let Err(reason) = taken {
                    self.refuse_dispatch(to, job, reason);
                }
            }
            Message::Refusal {
                to,
                from,
                job,
                reason,
            } => {
                let mut out = std::mem::take(&mut self.outgoing);
                let broker = &mut self.brokers[to.index()];
                broker.handle_refusal(self.now, job, from, reason, self.events, &mut out);
                self.look_at_broker(to);
                self.send_all(to, out);
            }
            Message::Notice { to, end } => {
                let mut out = std::mem::take(&mut self.outgoing);
                self.brokers[to.index()].handle_end(self.now, end, self.events, &mut out);
                self.look_at_broker(to);
                self.send_all(to, out);
            }
            Message::Info { to, from, samples } => {
                self.brokers[to.index()].share_info(from, &samples);
            }
        }
    }

    fn handle_submission(&mut self, to: Entry, job: JobId) {
        let submission = &self.submissions[job.index()];
        self.emit(
            Event::new(EventKind::Submitted, job, Party::Client)
                .to(to)
                .at(submission.at),
        );
        let (refused, by) = match to {
            Entry::Domain(domain) => {
                let spec = submission.spec.clone();
                let broker = &mut self.brokers[domain.index()];
                let taken = broker.submit(self.now, spec, None, 0, self.events);
                self.look_at_broker(domain);
                (taken.err(), Party::Broker(domain))
            }
            Entry::Cluster(cluster) => {
                let taken =
                    self.clusters[cluster.index()].submit(self.now, &submission.spec, self.events);
                self.look_at(cluster.index());
                (taken.err(), Party::Lrms(cluster))
            }
        };
        if let Some(reason) = refused {
            self.emit(Event::new(EventKind::Rejected, job, by).because(reason));
            self.emit(Event::new(EventKind::FinishSeen, job, Party::Client));
            self.ended += 1;
        }
    }

    fn handle_cancel(&mut self, to: Entry, job: JobId) {
        match to {
            Entry::Domain(domain) => {
                let mut out = std::mem::take(&mut self.outgoing);
                let broker = &mut self.brokers[domain.index()];
                if broker.is_leaving(self.now, job) {
                    self.recalled.insert(job);
                    broker.recall(self.now, job, self.events, &mut out);
                } else {
                    broker.cancel(self.now, job, self.events, &mut out);
                }
                self.look_at_broker(domain);
                self.send_all(domain, out);
            }
            Entry::Cluster(cluster) => {
                let known = self.clusters[cluster.index()].cancel(self.now, job, self.events);
                self.look_at(cluster.index());
                if known {
                    let end = JobEnd {
                        cluster: Some(cluster),
                        ..JobEnd::without_run(job, EndState::Cancelled)
                    };
                    self.notify_from_cluster(cluster, end);
                }
            }
        }
    }

    fn handle_cycles(&mut self) {
        let mut from = 0;
        while let Some(index) = self.cycles.due(from, self.now) {
            from = index + 1;
            let domain = DomainId(index as u16);
            self.tell_fresh_information(domain);
            let mut out = std::mem::take(&mut self.outgoing);
            self.brokers[index].handle_cycle(self.now, self.events, &mut out);
            self.look_at_broker(domain);
            self.send_all(domain, out);
        }
    }

    /// What a broker may read live, before it decides.
    fn tell_fresh_information(&mut self, domain: DomainId) {
        let broker = &self.brokers[domain.index()];
        let truth = broker.need() == InformationNeed::Truth;
        if truth || broker.config().settings.local_info == LocalInfo::Fresh {
            for sample in self.sample_domain(domain).iter() {
                let from = Target::Cluster(sample.cluster);
                self.brokers[domain.index()].handle_info(from, std::slice::from_ref(sample));
            }
        }
        if truth {
            let grid = self.grid;
            for link in grid.providers_of(domain) {
                let samples = self.sample_domain(link.provider);
                let pending = self.brokers[link.provider.index()].pending();
                let broker = &mut self.brokers[domain.index()];
                broker.share_info(Target::Peer(link.provider), &samples);
                broker.handle_pending(link.provider, pending);
            }
        }
    }

    /// At multiples of `exchange`, every LRMS of the domain is sampled: its
    /// broker hears of it after the LRMS's latency, the peers hear of that
    /// same sample after the link's.
    fn handle_samples(&mut self) {
        let grid = self.grid;
        let mut from = 0;
        while let Some(index) = self.next_samples.due(from, self.now) {
            from = index + 1;
            let domain = DomainId(index as u16);
            let exchange = grid.domains[index].broker.exchange;
            self.next_samples.set(index, self.now + exchange);
            let samples = self.sample_domain(domain);
            for sample in samples.iter() {
                let from = Party::Lrms(sample.cluster);
                self.emit(
                    Event::new(EventKind::InfoSent, None::<JobId>, from).to(Party::Broker(domain)),
                );
                let info = Message::Info {
                    to: domain,
                    from: Target::Cluster(sample.cluster),
                    samples: Arc::from(std::slice::from_ref(sample)),
                };
                self.agenda.push(self.now + self.lrms_latency(domain), info);
            }
            for link in grid.consumers_of(domain) {
                let to = link.consumer;
                self.emit(
                    Event::new(EventKind::InfoSent, None::<JobId>, Party::Broker(domain))
                        .to(Party::Broker(to)),
                );
                let from = Target::Peer(domain);
                let info = Message::Info {
                    to,
                    from,
                    samples: Arc::clone(&samples),
                };
                self.agenda.push(self.now + link.latency, info);
            }
        }
    }

    fn sample_domain(&self, domain: DomainId) -> Arc<[LoadSample]> {
        let clusters = self.grid.domains[domain.index()].clusters.iter();
        clusters
            .map(|id| self.clusters[id.index()].sample(self.now))
            .collect()
    }

    fn send_all(&mut self, from: DomainId, mut out: Vec<Outgoing>) {
        for outgoing in out.drain(..) {
            self.send(from, outgoing);
        }
        self.outgoing = out;
    }

    fn send(&mut self, from: DomainId, outgoing: Outgoing) {
        match outgoing {
            Outgoing::Dispatch { job, cluster } => {
                let at = self.now + self.lrms_latency(from);
                self.agenda.push(at, Message::Dispatch { to: cluster, job });
            }
            Outgoing::Forward { job, to, route } => {
                let data_kib = self.submissions[job.index()].spec.data_kib;
                let at =
                    self.now + self.link_latency(from, to) + self.transfer_time(from, to, data_kib);
                self.agenda.push(at, Message::Forward { to, job, route });
            }
            Outgoing::Refuse { job, to, reason } => self.send_refusal(from, to, job, reason),
            Outgoing::Notify { end, to } => {
                let at = self.now + self.link_latency(from, to);
                self.agenda.push(at, Message::Notice { to, end });
            }
            Outgoing::Seen { .. } => self.ended += 1,
            Outgoing::Cancel { job, to } => {
                let (latency, to) = match to {
                    Target::Cluster(cluster) => (self.lrms_latency(from), Entry::Cluster(cluster)),
                    Target::Peer(peer) => (self.link_latency(from, peer), Entry::Domain(peer)),
                };
                self.agenda
                    .push(self.now + latency, Message::Cancel { to, job });
            }
        }
    }

    fn send_refusal(&mut self, by: DomainId, to: DomainId, job: JobId, reason: Reason) {
        let at = self.now + self.link_latency(by, to);
        self.agenda.push(
            at,
            Message::Refusal {
                to,
                from: Target::Peer(by),
                job,
                reason,
            },
        );
    }

    fn refuse_dispatch(&mut self, cluster: ClusterId, job: JobId, reason: Reason) {
        if let Some(to) = self.grid.clusters[cluster.index()].domain {
            let by = Party::Lrms(cluster);
            self.emit(
                Event::new(EventKind::Refused, job, by)
                    .to(Party::Broker(to))
                    .because(reason),
            );
            let at = self.now + self.lrms_latency(to);
            let from = Target::Cluster(cluster);
            let refusal = Message::Refusal {
                to,
                from,
                job,
                reason,
            };
            self.agenda.push(at, refusal);
        }
    }

    /// The broker that sent this job to the cluster, if any did.
    fn broker_of(&self, cluster: ClusterId, job: JobId) -> Option<DomainId> {
        match self.submissions[job.index()].entry {
            Entry::Cluster(_) => None,
            Entry::Domain(_) => self.grid.clusters[cluster.index()].domain,
        }
    }

    fn lrms_latency(&self, domain: DomainId) -> SimDuration {
        self.grid.domains[domain.index()].broker.lrms_latency
    }

    fn link_latency(&self, from: DomainId, to: DomainId) -> SimDuration {
        self.ways[from.index() * self.brokers.len() + to.index()]
            .expect("brokers send along links only")
            .latency
    }

    /// How long the data of a job is on its way to a peer.
    fn transfer_time(&self, from: DomainId, to: DomainId, data_kib: u64) -> SimDuration {
        let way = self.ways[from.index() * self.brokers.len() + to.index()];
        transfer_time(data_kib, way.and_then(|way| way.bandwidth))
    }

    fn emit(&mut self, event: Event<'_>) {
        self.events.emit(self.now, event);
    }
}
