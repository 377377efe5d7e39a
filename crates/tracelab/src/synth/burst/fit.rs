//! Fitting drawn values to a mean and a standard deviation.

use super::Moments;
use crate::synth::unit::below;
use rand::rngs::ChaCha8Rng;

/// Proposals after which a fit stops where it is; whether that is good enough
/// is looked at afterwards.
const MAX_PROPOSALS: u32 = 400_000;

/// Relative error that is good enough: printed with four digits, the moments
/// are then those of the target.
const GOOD_ENOUGH: f64 = 0.000_2;

/// Changes one free value at a time, keeping a change when it brings mean and
/// standard deviation closer to the target. `propose` gives a new value for
/// the value at an index.
pub(super) fn fit(
    values: &mut [u64],
    free: &[usize],
    target: Moments,
    draw: &mut ChaCha8Rng,
    mut propose: impl FnMut(&mut ChaCha8Rng, usize, u64) -> u64,
) {
    let mut sum: u64 = values.iter().sum();
    let square = |v: u64| u128::from(v) * u128::from(v);
    let mut squares: u128 = values.iter().map(|v| square(*v)).sum();
    let n = values.len() as f64;
    let error = |sum: u64, squares: u128| {
        let mean = sum as f64 / n;
        let variance = (squares as f64 - sum as f64 * mean) / (n - 1.0);
        let of_mean = (mean - target.mean) / target.mean;
        let of_sd = (variance.max(0.0).sqrt() - target.sd) / target.sd;
        of_mean * of_mean + of_sd * of_sd
    };
    let mut best = error(sum, squares);
    for _ in 0..MAX_PROPOSALS {
        if best < GOOD_ENOUGH * GOOD_ENOUGH {
            return;
        }
        let Some(&at) = free.get(below(draw, free.len() as u64) as usize) else {
            return;
        };
        let (old, new) = (values[at], propose(draw, at, values[at]));
        let new_sum = sum - old + new;
        let new_squares = squares - square(old) + square(new);
        let reached = error(new_sum, new_squares);
        if reached < best {
            (sum, squares, best) = (new_sum, new_squares, reached);
            values[at] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::rng;

    #[test]
    fn a_fit_reaches_its_moments_and_leaves_fixed_values_alone() {
        let mut values = vec![1; 200];
        values[0] = 900;
        let free: Vec<usize> = (1..200).collect();
        let target = Moments {
            max: 900,
            mean: 50.0,
            sd: 90.0,
        };
        let mut draw = rng::stream(1, "test");
        fit(&mut values, &free, target, &mut draw, |draw, _, _| {
            below(draw, 400)
        });
        let mean = values.iter().sum::<u64>() as f64 / 200.0;
        assert!((mean - 50.0).abs() < 0.1, "{mean}");
        assert_eq!(values[0], 900);
    }
}
