//! Waits of which some were cut off by the end of the run.

use crate::jobs::JobRow;
use crate::stats::Survival;
use gridrig_core::time::SimTime;
use serde::Serialize;

/// How long jobs wait until they start, those that had not started when the run or their
/// wait was over included: by the product-limit estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CensoredWaits {
    /// Jobs.
    pub n: u64,
    /// Those of them that never started.
    pub cut: u64,
    /// The mean, as far as waits were seen: too low if the longest was cut.
    pub mean: Option<f64>,
    /// Half wait no longer; null where more than half lasted to the end of what was seen.
    pub p50: Option<f64>,
    /// The same of nine in ten.
    pub p90: Option<f64>,
}

impl CensoredWaits {
    /// How long a job waited, and whether it started then.
    pub(super) fn of_job(row: &JobRow, run_end: SimTime) -> Option<(f64, bool)> {
        let submit = row.submit?;
        let over = row.start.or(row.end).unwrap_or(run_end);
        Some((over.since(submit).as_secs_f64(), row.start.is_some()))
    }

    pub(super) fn of(waits: Vec<(f64, bool)>) -> Self {
        let n = waits.len() as u64;
        let cut = waits.iter().filter(|(_, over)| !over).count() as u64;
        let longest = waits.iter().map(|(wait, _)| *wait).reduce(f64::max);
        let survival = Survival::of(waits);
        let mean = longest.map(|longest| {
            // The area below the steps.
            let (mut area, mut from, mut share) = (0.0, 0.0, 1.0);
            for (at, left) in survival.steps.iter().copied().chain([(longest, 0.0)]) {
                area += (at - from) * share;
                (from, share) = (at, left);
            }
            area
        });
        CensoredWaits {
            n,
            cut,
            mean,
            p50: survival.quantile(0.5),
            p90: survival.quantile(0.9),
        }
    }
}
