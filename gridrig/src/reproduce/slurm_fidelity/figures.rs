//! The figures of the study.

use super::{LOOK, Plan, Ran, Real, measured, model};
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_results::stats::Distribution;
use serde::Serialize;

/// The whole study.
#[derive(Clone, Debug, Serialize)]
pub struct Study {
    /// What the real one is.
    pub slurm: String,
    /// What was replayed.
    #[serde(flatten)]
    pub plan: Plan,
    /// `sched/builtin` against `fcfs`.
    pub builtin: Builtin,
    /// `sched/backfill` against three disciplines that look ahead and one that
    /// does not.
    pub backfill: Backfill,
}

/// `sched/builtin` against `fcfs`, job by job.
#[derive(Clone, Debug, Serialize)]
pub struct Builtin {
    /// Jobs that were compared.
    pub jobs: usize,
    /// Jobs that did not run to their end in Slurm.
    pub others: usize,
    /// Waits in Slurm, in seconds.
    pub slurm_wait_s: Distribution,
    /// Waits in the model, in seconds.
    pub model_wait_s: Distribution,
    /// What Slurm adds to a job, in seconds.
    pub overhead_s: Distribution,
    /// Distance of the start times, in seconds, with the lengths that Slurm
    /// really gave the jobs and a pass of the model each second, as Slurm does.
    pub start_difference_s: Distribution,
    /// The same with a pass at each change: half a second of each of Slurm's
    /// passes is missing, and adds up along a queue.
    pub start_difference_at_once_s: Distribution,
    /// The same as the first with the lengths that were asked for.
    pub start_difference_asked_s: Distribution,
    /// The bound on the 95 % quantile of the former.
    pub bound_s: f64,
    /// Whether it is kept.
    pub kept: bool,
}

/// `sched/backfill` against disciplines of the model, as distributions.
#[derive(Clone, Debug, Serialize)]
pub struct Backfill {
    /// Jobs that were compared.
    pub jobs: usize,
    /// Jobs that did not run to their end in Slurm.
    pub others: usize,
    /// Waits in Slurm, in seconds.
    pub slurm_wait_s: Distribution,
    /// Share of jobs that started before one that came earlier.
    pub slurm_passed: f64,
    /// The model's sides.
    pub sides: Vec<Side>,
}

/// One discipline beside a scheduler of Slurm.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// Its name.
    pub discipline: String,
    /// Waits, in seconds.
    pub wait_s: Distribution,
    /// Distance of the distributions of waits from Slurm's (Kolmogorov and
    /// Smirnov): 0 to 1.
    pub ks: f64,
    /// Distance of the start times, job by job, in seconds.
    pub start_difference_s: Distribution,
    /// Share of jobs that started before one that came earlier.
    pub passed: f64,
}

impl Builtin {
    /// Compares what Slurm did with what the model does.
    pub fn of(real: &Real, processors: u32, bound_s: f64) -> Self {
        let jobs = &real.jobs;
        let fcfs = (processors, DisciplineKind::Fcfs);
        let starts = model(jobs, fcfs, LOOK, measured);
        let at_once = model(jobs, fcfs, SimDuration::ZERO, measured);
        let asked = model(jobs, fcfs, LOOK, |job| job.spec.run_time);
        let difference = differences(jobs, &starts);
        let asked_s = |job: &Ran| job.spec.run_time.as_secs_f64();
        let overhead = |job: &Ran| measured(job).as_secs_f64() - asked_s(job);
        Builtin {
            jobs: jobs.len(),
            others: real.others,
            slurm_wait_s: Distribution::of(waits(jobs, &slurm_starts(jobs))),
            model_wait_s: Distribution::of(waits(jobs, &starts)),
            overhead_s: Distribution::of(jobs.iter().map(overhead)),
            start_difference_at_once_s: differences(jobs, &at_once),
            start_difference_asked_s: differences(jobs, &asked),
            kept: difference.p95.is_some_and(|p95| p95 <= bound_s),
            start_difference_s: difference,
            bound_s,
        }
    }
}

impl Backfill {
    /// Compares what Slurm did with what the model does.
    pub fn of(real: &Real, processors: u32) -> Self {
        let slurm = slurm_starts(&real.jobs);
        let slurm_waits = waits(&real.jobs, &slurm);
        let sides = [
            DisciplineKind::SlurmBackfill,
            DisciplineKind::EasyBackfill,
            DisciplineKind::ConservativeBackfill,
            DisciplineKind::Fcfs,
        ];
        let side = |discipline: DisciplineKind| {
            let starts = model(&real.jobs, (processors, discipline), LOOK, measured);
            let own = waits(&real.jobs, &starts);
            Side {
                discipline: discipline.name().to_owned(),
                ks: ks(&own, &slurm_waits),
                wait_s: Distribution::of(own),
                start_difference_s: differences(&real.jobs, &starts),
                passed: passed(&starts),
            }
        };
        Backfill {
            jobs: real.jobs.len(),
            others: real.others,
            slurm_passed: passed(&slurm),
            sides: sides.map(side).into(),
            slurm_wait_s: Distribution::of(slurm_waits),
        }
    }
}

