//! Average linkage on a line against kodama and scipy, and k-means against it.

use crate::need;
use gridrig_core::rng;
use gridrig_tracelab::linkage::{Dendrogram, adjusted_rand_index, average_linkage};
use gridrig_tracelab::validate::k_means;
use proptest::prelude::*;
use rand::RngExt;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Cluster of each point when `k` are left, from kodama's steps.
fn kodama_labels(dendrogram: &kodama::Dendrogram<f64>, count: usize, k: usize) -> Vec<usize> {
    let mut label: Vec<usize> = (0..count).collect();
    let undone = k - 1;
    let steps = dendrogram.steps();
    let mut members: Vec<Vec<usize>> = (0..count).map(|at| vec![at]).collect();
    for step in &steps[..steps.len() - undone] {
        let mut merged = members[step.cluster1].clone();
        merged.extend_from_slice(&members[step.cluster2]);
        let least = merged.iter().copied().min().unwrap();
        merged.iter().for_each(|at| label[*at] = least);
        members.push(merged);
    }
    label
}

fn kodama_of(points: &[u64]) -> kodama::Dendrogram<f64> {
    let mut distances = Vec::new();
    for (at, left) in points.iter().enumerate() {
        distances.extend(
            points[at + 1..]
                .iter()
                .map(|right| left.abs_diff(*right) as f64),
        );
    }
    kodama::linkage(&mut distances, points.len(), kodama::Method::Average)
}

/// Whether two heights are so near that a float may order them otherwise.
fn has_near_ties(tree: &Dendrogram) -> bool {
    let mut heights: Vec<f64> = tree.merges.iter().map(|m| m.height).collect();
    heights.sort_by(f64::total_cmp);
    heights.windows(2).any(|w| w[1] - w[0] < 1e-9 * w[1])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_dendrogram_is_that_of_kodama(
        points in prop::collection::vec(0u64..1 << 40, 2..60),
        repeats in prop::collection::vec(0usize..60, 0..20),
    ) {
        let mut points = points;
        let again: Vec<u64> = repeats.iter().map(|at| points[at % points.len()]).collect();
        points.extend(again);
        let tree = average_linkage(&points).unwrap();
        prop_assume!(!has_near_ties(&tree));
        let theirs = kodama_of(&points);
        let collapsed = points.len() - tree.points.len();
        let steps = theirs.steps();
        prop_assert!(steps[..collapsed].iter().all(|step| step.dissimilarity == 0.0));
        prop_assert_eq!(tree.merges.len(), steps.len() - collapsed);
        for (merge, step) in tree.merges.iter().zip(&steps[collapsed..]) {
            let apart = (merge.height - step.dissimilarity).abs();
            prop_assert!(apart <= 1e-9 * merge.height, "{merge:?} {step:?}");
            let weight: u32 = tree.weights[merge.start as usize..merge.end as usize].iter().sum();
            prop_assert_eq!(weight as usize, step.size);
        }
        for k in 1..=tree.points.len().min(8) {
            let cut = tree.cut(k);
            prop_assert_eq!(cut.starts.len(), k);
            let ours: Vec<usize> = points.iter().map(|point| cut.label(*point)).collect();
            let theirs = kodama_labels(&theirs, points.len(), k);
            prop_assert_eq!(adjusted_rand_index(&ours, &theirs), Some(1.0));
        }
    }

    #[test]
    fn sums_of_squares_are_those_of_the_cut(
        points in prop::collection::vec(0u64..100_000, 1..200),
    ) {
        let tree = average_linkage(&points).unwrap();
        for (at, value) in tree.wcss(30).iter().enumerate() {
            let cut = tree.cut(at + 1);
            let mut sums = vec![(0u128, 0u128, 0u128); cut.starts.len()];
            for point in &points {
                let (n, sum, squares) = &mut sums[cut.label(*point)];
                let point = u128::from(*point);
                (*n, *sum, *squares) = (*n + 1, *sum + point, *squares + point * point);
            }
            let around = |(n, sum, squares): &(u128, u128, u128)| {
                (n * squares - sum * sum) as f64 / *n as f64
            };
            let expected: f64 = sums.iter().map(around).sum();
            prop_assert!((value - expected).abs() <= 1e-12 * expected.max(1.0), "{value} {expected}");
        }
        prop_assert!(tree.wcss(30).is_sorted_by(|a, b| a >= b));
    }
}

