//! Brokers and LRMSs by themselves, on links on which everything arrives once.

mod background;

use super::around::Around;
use super::message::Message;
use super::order::{Layer, Observe, Timers, play};
use super::{Cancellation, Options, Outcome};
use gridrig_core::agent::{
    Brought, Cancel, Claimed, Completions, Due, FromBroker, FromLrms, Handle, Home, Lrms,
    Participant, Pass, Passed, PeerState, Sampled, ToBroker, ToLrms, Told,
};
use gridrig_core::broker::{Broker, LocalInfo};
use gridrig_core::event::{Event, EventKind, EventSink, Party};
use gridrig_core::grid::{Grid, Link};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, Reason, Submission};
use gridrig_core::load::LoadSample;
use gridrig_core::message::{Route, Target};
use gridrig_core::policy::InformationNeed;
use gridrig_core::rng;
use gridrig_core::submitter::Submitter;
use gridrig_core::time::{SimDuration, SimTime};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Runs the grid on these submissions, telling `events` everything.
///
/// `submissions` are sorted by time with job ids 0, 1, 2, ... `observe` is
/// called now and then with the virtual time and the number of jobs that have
/// ended, and may break the run off.
///
/// The same arguments give the same events, to the byte.
pub fn run(
    grid: &Grid,
    submissions: &[Submission],
    options: &Options<'_>,
    events: &mut dyn EventSink,
    mut observe: impl FnMut(SimTime, usize) -> ControlFlow<()>,
) -> Outcome {
    Simulation::new(grid, submissions, options, events).play(options, &mut observe)
}

struct Simulation<'a> {
    grid: &'a Grid,
    submissions: &'a [Submission],
    /// All that is left of a client where everything arrives once: nothing is tried
    /// again, and each end is seen where the job entered.
    submitter: Submitter<&'a [Submission]>,
    lrms: Vec<Lrms>,
    brokers: Vec<Broker>,
    /// By domain the others that are told of its load, together where that takes the
    /// same time.
    consumers: Vec<BTreeMap<SimDuration, Arc<[DomainId]>>>,
    timers: Timers,
    /// Brokers whose cycles are left out, since they would come to nothing, until one of their
    /// clusters changes.
    asleep: BTreeSet<DomainId>,
    /// The latest instant in which cycles have had their turn.
    decided: Option<SimTime>,
    /// The jobs that came past the brokers to clusters whose background load is controlled.
    present: BTreeMap<ClusterId, Vec<JobId>>,
    around: Around<'a>,
}

impl<'a> Simulation<'a> {
    /// Not generic, so that all of it is compiled, and optimized, in this crate.
    fn play(mut self, options: &Options<'_>, observe: Observe<'_>) -> Outcome {
        play(&mut self, options, observe)
    }

    fn new(
        grid: &'a Grid,
        submissions: &'a [Submission],
        options: &Options<'_>,
        events: &'a mut dyn EventSink,
    ) -> Self {
        let configs = grid.broker_configs();
        let brokers = grid.domains.iter().enumerate().map(|(index, domain)| {
            let config = configs.of(DomainId(index as u16));
            let stream = format!("broker.{}", domain.name);
            Broker::new(config, rng::stream(options.seed, &stream))
        });
        let lrms = grid.clusters.iter().map(|cluster| {
            let home = cluster.domain.map(|domain| Home::of(grid, domain));
            Lrms::new(cluster.config.clone(), home)
        });
        let mut around = Around::new(events);
        for &Cancellation { at, job } in options.cancellations {
            let to = submissions[job.index()].entry;
            around.agenda.push(at, Message::Cancel { to, job });
        }
        let brokers: Vec<Broker> = brokers.collect();
        let mut timers = Timers::of(grid);
        for (index, broker) in brokers.iter().enumerate() {
            let due = broker.next_due().unwrap_or(SimTime::MAX);
            timers.cycles.set(index, due);
        }
        let ids = (0..grid.domains.len() as u16).map(DomainId);
        let consumers = ids.map(|id| by_latency(grid.consumers_of(id)));
        Simulation {
            consumers: consumers.collect(),
            brokers,
            lrms: lrms.collect(),
            timers,
            asleep: BTreeSet::new(),
            decided: None,
            present: BTreeMap::new(),
            grid,
            submitter: Submitter::new(submissions),
            submissions,
            around,
        }
    }

