//! Nodes that fail and are repaired, at instants at which other things happen.

use super::{Scenario, millis, once_in, pick};
use gridrig_core::cluster::{ClusterConfig, NodeChange, OnNodeFailure, PlannedChange};
use gridrig_core::rng;
use gridrig_core::time::SimTime;
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;

/// The same with nodes that fail, some of them together, until all are repaired.
#[must_use]
pub fn with_failures(mut scenario: Scenario) -> Scenario {
    let mut rng = rng::stream(scenario.seed, "scenario.failures");
    for cluster in &mut scenario.grid.clusters {
        let config = &mut cluster.config;
        config.on_node_failure = pick(&mut rng, OnNodeFailure::ALL);
        let mut plan = Vec::new();
        for _ in 0..rng.random_range(1..=8) {
            fail(&mut rng, config, &mut plan);
        }
        plan.sort_by_key(|planned| (planned.at, !planned.change.up, planned.change));
        config.node_plan = plan.into();
    }
    scenario
}

/// A node, some neighbours, or all of the cluster.
fn fail(rng: &mut ChaCha8Rng, config: &ClusterConfig, plan: &mut Vec<PlannedChange>) {
    let from = SimTime::ZERO + millis(rng.random_range(0..120) * 250);
    let until = from + millis(pick(rng, &[250, 500, 3_000, 20_000]));
    let whole = once_in(rng, 4);
    let groups = config.resources.groups();
    let one = rng.random_range(0..groups.len());
    for (index, group) in groups.iter().enumerate() {
        if group.count == 0 || !(whole || index == one) {
            continue;
        }
        let node = if whole {
            0
        } else {
            rng.random_range(0..group.count)
        };
        let most = group.count - node;
        let nodes = if whole {
            most
        } else {
            rng.random_range(1..=most.min(3))
        };
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
