//! How far apart jobs of a thinned trace are.
//!
//! What is left of a trace when each job is kept with some probability shows how
//! arrivals go on for a while, as single gaps do not.

use super::stretch::HOUR;
use crate::characterize::bins::{cumulate, quarter_octave};

/// The share of the jobs that is kept, as `trace validate --generated` does.
const KEPT: f64 = 0.1;

/// Jobs before a job that may be the last one kept before it. Others in between
/// are like the next one listed.
const LAGS: [usize; 18] = [
    1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, 29, 35, 42, 56,
];

/// Bins of distances: 0, then four to an octave of milliseconds from one second
/// on, up to 2^29, six days.
pub(super) const BINS: usize = 1 + 4 * 20;

/// The place of one second among the quarters of octaves of milliseconds.
const SECOND: usize = 39;

/// How many distances of jobs kept are in each bin.
pub(super) type Bins = [f32; BINS];

const fn bin_of(gap_s: u64) -> usize {
    quarter_octave(gap_s * 1_000).saturating_sub(SECOND)
}

/// Bins of the distances that are most.
static SHORT: [u8; 1 << 12] = {
    let mut bins = [0; 1 << 12];
    let mut gap = 0;
    while gap < bins.len() {
        bins[gap] = bin_of(gap as u64) as u8;
        gap += 1;
    }
    bins
};

fn bin(gap_s: u64) -> usize {
    match SHORT.get(gap_s as usize) {
        Some(bin) => usize::from(*bin),
        // What is longer is in the last bin anyway.
        None => bin_of(gap_s.min(1 << 40)).min(BINS - 1),
    }
}

/// How likely the job so many before is the last one kept before a kept one.
fn weights() -> [f64; LAGS.len()] {
    let mut from = 0;
    LAGS.map(|lag| {
        let missed = |jobs: usize| (1.0 - KEPT).powi(jobs as i32);
        let weight = missed(from) - missed(lag);
        from = lag;
        weight
    })
}

/// The submissions before an hour.
#[derive(Clone, Debug)]
pub(super) struct Before {
    last: Vec<u64>,
    weights: [f64; LAGS.len()],
}

impl Before {
    pub(super) fn new() -> Self {
        Before {
            last: Vec::new(),
            weights: weights(),
        }
    }

    /// The distances of an hour's jobs to those before them.
    pub(super) fn bins(&self, hour: &[u64]) -> Bins {
        let mut bins = [0.0; BINS];
        let all = [&self.last, hour].concat();
        for place in self.last.len()..all.len() {
            for (lag, weight) in LAGS.iter().zip(self.weights) {
                let Some(before) = place.checked_sub(*lag) else {
                    break;
                };
                bins[bin(all[place] - all[before])] += weight as f32;
            }
        }
        bins
    }

    pub(super) fn add(&mut self, hour: &[u64]) {
        let most = LAGS[LAGS.len() - 1];
        self.last.extend(&hour[hour.len().saturating_sub(most)..]);
        let more = self.last.len().saturating_sub(most);
        self.last.drain(..more);
    }
}

/// The distribution function of the distances, at the end of each bin; submit
/// times in seconds, in order.
pub(super) fn measure(submits: &[u64]) -> [f64; BINS] {
    let mut before = Before::new();
    let mut sums = [0.0; BINS];
    for hour in submits.chunk_by(|a, b| a / HOUR == b / HOUR) {
        for (sum, here) in sums.iter_mut().zip(before.bins(hour)) {
            *sum += f64::from(here);
        }
        before.add(hour);
    }
    let all = sums.iter().sum::<f64>().max(1e-9);
    sums.iter_mut().for_each(|sum| *sum /= all);
    cumulate(&mut sums);
    sums
}

/// The greatest distance of two distribution functions.
pub(super) fn apart(a: &[f64], b: &[f64]) -> f64 {
    let apart = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    apart.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_quarters_of_octaves_of_milliseconds() {
        assert_eq!([0, 1, 2].map(bin), [0, 1, 5]);
        // 57,344 ms is where the last quarter of an octave begins.
        assert_eq!(bin(58), bin(65));
        assert_eq!(bin(57) + 1, bin(58));
        assert_eq!(bin(u64::MAX), BINS - 1);
        assert!((weights().iter().sum::<f64>() - 1.0).abs() < 0.01);
    }

    #[test]
    fn distances_go_on_over_the_end_of_an_hour() {
        // A job every two minutes: nine in ten times the last one kept is not
        // the one before.
        let submits: Vec<u64> = (0..3_000).map(|i| i * 120).collect();
        let found = measure(&submits);
        assert_eq!(found[bin(119) - 1], 0.0);
        assert!((found[bin(120)] - 0.1).abs() < 0.002, "{found:?}");
        let expected = 1.0 - 0.9_f64.powi(4);
        assert!((found[bin(480)] - expected).abs() < 0.01, "{found:?}");
    }
}
