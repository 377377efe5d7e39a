//! Brokers that take no new jobs for a time.

use super::{Scenario, millis, once_in, pick};
use gridrig_core::rng;
use rand::RngExt as _;

/// The same with every second broker drained while jobs come.
pub fn with_drains(mut scenario: Scenario) -> Scenario {
    let mut rng = rng::stream(scenario.seed, "scenario.drains");
    for domain in &mut scenario.grid.domains {
        if once_in(&mut rng, 2) {
            let from = millis(rng.random_range(0..60) * 250);
            let length = millis(pick(&mut rng, &[250, 3_000, 20_000]));
            domain.broker.drain = vec![[from, from + length]];
        }
    }
    scenario
}
