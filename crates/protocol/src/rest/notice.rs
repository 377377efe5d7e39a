//! News about jobs, from one service to another.

use super::end::{JobEndReport, reason_of};
use super::place::Place;
use super::problem::Result;
use gridrig_core::agent::EnvelopeId;
use gridrig_core::ids::JobId;
use gridrig_core::message::{JobEnd, News};
use gridrig_core::time::SimTime;
use serde::{Deserialize, Serialize};

/// The name of a letter. A letter that is delivered again has the same name
/// and no further effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct LetterName {
    /// Which life of the sender wrote it.
    pub incarnation: u64,
    /// Rises from letter to letter of one incarnation.
    pub number: u64,
}

impl From<EnvelopeId> for LetterName {
    fn from(id: EnvelopeId) -> Self {
        LetterName {
            incarnation: id.incarnation,
            number: id.number,
        }
    }
}

impl From<LetterName> for EnvelopeId {
    fn from(name: LetterName) -> Self {
        EnvelopeId {
            incarnation: name.incarnation,
            number: name.number,
        }
    }
}

/// What a notification is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum NoticeKind {
    /// The job is over.
    Ended,
    /// The job comes back: it was not taken.
    Refused,
}

/// News about a job, on its way back to whoever sent the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(example = json!({
    "kind": "ended", "from": {"kind": "lrms", "id": 0},
    "job": {"job": 7, "state": "completed", "cluster": 0,
            "start_ns": 5_000_000_000_u64, "finish_ns": 65_000_000_000_u64}
})))]
pub struct JobNotice {
    /// What has happened.
    pub kind: NoticeKind,
    /// Who says so.
    pub from: Place,
    /// The name of this letter; without one it is never a repetition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub letter: Option<LetterName>,
    /// When it was meant to arrive, in nanoseconds of the run, so that it counts
    /// for the decisions it was meant for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meant_ns: Option<u64>,
    /// The job and its end; of a refusal only `job` and `reason` count, its
    /// state being `rejected`.
    pub job: JobEndReport,
    /// Which time that the job was brought a refusal is about: the FNV-1a digest of
    /// its key then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visit: Option<u64>,
}

impl JobNotice {
    /// The news of a job, from a service.
    pub fn of(from: Place, letter: LetterName, meant: SimTime, news: &News) -> Self {
        let (kind, job, visit) = match news {
            News::Ended(end) => (NoticeKind::Ended, end.into(), None),
            News::Refused { job, reason, visit } => {
                let job = JobEndReport::refused(*job, *reason);
                (NoticeKind::Refused, job, *visit)
            }
        };
        JobNotice {
            kind,
            from,
            letter: Some(letter),
            meant_ns: Some(meant.as_nanos()),
            job,
            visit,
        }
    }

    /// What it tells.
    ///
    /// # Errors
    /// When the state or the reason is none of those.
    pub fn news(&self) -> Result<News> {
        Ok(match self.kind {
            NoticeKind::Ended => News::Ended(JobEnd::try_from(&self.job)?),
            NoticeKind::Refused => News::Refused {
                job: JobId(self.job.job),
                reason: reason_of(self.job.reason.as_deref())?,
                visit: self.visit,
            },
        })
    }
}
