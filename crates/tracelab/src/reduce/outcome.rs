//! What a reduction gives: the jobs that are left, and what each step did.

use super::rank::WindowRanking;
use crate::load::Loaded;
use crate::spec::{Keep, TraceWindow};
use gridrig_core::time::{NANOS_PER_SEC, SimDuration};
use std::collections::BTreeMap;

/// A trace after all steps but the offset.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduced {
    /// The source with the jobs that are left, still as jobs of a trace: their
    /// submit times count from time 0 of the run. Ties are in trace order.
    pub trace: Loaded,
    /// What became time 0 of the run, counted from the log's time 0 before
    /// scaling.
    pub origin: SimDuration,
    /// As in [`Prepared`](crate::prepare::Prepared).
    pub reduced: BTreeMap<&'static str, u64>,
    /// As in [`Prepared`](crate::prepare::Prepared).
    pub steps: Vec<StepReport>,
    /// As in [`Prepared`](crate::prepare::Prepared).
    pub window: Option<TraceWindow>,
    /// As in [`Prepared`](crate::prepare::Prepared).
    pub ranking: Option<WindowRanking>,
    /// As in [`Prepared`](crate::prepare::Prepared).
    pub keep: Keep,
    /// Of the jobs that are left.
    pub load: Load,
}

/// The names of the steps, in order.
pub const STEPS: [&str; 7] = [
    "sanitize",
    "width-limit",
    "window",
    "keep",
    "zero-run-time",
    "scale",
    "min-run-time",
];

/// What one reduction step did to the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepReport {
    /// One of [`STEPS`].
    pub name: &'static str,
    /// Before the step.
    pub before: Load,
    /// After it.
    pub after: Load,
}

/// The load of a set of jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Number of jobs.
    pub jobs: u64,
    /// Sum of run time x processors, in processor-nanoseconds.
    pub processor_nanos: u128,
    /// Time they arrive in: from the first to the last submit of the whole
    /// trace, the length of the window once there is one, but not past the last
    /// submit, divided by the arrival scale. Leaving out single jobs does not change it.
    pub span: SimDuration,
}

impl Load {
    /// Processor-seconds wanted per second over processors there are; `None`
    /// without span or processors.
    pub fn offered(&self, processors: u64) -> Option<f64> {
        let capacity = u128::from(processors) * u128::from(self.span.as_nanos());
        (capacity > 0).then(|| self.processor_nanos as f64 / capacity as f64)
    }

    /// Sum of run time x processors in processor-seconds.
    pub fn processor_seconds(&self) -> f64 {
        self.processor_nanos as f64 / NANOS_PER_SEC as f64
    }
}