    /// An LRMS handles an input; when it is due is found again.
    fn tell_lrms<I>(&mut self, to: ClusterId, input: I) -> <Lrms as Handle<I>>::Answer
    where
        Lrms: Handle<I>,
    {
        let lrms = &mut self.lrms[to.index()];
        let answer = lrms.handle(&mut self.around, input);
        let due = lrms.next_due().unwrap_or(SimTime::MAX);
        self.timers.lrms.set(to.index(), due);
        if !self.asleep.is_empty() {
            self.wake(to);
        }
        answer
    }

    /// The cycles of a broker of which a cluster may have changed go on.
    fn wake(&mut self, cluster: ClusterId) {
        let owner = self.grid.clusters[cluster.index()].domain;
        let Some(domain) = owner.filter(|domain| self.asleep.remove(domain)) else {
            return;
        };
        let now = self.around.now;
        let from = match self.decided == Some(now) {
            true => now.after(),
            false => now,
        };
        let due = self.brokers[domain.index()].poll_timeout(from);
        let due = due.unwrap_or(SimTime::MAX);
        self.timers.cycles.set(domain.index(), due);
    }

    /// The same for a broker.
    fn tell_broker<I>(&mut self, to: DomainId, input: I) -> <Broker as Handle<I>>::Answer
    where
        Broker: Handle<I>,
    {
        let broker = &mut self.brokers[to.index()];
        let answer = broker.handle(&mut self.around, input);
        let due = broker.next_due().unwrap_or(SimTime::MAX);
        self.timers.cycles.set(to.index(), due);
        if self.asleep.contains(&to) {
            self.sleep(to);
        }
        answer
    }

    /// Leaves out the cycles of a broker, if they would come to nothing.
    fn sleep(&mut self, domain: DomainId) {
        let broker = &self.brokers[domain.index()];
        match broker.waits_for_its_clusters() && self.will_change(domain) {
            true => {
                let due = broker.next_act().unwrap_or(SimTime::MAX);
                self.timers.cycles.set(domain.index(), due);
                self.asleep.insert(domain);
            }
            false => drop(self.asleep.remove(&domain)),
        }
    }

    /// Whether something is to happen at one of the clusters of a domain.
    fn will_change(&self, domain: DomainId) -> bool {
        let clusters = &self.grid.domains[domain.index()].clusters;
        let due = |id: &ClusterId| self.lrms[id.index()].next_due();
        let mut dues = clusters.iter().filter_map(due);
        dues.any(|due| due < SimTime::MAX)
    }

