//! Further figures of the measured jobs. Each is a line of [`Further::figures`] and a
//! name in [`FURTHER`](crate::threshold::FURTHER); `docs/metrics.md` has the sources.

use super::load::Load;
use super::predictions::Predictions;
use super::{JobCounts, share};
use crate::jobs::JobRow;
use crate::threshold::{SIZE_NAMES, size_class};
use gridrig_core::ids::DomainId;
use gridrig_core::time::SimDuration;
use std::collections::BTreeMap;

/// A mean as it grows.
#[derive(Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// What the figures are made of.
#[derive(Default)]
pub(super) struct Further {
    /// Processor-nanoseconds of completed jobs at speed 1.0, by size class.
    work: [u128; SIZE_NAMES.len()],
    /// Processors times response times of completed jobs, in seconds.
    responses: f64,
    /// The same times their run times at speed 1.0.
    weighted_responses: f64,
    /// Delay less the time in the queue of an LRMS.
    overhead_s: Mean,
    /// Run times as they were.
    run_time_s: Mean,
    /// Of jobs that clusters ran together: from submission to placement, and from there to
    /// the start.
    placement_s: Mean,
    startup_s: Mean,
    /// How many clusters that were.
    clusters: Mean,
    /// How much of what they read was brought there.
    moved_mib: Mean,
    /// How much later jobs started than was predicted, less than 0 if earlier; how far off
    /// that was; whether they had started by then: 1 or 0.
    prediction_error_s: Mean,
    prediction_off_s: Mean,
    prediction_kept: Mean,
    /// Of all jobs, measured or not.
    pub(super) predictions: Predictions,
    /// Whether jobs got the reservation that they asked for: 1 or 0.
    granted: Mean,
    /// Waits of jobs that asked for none.
    unreserved_wait_s: Mean,
    /// Bounded slowdowns by where jobs entered.
    domains: BTreeMap<DomainId, Mean>,
    /// The same by workload and user.
    users: BTreeMap<(u16, u32), Mean>,
}

impl Further {
    pub(super) fn add(&mut self, row: &JobRow, tau: SimDuration) {
        match (row.reserves, row.wait_s()) {
            (true, wait) => self.granted.add(f64::from(u8::from(wait.is_some()))),
            (false, Some(wait)) => self.unreserved_wait_s.add(wait),
            (false, None) => {}
        }
        if let (Some(predicted), Some(start)) = (row.predicted, row.start) {
            let late_s = start.as_secs_f64() - predicted.as_secs_f64();
            self.prediction_error_s.add(late_s);
            self.prediction_off_s.add(late_s.abs());
            self.prediction_kept
                .add(f64::from(u8::from(start <= predicted)));
        }
        let Some(response_s) = row.response_s() else {
            return;
        };
        let (processors, run_time) = (row.processors, row.run_time_ref);
        let work = u128::from(processors) * u128::from(run_time.as_nanos());
        self.work[size_class(processors)] += work;
        let response = f64::from(processors) * response_s;
        self.responses += response;
        self.weighted_responses += response * run_time.as_secs_f64();
        if let Some(run_time) = row.run_time() {
            self.run_time_s.add(run_time.as_secs_f64());
        }
        if let (Some(clusters), Some(start), Some(placed), Some(submit)) =
            (row.clusters(), row.start, row.dispatch, row.submit)
        {
            self.clusters.add(clusters.into());
            self.placement_s.add(placed.since(submit).as_secs_f64());
            self.startup_s.add(start.since(placed).as_secs_f64());
        }
        if let Some(mib) = row.moved_mib {
            self.moved_mib.add(mib as f64);
        }
        if let (Some(delay), Some(queue)) = (row.delay_s(), row.queue_s()) {
            // Earlier runs that were lost are part of the delay.
            let lost = row.runs_since_queued().filter(|run| !run.is_kept);
            let lost = lost.map(|run| run.end.since(run.start).as_secs_f64());
            self.overhead_s.add(delay - queue - lost.sum::<f64>());
        }
        if let Some(slowdown) = row.bounded_slowdown_ref(tau) {
            if let Some(origin) = row.origin {
                self.domains.entry(origin).or_default().add(slowdown);
            }
            if let Some(user) = row.label.user {
                let user = (row.label.workload, user);
                self.users.entry(user).or_default().add(slowdown);
            }
        }
    }

    /// Processor-seconds at speed 1.0 of the jobs of each size class.
    pub(super) fn by_size(&self) -> BTreeMap<&'static str, f64> {
        let seconds = self.work.iter().map(|nanos| *nanos as f64 / 1e9);
        SIZE_NAMES.into_iter().zip(seconds).collect()
    }

    /// `messages` are those of the whole run, `all` its jobs.
    pub(super) fn figures(
        &self,
        (all, measured): (JobCounts, JobCounts),
        messages: u64,
        load: &Load,
    ) -> BTreeMap<&'static str, Option<f64>> {
        let work = self.work.iter().sum::<u128>() as f64 / 1e9;
        let weighted = |sum: f64| (work > 0.0).then(|| sum / work);
        let ([jain_domains, ratio_domains], [jain_users, ratio_users]) =
            (fairness(&self.domains), fairness(&self.users));
        let [coverage, interval_s] = self.predictions.intervals();
        BTreeMap::from([
            (
                "finished_share",
                share(measured.completed, measured.submitted),
            ),
            ("goodput_ref_processor_s", Some(work)),
            ("utilization_ref", load.utilization_ref()),
            ("utilization_arrivals", load.utilization_arrivals()),
            ("response_s_weighted", weighted(self.weighted_responses)),
            ("slowdown_weighted", weighted(self.responses)),
            ("overhead_s_mean", self.overhead_s.value()),
            ("clusters_mean", self.clusters.value()),
            ("placement_s_mean", self.placement_s.value()),
            ("startup_s_mean", self.startup_s.value()),
            ("moved_mib_mean", self.moved_mib.value()),
            ("run_time_s_mean", self.run_time_s.value()),
            ("reservations_granted_share", self.granted.value()),
            ("wait_s_unreserved_mean", self.unreserved_wait_s.value()),
            ("prediction_error_s_mean", self.prediction_error_s.value()),
            ("prediction_error_s_abs_mean", self.prediction_off_s.value()),
            ("prediction_kept_share", self.prediction_kept.value()),
            ("prediction_interval_coverage", coverage),
            ("prediction_interval_s_mean", interval_s),
            ("messages_per_job", share(messages, all.submitted)),
            ("jain_domains", jain_domains),
            ("jain_users", jain_users),
            ("max_min_domains", ratio_domains),
            ("max_min_users", ratio_users),
        ])
    }
}

/// Jain's index of the means and the largest over the least; null without any.
fn fairness<K>(groups: &BTreeMap<K, Mean>) -> [Option<f64>; 2] {
    let means: Vec<f64> = groups.values().filter_map(|mean| mean.value()).collect();
    let (sum, squares) = means.iter().fold((0.0, 0.0), |(sum, squares), mean| {
        (sum + mean, squares + mean * mean)
    });
    let jain = (squares > 0.0).then(|| sum * sum / (means.len() as f64 * squares));
    let least = means.iter().copied().reduce(f64::min);
    let most = means.iter().copied().reduce(f64::max);
    let ratio = most.zip(least.filter(|least| *least > 0.0));
    [jain, ratio.map(|(most, least)| most / least)]
}
