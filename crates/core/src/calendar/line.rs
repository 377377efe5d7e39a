//! Free capacity of one resource or node over time.

use crate::time::{SimDuration, SimTime};
use std::cell::Cell;

/// From `at` on this is free. Numbers are signed, since a plan that jobs have
/// overrun may promise more than there is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub at: SimTime,
    pub free: i64,
    /// KiB; means nothing where memory is unlimited.
    pub memory: i64,
}

/// What a job may have of a resource or of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    /// Processors at most, all being free.
    pub most: i64,
    /// KiB for each; 0 where memory does not count.
    pub(super) each: i64,
}

impl Need {
    /// So many of a generic resource.
    pub(super) fn count(count: i64) -> Self {
        Need {
            most: count,
            each: 0,
        }
    }

    /// Processors of what is free in this step.
    pub(super) fn of(self, step: &Step) -> i64 {
        let free = step.free.min(self.most);
        if free <= 0 {
            return 0;
        }
        match self.each == 0 || self.each.saturating_mul(free) <= step.memory {
            true => free,
            false => (step.memory / self.each).max(0),
        }
    }
}

/// A step function; the last step lasts for ever.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub steps: Vec<Step>,
    /// The step that was last looked for: more often than not it is the next one too.
    last: Cell<usize>,
}

/// What a job would get of a line if it started at one instant, and how long
/// that holds for starts after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub processors: i64,
    /// The next start at which it may be more.
    pub rises: SimTime,
    /// The next start at which it may be another number.
    pub changes: SimTime,
}

impl Offer {
    /// Before anybody has looked.
    pub const UNKNOWN: Offer = Offer {
        processors: 0,
        rises: SimTime::ZERO,
        changes: SimTime::ZERO,
    };

    /// The same where so many of another line are needed besides.
    pub fn beside(self, other: Offer, count: i64) -> Offer {
        let (processors, rises) = match (other.processors < count, self.processors) {
            (false, processors) => (processors, self.rises),
            (true, 0) => (0, self.rises.max(other.rises)),
            (true, _) => (0, other.rises),
        };
        Offer {
            processors,
            rises,
            changes: self.changes.min(other.changes),
        }
    }
}

/// What some lines offer together to starts that come later and later.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    pub offers: Vec<Offer>,
    pub total: i64,
}

impl Sweep {
    pub fn reset(&mut self) {
        self.offers.clear();
        self.total = 0;
    }

    /// Goes on to this start; answers the next one at which they may offer more.
    pub fn go_to<F: Fn() -> Offer>(
        &mut self,
        start: SimTime,
        lines: impl Iterator<Item = F>,
    ) -> SimTime {
        let mut rises = SimTime::MAX;
        for (index, offer_then) in lines.enumerate() {
            if index == self.offers.len() {
                self.offers.push(Offer::UNKNOWN);
            }
            let offer = &mut self.offers[index];
            if offer.changes <= start {
                self.total -= offer.processors;
                *offer = offer_then();
                self.total += offer.processors;
            }
            rises = rises.min(offer.rises);
        }
        rises
    }
}

/// So many steps are looked at one by one.
const NEAR: usize = 8;

impl Line {
    /// From the beginning on, so much is free for ever.
    pub fn new(free: i64, memory: i64) -> Self {
        let at = SimTime::ZERO;
        Line {
            steps: vec![Step { at, free, memory }],
            last: Cell::new(0),
        }
    }

    /// Nobody will ask any more what was free before this instant.
    pub fn forget_before(&mut self, now: SimTime) {
        if self.steps.get(1).is_some_and(|second| second.at <= now) {
            self.steps.drain(..self.step_at(now));
        }
    }

    /// The step that holds at this instant.
    #[inline]
    pub fn step_at(&self, at: SimTime) -> usize {
        let begins = |step: usize| self.steps.get(step).is_some_and(|step| step.at <= at);
        let last = self.last.get();
        let near = match begins(last) {
            true => (last..last + NEAR).find(|step| !begins(step + 1)),
            false => None,
        };
        let step = near.unwrap_or_else(|| match begins(1) {
            true => self.steps.partition_point(|step| step.at <= at) - 1,
            false => 0,
        });
        self.last.set(step);
        step
    }

    /// The steps from the one that holds at `start` on that a job meets which
    /// ends at `end`: one at least, since also a job of no length needs its
    /// processors for an instant.
    fn window(&self, start: SimTime, end: SimTime) -> (usize, usize) {
        let first = self.step_at(start);
        let beyond = self.steps[first..].partition_point(|step| step.at < end);
        (first, first + beyond.max(1))
    }

