//! A cluster at an instant, and when a further job would start on it.

use gridrig_core::time::{SimDuration, SimTime};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Queued jobs that are started one by one; what is queued behind them counts
/// as work spread over all processors.
const MOST_QUEUED: usize = 1_000;

/// What runs and what is queued or on its way, by processors alone: which
/// nodes, and who may pass whom, is the discipline's business.
#[derive(Debug)]
pub(super) struct Machine {
    processors: u32,
    free: u32,
    /// Processors by when they are given back, and a number that tells jobs
    /// apart.
    running: BTreeMap<(SimTime, usize), u32>,
    /// Processors and nanoseconds of each job, in the order in which they came.
    queue: BTreeMap<u64, (u32, u64)>,
    /// Processor-nanoseconds of all of the queue.
    queued_work: u128,
}

impl Machine {
    pub(super) fn new(processors: u32) -> Self {
        Machine {
            processors,
            free: processors,
            running: BTreeMap::new(),
            queue: BTreeMap::new(),
            queued_work: 0,
        }
    }

    pub(super) fn queue(&mut self, number: u64, processors: u32, length: u64) {
        self.queue.insert(number, (processors, length));
        self.queued_work += work(processors, length);
    }

    pub(super) fn leave_queue(&mut self, number: u64) {
        if let Some((processors, length)) = self.queue.remove(&number) {
            self.queued_work -= work(processors, length);
        }
    }

    pub(super) fn start(&mut self, end: SimTime, job: usize, processors: u32) {
        self.free = self.free.saturating_sub(processors);
        self.running.insert((end, job), processors);
    }

    pub(super) fn end(&mut self, end: SimTime, job: usize) {
        let freed = self.running.remove(&(end, job)).unwrap_or(0);
        self.free = self.free.saturating_add(freed).min(self.processors);
    }

    /// When a job of so many processors would start if it came now, all before
    /// it started in their order, and nobody came later; `None` for a job that
    /// is wider than the machine.
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
        let mut rest = self.queued_work;
        for &(processors, length) in self.queue.values().take(MOST_QUEUED) {
            rest -= work(processors, length);
            // A job that is wider than the machine waits for nothing here.
            if future.wait_for(processors) {
                future.start(processors, length);
            }
        }
        if !future.wait_for(processors) {
            return None;
        }
        let behind = rest / u128::from(self.processors.max(1));
        let behind = SimDuration::from_nanos(u64::try_from(behind).unwrap_or(u64::MAX));
        Some(future.now + behind)
    }
}

fn work(processors: u32, length: u64) -> u128 {
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
    /// Lets time pass until so many processors are free; `false` if they never
    /// are.
    fn wait_for(&mut self, processors: u32) -> bool {
        while self.free < processors {
            let runs = self.running.peek().map(|((end, _), freed)| (*end, **freed));
            let begun = self.started.peek().map(|Reverse(next)| *next);
            let (end, freed) = match (runs, begun) {
                (Some(a), Some(b)) if b.0 < a.0 => {
                    self.started.pop();
                    b
                }
                (Some(a), _) => {
                    self.running.next();
                    a
                }
                (None, Some(b)) => {
                    self.started.pop();
                    b
                }
                (None, None) => return false,
            };
            self.now = self.now.max(end);
            self.free = self.free.saturating_add(freed);
        }
        true
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

    fn s(seconds: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_secs(seconds)
    }

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_job_starts_when_enough_of_what_runs_has_ended() {
        let mut machine = Machine::new(4);
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
        let mut machine = Machine::new(4);
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
    fn a_long_queue_counts_as_work_from_some_place_on() {
        let mut machine = Machine::new(2);
        for number in 0..3_000 {
            machine.queue(number, 2, S);
        }
        assert_eq!(machine.start_of(s(0), 1), Some(s(3_000)));
    }
}
