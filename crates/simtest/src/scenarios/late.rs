//! Brokers that keep a job until there is room for it.

use super::{Scenario, once_in, pick};
use gridrig_core::broker::{Blocking, Commit};
use gridrig_core::policy::PolicySpec;
use gridrig_core::rng;

/// The policies that commit late. A list of its own, as that of all.
const POLICIES: [&str; 5] = [
    "free-node",
    "utilization",
    "best-broker-rank",
    "best-broker-rank-1.10",
    "best-broker-rank-1.25",
];

/// The same with brokers that commit late, most of them, under policies that do.
pub fn committing_late(mut scenario: Scenario) -> Scenario {
    let mut rng = rng::stream(scenario.seed, "scenario.late");
    for domain in &mut scenario.grid.domains {
        let policy = pick(&mut rng, &POLICIES);
        let broker = &mut domain.broker;
        broker.policy = PolicySpec::named(policy).expect("a policy of the table");
        broker.blocking = pick(&mut rng, &[Blocking::Head, Blocking::Skip]);
        broker.commit = match once_in(&mut rng, 5) {
            true => Commit::Early,
            false => Commit::Late,
        };
    }
    scenario
}
