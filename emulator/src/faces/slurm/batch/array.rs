//! Task lists of job arrays: `0-9:2,12%4`.

use crate::slurm::hostlist::ranges;
use std::collections::BTreeSet;

/// One more than the largest task number, as Slurm's `MaxArraySize`.
pub(in crate::faces::slurm) const MAX_ARRAY_SIZE: u32 = 1001;

/// Which tasks an array has, and how many of them may run at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::faces::slurm) struct TaskList {
    pub tasks: BTreeSet<u32>,
    pub at_a_time: Option<u32>,
    pub step: u32,
}

impl TaskList {
    /// Reads a list; `None` if Slurm would refuse it.
    pub fn parse(text: &str) -> Option<Self> {
        let (list, at_a_time) = match text.split_once('%') {
            // None at a time, or what is no number, is no bound.
            Some((list, most)) => (list, most.parse().ok().filter(|most| *most > 0)),
            None => (text, None),
        };
        let list = list.strip_prefix('[').unwrap_or(list);
        let list = list.strip_suffix(']').unwrap_or(list);
        let (mut tasks, mut steps) = (BTreeSet::new(), BTreeSet::new());
        for part in list.split(',') {
            let (range, step) = match part.split_once(':') {
                Some((range, step)) => (range, step.parse().ok().filter(|s| *s > 0)?),
                None => (part, 1),
            };
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            if first > last || last >= MAX_ARRAY_SIZE {
                return None;
            }
            tasks.extend((first..=last).step_by(step as usize));
            steps.insert(step);
        }
        let step = match steps.len() {
            1 => steps.first().copied().unwrap_or(1),
            _ => 1,
        };
        Some(TaskList {
            tasks,
            at_a_time,
            step,
        })
    }
}

/// Task numbers as Slurm lists them: `1-3,7`.
pub(in crate::faces::slurm) fn compress(tasks: &[u32]) -> String {
    let numbers: Vec<u64> = tasks.iter().map(|task| u64::from(*task)).collect();
    ranges(&numbers, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_lists_are_read_as_slurm_reads_them() {
        let list = TaskList::parse("0-9:2%2").unwrap();
        assert_eq!(
            list.tasks.iter().copied().collect::<Vec<_>>(),
            [0, 2, 4, 6, 8]
        );
        assert_eq!((list.at_a_time, list.step), (Some(2), 2));
        assert_eq!(TaskList::parse("1-3,7").unwrap().tasks.len(), 4);
        assert_eq!(TaskList::parse("1-3%0").unwrap().at_a_time, None);
        for bad in ["5-1", "0-2000", "", "a", "1-3:0", "1,,2"] {
            assert_eq!(TaskList::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn task_lists_are_written_as_slurm_writes_them() {
        assert_eq!(compress(&[4, 6, 8]), "4,6,8");
        assert_eq!(compress(&[1, 2, 3, 7]), "1-3,7");
        assert_eq!(compress(&[]), "");
    }
}
