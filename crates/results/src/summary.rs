//! The figures of a run, as `--json` prints them.

mod load;

pub use load::{ClusterLoad, DomainLoad};

use crate::jobs::{JobRow, JobState, JobTable};
use crate::measure::{Measure, Stop};
use crate::stats::{Distribution, mean};
use gridrig_core::event::MessageKind;
use gridrig_core::ids::JobId;
use gridrig_core::time::{SimDuration, SimTime};
use serde::Serialize;
use std::collections::BTreeMap;

/// What the caller knows of a run and the job table does not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunHeader {
    /// The policy; `None` without a broker.
    pub policy: Option<String>,
    /// The seed.
    pub seed: u64,
    /// Which replication, from 0.
    pub replication: u32,
    /// `virtual` or `real`.
    pub clock: String,
    /// `ok`, or what the audit found.
    pub audit: String,
    /// Jobs of the trace that were left out, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Whether the run may be relied on.
    pub valid: bool,
    /// What the reader must know.
    pub warnings: Vec<String>,
    /// How late a start may be without having waited: 0 in virtual time, the
    /// lateness of timers in real time.
    pub timer_tolerance: SimDuration,
}

/// Jobs by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobCounts {
    /// Handed over by the replayer; the sum of the others.
    pub submitted: u64,
    /// Ran to their end.
    pub completed: u64,
    /// Turned away for good.
    pub rejected: u64,
    /// Removed on request.
    pub cancelled: u64,
    /// Lost to a fault.
    pub failed: u64,
    /// The run ended first.
    pub unfinished: u64,
}

impl JobCounts {
    /// Counts the rows of jobs that were submitted.
    #[must_use]
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a JobRow>) -> Self {
        let mut counts = JobCounts::default();
        for row in rows.into_iter().filter(|row| row.submit.is_some()) {
            counts.submitted += 1;
            *match row.state {
                JobState::Completed => &mut counts.completed,
                JobState::Rejected => &mut counts.rejected,
                JobState::Cancelled => &mut counts.cancelled,
                JobState::Failed => &mut counts.failed,
                JobState::Unfinished => &mut counts.unfinished,
            } += 1;
        }
        counts
    }
}

/// The six job metrics (design 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Metrics {
    /// finish_seen - submit - actual run time.
    pub delay_s: Distribution,
    /// (finish_seen - submit) / actual run time; without run times of 0.
    pub expansion: Distribution,
    /// start - submit, of every job that started.
    pub wait_s: Distribution,
    /// finish - submit.
    pub response_s: Distribution,
    /// max(1, response / max(actual run time, tau)).
    pub bounded_slowdown: Distribution,
    /// The same with the run time at speed 1.0.
    pub bounded_slowdown_ref: Distribution,
}

impl Metrics {
    /// The metrics over these jobs; each metric over those that have it.
    #[must_use]
    pub fn over<'a>(rows: impl IntoIterator<Item = &'a JobRow>, tau: SimDuration) -> Self {
        // One pass over the rows: they do not fit a cache, six columns do.
        let mut columns: [Vec<f64>; 6] = Default::default();
        for row in rows {
            let figures = [
                row.delay_s(),
                row.expansion(),
                row.wait_s(),
                row.response_s(),
                row.bounded_slowdown(tau),
                row.bounded_slowdown_ref(tau),
            ];
            for (column, figure) in columns.iter_mut().zip(figures) {
                column.extend(figure);
            }
        }
        let [
            delay_s,
            expansion,
            wait_s,
            response_s,
            slowdown,
            slowdown_ref,
        ] = columns.map(Distribution::of);
        Metrics {
            delay_s,
            expansion,
            wait_s,
            response_s,
            bounded_slowdown: slowdown,
            bounded_slowdown_ref: slowdown_ref,
        }
    }
}

