//! A broker that is drained tells its peers, which send it no jobs until its end.

use gridrig_core::agent::Memory;
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::event::{Event, EventKind, EventSink};
use gridrig_core::faults::{Chance, FaultPlan, LinkFaults, Rates, Restart, Scope};
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster, Link};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, JobSpec, Submission};
use gridrig_core::resource::Resources;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::virtual_time::{Options, run, run_with_faults};
use std::ops::ControlFlow;

/// When jobs were forwarded, sent back, and started.
#[derive(Default)]
struct Seen(Vec<(&'static str, SimTime)>);

impl EventSink for Seen {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        if let EventKind::Forwarded | EventKind::Refused | EventKind::Started = event.kind {
            self.0.push((event.kind.name(), at));
        }
    }
}

/// Site a with four processors and b with eight, which is drained from 20 s to 200 s;
/// both tell of themselves every ten seconds.
fn grid() -> Grid {
    let site = |id: u16| Domain {
        name: format!("site-{id}"),
        broker: BrokerSettings {
            policy: "free-node".parse().expect("a policy"),
            exchange: SimDuration::from_secs(10),
            drain: match id {
                1 => vec![[SimDuration::from_secs(20), SimDuration::from_secs(200)]],
                _ => Vec::new(),
            },
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

/// One job for b alone comes to a at 60 s.
fn job() -> [Submission; 1] {
    [Submission {
        spec: JobSpec::rigid(JobId(0), 8, SimDuration::from_secs(50)),
        at: SimTime::from_secs(60),
        entry: Entry::Domain(DomainId(0)),
        label: Default::default(),
    }]
}

/// It is forwarded once, at the end of the drain, and nobody sends it back.
fn waits(seen: &Seen) {
    let kinds: Vec<_> = seen.0.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, ["forwarded", "started"], "{:?}", seen.0);
    assert!(seen.0[0].1 >= SimTime::from_secs(200), "{:?}", seen.0);
    assert!(seen.0[0].1 <= SimTime::from_secs(240), "{:?}", seen.0);
}

#[test]
fn a_job_waits_for_a_peer_that_has_told_of_its_drain() {
    let (options, mut seen) = (Options::default(), Seen::default());
    let go_on = |_, _| ControlFlow::Continue(());
    run(&grid(), &job(), &options, &mut seen, go_on);
    waits(&seen);
}

#[test]
fn either_broker_may_be_restarted_meanwhile_and_nobody_is_shunned() {
    for (broker, memory) in [(0, Memory::None), (0, Memory::Journal), (1, Memory::None)] {
        let restart = Restart {
            broker: DomainId(broker),
            at: SimTime::from_secs(30),
            back: SimTime::from_secs(35),
            anew: Some(memory),
        };
        let plan = FaultPlan {
            restarts: vec![restart],
            ..FaultPlan::default()
        };
        let (options, mut seen) = (Options::default(), Seen::default());
        let go_on = |_, _| ControlFlow::Continue(());
        let outcome = run_with_faults(&grid(), &job(), &options, &plan, &mut seen, go_on);
        outcome.expect("no policy needs the truth");
        waits(&seen);
    }
}

/// It tells of its drain at every exchange, for three of them: one message or two may be
/// lost.
#[test]
fn nobody_forwards_to_a_drained_broker_where_messages_between_brokers_are_lost() {
    for seed in 0..20 {
        let lossy = LinkFaults {
            on: Scope::Brokers,
            ..LinkFaults::everywhere(Rates {
                lost: Chance::once_in(5),
                ..Rates::default()
            })
        };
        let plan = FaultPlan {
            links: vec![lossy],
            ..FaultPlan::default()
        };
        let options = Options {
            seed,
            ..Options::default()
        };
        let mut seen = Seen::default();
        let go_on = |_, _| ControlFlow::Continue(());
        let outcome = run_with_faults(&grid(), &job(), &options, &plan, &mut seen, go_on);
        let (_, counts) = outcome.expect("no policy needs the truth");
        assert!(counts.lost > 0, "seed {seed}");
        waits(&seen);
    }
}

/// A job that is under way when its receiver is drained is turned away there, and sent
/// again when the drain is over: under the same key, so that it was taken for a
/// repetition, and turned away for ever.
#[test]
fn a_job_that_was_turned_away_for_a_drain_is_taken_after_its_end() {
    let mut grid = grid();
    for link in &mut grid.links {
        link.latency = SimDuration::from_secs(10);
    }
    // It is forwarded at 15 s.
    let mut job = job();
    job[0].at = SimTime::from_secs(12);
    let options = Options {
        stop_at: Some(SimTime::from_secs(400)),
        ..Options::default()
    };
    let (plan, mut seen) = (FaultPlan::default(), Seen::default());
    let go_on = |_, _| ControlFlow::Continue(());
    let outcome = run_with_faults(&grid, &job, &options, &plan, &mut seen, go_on);
    outcome.expect("no policy needs the truth");
    let kinds: Vec<_> = seen.0.iter().map(|(kind, _)| *kind).collect();
    let expected = ["forwarded", "refused", "forwarded", "started"];
    assert_eq!(kinds, expected, "{:?}", seen.0);
}
