//! Arrivals hour by hour and day by day.

use super::{Imbalance, TemporaryImbalance};
use crate::characterize::calendar::Clock;
use gridrig_core::time::{NANOS_PER_SEC, SimDuration};
use std::collections::BTreeMap;

/// Counts of one cluster while the trace is walked.
#[derive(Clone, Copy, Default)]
pub(super) struct Count {
    pub id: u32,
    pub jobs: u64,
    pub hour: Interval,
    pub day: Interval,
}

/// Arrivals of the current hour or day, and of the busiest so far.
#[derive(Clone, Copy, Default)]
pub(super) struct Interval {
    index: u64,
    pub jobs: u64,
    pub max: u64,
}

impl Interval {
    pub fn add(&mut self, index: u64) {
        if self.index != index {
            self.index = index;
            self.jobs = 0;
        }
        self.jobs += 1;
        self.max = self.max.max(self.jobs);
    }
}

/// The largest ratio of these loads; those that are null or 0 have none.
pub(super) fn widest(loads: impl Iterator<Item = (u32, Option<f64>)>) -> Option<Imbalance> {
    let mut known: Vec<(f64, u32)> = loads
        .filter_map(|(cluster, load)| Some((load.filter(|load| *load > 0.0)?, cluster)))
        .collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (least, most) = (known.first()?, known.last()?);
    (known.len() > 1).then(|| Imbalance {
        ratio: most.0 / least.0,
        most: most.1,
        least: least.1,
    })
}

/// Counts hour by hour; only the clusters of the current hour are looked at,
/// so that a trace of many sparse clusters costs no more than its jobs.
#[derive(Default)]
pub(super) struct Walk {
    /// Seconds from the hour and the day before the log's time 0 to it.
    pub shift: u64,
    pub counts: Vec<Count>,
    hour: Option<u64>,
    here: Vec<usize>,
    hours: u64,
    /// Hours by how many clusters had arrivals.
    busy: BTreeMap<usize, u64>,
    pub worst: Option<TemporaryImbalance>,
}

impl Walk {
    pub fn new(clock: &Clock, ids: &[u32]) -> Self {
        let count = |id: &u32| Count {
            id: *id,
            ..Count::default()
        };
        Walk {
            shift: clock.second_of_week(SimDuration::ZERO),
            counts: ids.iter().map(count).collect(),
            ..Walk::default()
        }
    }

    pub fn add(&mut self, submit: SimDuration, at: usize) {
        let second = submit.as_nanos() / NANOS_PER_SEC + self.shift;
        let hour = second / 3_600;
        if self.hour != Some(hour) {
            self.close_hour();
            self.hour = Some(hour);
        }
        let count = &mut self.counts[at];
        count.jobs += 1;
        count.day.add(second / 86_400);
        count.hour.add(hour);
        if count.hour.jobs == 1 {
            self.here.push(at);
        }
    }

    pub fn close_hour(&mut self) {
        let Some(hour) = self.hour.take() else { return };
        self.hours += 1;
        *self.busy.entry(self.here.len()).or_default() += 1;
        let counts = &self.counts;
        let here = self.here.drain(..).map(|at| &counts[at]);
        let loads = here.map(|count| (count.id, Some(count.hour.jobs as f64)));
        let Some(between) = widest(loads) else { return };
        let beaten = |worst: &TemporaryImbalance| between.ratio > worst.between.ratio;
        if self.worst.as_ref().is_none_or(beaten) {
            let at_s = (hour * 3_600).saturating_sub(self.shift) as f64;
            self.worst = Some(TemporaryImbalance { between, at_s });
        }
    }

    pub fn idle_share(&self) -> f64 {
        let all = self.busy.get(&self.counts.len()).copied().unwrap_or(0);
        (self.hours - all) as f64 / self.hours.max(1) as f64
    }
}