/// The definition, step by step: of all neighbours the pair with the least
/// difference of means merges, the leftmost of equal ones. Where, and how far they are apart.
fn by_definition(tree: &Dendrogram) -> Vec<([u32; 3], f64)> {
    let points = tree.points.iter().zip(&tree.weights).zip(0u32..);
    let mut clusters: Vec<(i128, i128, u32, u32)> = points
        .map(|((point, weight), at)| {
            let weight = i128::from(*weight);
            (i128::from(*point) * weight, weight, at, at + 1)
        })
        .collect();
    let mut merges = Vec::new();
    while clusters.len() > 1 {
        // Gaps as fractions, compared by cross multiplication.
        let gap = |at: usize| {
            let (left, right) = (clusters[at], clusters[at + 1]);
            (right.0 * left.1 - left.0 * right.1, left.1 * right.1)
        };
        let mut least = 0;
        for at in 1..clusters.len() - 1 {
            let (here, best) = (gap(at), gap(least));
            if here.0 * best.1 < best.0 * here.1 {
                least = at;
            }
        }
        let (apart, weight) = gap(least);
        let right = clusters.remove(least + 1);
        let left = &mut clusters[least];
        merges.push(([left.2, right.2, right.3], apart as f64 / weight as f64));
        *left = (left.0 + right.0, left.1 + right.1, left.2, right.3);
    }
    merges
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn among_ties_the_leftmost_merges_first(
        points in prop::collection::vec(0u64..60, 1..200),
        step in 1u64..1000,
    ) {
        let points: Vec<u64> = points.iter().map(|point| point * step).collect();
        let tree = average_linkage(&points).unwrap();
        let expected = by_definition(&tree);
        prop_assert_eq!(tree.merges.len(), expected.len());
        for (merge, (place, height)) in tree.merges.iter().zip(expected) {
            prop_assert_eq!([merge.start, merge.boundary, merge.end], place);
            prop_assert!((merge.height - height).abs() <= 1e-12 * height, "{merge:?} {height}");
        }
    }
}

#[test]
fn k_means_sums_the_same_squares_where_clusters_are_clear() {
    // Five bursts, far apart: both methods find them, so the sums must agree.
    let mut stream = rng::stream(5, "test-k-means");
    let mut points: Vec<u64> = Vec::new();
    for burst in 0..5u64 {
        points.extend((0..80).map(|_| burst * 100_000 + stream.random_range(0..2_000)));
    }
    let tree = average_linkage(&points).unwrap();
    let curve = tree.wcss(8);
    let rows: Vec<Vec<f64>> = points.iter().map(|point| vec![*point as f64]).collect();
    let found = k_means(&rows, 5, 10, 1).unwrap();
    let apart = (found.wcss - curve[4]).abs() / curve[4];
    assert!(apart < 1e-9, "{} {}", found.wcss, curve[4]);
    // k-means minimizes what linkage does not: elsewhere it is never worse by much.
    for k in 2..=8 {
        let found = k_means(&rows, k, 10, 1).unwrap();
        assert!(
            found.wcss <= curve[k - 1] * (1.0 + 1e-9),
            "{k}: {} {}",
            found.wcss,
            curve[k - 1]
        );
    }
}

const ORACLE: &str = r#"
import json, sys
import numpy as np
from scipy.cluster.hierarchy import linkage, fcluster
from sklearn.metrics import adjusted_rand_score
given = json.load(sys.stdin)
points = np.array(given["points"], dtype=float).reshape(-1, 1)
tree = linkage(points, method="average")
wcss = []
for k in range(1, 31):
    label = fcluster(tree, k, criterion="maxclust")
    wcss.append(sum(((points[label == c] - points[label == c].mean()) ** 2).sum() for c in set(label)))
json.dump({
    "heights": [h for h in tree[:, 2] if h > 0],
    "wcss": wcss,
    "ari": adjusted_rand_score(given["left"], given["right"]),
}, sys.stdout)
"#;

/// Runs a script with a document on its standard input.
pub(crate) fn ask(
    python: &std::path::Path,
    script: &str,
    given: &serde_json::Value,
) -> serde_json::Value {
    let mut child = Command::new(python)
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the interpreter runs");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(given.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn linkage_and_rand_index_are_those_of_scipy_and_scikit_learn() {
    let Some(python) = need::python() else { return };
    let mut stream = rng::stream(9, "test-scipy");
    let points: Vec<u64> = (0..400).map(|_| stream.random_range(0..1 << 36)).collect();
    let left: Vec<usize> = (0..300).map(|_| stream.random_range(0..6)).collect();
    let mixed = |at: &usize| match stream.random_range(0..3) {
        0 => stream.random_range(0..5),
        _ => *at,
    };
    let right: Vec<usize> = left.iter().map(mixed).collect();
    let given = serde_json::json!({ "points": points, "left": left, "right": right });
    let told = ask(&python, ORACLE, &given);
    let tree = average_linkage(&points).unwrap();
    let close = |ours: f64, theirs: &serde_json::Value| {
        let theirs = theirs.as_f64().unwrap();
        assert!(
            (ours - theirs).abs() <= 1e-12 * theirs.abs().max(1.0),
            "{ours} {theirs}"
        );
    };
    assert_eq!(told["heights"].as_array().unwrap().len(), tree.merges.len());
    for (merge, height) in tree.merges.iter().zip(told["heights"].as_array().unwrap()) {
        close(merge.height, height);
    }
    for (wcss, theirs) in tree.wcss(30).iter().zip(told["wcss"].as_array().unwrap()) {
        close(*wcss, theirs);
    }
    close(adjusted_rand_index(&left, &right).unwrap(), &told["ari"]);
}
