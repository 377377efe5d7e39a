//! Uniform numbers.

use rand::Rng;

/// Uniform in [0, 1), with 53 bits.
pub(super) fn unit(random: &mut impl Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Uniform in `0..bound`; 0 for a bound of 0.
pub(super) fn below(random: &mut impl Rng, bound: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}
