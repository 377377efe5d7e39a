//! The number of clusters by the elbow of a curve.

/// Where a falling convex curve bends most, as a number of clusters from 1:
/// Kneedle (Satopaa, Albrecht, Irwin, Raghavan 2011, section III) with
/// sensitivity 1, offline, without the smoothing spline, since a
/// within-cluster sum of squares is no noisy measurement.
///
/// `curve[i]` is the value for i + 1 clusters. Both axes are normalized to
/// [0, 1] and the curve is turned upside down; the elbow is the first local
/// maximum of (turned value - position) after which that difference falls
/// below the maximum less one mean step before it rises to another. A curve
/// without such a bend has its elbow where the difference is largest; one that
/// does not fall at all has one cluster.
pub fn elbow(curve: &[f64]) -> usize {
    let (Some(first), Some(last)) = (curve.first(), curve.last()) else {
        return 1;
    };
    let range = first - last;
    if curve.len() < 2 || range <= 0.0 {
        return 1;
    }
    let steps = (curve.len() - 1) as f64;
    let difference = |(at, value): (usize, &f64)| (first - value) / range - at as f64 / steps;
    let differences: Vec<f64> = curve.iter().enumerate().map(difference).collect();
    let mut candidate: Option<(usize, f64)> = None;
    for at in 1..differences.len() {
        let here = differences[at];
        if candidate.is_some_and(|(_, threshold)| here < threshold) {
            break;
        }
        let falls_after = differences.get(at + 1).is_some_and(|next| *next < here);
        if here > 1.0 / steps && differences[at - 1] <= here && falls_after {
            candidate = Some((at, here - 1.0 / steps));
        }
    }
    let largest = || {
        // What is smaller comes from rounding: a straight line.
        const LEVEL: f64 = 1e-9;
        let bent = (0..differences.len()).filter(|at| differences[*at] > LEVEL);
        let order = |a: &usize, b: &usize| differences[*a].total_cmp(&differences[*b]);
        bent.rev().max_by(order).unwrap_or(0)
    };
    candidate.map_or_else(largest, |(at, _)| at) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_elbow_is_where_the_curve_bends() {
        // Figure 2 of the paper: y = -1 / (x + 0.1) + 5 at ten points from 0
        // to 1 has its knee at x = 0.22, the third; turned round here to fall.
        let curve: Vec<f64> = (0..10).map(|i| 1.0 / (f64::from(i) / 9.0 + 0.1)).collect();
        assert_eq!(elbow(&curve), 3);
        let three: Vec<f64> = [1000.0, 400.0, 50.0, 40.0, 32.0, 25.0, 19.0, 14.0].into();
        assert_eq!(elbow(&three), 3);
    }

    #[test]
    fn a_straight_or_level_curve_has_no_elbow() {
        assert_eq!(elbow(&[5.0, 5.0, 5.0]), 1);
        assert_eq!(elbow(&[]), 1);
        assert_eq!(elbow(&[3.0]), 1);
        assert_eq!(elbow(&[4.0, 3.0, 2.0, 1.0, 0.0]), 1);
    }

    #[test]
    fn a_later_rise_does_not_hide_the_first_bend() {
        let curve = [100.0, 20.0, 19.0, 18.0, 17.5, 17.0, 3.0, 2.0, 1.0, 0.0];
        assert_eq!(elbow(&curve), 2);
    }
}
