//! How wide jobs are, and how long: shares and distribution functions.

use super::Columns;
use gridrig_core::time::SimDuration;
use gridrig_results::stats;
use serde::Serialize;
use std::collections::BTreeMap;

/// Steps of the distribution function of sizes that are told apart.
const CDF_STEPS: u64 = 200;

/// Shares of jobs by their size; they add up to 1. Null without jobs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SizeShares {
    /// One processor.
    pub serial_share: Option<f64>,
    /// 2, 4, 8, ... processors.
    pub power_of_two_share: Option<f64>,
    /// Any other number.
    pub other_share: Option<f64>,
    /// Share of all run time x processors that single-processor jobs have;
    /// null where that is 0.
    pub serial_processor_time_share: Option<f64>,
}

/// How many jobs have which size, in order of size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SizeCounts(BTreeMap<u32, u64>);

impl SizeCounts {
    /// Of these jobs.
    pub fn of(sizes: &[u32]) -> Self {
        let mut sizes = sizes.to_vec();
        sizes.sort_unstable();
        let same = sizes.chunk_by(|a, b| a == b);
        SizeCounts(same.map(|same| (same[0], same.len() as u64)).collect())
    }

    /// Sizes that occur, rising, and how often.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.0.iter().map(|(size, count)| (*size, *count))
    }

    /// The distribution function: every size that occurs, or where these are
    /// many, those after which it has risen by half a percent.
    pub fn cdf(&self) -> SizeCdf {
        let total: u64 = self.iter().map(|(_, count)| count).sum();
        let distinct = self.0.len() as u64;
        let step = if distinct <= CDF_STEPS {
            0
        } else {
            total / CDF_STEPS
        };
        let mut cdf = SizeCdf::default();
        let (mut below, mut said) = (0, 0);
        for (size, count) in self.iter() {
            below += count;
            if cdf.processors.is_empty() || below == total || below - said > step {
                cdf.processors.push(size);
                cdf.share.push(below as f64 / total as f64);
                said = below;
            }
        }
        cdf
    }
}

/// A distribution function over sizes, as two columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SizeCdf {
    /// Sizes, rising.
    pub processors: Vec<u32>,
    /// Share of jobs that are not wider.
    pub share: Vec<f64>,
}

impl SizeShares {
    /// Of these jobs, counted already.
    pub fn of(jobs: &Columns, counts: &SizeCounts) -> Self {
        let all = jobs.sizes.len();
        let share = |count: u64| (all > 0).then(|| count as f64 / all as f64);
        let (mut serial, mut power, mut other) = (0, 0, 0);
        for (size, count) in counts.iter() {
            match size {
                1 => serial += count,
                size if size.is_power_of_two() => power += count,
                _ => other += count,
            }
        }
        let total: u128 = jobs.demands().sum();
        let serial_ones = jobs
            .demands()
            .zip(&jobs.sizes)
            .filter(|(_, size)| **size == 1);
        let of_serial: u128 = serial_ones.map(|(demand, _)| demand).sum();
        SizeShares {
            serial_share: share(serial),
            power_of_two_share: share(power),
            other_share: share(other),
            serial_processor_time_share: (total > 0).then(|| of_serial as f64 / total as f64),
        }
    }
}

/// The 0 %, 1 %, ... 100 % quantiles of the run times in seconds; empty
/// without jobs.
pub fn run_time_percentiles_s(run_times: &[SimDuration]) -> Vec<f64> {
    let mut sorted = run_times.to_vec();
    sorted.sort_unstable();
    let sorted: Vec<f64> = sorted.into_iter().map(SimDuration::as_secs_f64).collect();
    (0..=100u8)
        .filter_map(|percent| stats::quantile(&sorted, f64::from(percent) / 100.0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_one_is_no_power_of_two_here() {
        let jobs = Columns {
            sizes: vec![1, 1, 2, 1 << 30, 3],
            run_times: [10, 20, 10, 0, 10].map(SimDuration::from_secs).to_vec(),
            ..Columns::default()
        };
        let counts = SizeCounts::of(&jobs.sizes);
        let shares = SizeShares::of(&jobs, &counts);
        assert_eq!(shares.serial_share, Some(0.4));
        assert_eq!(shares.power_of_two_share, Some(0.4));
        assert_eq!(shares.other_share, Some(0.2));
        assert_eq!(shares.serial_processor_time_share, Some(30.0 / 80.0));
        let cdf = counts.cdf();
        assert_eq!(cdf.processors, [1, 2, 3, 1 << 30]);
        assert_eq!(cdf.share, [0.4, 0.6, 0.8, 1.0]);
    }

    #[test]
    fn a_function_of_many_sizes_is_thinned_but_keeps_its_ends() {
        let sizes: Vec<u32> = (1..=10_000).collect();
        let cdf = SizeCounts::of(&sizes).cdf();
        assert!(cdf.processors.len() <= 202, "{}", cdf.processors.len());
        assert_eq!((cdf.processors[0], cdf.share[0]), (1, 0.0001));
        assert_eq!(cdf.processors.last(), Some(&10_000));
        assert_eq!(cdf.share.last(), Some(&1.0));
        for (size, share) in cdf.processors.iter().zip(&cdf.share) {
            assert!((f64::from(*size) / 10_000.0 - share).abs() < 1e-12);
        }
    }

    #[test]
    fn percentiles_are_a_hundred_and_one_order_statistics() {
        let runs: Vec<_> = (0..=200).rev().map(SimDuration::from_secs).collect();
        let percentiles = run_time_percentiles_s(&runs);
        assert_eq!(percentiles.len(), 101);
        for (percent, value) in (0u8..).zip(percentiles) {
            assert!(
                (value - 2.0 * f64::from(percent)).abs() < 1e-9,
                "{percent}: {value}"
            );
        }
        assert!(run_time_percentiles_s(&[]).is_empty());
    }
}
