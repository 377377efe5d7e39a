//! The models of core and the virtual driver against the slow reference, and
//! agents under faults.

mod agents;
mod clusters;
mod drained;
mod given_up;
mod grids;
mod informed;
mod leases;
mod plans;
mod promises;
mod rules;
mod together;
mod windows;

use std::ops::Range;

/// The seeds of the random scenarios that a test tries: those below `default`, or
/// what `GRIDRIG_SCENARIOS` says, a number or a range such as `471..472`.
fn scenarios(default: u64) -> Range<u64> {
    let Ok(asked) = std::env::var("GRIDRIG_SCENARIOS") else {
        return 0..default;
    };
    let (from, to) = asked.split_once("..").unwrap_or(("0", &asked));
    let number = |text: &str| text.parse().expect("a number of scenarios, or a range");
    let range = number(from)..number(to);
    assert!(!range.is_empty(), "GRIDRIG_SCENARIOS={asked}: no scenario");
    range
}
