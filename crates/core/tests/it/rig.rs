//! A broker with everything around it played by the test.

use gridrig_core::agent::{
    BrokerSends, Brought, Cx, Due, Envelope, FromBroker, Handle, Sampled, ToLrms, ToPeer, Told,
};
use gridrig_core::broker::Broker;
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::event::{Event, EventSink};
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster, Link, LinkHours};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{JobSpec, Reason};
use gridrig_core::load::{FreeSpace, LoadSample, Mean};
use gridrig_core::message::{EndState, JobEnd, News, Route, Target};
use gridrig_core::resource::Resources;
use gridrig_core::rng;
use gridrig_core::time::{SimDuration, SimTime, WallTime};
use std::sync::Arc;

pub fn secs(secs: u64) -> SimTime {
    SimTime::from_secs(secs)
}

pub fn millis(millis: u64) -> SimTime {
    SimTime::from_nanos(millis * 1_000_000)
}

/// A job of ten seconds.
pub fn job(id: u32, processors: u32) -> JobSpec {
    JobSpec::rigid(JobId(id), processors, SimDuration::from_secs(10))
}

pub fn completed(id: u32) -> JobEnd {
    JobEnd {
        job: JobId(id),
        state: EndState::Completed,
        cluster: Some(ClusterId(0)),
        start: Some(secs(6)),
        finish: Some(secs(8)),
    }
}

/// A load to be told to a broker.
#[derive(Clone)]
pub struct Load(LoadSample);

/// An idle cluster, to be made less idle.
pub fn sample(cluster: u16, processors: u32) -> Load {
    Load(LoadSample::idle(ClusterId(cluster), processors))
}

impl Load {
    pub fn at(mut self, at: SimTime) -> Self {
        self.0.at = at;
        self
    }

    pub fn busy(mut self, busy: u32) -> Self {
        self.0.busy = busy;
        self
    }

    pub fn queued_processors(mut self, wanted: u64) -> Self {
        self.0.queued_processors = wanted;
        self
    }

    /// Free memory in MiB: of all nodes, and the most on one.
    pub fn memory_mib(mut self, all: u64, most: u64) -> Self {
        self.0.space = Arc::new(FreeSpace {
            memory_kib: Some(all * 1024),
            node_memory_kib: Some(most * 1024),
            ..FreeSpace::default()
        });
        self
    }

    /// At the instant and as both means, of weight 7 to tell sum from mean.
    pub fn busy_everywhere(mut self, busy: u32) -> Self {
        self.0.busy = busy;
        self.0.busy_means = [mean(u64::from(busy)); 2];
        self
    }

    pub fn queued_everywhere(mut self, queued: u64) -> Self {
        self.0.queued = queued;
        self.0.queued_means = [mean(queued); 2];
        self
    }

    pub fn work_left(mut self, work: u128) -> Self {
        self.0.work_left = work;
        self
    }
}

fn mean(value: u64) -> Mean {
    Mean {
        sum: u128::from(value) * 7,
        weight: 7,
    }
}

impl From<Load> for LoadSample {
    fn from(load: Load) -> Self {
        load.0
    }
}

/// The broker of one domain: cycles every 5 s from 0, links of 50 ms.
pub struct Rig {
    grid: Grid,
    domain: DomainId,
    pub broker: Broker,
    given: Given,
}

/// What the broker is given: the clock and the outbox.
struct Given {
    now: SimTime,
    sent: Vec<BrokerSends>,
}

impl EventSink for Given {
    fn emit(&mut self, _at: SimTime, _event: Event<'_>) {}
}

impl Cx<BrokerSends> for Given {
    fn now(&self) -> SimTime {
        self.now
    }

    fn wall(&self) -> WallTime {
        WallTime::from_nanos(self.now.as_nanos())
    }

    fn send(&mut self, envelope: Envelope<BrokerSends>) {
        self.sent.push(envelope.message);
    }
}

/// News of an end, sent to a peer.
pub fn notify(to: u16, end: JobEnd) -> BrokerSends {
    FromBroker::Peer(DomainId(to), ToPeer::News(News::Ended(end)))
}

/// A job sent back to a peer.
pub fn refusal(to: u16, job: u32, reason: Reason) -> BrokerSends {
    let refused = News::Refused {
        job: JobId(job),
        reason,
        visit: None,
    };
    FromBroker::Peer(DomainId(to), ToPeer::News(refused))
}

impl Rig {
    /// The broker of domain 0 of a grid with these cluster sizes by domain,
    /// which forwards to each of the others in order.
    pub fn new(domains: &[&[u32]], policy: &str) -> Self {
        let links = 1..domains.len() as u16;
        let links: Vec<(u16, u16)> = links.map(|provider| (0, provider)).collect();
        Rig::of(0, domains, &links, policy)
    }

