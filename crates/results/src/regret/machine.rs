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
    /// Who may pass whom.
    discipline: DisciplineKind,
    free: u32,
    /// Processors by when they are given back, and a number that tells jobs
    /// apart.
    running: BTreeMap<(SimTime, usize), u32>,
    /// Processors and nanoseconds of each job, in the order in which they came.
    queue: BTreeMap<u64, Work>,
}

impl Machine {
    pub(super) fn new(processors: u32, discipline: DisciplineKind) -> Self {
        Machine {
            processors,
            discipline,
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

    /// When a job of so many processors and nanoseconds would start if it came now
    /// and nobody came later; `None` for a job that is wider than the machine.
    pub(super) fn start_of(&self, now: SimTime, processors: u32, length: u64) -> Option<SimTime> {
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
        // A job that is wider than the machine waits for nothing here.
        let one_by_one = self.before(length).take(MOST_QUEUED);
        let one_by_one = one_by_one.filter(|(wanted, _)| *wanted <= self.processors);
        let mut queue: Vec<Work> = one_by_one.chain([(processors, length)]).collect();
        let start = match self.discipline {
            // Nobody passes anybody.
            DisciplineKind::Fcfs => future.in_order(queue),
            // The shorter passes anybody longer, and nobody else.
            DisciplineKind::ShortestJobFirst => {
                queue.sort_by_key(|(_, length)| *length);
                future.in_order(queue)
            }
            // Whoever fits passes everybody.
            DisciplineKind::FirstInFirstFit => future.passing(queue, false),
            // Whoever fits, if the first that waits starts no later for it.
            DisciplineKind::EasyBackfill => future.passing(queue, true),
            // Whoever fits, if nobody who came before starts later for it.
            DisciplineKind::ConservativeBackfill | DisciplineKind::SlurmBackfill => {
                future.planned(queue)
            }
        }?;
        Some(match start > now {
            true => start + self.behind(length),
            false => now,
        })
    }

    /// Who waits, but those that a job of this length passes whatever they want.
    fn before(&self, length: u64) -> impl Iterator<Item = Work> {
        let all = !matches!(self.discipline, DisciplineKind::ShortestJobFirst);
        let queue = self.queue.values().copied();
        queue.filter(move |(_, other)| all || *other <= length)
    }

    /// What the end of a long queue costs: its work spread over all processors.
    fn behind(&self, length: u64) -> SimDuration {
        let work = self.before(length).skip(MOST_QUEUED);
        let work: u128 = work
            .map(|(processors, length)| u128::from(processors) * u128::from(length))
            .sum();
        let nanos = work / u128::from(self.processors.max(1));
        SimDuration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Processors and nanoseconds.
type Work = (u32, u64);

/// What comes if nobody else does.
#[derive(Clone)]
struct Future<'a> {
    now: SimTime,
    free: u32,
    /// Those that run already, by when they end.
    running: std::iter::Peekable<std::collections::btree_map::Iter<'a, (SimTime, usize), u32>>,
    /// Ends and processors of those that were queued.
    started: BinaryHeap<Reverse<(SimTime, u32)>>,
}

/// The start of the last job of each queue is asked for; it is none if it never
/// has one.
impl Future<'_> {
    /// Starts the queue job by job.
    fn in_order(&mut self, queue: Vec<Work>) -> Option<SimTime> {
        for (wanted, length) in queue {
            if !self.wait_for(wanted) {
                return None;
            }
            self.start(wanted, length);
        }
        Some(self.now)
    }

    /// Every job that fits passes those that do not; with `keeps`, unless the
    /// first of these would start later for it.
    fn passing(&mut self, mut queue: Vec<Work>, keeps: bool) -> Option<SimTime> {
        // When the first that waits starts, and what it leaves free then.
        let mut kept: Option<(SimTime, u32)> = None;
        let mut narrowest = 0;
        loop {
            if self.free >= narrowest {
                let last = queue.len() - 1;
                let held = kept.take();
                let mut waiting = Vec::with_capacity(queue.len());
                for (position, (wanted, length)) in queue.into_iter().enumerate() {
                    let end = self.now + SimDuration::from_nanos(length);
                    let late = kept.filter(|(start, _)| end > *start);
                    if wanted > self.free || late.is_some_and(|(_, spare)| wanted > spare) {
                        if keeps && waiting.is_empty() {
                            let same = held.filter(|_| position == 0);
                            kept = same.or_else(|| self.reservation(wanted));
                        }
                        waiting.push((wanted, length));
                        continue;
                    }
                    if position == last {
                        return Some(self.now);
                    }
                    if let (Some(_), Some((_, spare))) = (late, &mut kept) {
                        *spare -= wanted;
                    }
                    self.start(wanted, length);
                }
                narrowest = waiting.iter().map(|(wanted, _)| *wanted).min().unwrap_or(0);
                queue = waiting;
            }
            if !self.pass() {
                return None;
            }
        }
    }

    /// When so many processors are free if nobody else starts, and how many
    /// more than these.
    fn reservation(&self, wanted: u32) -> Option<(SimTime, u32)> {
        let mut later = self.clone();
        later
            .wait_for(wanted)
            .then(|| (later.now, later.free - wanted))
    }

    /// Every job is given the earliest start that leaves those before it theirs.
    fn planned(&mut self, queue: Vec<Work>) -> Option<SimTime> {
        let mut plan = self.free_from_now();
        let mut found = None;
        for (wanted, length) in queue {
            let end = |from: usize| plan[from].0 + SimDuration::from_nanos(length);
            let fits = |from: &usize| {
                let until = end(*from);
                let mut steps = plan[*from + 1..].iter().take_while(|(at, _)| *at < until);
                plan[*from].1 >= wanted && steps.all(|(_, free)| *free >= wanted)
            };
            let from = (0..plan.len()).find(fits)?;
            let (start, end) = (plan[from].0, end(from));
            let until = plan.partition_point(|(at, _)| *at < end);
            if plan.get(until).is_none_or(|(next, _)| *next > end) {
                plan.insert(until, (end, plan[until - 1].1));
            }
            plan[from..until]
                .iter_mut()
                .for_each(|(_, free)| *free -= wanted);
            found = Some(start);
        }
        found
    }

    /// Free processors from now on, by when there are so many.
    fn free_from_now(&self) -> Vec<(SimTime, u32)> {
        let running = self.running.clone().map(|((end, _), freed)| (*end, *freed));
        let started = self.started.iter().map(|Reverse(ends)| *ends);
        let mut ends: Vec<(SimTime, u32)> = running.chain(started).collect();
        ends.sort_unstable();
        let mut steps = vec![(self.now, self.free)];
        for (end, freed) in ends {
            let (at, free) = steps[steps.len() - 1];
            match end > at {
                true => steps.push((end, free + freed)),
                false => steps
                    .last_mut()
                    .into_iter()
                    .for_each(|step| step.1 += freed),
            }
        }
        steps
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
    use DisciplineKind::{
        ConservativeBackfill, EasyBackfill, Fcfs, FirstInFirstFit, ShortestJobFirst,
    };

    fn s(seconds: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_secs(seconds)
    }

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_job_starts_when_enough_of_what_runs_has_ended() {
        let mut machine = Machine::new(4, Fcfs);
        machine.start(s(100), 0, 2);
        machine.start(s(30), 1, 1);
        assert_eq!(machine.start_of(s(10), 1, S), Some(s(10)));
        assert_eq!(machine.start_of(s(10), 2, S), Some(s(30)));
        assert_eq!(machine.start_of(s(10), 4, S), Some(s(100)));
        assert_eq!(machine.start_of(s(10), 5, S), None);
        machine.end(s(30), 1);
        assert_eq!(machine.start_of(s(30), 2, S), Some(s(30)));
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
        assert_eq!(machine.start_of(s(10), 1, S), Some(s(160)));
        assert_eq!(machine.start_of(s(10), 4, S), Some(s(170)));
        machine.leave_queue(1);
        assert_eq!(machine.start_of(s(10), 4, S), Some(s(120)));
    }

    #[test]
    fn under_first_in_first_fit_narrow_jobs_pass_wide_ones() {
        let mut machine = Machine::new(4, FirstInFirstFit);
        machine.start(s(100), 0, 2);
        machine.queue(1, 4, 50 * S);
        machine.queue(2, 1, 120 * S);
        // The job of 1 starts at once and ends at 130; beside it one more fits
        // now, two from 100 on. The job of 4 then has the machine until 180.
        assert_eq!(machine.start_of(s(10), 1, S), Some(s(10)));
        assert_eq!(machine.start_of(s(10), 2, S), Some(s(100)));
        assert_eq!(machine.start_of(s(10), 4, S), Some(s(180)));
    }

    #[test]
    fn under_shortest_job_first_short_jobs_pass_longer_ones() {
        let mut machine = Machine::new(4, ShortestJobFirst);
        machine.start(s(100), 0, 2);
        machine.queue(1, 4, 50 * S);
        machine.queue(2, 3, 20 * S);
        // It is the shortest: two processors are free.
        assert_eq!(machine.start_of(s(10), 2, 19 * S), Some(s(10)));
        // One of the same length came before: from 100 on, and then until 120.
        assert_eq!(machine.start_of(s(10), 2, 20 * S), Some(s(120)));
        assert_eq!(machine.start_of(s(10), 1, 20 * S), Some(s(100)));
        // After both.
        assert_eq!(machine.start_of(s(10), 1, 60 * S), Some(s(170)));
    }

    #[test]
    fn a_long_queue_counts_as_work_from_some_place_on() {
        let mut machine = Machine::new(2, Fcfs);
        for number in 0..3_000 {
            machine.queue(number, 2, S);
        }
        assert_eq!(machine.start_of(s(0), 1, S), Some(s(3_000)));
        // None of it is before a shorter job.
        machine.discipline = ShortestJobFirst;
        assert_eq!(machine.start_of(s(0), 1, S), Some(s(3_000)));
        assert_eq!(machine.start_of(s(0), 1, S - 1), Some(s(0)));
    }

    #[test]
    fn backfilled_jobs_pass_as_far_as_others_start_no_later() {
        let waiting = |discipline| {
            let mut machine = Machine::new(4, discipline);
            machine.start(s(100), 0, 2);
            machine.queue(1, 3, 50 * S);
            machine.queue(2, 4, 10 * S);
            machine
        };
        let (easy, conservative) = (waiting(EasyBackfill), waiting(ConservativeBackfill));
        let in_order = waiting(Fcfs);
        for machine in [&easy, &conservative] {
            // Short enough, or beside the job of 3 that starts at 100.
            assert_eq!(machine.start_of(s(10), 2, 90 * S), Some(s(10)));
            assert_eq!(machine.start_of(s(10), 1, 140 * S), Some(s(10)));
            // The job of 4 comes after that of 3.
            assert_eq!(machine.start_of(s(10), 2, 91 * S), Some(s(160)));
        }
        // Only the first that waits is kept: the job of 4 starts later for this.
        assert_eq!(easy.start_of(s(10), 1, 200 * S), Some(s(10)));
        assert_eq!(conservative.start_of(s(10), 1, 200 * S), Some(s(160)));
        assert_eq!(in_order.start_of(s(10), 1, S), Some(s(160)));
    }
}
