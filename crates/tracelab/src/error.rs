//! What can be wrong with a trace or with what is asked of it.

use std::error::Error;
use std::io;

/// Why a trace cannot be used. Records that are merely unusable are no errors:
/// they are skipped and counted.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("{file}: the file cannot be opened")]
    Open {
        /// The trace.
        file: String,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The model of a generated workload makes none.
    #[error("{file}: {source}")]
    Model {
        /// The model file.
        file: String,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Reading stopped before the end of the file.
    #[error("{file}:{line}: the trace cannot be read past this line")]
    Read {
        /// The trace.
        file: String,
        /// The last line that was read whole; 0 is none.
        line: u64,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The compressed data is cut short or does not match its checksum.
    #[error(
        "{file}:{line}: the compressed data is damaged, cut short or followed by something else after this line"
    )]
    Damaged {
        /// The trace.
        file: String,
        /// The last line that was read whole; 0 is none.
        line: u64,
        /// What the decoder says.
        #[source]
        source: io::Error,
    },
    /// A line that cannot be right.
    #[error("{file}:{line}: {problem}")]
    Line {
        /// The trace.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// The field and its value, and what was expected.
        problem: String,
    },
    /// A trace that cannot be used as a whole, or not as it was asked.
    #[error("{file}: {problem}")]
    File {
        /// The trace, or the workloads together.
        file: String,
        /// What is wrong, and what was expected.
        problem: String,
    },
}

impl TraceError {
    pub(crate) fn line(file: &str, line: u64, problem: String) -> Self {
        let file = file.to_owned();
        TraceError::Line {
            file,
            line,
            problem,
        }
    }

    pub(crate) fn file(file: &str, problem: String) -> Self {
        let file = file.to_owned();
        TraceError::File { file, problem }
    }

    pub(crate) fn too_many_jobs(file: &str) -> Self {
        let most = u32::MAX;
        let problem =
            format!("the trace has more than {most} usable jobs: expected a smaller trace");
        TraceError::file(file, problem)
    }
}

/// Number, counted from 1, and name of a field, as in `4 (run time)`.
pub(crate) fn field_name(number: usize, names: &[&str]) -> String {
    format!("{number} ({})", names[number - 1])
}

/// The beginning of a text from a file, fit for a message.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    /// Enough to recognise a line by.
    const LENGTH: usize = 40;
    let shown = bytes.get(..LENGTH).unwrap_or(bytes);
    let dots = if bytes.len() > LENGTH { "..." } else { "" };
    format!("{}{dots}", shown.escape_ascii())
}

/// Why a trace cannot be written in another form.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// Something about an input.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The output cannot be written.
    #[error("{file}: the trace cannot be written")]
    Write {
        /// The output.
        file: String,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// A conversion that cannot be done as it was asked.
    #[error("{file}: {problem}")]
    Refused {
        /// The input or output.
        file: String,
        /// What is wrong, and what was expected.
        problem: String,
    },
    /// What was read the second time is not what was read the first time.
    #[error("{file}: the file changed while it was read: {first} jobs at first, then {second}")]
    Changed {
        /// The input.
        file: String,
        /// Jobs of the first reading.
        first: u64,
        /// Jobs of the second.
        second: u64,
    },
}

impl ConvertError {
    pub(crate) fn refused(file: impl ToString, problem: impl Into<String>) -> Self {
        ConvertError::Refused {
            file: file.to_string(),
            problem: problem.into(),
        }
    }

    /// More streams than files can be open.
    pub(crate) fn too_many_streams(file: impl ToString, field: &str, limit: usize) -> Self {
        let problem = format!(
            "field {field} has more than {limit} values: expected a field with fewer, or a \
             number of submission points"
        );
        ConvertError::refused(file, problem)
    }

    /// A shifted time or number that no trace can hold.
    pub(crate) fn too_large(file: &str, what: &str) -> Self {
        let problem = format!("the {what} does not fit after the shift: expected smaller ones");
        ConvertError::refused(file, problem)
    }
}
