//! Domains in trees, under every way to bring jobs and processors together.

use super::{Scenario, millis, once_in, pick};
use gridrig_core::broker::{Blocking, Commit, MatchmakingKind};
use gridrig_core::grid::{Grid, Link};
use gridrig_core::ids::DomainId;
use gridrig_core::policy::PolicySpec;
use gridrig_core::rng;
use gridrig_core::time::Decimal;
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;
use std::num::NonZeroU32;

/// Policies that choose among candidates one by one. A list of its own, as that of all.
const POLICIES: [&str; 5] = [
    "round-robin",
    "random",
    "queue-length",
    "free-node",
    "utilization",
];

/// The same with its domains in trees and all brokers under this matchmaking.
pub fn matched(kind: MatchmakingKind, mut scenario: Scenario) -> Scenario {
    let mut rng = rng::stream(scenario.seed, "scenario.matchmaking");
    let grid = &mut scenario.grid;
    add_tree(&mut rng, grid);
    if kind.is_lending() {
        // The reference does not know when requests may be made. A queue that takes no
        // job at all would refuse each job of a borrower for ever.
        grid.hours.clear();
        for cluster in &mut grid.clusters {
            cluster.config.queue_limit = None;
        }
    }
    let hops = rng.random_range(2..=4);
    let cycles = [500, 1_000, 3_000, 8_000];
    for domain in &mut grid.domains {
        let broker = &mut domain.broker;
        let policy = pick(&mut rng, &POLICIES);
        broker.policy = PolicySpec::named(policy).expect("a policy of the table");
        broker.matchmaking = kind;
        broker.max_hops = hops;
        broker.blocking = pick(&mut rng, &[Blocking::Head, Blocking::Skip]);
        broker.commit = pick(&mut rng, &[Commit::Early, Commit::Late]);
        broker.matchmaking_interval = millis(pick(&mut rng, &cycles));
        broker.delegation_interval = millis(pick(&mut rng, &cycles));
        let threshold = Decimal::parse(pick(&mut rng, &["0.25", "0.75", "1", "1", "1.25"]));
        broker.delegation_threshold = threshold.unwrap_or(Decimal::ONE);
        broker.delegation_memory = millis(pick(&mut rng, &[0, 2_000, 10_000]));
        let timeout = pick(&mut rng, &[None, None, Some(10_000), Some(20_000)]);
        broker.lease_timeout = timeout.map(millis);
        broker.usage_half_life = millis(pick(&mut rng, &[8_000, 60_000, 86_400_000]));
    }
    for submission in &mut scenario.submissions {
        submission.spec.account = NonZeroU32::new(rng.random_range(0..3));
    }
    scenario
}

/// Trees with links along them, and a domain that all are linked with.
fn add_tree(rng: &mut ChaCha8Rng, grid: &mut Grid) {
    let domains = grid.domains.len() as u16;
    let central = rng.random_range(0..domains);
    grid.domains[usize::from(central)].topology.central = true;
    for id in 1..domains {
        let parent = DomainId(rng.random_range(0..id));
        let parent = (!once_in(rng, 4)).then_some(parent);
        grid.domains[usize::from(id)].topology.parent = parent;
    }
    for a in 0..domains {
        for b in a + 1..domains {
            let parent = |id: u16| grid.domains[usize::from(id)].topology.parent;
            let related = [parent(a), parent(b)];
            let is_parent = related[1] == Some(DomainId(a));
            let beside = related[0] == related[1] && !once_in(rng, 3);
            for (one, other) in [(a, b), (b, a)].into_iter().filter(|_| beside) {
                let topology = &mut grid.domains[usize::from(one)].topology;
                topology.siblings.push(DomainId(other));
            }
            if is_parent || beside || [a, b].contains(&central) {
                link(rng, grid, DomainId(a), DomainId(b));
            }
        }
    }
}

/// Links two domains both ways.
fn link(rng: &mut ChaCha8Rng, grid: &mut Grid, a: DomainId, b: DomainId) {
    let joins = |link: &&Link| [(a, b), (b, a)].contains(&(link.consumer, link.provider));
    let known = grid.links.iter().find(joins);
    let known = known.map(|link| (link.latency, link.bandwidth));
    let fresh = || (millis(pick(rng, &[1, 50, 200, 1_000])), None);
    let (latency, bandwidth) = known.unwrap_or_else(fresh);
    for (consumer, provider) in [(a, b), (b, a)] {
        let is_there = |link: &Link| (link.consumer, link.provider) == (consumer, provider);
        if !grid.links.iter().any(is_there) {
            grid.links.push(Link {
                consumer,
                provider,
                latency,
                bandwidth,
            });
        }
    }
}
