//! What can be wrong with a trace or with what is asked of it.

use std::error::Error;
use std::io;
use std::path::Path;

/// What a trace gives, or why not.
pub(crate) type Result<T, E = TraceError> = std::result::Result<T, E>;

/// Why a trace cannot be used. Records that are merely unusable are no errors:
/// they are skipped and counted.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("{0}: the file cannot be opened")]
    Open(String, #[source] io::Error),
    /// The model of a generated workload makes none.
    #[error("{0}: {1}")]
    Model(String, #[source] Box<dyn Error + Send + Sync>),
    /// Reading stopped before the end of the file: after which line, 0 being none.
    #[error("{0}:{1}: the trace cannot be read past this line")]
    Read(String, u64, #[source] io::Error),
    /// The compressed data is cut short or does not match its checksum, after this line.
    #[error(
        "{0}:{1}: the compressed data is damaged, cut short or followed by something else after this line"
    )]
    Damaged(String, u64, #[source] io::Error),
    /// A line, counted from 1, that cannot be right.
    #[error("{0}:{1}: {2}")]
    Line(String, u64, String),
    /// A trace that cannot be used as a whole, or not as it was asked.
    #[error("{0}: {1}")]
    File(String, String),
}

impl TraceError {
    pub(crate) fn line(file: &str, line: u64, problem: String) -> Self {
        let file = file.to_owned();
        TraceError::Line(file, line, problem)
    }

    pub(crate) fn file(file: &str, problem: String) -> Self {
        let file = file.to_owned();
        TraceError::File(file, problem)
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
    #[error("{0}: the trace cannot be written")]
    Write(String, #[source] io::Error),
    /// A conversion that cannot be done as it was asked.
    #[error("{0}: {1}")]
    Refused(String, String),
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
        ConvertError::Refused(file.to_string(), problem.into())
    }

    /// An output that could be of any format.
    pub(crate) fn no_format(output: &Path) -> Self {
        let problem = "the name shows no format: expected it to end in .swf or .gwf (and .gz for \
                       gzip), or --to";
        ConvertError::refused(output.display(), problem)
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
