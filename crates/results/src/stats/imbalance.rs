//! How unevenly a load is spread over clusters.

/// Coefficient of variation over all members of a set: the standard deviation
/// of the set itself (divided by n, since the clusters are no sample of
/// others) over its mean. `None` below two values or with a mean of 0.
pub fn cv(values: &[f64]) -> Option<f64> {
    let mean = super::mean(values).filter(|mean| *mean != 0.0)?;
    let squares = super::sum(values, |value| (value - mean).powi(2));
    (values.len() > 1).then(|| (squares / values.len() as f64).sqrt() / mean)
}

/// Gini coefficient: the mean difference between any two values over twice
/// their mean; 0 if all are equal, 1 - 1/n if one has everything. `None` below
/// two values, with a negative one, or if all are 0.
pub fn gini(values: &[f64]) -> Option<f64> {
    let n = values.len();
    let total = super::sum(values, |value| value);
    if n < 2 || total <= 0.0 || values.iter().any(|value| *value < 0.0) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // sum over i < j of (x_j - x_i), each x_j is above j values and below the
    // others.
    let ranked = (0..n).map(|j| (2.0 * j as f64 - (n - 1) as f64) * sorted[j]);
    Some((ranked.sum::<f64>() / (n as f64 * total)).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_load_has_no_imbalance() {
        assert_eq!(cv(&[0.5, 0.5, 0.5]), Some(0.0));
        assert_eq!(gini(&[0.5, 0.5, 0.5]), Some(0.0));
    }

    #[test]
    fn all_in_one_place_is_the_most_there_is() {
        assert_eq!(gini(&[0.0, 0.0, 0.0, 1.0]), Some(0.75));
        assert_eq!(cv(&[0.0, 1.0]), Some(1.0));
    }

    /// By hand: pairs differ by 1, 3, 2; 2 (1 + 3 + 2) / (2 x 9 x 7/3).
    #[test]
    fn gini_is_the_mean_difference_over_twice_the_mean() {
        let got = gini(&[4.0, 1.0, 2.0]).expect("a value");
        assert!((got - 12.0 / 42.0).abs() < 1e-15, "{got}");
    }

    #[test]
    fn what_is_undefined_is_none() {
        assert_eq!(cv(&[1.0]), None);
        assert_eq!(cv(&[0.0, 0.0]), None);
        assert_eq!(gini(&[0.0, 0.0]), None);
        assert_eq!(gini(&[]), None);
    }
}
