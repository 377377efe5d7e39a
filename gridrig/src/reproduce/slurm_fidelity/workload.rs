//! The workload of the study: wide and narrow jobs of seconds, whose limits
//! are whole minutes because Slurm's are.

use super::Plan;
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::{Entry, JobLabel, JobSpec, Submission};
use gridrig_core::rng::stream;
use gridrig_core::time::{SimDuration, SimTime};
use rand::RngExt as _;

/// Shares of the processors that jobs want, with their weights: as in the logs
/// of the archive, narrow jobs are many and wide ones take the time.
const WIDTHS: [(u32, u32); 6] = [(64, 25), (32, 20), (16, 20), (8, 15), (4, 12), (2, 8)];

/// Shortest and longest run, in seconds; their logarithms are uniform.
const RUN: (f64, f64) = (1.5, 30.0);

/// What a job may last beyond its run before Slurm ends it, in seconds.
const SLACK: f64 = 20.0;

/// Before the first job, so that everybody is there.
const LEAD: f64 = 2.0;

/// The jobs of this plan, in the order in which they come.
pub(super) fn submissions(plan: &Plan) -> Vec<Submission> {
    let mut random = stream(plan.seed, "slurm-fidelity");
    let weights: u32 = WIDTHS.iter().map(|(_, weight)| weight).sum();
    let mut drawn = Vec::new();
    let mut demand = 0.0;
    for _ in 0..plan.jobs {
        let mut at = random.random_range(0..weights);
        let width = WIDTHS.iter().find(|(_, weight)| {
            let here = at < *weight;
            at = at.saturating_sub(*weight);
            here
        });
        let part = width.map_or(64, |(part, _)| *part);
        let processors = (plan.processors / part).max(1);
        let run = (RUN.0.ln() + random.random::<f64>() * (RUN.1 / RUN.0).ln()).exp();
        // Most users ask for the next minute, some for more.
        let more = [0, 0, 1, 2][random.random_range(0..4)];
        let minutes = ((run + SLACK) / 60.0).ceil() + f64::from(more);
        let gap = -(1.0 - random.random::<f64>()).ln();
        demand += f64::from(processors) * run;
        drawn.push((processors, run, minutes, gap));
    }
    // The gaps are stretched so that the load is what the plan says.
    let gaps: f64 = drawn.iter().map(|(_, _, _, gap)| gap).sum();
    let span = demand / (plan.load * f64::from(plan.processors));
    let mut at = LEAD;
    let jobs = drawn.into_iter().zip(0..);
    jobs.map(|((processors, run, minutes, gap), id)| {
        at += gap * span / gaps;
        let mut spec = JobSpec::rigid(JobId(id), processors, seconds(run));
        spec.requested_time = Some(seconds(minutes * 60.0));
        submission(spec, SimTime::ZERO + seconds(at))
    })
    .collect()
}

/// A job that goes straight to the cluster.
pub(super) fn submission(spec: JobSpec, at: SimTime) -> Submission {
    let label = JobLabel {
        trace_id: u64::from(spec.id.0) + 1,
        ..JobLabel::default()
    };
    Submission {
        spec,
        at,
        entry: Entry::Cluster(ClusterId(0)),
        label,
    }
}

/// To the millisecond, which is what a script sleeps.
fn seconds(seconds: f64) -> SimDuration {
    SimDuration::from_millis((seconds * 1000.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workload_is_the_same_for_a_seed_and_has_the_load_asked_for() {
        let plan = Plan {
            jobs: 200,
            processors: 64,
            load: 0.9,
            seed: 3,
        };
        let jobs = submissions(&plan);
        assert_eq!(jobs, submissions(&plan));
        assert_ne!(jobs, submissions(&Plan { seed: 4, ..plan }));
        assert!(jobs.is_sorted_by_key(|job| job.at));
        let demand: f64 = jobs
            .iter()
            .map(|job| f64::from(job.spec.processors()) * job.spec.run_time.as_secs_f64())
            .sum();
        let span = jobs[199].at.as_secs_f64() - LEAD;
        let load = demand / (span * 64.0);
        assert!((load - 0.9).abs() < 0.01, "{load}");
        for job in &jobs {
            let limit = job.spec.requested_time.unwrap().as_secs_f64();
            assert!(limit % 60.0 == 0.0 && limit > job.spec.run_time.as_secs_f64() + SLACK - 1.0);
            assert!((1..=32).contains(&job.spec.processors()));
        }
    }
}
