//! What can be wrong with a model.

use crate::error::TraceError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// What a model gives, or why not.
pub(super) type Result<T, E = SynthError> = std::result::Result<T, E>;

/// Why a model makes no workload.
#[derive(Debug, Error)]
pub enum SynthError {
    /// A model file cannot be read.
    #[error("{}: cannot be read", .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// A parameter that makes no sense.
    #[error("field {field} = \"{value}\": expected {expected}")]
    Parameter {
        /// Its path in the model.
        field: String,
        /// Its value.
        value: String,
        /// What would have been right.
        expected: String,
    },
    /// A model file that is no model, or a trace that cannot be read or has nothing to
    /// fit a model to.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The trace that is made cannot be written.
    #[error("cannot write the trace")]
    Write(#[source] io::Error),
}

impl SynthError {
    pub(super) fn parameter(
        field: impl Into<String>,
        value: impl ToString,
        expected: impl Into<String>,
    ) -> Self {
        SynthError::Parameter {
            field: field.into(),
            value: value.to_string(),
            expected: expected.into(),
        }
    }
}

/// Refuses a number outside of its range, NaN included.
pub(super) fn within(field: &str, value: f64, range: std::ops::RangeInclusive<f64>) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    let expected = format!("{} to {}", range.start(), range.end());
    Err(SynthError::parameter(field, value, expected))
}

/// Refuses the first of these numbers that is outside of its range.
pub(super) fn all_within(
    field: &str,
    numbers: impl IntoIterator<Item = f64>,
    range: std::ops::RangeInclusive<f64>,
) -> Result<()> {
    let mut numbers = numbers.into_iter();
    numbers.try_for_each(|number| within(field, number, range.clone()))
}

/// Refuses a list that is too short or too long.
pub(super) fn entries(
    field: &str,
    count: usize,
    range: std::ops::RangeInclusive<f64>,
) -> Result<()> {
    within(&format!("{field} (entries)"), count as f64, range)
}
