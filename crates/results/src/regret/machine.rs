//! A cluster at an instant, and when a further job would start on it.

use gridrig_core::discipline::DisciplineKind;
use gridrig_core::time::{SimDuration, SimTime};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Queued jobs that are started one by one; what is queued behind them counts
/// as work spread over all processors.
const MOST_QUEUED: usize = 200;

/// What runs and what is queued or on its way, by processors alone, whatever
/// the nodes.
#[derive(Debug)]
pub(super) struct Machine {
    processors: u32,
    /// Whether jobs that fit pass those that do not: first-in-first-fit.
    /// Otherwise they start in the order in which they came.
    passes: bool,
    free: u32,
    /// Processors by when they are given back, and a number that tells jobs
    /// apart.
    running: BTreeMap<(SimTime, usize), u32>,
    /// Processors and nanoseconds of each job, in the order in which they came.
    queue: BTreeMap<u64, (u32, u64)>,
}

impl Machine {
    pub(super) fn new(processors: u32, discipline: DisciplineKind) -> Self {
        Machine {
            processors,
            passes: discipline == DisciplineKind::FirstInFirstFit,
            free: processors,
            running: BTreeMap::new(),
            queue: BTreeMap::new(),
        }
    }

    pub(super) fn queue(&mut self, number: u64, processors: u32, length: u64) {
        self.queue.insert(number, (processors, length));
    }

    pub(super) fn leave_queue(&mut self, number: u64) {
        self.queue.remove(&number);
    }

    pub(super) fn start(&mut self, end: SimTime, job: usize, processors: u32) {
        self.free = self.free.saturating_sub(processors);
        self.running.insert((end, job), processors);
    }

    pub(super) fn end(&mut self, end: SimTime, job: usize) {
        let freed = self.running.remove(&(end, job)).unwrap_or(0);
        self.free = self.free.saturating_add(freed).min(self.processors);
    }

    /// When a job of so many processors would start if it came now and nobody
    /// came later; `None` for a job that is wider than the machine.
    pub(super) fn start_of(&self, now: SimTime, processors: u32) -> Option<SimTime> {
        if processors > self.processors {
            return None;
        }
        if self.queue.is_empty() && self.free >= processors {
            return Some(now);
        }
        let mut future = Future {
            now,
            free: self.free,
            running: self.running.iter().peekable(),
            started: BinaryHeap::new(),
        };
        let one_by_one = self.queue.values().take(MOST_QUEUED);
        let found = match self.passes {
            true => future.first_fit(one_by_one.copied().collect(), processors),
            false => future.in_order(one_by_one.copied(), processors),
        };
        if !found {
            return None;
        }
        Some(match future.now > now {
            true => future.now + self.behind(),
            false => now,
        })
    }

    /// What the end of a long queue costs: its work spread over all processors.
    fn behind(&self) -> SimDuration {
        let work = self.queue.values().skip(MOST_QUEUED);
        let work: u128 = work
            .map(|&(processors, length)| work_of(processors, length))
            .sum();
        let nanos = work / u128::from(self.processors.max(1));
        SimDuration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

fn work_of(processors: u32, length: u64) -> u128 {
    u128::from(processors) * u128::from(length)
}

/// What comes if nobody else does.
struct Future<'a> {
    now: SimTime,
    free: u32,
    /// Those that run already, by when they end.
    running: std::iter::Peekable<std::collections::btree_map::Iter<'a, (SimTime, usize), u32>>,
    /// Ends and processors of those that were queued.
    started: BinaryHeap<Reverse<(SimTime, u32)>>,
}

impl Future<'_> {
    /// Starts the queue job by job, and then waits for so many processors;
    /// `false` if they are never free.
    fn in_order(&mut self, queue: impl Iterator<Item = (u32, u64)>, processors: u32) -> bool {
        for (wanted, length) in queue {
            // A job that is wider than the machine waits for nothing here.
            if self.wait_for(wanted) {
                self.start(wanted, length);
            }
        }
        self.wait_for(processors)
    }

