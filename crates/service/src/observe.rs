//! What the metrics of every participant of a run have in common.

use crate::http::Samples;
use crate::http::metrics::table;
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::{Counts, LAG_BOUNDS, RunClock};

/// The run's clock at this instant.
pub fn clock_samples(clock: RunClock, now: SimTime, samples: &mut Samples) {
    samples.level(&table::VIRTUAL_TIME, &[], now.as_secs_f64());
    samples.level(&table::CLOCK_SPEED, &[], clock.speed().as_f64());
}

/// What a participant has told so far. What has not happened yet is there as
/// 0: a counter that appears with its first event hides that event from rates.
pub fn count_samples(counts: &Counts, samples: &mut Samples) {
    // Information is about no job, and is among the messages.
    for (event, count) in counts.events().filter(|(event, _)| *event != "info-sent") {
        samples.count(&table::JOB_EVENTS, &[event], count);
    }
    for (kind, count) in counts.messages() {
        samples.count(&table::MESSAGES_SENT, &[kind.name()], count);
    }
}

/// How late jobs were handed over.
pub fn lag_samples(counts: &Counts, samples: &mut Samples) {
    let bounds = LAG_BOUNDS.iter().map(|bound| bound.as_secs_f64());
    let bounds = bounds.chain([f64::INFINITY]);
    let buckets = bounds.zip(counts.lags().iter().copied()).collect();
    let sum = counts.total_lag().as_secs_f64();
    samples.classes(&table::SUBMISSION_LAG, &[], sum, buckets);
}