/// One element of `runs` in `run --json`: the fields of design 7 in its
/// order, then ours. Undefined figures are null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// The policy; null without a broker.
    pub policy: Option<String>,
    /// The seed.
    pub seed: u64,
    /// Which replication, from 0.
    pub replication: u32,
    /// `virtual` or `real`.
    pub clock: String,
    /// `ok`, or what the audit found.
    pub audit: String,
    /// All jobs of the run.
    pub jobs: JobCounts,
    /// Jobs of the trace that were left out, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Whether the run may be relied on.
    pub valid: bool,
    /// What the reader must know.
    pub warnings: Vec<String>,
    /// Measured jobs that were forwarded at least once / measured jobs.
    pub forwarding_ratio: Option<f64>,
    /// Last finish - first submit of the measured jobs.
    pub makespan_s: Option<f64>,
    /// Busy / available processor-seconds of the measured interval.
    pub utilization: Option<f64>,
    /// Share of the measured jobs in an LRMS that ever waited for processors.
    pub waited_share: Option<f64>,
    /// The job metrics.
    #[serde(flatten)]
    pub metrics: Metrics,
    /// The measured jobs: those submitted in the measured interval.
    pub measured: JobCounts,
    /// Where the measured interval begins.
    pub measured_from_s: f64,
    /// Where it ends; null if that is the last finish and nothing finished.
    pub measured_until_s: Option<f64>,
    /// Bound of the bounded slowdown in run seconds.
    pub tau_s: f64,
    /// Forwards / measured jobs, those that came back included.
    pub forwards_per_job: Option<f64>,
    /// Of the measured jobs that started, the share that did so away from
    /// their origin domain; null without domains.
    pub away_share: Option<f64>,
    /// Processor-seconds of the measured jobs that completed.
    pub goodput_processor_s: f64,
    /// Completed measured jobs / makespan.
    pub throughput_per_s: Option<f64>,
    /// Mean delay of the completed measured jobs that never waited for
    /// processors: what brokers and network cost.
    pub delay_s_unwaited_mean: Option<f64>,
    /// Messages of the whole run by kind.
    pub messages: BTreeMap<&'static str, u64>,
    /// submit - intended of the measured jobs, 99 % quantile.
    pub submission_lag_ns_p99: Option<f64>,
    /// The largest.
    pub submission_lag_ns_max: Option<i64>,
    /// Load by domain.
    pub domains: Vec<DomainLoad>,
    /// Load by cluster.
    pub clusters: Vec<ClusterLoad>,
}

impl RunSummary {
    /// The figures of a run.
    #[must_use]
    pub fn compute(table: &JobTable, measure: &Measure, header: &RunHeader) -> Self {
        let rows: Vec<&JobRow> = table
            .rows()
            .iter()
            .filter(|row| row.submit.is_some_and(|submit| measure.covers(submit)))
            .collect();
        let jobs = JobCounts::of(table.rows());
        let measured = JobCounts::of(rows.iter().copied());
        let load = load::Load::of(table, measure);
        let forwarded = count(&rows, |row| row.forwards > 0);
        let forwards: u64 = rows.iter().map(|row| u64::from(row.forwards)).sum();
        let makespan_s = makespan(&rows).map(SimDuration::as_secs_f64);
        let waiting = Waiting::of(table, &rows, header.timer_tolerance);
        let lags = rows.iter().filter_map(|row| row.submission_lag_ns());
        let lag = Distribution::of(lags.clone().map(|lag| lag as f64));
        let mut warnings = header.warnings.clone();
        warnings.extend(bias_warning(measure, &jobs));
        RunSummary {
            policy: header.policy.clone(),
            seed: header.seed,
            replication: header.replication,
            clock: header.clock.clone(),
            audit: header.audit.clone(),
            jobs,
            skipped: header.skipped.clone(),
            valid: header.valid,
            warnings,
            forwarding_ratio: share(forwarded, measured.submitted),
            makespan_s,
            utilization: load.utilization(),
            waited_share: share(waiting.waited, waiting.waited + waiting.unwaited),
            metrics: Metrics::over(rows.iter().copied(), measure.tau),
            measured,
            measured_from_s: measure.from.as_secs_f64(),
            measured_until_s: load.until().map(SimTime::as_secs_f64),
            tau_s: measure.tau.as_secs_f64(),
            forwards_per_job: share(forwards, measured.submitted),
            away_share: away_share(&rows),
            goodput_processor_s: goodput(&rows),
            throughput_per_s: makespan_s
                .filter(|makespan| *makespan > 0.0)
                .map(|makespan| measured.completed as f64 / makespan),
            delay_s_unwaited_mean: mean(&waiting.unwaited_delays),
            messages: messages(table),
            submission_lag_ns_p99: lag.p99,
            submission_lag_ns_max: lags.max(),
            domains: load.domains(table),
            clusters: load.clusters(table),
        }
    }
}

