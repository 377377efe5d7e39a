//! How far the hours taken so far are from what they are on the mean.
//!
//! Weights bring the mean over many traces to what is wanted; one trace is still
//! off by chance. So distances that came too often so far are avoided more, as
//! other tables are dealt instead of drawn (the weights of Welling's herding, ICML
//! 2009). What is expected is told hour by hour: a trace has busy months.

use super::gaps::{BINS, Bins};

/// What an excess weighs: so much for each job of an hour, were all the jobs of a
/// trace off.
const GAIN: f64 = 10.0;

/// The distances so far beyond those expected, at the end of each bin.
#[derive(Clone, Debug)]
pub(super) struct Residuals {
    excess: [f64; BINS],
    /// Jobs of the trace.
    jobs: f64,
}

impl Residuals {
    /// So many jobs are to come.
    pub(super) fn new(jobs: u64) -> Self {
        Residuals {
            excess: [0.0; BINS],
            jobs: jobs.max(1) as f64,
        }
    }

    /// How much more each bin is avoided by now.
    pub(super) fn weights(&self) -> [f64; BINS] {
        let mut weights = self.excess.map(|excess| GAIN * excess / self.jobs);
        // A distance counts at the end of its own bin and of all above it.
        let mut sum = 0.0;
        for weight in weights.iter_mut().rev() {
            sum += *weight;
            *weight = sum;
        }
        weights
    }

    /// One of these hours was taken, which had such probabilities.
    pub(super) fn add(&mut self, taken: &Bins, hours: &[Bins], shares: &[f64]) {
        let mut below = 0.0;
        for (at, excess) in self.excess.iter_mut().enumerate() {
            let pairs = hours.iter().zip(shares);
            let expected: f64 = pairs.map(|(hour, share)| f64::from(hour[at]) * share).sum();
            below += f64::from(taken[at]) - expected;
            *excess += below;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_too_often_is_avoided_until_it_is_made_up_for() {
        let hour = |bin: usize| {
            let mut bins = [0.0; BINS];
            bins[bin] = 4.0;
            bins
        };
        let hours = [hour(10), hour(20)];
        let mut residuals = Residuals::new(1_000);
        residuals.add(&hours[0], &hours, &[0.5, 0.5]);
        // Two distances too many in bin 10, and so below each end up to bin 20.
        let weights = residuals.weights();
        assert!((weights[10] - 10.0 * GAIN * 2.0 / 1_000.0).abs() < 1e-9);
        assert_eq!((weights[20], weights[BINS - 1]), (0.0, 0.0));
        residuals.add(&hours[1], &hours, &[0.5, 0.5]);
        assert!(residuals.weights().iter().all(|weight| weight.abs() < 1e-9));
        // What is taken for certain is no chance.
        residuals.add(&hours[1], &hours, &[0.0, 1.0]);
        assert!(residuals.weights().iter().all(|weight| weight.abs() < 1e-9));
    }
}
