//! Uniform numbers.

use rand::Rng;

/// Uniform in [0, 1), with 53 bits.
pub(crate) fn unit(random: &mut impl Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Uniform in `0..bound`; 0 for a bound of 0.
pub(crate) fn below(random: &mut impl Rng, bound: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// Which of several it is that holds this part of their sum, laid end to end.
pub(crate) fn holder(weights: impl IntoIterator<Item = u64>, mut at: u64) -> Option<usize> {
    weights.into_iter().position(|weight| {
        let here = at < weight;
        at = at.saturating_sub(weight);
        here
    })
}

/// One of several by its weight, as its place; `None` if no weight is above 0.
pub(crate) fn weighted(
    random: &mut impl Rng,
    mut weights: impl ExactSizeIterator<Item = f64> + DoubleEndedIterator + Clone,
) -> Option<usize> {
    let mut at = unit(random) * weights.clone().sum::<f64>();
    let found = weights.clone().position(|weight| {
        at -= weight;
        at < 0.0 && weight > 0.0
    });
    // What rounding leaves over is the last one's.
    found.or_else(|| weights.rposition(|weight| weight > 0.0))
}
