//! How long jobs take, and the work that is known to a cluster.

use crate::placement::PlacementRun;
use crate::resource::Resources;
use crate::time::{Decimal, SimDuration, SimTime};

/// Work known to the cluster: sums that change in O(1).
#[derive(Default)]
pub(super) struct Work {
    pub queued_jobs: usize,
    pub queued_processors: u64,
    /// Processor-nanoseconds of the queued jobs, at speed 1.0.
    pub queued: u128,
    /// Sum over running jobs of processors x finish instant.
    pub running_ends: u128,
}

impl Work {
    pub fn queue(&mut self, processors: u32, run_time: SimDuration) {
        self.queued_jobs += 1;
        self.queued_processors += u64::from(processors);
        self.queued += u128::from(processors) * u128::from(run_time.as_nanos());
    }

    pub fn unqueue(&mut self, processors: u32, run_time: SimDuration) {
        self.queued_jobs -= 1;
        self.queued_processors -= u64::from(processors);
        self.queued -= u128::from(processors) * u128::from(run_time.as_nanos());
    }

    pub fn start(&mut self, processors: u32, run_time: SimDuration, finish: SimTime) {
        self.unqueue(processors, run_time);
        self.running_ends += u128::from(processors) * u128::from(finish.as_nanos());
    }

    /// A running job ends at another instant than was known.
    pub fn change_end(&mut self, processors: u32, before: SimTime, finish: SimTime) {
        self.end(processors, before);
        self.running_ends += u128::from(processors) * u128::from(finish.as_nanos());
    }

    pub fn end(&mut self, processors: u32, finish: SimTime) {
        self.running_ends -= u128::from(processors) * u128::from(finish.as_nanos());
    }

    pub fn left(&self, now: SimTime, busy: u32) -> u128 {
        let passed = u128::from(busy) * u128::from(now.as_nanos());
        self.queued + self.running_ends.saturating_sub(passed)
    }
}

/// How long a job of this length at speed 1.0 takes on these nodes: over mixed
/// speeds it runs at the slowest.
pub fn run_time_on(
    resources: &Resources,
    placement: &[PlacementRun],
    run_time: SimDuration,
) -> SimDuration {
    let nanos = slowest_speed(resources, placement).divide(run_time.as_nanos());
    SimDuration::from_nanos(nanos)
}

/// The speed of the slowest of these nodes.
pub(super) fn slowest_speed(resources: &Resources, placement: &[PlacementRun]) -> Decimal {
    let speed_of = |run: &PlacementRun| resources.groups()[usize::from(run.resource)].speed;
    let slowest = match resources.groups() {
        [only] => Some(only.speed),
        _ => placement.iter().map(speed_of).min(),
    };
    slowest.unwrap_or(Decimal::ONE)
}
