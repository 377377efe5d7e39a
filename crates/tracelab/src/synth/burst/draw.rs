//! Draws by weight and by quantile, by rules that no library version changes.

use crate::synth::unit::{below, holder};
use rand::rngs::ChaCha8Rng;

/// One of the values, by weight.
pub(super) fn weighted<T: Copy>(draw: &mut ChaCha8Rng, choices: &[(T, u64)]) -> Option<T> {
    let weights = choices.iter().map(|choice| choice.1);
    let found = holder(weights.clone(), below(draw, weights.sum()))?;
    Some(choices[found].0)
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
