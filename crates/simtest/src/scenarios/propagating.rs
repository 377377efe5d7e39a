//! Brokers that pass on what they know of others.

use super::{Scenario, once_in};
use gridrig_core::broker::MatchmakingKind;
use gridrig_core::rng;
use rand::RngExt as _;

/// The same with brokers of which most pass information on, to jobs that may go further.
pub fn propagating(mut scenario: Scenario) -> Scenario {
    let mut rng = rng::stream(scenario.seed, "scenario.propagating");
    for domain in &mut scenario.grid.domains {
        let broker = &mut domain.broker;
        broker.propagate_info = !once_in(&mut rng, 4) && !domain.clusters.is_empty();
        // Under a matchmaking all have as many as each other.
        if broker.matchmaking == MatchmakingKind::Route {
            broker.max_hops = broker.max_hops.max(rng.random_range(1..=3));
        }
    }
    scenario
}
