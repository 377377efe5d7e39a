//! Random samples: the designs that a reduction may have used.

use rand::{Rng, RngExt};
use serde::Serialize;

/// How random samples are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Design {
    /// Every set of jobs of this size is equally likely.
    Random,
    /// Every so many jobs, as `keep = "m/n"` does.
    Systematic,
    /// The same, of which some jobs were then lost at random: a later step has
    /// sanitized the trace, perhaps.
    SystematicWithLosses,
}

impl Design {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A random sample of exactly `wanted` of `count` items, every one of them
/// equally likely: rising places (Knuth's algorithm S).
pub(super) fn random(count: usize, wanted: usize, stream: &mut impl Rng) -> Vec<u32> {
    let mut kept = Vec::with_capacity(wanted);
    let mut missing = wanted.min(count);
    for (at, left) in (0..count as u32).zip((1..=count).rev()) {
        // The upper half of the product is uniform in 0..left.
        let draw = (u128::from(stream.next_u64()) * left as u128) >> 64;
        if draw < missing as u128 {
            kept.push(at);
            missing -= 1;
        }
    }
    kept
}

/// Kept items after which a systematic sample starts anew, on average and at
/// least.
const KEPT_IN_STRETCH: u64 = 100;

/// A sample has so many stretches at least, or it would have too few phases.
const STRETCHES: u64 = 8;

/// A systematic sample of about `wanted` of `count` items: `wanted/count` is
/// the pattern of `keep = "m/n"` (docs/reduction.md), begun anew with a random
/// phase after every stretch of half to three halves a mean length.
///
/// A pattern has few phases, too few for an envelope; the stretches give many
/// samples with the pattern's spacing, which is what sets statistics of
/// neighbouring jobs apart from those of a random sample. How long a stretch is
/// on average is drawn for each sample, evenly on a logarithmic scale, from what
/// holds a hundred kept items to an eighth of all: a pattern that coincides with
/// how a queue was used for weeks is as far off as that use lasted, which short
/// stretches would average out.
pub(super) fn systematic(count: usize, wanted: usize, stream: &mut impl Rng) -> Vec<u32> {
    let (m, n) = (wanted as u64, count.max(1) as u64);
    let kept_before = |i: u64| (u128::from(i) * u128::from(m) / u128::from(n)) as u64;
    let shortest = (KEPT_IN_STRETCH * n / m.max(1)).clamp(2, n.max(2));
    let longest = (n / STRETCHES).max(shortest);
    let octaves = (longest as f64 / shortest as f64).log2();
    let stretch = (shortest as f64 * (octaves * stream.random::<f64>()).exp2()) as usize;
    let mut kept = Vec::with_capacity(wanted + 16);
    let (mut phase, mut until) = (0, 0);
    for at in 0..count {
        if at == until {
            phase = stream.random_range(0..n);
            until = at + stream.random_range(stretch / 2..=stretch * 3 / 2).max(1);
        }
        let place = (at as u64 + phase) % n;
        if kept_before(place + 1) > kept_before(place) {
            kept.push(at as u32);
        }
    }
    kept
}

/// The share of jobs that a systematic sample at these rising `places` of `count`
/// seems to have lost: steps from one to the next that are longer than its pattern
/// has any. 0 for a whole pattern.
pub(super) fn lost(count: usize, places: &[u32]) -> f64 {
    let longest = count.div_ceil(places.len().max(1));
    let steps = places.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
    let long = steps.filter(|step| *step > longest).count();
    long as f64 / places.len().max(1) as f64
}

/// A systematic sample of which this share is then lost at random: `wanted` of
/// `count` items, or a few less where the pattern had no more.
pub(super) fn lossy(count: usize, wanted: usize, lost: f64, stream: &mut impl Rng) -> Vec<u32> {
    let before = (wanted as f64 / (1.0 - lost)).round() as usize;
    let whole = systematic(count, before.min(count), stream);
    let kept = random(whole.len(), wanted, stream);
    kept.iter().map(|at| whole[*at as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::rng;

    #[test]
    fn a_random_sample_has_the_wanted_size_and_no_favourites() {
        let mut stream = rng::stream(1, "test");
        let mut hits = [0u32; 10];
        for _ in 0..2000 {
            let kept = random(10, 3, &mut stream);
            assert_eq!(kept.len(), 3);
            assert!(kept.is_sorted_by(|a, b| a < b));
            kept.iter().for_each(|at| hits[*at as usize] += 1);
        }
        // 600 expected with a standard deviation of 20.
        assert!(hits.iter().all(|h| (520..680).contains(h)), "{hits:?}");
        assert_eq!(random(4, 9, &mut stream), [0, 1, 2, 3]);
    }

    #[test]
    fn a_systematic_sample_keeps_the_spacing_of_its_pattern() {
        let mut stream = rng::stream(1, "test");
        let kept = systematic(10_000, 4_000, &mut stream);
        assert!((3_960..4_040).contains(&kept.len()), "{}", kept.len());
        let steps = kept.windows(2).map(|w| w[1] - w[0]);
        let odd = steps.filter(|step| !(2..=3).contains(step)).count();
        assert!(odd <= 80, "{odd} steps that 2 of 5 never takes");
        let again = systematic(10_000, 4_000, &mut stream);
        assert_ne!(kept, again);
        // Also where few of many are kept.
        let kept = systematic(100_000, 1_000, &mut stream);
        let steps = kept.windows(2).map(|w| w[1] - w[0]);
        let odd = steps.filter(|step| *step != 100).count();
        assert!(odd <= 30, "{odd} steps that 1 of 100 never takes");
    }

    #[test]
    fn jobs_that_a_pattern_lost_are_counted_by_its_gaps() {
        let mut stream = rng::stream(1, "test");
        let whole: Vec<u32> = (0..1200).filter(|at| [1, 4].contains(&(at % 5))).collect();
        assert_eq!(lost(1200, &whole), 0.0);
        let mut fewer = whole.clone();
        for at in [400, 300, 200, 100] {
            fewer.remove(at);
        }
        assert_eq!(lost(1200, &fewer), 4.0 / 476.0);
        // A gap of many jobs is one.
        fewer.drain(250..270);
        assert_eq!(lost(1200, &fewer), 5.0 / 456.0);
        // What is drawn has as many, by and large.
        let drawn = lossy(12_000, 4_560, 0.05, &mut stream);
        assert_eq!(drawn.len(), 4_560);
        let share = lost(12_000, &drawn);
        assert!((0.03..0.07).contains(&share), "{share}");
    }
}
