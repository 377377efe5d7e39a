//! The figures of a run, as `--json` prints them.

mod censored;
mod further;
mod lending;
mod load;
mod predictions;
mod tally;

pub use censored::CensoredWaits;
pub use lending::{DomainLending, LeaseMessages, Lending, Loan};
pub use load::{ClusterLoad, DomainLoad};

use crate::jobs::{JobRow, JobState, JobTable};
use crate::measure::{Measure, Stop};
use crate::regret::Regret;
use crate::stats::{Distribution, mean};
use gridrig_core::event::MessageKind;
use gridrig_core::time::{SimDuration, SimTime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Jobs by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
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
    fn add(&mut self, row: &JobRow) {
        if row.submit.is_none() {
            return;
        }
        self.submitted += 1;
        *self.in_state(row.state) += 1;
    }

    /// How many are in a state.
    pub(crate) fn in_state(&mut self, state: JobState) -> &mut u64 {
        match state {
            JobState::Completed => &mut self.completed,
            JobState::Rejected => &mut self.rejected,
            JobState::Cancelled => &mut self.cancelled,
            JobState::Failed => &mut self.failed,
            JobState::Unfinished => &mut self.unfinished,
        }
    }
}

impl std::iter::Sum for JobCounts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(JobCounts::default(), |mut sum, mut own| {
            sum.submitted += own.submitted;
            for &state in JobState::ALL {
                *sum.in_state(state) += *own.in_state(state);
            }
            sum
        })
    }
}

/// The six job metrics (design 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The metrics by their distributions, in the order of
    /// [`METRICS`](crate::threshold::METRICS).
    pub(crate) fn of(distributions: [Distribution; 6]) -> Self {
        let [first, second, third, fourth, fifth, sixth] = distributions;
        Metrics {
            delay_s: first,
            expansion: second,
            wait_s: third,
            response_s: fourth,
            bounded_slowdown: fifth,
            bounded_slowdown_ref: sixth,
        }
    }
}

/// The values of the six metrics, one list each.
#[derive(Default)]
struct MetricColumns([Vec<f64>; 6]);

impl MetricColumns {
    fn with_capacity(jobs: usize) -> Self {
        MetricColumns(std::array::from_fn(|_| Vec::with_capacity(jobs)))
    }

    fn add(&mut self, row: &JobRow, tau: SimDuration) {
        let figures = [
            row.delay_s(),
            row.expansion(),
            row.wait_s(),
            row.response_s(),
            row.bounded_slowdown(tau),
            row.bounded_slowdown_ref(tau),
        ];
        for (column, figure) in self.0.iter_mut().zip(figures) {
            column.extend(figure);
        }
    }

    fn finish(self) -> Metrics {
        Metrics::of(self.0.map(Distribution::of))
    }
}

/// What was lost to nodes that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeFailures {
    /// How often measured jobs were requeued.
    pub requeues: u64,
    /// Measured jobs that failed with a node.
    pub failed_jobs: u64,
    /// Processor-seconds of measured jobs that ran in vain.
    pub lost_processor_s: f64,
    /// Processor-seconds of nodes that were down in the measured interval.
    pub down_processor_s: f64,
    /// Completed / submitted measured jobs.
    pub finished_share: Option<f64>,
}

/// One element of `runs` in `run --json`: the fields of design 7 in its
/// order, then ours. Undefined figures are null.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// How often planned faults have struck, by what they did; absent without a
    /// plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faults: Option<BTreeMap<&'static str, u64>>,
    /// Whether the run may be relied on.
    pub valid: bool,
    /// What the reader must know.
    pub warnings: Vec<String>,
    /// Measured jobs that were forwarded at least once / measured jobs.
    pub forwarding_ratio: Option<f64>,
    /// Last finish - first submit of the measured jobs.
    pub makespan_s: Option<f64>,
    /// Busy / available processor-seconds of the measured interval; nodes that are
    /// down are not available.
    pub utilization: Option<f64>,
    /// Share of the measured jobs in an LRMS that ever waited for processors.
    pub waited_share: Option<f64>,
    /// The job metrics.
    #[serde(flatten)]
    pub metrics: Metrics,
    /// response / actual run time; without run times of 0.
    pub slowdown: Distribution,
    /// start - queued without runs that nodes ended, of every job that started.
    pub queue_s: Distribution,
    /// Further figures, by the names of [`FURTHER`](crate::threshold::FURTHER).
    #[serde(flatten)]
    pub further: BTreeMap<&'static str, Option<f64>>,
    /// Processor-seconds at speed 1.0 of the completed measured jobs, by size class.
    pub goodput_by_size: BTreeMap<&'static str, f64>,
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
    /// Jobs that were rejected, failed or lost, by reason; absent where all went well.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<&'static str, u64>,
    /// What was lost to nodes that failed; only there if some did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_failures: Option<NodeFailures>,
    /// Whose processors jobs have used; only there in a grid that is divided into sites
    /// or grids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lending: Option<Lending>,
    /// Waits of the measured jobs, those that had not started included; only there if the
    /// run ends with the last arrival.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub censored_waits: Option<CensoredWaits>,
    /// Processor-seconds of the measured jobs that completed, without runs that
    /// were lost to nodes that failed.
    pub goodput_processor_s: f64,
    /// Completed measured jobs / makespan.
    pub throughput_per_s: Option<f64>,
    /// Mean delay of the completed measured jobs that never waited for
    /// processors and were not requeued: what brokers and network cost.
    pub delay_s_unwaited_mean: Option<f64>,
    /// Messages of the whole run by kind.
    pub messages: BTreeMap<&'static str, u64>,
    /// submit - intended of the measured jobs, 99 % quantile.
    pub submission_lag_ns_p99: Option<f64>,
    /// The largest.
    pub submission_lag_ns_max: Option<i64>,
    /// What the decisions of brokers were worth; null without brokers, or where
    /// it was not computed. [`RunSummary::compute`] leaves it as it is.
    pub regret: Option<Regret>,
    /// Load by domain.
    pub domains: Vec<DomainLoad>,
    /// Load by cluster.
    pub clusters: Vec<ClusterLoad>,
}

