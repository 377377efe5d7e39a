//! What is known of jobs on other outlets than our own: what their submission
//! said, their broker, and LRMSs in their logs.

use crate::observation::{Attempt, Attempts};
use gridrig_core::ids::JobId;
use gridrig_core::job::Reason;
use gridrig_core::message::{EndState, JobEnd};
use gridrig_core::time::{SimDuration, SimTime};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What there is to know of a run's jobs on other outlets than our own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// Jobs that went to such an outlet.
    pub submitted: usize,
    /// Jobs that it has taken.
    pub taken: usize,
    /// Jobs whose submission failed, and why.
    pub refused: BTreeMap<JobId, String>,
    /// Jobs that had to wait until the outlet had a hand free.
    pub waited: usize,
    /// Jobs that were taken and never seen in an LRMS.
    pub not_placed: BTreeSet<JobId>,
}

impl Unseen {
    /// That no submission has worked, if there were any.
    #[must_use]
    pub fn none_worked(&self) -> Option<String> {
        let (job, why) = self.refused.first_key_value()?;
        let all = self.submitted;
        (self.taken == 0)
            .then(|| format!("none of {all} submissions worked, the first, of {job}: {why}"))
    }
}

/// What is known of one such job that has not ended.
#[derive(Debug, Default)]
pub(super) struct Unplaced {
    /// When the outlet answered, and how.
    pub(super) answer: Option<(SimTime, Option<String>)>,
    /// How it ended, as the broker that took it says, and when that was said.
    pub(super) told: Option<(SimTime, JobEnd)>,
}

/// How long after the last word on a job another may come: logs are looked at
/// a few times a second. Wall time.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// What is to be done about a job.
pub(super) enum Verdict {
    Wait,
    Over(JobEnd),
    /// No LRMS has had it, and its broker says how it ended.
    Told(JobEnd),
    GiveUp(Reason, String),
}

impl Unplaced {
    /// What is to be done about the job, which LRMSs have had so, now that it is
    /// this time, and a word may be so late.
    pub(super) fn verdict(
        &self,
        job: JobId,
        attempts: Option<&Attempts>,
        (now, grace): (SimTime, SimDuration),
        has_logs: bool,
    ) -> Verdict {
        let Some((answered, why)) = &self.answer else {
            return Verdict::Wait;
        };
        let counts = attempts.and_then(Attempt::that_counts);
        let over = counts.and_then(|((cluster, _), attempt)| {
            let (at, state) = attempt.end?;
            Some(JobEnd {
                cluster: Some(cluster),
                finish: Some(at),
                ..JobEnd::without_run(job, state)
            })
        });
        if let Some(end) = over.filter(|end| end.state == EndState::Completed) {
            return Verdict::Over(end);
        }
        let mut last = *answered;
        for attempt in attempts.into_iter().flat_map(BTreeMap::values) {
            match attempt.end {
                Some((at, _)) => last = last.max(at),
                None => return Verdict::Wait,
            }
        }
        let last = self.told.map_or(last, |(at, _)| at.max(last));
        // What a broker calls completed has to be in a log.
        let told = self.told.map(|(_, end)| end);
        let told = told.filter(|end| !has_logs || end.state != EndState::Completed);
        let quiet = !has_logs || now.since(last) >= grace;
        match (over, why) {
            _ if !quiet => Verdict::Wait,
            (Some(end), _) => Verdict::Over(end),
            (None, Some(why)) => Verdict::GiveUp(Reason::SubmitFailed, why.clone()),
            (None, None) => told.map_or(Verdict::Wait, Verdict::Told),
        }
    }
}
