//! The job profile: run time and processors against submit time (LSAP 4.2,
//! Figures 5 and 6).

use super::JobRow;
use super::bins::{Bins, nice_width};
use serde::Serialize;

/// The profile by time of submission, one element per bin in each column.
/// Means are null in a bin without jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Profile {
    /// Width of a bin (s); null without jobs.
    pub bin_s: Option<f64>,
    /// Where the bin begins (s of the log).
    pub at_s: Vec<f64>,
    /// Jobs submitted in it.
    pub jobs: Vec<u64>,
    /// Their mean run time (s).
    pub run_time_mean_s: Vec<Option<f64>>,
    /// The longest of their run times (s).
    pub run_time_max_s: Vec<f64>,
    /// Their mean size.
    pub processors_mean: Vec<Option<f64>>,
    /// The widest of them.
    pub processors_max: Vec<u32>,
}

impl Profile {
    /// Of these jobs in at most `bins` bins.
    #[must_use]
    pub fn of(jobs: &[JobRow], bins: usize) -> Self {
        let Some(grid) = grid(jobs, bins) else {
            return Profile::default();
        };
        let count = grid.count();
        let mut profile = Profile {
            bin_s: Some(grid.width_s()),
            at_s: grid.starts_s(),
            jobs: vec![0; count],
            run_time_mean_s: Vec::new(),
            run_time_max_s: vec![0.0; count],
            processors_mean: Vec::new(),
            processors_max: vec![0; count],
        };
        let mut sums = vec![(0.0f64, 0u64); count];
        for job in jobs {
            let at = grid.index(job.submit.as_nanos());
            let run = job.run_time.as_secs_f64();
            profile.jobs[at] += 1;
            profile.run_time_max_s[at] = profile.run_time_max_s[at].max(run);
            profile.processors_max[at] = profile.processors_max[at].max(job.processors);
            sums[at].0 += run;
            sums[at].1 += u64::from(job.processors);
        }
        let mean = |sum: f64, jobs: u64| (jobs > 0).then(|| sum / jobs as f64);
        let columns = || sums.iter().zip(&profile.jobs);
        profile.run_time_mean_s = columns().map(|(s, n)| mean(s.0, *n)).collect();
        profile.processors_mean = columns().map(|(s, n)| mean(s.1 as f64, *n)).collect();
        profile
    }
}

fn grid(jobs: &[JobRow], bins: usize) -> Option<Bins> {
    let first = jobs.iter().map(|job| job.submit.as_nanos()).min()?;
    let last = jobs.iter().map(|job| job.submit.as_nanos()).max()?;
    Some(Bins::new(first, last, nice_width(last - first, bins)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::time::SimDuration;

    fn jobs(count: u64) -> Vec<JobRow> {
        (0..count)
            .map(|i| JobRow {
                submit: SimDuration::from_secs(1_000 + i),
                run_time: SimDuration::from_secs(i % 1_000),
                processors: 1 + (i % 7) as u32,
                ..JobRow::default()
            })
            .collect()
    }

    #[test]
    fn bins_hold_every_job_once_with_their_moments() {
        let jobs = jobs(25);
        let profile = Profile::of(&jobs, 4);
        assert_eq!(profile.bin_s, Some(10.0));
        assert_eq!(profile.at_s, [1_000.0, 1_010.0, 1_020.0]);
        assert_eq!(profile.jobs, [10, 10, 5]);
        assert_eq!(profile.run_time_mean_s[2], Some(22.0));
        assert_eq!(profile.run_time_max_s[1], 19.0);
        assert_eq!(profile.processors_max[0], 7);
        assert_eq!(Profile::of(&[], 4), Profile::default());
    }
}
