//! The clusters of arrivals (LSAP 3.2, Figure 4).

use super::statistics::Values;
use crate::linkage::{Cut, Result, adjusted_rand_index, average_linkage, elbow, match_clusters};

/// Nanoseconds of the unit in which arrivals are clustered: a trace of 8,900
/// years fits, and no archive's times are finer.
pub(super) const UNIT_NS: u64 = 1_000_000;

/// The arrivals of a trace, clustered.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    /// Within-cluster sum of squares for 1, 2, ... clusters, in square seconds.
    pub wcss: Vec<f64>,
    /// Clusters by the elbow of that curve.
    pub elbow: usize,
    /// The partition.
    pub cut: Cut,
    /// Centre and share of each cluster; centres in units.
    pub shape: Vec<(f64, f64)>,
}

impl Arrivals {
    /// `times` in units, rising; cut into `k` clusters or, without `k`, as the
    /// elbow says.
    pub(super) fn of(times: &[u64], most: usize, k: Option<usize>) -> Result<Self> {
        let tree = average_linkage(times)?;
        let seconds = UNIT_NS as f64 / 1e9;
        let wcss: Vec<f64> = tree
            .wcss(most)
            .iter()
            .map(|w| w * seconds * seconds)
            .collect();
        let elbow = elbow(&wcss);
        let cut = tree.cut(k.unwrap_or(elbow));
        let shape = shape(times, &cut);
        Ok(Arrivals {
            wcss,
            elbow,
            cut,
            shape,
        })
    }

    /// What of these arrivals is compared with those of the original; `labels`
    /// are the clusters of shared jobs in both, original first.
    pub(super) fn compare(&self, original: &Self, labels: &(Vec<usize>, Vec<usize>)) -> Values {
        let mut values = Values::new();
        let share = |curve: &[f64], at: usize| match curve.first() {
            Some(first) if *first > 0.0 => curve.get(at).map_or(0.0, |w| w / first),
            _ => 0.0,
        };
        // The mean over k: one merge that comes a little earlier or later moves
        // one point of the curve by much, but only one.
        let steps = original.wcss.len().max(self.wcss.len());
        let apart = |at| (share(&self.wcss, at) - share(&original.wcss, at)).abs();
        let sum: f64 = (0..steps).map(apart).sum();
        values.insert("clusters.wcss", sum / steps.max(1) as f64);
        if let Some(index) = adjusted_rand_index(&labels.0, &labels.1) {
            values.insert("clusters.ari", index);
        }
        values.insert("clusters.match", transport(&original.shape, &self.shape));
        values
    }

    /// The clusters that stand for each other.
    pub(super) fn matched(&self, original: &Self) -> Vec<(usize, usize)> {
        match_clusters(&original.shape, &self.shape)
    }
}

/// Centre and share of each cluster.
fn shape(times: &[u64], cut: &Cut) -> Vec<(f64, f64)> {
    let mut bounds: Vec<usize> = cut
        .starts
        .iter()
        .map(|start| times.partition_point(|time| time < start))
        .collect();
    bounds.push(times.len());
    let cluster = |w: &[usize]| {
        let inside = &times[w[0]..w[1]];
        let first = inside.first().copied().unwrap_or(0);
        let offsets: u128 = inside.iter().map(|time| u128::from(time - first)).sum();
        let centre = first as f64 + offsets as f64 / inside.len().max(1) as f64;
        (centre, inside.len() as f64 / times.len() as f64)
    };
    bounds.windows(2).map(cluster).collect()
}

/// The least work that turns one set of clusters into the other: share moved
/// times distance of centres (Wasserstein distance of first order), as a share
/// of the distance between the original's outermost centres.
fn transport(original: &[(f64, f64)], reduced: &[(f64, f64)]) -> f64 {
    let (Some(first), Some(last)) = (original.first(), original.last()) else {
        return 0.0;
    };
    let mut events: Vec<(f64, f64)> = original.to_vec();
    events.extend(reduced.iter().map(|(centre, share)| (*centre, -share)));
    events.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut work, mut surplus) = (0.0, 0.0_f64);
    for pair in events.windows(2) {
        surplus += pair[0].1;
        work += surplus.abs() * (pair[1].0 - pair[0].0);
    }
    match last.0 > first.0 {
        true => work / (last.0 - first.0),
        false => 0.0,
    }
}
