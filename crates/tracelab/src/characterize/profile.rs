//! The job profile: run time and processors against submit time (LSAP 4.2,
//! Figures 5 and 6).

use super::Columns;
use super::bins::Bins;
use gridrig_core::time::SimDuration;
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
    pub fn of(jobs: &Columns, bins: usize) -> Self {
        let Some(grid) = grid(&jobs.submits, bins) else {
            return Profile::default();
        };
        let count = grid.count;
        let mut profile = Profile {
            bin_s: Some(grid.width_s()),
            at_s: grid.starts_s(),
            jobs: vec![0; count],
            run_time_max_s: vec![0.0; count],
            processors_max: vec![0; count],
            ..Profile::default()
        };
        let mut sums = vec![(0.0f64, 0u64); count];
        for (submit, run_time, size) in jobs.rows() {
            let at = grid.index(submit.as_nanos());
            let run = run_time.as_secs_f64();
            profile.jobs[at] += 1;
            profile.run_time_max_s[at] = profile.run_time_max_s[at].max(run);
            profile.processors_max[at] = profile.processors_max[at].max(size);
            sums[at].0 += run;
            sums[at].1 += u64::from(size);
        }
        let mean = |sum: f64, jobs: u64| (jobs > 0).then(|| sum / jobs as f64);
        let columns = || sums.iter().zip(&profile.jobs);
        profile.run_time_mean_s = columns().map(|(s, n)| mean(s.0, *n)).collect();
        profile.processors_mean = columns().map(|(s, n)| mean(s.1 as f64, *n)).collect();
        profile
    }
}

fn grid(submits: &[SimDuration], bins: usize) -> Option<Bins> {
    let (first, last) = (submits.iter().min()?, submits.iter().max()?);
    Some(Bins::spanning(*first, *last, bins))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(count: u64) -> Columns {
        let mut columns = Columns::default();
        for i in 0..count {
            let [submit, run] = [1_000 + i, i % 1_000].map(SimDuration::from_secs);
            columns.submits.push(submit);
            columns.run_times.push(run);
            columns.sizes.push(1 + (i % 7) as u32);
            columns.users.push(None);
        }
        columns
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
        assert_eq!(Profile::of(&Columns::default(), 4), Profile::default());
    }
}
