//! How far two clusterings of the same jobs agree.

/// The adjusted Rand index (Hubert and Arabie 1985) of two labellings of the
/// same items: 1 for equal partitions, 0 in the mean for independent ones,
/// `None` for fewer than two items or lists of different length. Two trivial
/// partitions that are equal (all in one, or each alone) agree fully: 1.
pub fn adjusted_rand_index(left: &[usize], right: &[usize]) -> Option<f64> {
    if left.len() != right.len() || left.len() < 2 {
        return None;
    }
    let pairs = |count: u64| u128::from(count) * u128::from(count.saturating_sub(1)) / 2;
    let mut cells: Vec<(usize, usize)> = left.iter().copied().zip(right.iter().copied()).collect();
    let both: u128 = runs(&mut cells).map(pairs).sum();
    let in_left: u128 = runs(&mut left.to_vec()).map(pairs).sum();
    let in_right: u128 = runs(&mut right.to_vec()).map(pairs).sum();
    let all = pairs(left.len() as u64);
    let expected = in_left as f64 * (in_right as f64 / all as f64);
    let most = (in_left + in_right) as f64 / 2.0;
    if in_left == in_right && (in_left == 0 || in_left == all) {
        return Some(1.0);
    }
    Some((both as f64 - expected) / (most - expected))
}

/// Lengths of the runs of equal items, after sorting.
fn runs<T: Ord>(items: &mut [T]) -> impl Iterator<Item = u64> {
    items.sort_unstable();
    items.chunk_by(|a, b| a == b).map(|run| run.len() as u64)
}

/// Matches clusters on a line, each given as (centre, share) in rising order
/// of centres: of all ways to pair clusters without crossing, that with the
/// most pairs and, of these, the least sum of centre distances weighted with
/// the original share. Pairs of places, of the original and of the reduced trace;
/// clusters left over are in no pair.
pub fn match_clusters(original: &[(f64, f64)], reduced: &[(f64, f64)]) -> Vec<(usize, usize)> {
    if original.len() > reduced.len() {
        let pairs = align(reduced, original, |_, long| original[long].1);
        return pairs
            .into_iter()
            .map(|(short, long)| (long, short))
            .collect();
    }
    align(original, reduced, |short, _| original[short].1)
}

/// The cheapest way to give every item of `short` its own item of `long`, in
/// order.
fn align(
    short: &[(f64, f64)],
    long: &[(f64, f64)],
    weight: impl Fn(usize, usize) -> f64,
) -> Vec<(usize, usize)> {
    let (rows, columns) = (short.len(), long.len());
    // cost[i][j]: the first i of `short` within the first j of `long`.
    let mut cost = vec![vec![f64::INFINITY; columns + 1]; rows + 1];
    cost[0].fill(0.0);
    let pair = |i: usize, j: usize| (long[j].0 - short[i].0).abs() * weight(i, j);
    for i in 1..=rows {
        for j in i..=columns {
            cost[i][j] = cost[i][j - 1].min(cost[i - 1][j - 1] + pair(i - 1, j - 1));
        }
    }
    let mut pairs = Vec::with_capacity(rows);
    let (mut i, mut j) = (rows, columns);
    while i > 0 && j > 0 {
        if j > i && cost[i][j - 1] <= cost[i][j] {
            j -= 1;
        } else {
            (i, j) = (i - 1, j - 1);
            pairs.push((i, j));
        }
    }
    pairs.reverse();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_partitions_agree_fully_whatever_they_are_called() {
        assert_eq!(adjusted_rand_index(&[0, 0, 1, 2], &[5, 5, 3, 9]), Some(1.0));
        assert_eq!(adjusted_rand_index(&[0; 4], &[3; 4]), Some(1.0));
        assert_eq!(adjusted_rand_index(&[0, 1, 2], &[2, 1, 0]), Some(1.0));
        assert_eq!(adjusted_rand_index(&[0], &[0]), None);
        assert_eq!(adjusted_rand_index(&[0, 1], &[0]), None);
    }

    #[test]
    fn the_index_is_that_of_the_worked_example() {
        // scikit-learn's documentation: adjusted_rand_score([0,0,1,2],[0,0,1,1]).
        let index = adjusted_rand_index(&[0, 0, 1, 2], &[0, 0, 1, 1]).unwrap();
        assert!((index - 4.0 / 7.0).abs() < 1e-15, "{index}");
        let crossed = adjusted_rand_index(&[0, 0, 1, 1], &[0, 1, 0, 1]).unwrap();
        assert!((crossed + 0.5).abs() < 1e-15, "{crossed}");
    }

    #[test]
    fn clusters_are_matched_in_order_and_the_odd_one_is_left_over() {
        let original = [(0.0, 0.5), (10.0, 0.3), (20.0, 0.2)];
        let reduced = [(1.0, 0.6), (19.0, 0.4)];
        assert_eq!(match_clusters(&original, &reduced), [(0, 0), (2, 1)]);
        assert_eq!(match_clusters(&reduced, &original), [(0, 0), (1, 2)]);
    }
}
