//! Summaries of a sample: exact, and null where a figure is undefined.

mod imbalance;
mod paired;
mod survival;

pub use imbalance::{cv, gini};
pub(crate) use paired::difference;
pub use paired::{
    ENOUGH, Interval, Judgement, LEVEL, METHOD, Paired, Range, coverage, fewest_for_a_claim,
    pairs_needed,
};
pub use survival::Survival;

use serde::Serialize;

/// The summary of a metric over jobs. Field order is that of `--json`.
///
/// Quantiles are those of Hyndman and Fan's type 7, the default of numpy and
/// DuckDB, from the values themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Distribution {
    /// Number of values.
    pub n: u64,
    /// Arithmetic mean; null without values.
    pub mean: Option<f64>,
    /// Sample standard deviation (n - 1); null below two values.
    pub sd: Option<f64>,
    /// sd / mean; null where either is undefined or the mean is 0.
    pub cv: Option<f64>,
    /// Smallest value.
    pub min: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90 % quantile.
    pub p90: Option<f64>,
    /// 95 % quantile.
    pub p95: Option<f64>,
    /// 99 % quantile.
    pub p99: Option<f64>,
    /// Mean without the floor(n / 100) largest values.
    pub mean_trimmed: Option<f64>,
}

impl Distribution {
    /// Mean, standard deviation, coefficient of variation, least value, median,
    /// 90, 95 and 99 % quantiles, largest value and trimmed mean, as tables have
    /// them.
    pub fn row(&self) -> [Option<f64>; 10] {
        let (least, largest) = (self.min, self.max);
        let (mean, sd, cv, trimmed) = (self.mean, self.sd, self.cv, self.mean_trimmed);
        let (p50, p90, p95, p99) = (self.p50, self.p90, self.p95, self.p99);
        [mean, sd, cv, least, p50, p90, p95, p99, largest, trimmed]
    }

    /// The summary of these values, in any order. Values that are not finite
    /// are left out.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.retain(|value| value.is_finite());
        let n = values.len();
        let mean = mean(&values);
        let sd = mean.filter(|_| n > 1).map(|mean| {
            let squares = sum(&values, |value| (value - mean).powi(2));
            (squares / (n - 1) as f64).sqrt()
        });
        let cv = match (mean, sd) {
            (Some(mean), Some(sd)) if mean != 0.0 => Some(sd / mean),
            _ => None,
        };
        let min = values.iter().copied().reduce(f64::min);
        let values = order_ranks(values);
        Distribution {
            n: n as u64,
            mean,
            sd,
            cv,
            min,
            max: values.last().copied(),
            p50: quantile(&values, 0.50),
            p90: quantile(&values, 0.90),
            p95: quantile(&values, 0.95),
            p99: quantile(&values, 0.99),
            mean_trimmed: self::mean(&values[..n - n / 100]),
        }
    }
}

/// Brings the order statistics that a summary needs to their places, which is
/// several times quicker than sorting all: the median first, then the 90 %
/// quantile in what lies above it, and only the tail above that is sorted.
fn order_ranks(values: Vec<f64>) -> Vec<f64> {
    let Some(last) = values.len().checked_sub(1) else {
        return values;
    };
    // Integers in the order of the floats: one instruction to compare. Both
    // conversions reuse the memory of the list.
    let mut keys: Vec<i64> = values.into_iter().map(key).collect();
    let below = |p: f64| (last as f64 * p).floor() as usize;
    let mut begin = 0;
    for rank in [below(0.50), below(0.50) + 1, below(0.90)] {
        if (begin..=last).contains(&rank) {
            keys[begin..].select_nth_unstable(rank - begin);
            begin = rank + 1;
        }
    }
    keys[begin..].sort_unstable();
    keys.into_iter().map(unkey).collect()
}

/// The values in rising order: as integers they take one instruction to
/// compare.
pub(crate) fn sorted(values: Vec<f64>) -> Vec<f64> {
    let mut keys: Vec<i64> = values.into_iter().map(key).collect();
    keys.sort_unstable();
    keys.into_iter().map(unkey).collect()
}

/// The bits of a float as an integer that compares as the float does.
pub(crate) fn key(value: f64) -> i64 {
    flip(value.to_bits().cast_signed())
}

/// The float of a key.
pub(crate) fn unkey(key: i64) -> f64 {
    f64::from_bits(flip(key).cast_unsigned())
}

/// Turns the order of negative floats round; its own inverse.
fn flip(bits: i64) -> i64 {
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// The quantile of rising values by Hyndman and Fan's type 7: linear between
/// the order statistics around (n - 1) p. `None` without values or for a `p`
/// outside 0 to 1.
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&p) {
        return None;
    }
    let last = sorted.len().checked_sub(1)?;
    let rank = last as f64 * p;
    let below = rank.floor() as usize;
    let low = *sorted.get(below)?;
    let high = sorted.get(below + 1).copied().unwrap_or(low);
    let share = rank - rank.floor();
    Some(between(low, high, share))
}

