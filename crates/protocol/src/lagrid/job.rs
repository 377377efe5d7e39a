//! Parts of messages about jobs, and the answers to these.

use super::reference::Reference;
use super::xml::{LaGrid, parts};
pub use crate::rest::JobEndReport as JobReport;
use crate::rest::JobState;
use crate::xml::LAGRID;

parts! {
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
}
