//! What the pictures show.

use super::arrivals::{Arrivals, UNIT_NS};
use super::job::Pair;
use super::measure::{Measured, Ruler};
use crate::load::TraceJob;

/// What the pictures show; not part of the document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// Of the original.
    pub original: Curve,
    /// Of the reduced trace, in the time of the original.
    pub reduced: Curve,
}

/// What the pictures show of one trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Processors and cumulative share, at each size.
    pub processors: Vec<(f64, f64)>,
    /// Submit time in seconds and cluster of the jobs.
    pub jobs: Vec<(f64, usize)>,
    /// Where the clusters begin, in seconds.
    pub starts: Vec<f64>,
}

/// The processor CDFs (LSAP Figure 3) and the jobs by cluster (Figure 4).
pub(super) fn curves(pair: &Pair, ruler: &Ruler<'_>, observed: &Measured) -> Curves {
    let reduced = pair.reduced.iter().map(|placed| &placed.job);
    Curves {
        original: Curve::of(pair.reference.iter(), &ruler.arrivals),
        reduced: Curve::of(reduced, &observed.arrivals),
    }
}

impl Curve {
    fn of<'a>(jobs: impl Iterator<Item = &'a TraceJob> + Clone, arrivals: &Arrivals) -> Self {
        let mut sizes: Vec<u32> = jobs.clone().map(|job| job.processors).collect();
        sizes.sort_unstable();
        let count = sizes.len() as f64;
        let mut below = 0;
        let step = |run: &[u32]| {
            below += run.len();
            (f64::from(run[0]), below as f64 / count)
        };
        let point = |job: &TraceJob| {
            let at = job.submit.as_nanos();
            (at as f64 / 1e9, arrivals.cut.label(at / UNIT_NS))
        };
        let seconds = |start: &u64| *start as f64 * (UNIT_NS as f64 / 1e9);
        Curve {
            processors: sizes.chunk_by(|a, b| a == b).map(step).collect(),
            jobs: jobs.map(point).collect(),
            starts: arrivals.cut.starts.iter().map(seconds).collect(),
        }
    }
}
