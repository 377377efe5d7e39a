//! Live estimates of distributions: figures while a run goes, never results.

/// A histogram with buckets of equal relative width: 1/32 of the value at the
/// most, so that a quantile is off by at most 1.6 %. Mean and maximum are
/// exact.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    n: u64,
    sum: u128,
    max: u64,
}

/// Values below this have a bucket each.
const EXACT: u64 = 64;
/// Buckets for all of `u64`.
const BUCKETS: usize = 58 * 32 + 64;

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            counts: vec![0; BUCKETS],
            n: 0,
            sum: 0,
            max: 0,
        }
    }
}

impl Histogram {
    /// Takes note of a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        if let Some(count) = self.counts.get_mut(bucket(value)) {
            *count += 1;
        }
        self.n += 1;
        self.sum += u128::from(value);
        self.max = self.max.max(value);
    }

    /// How many values there were.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.n
    }

    /// Their mean; none without any.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum as f64 / self.n as f64)
    }

    /// An estimate of the quantile `q` in 0..=1; none without values.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.n == 0 {
            return None;
        }
        let rank = (q * self.n as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Some(middle(index).min(self.max as f64));
            }
        }
        Some(self.max as f64)
    }
}

#[inline]
fn bucket(value: u64) -> usize {
    if value < EXACT {
        return value as usize;
    }
    let shift = 58 - value.leading_zeros();
    shift as usize * 32 + (value >> shift) as usize
}

/// The middle of a bucket.
fn middle(index: usize) -> f64 {
    if index < EXACT as usize {
        return index as f64;
    }
    let shift = index / 32 - 1;
    let steps = (index % 32 + 32) as f64;
    (steps + 0.5) * 2_f64.powi(shift as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_without_gaps_up_to_the_largest_value() {
        let mut last = 0;
        for exponent in 0..64 {
            for step in 0..64_u128 {
                let value = ((1_u128 << exponent) * (64 + step) / 64) as u64;
                let index = bucket(value);
                assert!(
                    index == last || index == last + 1 || index == value as usize,
                    "{value}"
                );
                last = index;
            }
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_off_by_less_than_two_percent() {
        let mut histogram = Histogram::default();
        for value in 1..=100_000_u64 {
            histogram.record(value * 1_000);
        }
        for q in [0.01, 0.5, 0.95, 0.99, 1.0] {
            let found = histogram.quantile(q).unwrap();
            let exact = q * 1e8;
            assert!((found / exact - 1.0).abs() < 0.02, "{q}: {found}");
        }
        assert_eq!(histogram.mean(), Some(50_000_500.0));
        assert_eq!(Histogram::default().quantile(0.5), None);
    }
}
