//! Start windows of jobs.

use super::Checked;
use crate::trail::{Step, Trails};
use gridrig_core::cluster::Overrun;
use gridrig_core::grid::Grid;
use gridrig_core::job::Submission;

pub(super) fn kept(grid: &Grid, submissions: &[Submission], trails: &Trails) -> Checked {
    for (job, steps) in submissions.iter().zip(&trails.jobs) {
        let Some(window) = &job.spec.start_window else {
            continue;
        };
        for (at, step) in steps {
            let Step::Started(cluster, _) = step else {
                continue;
            };
            let config = &grid.clusters[cluster.index()].config;
            let kills = config.reserving.map(|it| it.overrun) == Some(Overrun::Kill);
            let is_late = *at > window.latest && kills && config.node_plan.is_empty();
            if *at < window.earliest || is_late {
                return Err(format!("{window:?} of {}: {steps:?}", job.spec.id));
            }
        }
    }
    Ok(())
}
