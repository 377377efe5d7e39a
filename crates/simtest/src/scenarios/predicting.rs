//! Brokers that predict when jobs start.

use super::{Scenario, pick};
use gridrig_core::job::Objective;
use gridrig_core::rng;

/// The policies that do, as they are written.
const POLICIES: [&str; 5] = [
    "earliest-start",
    "earliest-completion",
    "earliest-start(wait=recent)",
    "earliest-completion(wait=recent)",
    "earliest-completion(run_times=corrected)",
];

/// What jobs want, if they say so.
const OBJECTIVES: [Option<Objective>; 4] = [
    None,
    None,
    Some(Objective::EarlyStart),
    Some(Objective::EarlyCompletion),
];

/// The same with brokers that predict.
pub fn predicting(mut scenario: Scenario) -> Scenario {
    let mut rng = rng::stream(scenario.seed, "scenario.predicting");
    for domain in &mut scenario.grid.domains {
        let policy = pick(&mut rng, &POLICIES);
        domain.broker.policy = policy.parse().expect("a policy");
    }
    for submission in &mut scenario.submissions {
        submission.spec.objective = pick(&mut rng, &OBJECTIVES);
    }
    scenario
}
