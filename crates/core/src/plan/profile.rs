//! Free capacity over time.

use super::{Book, Shape, Shares, Waiting};
use crate::time::{SimDuration, SimTime};

/// What is free by resource, as steps from one instant on; the last step lasts
/// for ever. Numbers are signed, since a plan that jobs have overrun may
/// promise more than there is.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    times: Vec<SimTime>,
    /// Processors: `resources` numbers per step.
    free: Vec<i64>,
    /// Memory in KiB: `resources` numbers per step.
    memory: Vec<i64>,
    resources: usize,
    /// The least of the steps looked at, by resource.
    least: (Vec<i64>, Vec<i64>),
}

/// An instant after all others.
const EVER: SimTime = SimTime::MAX;

impl Profile {
    pub(super) fn new(now: SimTime, free: Vec<i64>, memory: Vec<i64>) -> Self {
        let resources = free.len();
        Profile {
            times: vec![now],
            free,
            memory,
            resources,
            least: (vec![0; resources], vec![0; resources]),
        }
    }

    /// From `at` on, which is not before the last step, this is free.
    pub(super) fn append(&mut self, at: SimTime, free: &[i64], memory: &[i64]) {
        if self.times.last() == Some(&at) {
            self.free.truncate(self.free.len() - self.resources);
            self.memory.truncate(self.memory.len() - self.resources);
        } else {
            self.times.push(at);
        }
        self.free.extend_from_slice(free);
        self.memory.extend_from_slice(memory);
    }

    /// Whether any processor is free in the first step.
    #[must_use]
    pub fn any_free_now(&self) -> bool {
        self.free.iter().take(self.resources).any(|free| *free > 0)
    }

    /// What the job would get of each resource from `start` on for the length
    /// of its estimate: resources in file order, from each as much as is free
    /// all the while. `None` if that is not enough.
    #[must_use]
    pub fn fit(&mut self, book: &Book, job: &Waiting, start: SimTime) -> Option<Shares> {
        let first = self.step_at(start);
        // Most of a long queue is too wide for what is free, and is passed by
        // without a look at anything else of it.
        let free = &self.free[first * self.resources..(first + 1) * self.resources];
        if free.iter().map(|free| (*free).max(0)).sum::<i64>() < i64::from(job.processors) {
            return None;
        }
        let last = self.steps_before(start + job.estimate, first);
        self.shares(book, job, first, last).ok()
    }

    /// The longest estimates with which jobs of a shape [fit](Self::fit) at
    /// `start`: for each of `sizes`, which rise, as far as that many processors
    /// are free at all.
    pub(crate) fn longest(
        &mut self,
        shape: &Shape,
        start: SimTime,
        sizes: &[u32],
        longest: &mut Vec<SimDuration>,
    ) {
        longest.clear();
        let width = self.resources;
        let first = self.step_at(start);
        let (free, memory) = (&mut self.least.0, &mut self.least.1);
        free.fill(i64::MAX);
        memory.fill(i64::MAX);
        // Sizes before this one fit for ever, as far as has been looked.
        let mut open = 0;
        for step in first..self.times.len() {
            let here = step * width..(step + 1) * width;
            let lower = lower_to(free, &self.free[here.clone()])
                | (shape.memory_kib > 0 && lower_to(memory, &self.memory[here]));
            if !lower {
                continue;
            }
            let offer: i64 = offered(&shape.most, shape.memory_kib, free, memory).sum();
            if step == first {
                open = sizes.partition_point(|size| i64::from(*size) <= offer);
                longest.resize(open, SimDuration::from_nanos(u64::MAX));
            }
            while open > 0 && i64::from(sizes[open - 1]) > offer {
                open -= 1;
                longest[open] = self.times[step].since(start);
            }
            if open == 0 {
                break;
            }
        }
    }

    /// The earliest instant from `from` on at which the job fits, and what it
    /// gets then. It always fits in the end: the last step is the empty
    /// cluster, less what is promised for ever.
    #[must_use]
    pub fn earliest(
        &mut self,
        book: &Book,
        job: &Waiting,
        from: SimTime,
    ) -> Option<(SimTime, Shares)> {
        let mut first = self.step_at(from);
        while first < self.times.len() {
            let start = self.times[first].max(from);
            let last = self.steps_before(start + job.estimate, first);
            match self.shares(book, job, first, last) {
                Ok(shares) => return Some((start, shares)),
                Err(step) => first = step + 1,
            }
        }
        None
    }

    /// Takes these processors from `start` to `end`.
    pub fn reserve(
        &mut self,
        book: &Book,
        job: &Waiting,
        span: (SimTime, SimTime),
        shares: &[u32],
    ) {
        self.change(book, job, span, shares, -1);
    }

    /// Undoes [`Profile::reserve`].
    pub fn free_again(
        &mut self,
        book: &Book,
        job: &Waiting,
        span: (SimTime, SimTime),
        shares: &[u32],
    ) {
        self.change(book, job, span, shares, 1);
    }

