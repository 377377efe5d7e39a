//! The life of a job in readable lines.

use super::{HISTORIES, Violation};
use crate::log::EventLog;
use crate::names::Names;
use gridrig_core::grid::Grid;
use gridrig_core::ids::JobId;
use gridrig_core::placement::PlacementRun;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Gives each finding the whole history of its job, in one pass over the log.
pub(super) fn tell(log: &EventLog, grid: &Grid, findings: &mut [Violation]) {
    let names = Names::of(grid);
    let mut lines: BTreeMap<JobId, Vec<String>> = BTreeMap::new();
    for job in findings.iter().filter_map(|finding| finding.job) {
        if lines.len() < HISTORIES {
            lines.entry(job).or_default();
        }
    }
    for (at, event) in log.records() {
        let told = event.job.and_then(|job| lines.get_mut(&job));
        if let Some(told) = told {
            let what = names.told(&event, &show_placement(event.placement));
            told.push(format!("{at}: {what}"));
        }
    }
    let all = lines.into_iter().map(|(job, lines)| (job, lines.into()));
    let told: BTreeMap<JobId, Arc<[String]>> = all.collect();
    let left_out: Arc<[String]> = Arc::new([format!(
        "history left out: more than {HISTORIES} jobs break a rule"
    )]);
    for finding in findings {
        if let Some(job) = finding.job {
            finding.history = Arc::clone(told.get(&job).unwrap_or(&left_out));
        }
    }
}

/// `resource 0 nodes 3-5 x 2, resource 1 node 0 x 1`; long ones are cut.
fn show_placement(placement: &[PlacementRun]) -> String {
    const SHOWN: usize = 20;
    let mut runs: Vec<String> = placement.iter().take(SHOWN).map(show_run).collect();
    if placement.len() > SHOWN {
        runs.push(format!("and {} more", placement.len() - SHOWN));
    }
    if runs.is_empty() {
        return "nothing".to_owned();
    }
    runs.join(", ")
}

/// One run of a placement.
pub(super) fn show_run(run: &PlacementRun) -> String {
    let PlacementRun {
        resource,
        node,
        nodes,
        processors,
    } = *run;
    match nodes {
        1 => format!("resource {resource} node {node} x {processors}"),
        _ => {
            let last = u64::from(node) + u64::from(nodes).saturating_sub(1);
            format!("resource {resource} nodes {node}-{last} x {processors}")
        }
    }
}
