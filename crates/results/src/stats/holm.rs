//! Many comparisons at once.

/// Holm's step-down correction (S. Holm, *A simple sequentially rejective
/// multiple test procedure*, 1979): p-values in the order given, adjusted so
/// that the chance of any false claim among them stays below the level.
/// A comparison without a p-value counts as one that was made and claims
/// nothing.
#[must_use]
pub fn holm(p: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<usize> = (0..p.len()).filter(|&index| p[index].is_some()).collect();
    let value = |index: usize| p[index].unwrap_or(1.0);
    order.sort_by(|&a, &b| value(a).total_cmp(&value(b)).then(a.cmp(&b)));
    let mut adjusted = vec![None; p.len()];
    let mut largest = 0.0_f64;
    for (rank, &index) in order.iter().enumerate() {
        largest = largest.max(value(index) * (p.len() - rank) as f64);
        adjusted[index] = Some(largest.min(1.0));
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 0.01 x 4, 0.02 x 3, max(0.06, 0.03 x 2), max(0.06, 0.04 x 1).
    #[test]
    fn p_values_are_adjusted_step_by_step() {
        let adjusted = holm(&[Some(0.04), Some(0.01), Some(0.03), Some(0.02)]);
        let expected = [0.06, 0.04, 0.06, 0.06];
        for (got, expected) in adjusted.iter().zip(expected) {
            assert!((got.expect("a value") - expected).abs() < 1e-15, "{got:?}");
        }
    }

    #[test]
    fn a_comparison_without_a_p_value_still_counts() {
        assert_eq!(holm(&[Some(0.02), None]), [Some(0.04), None]);
        assert_eq!(holm(&[Some(0.9), Some(0.8)]), [Some(1.0), Some(1.0)]);
        assert!(holm(&[]).is_empty());
    }
}
