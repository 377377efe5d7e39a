//! The reference of the policies that predict when a job starts, or is done.

use super::{RefBroker, RefView, Visit};
use gridrig_core::ids::JobId;
use gridrig_core::job::{JobSpec, Objective};
use gridrig_core::message::Target;
use gridrig_core::time::{SimDuration, SimTime};

/// A job that was sent somewhere and has run.
pub(super) struct Ran {
    to: Target,
    waited: SimDuration,
    ran: SimDuration,
    estimate: SimDuration,
}

impl Ran {
    /// Billionths of the estimate.
    fn share(&self) -> u128 {
        u128::from(self.ran.as_nanos()) * 1_000_000_000 / u128::from(self.estimate.as_nanos())
    }
}

impl RefBroker<'_> {
    pub(super) fn predicts(&self) -> bool {
        self.policy == "earliest-start" || self.policy == "earliest-completion"
    }

    /// What has been sent there has run since then, until then.
    pub(super) fn note_run(&mut self, visit: &Visit, run: Option<(SimTime, SimTime)>) {
        if let (Some(to), Some((start, finish))) = (visit.sent_to, run) {
            self.ran.push(Ran {
                to,
                waited: start.since(visit.sent_at),
                ran: finish.since(start),
                estimate: visit.spec.requested_time.unwrap_or(visit.spec.run_time),
            });
        }
    }

    /// The mean over the last fifty jobs that were sent there.
    fn mean(&self, to: Target, of: fn(&Ran) -> SimDuration) -> Option<u128> {
        let there = self.ran.iter().rev().filter(|ran| ran.to == to).take(50);
        let all: Vec<u128> = there.map(|ran| u128::from(of(ran).as_nanos())).collect();
        let count = all.len() as u128;
        all.iter().sum::<u128>().checked_div(count)
    }

    /// Nanoseconds until a job that is sent there starts or is done, whichever counts, and until
    /// it starts.
    pub(super) fn predicted(&self, visit: &Visit, view: &RefView) -> (u128, u128) {
        let spec = &visit.spec;
        let said = spec.preferences.as_deref().cloned().unwrap_or_default();
        let nanos = |time: Option<SimDuration>| u128::from(time.unwrap_or_default().as_nanos());
        let is_computed = view.bandwidth.is_some() && spec.data_kib > 0;
        let staged = match is_computed && matches!(view.target, Target::Peer(_)) {
            true => u128::from(carried(view, spec)),
            false => nanos(said.stage_in),
        };
        let way = u128::from(view.latency.as_nanos()) + staged;
        let estimate = spec.requested_time.unwrap_or(spec.run_time);
        let mut estimate = u128::from(estimate.as_nanos());
        if self.written.contains("run_times=corrected") {
            let all = self.ran.iter().rev();
            let all = all.filter(|ran| ran.estimate > SimDuration::ZERO).take(50);
            let shares: Vec<u128> = all.map(Ran::share).collect();
            if !shares.is_empty() {
                let mean = shares.iter().sum::<u128>() / shares.len() as u128;
                estimate = estimate * mean / 1_000_000_000;
            }
        }
        let (runs, waits) = (
            self.mean(view.target, |ran| ran.ran),
            self.mean(view.target, |ran| ran.waited),
        );
        let mut least = (u128::MAX, u128::MAX);
        for seen in self.seen(view) {
            let speed = seen.speed(visit);
            if !seen.can_run(visit) || speed == 0 {
                continue;
            }
            let by_speed = estimate * 1_000_000_000 / speed;
            let run = seen.by_benchmarks(&said, estimate).unwrap_or(by_speed);
            let wanted = seen.queued + u128::from(spec.processors());
            let lacks = wanted.saturating_sub(seen.free(visit));
            let wait = match (lacks, waits) {
                (0, _) => 0,
                (_, Some(waits)) if self.written.contains("wait=recent") => waits,
                _ => lacks * runs.unwrap_or(run) / seen.capacity(visit),
            };
            let start = way + wait;
            let counts = match (said.objective, self.policy.as_str()) {
                (Some(Objective::EarlyStart), _) | (None, "earliest-start") => start,
                _ => start + run + nanos(said.stage_out),
            };
            if counts < least.0 {
                least = (counts, start);
            }
        }
        least
    }

    /// A job counts as sent there, to start at this instant or when that is predicted.
    pub(super) fn count_on(
        &mut self,
        now: SimTime,
        index: usize,
        view: usize,
        starts: Option<SimTime>,
    ) {
        let predicts = self.predicts() && starts.is_none();
        let told = predicts.then(|| self.predicted(&self.visits[index], &self.views[view]).1);
        let told = told.and_then(|start| u64::try_from(start).ok());
        let told = told.map(|start| SimTime::from_nanos(now.as_nanos() + start));
        self.visits[index].starts = starts.or(told);
        let (view, visit) = (&mut self.views[view], &self.visits[index]);
        let carried = carried(view, &visit.spec);
        let arrives = now.as_nanos().saturating_add(view.latency.as_nanos());
        let arrives = arrives.saturating_add(carried);
        let arrives = SimTime::from_nanos(arrives);
        view.sent.push((arrives, visit.spec.clone()));
    }

    /// When a job that was sent is to start, if that is told.
    pub(in crate::reference) fn starts(&self, job: JobId) -> Option<SimTime> {
        self.visits[self.latest(job)?].starts
    }
}

/// Nanoseconds that its data is on the way there.
pub(super) fn carried(view: &RefView, spec: &JobSpec) -> u64 {
    match view.bandwidth {
        // KiB * 1e9 / 1024 nanoseconds at one MiB a second.
        Some(bandwidth) => bandwidth.divide(spec.data_kib * 1_000_000_000 / 1024),
        None => 0,
    }
}