fn slurm_starts(jobs: &[Ran]) -> Vec<SimTime> {
    jobs.iter().map(|job| job.start).collect()
}

fn waits(jobs: &[Ran], starts: &[SimTime]) -> Vec<f64> {
    let wait = |(job, start): (&Ran, &SimTime)| start.as_secs_f64() - job.queued.as_secs_f64();
    jobs.iter().zip(starts).map(wait).collect()
}

/// How far the starts lie from Slurm's.
fn differences(jobs: &[Ran], starts: &[SimTime]) -> Distribution {
    let far = |(job, start): (&Ran, &SimTime)| start.as_secs_f64() - job.start.as_secs_f64();
    Distribution::of(jobs.iter().zip(starts).map(far).map(f64::abs))
}

/// Share of jobs that start before one that came earlier.
fn passed(starts: &[SimTime]) -> f64 {
    let mut latest = SimTime::ZERO;
    let mut passed = 0;
    for start in starts {
        passed += usize::from(*start < latest);
        latest = latest.max(*start);
    }
    passed as f64 / starts.len().max(1) as f64
}

/// The two-sample statistic of Kolmogorov and Smirnov: the greatest distance
/// of the two empirical distribution functions. 0 without values.
pub(super) fn ks(one: &[f64], other: &[f64]) -> f64 {
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values
    };
    let (one, other) = (sorted(one), sorted(other));
    if one.is_empty() || other.is_empty() {
        return 0.0;
    }
    let share = |values: &[f64], at: f64| {
        let below = values.partition_point(|value| *value <= at);
        below as f64 / values.len() as f64
    };
    let apart = |at: &f64| (share(&one, *at) - share(&other, *at)).abs();
    one.iter().chain(&other).map(apart).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::ids::JobId;
    use gridrig_core::job::JobSpec;
    use gridrig_core::time::SimDuration;

    #[test]
    fn the_distance_of_distributions_is_that_of_their_steps() {
        assert_eq!(ks(&[1.0, 2.0, 3.0], &[3.0, 1.0, 2.0]), 0.0);
        assert_eq!(ks(&[1.0, 2.0], &[3.0, 4.0]), 1.0);
        assert_eq!(ks(&[1.0, 2.0, 3.0, 4.0], &[3.0, 4.0, 5.0, 6.0]), 0.5);
    }

    fn ran(id: u32, processors: u32, [queued, start, finish]: [u64; 3]) -> Ran {
        let asked = SimDuration::from_secs(finish - start - 1);
        let mut spec = JobSpec::rigid(JobId(id), processors, asked);
        spec.requested_time = Some(SimDuration::from_secs(60));
        Ran {
            spec,
            queued: SimTime::from_secs(queued),
            start: SimTime::from_secs(start),
            finish: SimTime::from_secs(finish),
        }
    }

    /// Two processors; what Slurm adds to each job is a second, and the last
    /// job passes the one before it.
    fn real() -> Real {
        Real {
            version: "22.05".to_owned(),
            jobs: vec![
                ran(0, 1, [0, 0, 10]),
                ran(1, 2, [1, 10, 20]),
                ran(2, 1, [2, 5, 10]),
            ],
            others: 0,
            interrupted: false,
        }
    }

    #[test]
    fn measured_lengths_keep_what_slurm_adds_from_piling_up() {
        let mut real = real();
        real.jobs[2].start = SimTime::from_secs(20);
        real.jobs[2].finish = SimTime::from_secs(25);
        let figures = Builtin::of(&real, 2, 2.0);
        assert!(figures.kept);
        assert_eq!(figures.start_difference_s.max, Some(0.0));
        assert_eq!(figures.start_difference_asked_s.max, Some(2.0));
        assert_eq!(figures.overhead_s.mean, Some(1.0));
        assert!(!Builtin::of(&self::real(), 2, 2.0).kept);
    }

    #[test]
    fn jobs_that_pass_others_are_counted() {
        let figures = Backfill::of(&real(), 2);
        assert!((figures.slurm_passed - 1.0 / 3.0).abs() < 1e-9);
        let fcfs = figures.sides.last().unwrap();
        assert_eq!((fcfs.discipline.as_str(), fcfs.passed), ("fcfs", 0.0));
        assert!(fcfs.ks > 0.3);
    }
}
