//! When nodes fail and are repaired: what a scenario says of it, drawn from the
//! seed of a run or read from a file.

use crate::Scenario;
use crate::faults::Failures;
use crate::value::or;
use gridrig_core::cluster::{NodeChange, PlannedChange};
use gridrig_core::grid::Grid;
use gridrig_core::job::Submission;
use gridrig_core::rng;
use gridrig_core::time::{Decimal, SimDuration, SimTime};

impl Scenario {
    /// What is written in the files of failures, by the name of the cluster.
    pub fn failure_files(&self) -> impl Iterator<Item = (&str, &str)> {
        let clusters = self.grid.clusters.iter().zip(self.clusters());
        clusters.filter_map(|(of_grid, cluster)| {
            Some((&*of_grid.name, &*cluster.failures.as_ref()?.text))
        })
    }

    /// Gives the clusters of a grid the failures of their nodes: outages as they
    /// are written, and failures drawn up to twice the time at which the last of
    /// these jobs would end if none had to wait, so that every run comes to an
    /// end. Times are those of the trace, as arrivals are.
    pub fn fail_nodes<'a>(&self, grid: &mut Grid, jobs: impl Iterator<Item = &'a Submission>) {
        let last = jobs.map(|job| job.at + job.spec.run_time).max();
        let last = last.map_or(0, SimTime::as_nanos);
        let until = SimTime::from_nanos(last.saturating_mul(2));
        let scale = self.compression();
        for (cluster, of_grid) in self.clusters().zip(&mut grid.clusters) {
            let (config, mut plan) = (&mut of_grid.config, Vec::new());
            for outage in cluster.outages.iter().flatten() {
                let at = |instant: &Option<_>| {
                    SimTime::ZERO + scaled(or(instant, SimDuration::ZERO), scale)
                };
                let span = (at(&outage.from), at(&outage.until));
                for (group, resource) in config.resources.groups().iter().zip(0..) {
                    push(&mut plan, span, (resource, 0, group.count));
                }
            }
            for failure in cluster.failures.iter().flat_map(|table| &table.rows) {
                let at = |instant| SimTime::ZERO + scaled(instant, scale);
                let (resource, node) = failure.node;
                let span = (at(failure.down), at(failure.up));
                push(&mut plan, span, (resource, node, 1));
            }
            if let Some(failures) = &cluster.node_failures {
                let Failures { mtbf, mttr, shape } = Failures::of(failures);
                let (mtbf, mttr) = (scaled(mtbf, scale), scaled(mttr, scale));
                let failures = Failures { mtbf, mttr, shape };
                let mut rng = rng::stream(self.seed, &format!("failures.{}", of_grid.name));
                for (group, resource) in config.resources.groups().iter().zip(0..) {
                    for node in 0..group.count {
                        for span in failures.spans(SimTime::ZERO, until, &mut rng) {
                            push(&mut plan, span, (resource, node, 1));
                        }
                    }
                }
            }
            // Of one instant, repairs come first.
            plan.sort_by_key(|planned| (planned.at, !planned.change.up, planned.change));
            config.node_plan = plan.into();
        }
    }
}

fn push(
    plan: &mut Vec<PlannedChange>,
    (from, until): (SimTime, SimTime),
    (resource, node, nodes): (u16, u32, u32),
) {
    for (at, up) in [(from, false), (until, true)] {
        let change = NodeChange {
            resource,
            node,
            nodes,
            up,
        };
        plan.push(PlannedChange { at, change });
    }
}

fn scaled(time: SimDuration, scale: Decimal) -> SimDuration {
    SimDuration::from_nanos(scale.divide(time.as_nanos()))
}
