//! How much of the demand of the original a reduction keeps.

use super::Options;
use super::encode::Encoded;
use super::statistics::Values;
use serde::Serialize;

/// The statistic of demand per job.
pub(super) const DEMAND: &str = "demand.ratio";

/// Loads are the same within this share.
const LOAD: f64 = 0.10;

/// Demand in processor-seconds of the original's time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Demand {
    /// Of the jobs that could be sampled.
    pub original_processor_s: f64,
    /// Of the reduced trace.
    pub reduced_processor_s: f64,
    /// The second over the first; null where there is no demand.
    pub share: Option<f64>,
    /// Offered load of the reduced trace over that of the original, on the same
    /// machine; null where there is no demand, and for generated traces.
    pub load_ratio: Option<f64>,
    /// Whether the header of the reduced trace, or the user, says how it was reduced.
    pub declared: bool,
}

impl Demand {
    pub(super) fn of(encoded: &Encoded, observed: &Values, options: &Options) -> Self {
        let jobs = encoded.reference.len() as f64;
        let sampled = encoded.reduced.len() as f64 / jobs;
        let original = encoded.mean_demand * jobs;
        let share = observed.get(DEMAND).map(|ratio| ratio * sampled);
        let (arrival, run_time) = (
            options.selection.scale_arrival,
            options.selection.scale_run_time,
        );
        Demand {
            original_processor_s: original,
            reduced_processor_s: share.unwrap_or(0.0) * original,
            share,
            load_ratio: share
                .filter(|_| options.thin.is_none())
                .map(|share| share * arrival.as_f64() / run_time.as_f64()),
            declared: options.declared,
        }
    }

    /// Whether the load is the original's, or somebody says that it is not.
    pub fn load_is_known(&self) -> bool {
        self.declared
            || self
                .load_ratio
                .is_none_or(|ratio| (ratio - 1.0).abs() <= LOAD)
    }
}
