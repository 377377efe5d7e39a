//! How the services of a run are monitored: what the command line says of it,
//! and the labels that a scenario gives.

pub(crate) mod files;

use crate::cli::MonitoringArgs;
use crate::scenario::{POOLED, Replication, Scenario};
use anyhow::{Context as _, anyhow};
use gridrig_core::policy::PolicySpec;
use gridrig_service::http::{Labels, Monitoring};

/// What the command line says. The folder of targets is made, so that a
/// mistake in it is told before anything starts.
///
/// # Errors
/// Input errors: no label, no folder.
pub(crate) fn monitoring(args: &MonitoringArgs) -> anyhow::Result<Monitoring> {
    let mut labels = Labels::default();
    for text in &args.labels {
        let added = labels.add(text);
        added.map_err(|error| anyhow!("--label {text}: {error}"))?;
    }
    if let Some(folder) = &args.targets {
        std::fs::create_dir_all(folder).with_context(|| {
            let folder = folder.display();
            format!("--targets {folder}: expected a folder that can be written to")
        })?;
    }
    Ok(Monitoring {
        labels,
        targets: args.targets.clone(),
    })
}

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
