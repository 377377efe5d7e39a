//! Warm-up and wrap-up: the ends of a log at which its system was not yet, or
//! no longer, used as in between (LSAP 3.2 avoids both).

use crate::load::TraceJob;
use crate::spec::WindowChoice;
use gridrig_core::time::SimDuration;

/// Segments are this long ...
const SEGMENT: SimDuration = SimDuration::from_secs(7 * 86_400);

/// ... unless there would be fewer of them than this.
const LEAST_SEGMENTS: u64 = 16;

/// A segment is steady when its demand per second lies between the median
/// over this and the median times this.
const BAND: f64 = 2.0;

/// At most the part `1 / this` of the segments is cut off at either end by
/// the rule: a log that is unsteady for longer is simply like that.
const LARGEST_CUT: usize = 4;

/// The part of a trace between its warm-up and its wrap-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady {
    /// Where it begins, counted from the log's time 0.
    pub start: SimDuration,
    /// Where it ends; the job submitted last belongs to it when nothing is
    /// cut off.
    pub end: SimDuration,
    /// Left out after the first submit.
    pub skip_start: SimDuration,
    /// Left out before the last submit.
    pub skip_end: SimDuration,
}

impl Steady {
    /// Of jobs by submit time. What the choice does not say is left to the
    /// rule: the time from first to last submit is cut into segments of 7
    /// days (16 equal ones if there would be fewer); those at an end whose
    /// demand (run time x processors of the jobs submitted there, per second)
    /// is below half or above twice the median segment's are left out, but no
    /// more than a quarter of all at either end.
    pub(super) fn of(jobs: &[TraceJob], choice: &WindowChoice) -> Self {
        let first = jobs.first().map_or(SimDuration::ZERO, |job| job.submit);
        let last = jobs.last().map_or(SimDuration::ZERO, |job| job.submit);
        let (at_start, at_end) = match (choice.skip_start, choice.skip_end) {
            (Some(start), Some(end)) => (start, end),
            (start, end) => {
                let rule = unsteady_ends(jobs, first, last);
                (start.unwrap_or(rule.0), end.unwrap_or(rule.1))
            }
        };
        Steady {
            start: first + at_start,
            // Half open, so that the last job is inside.
            end: last - at_end + SimDuration::from_nanos(1),
            skip_start: at_start,
            skip_end: at_end,
        }
    }

    /// How long it is; nothing where the two ends meet.
    pub fn length(&self) -> SimDuration {
        self.end - self.start
    }
}

fn unsteady_ends(
    jobs: &[TraceJob],
    first: SimDuration,
    last: SimDuration,
) -> (SimDuration, SimDuration) {
    let span = (last - first).as_nanos();
    let segment = SEGMENT.as_nanos().min(span / LEAST_SEGMENTS);
    if segment == 0 {
        return (SimDuration::ZERO, SimDuration::ZERO);
    }
    // The last one takes what is left over, and is measured per second.
    let count = (span / segment) as usize;
    let mut demands = vec![0.0; count];
    for job in jobs {
        let index = (job.submit - first).as_nanos() / segment;
        demands[(index as usize).min(count - 1)] += job.demand() as f64;
    }
    let last_segment = span - segment * (count as u64 - 1);
    demands[count - 1] *= segment as f64 / last_segment as f64;
    let mut sorted = demands.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let median = f64::midpoint(sorted[(count - 1) / 2], sorted[count / 2]);
    let unsteady = |demand: &&f64| **demand < median / BAND || **demand > median * BAND;
    let most = count / LARGEST_CUT;
    let at_start = demands.iter().take_while(unsteady).count().min(most);
    let at_end = demands.iter().rev().take_while(unsteady).count().min(most);
    let skipped_end = match at_end {
        0 => 0,
        n => last_segment + segment * (n as u64 - 1),
    };
    (
        SimDuration::from_nanos(segment * at_start as u64),
        SimDuration::from_nanos(skipped_end),
    )
}
