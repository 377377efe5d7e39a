//! Draws of integers, by one rule that no library version changes.

use crate::synth::unit;
use gridrig_core::rng;
use rand::rngs::ChaCha8Rng;

/// A named stream.
pub(super) struct Draw(ChaCha8Rng);

impl Draw {
    pub(super) fn new(seed: u64, name: &str) -> Self {
        Draw(rng::stream(seed, name))
    }

    /// Uniform in `0..bound`; 0 for a bound of 0. The bias of a product of 128
    /// bits is below one in 2^32 for every bound used here.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        unit::below(&mut self.0, bound)
    }

    /// True `percent` times of a hundred.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the values, by weight.
    pub(super) fn weighted<T: Copy>(&mut self, choices: &[(T, u64)]) -> Option<T> {
        let total = choices.iter().map(|c| c.1).sum();
        let found = unit::holder(choices.iter().map(|c| c.1), self.below(total))?;
        Some(choices[found].0)
    }
}

/// The value at this permille of a distribution given by some of its
/// quantiles as (permille, value), straight between them.
pub(super) fn quantile(knots: &[(u64, u64)], permille: u64) -> u64 {
    let mut pairs = knots.windows(2);
    let last = knots.last().map_or(0, |k| k.1);
    pairs
        .find(|pair| permille < pair[1].0)
        .map_or(last, |pair| {
            let ((from, low), (to, high)) = (pair[0], pair[1]);
            low + (high - low) * permille.saturating_sub(from) / (to - from)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_straight_between_their_knots() {
        let knots = [(0, 10), (500, 20), (1000, 120)];
        let check = |permille, value| assert_eq!(quantile(&knots, permille), value);
        check(0, 10);
        check(250, 15);
        check(500, 20);
        check(750, 70);
        check(1000, 120);
    }
}
