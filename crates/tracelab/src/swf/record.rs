//! One job line.

use super::number::{Number, Quantity};
use gridrig_core::time::SimDuration;

/// Fields of a job line.
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

/// A job line with all its fields. `None` is *not available*: -1 or any other
/// number below zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Line of the file, counted from 1.
    pub line: u64,
    /// Field 1. Numbers may be sparse and may repeat (partial executions).
    pub job: Option<u64>,
    /// Field 2, from the log's time 0.
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
    pub used_memory: Option<Quantity>,
    /// Field 8.
    pub requested_processors: Option<u64>,
    /// Field 9, the user's estimate.
    pub requested_time: Option<SimDuration>,
    /// Field 10, KB per processor.
    pub requested_memory: Option<Quantity>,
    /// Field 11: 1 completed, 0 failed, 5 cancelled, 2 to 4 partial
    /// executions; some logs hold raw exit codes.
    pub status: Option<u64>,
    /// Field 12.
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
    /// the letter of the format, but more likely wrong.
    pub below_zero: u32,
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
            n => Some(Quantity {
                whole: n.whole,
                billionths: n.billionths,
            }),
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
        })
    }
}
