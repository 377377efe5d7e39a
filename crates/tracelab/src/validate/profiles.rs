//! Kinds of jobs by k-means.

use crate::load::TraceJob;
use crate::synth::unit::weighted;
use gridrig_core::rng;
use gridrig_core::time::NANOS_PER_SEC;
use rand::RngExt;

/// A partition of points into k clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct Partition {
    /// The means.
    pub centres: Vec<Vec<f64>>,
    /// Within-cluster sum of squares.
    pub wcss: f64,
}

/// Steps of one run of k-means at most.
const MOST_STEPS: usize = 100;

/// Lloyd's algorithm (1982) from centres chosen by k-means++ (Arthur and Vassilvitskii
/// 2007) out of the stream `k-means` of the seed, the best of `runs` runs, each until no
/// point changes its cluster or after 100 steps. `None` where there are no points, fewer
/// distinct ones than clusters, or rows of different length.
pub fn k_means(points: &[Vec<f64>], k: usize, runs: u32, seed: u64) -> Option<Partition> {
    let columns = points.first()?.len();
    if k == 0 || points.iter().any(|point| point.len() != columns) {
        return None;
    }
    let mut stream = rng::stream(seed, "k-means");
    let mut best: Option<Partition> = None;
    for _ in 0..runs {
        let found = lloyd(points, plus_plus(points, k, &mut stream)?);
        if best.as_ref().is_none_or(|best| found.wcss < best.wcss) {
            best = Some(found);
        }
    }
    best
}

/// Puts each point to the nearest centre and each centre into the middle of its points, in
/// turn. A centre without points stays where it is.
fn lloyd(points: &[Vec<f64>], mut centres: Vec<Vec<f64>>) -> Partition {
    let mut clusters = vec![usize::MAX; points.len()];
    for _ in 0..MOST_STEPS {
        let mut has_changed = false;
        for (point, cluster) in points.iter().zip(&mut clusters) {
            let found = nearest(&centres, point);
            has_changed |= std::mem::replace(cluster, found) != found;
        }
        if !has_changed {
            break;
        }
        let mut sums = vec![(vec![0.0; points[0].len()], 0_u32); centres.len()];
        for (point, cluster) in points.iter().zip(&clusters) {
            let (sum, count) = &mut sums[*cluster];
            sum.iter_mut().zip(point).for_each(|(sum, x)| *sum += x);
            *count += 1;
        }
        for (centre, (sum, count)) in centres.iter_mut().zip(sums) {
            if count > 0 {
                *centre = sum.iter().map(|sum| sum / f64::from(count)).collect();
            }
        }
    }
    let squares = points.iter().zip(&clusters);
    let squares = squares.map(|(point, cluster)| squared_distance(point, &centres[*cluster]));
    Partition {
        wcss: squares.sum(),
        centres,
    }
}

/// The first of the nearest centres.
fn nearest(centres: &[Vec<f64>], point: &[f64]) -> usize {
    let distances = centres.iter().map(|centre| squared_distance(centre, point));
    let nearest = distances
        .enumerate()
        .min_by(|(_, a), (_, b)| a.total_cmp(b));
    nearest.map_or(0, |(at, _)| at)
}

/// Centres far apart: each further one is drawn in proportion to the squared
/// distance from those there are.
fn plus_plus(points: &[Vec<f64>], k: usize, stream: &mut impl rand::Rng) -> Option<Vec<Vec<f64>>> {
    let first = points.get(stream.random_range(0..points.len().max(1)))?;
    let mut centres = vec![first.clone()];
    let mut nearest: Vec<f64> = points.iter().map(|p| squared_distance(p, first)).collect();
    while centres.len() < k {
        let at = weighted(stream, nearest.iter().copied())?;
        let centre = points[at].clone();
        for (distance, point) in nearest.iter_mut().zip(points) {
            *distance = distance.min(squared_distance(point, &centre));
        }
        centres.push(centre);
    }
    Some(centres)
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Kinds of jobs: fewer than the job classes have buckets, and cut where the
/// trace has its gaps.
const PROFILES: usize = 8;

/// k-means sees at most so many jobs of a trace; all are classified.
const FITTED: usize = 10_000;

/// The kinds of jobs of a reference.
#[derive(Clone, Debug)]
pub(super) struct Profiles {
    centres: Vec<Vec<f64>>,
    scale: [f64; 2],
}

impl Profiles {
    pub(super) fn of(reference: &[TraceJob], seed: u64) -> Self {
        let step = reference.len().div_ceil(FITTED).max(1);
        let fitted: Vec<&TraceJob> = reference.iter().step_by(step).collect();
        let scale = [0, 1].map(|column| {
            let values = fitted.iter().map(|job| raw(job)[column]);
            let deviation = deviation(values);
            if deviation > 0.0 {
                1.0 / deviation
            } else {
                0.0
            }
        });
        let points: Vec<Vec<f64>> = fitted.iter().map(|job| point(job, scale)).collect();
        let mut distinct = points.clone();
        distinct.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        distinct.dedup();
        let k = PROFILES.min(distinct.len());
        let centres = k_means(&points, k, 3, seed).map_or(distinct, |found| found.centres);
        Profiles { centres, scale }
    }

    pub(super) fn count(&self) -> usize {
        self.centres.len()
    }

    /// The nearest centre.
    pub(super) fn class(&self, job: &TraceJob) -> u32 {
        let point = point(job, self.scale);
        nearest(&self.centres, &point) as u32
    }
}

/// Logarithms of run time and processors.
fn raw(job: &TraceJob) -> [f64; 2] {
    let run = job.run_time.as_nanos() as f64 / NANOS_PER_SEC as f64;
    [run.ln_1p(), f64::from(job.processors).ln()]
}

/// Hour of day, counted from the original's time 0.
pub(super) fn hour(job: &TraceJob) -> u32 {
    (job.submit.as_nanos() / NANOS_PER_SEC % 86_400 / 3_600) as u32
}

/// Standardized logarithms of run time and processors, and the hour of day as
/// a point on a circle, since 23 h is next to 0 h.
fn point(job: &TraceJob, scale: [f64; 2]) -> Vec<f64> {
    let [run, processors] = raw(job);
    let angle = f64::from(hour(job)) / 24.0 * std::f64::consts::TAU;
    vec![
        run * scale[0],
        processors * scale[1],
        angle.sin(),
        angle.cos(),
    ]
}

fn deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    (values.map(|v| (v - mean) * (v - mean)).sum::<f64>() / count).sqrt()
}
