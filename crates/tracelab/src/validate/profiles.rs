//! Kinds of jobs by k-means; the only module that knows linfa and ndarray.

use crate::load::TraceJob;
use crate::synth::unit::weighted;
use gridrig_core::rng;
use gridrig_core::time::NANOS_PER_SEC;
use linfa::DatasetBase;
use linfa::traits::Fit;
use linfa_clustering::{KMeans, KMeansInit};
use ndarray::Array2;
use rand::RngExt;

/// A partition of points into k clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct Partition {
    /// The means.
    pub centres: Vec<Vec<f64>>,
    /// Within-cluster sum of squares.
    pub wcss: f64,
}

/// linfa's k-means from centres chosen by k-means++ (Arthur and Vassilvitskii
/// 2007) out of the stream `k-means` of the seed, the best of `runs` runs.
/// `None` where there are no points, fewer distinct ones than clusters, or
/// rows of different length.
pub fn k_means(points: &[Vec<f64>], k: usize, runs: u32, seed: u64) -> Option<Partition> {
    let columns = points.first()?.len();
    let flat: Vec<f64> = points.iter().flatten().copied().collect();
    let records = Array2::from_shape_vec((points.len(), columns), flat).ok()?;
    let dataset = DatasetBase::from(records);
    let mut stream = rng::stream(seed, "k-means");
    let mut best: Option<Partition> = None;
    for _ in 0..runs {
        let centres = plus_plus(points, k, &mut stream)?;
        let flat: Vec<f64> = centres.into_iter().flatten().collect();
        let centres = Array2::from_shape_vec((k, columns), flat).ok()?;
        let model = KMeans::params(k)
            .init_method(KMeansInit::Precomputed(centres))
            .n_runs(1)
            .max_n_iterations(100)
            .tolerance(1e-6)
            .fit(&dataset)
            .ok()?;
        // linfa's inertia is that of the last assignment, per point.
        let wcss = model.inertia() * points.len() as f64;
        if best.as_ref().is_none_or(|best| wcss < best.wcss) {
            let rows = model.centroids().rows().into_iter();
            best = Some(Partition {
                centres: rows.map(|row| row.to_vec()).collect(),
                wcss,
            });
        }
    }
    best
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
        let distance = |at: &usize| squared_distance(&self.centres[*at], &point);
        let order = |a: &usize, b: &usize| distance(a).total_cmp(&distance(b));
        (0..self.centres.len()).min_by(order).unwrap_or(0) as u32
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
