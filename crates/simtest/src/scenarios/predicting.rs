//! Brokers that predict when jobs start.

use super::{Scenario, pick};
use gridrig_core::job::{Measured, Objective, Preferences};
use gridrig_core::rng;
use gridrig_core::time::{Decimal, SimDuration};

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

/// Some clusters and jobs have some of them.
const BENCHMARKS: [&str; 3] = ["linpack", "stream", "own-code"];

/// What is achieved.
const RESULTS: [Option<&str>; 6] = [None, None, None, Some("1"), Some("12.5"), Some("1250")];

fn of(result: &str) -> Decimal {
    Decimal::parse(result).expect("a number")
}

/// The same with brokers that predict.
pub fn predicting(mut scenario: Scenario) -> Scenario {
    let mut rng = rng::stream(scenario.seed, "scenario.predicting");
    for domain in &mut scenario.grid.domains {
        let policy = pick(&mut rng, &POLICIES);
        domain.broker.policy = policy.parse().expect("a policy");
    }
    for cluster in &mut scenario.grid.clusters {
        let results = BENCHMARKS.map(|name| (name.into(), pick(&mut rng, &RESULTS)));
        let known = results
            .into_iter()
            .filter_map(|(name, it)| Some((name, of(it?))));
        let config = &mut cluster.config;
        config.resources = config.resources.clone().with_benchmarks(known.collect());
    }
    let times = [None, None, Some(0), Some(250), Some(1_000), Some(7_000)];
    for submission in &mut scenario.submissions {
        let benchmarks = BENCHMARKS.map(|name| {
            let time = pick(&mut rng, &times).map(SimDuration::from_millis);
            (name.into(), pick(&mut rng, &RESULTS), time)
        });
        let known = benchmarks.into_iter().filter_map(|(name, result, time)| {
            let result = of(result?);
            Some((name, Measured { result, time }))
        });
        let preferences = Preferences {
            objective: pick(&mut rng, &OBJECTIVES),
            benchmarks: known.collect(),
            stage_in: pick(&mut rng, &times).map(SimDuration::from_millis),
            stage_out: pick(&mut rng, &times).map(SimDuration::from_millis),
        };
        let says = preferences != Preferences::default();
        submission.spec.preferences = says.then(|| preferences.into());
    }
    scenario
}