    /// The broker of this domain, with links from consumer to provider.
    pub fn of(domain: u16, domains: &[&[u32]], links: &[(u16, u16)], policy: &str) -> Self {
        let mut grid = Grid::default();
        for (index, sizes) in (0u16..).zip(domains) {
            let mut own = Vec::new();
            for size in *sizes {
                let id = ClusterId(grid.clusters.len() as u16);
                own.push(id);
                grid.clusters.push(GridCluster {
                    name: format!("c{}", id.0),
                    domain: Some(DomainId(index)),
                    config: ClusterConfig::new(
                        id,
                        Resources::homogeneous(*size),
                        DisciplineKind::FirstInFirstFit,
                    ),
                });
            }
            grid.domains.push(Domain {
                name: format!("d{index}"),
                broker: BrokerSettings {
                    policy: policy.parse().expect("a policy"),
                    ..BrokerSettings::default()
                },
                clusters: own,
                topology: Default::default(),
            });
        }
        for (consumer, provider) in links {
            grid.links.push(Link {
                consumer: DomainId(*consumer),
                provider: DomainId(*provider),
                latency: SimDuration::from_millis(50),
                bandwidth: None,
            });
        }
        let domain = DomainId(domain);
        Rig {
            broker: build(&grid, domain),
            grid,
            domain,
            given: Given {
                now: SimTime::ZERO,
                sent: Vec::new(),
            },
        }
    }

    /// The broker handles an input.
    pub fn handle<I>(&mut self, at: SimTime, input: I) -> <Broker as Handle<I>>::Answer
    where
        Broker: Handle<I>,
    {
        self.given.now = at;
        self.broker.handle(&mut self.given, input)
    }

    /// Changes the broker's settings; it begins anew.
    pub fn settings(&mut self, change: impl Fn(&mut BrokerSettings)) {
        change(&mut self.grid.domains[self.domain.index()].broker);
        self.broker = build(&self.grid, self.domain);
    }

    /// Sets when providers are open; the broker begins anew.
    pub fn hours(&mut self, hours: Vec<LinkHours>) {
        self.grid.hours = hours;
        self.broker = build(&self.grid, self.domain);
    }

    /// A job enters here.
    pub fn arrive(&mut self, at: SimTime, job: &JobSpec) {
        self.arrive_from(at, job, None, 0);
    }

    /// A job arrives from a peer.
    pub fn arrive_from(&mut self, at: SimTime, job: &JobSpec, from: Option<u16>, hop: u32) {
        let route = from.map(|from| Route {
            from: Some(DomainId(from)),
            hop,
            ..Route::entering(DomainId(from))
        });
        let taken = self.handle(at, Brought { spec: job, route });
        taken.expect("the queue has no bound");
    }

    /// A job comes back because it is refused.
    pub fn refuse(&mut self, job: JobId, by: Target) {
        self.refuse_as(job, by, Reason::NoCandidate);
    }

    /// A job comes back for this reason.
    pub fn refuse_as(&mut self, job: JobId, by: Target, reason: Reason) {
        let visit = None;
        let said = News::Refused { job, reason, visit };
        self.handle(secs(6), Told { from: by, said });
    }

    /// A job arrives that has come this way.
    pub fn take_over(&mut self, at: SimTime, job: &JobSpec, route: Route) {
        let route = Some(route);
        let taken = self.handle(at, Brought { spec: job, route });
        taken.expect("the queue has no bound");
    }

    /// Changes a cluster; the broker begins anew.
    pub fn resources(&mut self, cluster: u16, resources: Resources) {
        self.grid.clusters[usize::from(cluster)].config.resources = resources;
        self.broker = build(&self.grid, self.domain);
    }

    /// Tells the broker of loads, all of one candidate.
    pub fn info(&mut self, from: Target, loads: &[Load]) {
        let samples: Vec<LoadSample> = loads.iter().cloned().map(LoadSample::from).collect();
        self.info_raw(from, &samples);
    }

    pub fn info_raw(&mut self, from: Target, samples: &[LoadSample]) {
        let domain = match from {
            Target::Cluster(_) => self.domain,
            Target::Peer(peer) => peer,
        };
        let samples = samples.into();
        self.handle(self.given.now, Sampled { domain, samples });
    }

    /// One cycle: which job is sent where, in order.
    pub fn cycle(&mut self, at: SimTime) -> Vec<(u32, Target)> {
        let before = self.given.sent.len();
        self.handle(at, Due::Model { loads: Vec::new() });
        let sent = self.given.sent[before..].iter();
        let sent = sent.filter_map(|message| match message {
            FromBroker::Lrms(to, ToLrms::Dispatch(sent)) => {
                Some((sent.job.0, Target::Cluster(*to)))
            }
            FromBroker::Peer(to, ToPeer::Forward(sent)) => Some((sent.job.0, Target::Peer(*to))),
            _ => None,
        });
        sent.collect()
    }

    /// Jobs enter here just before a cycle at so many seconds.
    pub fn decide(&mut self, at_secs: u64, jobs: &[JobSpec]) -> Vec<(u32, Target)> {
        for job in jobs {
            self.arrive(secs(at_secs), job);
        }
        self.cycle(secs(at_secs))
    }

    /// Everything the broker has sent, so far unasked for.
    pub fn take_out(&mut self) -> Vec<BrokerSends> {
        std::mem::take(&mut self.given.sent)
    }

    /// Jobs that were turned away for good.
    pub fn rejected(&mut self) -> Vec<(u32, Reason)> {
        let out = self.take_out();
        let rejected = out.iter().filter_map(|message| match message {
            FromBroker::Client(end) => match end.state {
                EndState::Rejected(reason) => Some((end.job.0, reason)),
                _ => None,
            },
            _ => None,
        });
        rejected.collect()
    }
}

fn build(grid: &Grid, domain: DomainId) -> Broker {
    let name = &grid.domains[domain.index()].name;
    let rng = rng::stream(1, &format!("broker.{name}"));
    Broker::new(grid.broker_config(domain), rng)
}
