//! What can be wrong with a trace or with what is asked of it.

use std::fmt;
use std::io;

/// Why a trace cannot be used. Records that are merely unusable are no errors:
/// they are skipped and counted.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("{file}: the trace cannot be opened")]
    Open {
        /// The trace.
        file: String,
        /// What the system says.
        #[source]
        source: io::Error,
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
    #[error("{file}:{line}: the gzip data is damaged or cut short after this line")]
    DamagedGzip {
        /// The trace.
        file: String,
        /// The last line that was read whole; 0 is none.
        line: u64,
        /// What the decoder says.
        #[source]
        source: io::Error,
    },
    /// Three columns: job, start and stop of reservations.
    #[error(
        "{file}:{line}: this is a GWA reservation table (JobID, StartTime, StopTime), not a job \
         trace: expected the 18 fields of SWF"
    )]
    ReservationTable {
        /// The file.
        file: String,
        /// Its first data line.
        line: u64,
    },
    /// The 29 columns of the Grid Workload Format.
    #[error("{file}:{line}: GWF (29 columns) is not read yet: expected the 18 fields of SWF")]
    Gwf {
        /// The file.
        file: String,
        /// Its first data line.
        line: u64,
    },
    /// The first line that is no comment is no job.
    #[error(
        "{file}:{line}: not an SWF trace: line = \"{found}\": expected 18 numbers separated by \
         blanks"
    )]
    NotSwf {
        /// The file.
        file: String,
        /// Its first data line.
        line: u64,
        /// How that line begins, with unprintable bytes escaped.
        found: String,
    },
    /// Comments at best.
    #[error("{file}: the trace has no job line ({lines} lines of comments and blanks)")]
    NoJobs {
        /// The trace.
        file: String,
        /// Lines read.
        lines: u64,
    },
    /// A line with fewer than 18 fields.
    #[error("{file}:{line}: field count = \"{found}\": expected 18")]
    FieldCount {
        /// The trace.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// Fields on it.
        found: usize,
    },
    /// A field that is not what the format says.
    #[error("{file}:{line}: field {field} = \"{value}\": expected {expected}")]
    Field {
        /// The trace.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// Number and name of the field.
        field: FieldName,
        /// The text found, with unprintable bytes escaped.
        value: String,
        /// What would have been right.
        expected: &'static str,
    },
    /// A line longer than any job needs.
    #[error("{file}:{line}: the line is longer than {limit} bytes: expected 18 numbers")]
    LongLine {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// The bound in bytes.
        limit: usize,
    },
    /// More jobs than a run can name.
    #[error("{file}: the trace has more than {limit} usable jobs: expected a smaller trace")]
    TooManyJobs {
        /// The trace, or the workloads together.
        file: String,
        /// The bound.
        limit: u64,
    },
    /// A scaled or shifted time that no run can hold.
    #[error("{file}: job {job}: its {what} does not fit 584 years after scaling and offset")]
    TooLong {
        /// The trace.
        file: String,
        /// The job number of the trace.
        job: u64,
        /// Which time.
        what: &'static str,
    },
    /// A reduction step that makes no sense.
    #[error("{file}: field {field} = \"{value}\": expected {expected}")]
    Step {
        /// The trace it was asked for.
        file: String,
        /// The key of the scenario.
        field: &'static str,
        /// Its value.
        value: String,
        /// What would have been right.
        expected: String,
    },
}

/// Number and name of an SWF field, as in `4 (run time)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldName {
    /// Counted from 1.
    pub number: usize,
    /// What the format calls it.
    pub name: &'static str,
}

impl fmt::Display for FieldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.number, self.name)
    }
}

/// The beginning of a text from a file, fit for a message.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    /// Enough to recognise a line by.
    const LENGTH: usize = 40;
    let shown = bytes.get(..LENGTH).unwrap_or(bytes);
    let dots = if bytes.len() > LENGTH { "..." } else { "" };
    format!("{}{dots}", shown.escape_ascii())
}
