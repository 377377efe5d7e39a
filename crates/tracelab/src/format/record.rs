//! One job line of either format.

use super::number::{Number, parsed};
use gridrig_core::time::{NANOS_PER_SEC, SimDuration};
use std::path::Path;
use strum::{Display, IntoStaticStr};

/// The format of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, Display, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Format {
    /// Standard Workload Format 2.2.
    #[default]
    Swf,
    /// Grid Workload Format.
    Gwf,
}

impl Format {
    /// `swf` or `gwf`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The format that a file name ends in, `.gz` left aside; `None` for any
    /// other ending.
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
        self.column_names().len()
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
#[rustfmt::skip]
pub const FIELD_NAMES: [&str; FIELDS] = [
    "job number", "submit time", "wait time", "run time",
    "allocated processors", "average CPU time", "used memory",
    "requested processors", "requested time", "requested memory",
    "status", "user", "group", "executable", "queue", "partition",
    "preceding job", "think time",
];

/// Columns of a job line of GWF.
pub const COLUMNS: usize = 29;

/// The columns that are numbers in GWF: 1 to 11, which are fields of SWF too.
pub(super) const NUMBERS: usize = 11;

/// The fields of SWF that say who and what: 12 to 16.
pub(crate) const IDS: usize = 5;

/// The columns of GWF that are kept as text: 12 to 29.
pub const TEXTS: usize = COLUMNS - NUMBERS;

/// The first column of GWF that is text.
const FIRST_TEXT: usize = NUMBERS + 1;

/// The names of the columns, in order, as the archive spells them.
#[rustfmt::skip]
pub const COLUMN_NAMES: [&str; COLUMNS] = [
    "JobID", "SubmitTime", "WaitTime", "RunTime",
    "NProcs", "AverageCPUTimeUsed", "UsedMemory",
    "ReqNProcs", "ReqTime", "ReqMemory",
    "Status", "UserID", "GroupID", "ExecutableID", "QueueID", "PartitionID",
    "OrigSiteID", "LastRunSiteID",
    "JobStructure", "JobStructureParams",
    "UsedNetwork", "UsedLocalDiskSpace", "UsedResources",
    "ReqPlatform", "ReqNetwork", "ReqLocalDiskSpace", "ReqResources",
    "VOID", "ProjectID",
];

/// The fields by their place in a line, from 0: their number less one.
pub mod field {
    /// Job number. Numbers may be sparse and may repeat (partial executions).
    pub const JOB: usize = 0;
    /// From the log's time 0; in GWF absolute, in Unix seconds.
    pub const SUBMIT: usize = 1;
    /// Wait time.
    pub const WAIT: usize = 2;
    /// Wall clock; 0 is less than half a second.
    pub const RUN_TIME: usize = 3;
    /// Allocated processors.
    pub const ALLOCATED: usize = 4;
    /// Average CPU time per processor.
    pub const CPU_TIME: usize = 5;
    /// KB per processor.
    pub const USED_MEMORY: usize = 6;
    /// Requested processors.
    pub const REQUESTED: usize = 7;
    /// The user's estimate.
    pub const REQUESTED_TIME: usize = 8;
    /// KB per processor.
    pub const REQUESTED_MEMORY: usize = 9;
    /// 1 completed, 0 failed, 5 cancelled, 2 to 4 partial executions; some logs
    /// hold raw exit codes.
    pub const STATUS: usize = 10;
    /// User. In GWF this one and the four below are here where they are whole
    /// numbers without a leading zero.
    pub const USER: usize = 11;
    /// Group.
    pub const GROUP: usize = 12;
    /// Executable.
    pub const EXECUTABLE: usize = 13;
    /// Queue; 0 is interactive by convention.
    pub const QUEUE: usize = 14;
    /// Partition.
    pub const PARTITION: usize = 15;
    /// Preceding job.
    pub const PRECEDING_JOB: usize = 16;
    /// From the end of the preceding job to the submission.
    pub const THINK_TIME: usize = 17;
}

/// The fields that are times, as bits.
pub(crate) const TIMES: u32 = 1 << field::SUBMIT
    | 1 << field::WAIT
    | 1 << field::RUN_TIME
    | 1 << field::CPU_TIME
    | 1 << field::REQUESTED_TIME
    | 1 << field::THINK_TIME;

/// The fields that may be any amount: averages are written with a fraction.
const AMOUNTS: u32 = 1 << field::USED_MEMORY | 1 << field::REQUESTED_MEMORY;

/// A job line. A number below zero, mostly -1, is *not available*; the methods
/// give `None` for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Line of the file, counted from 1.
    pub line: u64,
    /// By their [`field`].
    pub numbers: [Number; FIELDS],
    /// How long before its submission a job of GWF began: a wait time below
    /// zero other than -1, as advance reservations have it.
    pub early: Option<SimDuration>,
    /// Columns 12 to 29 of GWF as they stand, of which empty is *not
    /// available*; none of SWF.
    pub text: Vec<Vec<u8>>,
}