    /// The same where every job that fits passes those that do not.
    fn first_fit(&mut self, mut queue: Vec<(u32, u64)>, processors: u32) -> bool {
        let mut least = 0;
        loop {
            if self.free >= least {
                queue.retain(|&(wanted, length)| {
                    let waits = wanted > self.free;
                    if !waits {
                        self.start(wanted, length);
                    }
                    waits
                });
                let narrowest = queue.iter().map(|(wanted, _)| *wanted).min();
                least = narrowest.unwrap_or(u32::MAX);
            }
            if self.free >= processors {
                return true;
            }
            if !self.pass() {
                return false;
            }
        }
    }

    /// Lets time pass until so many processors are free; `false` if they never
    /// are.
    fn wait_for(&mut self, processors: u32) -> bool {
        while self.free < processors {
            if !self.pass() {
                return false;
            }
        }
        true
    }

    /// Lets time pass until the next instant at which something ends; `false`
    /// if nothing runs.
    fn pass(&mut self) -> bool {
        let Some(instant) = self.next_end() else {
            return false;
        };
        self.now = self.now.max(instant);
        while self.next_end().is_some_and(|end| end <= self.now) {
            let runs = self.running.next_if(|((end, _), _)| *end <= self.now);
            let freed = match runs {
                Some((_, freed)) => Some(*freed),
                None => self.started.pop().map(|Reverse((_, freed))| freed),
            };
            self.free = self.free.saturating_add(freed.unwrap_or(0));
        }
        true
    }

    fn next_end(&mut self) -> Option<SimTime> {
        let runs = self.running.peek().map(|((end, _), _)| *end);
        let begun = self.started.peek().map(|Reverse((end, _))| *end);
        match (runs, begun) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn start(&mut self, processors: u32, length: u64) {
        self.free -= processors;
        let end = self.now + SimDuration::from_nanos(length);
        self.started.push(Reverse((end, processors)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DisciplineKind::{Fcfs, FirstInFirstFit};

    fn s(seconds: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_secs(seconds)
    }

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_job_starts_when_enough_of_what_runs_has_ended() {
        let mut machine = Machine::new(4, Fcfs);
        machine.start(s(100), 0, 2);
        machine.start(s(30), 1, 1);
        assert_eq!(machine.start_of(s(10), 1), Some(s(10)));
        assert_eq!(machine.start_of(s(10), 2), Some(s(30)));
        assert_eq!(machine.start_of(s(10), 4), Some(s(100)));
        assert_eq!(machine.start_of(s(10), 5), None);
        machine.end(s(30), 1);
        assert_eq!(machine.start_of(s(30), 2), Some(s(30)));
    }

    #[test]
    fn whoever_came_before_starts_before() {
        let mut machine = Machine::new(4, Fcfs);
        machine.start(s(100), 0, 2);
        // A job of 4 for 50 s waits until 100; two of 3 for 10 s follow one
        // after the other.
        machine.queue(1, 4, 50 * S);
        machine.queue(2, 3, 10 * S);
        machine.queue(3, 3, 10 * S);
        // One processor is free beside the first of the two.
        assert_eq!(machine.start_of(s(10), 1), Some(s(160)));
        assert_eq!(machine.start_of(s(10), 4), Some(s(170)));
        machine.leave_queue(1);
        assert_eq!(machine.start_of(s(10), 4), Some(s(120)));
    }

    #[test]
    fn under_first_in_first_fit_narrow_jobs_pass_wide_ones() {
        let mut machine = Machine::new(4, FirstInFirstFit);
        machine.start(s(100), 0, 2);
        machine.queue(1, 4, 50 * S);
        machine.queue(2, 1, 120 * S);
        // The job of 1 starts at once and ends at 130; beside it one more fits
        // now, two from 100 on. The job of 4 then has the machine until 180.
        assert_eq!(machine.start_of(s(10), 1), Some(s(10)));
        assert_eq!(machine.start_of(s(10), 2), Some(s(100)));
        assert_eq!(machine.start_of(s(10), 4), Some(s(180)));
    }

    #[test]
    fn a_long_queue_counts_as_work_from_some_place_on() {
        let mut machine = Machine::new(2, Fcfs);
        for number in 0..3_000 {
            machine.queue(number, 2, S);
        }
        assert_eq!(machine.start_of(s(0), 1), Some(s(3_000)));
    }
}
