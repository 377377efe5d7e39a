//! Policies that are given parameters.

use super::pick;
use gridrig_core::grid::Grid;
use rand::rngs::ChaCha8Rng;

/// Some of the policies that wander, or rank domains, are given parameters.
pub(super) fn give(rng: &mut ChaCha8Rng, grid: &mut Grid) {
    for domain in &mut grid.domains {
        let name = domain.broker.policy.entry().name;
        let given = match name.split('-').next() {
            Some("inter") => [
                "",
                "(ttl_end=settle)",
                "(revisit=false)",
                "(reschedule_interval=250ms)",
                "(reschedule_interval=7s,revisit=false)",
                "(revisit=false,ttl_end=settle)",
            ],
            Some("best") => ["", "", "", "", "(local_first=false)", "(local_first=true)"],
            _ => [""; 6],
        };
        let written = format!("{name}{}", pick(rng, &given));
        domain.broker.policy = written.parse().expect("a policy of the table");
    }
}
