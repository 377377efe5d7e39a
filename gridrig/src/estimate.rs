//! Distributions of values as they come, in bounded memory.

/// Significant digits that a quantile has.
const DIGITS: u8 = 3;

/// A distribution: quantiles to three significant digits (HdrHistogram), an
/// exact mean.
#[derive(Clone, Debug)]
pub struct Histogram {
    values: hdrhistogram::Histogram<u64>,
    sum: u128,
}

impl Default for Histogram {
    fn default() -> Self {
        // Every bound is one that the constructor takes.
        let values = hdrhistogram::Histogram::new_with_bounds(1, u64::MAX, DIGITS);
        let values = values.expect("a range of two values or more and at most five digits");
        Histogram { values, sum: 0 }
    }
}

impl Histogram {
    /// Takes note of a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.values.saturating_record(value);
        self.sum += u128::from(value);
    }

    /// How many values there were.
    pub fn len(&self) -> u64 {
        self.values.len()
    }

    /// Their mean; none without any.
    pub fn mean(&self) -> Option<f64> {
        (self.len() > 0).then(|| self.sum as f64 / self.len() as f64)
    }

    /// An estimate of the quantile `q` in 0..=1; none without values.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        (self.len() > 0).then(|| self.values.value_at_quantile(q) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_have_three_significant_digits_and_means_are_exact() {
        let mut histogram = Histogram::default();
        for value in 1..=100_000_u64 {
            histogram.record(value * 1_000);
        }
        for q in [0.01, 0.5, 0.95, 0.99, 1.0] {
            let found = histogram.quantile(q).unwrap();
            let exact = q * 1e8;
            assert!((found / exact - 1.0).abs() < 0.001, "{q}: {found}");
        }
        assert_eq!(histogram.mean(), Some(50_000_500.0));
        assert_eq!(Histogram::default().quantile(0.5), None);
    }
}
