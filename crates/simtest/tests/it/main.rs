//! The models of core and the virtual driver against the slow reference, and
//! agents under faults.

mod agents;
mod clusters;
mod given_up;
mod grids;
mod promises;
mod rules;

/// How many random scenarios a test tries: `GRIDRIG_SCENARIOS`, or `default`.
fn scenarios(default: u64) -> u64 {
    let asked = std::env::var("GRIDRIG_SCENARIOS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(default)
}
