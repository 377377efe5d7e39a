//! Messages about jobs: `submitJob`, `queryJob`, `notifyJob`, `cancelJob`.

use super::reference::{Parameter, Reference};
use super::words::JobNews;
use crate::jsdl::JobDefinition;
pub use crate::rest::JobEndReport as JobReport;
use crate::rest::{JobState, LetterName};
use serde::{Deserialize, Serialize};

/// A job that is submitted or forwarded. `J` is the job's description: read,
/// or in JSON the text of the JSDL document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubmitJob<J = JobDefinition> {
    /// The connection.
    pub connection: String,
    /// Idempotency key: a submission repeated under its key is answered with
    /// the first answer and never run twice. Brokers use `RUN/ORIGIN/JOB/HOP`.
    pub key: String,
    /// Where the job entered; absent where it does so here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Forwards so far, this one included.
    #[serde(default)]
    pub hop: u32,
    /// Forwards that are still allowed; absent, as many as the receiver's own
    /// rules allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u32>,
    /// Whom to tell of the job: the forwarder's endpoint, with the forwarder's
    /// own name of the job among its parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarder: Option<Reference>,
    /// When it was meant to arrive, in nanoseconds of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meant_ns: Option<u64>,
    /// The job, with the sizes of its data.
    #[serde(rename = "jsdl")]
    pub job: J,
}

/// Where a job entered the grid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The domain, by name.
    pub domain: String,
    /// The job's number there, which is its number in the run.
    pub job: u32,
    /// Who submitted it, as the origin names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

impl<J> SubmitJob<J> {
    /// The same submission with its description in another form.
    ///
    /// # Errors
    /// What `map` fails with.
    pub fn try_map<K, E>(self, map: impl FnOnce(J) -> Result<K, E>) -> Result<SubmitJob<K>, E> {
        Ok(SubmitJob {
            connection: self.connection,
            key: self.key,
            origin: self.origin,
            hop: self.hop,
            ttl: self.ttl,
            forwarder: self.forwarder,
            meant_ns: self.meant_ns,
            job: map(self.job)?,
        })
    }
}

/// The answer to a submission. A repeated submission gets the first one again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubmitJobAnswer {
    /// The receiver's name of the job.
    pub job: u32,
    /// `queued`, or `rejected` where it was not taken.
    pub state: JobState,
    /// Why it was not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When that was decided, in nanoseconds of the run.
    pub at_ns: u64,
    /// Whether the job was here before under the same key.
    #[serde(default)]
    pub repeated: bool,
    /// Where to ask about the job.
    pub endpoint: Reference,
}

/// Asks where a job stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryJob {
    /// The connection.
    pub connection: String,
    /// The receiver's name of the job.
    pub job: u32,
}

/// Asks for a job to be removed. One that is elsewhere is removed there, and
/// its end is told like any other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelJob {
    /// The connection.
    pub connection: String,
    /// The receiver's name of the job.
    pub job: u32,
}

/// News of a job, on its way back along the brokers it came by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotifyJob {
    /// The connection.
    pub connection: String,
    /// The name of this letter; without one it is never a repetition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub letter: Option<LetterName>,
    /// When it was meant to arrive, in nanoseconds of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meant_ns: Option<u64>,
    /// What is told.
    pub news: JobNews,
    /// The job, by the name that the notifier gave it.
    pub report: JobReport,
    /// The parameters of the reference that the job was tagged with, where the
    /// receiver has its own name of the job. SOAP carries them in the header.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reference: Vec<Parameter>,
}
