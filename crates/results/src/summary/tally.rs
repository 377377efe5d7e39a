//! What is counted over the rows of the job table, all in one pass.

use super::further::Further;
use super::{JobCounts, MetricColumns};
use crate::jobs::{ClusterInfo, JobRow, JobTable};
use crate::measure::Measure;
use gridrig_core::job::Reason;
use gridrig_core::time::{SimDuration, SimTime};
use std::collections::BTreeMap;

/// Counts and values over the jobs of a run; all but `jobs` are over the
/// measured ones.
#[derive(Default)]
pub(super) struct Tally<'a> {
    measure: Measure,
    clusters: &'a [ClusterInfo],
    run_end: SimTime,
    /// How late a start may be without having waited.
    tolerance: SimDuration,
    /// All jobs, measured or not.
    pub jobs: JobCounts,
    /// The measured jobs.
    pub measured: JobCounts,
    /// Jobs that were forwarded at least once.
    pub forwarded: u64,
    /// All their forwards.
    pub forwards: u64,
    /// Jobs that started in a domain.
    pub started: u64,
    /// Those of them that started away from their origin.
    pub away: u64,
    /// Jobs that a pass did not start at the first opportunity, whether they
    /// started later or never.
    pub waited: u64,
    /// Jobs in an LRMS that did not wait.
    pub unwaited: u64,
    /// The delays of those that were not requeued.
    pub unwaited_delays: Vec<f64>,
    /// Processor-nanoseconds of completed jobs, without what was lost to nodes that
    /// failed.
    pub goodput_nanos: u128,
    /// Why jobs did not complete.
    pub reasons: BTreeMap<&'static str, u64>,
    /// Processor-nanoseconds of what was lost to nodes that failed.
    pub lost_nanos: u128,
    /// How often jobs were requeued.
    pub requeues: u64,
    /// Jobs that failed with a node.
    pub failed_with_node: u64,
    /// submit - intended in nanoseconds.
    pub lags: Vec<i64>,
    /// The six metrics.
    pub metrics: MetricColumns,
    /// The shortest run.
    pub shortest: Option<SimDuration>,
    /// Slowdowns without a bound.
    pub slowdown: Vec<f64>,
    /// Times in the queue of an LRMS.
    pub queue_s: Vec<f64>,
    /// Further figures.
    pub further: Further,
    first_submit: Option<SimTime>,
    last_finish: Option<SimTime>,
}

impl<'a> Tally<'a> {
    pub(super) fn new(table: &'a JobTable, measure: &Measure, tolerance: SimDuration) -> Self {
        let jobs = table.rows().len();
        Tally {
            measure: *measure,
            clusters: table.clusters(),
            run_end: table.end(),
            tolerance,
            lags: Vec::with_capacity(jobs),
            metrics: MetricColumns::with_capacity(jobs),
            slowdown: Vec::with_capacity(jobs),
            queue_s: Vec::with_capacity(jobs),
            ..Tally::default()
        }
    }

    pub(super) fn add(&mut self, row: &JobRow) {
        self.jobs.add(row);
        let reason = row.reason.filter(|_| row.submit.is_some());
        if let Some(reason) = reason {
            *self.reasons.entry(reason.name()).or_default() += 1;
        }
        let measured = self.measure.measures(row.submit, row.direct);
        self.further.predictions.add(row, measured);
        let Some(submit) = row.submit.filter(|_| measured) else {
            return;
        };
        self.measured.add(row);
        self.forwarded += u64::from(row.forwards > 0);
        self.forwards += u64::from(row.forwards);
        self.first_submit = Some(self.first_submit.map_or(submit, |first| first.min(submit)));
        self.last_finish = self.last_finish.max(row.finish);
        if row.start.is_some() && row.exec_domain.is_some() {
            self.started += 1;
            self.away += u64::from(row.exec_domain != row.origin);
        }
        if let Some(run_time) = row.run_time() {
            self.shortest = Some(self.shortest.map_or(run_time, |least| least.min(run_time)));
            self.goodput_nanos += u128::from(run_time.as_nanos()) * u128::from(row.processors);
        }
        self.requeues += row.earlier.len() as u64;
        self.lost_nanos += row.lost_nanos();
        if row.reason == Some(Reason::NodeFailed) {
            self.failed_with_node += 1;
            let ran = row.occupied(self.run_end);
            let ran = ran.map_or(0, |(start, end)| end.since(start).as_nanos());
            self.lost_nanos += u128::from(ran) * u128::from(row.processors);
        }
        self.lags.extend(row.submission_lag_ns());
        self.add_waiting(row);
        self.metrics.add(row, self.measure.tau);
        self.slowdown.extend(row.slowdown());
        self.queue_s.extend(row.queue_s());
        self.further.add(row, self.measure.tau);
    }

    /// A job that several clusters ran together has waited in no queue of theirs. One that
    /// was requeued may have waited before each of its runs.
    fn add_waiting(&mut self, row: &JobRow) {
        if !row.claims.is_empty() {
            return;
        }
        let (Some(queued), Some(cluster)) = (row.queued, row.cluster) else {
            return;
        };
        let interval = self.clusters.get(cluster.index());
        let interval = interval.map_or(SimDuration::ZERO, |info| info.pass_interval);
        let allowed = interval.max(self.tolerance);
        let (mut since, mut waited) = (queued, false);
        for run in row.runs_since_queued() {
            waited |= run.start.since(since) > allowed;
            since = run.end;
        }
        let left = row.start.or(row.end).unwrap_or(self.run_end);
        if waited || left.since(since) > allowed {
            self.waited += 1;
        } else {
            self.unwaited += 1;
            // The delay of a requeued job has its earlier runs in it.
            let delay = row.delay_s().filter(|_| row.earlier.is_empty());
            self.unwaited_delays.extend(delay);
        }
    }

    /// Last finish - first submit.
    pub(super) fn makespan(&self) -> Option<SimDuration> {
        Some(self.last_finish?.since(self.first_submit?))
    }
}
