//! Exact average-linkage clustering of points on a line (LSAP 3.2).
//!
//! Average linkage (UPGMA) joins, again and again, the two clusters with the
//! smallest mean distance over all pairs of their points. On a line the
//! clusters are intervals of the sorted points, and for an interval A left of
//! an interval B every distance is b - a, so the mean distance is
//! mean(B) - mean(A). Means rise from left to right, so the smallest difference
//! is always one between neighbours, and joining neighbours leaves intervals:
//! by induction only neighbours ever merge. That makes the exact dendrogram an
//! affair of n - 1 gaps instead of n^2 distances.
//!
//! Gaps are rational numbers and are compared as such, never as floats. Equal
//! points collapse into one weighted point first; of equal gaps the leftmost
//! closes first.

mod agreement;
mod elbow;

pub use agreement::{adjusted_rand_index, match_clusters};
pub use elbow::elbow;

use std::cmp::Ordering;

/// The points may not lie further apart than this: sums of 2^32 squares then
/// fit 128 bits. In milliseconds it is 8,900 years.
pub const MAX_SPAN: u64 = 1 << 48;

/// What linkage gives, or why not.
pub(crate) type Result<T, E = LinkageError> = std::result::Result<T, E>;

/// Why points cannot be clustered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkageError {
    /// There is nothing to cluster.
    #[error("points = 0: expected at least one")]
    NoPoints,
    /// More points than sums of 128 bits hold.
    #[error("points = {0}: expected at most 4294967295")]
    TooMany(usize),
    /// Points too far apart for sums of 128 bits.
    #[error("span of the points = {0}: expected at most 2^48 units")]
    TooWide(u64),
}

/// One merge: the clusters of the distinct points `start..boundary` and
/// `boundary..end` become one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Merge {
    /// First distinct point of the left cluster.
    pub start: u32,
    /// First distinct point of the right cluster.
    pub boundary: u32,
    /// One past the last distinct point of the right cluster.
    pub end: u32,
    /// Mean distance between the points of the two, in units of the points.
    pub height: f64,
}

/// The whole history of merges over the distinct points.
#[derive(Clone, Debug, PartialEq)]
pub struct Dendrogram {
    /// The distinct points, from left to right.
    pub points: Vec<u64>,
    /// How often each of them occurs.
    pub weights: Vec<u32>,
    /// The merges, lowest first.
    pub merges: Vec<Merge>,
}

/// A partition of the line into clusters: where each begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The smallest point of each cluster, rising.
    pub starts: Vec<u64>,
}

impl Cut {
    /// The cluster of a point, from 0; a point left of the first cluster
    /// counts to the first.
    pub fn label(&self, point: u64) -> usize {
        self.starts
            .partition_point(|start| *start <= point)
            .saturating_sub(1)
    }
}

/// Clusters points given in any order: O(n log n) time, about 100 bytes of
/// memory for each distinct point.
///
/// # Errors
/// Any [`LinkageError`]: no points, too many, too far apart.
pub fn average_linkage(points: &[u64]) -> Result<Dendrogram> {
    if u32::try_from(points.len()).is_err() {
        return Err(LinkageError::TooMany(points.len()));
    }
    let mut sorted = points.to_vec();
    sorted.sort_unstable();
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
        return Err(LinkageError::NoPoints);
    };
    if last - first > MAX_SPAN {
        return Err(LinkageError::TooWide(last - first));
    }
    let same = sorted.chunk_by(|a, b| a == b);
    let (points, weights): (Vec<u64>, Vec<u32>) =
        same.map(|same| (same[0], same.len() as u32)).unzip();
    let merges = merge_all(&points, &weights);
    Ok(Dendrogram {
        points,
        weights,
        merges,
    })
}

/// The difference of two means, as whole part and remainder over divisor.
#[derive(Clone, Copy, Debug)]
struct Gap {
    whole: u64,
    remainder: u64,
    divisor: u64,
}