    /// Takes these processors from the start of `span` to its end, and those of
    /// them that are not busy anyway already from `early` on: what becomes free
    /// in between is somebody else's until then, and nothing is taken for it.
    pub fn reserve_early(
        &mut self,
        book: &Book,
        job: &Waiting,
        early: SimTime,
        span: (SimTime, SimTime),
        shares: &[u32],
    ) {
        self.change(book, job, span, shares, -1);
        if early >= span.0 || span.1 <= span.0 {
            return;
        }
        let (_, memory_kib) = book.demand(job);
        let memory_kib = i64::try_from(memory_kib).unwrap_or(i64::MAX);
        let first = self.split(early);
        let start = self.split(span.0);
        let width = self.resources;
        for step in first..start {
            for (resource, &share) in shares.iter().enumerate() {
                let (at, then) = (step * width + resource, start * width + resource);
                let idle = self.free[at].saturating_sub(self.free[then]);
                let taken = idle.clamp(0, i64::from(share));
                self.free[at] -= taken;
                let memory = memory_kib.saturating_mul(taken);
                self.memory[at] = self.memory[at].saturating_sub(memory);
            }
        }
    }

    fn change(
        &mut self,
        book: &Book,
        job: &Waiting,
        (start, end): (SimTime, SimTime),
        shares: &[u32],
        sign: i64,
    ) {
        if end <= start {
            return;
        }
        let (_, memory_kib) = book.demand(job);
        let memory_kib = i64::try_from(memory_kib).unwrap_or(i64::MAX);
        let first = self.split(start);
        let last = match end == EVER {
            true => self.times.len(),
            false => self.split(end),
        };
        for step in first..last {
            for (resource, &share) in shares.iter().enumerate() {
                let at = step * self.resources + resource;
                self.free[at] += sign * i64::from(share);
                let memory = memory_kib.saturating_mul(i64::from(share));
                self.memory[at] = self.memory[at].saturating_add(sign * memory);
            }
        }
    }

    /// The step that begins at `at`, made if there is none.
    fn split(&mut self, at: SimTime) -> usize {
        match self.times.binary_search(&at) {
            Ok(step) => step,
            Err(0) => 0,
            Err(next) => {
                self.times.insert(next, at);
                let width = self.resources;
                for numbers in [&mut self.free, &mut self.memory] {
                    // One move makes room and leaves the step before in it.
                    let end = numbers.len();
                    numbers.resize(end + width, 0);
                    numbers.copy_within((next - 1) * width..end, next * width);
                }
                next
            }
        }
    }

    /// The step that holds at this instant.
    fn step_at(&self, at: SimTime) -> usize {
        if self.times.first().is_some_and(|first| at <= *first) {
            return 0;
        }
        self.times.partition_point(|time| *time <= at).max(1) - 1
    }

    /// One past the last step that begins before `end`; at least `first + 1`,
    /// since also a job of no length needs its processors for an instant.
    fn steps_before(&self, end: SimTime, first: usize) -> usize {
        let steps = self.times[first..].partition_point(|time| *time < end);
        first + steps.max(1)
    }

    /// What the job gets if it holds all steps of `first..last`; else the last
    /// step at which it certainly cannot be running.
    fn shares(
        &mut self,
        book: &Book,
        job: &Waiting,
        first: usize,
        last: usize,
    ) -> Result<Shares, usize> {
        let (most, memory_kib) = book.demand(job);
        let wanted = i64::from(job.processors);
        let width = self.resources;
        let (free, memory) = (&mut self.least.0, &mut self.least.1);
        free.fill(i64::MAX);
        memory.fill(i64::MAX);
        for step in first..last {
            let now_free = &self.free[step * width..(step + 1) * width];
            let now_memory = match memory_kib {
                0 => memory.as_slice(),
                _ => &self.memory[step * width..(step + 1) * width],
            };
            if !suffices(most, memory_kib, now_free, now_memory, wanted) {
                return Err(step);
            }
            lower_to(free, now_free);
            if memory_kib > 0 {
                lower_to(memory, &self.memory[step * width..(step + 1) * width]);
            }
        }
        let mut left = wanted;
        let offers = offered(most, memory_kib, free, memory);
        let shares = offers.map(|offer| {
            let share = offer.min(left);
            left -= share;
            u32::try_from(share).unwrap_or(0)
        });
        let shares = shares.collect();
        match left {
            0 => Ok(shares),
            _ => Err(first),
        }
    }
}

/// Lowers each number to what it is at most now; answers whether any was.
fn lower_to(least: &mut [i64], now: &[i64]) -> bool {
    let mut lower = false;
    for (least, now) in least.iter_mut().zip(now) {
        lower |= now < least;
        *least = (*least).min(*now);
    }
    lower
}

/// Whether what is free is enough for a job. Where a cluster is of one resource
/// nothing has to be divided to know that.
fn suffices(most: &[u32], memory_kib: u64, free: &[i64], memory: &[i64], wanted: i64) -> bool {
    let ([most_here], &[free_here], &[memory_here]) = (most, free, memory) else {
        return offered(most, memory_kib, free, memory).sum::<i64>() >= wanted;
    };
    let taken = i64::try_from(memory_kib).unwrap_or(i64::MAX);
    free_here >= wanted
        && (taken == 0 || memory_here >= taken.saturating_mul(wanted))
        && i64::from(*most_here) >= wanted
}

/// Processors of each resource that a job may have of what is free.
fn offered<'a>(
    most: &'a [u32],
    memory_kib: u64,
    free: &'a [i64],
    memory: &'a [i64],
) -> impl Iterator<Item = i64> + 'a {
    let memory_kib = i64::try_from(memory_kib).unwrap_or(i64::MAX);
    most.iter().enumerate().map(move |(resource, &most)| {
        let by_memory = match memory_kib {
            0 => i64::MAX,
            each => memory[resource] / each,
        };
        free[resource].min(by_memory).clamp(0, i64::from(most))
    })
}
