//! Busy against available processor time, by cluster and by domain.

use crate::jobs::{ClusterInfo, JobRow, JobTable};
use crate::measure::Measure;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::time::{SimDuration, SimTime};
use serde::Serialize;

/// The load of a cluster over the measured interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClusterLoad {
    /// Its name.
    pub cluster: String,
    /// Its domain; null in a run without brokers.
    pub domain: Option<String>,
    /// All its processors.
    pub processors: u32,
    /// Processor-seconds in use.
    pub busy_processor_s: f64,
    /// Busy / available processor-seconds, without those of nodes that were down;
    /// null for an empty interval.
    pub utilization: Option<f64>,
    /// Jobs that started in the interval.
    pub started: u64,
}

/// The load of a domain over the measured interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DomainLoad {
    /// Its name.
    pub domain: String,
    /// All processors of its clusters.
    pub processors: u64,
    /// Processor-seconds in use.
    pub busy_processor_s: f64,
    /// Busy / available processor-seconds; null for an empty interval or a
    /// domain without clusters.
    pub utilization: Option<f64>,
    /// Jobs that started in the interval.
    pub started: u64,
}

/// Busy processor-nanoseconds and starts of some processors.
#[derive(Clone, Copy, Default)]
struct Busy {
    processors: u64,
    nanos: u128,
    /// Processor-nanoseconds of nodes that were down.
    down: u128,
    started: u64,
    /// The mean speed of a processor.
    speed: f64,
}

/// The measured interval and what was busy in it. All jobs count here,
/// whenever they were submitted: a processor does not know.
pub(super) struct Load {
    from: SimTime,
    /// Where the interval ends; `None` if nothing finished.
    pub(super) until: Option<SimTime>,
    run_end: SimTime,
    by_cluster: Vec<Busy>,
    /// Processor-nanoseconds at speed 1.0 that were done in the interval.
    work: f64,
    /// From the first to the last arrival of a measured job.
    arrivals: (SimTime, SimTime),
    /// What was busy then, and down.
    arrivals_busy: Busy,
}

/// The nodes of a run to the end are as fast as it shows; of any other the mean of the
/// cluster is taken.
fn speed(row: &JobRow, busy: &Busy) -> f64 {
    match row.run_time() {
        Some(run) if row.earlier.is_empty() && !run.is_zero() => {
            row.run_time_ref.as_secs_f64() / run.as_secs_f64()
        }
        _ => busy.speed,
    }
}

impl Load {
    pub(super) fn new(table: &JobTable, measure: &Measure) -> Self {
        // After the end of the run nothing is known: that time does not count as idle.
        let end = table.end().max(measure.from);
        let wanted = measure.until.map(|until| until.min(end));
        let until = wanted.or(table.last_finish);
        let (from, to) = (measure.from, until.unwrap_or(measure.from));
        let new = |info: &ClusterInfo| Busy {
            processors: u64::from(info.processors),
            down: down_nanos(info, from, to),
            speed: info.speeds as f64 / 1e9 / f64::from(info.processors.max(1)),
            ..Busy::default()
        };
        let clusters = table.clusters().iter();
        // Rows are in the order of arrival.
        let arrived = |row: &JobRow| {
            let measured = measure.measures(row.submit, row.direct);
            row.submit.filter(|_| measured)
        };
        let first = table.rows().iter().find_map(arrived);
        let last = table.rows().iter().rev().find_map(arrived);
        let arrivals = (first.unwrap_or(from), last.unwrap_or(from));
        let down = clusters.clone();
        let down = down.map(|info| down_nanos(info, arrivals.0, arrivals.1));
        Load {
            from: measure.from,
            until,
            run_end: table.end(),
            arrivals_busy: Busy {
                down: down.sum(),
                processors: clusters.clone().map(|it| u64::from(it.processors)).sum(),
                ..Busy::default()
            },
            by_cluster: clusters.map(new).collect(),
            work: 0.0,
            arrivals,
        }
    }

    pub(super) fn add(&mut self, row: &JobRow) {
        if !row.claims.is_empty() {
            return self.add_parts(row);
        }
        let (from, to) = (self.from, self.until.unwrap_or(self.from));
        let Some(busy) = row
            .cluster
            .and_then(|id| self.by_cluster.get_mut(id.index()))
        else {
            return;
        };
        let speed = speed(row, busy);
        let last = row.occupied(self.run_end);
        let earlier = row.earlier.iter().map(|run| (run.start, run.end));
        for (start, end) in earlier.chain(last) {
            let overlap = end.min(to).since(start.max(from));
            let nanos = u128::from(overlap.as_nanos()) * u128::from(row.processors);
            busy.nanos += nanos;
            self.work += nanos as f64 * speed;
            let (first, last) = self.arrivals;
            let overlap = end.min(last).since(start.max(first));
            self.arrivals_busy.nanos += u128::from(overlap.as_nanos()) * u128::from(row.processors);
            busy.started += u64::from((from..=to).contains(&start));
        }
    }

