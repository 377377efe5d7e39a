//! Where a job stands at last, and the ends that a service tells of.

use super::problem::{Problem, Result};
use crate::words::words;
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::Reason;
use gridrig_core::message::{EndState, JobEnd};
use gridrig_core::time::SimTime;
use serde::{Deserialize, Serialize};

words! {
    /// Where a job stands.
    JobState {
        /// It waits with the broker or LRMS.
        Queued = "queued",
        /// A broker has handed it on.
        Sent = "sent",
        /// It runs.
        Running = "running",
        /// It ran to its end.
        Completed = "completed",
        /// It was turned away.
        Rejected = "rejected",
        /// It was cancelled.
        Cancelled = "cancelled",
        /// It was lost.
        Failed = "failed",
    }
}

impl JobState {
    /// Whether the job is over.
    pub const fn is_end(self) -> bool {
        !matches!(self, JobState::Queued | JobState::Sent | JobState::Running)
    }
}

// In the protocol of peers it is `JobReport`, and tells of any state.
/// The end of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JobEndReport {
    /// The job's number.
    pub job: u32,
    /// `completed`, `rejected`, `cancelled` or `failed`.
    #[cfg_attr(
        feature = "openapi",
        schema(value_type = String, pattern = "^(completed|rejected|cancelled|failed)$")
    )]
    pub state: JobState,
    /// Why it was rejected or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The cluster it ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<u16>,
    /// When it started, in nanoseconds of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ns: Option<u64>,
    /// When it ended, in nanoseconds of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_ns: Option<u64>,
}

impl JobEndReport {
    /// A job in this state, of which no more is known.
    pub fn of(job: JobId, state: JobState) -> Self {
        JobEndReport {
            job: job.0,
            state,
            reason: None,
            cluster: None,
            start_ns: None,
            finish_ns: None,
        }
    }

    /// A job that was turned away.
    pub fn refused(job: JobId, reason: Reason) -> Self {
        JobEndReport {
            reason: Some(reason.name().to_owned()),
            ..JobEndReport::of(job, JobState::Rejected)
        }
    }
}

impl From<&JobEnd> for JobEndReport {
    fn from(end: &JobEnd) -> Self {
        let state = match end.state {
            EndState::Completed => JobState::Completed,
            EndState::Rejected(_) => JobState::Rejected,
            EndState::Cancelled => JobState::Cancelled,
            EndState::Failed(_) => JobState::Failed,
        };
        JobEndReport {
            job: end.job.0,
            state,
            reason: end.state.reason().map(|reason| reason.name().to_owned()),
            cluster: end.cluster.map(|cluster| cluster.0),
            start_ns: end.start.map(SimTime::as_nanos),
            finish_ns: end.finish.map(SimTime::as_nanos),
        }
    }
}

impl TryFrom<&JobEndReport> for JobEnd {
    type Error = Problem;

    fn try_from(report: &JobEndReport) -> Result<Self> {
        let reason = || reason_of(report.reason.as_deref());
        let state = match report.state {
            JobState::Completed => EndState::Completed,
            JobState::Cancelled => EndState::Cancelled,
            JobState::Rejected => EndState::Rejected(reason()?),
            JobState::Failed => EndState::Failed(reason()?),
            other => {
                let expected = "completed, rejected, cancelled or failed";
                return Err(Problem::field("state", other.name(), expected));
            }
        };
        Ok(JobEnd {
            job: JobId(report.job),
            state,
            cluster: report.cluster.map(ClusterId),
            start: report.start_ns.map(SimTime::from_nanos),
            finish: report.finish_ns.map(SimTime::from_nanos),
        })
    }
}

/// The reason of this name.
pub(super) fn reason_of(name: Option<&str>) -> Result<Reason> {
    name.and_then(Reason::from_name).ok_or_else(|| {
        let names: Vec<&str> = Reason::ALL.iter().map(|reason| reason.name()).collect();
        let expected = format!("one of {}", names.join(", "));
        Problem::field("reason", name.unwrap_or(""), &expected)
    })
}

/// Ends of the jobs that entered at a service, in the order in which it learnt
/// of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EndPage {
    /// Position of the first one; above the wanted one if older ends are
    /// forgotten.
    pub first: u64,
    /// The ends.
    pub ends: Vec<JobEndReport>,
    /// What to give as `after` for the following ones.
    pub next: u64,
    /// Which life of the service this is, by when it began, in Unix
    /// nanoseconds: one that was restarted counts its ends from 0 again and
    /// may have forgotten jobs.
    #[serde(default)]
    pub life: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_survives_the_wire() {
        for state in [
            EndState::Completed,
            EndState::Cancelled,
            EndState::Rejected(Reason::NeverFits),
            EndState::Failed(Reason::ServiceLost),
        ] {
            let end = JobEnd {
                job: JobId(1),
                state,
                cluster: Some(ClusterId(0)),
                start: Some(SimTime::from_secs(1)),
                finish: None,
            };
            assert_eq!(JobEnd::try_from(&JobEndReport::from(&end)), Ok(end));
        }
    }
}
