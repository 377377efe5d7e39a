//! The common envelope of many statistics.
//!
//! Thirty statistics, each held to its own 99 % envelope, would condemn one
//! random sample in four or five. The envelope here is global, by the largest
//! scaled deviation (the directional quantile form of Myllymaki, Mrkvicka,
//! Grabarnik, Seijo and Hahn, J. R. Stat. Soc. B 79, 2017, section 4.2): a
//! sample lies inside where *all* its statistics do, and 99 % of random samples
//! lie inside.

use super::statistics::Side;
use gridrig_results::stats::quantile;

/// Of one statistic: where random samples lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Band {
    /// Median of the samples.
    pub median: f64,
    /// Edges of the envelope; infinite on a side that does not count.
    pub low: f64,
    pub high: f64,
    /// How far the observed value is from the median, in units of the spread
    /// of the samples on that side (a standard deviation, were they normal);
    /// 0 on a side that does not count.
    pub deviation: f64,
    /// Samples that deviate at least as far.
    pub beyond: u32,
}

/// Of all statistics together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Envelope {
    pub bands: Vec<Band>,
    /// The largest deviation of the observed values.
    pub largest: f64,
    /// The deviation at the edge of the envelope.
    pub critical: f64,
}

/// A quantile by which the spread is told, and that of a standard normal.
const TAIL: f64 = 0.95;
const TAIL_NORMAL: f64 = 1.644_853_626_951_472_2;

/// The standard normal's 99 % quantile: about where the second largest of 201
/// values is expected.
const SECOND_NORMAL: f64 = 2.326_347_874_040_840_8;

/// The spread of one statistic, below and above its median.
struct Spread {
    median: f64,
    below: f64,
    above: f64,
}

impl Spread {
    /// Of the samples and the observed value together: under the hypothesis
    /// that the observed value is one more random sample they are
    /// exchangeable, which makes the test exact.
    fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let median = quantile(&sorted, 0.5).unwrap_or(0.0);
        let mut below: Vec<f64> = sorted.iter().map(|value| median - value).collect();
        below.reverse();
        let above: Vec<f64> = sorted.iter().map(|value| value - median).collect();
        Spread {
            median,
            below: one_sided(&below),
            above: one_sided(&above),
        }
    }

    fn deviation(&self, side: Side, value: f64) -> f64 {
        // What rounding alone can do to a statistic that is always the same.
        const ROUNDING: f64 = 1e-12;
        let difference = value - self.median;
        if difference.abs() <= ROUNDING {
            return 0.0;
        }
        match (side, difference > 0.0) {
            (Side::Upper | Side::Both, true) => difference / self.above,
            (Side::Lower | Side::Both, false) => -difference / self.below,
            _ => 0.0,
        }
    }
}

/// The spread on the side where these rising differences from the median are
/// positive: the largest of three figures that agree for a normal
/// distribution. A clustering can be the same in all samples but a few, and
/// quite another one in these; quantiles alone would then take the common
/// value for the only one there is, and one such statistic would widen the
/// envelope of all.
fn one_sided(differences: &[f64]) -> f64 {
    let count = differences.len().max(1) as f64;
    let squares = differences.iter().filter(|d| **d > 0.0).map(|d| d * d);
    let deviation = (squares.sum::<f64>() * 2.0 / count).sqrt();
    let tail = quantile(differences, TAIL).unwrap_or(0.0) / TAIL_NORMAL;
    let second = differences
        .len()
        .checked_sub(2)
        .map_or(0.0, |at| differences[at]);
    deviation.max(tail).max(second / SECOND_NORMAL)
}

/// Judges observed values (one for each statistic) by those of random samples
/// (one list for each statistic). The envelope leaves the most extreme
/// floor(level x (samples + 1)) of samples and observation outside: of 200
/// samples and the observation, two. So the observation is inside where at
/// least two samples deviate as far.
pub(super) fn envelope(
    sides: &[Side],
    observed: &[f64],
    samples: &[Vec<f64>],
    level: f64,
) -> Envelope {
    let count = samples.first().map_or(0, Vec::len);
    let mut largest = vec![0.0_f64; count];
    let mut bands = Vec::with_capacity(sides.len());
    let mut spreads = Vec::with_capacity(sides.len());
    for ((side, observed), samples) in sides.iter().zip(observed).zip(samples) {
        let together: Vec<f64> = samples.iter().copied().chain([*observed]).collect();
        let spread = Spread::of(&together);
        let deviation = spread.deviation(*side, *observed);
        let mut beyond = 0;
        for (largest, value) in largest.iter_mut().zip(samples) {
            let of_sample = spread.deviation(*side, *value);
            *largest = largest.max(of_sample);
            beyond += u32::from(of_sample >= deviation);
        }
        bands.push(Band {
            median: spread.median,
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
            deviation,
            beyond,
        });
        spreads.push(spread);
    }
    let outside = (level * (count + 1) as f64).floor() as usize;
    let mut sorted = largest.clone();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let critical = sorted
        .get(outside.saturating_sub(1))
        .copied()
        .unwrap_or(0.0);
    for ((band, spread), side) in bands.iter_mut().zip(&spreads).zip(sides) {
        if *side != Side::Upper {
            band.low = spread.median - critical * spread.below;
        }
        if *side != Side::Lower {
            band.high = spread.median + critical * spread.above;
        }
    }
    let observed = bands.iter().map(|band| band.deviation).fold(0.0, f64::max);
    Envelope {
        bands,
        largest: observed,
        critical,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::rng;
    use rand::RngExt;

    #[test]
    fn two_of_two_hundred_and_one_are_outside() {
        let samples: Vec<f64> = (0..200).map(f64::from).collect();
        let judge = |value: f64| {
            envelope(
                &[Side::Upper],
                &[value],
                std::slice::from_ref(&samples),
                0.01,
            )
        };
        let inside = judge(198.0);
        assert!(inside.largest <= inside.critical);
        let outside = judge(198.5);
        assert!(outside.largest > outside.critical);
        assert!((outside.bands[0].high - 198.0).abs() < 1e-9);
        // Too small a distance is no fault.
        assert_eq!(judge(-1e6).largest, 0.0);
    }

    #[test]
    fn what_never_varies_may_not_vary() {
        let samples = vec![vec![0.0; 200], (0..200).map(f64::from).collect()];
        let sides = [Side::Both, Side::Both];
        let same = envelope(&sides, &[0.0, 100.0], &samples, 0.01);
        assert!(same.largest <= same.critical);
        let other = envelope(&sides, &[1e-3, 100.0], &samples, 0.01);
        assert!(other.largest > other.critical, "{other:?}");
    }

    #[test]
    fn a_random_sample_is_outside_once_in_a_hundred_whatever_the_statistics() {
        let mut stream = rng::stream(7, "test");
        // Ten statistics, skewed, and five pairs of them the same thing.
        let mut draw = || {
            let five: Vec<f64> = (0..5).map(|_| -stream.random::<f64>().ln()).collect();
            [five.clone(), five].concat()
        };
        let sides = [Side::Upper; 10];
        let mut outside = 0;
        for _ in 0..1000 {
            let draws: Vec<Vec<f64>> = (0..201).map(|_| draw()).collect();
            let samples: Vec<Vec<f64>> = (0..10)
                .map(|at| draws[1..].iter().map(|draw| draw[at]).collect())
                .collect();
            let found = envelope(&sides, &draws[0], &samples, 0.01);
            outside += u32::from(found.largest > found.critical);
        }
        // 9.95 expected with a standard deviation of 3.1.
        assert!((1..=20).contains(&outside), "{outside} of 1000");
    }
}