impl Gap {
    /// mean(right) - mean(left) for sums and numbers of points.
    fn between(left: (u128, u32), right: (u128, u32)) -> Self {
        let (left_count, right_count) = (u128::from(left.1), u128::from(right.1));
        // Sums are below 2^80 and counts below 2^32, so neither overflows.
        let numerator = right.0 * left_count - left.0 * right_count;
        let divisor = u64::from(left.1) * u64::from(right.1);
        // Most gaps fit one machine division, ten times quicker than a long one.
        let (whole, remainder) = match u64::try_from(numerator) {
            Ok(small) => (small / divisor, small % divisor),
            Err(_) => {
                let wide = u128::from(divisor);
                ((numerator / wide) as u64, (numerator % wide) as u64)
            }
        };
        Gap {
            whole,
            remainder,
            divisor,
        }
    }

    /// Compares exactly.
    fn compare(&self, other: &Self) -> Ordering {
        self.whole.cmp(&other.whole).then_with(|| {
            let left = u128::from(self.remainder) * u128::from(other.divisor);
            let right = u128::from(other.remainder) * u128::from(self.divisor);
            left.cmp(&right)
        })
    }

    fn as_f64(self) -> f64 {
        self.whole as f64 + self.remainder as f64 / self.divisor as f64
    }
}

/// Neighbouring points that have become one cluster.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    /// Sum of its points, counted from the leftmost of all.
    sum: u128,
    /// Number of its points.
    count: u32,
    /// Its first and one past its last distinct point.
    start: u32,
    end: u32,
}

impl Cluster {
    fn gap_to(&self, right: &Cluster) -> Gap {
        Gap::between((self.sum, self.count), (right.sum, right.count))
    }

    fn joined(&self, right: &Cluster) -> Cluster {
        Cluster {
            sum: self.sum + right.sum,
            count: self.count + right.count,
            start: self.start,
            end: right.end,
        }
    }
}

/// All merges, in the order of their heights.
///
/// A merge moves the mean of the left cluster away from what is left of it and
/// that of the right one away from what is right of it, so gaps only ever
/// grow. A gap that is less than its left neighbour and no more than its right
/// one stays so until it closes: that it closes is known long before its turn.
/// So one pass from left to right finds all merges (a nearest-neighbour chain;
/// on a line it is a stack with gaps that fall from bottom to top), and a sort
/// by height, of equal ones by place, puts them in the order in which taking
/// the leftmost least gap again and again finds them. No merge makes a gap
/// equal to that of an earlier one, which is what the order of ties needs: a
/// gap that grows was at least that height before and is above it after.
fn merge_all(points: &[u64], weights: &[u32]) -> Vec<Merge> {
    let origin = points.first().copied().unwrap_or(0);
    let clusters = points.iter().zip(weights).zip(0..);
    let mut clusters = clusters.map(|((point, weight), start)| Cluster {
        sum: u128::from(point - origin) * u128::from(*weight),
        count: *weight,
        start,
        end: start + 1,
    });
    let mut merges: Vec<(Gap, Merge)> = Vec::with_capacity(points.len().saturating_sub(1));
    // Each with the gap on its left; the bottom one has none.
    let mut stack: Vec<(Cluster, Option<Gap>)> = Vec::new();
    // What was merged, or stood right of a merge, comes again.
    let mut again: Vec<Cluster> = Vec::new();
    loop {
        let next = again.pop().or_else(|| clusters.next());
        let gap = match (stack.last(), &next) {
            (Some((top, _)), Some(next)) => Some(top.gap_to(next)),
            _ => None,
        };
        // At the right end the gap is infinite and everything closes.
        let closes = match (stack.last(), gap, next.is_some()) {
            (Some((_, Some(left))), Some(gap), _) => left.compare(&gap).is_le(),
            (Some((_, Some(_))), None, false) => true,
            _ => false,
        };
        if closes && let (Some((right, Some(height))), Some((left, _))) = (stack.pop(), stack.pop())
        {
            again.extend(next);
            again.push(left.joined(&right));
            let merge = Merge {
                start: left.start,
                boundary: right.start,
                end: right.end,
                height: height.as_f64(),
            };
            merges.push((height, merge));
            continue;
        }
        match next {
            Some(next) => stack.push((next, gap)),
            None => break,
        }
    }
    merges.sort_unstable_by(|(gap, merge), (other_gap, other)| {
        gap.compare(other_gap).then(merge.start.cmp(&other.start))
    });
    merges.into_iter().map(|(_, merge)| merge).collect()
}

