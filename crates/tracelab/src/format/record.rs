//! One job line of either format.

use super::number::Number;
use gridrig_core::time::SimDuration;
use std::path::Path;

/// The format of a trace.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, strum::Display, strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Format {
    /// Standard Workload Format 2.2.
    Swf,
    /// Grid Workload Format.
    Gwf,
}

impl Format {
    /// `swf` or `gwf`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The format that a file name ends in, `.gz` left aside; `None` for any
    /// other ending.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Format> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let (_, end) = name.strip_suffix(".gz").unwrap_or(&name).rsplit_once('.')?;
        [Format::Swf, Format::Gwf]
            .into_iter()
            .find(|format| format.name() == end)
    }

    /// What comments begin with.
    pub(super) fn mark(self) -> u8 {
        match self {
            Format::Swf => b';',
            Format::Gwf => b'#',
        }
    }

    /// Fields or columns of a job line.
    pub(super) fn columns(self) -> usize {
        match self {
            Format::Swf => FIELDS,
            Format::Gwf => COLUMNS,
        }
    }

    /// The names of the fields or columns, in order.
    pub(crate) fn column_names(self) -> &'static [&'static str] {
        match self {
            Format::Swf => &FIELD_NAMES,
            Format::Gwf => &COLUMN_NAMES,
        }
    }
}

/// Fields of a job line of SWF.
pub const FIELDS: usize = 18;

/// The names of the fields, in order.
pub const FIELD_NAMES: [&str; FIELDS] = [
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
];

/// Columns of a job line of GWF.
pub const COLUMNS: usize = 29;

/// The columns that are numbers in GWF: 1 to 11, which are fields of SWF too.
pub(super) const NUMBERS: usize = 11;

/// The columns of GWF that are kept as text: 12 to 29.
pub const TEXTS: usize = COLUMNS - NUMBERS;

/// The first column of GWF that is text.
const FIRST_TEXT: usize = NUMBERS + 1;

/// The names of the columns, in order, as the archive spells them.
pub const COLUMN_NAMES: [&str; COLUMNS] = [
    "JobID",
    "SubmitTime",
    "WaitTime",
    "RunTime",
    "NProcs",
    "AverageCPUTimeUsed",
    "UsedMemory",
    "ReqNProcs",
    "ReqTime",
    "ReqMemory",
    "Status",
    "UserID",
    "GroupID",
    "ExecutableID",
    "QueueID",
    "PartitionID",
    "OrigSiteID",
    "LastRunSiteID",
    "JobStructure",
    "JobStructureParams",
    "UsedNetwork",
    "UsedLocalDiskSpace",
    "UsedResources",
    "ReqPlatform",
    "ReqNetwork",
    "ReqLocalDiskSpace",
    "ReqResources",
    "VOID",
    "ProjectID",
];

/// A job line with all its fields. `None` is *not available*: -1 or any other
/// number below zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Line of the file, counted from 1.
    pub line: u64,
    /// Field 1. Numbers may be sparse and may repeat (partial executions).
    pub job: Option<u64>,
    /// Field 2, from the log's time 0; in GWF absolute, in Unix seconds.
    pub submit_time: Option<SimDuration>,
    /// Field 3.
    pub wait_time: Option<SimDuration>,
    /// Field 4, wall clock; 0 is less than half a second.
    pub run_time: Option<SimDuration>,
    /// Field 5.
    pub allocated_processors: Option<u64>,
    /// Field 6, per processor.
    pub cpu_time: Option<SimDuration>,
    /// Field 7, KB per processor.
    pub used_memory: Option<Number>,
    /// Field 8.
    pub requested_processors: Option<u64>,
    /// Field 9, the user's estimate.
    pub requested_time: Option<SimDuration>,
    /// Field 10, KB per processor.
    pub requested_memory: Option<Number>,
    /// Field 11: 1 completed, 0 failed, 5 cancelled, 2 to 4 partial
    /// executions; some logs hold raw exit codes.
    pub status: Option<u64>,
    /// Field 12. In GWF this one and the four below are here where they are
    /// whole numbers without a leading zero.
    pub user: Option<u64>,
    /// Field 13.
    pub group: Option<u64>,
    /// Field 14.
    pub executable: Option<u64>,
    /// Field 15; 0 is interactive by convention.
    pub queue: Option<u64>,
    /// Field 16.
    pub partition: Option<u64>,
    /// Field 17.
    pub preceding_job: Option<u64>,
    /// Field 18, from the end of the preceding job to the submission.
    pub think_time: Option<SimDuration>,
    /// Fields below zero that are not -1, bit 0 for field 1: not available by
    /// the rules of the format, but more likely wrong.
    pub below_zero: u32,
    /// How long before its submission a job of GWF began: a wait time below
    /// zero other than -1, as advance reservations have it.
    pub early: Option<SimDuration>,
    /// Columns 12 to 29 of GWF as they stand, of which empty is *not
    /// available*; none of SWF.
    pub text: Vec<Vec<u8>>,
}

