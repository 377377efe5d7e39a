//! The job profile: run time and processors against submit time (LSAP 4.2,
//! Figures 5 and 6).

use super::bins::{Bins, nice_width};
use super::row::JobRow;
use serde::Serialize;
use std::collections::BTreeMap;

/// Rows of a picture's grid per decade of a value.
const ROWS_PER_DECADE: f64 = 8.0;

/// Columns of a picture's grid.
const COLUMNS: usize = 160;

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

/// Jobs that lie together in a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// When they are submitted (s of the log): the instant itself for a job of
    /// a small trace, else the middle of the cell.
    pub at_s: f64,
    /// Run time in seconds or processors, likewise.
    pub value: f64,
    /// How many they are.
    pub jobs: u64,
}

/// Run times (s) against submit times. Runs below a second are shown at one,
/// since the axis is logarithmic.
#[must_use]
pub fn run_time_cells(jobs: &[JobRow], exact: usize) -> Vec<Cell> {
    cells(jobs, exact, |job| job.run_time.as_secs_f64().max(1.0))
}

/// Sizes against submit times.
#[must_use]
pub fn processor_cells(jobs: &[JobRow], exact: usize) -> Vec<Cell> {
    cells(jobs, exact, |job| f64::from(job.processors))
}

/// One cell per job up to `exact` jobs; past that, jobs are collected in a
/// grid that is even in time and in the logarithm of the value.
fn cells(jobs: &[JobRow], exact: usize, value: impl Fn(&JobRow) -> f64) -> Vec<Cell> {
    if jobs.len() <= exact {
        let one = |job: &JobRow| Cell {
            at_s: job.submit.as_secs_f64(),
            value: value(job),
            jobs: 1,
        };
        return jobs.iter().map(one).collect();
    }
    let Some(grid) = grid(jobs, COLUMNS) else {
        return Vec::new();
    };
    let mut counts: BTreeMap<(usize, i32), u64> = BTreeMap::new();
    let mut last: Option<((usize, i32), u64)> = None;
    for job in jobs {
        let row = (value(job).log10() * ROWS_PER_DECADE).floor() as i32;
        let key = (grid.index(job.submit.as_nanos()), row);
        last = Some(match last {
            Some((same, count)) if same == key => (same, count + 1),
            Some((other, count)) => {
                *counts.entry(other).or_default() += count;
                (key, 1)
            }
            None => (key, 1),
        });
    }
    if let Some((key, count)) = last {
        *counts.entry(key).or_default() += count;
    }
    let starts = grid.starts_s();
    let cell = |((column, row), jobs): ((usize, i32), u64)| Cell {
        at_s: starts[column] + grid.width_s() / 2.0,
        value: 10f64.powf((f64::from(row) + 0.5) / ROWS_PER_DECADE),
        jobs,
    };
    counts.into_iter().map(cell).collect()
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
                user: None,
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

    #[test]
    fn cells_hold_every_job_once_near_where_it_is() {
        let jobs = jobs(5_000);
        for (cells, exact) in [
            (run_time_cells(&jobs, 5_000), true),
            (run_time_cells(&jobs, 10), false),
            (processor_cells(&jobs, 10), false),
        ] {
            assert_eq!(cells.iter().map(|c| c.jobs).sum::<u64>(), 5_000);
            assert_eq!(cells.len() == 5_000, exact);
            assert!(cells.iter().all(|c| (980.0..6_020.0).contains(&c.at_s)));
            assert!(cells.iter().all(|c| (1.0..1_200.0).contains(&c.value)));
        }
    }
}
