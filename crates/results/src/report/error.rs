//! Why a report could not be made.

use crate::compare::CompareError;
use crate::rundir::RunDirError;
use std::path::PathBuf;

/// A part of a report, or why there is none.
pub(super) type Result<T, E = ReportError> = std::result::Result<T, E>;

/// Why a report could not be made; all are mistakes of input.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The runs cannot be compared for a reason that leaves nothing to show.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// A file of a run cannot be read.
    #[error(transparent)]
    Run(#[from] RunDirError),
    /// The scenario of a run is no text.
    #[error("{}: expected the resolved scenario, as UTF-8", .0.display())]
    Scenario(PathBuf, #[source] std::io::Error),
    /// No such replication.
    #[error("replication \"{0}\": expected one of {1}")]
    Replication(String, String),
}