    fn deliver(&mut self, message: Message) {
        match message {
            Message::Submit { to, job } => self.submit(to, job),
            Message::Cancel { to, job } => {
                match to {
                    Entry::Domain(domain) => self.tell_broker(domain, Cancel(job)),
                    Entry::Cluster(cluster) => self.tell_lrms(cluster, Cancel(job)),
                };
            }
            Message::FromBroker(_, FromBroker::Lrms(to, said)) => match said {
                ToLrms::Dispatch(passed) => {
                    let _ = self.bring(Entry::Cluster(to), passed.job, Some(passed.route));
                }
                ToLrms::Cancel(job) => drop(self.tell_lrms(to, Cancel(job))),
                ToLrms::Claim(asked, step) => {
                    let spec = |passed: Passed| &self.submissions[passed.job.index()].spec;
                    if let Some(step) = step.with_job(|passed| Some(spec(passed))) {
                        self.tell_lrms(to, Claimed { asked, step });
                    }
                }
            },
            Message::FromBroker(from, FromBroker::Peer(to, said)) => {
                let submissions = self.submissions;
                let brought = |Passed { job, route, .. }: Passed| {
                    let spec = &submissions[job.index()].spec;
                    let route = Some(route);
                    (!self.around.is_recalled(job)).then_some(Brought { spec, route })
                };
                if let Some(said) = said.with_job(brought) {
                    let from = Target::Peer(from);
                    self.tell_broker(to, Told { from, said });
                }
            }
            Message::FromLrms(from, FromLrms::Broker(to, ToBroker::News(said))) => {
                let from = Target::Cluster(from);
                self.tell_broker(to, Told { from, said });
            }
            Message::FromLrms(from, FromLrms::Broker(to, ToBroker::Claim(asked, held))) => {
                let (from, said) = (Target::Cluster(from), (asked, held));
                self.tell_broker(to, Told { from, said });
            }
            // It sets no timer.
            Message::Info(sampled) => {
                self.brokers[sampled.domain.index()].handle(&mut self.around, sampled);
            }
            Message::InfoToPeers(all, sampled) => {
                for to in all.iter() {
                    self.brokers[to.index()].handle(&mut self.around, sampled.clone());
                }
            }
            Message::FromLrms(..) | Message::FromBroker(_, FromBroker::Client(_)) => {}
        }
    }

    fn submit(&mut self, to: Entry, job: JobId) {
        if let Entry::Cluster(cluster) = to
            && self.is_needless(cluster, job)
        {
            self.around.ended += 1;
            return;
        }
        let intended = self.submissions[job.index()].at;
        let submitted = Event::new(EventKind::Submitted, job, Party::Client);
        self.emit(submitted.to(to).at(intended));
        let taken = self.bring(to, job, None);
        // Of what an LRMS turns away the client hears by a message.
        if let (Err(_), Entry::Domain(_)) = (taken, to) {
            self.around.ended += 1;
        }
    }

    /// A job reaches a broker or an LRMS.
    fn bring(&mut self, to: Entry, job: JobId, route: Option<Route>) -> Result<(), Reason> {
        let spec = &self.submissions[job.index()].spec;
        let brought = Brought { spec, route };
        match to {
            Entry::Domain(domain) => self.tell_broker(domain, brought),
            Entry::Cluster(cluster) => self.tell_lrms(cluster, brought),
        }
    }

    /// What a broker may read live, before it decides: the load of its own
    /// clusters, and where it decides by the truth, that of its peers, too.
    fn read_live(&mut self, domain: DomainId) -> Vec<LoadSample> {
        let broker = &self.brokers[domain.index()];
        let truth = broker.need() == InformationNeed::Truth;
        if !truth && broker.config().settings.local_info != LocalInfo::Fresh {
            return Vec::new();
        }
        if truth {
            let grid = self.grid;
            for link in grid.providers_of(domain) {
                let peer = link.provider;
                let truth = PeerState {
                    peer,
                    samples: self.sample_domain(peer).collect(),
                    pending: self.brokers[peer.index()].pending(),
                };
                self.tell_broker(domain, truth);
            }
        }
        self.sample_domain(domain).collect()
    }

    fn sample_domain(&self, domain: DomainId) -> impl Iterator<Item = LoadSample> {
        let clusters = self.grid.domains[domain.index()].clusters.iter();
        clusters.map(|id| self.lrms[id.index()].cluster().sample(self.around.now))
    }

    fn emit(&mut self, event: Event<'_>) {
        self.around.emit(self.around.now, event);
    }
}

