//! Messages about jobs: `submitJob`, `queryJob`, `notifyJob`, `cancelJob`.

use super::reference::{Parameter, Reference};
use super::words::JobNews;
use super::xml::{LaGrid, parts};
use crate::jsdl::JobDefinition;
pub use crate::rest::JobEndReport as JobReport;
use crate::rest::{JobState, LetterName};
use crate::xml::LAGRID;

parts! {
    /// A job that is submitted or forwarded. `J` is the job's description: read,
    /// or in JSON the text of the JSDL document.
    pub struct SubmitJob<J = JobDefinition> {
        /// The connection.
        pub connection: String = "connection",
        /// Idempotency key: a submission repeated under its key is answered with
        /// the first answer and never run twice. Brokers use `RUN/ORIGIN/JOB/HOP`.
        pub key: String = "key",
        /// Where the job entered; absent where it does so here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub origin: Option<Origin> = "origin",
        /// Forwards so far, this one included.
        #[serde(default)]
        pub hop: u32 = "hop" [or 0],
        /// Forwards that are still allowed; absent, as many as the receiver's own
        /// rules allow.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ttl: Option<u32> = "ttl",
        /// Whom to tell of the job: the forwarder's endpoint, with the forwarder's
        /// own name of the job among its parameters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub forwarder: Option<Reference> = "forwarder",
        /// When it was meant to arrive, in nanoseconds of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub meant_ns: Option<u64> = "meantNs",
        /// The job, with the sizes of its data.
        #[serde(rename = "jsdl")]
        pub job: J = "job",
    }

    /// Where a job entered the grid.
    pub struct Origin {
        /// The domain, by name.
        pub domain: String = "domain",
        /// The job's number there, which is its number in the run.
        pub job: u32 = "job",
        /// Who submitted it, as the origin names them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub user: Option<String> = "user",
    }
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

parts! {
    /// The answer to a submission. A repeated submission gets the first one again.
    pub struct SubmitJobAnswer {
        /// The receiver's name of the job.
        pub job: u32 = "job",
        /// `queued`, or `rejected` where it was not taken.
        pub state: JobState = "state",
        /// Why it was not taken.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reason: Option<String> = "reason",
        /// When that was decided, in nanoseconds of the run.
        pub at_ns: u64 = "atNs",
        /// Whether the job was here before under the same key.
        #[serde(default)]
        pub repeated: bool = "repeated" [or false],
        /// Where to ask about the job.
        pub endpoint: Reference = "endpoint",
    }

    /// Asks where a job stands.
    pub struct QueryJob {
        /// The connection.
        pub connection: String = "connection",
        /// The receiver's name of the job.
        pub job: u32 = "job",
    }

    /// Asks for a job to be removed. One that is elsewhere is removed there, and
    /// its end is told like any other.
    pub struct CancelJob {
        /// The connection.
        pub connection: String = "connection",
        /// The receiver's name of the job.
        pub job: u32 = "job",
    }

    /// News of a job, on its way back along the brokers it came by.
    pub struct NotifyJob {
        /// The connection.
        pub connection: String = "connection",
        /// The name of this letter; without one it is never a repetition.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub letter: Option<LetterName> = "letter",
        /// When it was meant to arrive, in nanoseconds of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub meant_ns: Option<u64> = "meantNs",
        /// What is told.
        pub news: JobNews = "news",
        /// The job, by the name that the notifier gave it.
        pub report: JobReport = "report",
        /// The parameters of the reference that the job was tagged with, where the
        /// receiver has its own name of the job. SOAP carries them in the header.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub reference: Vec<Parameter> = "",
    }
}
