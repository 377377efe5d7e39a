//! How the services of a run are monitored: the labels that a scenario gives,
//! and the files of Prometheus and Grafana.

pub(crate) mod files;

use crate::scenario::{POOLED, Replication, Scenario};
use gridrig_core::policy::PolicySpec;
use gridrig_service::http::{Labels, Monitoring};

/// The labels of a service that takes its part from a scenario.
pub(crate) fn of_scenario(scenario: &Scenario, domain: Option<&String>) -> Labels {
    let labels = Labels::default().with("run", &run(&scenario.name, scenario.seed));
    match domain {
        Some(domain) => labels.with("domain", domain),
        None => labels,
    }
}

/// The same monitoring with the labels of one run of a scenario, which are
/// those of its directory.
pub(crate) fn of_run(
    replication: &Replication,
    policy: Option<&PolicySpec>,
    monitoring: &Monitoring,
) -> Monitoring {
    let without = if replication.pooled {
        POOLED
    } else {
        "no-broker"
    };
    let contender = replication.policy_name(policy);
    let labels = Labels::default()
        .with(
            "run",
            &run(&replication.scenario.name, replication.base_seed),
        )
        .with("replication", &format!("r{:03}", replication.index))
        .with("policy", contender.as_deref().unwrap_or(without));
    Monitoring {
        labels: labels.and(&monitoring.labels),
        targets: monitoring.targets.clone(),
    }
}

fn run(name: &str, seed: u64) -> String {
    format!("{name}-{seed}")
}
