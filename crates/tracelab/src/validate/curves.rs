//! What the pictures show.

use super::arrivals::{Arrivals, UNIT_NS};
use super::job::Pair;
use super::measure::{Measured, Ruler};
use crate::load::TraceJob;

/// What the pictures show; not part of the document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// Processors and cumulative share of the original, at each size.
    pub original_processors: Vec<(f64, f64)>,
    /// The same of the reduced trace.
    pub reduced_processors: Vec<(f64, f64)>,
    /// Submit time in seconds, processors and cluster of the original's jobs.
    pub original_jobs: Vec<(f64, f64, usize)>,
    /// The same of the reduced trace, in the time of the original.
    pub reduced_jobs: Vec<(f64, f64, usize)>,
    /// Where the clusters of the original begin, in seconds.
    pub original_starts: Vec<f64>,
    /// Where those of the reduced trace begin.
    pub reduced_starts: Vec<f64>,
}

/// The processor CDFs (LSAP Figure 3) and the jobs by cluster (Figure 4).
pub(super) fn curves(pair: &Pair, ruler: &Ruler<'_>, observed: &Measured) -> Curves {
    let reduced = || pair.reduced.iter().map(|placed| &placed.job);
    Curves {
        original_processors: processors(pair.reference.iter()),
        reduced_processors: processors(reduced()),
        original_jobs: jobs(pair.reference.iter(), &ruler.arrivals),
        reduced_jobs: jobs(reduced(), &observed.arrivals),
        original_starts: starts(&ruler.arrivals),
        reduced_starts: starts(&observed.arrivals),
    }
}

fn processors<'a>(jobs: impl Iterator<Item = &'a TraceJob>) -> Vec<(f64, f64)> {
    let mut sizes: Vec<u32> = jobs.map(|job| job.processors).collect();
    sizes.sort_unstable();
    let count = sizes.len() as f64;
    let mut below = 0;
    let mut step = |run: &[u32]| {
        below += run.len();
        (f64::from(run[0]), below as f64 / count)
    };
    sizes.chunk_by(|a, b| a == b).map(&mut step).collect()
}

fn jobs<'a>(
    jobs: impl Iterator<Item = &'a TraceJob>,
    arrivals: &Arrivals,
) -> Vec<(f64, f64, usize)> {
    let point = |job: &TraceJob| {
        let cluster = arrivals.cut.label(job.submit.as_nanos() / UNIT_NS);
        (
            job.submit.as_nanos() as f64 / 1e9,
            f64::from(job.processors),
            cluster,
        )
    };
    jobs.map(point).collect()
}

fn starts(arrivals: &Arrivals) -> Vec<f64> {
    let seconds = |start: &u64| *start as f64 * (UNIT_NS as f64 / 1e9);
    arrivals.cut.starts.iter().map(seconds).collect()
}