/// A field, counted from 0, and what was expected of it.
pub(crate) type Unfit = (usize, &'static str);

/// The first number that its field cannot be.
pub(super) fn unfit(numbers: &[Number; FIELDS]) -> Option<Unfit> {
    // Nearly all numbers are whole ones that are a time as well.
    const PLAIN: u64 = u64::MAX / NANOS_PER_SEC;
    let odd = |n: &Number| !n.negative & ((n.billionths > 0) | (n.whole >= PLAIN));
    let mut odd = numbers.iter().enumerate().filter(|(_, n)| odd(n));
    odd.find_map(|(at, n)| match 1 << at {
        bit if bit & TIMES > 0 => {
            let fits = n.seconds().is_some();
            (!fits).then_some((at, "a time below 584 years"))
        }
        bit if bit & AMOUNTS > 0 => None,
        _ => (n.billionths > 0).then_some((at, "a whole number")),
    })
}

impl Record {
    /// A number of the line, `None` where it is not available.
    pub fn number(&self, field: usize) -> Option<Number> {
        let number = self.numbers.get(field)?;
        (!number.negative).then_some(*number)
    }

    /// A field that is a time.
    pub fn time(&self, field: usize) -> Option<SimDuration> {
        self.number(field)?.seconds()
    }

    /// A field that is a whole number.
    pub fn count(&self, field: usize) -> Option<u64> {
        let number = self.numbers.get(field)?;
        (!number.negative).then_some(number.whole)
    }

    /// Replaces a number; `None` makes it not available.
    pub fn set(&mut self, field: usize, value: impl Into<Number>) {
        self.numbers[field] = value.into();
    }

    /// The same record with another number.
    #[must_use]
    pub fn with(mut self, field: usize, value: impl Into<Number>) -> Self {
        self.set(field, value);
        self
    }

    /// Fields below zero that are not -1, bit 0 for field 1: not available by
    /// the rules of the format, but more likely wrong.
    pub fn below_zero(&self) -> u32 {
        let below = self.numbers.iter().enumerate().filter(|(_, n)| n.negative);
        let odd = below.filter(|(_, n)| n.whole != 1 || n.billionths > 0);
        odd.fold(0, |bits, (at, _)| bits | 1 << at)
    }

    /// User, group, executable, queue and partition.
    pub fn ids(&self) -> [Option<u64>; IDS] {
        std::array::from_fn(|at| self.count(field::USER + at))
    }

    /// Replaces them.
    pub(crate) fn set_ids(&mut self, ids: [Option<u64>; IDS]) {
        for (at, id) in ids.into_iter().enumerate() {
            self.set(field::USER + at, id);
        }
    }

    /// A column of GWF from 12 on as text; `None` where it is *not available*
    /// (-1 or empty), and for the columns that are numbers.
    pub fn column(&self, number: usize) -> Option<&[u8]> {
        let text = self.text.get(number.checked_sub(FIRST_TEXT)?)?;
        (!text.is_empty() && text != b"-1").then_some(text)
    }

    /// Replaces the text of a column from 12 on.
    pub(crate) fn set_column(&mut self, number: usize, text: Vec<u8>) {
        self.text.resize(TEXTS, Vec::new());
        self.text[number - FIRST_TEXT] = text;
    }

    /// A job that was made: it ran and completed, on the processors that it
    /// asked for.
    pub(crate) fn made(number: u64, submit_s: u64, run_time_s: u64, processors: u64) -> Self {
        Record::default()
            .with(field::JOB, number)
            .with(field::SUBMIT, submit_s)
            .with(field::RUN_TIME, run_time_s)
            .with(field::ALLOCATED, processors)
            .with(field::REQUESTED, processors)
            .with(field::STATUS, 1u64)
    }
}

/// The number that a text is, if writing it gives the same text again.
pub(crate) fn canonical_number(text: &[u8]) -> Option<u64> {
    let leading_zero = text.len() > 1 && text[0] == b'0';
    if text.is_empty() || leading_zero || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    parsed(text)
}
