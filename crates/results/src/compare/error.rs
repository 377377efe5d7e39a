//! Why runs could not be compared.

use super::document::Objection;
use crate::incomplete::Incomplete;
use crate::rundir::RunDirError;
use std::path::PathBuf;

/// A part of a comparison, or why there is none.
pub(super) type Result<T, E = CompareError> = std::result::Result<T, E>;

/// Why runs could not be compared; all are mistakes of input.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// Nothing there.
    #[error(
        "{}: no run there or below (expected a directory that `gridrig run` wrote)",
        .0.display()
    )]
    NoRun(PathBuf),
    /// A run without the manifest, which is written last.
    #[error(
        "{}: a run without manifest.json: {} (expected a complete run; {}, or leave it out with \
         --skip-damaged)",
        .0.display(), .1.reason(), .1.remedy(.0)
    )]
    HalfWritten(PathBuf, Incomplete),
    /// Nothing is left.
    #[error("no run is left (expected at least one that is complete): {}", .0.join("; "))]
    NoneWhole(Vec<String>),
    /// The run cannot be read.
    #[error("a damaged run (expected a complete one; --skip-damaged leaves it out)")]
    Damaged(#[source] Box<RunDirError>),
    /// A declared figure or bound is not understood.
    #[error("{}: field {field} = \"{value}\": {why}", path.display())]
    Declared {
        /// The manifest.
        path: PathBuf,
        /// The field.
        field: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it.
        why: String,
    },
    /// Two runs claim to be the same one.
    #[error(
        "{} and {}: both are {what}, and differ (expected one of them)",
        first.display(), second.display()
    )]
    Conflict {
        /// The one.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// Policy and replication.
        what: String,
    },
    /// Less than two policies.
    #[error("nothing to compare: {0} (expected runs of two policies or more){1}")]
    OnePolicy(String, String),
    /// The baseline is not among the policies.
    #[error("baseline \"{0}\": expected one of {1}")]
    Baseline(String, String),
    /// No replication that all policies have.
    #[error("no pair of runs: {0} (expected runs of the same workload, replication and seed)")]
    NoPair(String),
    /// The runs differ in more than their policy.
    #[error("not comparable: {} (--anyway shows them all the same)", joined(.0))]
    NotComparable(Vec<Objection>),
}

fn joined(objections: &[Objection]) -> String {
    let messages: Vec<&str> = objections.iter().map(|o| o.message.as_str()).collect();
    messages.join("; ")
}

impl From<RunDirError> for CompareError {
    fn from(error: RunDirError) -> Self {
        // What lies under a message of ours is the part that says what is wrong.
        CompareError::Damaged(Box::new(error))
    }
}