impl Dendrogram {
    /// The partition into `k` clusters, or into as many as there are distinct
    /// points.
    pub fn cut(&self, k: usize) -> Cut {
        let undone = k.max(1) - 1;
        let first = self.merges.len().saturating_sub(undone);
        let boundaries = self.merges[first..].iter().map(|merge| merge.boundary);
        let mut starts: Vec<u32> = std::iter::once(0).chain(boundaries).collect();
        starts.sort_unstable();
        Cut {
            starts: starts.iter().map(|at| self.points[*at as usize]).collect(),
        }
    }

    /// Within-cluster sum of squares of the partitions into 1, 2, ... `most`
    /// clusters (fewer where there are fewer distinct points), in squared
    /// units. The sums are integers and rational remainders; only the result
    /// is rounded.
    pub fn wcss(&self, most: usize) -> Vec<f64> {
        let first = self.merges.len().saturating_sub(most.max(1) - 1);
        let undone = &self.merges[first..];
        let mut edges: Vec<u32> = undone.iter().map(|merge| merge.boundary).collect();
        edges.push(0);
        edges.push(self.points.len() as u32);
        edges.sort_unstable();
        let atoms: Vec<Moments> = edges.windows(2).map(|w| self.moments(w[0], w[1])).collect();
        let of = |start: u32, end: u32| {
            // Every interval that a merge names begins and ends at an edge.
            let from = edges.partition_point(|edge| *edge < start);
            let to = edges.partition_point(|edge| *edge < end);
            let sum = atoms[from..to]
                .iter()
                .fold(Moments::default(), Moments::plus);
            sum.squares_around_mean()
        };
        let mut total = of(0, self.points.len() as u32);
        let mut curve = vec![total.as_f64()];
        for merge in undone.iter().rev() {
            total.take(of(merge.start, merge.end));
            total.add(of(merge.start, merge.boundary));
            total.add(of(merge.boundary, merge.end));
            curve.push(total.as_f64());
        }
        curve
    }

    /// Moments of the distinct points `start..end`, from the leftmost point.
    fn moments(&self, start: u32, end: u32) -> Moments {
        let range = start as usize..end as usize;
        let mut moments = Moments::default();
        for (point, weight) in self.points[range.clone()].iter().zip(&self.weights[range]) {
            let (offset, weight) = (u128::from(point - self.points[0]), u128::from(*weight));
            moments.count += weight;
            moments.sum += weight * offset;
            moments.squares += weight * offset * offset;
        }
        moments
    }
}

/// Number, sum and sum of squares; all below 2^128 by [`MAX_SPAN`].
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    count: u128,
    sum: u128,
    squares: u128,
}

impl Moments {
    fn plus(self, other: &Self) -> Self {
        Moments {
            count: self.count + other.count,
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
        }
    }

    /// squares - sum^2 / count. With sum = q count + r it is the integer
    /// squares - q^2 count - 2 q r, less r^2 / count.
    fn squares_around_mean(self) -> Squares {
        let (count, sum) = (self.count.max(1), self.sum);
        let (quotient, remainder) = (sum / count, sum % count);
        let whole = self.squares - quotient * quotient * count - 2 * quotient * remainder;
        let less = remainder * remainder;
        let part = (less % count) as f64 / count as f64;
        Squares {
            whole: (whole - less / count) as i128,
            less: part,
        }
    }
}

/// A sum of squares as an integer less a sum of proper fractions.
#[derive(Clone, Copy, Debug)]
struct Squares {
    whole: i128,
    less: f64,
}

impl Squares {
    fn add(&mut self, other: Squares) {
        self.whole += other.whole;
        self.less += other.less;
    }

    fn take(&mut self, other: Squares) {
        self.whole -= other.whole;
        self.less -= other.less;
    }

    fn as_f64(self) -> f64 {
        self.whole as f64 - self.less
    }
}

#[cfg(test)]
mod tests;
