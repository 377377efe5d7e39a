//! How far a run has come, and what is left of it.

use crate::observation::Names;
use gridrig_core::ids::JobId;
use gridrig_core::message::JobEnd;
use gridrig_core::time::{SimDuration, SimTime};
use std::collections::{BTreeMap, BTreeSet};

/// How the handing over went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handover {
    /// Jobs handed over.
    pub submitted: usize,
    /// The longest that a job was handed over late, in the time of the run.
    pub worst_lag: SimDuration,
    /// All lags added up.
    pub total_lag: SimDuration,
}

impl Handover {
    /// A job was handed over so late.
    pub(super) fn note(&mut self, lag: SimDuration) {
        self.submitted += 1;
        self.worst_lag = self.worst_lag.max(lag);
        self.total_lag = self.total_lag + lag;
    }
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The time of the run.
    pub now: SimTime,
    /// Jobs handed over.
    pub submitted: usize,
    /// Jobs whose end is known to the player.
    pub ended: usize,
    /// All jobs.
    pub jobs: usize,
    /// The longest that a job was handed over late so far, in the time of the
    /// run.
    pub worst_lag: SimDuration,
}

/// How a workload was played.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// How punctual the handing over was.
    pub handover: Handover,
    /// Jobs whose end is known, with their end as the entry service told it.
    pub ends: BTreeMap<JobId, JobEnd>,
    /// Jobs that were given up, and why.
    pub given_up: BTreeMap<JobId, String>,
    /// Jobs that were handed over and not known to have ended.
    pub unfinished: Vec<JobId>,
    /// What there is to know of jobs on other outlets than our own.
    pub unseen: Unseen,
    /// Whose the jobs in the logs of LRMSs are, where these were read.
    pub names: Names,
    /// Submissions that reached nobody.
    pub undelivered: u64,
    /// Whether the run was stopped before the last job had ended.
    pub interrupted: bool,
    /// What ended it before its time, if nobody stopped it.
    pub broke: Option<String>,
}

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
    /// An outlet has taken a job, or has not for this reason.
    pub(super) fn note(&mut self, job: JobId, why: Option<String>, waited: bool) {
        self.submitted += 1;
        self.waited += usize::from(waited);
        match why {
            None => self.taken += 1,
            Some(why) => drop(self.refused.insert(job, why)),
        }
    }

    /// That no submission has worked, if there were any.
    pub fn none_worked(&self) -> Option<String> {
        let (job, why) = self.refused.first_key_value()?;
        let all = self.submitted;
        (self.taken == 0)
            .then(|| format!("all {all} submissions failed; the first, of {job}: {why}"))
    }
}