/// Jobs that finished in all of several runs of one workload: the only fair
/// ground on which to compare policies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommonJobs {
    /// Jobs that completed in every run, rising.
    pub jobs: Vec<JobId>,
    /// Jobs that completed in some run but not in all.
    pub left_out: u64,
}

impl CommonJobs {
    /// The jobs that completed in all of these runs and were submitted in the
    /// measured interval of each.
    #[must_use]
    pub fn of(runs: &[(&JobTable, &Measure)]) -> Self {
        let mut completed: BTreeMap<JobId, usize> = BTreeMap::new();
        for (table, measure) in runs {
            let rows = table.rows().iter();
            let measured = |row: &&JobRow| {
                row.state == JobState::Completed
                    && row.submit.is_some_and(|submit| measure.covers(submit))
            };
            for row in rows.filter(measured) {
                *completed.entry(row.job).or_default() += 1;
            }
        }
        let all = completed.len() as u64;
        completed.retain(|_, times| *times == runs.len());
        CommonJobs {
            left_out: all - completed.len() as u64,
            jobs: completed.into_keys().collect(),
        }
    }

    /// The metrics of one of the runs over the common jobs only.
    #[must_use]
    pub fn metrics(&self, table: &JobTable, tau: SimDuration) -> Metrics {
        let common = |row: &&JobRow| self.jobs.binary_search(&row.job).is_ok();
        let rows: Vec<&JobRow> = table.rows().iter().filter(common).collect();
        Metrics::over(rows, tau)
    }
}

/// Who waited for processors: a job that a pass did not start at the first
/// opportunity, whether it started later or never.
#[derive(Default)]
struct Waiting {
    waited: u64,
    unwaited: u64,
    unwaited_delays: Vec<f64>,
}

impl Waiting {
    fn of(table: &JobTable, rows: &[&JobRow], tolerance: SimDuration) -> Self {
        let mut waiting = Waiting::default();
        for row in rows {
            let (Some(queued), Some(cluster)) = (row.queued, row.cluster) else {
                continue;
            };
            let interval = table.clusters().get(cluster.index());
            let interval = interval.map_or(SimDuration::ZERO, |info| info.pass_interval);
            let left = row.start.or(row.end).unwrap_or(table.end());
            if left.since(queued) > interval.max(tolerance) {
                waiting.waited += 1;
            } else {
                waiting.unwaited += 1;
                waiting.unwaited_delays.extend(row.delay_s());
            }
        }
        waiting
    }
}

fn bias_warning(measure: &Measure, jobs: &JobCounts) -> Option<String> {
    (measure.stop == Stop::LastArrival && jobs.unfinished > 0).then(|| {
        format!(
            "stopped at the last arrival with {} of {} jobs unfinished: waits and delays are \
             biased low",
            jobs.unfinished, jobs.submitted
        )
    })
}

fn count(rows: &[&JobRow], which: impl Fn(&JobRow) -> bool) -> u64 {
    rows.iter().filter(|row| which(row)).count() as u64
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn makespan(rows: &[&JobRow]) -> Option<SimDuration> {
    let last = rows.iter().filter_map(|row| row.finish).max()?;
    let first = rows.iter().filter_map(|row| row.submit).min()?;
    Some(last.since(first))
}

fn away_share(rows: &[&JobRow]) -> Option<f64> {
    let in_domain = |row: &JobRow| row.start.is_some() && row.exec_domain.is_some();
    let started = count(rows, in_domain);
    let away = count(rows, |row| in_domain(row) && row.exec_domain != row.origin);
    share(away, started)
}

fn goodput(rows: &[&JobRow]) -> f64 {
    let of = |row: &&JobRow| {
        let run_time = u128::from(row.run_time()?.as_nanos());
        Some(run_time * u128::from(row.processors))
    };
    let nanos: u128 = rows.iter().filter_map(of).sum();
    nanos as f64 / 1e9
}

fn messages(table: &JobTable) -> BTreeMap<&'static str, u64> {
    MessageKind::ALL
        .into_iter()
        .map(|kind| (kind.name(), table.messages(kind)))
        .collect()
}