/// Linear between two values, in numpy's form: from whichever end is nearer,
/// so that equal neighbours give exactly themselves and the result never
/// leaves [low, high].
fn between(low: f64, high: f64, share: f64) -> f64 {
    if share < 0.5 {
        low + (high - low) * share
    } else {
        high - (high - low) * (1.0 - share)
    }
}

/// The arithmetic mean; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    let n = values.len();
    (n > 0).then(|| sum(values, |value| value) / n as f64)
}

/// Sums that run side by side, so that no addition waits for the one before.
const SUMS: usize = 4;

/// A sum of what `of` makes of the values, with Neumaier's compensation: a
/// million small values beside a few large ones lose nothing.
fn sum<T: Copy>(values: &[T], of: impl Fn(T) -> f64) -> f64 {
    let mut sums = [(0.0, 0.0); SUMS];
    let chunks = values.chunks_exact(SUMS);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (own, value) in sums.iter_mut().zip(chunk) {
            *own = add(*own, of(*value));
        }
    }
    let rest = rest.iter().map(|value| of(*value));
    let parts = sums.into_iter().flat_map(|(sum, lost)| [sum, lost]);
    let (sum, lost) = parts.chain(rest).fold((0.0, 0.0), add);
    sum + lost
}

/// Adds a value to a sum and what rounding has lost of it.
fn add((sum, lost): (f64, f64), value: f64) -> (f64, f64) {
    let next = sum + value;
    let (large, small) = match sum.abs() >= value.abs() {
        true => (sum, value),
        false => (value, sum),
    };
    (next, lost + ((large - next) + small))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: Option<f64>, expected: f64) {
        let got = got.expect("a value");
        assert!(
            (got - expected).abs() <= 1e-12 * expected.abs().max(1.0),
            "{got} {expected}"
        );
    }

    /// `numpy.quantile([15, 20, 35, 40, 50], p)`.
    #[test]
    fn quantiles_are_those_of_numpy() {
        let values = [15.0, 20.0, 35.0, 40.0, 50.0];
        close(quantile(&values, 0.0), 15.0);
        close(quantile(&values, 0.05), 16.0);
        close(quantile(&values, 0.3), 23.0);
        close(quantile(&values, 0.4), 29.0);
        close(quantile(&values, 0.5), 35.0);
        close(quantile(&values, 0.95), 48.0);
        close(quantile(&values, 0.99), 49.6);
        close(quantile(&values, 1.0), 50.0);
        assert_eq!(quantile(&values, 1.5), None);
        assert_eq!(quantile(&values, f64::NAN), None);
    }

    #[test]
    fn a_quantile_needs_no_order() {
        let values = vec![35.0, 15.0, 50.0, 20.0, 40.0];
        let all = Distribution::of(values.clone());
        let sorted = sorted(values);
        for (p, found) in [
            (0.5, all.p50),
            (0.9, all.p90),
            (0.95, all.p95),
            (0.99, all.p99),
        ] {
            assert_eq!(found, quantile(&sorted, p), "{p}");
        }
        assert_eq!(Distribution::of(Vec::new()).p50, None);
    }

    #[test]
    fn a_sample_is_summarized_by_hand() {
        let all = Distribution::of([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!(all.n, 8);
        close(all.mean, 5.0);
        close(all.sd, (32.0_f64 / 7.0).sqrt());
        close(all.cv, (32.0_f64 / 7.0).sqrt() / 5.0);
        close(all.min, 2.0);
        close(all.max, 9.0);
        close(all.p50, 4.5);
        close(all.p90, 7.6);
        close(all.mean_trimmed, 5.0);
    }

    #[test]
    fn the_trimmed_mean_drops_the_largest_percent_rounded_down() {
        let of = |n: u32| Distribution::of((1..=n).map(f64::from)).mean_trimmed;
        close(of(99), 50.0);
        close(of(100), 50.0);
        close(of(199), 99.5);
        close(of(200), 99.5);
    }

    #[test]
    fn what_is_undefined_is_null() {
        assert_eq!(Distribution::of([]), Distribution::default());
        let one = Distribution::of([3.0]);
        assert_eq!(
            (one.n, one.mean, one.sd, one.cv),
            (1, Some(3.0), None, None)
        );
        assert_eq!((one.p99, one.mean_trimmed), (Some(3.0), Some(3.0)));
        let zeros = Distribution::of([0.0, 0.0]);
        assert_eq!((zeros.sd, zeros.cv), (Some(0.0), None));
        assert_eq!(Distribution::of([f64::NAN, f64::INFINITY]).n, 0);
    }

    #[test]
    fn a_sum_loses_no_small_values() {
        let values: Vec<f64> = std::iter::once(1e16)
            .chain(std::iter::repeat_n(1.0, 1_000))
            .collect();
        assert_eq!(sum(&values, |value| value), 1e16 + 1_000.0);
    }
}