    /// The least that a job gets from `start` to `end`; below `enough` it need
    /// not be exact.
    pub fn least(&self, need: Need, (start, end): (SimTime, SimTime), enough: i64) -> i64 {
        let first = self.step_at(start);
        let mut least = need.of(&self.steps[first]);
        for step in &self.steps[first + 1..] {
            if least < enough || step.at >= end {
                break;
            }
            least = least.min(need.of(step));
        }
        least
    }

    /// The same, and for which later starts it holds.
    pub fn offer(&self, need: Need, start: SimTime, length: SimDuration) -> Offer {
        let (first, beyond) = self.window(start, start + length);
        let (mut least, mut at) = (i64::MAX, first);
        for (index, step) in self.steps[..beyond].iter().enumerate().skip(first) {
            let here = need.of(step);
            if here <= least {
                (least, at) = (here, index);
            }
        }
        // Nothing rises as long as the last of the lowest steps is met.
        let rises = match self.steps.get(at + 1) {
            Some(step) if least < need.most => step.at,
            _ => SimTime::MAX,
        };
        // A step is met by starts that are less than the length before it.
        let ahead = SimDuration::from_nanos(length.as_nanos().max(1) - 1);
        let mut later = self.steps[beyond..].iter();
        let lower = later.find(|step| step.at >= rises + ahead || need.of(step) < least);
        let falls = lower.map_or(SimTime::MAX, |step| {
            SimTime::from_nanos(step.at.as_nanos().saturating_sub(ahead.as_nanos()))
        });
        Offer {
            processors: least,
            rises,
            changes: rises.min(falls),
        }
    }

    /// The first start from `from` on at which a job gets `wanted`, if it takes
    /// everything from this line.
    pub fn earliest(
        &self,
        need: Need,
        wanted: i64,
        from: SimTime,
        length: SimDuration,
    ) -> Option<SimTime> {
        let mut first = self.step_at(from);
        'starts: while first < self.steps.len() {
            let start = self.steps[first].at.max(from);
            let end = start + length;
            for (index, step) in self.steps.iter().enumerate().skip(first) {
                if index > first && step.at >= end {
                    break;
                }
                if need.of(step) < wanted {
                    first = index + 1;
                    continue 'starts;
                }
            }
            return Some(start);
        }
        None
    }

    /// The first instant after this one from which on more is free.
    pub fn next_rise(&self, after: SimTime, memory_counts: bool) -> Option<SimTime> {
        let mut pairs = self.steps.windows(2);
        let rise = pairs.find(|pair| {
            let more_memory = memory_counts && pair[0].memory < pair[1].memory;
            pair[1].at > after && (pair[0].free < pair[1].free || more_memory)
        });
        rise.map(|pair| pair[1].at)
    }

    /// Adds this from `start` to `end`, where the latest instant is never.
    pub fn change(&mut self, (start, end): (SimTime, SimTime), processors: i64, memory: i64) {
        let (first, last) = self.split_at(start, end);
        for step in &mut self.steps[first..last] {
            step.free += processors;
            step.memory = step.memory.saturating_add(memory);
        }
        self.join(last);
        self.join(first);
    }

    /// Takes up to so many processors, with their memory, from `start` to `end`,
    /// of those that are free above `kept`; says what was taken when.
    pub fn take_free(
        &mut self,
        (start, end): (SimTime, SimTime),
        (processors, each): (i64, i64),
        kept: i64,
        mut taken: impl FnMut((SimTime, SimTime), i64, i64),
    ) {
        if end <= start {
            return;
        }
        let (first, last) = self.split_at(start, end);
        for index in first..last {
            let next = self.steps.get(index + 1);
            let until = next.map_or(SimTime::MAX, |next| next.at);
            let step = &mut self.steps[index];
            let processors = step.free.saturating_sub(kept).clamp(0, processors);
            let memory = each.saturating_mul(processors).min(step.memory.max(0));
            step.free -= processors;
            step.memory -= memory;
            if processors > 0 {
                taken((step.at, until), processors, memory);
            }
        }
    }

    /// The steps between these instants, made where there are none.
    #[inline]
    fn split_at(&mut self, start: SimTime, end: SimTime) -> (usize, usize) {
        let first = self.split(start);
        let last = match end == SimTime::MAX {
            true => self.steps.len(),
            false => self.split(end),
        };
        (first, last)
    }

    /// A step that is as the one before it is none.
    fn join(&mut self, at: usize) {
        if let (Some(step), Some(before)) = (self.steps.get(at), self.steps.get(at.wrapping_sub(1)))
            && (step.free, step.memory) == (before.free, before.memory)
        {
            self.steps.remove(at);
        }
    }

    /// The step that begins at `at`, made if there is none.
    fn split(&mut self, at: SimTime) -> usize {
        let step = self.step_at(at);
        if at <= self.steps[step].at {
            return step;
        }
        let before = self.steps[step];
        self.steps.insert(step + 1, Step { at, ..before });
        step + 1
    }
}