impl Layer for Simulation<'_> {
    fn timers(&self) -> &Timers {
        &self.timers
    }

    fn next_instant(&self) -> Option<SimTime> {
        // Instants lie below `MAX`, which stands for never: one comparison a
        // machine instead of one option.
        let or_never = |at: Option<SimTime>| at.unwrap_or(SimTime::MAX);
        let agenda = &self.around.agenda;
        let next = or_never(self.submitter.poll_timeout());
        let next = next.min(self.timers.lrms.least());
        let next = next.min(self.timers.cycles.least());
        if next == SimTime::MAX && !agenda.has_job_messages() {
            // Only information is left to exchange, and nobody to use it.
            return None;
        }
        let next = next.min(or_never(agenda.next_time()));
        let next = next.min(self.timers.samples.least());
        (next < SimTime::MAX).then_some(next)
    }

    fn is_over(&self) -> bool {
        self.around.ended >= self.submissions.len()
    }

    fn ended(&self) -> usize {
        self.around.ended
    }

    fn set_now(&mut self, now: SimTime) {
        self.around.now = now;
    }

    fn ends_a_job(&self, lrms: usize, now: SimTime) -> bool {
        self.lrms[lrms].next_completion() == Some(now)
    }

    fn complete(&mut self, lrms: ClusterId) {
        self.tell_lrms(lrms, Completions);
    }

    fn handle_messages(&mut self, now: SimTime) {
        // Alone at its instant, a submission need not pass through the heap.
        let alone = self.around.agenda.next_time() != Some(now);
        while let Some(submission) = self.submitter.handle_timeout(now) {
            let (job, to) = (submission.spec.id, submission.entry);
            match alone {
                true => self.submit(to, job),
                false => self.around.agenda.push(now, Message::Submit { to, job }),
            }
        }
        while let Some(message) = self.around.agenda.pop_at(now) {
            self.deliver(message);
        }
    }

    fn decide(&mut self, broker: DomainId) {
        let loads = self.read_live(broker);
        self.tell_broker(broker, Due::Model { loads });
        self.sleep(broker);
    }

    fn schedule(&mut self, lrms: ClusterId) {
        self.decided = Some(self.around.now);
        self.tell_lrms(lrms, Pass);
    }

    /// At multiples of `exchange`, every LRMS of the domain is sampled: its
    /// broker hears of it after the LRMS's latency, the peers hear of that
    /// same sample after the link's.
    fn sample(&mut self, domain: DomainId, now: SimTime) {
        let broker = &self.grid.domains[domain.index()].broker;
        let next = now + broker.exchange;
        self.timers.samples.set(domain.index(), next);
        let samples = self.sample_domain(domain).collect();
        let sampled = Sampled { domain, samples };
        for sample in sampled.samples.iter() {
            let from = sample.cluster;
            self.emit(Event::new(EventKind::InfoSent, None, from).to(domain));
        }
        if !sampled.samples.is_empty() {
            let info = Message::Info(sampled.clone());
            self.around.agenda.push(now + broker.lrms_latency, info);
        }
        for (latency, all) in &self.consumers[domain.index()] {
            for to in all.iter() {
                let sent = Event::new(EventKind::InfoSent, None, domain).to(*to);
                self.around.emit(now, sent);
            }
            let own = &self.brokers[domain.index()];
            if !own.propagates() {
                let info = Message::InfoToPeers(Arc::clone(all), sampled.clone());
                self.around.agenda.push(now + *latency, info);
                continue;
            }
            // Each is told something else.
            for to in all.iter() {
                let passed_on = own.passed_on(now, *to);
                let told = sampled.samples.iter().cloned().chain(passed_on);
                let samples = told.collect();
                let info = Message::InfoToPeers([*to].into(), Sampled { domain, samples });
                self.around.agenda.push(now + *latency, info);
            }
        }
    }
}

/// The consumers at the other end of these links, by how long it takes to tell them.
fn by_latency<'a>(links: impl Iterator<Item = &'a Link>) -> BTreeMap<SimDuration, Arc<[DomainId]>> {
    let mut all: BTreeMap<SimDuration, Vec<DomainId>> = BTreeMap::new();
    for link in links {
        all.entry(link.latency).or_default().push(link.consumer);
    }
    let all = all.into_iter();
    all.map(|(latency, all)| (latency, all.into())).collect()
}
