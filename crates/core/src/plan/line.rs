//! Free capacity of one column over time.

use super::Need;
use crate::time::{SimDuration, SimTime};

/// From `at` on this is free. Numbers are signed, since a plan that jobs have
/// overrun may promise more than there is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub at: SimTime,
    pub free: i64,
    /// KiB; means nothing where memory is unlimited.
    pub memory: i64,
}

/// A step function; the last step lasts for ever.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub steps: Vec<Step>,
}

/// What a job would get of a column if it started at one instant, and how long
/// that holds for starts after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub processors: i64,
    /// The next start at which it may be more.
    pub rises: SimTime,
    /// The next start at which it may be another number.
    pub changes: SimTime,
}

impl Line {
    pub fn reset(&mut self, now: Step) {
        self.steps.clear();
        self.steps.push(now);
    }

    /// At `at`, which is not before the last step, so much is given back.
    pub fn give_back(&mut self, at: SimTime, processors: i64, memory: i64) {
        let Some(last) = self.steps.last_mut() else {
            return;
        };
        let after = Step {
            at,
            free: last.free + processors,
            memory: last.memory.saturating_add(memory),
        };
        match last.at == at {
            true => *last = after,
            false => self.steps.push(after),
        }
    }

    /// The step that holds at this instant.
    pub fn step_at(&self, at: SimTime) -> usize {
        match self.steps.first() {
            Some(first) if first.at < at => {
                self.steps.partition_point(|step| step.at <= at).max(1) - 1
            }
            _ => 0,
        }
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
    /// everything from this column.
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

    /// Adds this from `start` to `end`, where the latest instant is never.
    pub fn change(&mut self, start: SimTime, end: SimTime, processors: i64, memory: i64) {
        let first = self.split(start);
        let last = match end == SimTime::MAX {
            true => self.steps.len(),
            false => self.split(end),
        };
        for step in &mut self.steps[first..last] {
            step.free += processors;
            step.memory = step.memory.saturating_add(memory);
        }
    }

    /// Takes up to so many processors, with their memory, from `early` to
    /// `start` too, of those that are free then and will not be left over.
    pub fn take_early(&mut self, early: SimTime, start: SimTime, processors: i64, each: i64) {
        let first = self.split(early);
        let start = self.split(start);
        let then = self.steps[start].free;
        for step in &mut self.steps[first..start] {
            let taken = step.free.saturating_sub(then).clamp(0, processors);
            step.free -= taken;
            step.memory = step.memory.saturating_sub(each.saturating_mul(taken));
        }
    }

    /// The step that begins at `at`, made if there is none.
    fn split(&mut self, at: SimTime) -> usize {
        match self.steps.binary_search_by_key(&at, |step| step.at) {
            Ok(step) => step,
            Err(0) => 0,
            Err(next) => {
                let before = self.steps[next - 1];
                self.steps.insert(next, Step { at, ..before });
                next
            }
        }
    }
}