/// A field, counted from 0, and what was expected of it.
pub(crate) type Unfit = (usize, &'static str);

impl Record {
    pub(crate) fn from_numbers(line: u64, numbers: &[Number; FIELDS]) -> Result<Self, Unfit> {
        let time = |at: usize| match numbers[at] {
            n if n.negative => Ok(None),
            n => n.seconds().map(Some).ok_or((at, "a time below 584 years")),
        };
        let count = |at: usize| match numbers[at] {
            n if n.negative => Ok(None),
            n if n.billionths == 0 => Ok(Some(n.whole)),
            _ => Err((at, "a whole number")),
        };
        // Averages are written with a fraction.
        let memory = |at: usize| match numbers[at] {
            n if n.negative => None,
            n => Some(Number { cut: false, ..n }),
        };
        let below_zero = |bits, (at, n): (usize, &Number)| match n {
            n if !n.negative || (n.whole == 1 && n.billionths == 0) => bits,
            _ => bits | 1 << at,
        };
        Ok(Record {
            line,
            job: count(0)?,
            submit_time: time(1)?,
            wait_time: time(2)?,
            run_time: time(3)?,
            allocated_processors: count(4)?,
            cpu_time: time(5)?,
            used_memory: memory(6),
            requested_processors: count(7)?,
            requested_time: time(8)?,
            requested_memory: memory(9),
            status: count(10)?,
            user: count(11)?,
            group: count(12)?,
            executable: count(13)?,
            queue: count(14)?,
            partition: count(15)?,
            preceding_job: count(16)?,
            think_time: time(17)?,
            below_zero: numbers.iter().enumerate().fold(0, below_zero),
            early: None,
            text: Vec::new(),
        })
    }

    /// User, group, executable, queue and partition.
    #[must_use]
    pub fn ids(&self) -> [Option<u64>; 5] {
        [
            self.user,
            self.group,
            self.executable,
            self.queue,
            self.partition,
        ]
    }

    /// Replaces them.
    pub(crate) fn set_ids(&mut self, ids: [Option<u64>; 5]) {
        [
            self.user,
            self.group,
            self.executable,
            self.queue,
            self.partition,
        ] = ids;
    }

    /// A column of GWF from 12 on as text; `None` where it is *not available*
    /// (-1 or empty), and for the columns that are numbers.
    #[must_use]
    pub fn column(&self, number: usize) -> Option<&[u8]> {
        let text = self.text.get(number.checked_sub(FIRST_TEXT)?)?;
        (!text.is_empty() && text != b"-1").then_some(text)
    }

    /// Replaces the text of a column from 12 on.
    pub(crate) fn set_column(&mut self, number: usize, text: Vec<u8>) {
        self.text.resize(TEXTS, Vec::new());
        self.text[number - FIRST_TEXT] = text;
    }

    /// The wait time in seconds with its sign; `None` where it is not
    /// available.
    #[must_use]
    pub fn wait_secs_f64(&self) -> Option<f64> {
        let early = self.early.map(|early| -early.as_secs_f64());
        early.or(self.wait_time.map(SimDuration::as_secs_f64))
    }

    /// A job that was made: it ran and completed, on the processors that it
    /// asked for.
    pub(crate) fn made(number: u64, submit_s: u64, run_time_s: u64, processors: u64) -> Self {
        Record {
            job: Some(number),
            submit_time: Some(SimDuration::from_secs(submit_s)),
            run_time: Some(SimDuration::from_secs(run_time_s)),
            allocated_processors: Some(processors),
            requested_processors: Some(processors),
            status: Some(1),
            ..Record::default()
        }
    }
}

/// The number that a text is, if writing it gives the same text again.
pub(crate) fn canonical_number(text: &[u8]) -> Option<u64> {
    let leading_zero = text.len() > 1 && text[0] == b'0';
    if text.is_empty() || leading_zero || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}