    /// Each cluster has held its processors for a part of it, from before it began; work is
    /// what was done from then on.
    fn add_parts(&mut self, row: &JobRow) {
        let (from, to) = (self.from, self.until.unwrap_or(self.from));
        let begun = row.start.filter(|start| (from..=to).contains(start));
        for claim in &row.claims {
            let Some(busy) = self.by_cluster.get_mut(claim.cluster.index()) else {
                continue;
            };
            let until = claim.until.unwrap_or(self.run_end);
            let held = |from: SimTime, to: SimTime| {
                let length = until.min(to).since(claim.from.max(from));
                u128::from(length.as_nanos()) * u128::from(claim.processors)
            };
            busy.nanos += held(from, to);
            self.arrivals_busy.nanos += held(self.arrivals.0, self.arrivals.1);
            let start = row.start.unwrap_or(until);
            self.work += held(start.max(from), to) as f64 * speed(row, busy);
        }
        let lead = begun.and(row.cluster);
        if let Some(busy) = lead.and_then(|id| self.by_cluster.get_mut(id.index())) {
            busy.started += 1;
        }
    }

    pub(super) fn utilization(&self) -> Option<f64> {
        self.share(sum(self.by_cluster.iter()))
    }

    /// Work done over what the processors could do at their speeds; of nodes that
    /// were down the mean speed of their cluster is taken.
    pub(super) fn utilization_ref(&self) -> Option<f64> {
        let length = self.until?.since(self.from).as_nanos();
        let capacities = self.by_cluster.iter().map(|busy| {
            let up = u128::from(length) * u128::from(busy.processors);
            up.saturating_sub(busy.down) as f64 * busy.speed
        });
        let capacity: f64 = capacities.sum();
        (capacity > 0.0).then(|| self.work / capacity)
    }

    /// Busy over available processor time from the first to the last arrival.
    pub(super) fn utilization_arrivals(&self) -> Option<f64> {
        let (first, last) = self.arrivals;
        share(self.arrivals_busy, last.since(first))
    }

    /// Processor-nanoseconds of nodes that were down in the interval.
    pub(super) fn down(&self) -> u128 {
        self.by_cluster.iter().map(|busy| busy.down).sum()
    }

    pub(super) fn clusters(&self, table: &JobTable) -> Vec<ClusterLoad> {
        let names = table.names();
        let infos = table.clusters().iter().zip(&self.by_cluster);
        (0..)
            .zip(infos)
            .map(|(id, (info, busy))| ClusterLoad {
                cluster: names.cluster(ClusterId(id)).into_owned(),
                domain: info.domain.map(|domain| names.domain(domain).into_owned()),
                processors: info.processors,
                busy_processor_s: busy.nanos as f64 / 1e9,
                utilization: self.share(*busy),
                started: busy.started,
            })
            .collect()
    }

    pub(super) fn domains(&self, table: &JobTable) -> Vec<DomainLoad> {
        let names = table.names();
        let load_of = |id: DomainId| {
            let infos = table.clusters().iter().zip(&self.by_cluster);
            let own = infos.filter(|(info, _)| info.domain == Some(id));
            let busy = sum(own.map(|(_, busy)| busy));
            DomainLoad {
                domain: names.domain(id).into_owned(),
                processors: busy.processors,
                busy_processor_s: busy.nanos as f64 / 1e9,
                utilization: self.share(busy),
                started: busy.started,
            }
        };
        names.domain_ids().map(load_of).collect()
    }

    fn share(&self, busy: Busy) -> Option<f64> {
        share(busy, self.until?.since(self.from))
    }
}

/// Busy over available processor time of an interval of this length.
fn share(busy: Busy, length: SimDuration) -> Option<f64> {
    let available = u128::from(length.as_nanos()) * u128::from(busy.processors);
    let available = available.saturating_sub(busy.down);
    (available > 0).then(|| busy.nanos as f64 / available as f64)
}

/// Processor-nanoseconds that nodes of a cluster were down in an interval.
fn down_nanos(info: &ClusterInfo, from: SimTime, to: SimTime) -> u128 {
    let mut nanos: i128 = 0;
    for (at, processors) in &info.down {
        let rest = to.since((*at).max(from)).as_nanos();
        nanos += i128::from(*processors) * i128::from(rest);
    }
    nanos.max(0).cast_unsigned()
}

fn sum<'a>(all: impl Iterator<Item = &'a Busy>) -> Busy {
    all.fold(Busy::default(), |sum, busy| Busy {
        processors: sum.processors + busy.processors,
        nanos: sum.nanos + busy.nanos,
        down: sum.down + busy.down,
        started: sum.started + busy.started,
        speed: sum.speed,
    })
}
