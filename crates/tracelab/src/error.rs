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
    /// The model of a generated workload makes none.
    #[error("{file}: {source}")]
    Model {
        /// The model file.
        file: String,
        /// Why.
        source: Box<crate::synth::SynthError>,
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
    /// The 29 columns of the Grid Workload Format, read as SWF.
    #[error("{file}:{line}: this is GWF (29 columns): expected the 18 fields of SWF")]
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
    /// A line with too few fields.
    #[error("{file}:{line}: field count = \"{found}\": expected {expected}")]
    FieldCount {
        /// The trace.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// Fields on it.
        found: usize,
        /// Fields of the format: 18 of SWF, 29 of GWF.
        expected: usize,
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
    #[error("{file}:{line}: the line is longer than {limit} bytes: expected one job")]
    LongLine {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// The bound in bytes.
        limit: usize,
    },
    /// More names of users, queues and the like than are kept.
    #[error(
        "{file}:{line}: field {field}: its names take more than {limit} bytes: expected ids that \
         recur"
    )]
    TooManyNames {
        /// The trace.
        file: String,
        /// The line that had one more.
        line: u64,
        /// The field.
        field: FieldName,
        /// The bound in bytes, for each field.
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

/// Number and name of a field of SWF or GWF, as in `4 (run time)`.
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
    /// A pipe or a device: it can be read only once.
    #[error("{file}: not a regular file: expected one, since it is read twice")]
    NotRegular {
        /// The input.
        file: String,
    },
    /// The output is there already.
    #[error("{file}: the file is there already: expected a new name, or --force")]
    Exists {
        /// The output.
        file: String,
    },
    /// The output is one of the inputs.
    #[error("{file}: input and output are the same file: expected another name")]
    SameFile {
        /// The output.
        file: String,
    },
    /// The name of the output tells no format.
    #[error(
        "{file}: the name tells no format: expected it to end in .swf or .gwf (and .gz for gzip), \
         or --to"
    )]
    NoFormat {
        /// The output.
        file: String,
    },
    /// The braces for the names of the streams are missing, or there is
    /// nothing to name.
    #[error("{file}: expected {expected}")]
    StreamName {
        /// The output.
        file: String,
        /// What would have been right.
        expected: &'static str,
    },
    /// More streams than files can be open.
    #[error(
        "{file}: field {field} has more than {limit} values: expected a field with fewer, or a \
         number of submission points"
    )]
    TooManyStreams {
        /// The output.
        file: String,
        /// The field that was split by.
        field: &'static str,
        /// The bound.
        limit: usize,
    },
    /// No job is left to write.
    #[error("{file}: the rules leave no job: expected some that stay")]
    NothingLeft {
        /// The output.
        file: String,
    },
    /// Traces are to keep their places in the calendar, and one has none.
    #[error("{file}: the trace does not say when it began: expected a header with UnixStartTime")]
    NoCalendar {
        /// The input.
        file: String,
    },
    /// A shifted time or number that no trace can hold.
    #[error("{file}: the {what} does not fit after the shift: expected smaller ones")]
    TooLarge {
        /// The input.
        file: String,
        /// Of what.
        what: &'static str,
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
