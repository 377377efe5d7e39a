//! One job line of 29 columns.

use crate::swf;
use gridrig_core::time::SimDuration;

/// Columns of a job line.
pub const COLUMNS: usize = 29;

/// The columns that are kept as text: 12 to 29.
pub const TEXTS: usize = COLUMNS - NUMBERS;

/// The columns that are numbers: 1 to 11.
pub(super) const NUMBERS: usize = 11;

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

/// A job line with all its columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// What SWF can say as well. The submit time is absolute, in Unix seconds.
    /// Columns 12 to 16 are here where they are whole numbers without a
    /// leading zero; the fields 17 and 18 of SWF have no column.
    pub common: swf::Record,
    /// How long before its submission a job began: a wait time below zero
    /// other than -1, as advance reservations have it.
    pub early: Option<SimDuration>,
    /// Columns 12 to 29 as they stand; empty is *not available*.
    pub text: [Vec<u8>; TEXTS],
}

impl Record {
    /// A column from 12 on as text; `None` where it is *not available* (-1 or
    /// empty), and for the columns that are numbers.
    #[must_use]
    pub fn column(&self, number: usize) -> Option<&[u8]> {
        let text = self.text.get(number.checked_sub(NUMBERS + 1)?)?;
        (!text.is_empty() && text != b"-1").then_some(text)
    }

    /// The wait time in seconds with its sign; `None` where it is not
    /// available.
    #[must_use]
    pub fn wait_secs_f64(&self) -> Option<f64> {
        let early = self.early.map(|early| -early.as_secs_f64());
        early.or(self.common.wait_time.map(SimDuration::as_secs_f64))
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
