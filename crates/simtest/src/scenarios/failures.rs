//! Nodes that fail and are repaired, at instants at which other things happen.

use super::{Scenario, millis, once_in, pick};
use gridrig_core::cluster::{ClusterConfig, NodeChange, OnNodeFailure, PlannedChange};
use gridrig_core::rng;
use gridrig_core::time::SimTime;
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;

/// The same with nodes that fail, some of them together, until all are repaired.
pub fn with_failures(mut scenario: Scenario) -> Scenario {
    let mut rng = rng::stream(scenario.seed, "scenario.failures");
    for cluster in &mut scenario.grid.clusters {
        let config = &mut cluster.config;
        config.on_node_failure = pick(&mut rng, OnNodeFailure::ALL);
        let mut plan = Vec::new();
        for _ in 0..rng.random_range(1..=8) {
            let from = SimTime::ZERO + millis(rng.random_range(0..120) * 250);
            let until = from + millis(pick(&mut rng, &[250, 500, 3_000, 20_000]));
            fail(&mut rng, config, &mut plan, (from, until));
        }
        set_plan(config, plan);
    }
    scenario
}

/// The same with every second cluster out of service, or some nodes of it, for a minute.
pub fn with_long_failures(mut scenario: Scenario) -> Scenario {
    let mut rng = rng::stream(scenario.seed, "scenario.long-failures");
    for cluster in &mut scenario.grid.clusters {
        if once_in(&mut rng, 2) {
            let config = &mut cluster.config;
            let mut plan = config.node_plan.to_vec();
            let from = SimTime::ZERO + millis(rng.random_range(0..120) * 250);
            let times = (from, from + millis(60_000));
            fail(&mut rng, config, &mut plan, times);
            set_plan(config, plan);
        }
    }
    scenario
}

fn set_plan(config: &mut ClusterConfig, mut plan: Vec<PlannedChange>) {
    plan.sort_by_key(|planned| (planned.at, !planned.change.up, planned.change));
    config.node_plan = plan.into();
}

/// A node, some neighbours, or all of the cluster.
fn fail(
    rng: &mut ChaCha8Rng,
    config: &ClusterConfig,
    plan: &mut Vec<PlannedChange>,
    (from, until): (SimTime, SimTime),
) {
    let whole = once_in(rng, 4);
    let groups = config.resources.groups();
    let one = rng.random_range(0..groups.len());
    for (index, group) in groups.iter().enumerate() {
        if group.count == 0 || !(whole || index == one) {
            continue;
        }
        let (mut node, mut nodes) = (0, group.count);
        if !whole {
            node = rng.random_range(0..group.count);
            nodes = rng.random_range(1..=(group.count - node).min(3));
        }
        for (at, up) in [(from, false), (until, true)] {
            let resource = u16::try_from(index).unwrap_or(0);
            let change = NodeChange {
                resource,
                node,
                nodes,
                up,
            };
            plan.push(PlannedChange { at, change });
        }
    }
}
