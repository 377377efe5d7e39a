//! What a broker knows of its peers that was restarted.

use gridrig_core::agent::Memory;
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::event::{Event, EventKind, EventSink, Party};
use gridrig_core::faults::{FaultPlan, Restart};
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster, Link};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, JobSpec, Submission};
use gridrig_core::resource::Resources;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::virtual_time::{Options, run, run_with_faults};
use std::ops::ControlFlow;

/// Who was given which job, by whom.
#[derive(Default)]
struct Given(Vec<(u32, Party, Option<Party>)>);

impl EventSink for Given {
    fn emit(&mut self, _: SimTime, event: Event<'_>) {
        if let (EventKind::Forwarded | EventKind::Dispatched, Some(JobId(job))) =
            (event.kind, event.job)
        {
            self.0.push((job, event.by, event.to));
        }
    }
}

/// Site a with four processors and b with eight, each of which takes the other's jobs
/// and tells of its load every hundred seconds.
fn grid() -> Grid {
    let site = |id: u16| Domain {
        name: format!("site-{id}"),
        broker: BrokerSettings {
            policy: "free-node".parse().expect("a policy"),
            exchange: SimDuration::from_secs(100),
            ..BrokerSettings::default()
        },
        clusters: vec![ClusterId(id)],
        topology: Default::default(),
    };
    let cluster = |id: u16, processors: u32| {
        let resources = Resources::homogeneous(processors);
        GridCluster {
            name: format!("cluster-{id}"),
            domain: Some(DomainId(id)),
            config: ClusterConfig::new(ClusterId(id), resources, DisciplineKind::Fcfs),
        }
    };
    let link = |consumer: u16, provider: u16| Link {
        consumer: DomainId(consumer),
        provider: DomainId(provider),
        latency: SimDuration::from_millis(50),
        bandwidth: None,
    };
    Grid {
        domains: vec![site(0), site(1)],
        clusters: vec![cluster(0, 4), cluster(1, 8)],
        links: vec![link(0, 1), link(1, 0)],
        hours: Vec::new(),
    }
}

#[test]
fn a_broker_that_has_forgotten_everything_asks_its_peers_for_their_load() {
    let submission = |id: u32, at: u64, domain: u16, processors: u32| Submission {
        spec: JobSpec::rigid(JobId(id), processors, SimDuration::from_secs(500)),
        at: SimTime::from_secs(at),
        entry: Entry::Domain(DomainId(domain)),
        label: Default::default(),
    };
    // One fills b, of which b tells after 100 s; another comes to a before b tells
    // again.
    let jobs = [submission(0, 50, 1, 8), submission(1, 150, 0, 1)];
    let at_home = |job: u32, domain: u16| {
        let to = Some(Party::Lrms(ClusterId(domain)));
        (job, Party::Broker(DomainId(domain)), to)
    };
    for memory in [Memory::None, Memory::Journal] {
        let restart = Restart {
            broker: DomainId(0),
            at: SimTime::from_secs(110),
            back: SimTime::from_secs(120),
            anew: Some(memory),
        };
        let plan = FaultPlan {
            restarts: vec![restart],
            ..FaultPlan::default()
        };
        let (options, mut given) = (Options::default(), Given::default());
        let go_on = |_, _| ControlFlow::Continue(());
        let outcome = run_with_faults(&grid(), &jobs, &options, &plan, &mut given, go_on);
        outcome.expect("no policy needs the truth");
        assert_eq!(given.0, [at_home(0, 1), at_home(1, 0)], "{memory:?}");
    }
}

/// Jobs enter at 0, which may forward them to 1 (four processors), behind which 2 has a
/// hundred, and to 3 (twenty). Exchanges are every 100 s: what 2 tells of 100 s is at 1 at
/// 100.05 s, and goes to 0 with the exchange after.
#[test]
fn what_a_peer_passes_on_is_known_one_exchange_later() {
    let mut grid = grid();
    let (domain, cluster) = (grid.domains[0].clone(), grid.clusters[0].clone());
    grid.domains.clear();
    grid.clusters.clear();
    for (id, processors) in (0..).zip([1, 4, 100, 20]) {
        let mut domain = domain.clone();
        domain.name = format!("site-{id}");
        domain.clusters = vec![ClusterId(id)];
        domain.broker.max_hops = 2;
        domain.broker.propagate_info = true;
        let mut cluster = cluster.clone();
        cluster.domain = Some(DomainId(id));
        let resources = Resources::homogeneous(processors);
        cluster.config = ClusterConfig::new(ClusterId(id), resources, DisciplineKind::Fcfs);
        grid.domains.push(domain);
        grid.clusters.push(cluster);
    }
    let link = grid.links[0];
    let ends = [(0, 1), (1, 2), (0, 3)].map(|(a, b)| (DomainId(a), DomainId(b)));
    let links = ends.map(|(consumer, provider)| Link {
        consumer,
        provider,
        ..link
    });
    grid.links = links.into();
    let told = |passed_on: bool| {
        let mut grid = grid.clone();
        grid.domains[1].broker.propagate_info = passed_on;
        // The first has all processors of 2.
        let jobs = [
            (2, 10, 100),
            (0, 30, 2),
            (0, 90, 2),
            (0, 150, 2),
            (0, 250, 2),
        ];
        let submissions = (0..)
            .zip(jobs)
            .map(|(id, (domain, at, processors))| Submission {
                spec: JobSpec::rigid(JobId(id), processors, SimDuration::from_secs(1_000)),
                at: SimTime::ZERO + SimDuration::from_secs(at),
                entry: Entry::Domain(DomainId(domain)),
                label: Default::default(),
            });
        let submissions: Vec<Submission> = submissions.collect();
        let (mut given, options) = (Given::default(), Options::default());
        let go_on = |_, _| ControlFlow::Continue(());
        run(&grid, &submissions, &options, &mut given, go_on);
        let from_0 = given
            .0
            .into_iter()
            .filter(|it| it.1 == Party::Broker(DomainId(0)));
        from_0.map(|(job, _, to)| (job, to)).collect::<Vec<_>>()
    };
    let to = |job: u32, domain: u16| (job, Some(Party::Broker(DomainId(domain))));
    assert_eq!(told(false), [1, 2, 3, 4].map(|job| to(job, 3)));
    // It is taken for idle before anybody tells; that it is not, 0 knows from 200.05 s on.
    assert_eq!(told(true), [to(1, 1), to(2, 1), to(3, 1), to(4, 3)]);
}
