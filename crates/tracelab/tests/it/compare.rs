//! Figures by which a reduced trace is compared with another one, or with a
//! published table: moments, and the demand on unlimited resources.

use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::job::{Entry, JobLabel, JobSpec, Submission};
use gridrig_core::time::{SimDuration, SimTime};

/// Moments of a set of values, as LSAP Tables 1 and 2 give them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Number of values.
    pub n: u64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the sample (divisor n - 1); `None` for one value.
    pub sd: Option<f64>,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

impl Moments {
    /// Of values that can be walked twice; `None` when there are none.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Option<Self> {
        let n = values.clone().count() as u64;
        if n == 0 {
            return None;
        }
        let mean = values.clone().sum::<f64>() / n as f64;
        let squares: f64 = values.clone().map(|v| (v - mean) * (v - mean)).sum();
        Some(Moments {
            n,
            mean,
            sd: (n > 1).then(|| (squares / (n - 1) as f64).sqrt()),
            min: values.clone().fold(f64::INFINITY, f64::min),
            max: values.fold(f64::NEG_INFINITY, f64::max),
        })
    }

    /// Of run times in seconds.
    pub fn of_run_times(jobs: &[Submission]) -> Option<Self> {
        Self::of(jobs.iter().map(|j| j.spec.run_time.as_secs_f64()))
    }

    /// Of sizes in processors.
    pub fn of_processors(jobs: &[Submission]) -> Option<Self> {
        Self::of(jobs.iter().map(|j| f64::from(j.spec.processors())))
    }

    /// Coefficient of variation; `None` with mean 0 or a single value.
    pub fn cv(&self) -> Option<f64> {
        self.sd
            .filter(|_| self.mean != 0.0)
            .map(|sd| sd / self.mean)
    }
}

/// Processors and jobs busy over time if every job started when it is
/// submitted (LSAP 4.2, Figures 7 and 8).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Where something changes: instant, processors and jobs from there on.
    pub steps: Vec<(SimTime, u64, u64)>,
}

impl Demand {
    /// Of these jobs; runs of length 0 count for nothing.
    pub fn of(jobs: &[Submission]) -> Self {
        let mut changes: Vec<(SimTime, i64, i64)> = Vec::with_capacity(jobs.len() * 2);
        for job in jobs.iter().filter(|j| !j.spec.run_time.is_zero()) {
            let processors = i64::from(job.spec.processors());
            changes.push((job.at, processors, 1));
            changes.push((job.at + job.spec.run_time, -processors, -1));
        }
        changes.sort_unstable();
        let mut steps: Vec<(SimTime, u64, u64)> = Vec::new();
        let (mut processors, mut running) = (0i64, 0i64);
        for (at, by, jobs_by) in changes {
            processors += by;
            running += jobs_by;
            let now = (at, processors.max(0) as u64, running.max(0) as u64);
            match steps.last_mut() {
                Some(last) if last.0 == at => *last = now,
                _ => steps.push(now),
            }
        }
        Demand { steps }
    }

    /// The largest demand in processors and when it begins; `None` without jobs.
    pub fn peak(&self) -> Option<(SimTime, u64)> {
        let peak = self.steps.iter().map(|s| s.1).max()?;
        let first = self.steps.iter().find(|s| s.1 == peak)?;
        Some((first.0, peak))
    }

    /// The time during which more than `processors` are wanted.
    pub fn time_above(&self, processors: u64) -> SimDuration {
        let pairs = self.steps.windows(2).filter(|w| w[0].1 > processors);
        pairs.fold(SimDuration::ZERO, |sum, w| sum + w[1].0.since(w[0].0))
    }
}

fn job(at: u64, processors: u32, run: u64) -> Submission {
    Submission {
        spec: JobSpec::rigid(JobId(0), processors, SimDuration::from_secs(run)),
        at: SimTime::from_secs(at),
        entry: Entry::Domain(DomainId(0)),
        label: JobLabel::default(),
    }
}

#[test]
fn moments_are_those_of_a_sample() {
    let moments = Moments::of([2.0, 4.0, 4.0, 6.0].into_iter()).unwrap();
    assert_eq!(moments.mean, 4.0);
    assert_eq!(moments.sd, Some((8.0f64 / 3.0).sqrt()));
    assert_eq!((moments.min, moments.max), (2.0, 6.0));
    assert_eq!(Moments::of([5.0].into_iter()).unwrap().sd, None);
    assert_eq!(Moments::of([0.0, 0.0].into_iter()).unwrap().cv(), None);
    assert_eq!(Moments::of(std::iter::empty()), None);
}

#[test]
fn a_job_that_ends_makes_room_before_one_that_starts() {
    let demand = Demand::of(&[job(0, 4, 10), job(10, 4, 10), job(12, 1, 5), job(3, 9, 0)]);
    assert_eq!(demand.peak(), Some((SimTime::from_secs(12), 5)));
    assert_eq!(demand.time_above(4), SimDuration::from_secs(5));
    assert_eq!(demand.time_above(3), SimDuration::from_secs(20));
    assert_eq!(Demand::of(&[]).peak(), None);
}
