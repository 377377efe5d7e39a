//! Jobs that several clusters run together.

use super::Checked;
use crate::trail::{Share, Step, Trails};
use gridrig_core::grid::Grid;
use gridrig_core::ids::ClusterId;
use gridrig_core::job::Submission;
use gridrig_core::time::{SimDuration, SimTime};
use std::collections::BTreeMap;

/// Whether parts of the job were held somewhere.
pub(super) fn is_together(steps: &[(SimTime, Step)]) -> bool {
    steps.iter().any(|(_, step)| matches!(step, Step::Held(..)))
}

/// What is known of one job so far.
#[derive(Default)]
struct Parts<'a> {
    asked_at: SimTime,
    asked: Vec<ClusterId>,
    /// When all of these have what their components read.
    staged: SimTime,
    /// What is held, or was until an instant.
    held: BTreeMap<ClusterId, (&'a [Share], Option<SimTime>)>,
    /// Since when it runs, and for how long it is to.
    runs: Option<(SimTime, SimDuration)>,
    /// When a part was first given back since.
    short: Option<SimTime>,
}

/// A job has all its processors from its start to its end, for as long as it runs on the
/// slowest of its nodes, and none once nobody says anything any more.
pub(super) fn all_or_none(grid: &Grid, submissions: &[Submission], trails: &Trails) -> Checked {
    for (steps, submission) in trails.jobs.iter().zip(submissions) {
        if !is_together(steps) {
            continue;
        }
        let mut parts = Parts::default();
        let mut wrong = None;
        for (at, step) in steps {
            wrong = wrong.or(parts.follow(grid, submission, (*at, step)));
        }
        if parts.held.values().any(|(_, until)| until.is_none()) {
            wrong = wrong.or(Some("has processors for ever"));
        }
        if let Some(what) = wrong {
            return Err(format!("{} {what}: {steps:?}", submission.spec.id));
        }
    }
    Ok(())
}

/// How long it takes until a cluster has what these components of a job read; of some
/// processors of one it is not looked at.
fn brought(grid: &Grid, job: &Submission, (at, bits): (ClusterId, u64)) -> SimDuration {
    let of_cluster = |id: ClusterId| grid.clusters[id.index()].domain;
    let domain = of_cluster(at).map(|id| &grid.domains[id.index()].broker.co_allocation);
    let inputs = job.spec.inputs.iter().filter(|input| {
        let component = u32::from(input.component);
        (bits >> component) & 1 == 1 && input.clusters.iter().all(|id| *id != at)
    });
    let mib: u64 = inputs.map(|input| input.data_mib).sum();
    let rate = domain.and_then(|costs| costs.bandwidth);
    rate.map_or(SimDuration::ZERO, |rate| {
        SimDuration::from_nanos(rate.divide(mib * 1_000_000_000))
    })
}

impl<'a> Parts<'a> {
    /// What is wrong with a step, if anything is.
    fn follow(
        &mut self,
        grid: &Grid,
        job: &Submission,
        (at, step): (SimTime, &'a Step),
    ) -> Option<&'static str> {
        match step {
            Step::Asked(cluster, components) => {
                if std::mem::replace(&mut self.asked_at, at) != at {
                    self.asked.clear();
                    self.staged = at;
                }
                self.asked.push(*cluster);
                self.staged = self
                    .staged
                    .max(at + brought(grid, job, (*cluster, *components)));
            }
            Step::Held(cluster, shares) => {
                let before = self.held.insert(*cluster, (shares, None));
                let held = before.is_some_and(|(_, until)| until.is_none());
                return held.then_some("has a part twice");
            }
            Step::LetGo(cluster) => {
                if let Some((_, until)) = self.held.get_mut(cluster) {
                    *until = Some(at);
                }
                if self.runs.is_some() && self.asked.contains(cluster) {
                    self.short.get_or_insert(at);
                }
            }
            Step::Started(..) => {
                // A job of length 0 may have ended elsewhere before.
                let lasts = self.lasts(grid, job, at);
                let over = self.asked.iter().filter_map(|it| self.held.get(it)?.1);
                self.short = over.max().filter(|over| *over == at);
                self.runs = lasts.map(|lasts| (at, lasts));
                if at < self.staged {
                    return Some("starts before what it reads is there");
                }
                return lasts
                    .is_none()
                    .then_some("starts without all its processors");
            }
            Step::Finished(_) => {
                let runs = self.runs.take();
                if runs.is_none_or(|(from, lasts)| at.since(from) != lasts) {
                    return Some("runs for another time than its own");
                }
                let short = self.short.is_some_and(|short| short < at);
                return short.then_some("loses some of its processors");
            }
            Step::Cancelled(_) => self.runs = None,
            _ => {}
        }
        None
    }

    /// How long a job runs that has these parts at this instant; `None` if they are not all
    /// of it.
    fn lasts(&self, grid: &Grid, job: &Submission, at: SimTime) -> Option<SimDuration> {
        let home = grid.clusters[self.asked.first()?.index()].domain;
        let (spec, costs) = (&job.spec, &grid.domains[home?.index()].broker.co_allocation);
        let program = (spec.executable, spec.processors());
        let length = costs.length(program, spec.run_time, self.asked.len());
        let (mut has, mut lasts) = (0, SimDuration::ZERO);
        for cluster in &self.asked {
            let groups = grid.clusters[cluster.index()].config.resources.groups();
            let (shares, until) = self.held.get(cluster)?;
            if until.is_some_and(|until| until < at) {
                return None;
            }
            for share in *shares {
                has += share.processors;
                lasts = lasts.max(groups.get(usize::from(share.resource))?.stretch(length));
            }
        }
        (has == spec.processors()).then_some(lasts)
    }
}
