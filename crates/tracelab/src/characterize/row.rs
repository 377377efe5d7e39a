//! The part of a job that the statistics look at.

use crate::load::TraceJob;
use gridrig_core::time::SimDuration;

/// What the statistics need to know of a job, in 32 bytes: a trace is walked
/// several times, and a whole [`TraceJob`] is four times as large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobRow {
    /// From the log's time 0.
    pub submit: SimDuration,
    /// Wall clock.
    pub run_time: SimDuration,
    /// Its size, at least 1.
    pub processors: u32,
    /// Who submitted it, where the trace says so.
    pub user: Option<u32>,
}

impl From<&TraceJob> for JobRow {
    fn from(job: &TraceJob) -> Self {
        JobRow {
            submit: job.submit,
            run_time: job.run_time,
            processors: job.processors,
            user: job.user,
        }
    }
}

/// The rows of these jobs, in the same order.
#[must_use]
pub fn rows(jobs: &[TraceJob]) -> Vec<JobRow> {
    jobs.iter().map(JobRow::from).collect()
}

/// Numbers the distinct values of a field from 0, in order of appearance, so
/// that tables can be indexed by them.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    small: Vec<u32>,
    large: std::collections::BTreeMap<u32, u32>,
    count: u32,
}

/// Values below this are looked up in a table of at most 4 MiB.
const SMALL: u32 = 1 << 20;

impl Numbering {
    /// The number of a value.
    pub fn of(&mut self, value: u32) -> usize {
        let slot = if value < SMALL {
            let at = value as usize;
            if at >= self.small.len() {
                self.small.resize(at + 1, u32::MAX);
            }
            &mut self.small[at]
        } else {
            self.large.entry(value).or_insert(u32::MAX)
        };
        if *slot == u32::MAX {
            *slot = self.count;
            self.count += 1;
        }
        *slot as usize
    }

    /// How many distinct values there were.
    pub fn len(&self) -> usize {
        self.count as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbered_as_they_appear_however_large() {
        let mut numbering = Numbering::default();
        let numbers: Vec<usize> = [7, u32::MAX, 0, 7, SMALL, u32::MAX]
            .into_iter()
            .map(|value| numbering.of(value))
            .collect();
        assert_eq!(numbers, [0, 1, 2, 0, 3, 1]);
        assert_eq!(numbering.len(), 4);
    }
}