impl RunSummary {
    /// The figures of a run, beside what the caller knows and the job table does
    /// not. `tolerance` is how late a start may be without having waited: 0 in
    /// virtual time, the lateness of timers in real time.
    pub fn compute(
        table: &JobTable,
        measure: &Measure,
        tolerance: SimDuration,
        mut known: RunSummary,
    ) -> Self {
        let mut load = load::Load::new(table, measure);
        let mut tally = tally::Tally::new(table, measure, tolerance);
        // One pass over the rows: they do not fit a cache.
        let mut lending = table.is_divided().then(|| lending::Lent::new(table));
        let is_cut = measure.stop == Stop::LastArrival;
        let mut waits = Vec::new();
        for row in table.rows() {
            load.add(row);
            tally.add(row);
            let is_measured = measure.measures(row.submit, row.direct);
            if let Some(lending) = lending.as_mut() {
                lending.add(row, is_measured);
            }
            if is_cut && is_measured {
                waits.extend(CensoredWaits::of_job(row, table.end()));
            }
        }
        let tally::Tally { jobs, measured, .. } = tally;
        let makespan_s = tally.makespan().map(SimDuration::as_secs_f64);
        known.warnings.extend(bias_warning(measure, &jobs));
        known
            .warnings
            .extend(none_warning(measure, &jobs, &measured));
        known.warnings.extend(tau_warning(measure, tally.shortest));
        let have_failed = table.clusters().iter().any(|info| !info.down.is_empty());
        let node_failures = have_failed.then(|| NodeFailures {
            requeues: tally.requeues,
            failed_jobs: tally.failed_with_node,
            lost_processor_s: tally.lost_nanos as f64 / 1e9,
            down_processor_s: load.down() as f64 / 1e9,
            finished_share: share(measured.completed, measured.submitted),
        });
        // A manifest may have any numbers.
        let sent = MessageKind::ALL.iter().map(|kind| table.messages(*kind));
        let sent = sent.fold(0, u64::saturating_add);
        RunSummary {
            further: tally.further.figures((jobs, measured), sent, &load),
            goodput_by_size: tally.further.by_size(),
            slowdown: Distribution::of(tally.slowdown),
            queue_s: Distribution::of(tally.queue_s),
            jobs,
            reasons: tally.reasons,
            forwarding_ratio: share(tally.forwarded, measured.submitted),
            makespan_s,
            utilization: load.utilization(),
            waited_share: share(tally.waited, tally.waited + tally.unwaited),
            metrics: tally.metrics.finish(),
            measured,
            measured_from_s: measure.from.as_secs_f64(),
            measured_until_s: load.until.map(SimTime::as_secs_f64),
            tau_s: measure.tau.as_secs_f64(),
            forwards_per_job: share(tally.forwards, measured.submitted),
            away_share: share(tally.away, tally.started),
            node_failures,
            lending: lending.map(lending::Lent::finish),
            censored_waits: is_cut.then(|| CensoredWaits::of(waits)),
            goodput_processor_s: tally.goodput_nanos as f64 / 1e9,
            throughput_per_s: makespan_s
                .filter(|makespan| *makespan > 0.0)
                .map(|makespan| measured.completed as f64 / makespan),
            delay_s_unwaited_mean: mean(&tally.unwaited_delays),
            messages: messages(table),
            submission_lag_ns_max: tally.lags.iter().copied().max(),
            submission_lag_ns_p99: Distribution::of(tally.lags.iter().map(|lag| *lag as f64)).p99,
            domains: load.domains(table),
            clusters: load.clusters(table),
            ..known
        }
    }
}

/// Without a measured job all figures are null.
fn none_warning(measure: &Measure, jobs: &JobCounts, measured: &JobCounts) -> Option<String> {
    (measured.submitted == 0 && jobs.submitted > 0).then(|| {
        let until = measure
            .until
            .map_or("the end".to_owned(), |until| until.to_string());
        format!(
            "none of the {} jobs is measured: expected some that are submitted from {} to {until} \
             (from and until of [measure]{})",
            jobs.submitted,
            measure.from,
            if measure.direct {
                ""
            } else {
                ", and at a broker: direct"
            }
        )
    })
}

fn bias_warning(measure: &Measure, jobs: &JobCounts) -> Option<String> {
    (measure.stop == Stop::LastArrival && jobs.unfinished > 0).then(|| {
        format!(
            "the run stopped at the last arrival with {} of {} jobs unfinished: mean wait times \
             and delays are too low",
            jobs.unfinished, jobs.submitted
        )
    })
}

/// Below the shortest run tau bounds no slowdown.
fn tau_warning(measure: &Measure, shortest: Option<SimDuration>) -> Option<String> {
    shortest.filter(|shortest| measure.tau < *shortest).map(|shortest| {
        format!(
            "tau is {:.3} s and the shortest run takes {:.3} s: bounded slowdown is the slowdown \
             without a bound",
            measure.tau.as_secs_f64(),
            shortest.as_secs_f64()
        )
    })
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn messages(table: &JobTable) -> BTreeMap<&'static str, u64> {
    MessageKind::ALL
        .into_iter()
        .map(|kind| (kind.name(), table.messages(kind)))
        .collect()
}
