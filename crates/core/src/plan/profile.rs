//! Free capacity over time.

use super::line::{Line, Offer, Step};
use super::{Book, Need, Share, Shares, Waiting};
use crate::time::{SimDuration, SimTime};
use std::ops::Range;

/// What is free, column by column, from one instant on.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    lines: Vec<Line>,
    /// For [`earliest`](Self::earliest), by column.
    offers: Vec<Offer>,
    needs: Vec<Need>,
    /// For [`longest`](Self::longest): when how much less is free.
    falls: Vec<(SimTime, i64)>,
}

impl Profile {
    /// Forgets everything; from now on so much is free of each column:
    /// processors and KiB.
    pub(super) fn reset(&mut self, now: SimTime, free: impl Iterator<Item = (i64, i64)>) {
        let mut columns = 0;
        for (free, memory) in free {
            if columns == self.lines.len() {
                self.lines.push(Line::default());
            }
            let at = now;
            self.lines[columns].reset(Step { at, free, memory });
            columns += 1;
        }
        self.lines.truncate(columns);
    }

    /// At `at`, which is not before anything else that is given back, these
    /// processors are, with so much memory for each.
    pub(super) fn give_back(&mut self, at: SimTime, shares: &[Share], each: i64) {
        for share in shares {
            let processors = i64::from(share.processors);
            let line = &mut self.lines[share.column as usize];
            line.give_back(at, processors, each.saturating_mul(processors));
        }
    }

    /// Of how many columns it is.
    pub(crate) fn columns(&self) -> usize {
        self.lines.len()
    }

    /// Whether any processor is free in the first step.
    #[must_use]
    pub fn any_free_now(&self) -> bool {
        self.lines.iter().any(|line| line.steps[0].free > 0)
    }

    /// What the job would get from `start` on for the length of its estimate:
    /// columns in order, from each as much as is free all the while. `None` if
    /// that is not enough.
    #[must_use]
    pub fn fit(&self, book: &Book, job: &Waiting, start: SimTime) -> Option<Shares> {
        let span = (start, start + job.estimate);
        let mut left = i64::from(job.processors);
        let enough = match self.lines.len() {
            1 => left,
            _ => 1,
        };
        // Most of a long queue is too wide for what is free, and is passed by
        // without a list of what there is.
        for (line, need) in self.lines.iter().zip(book.needs(job)) {
            left -= line.least(need, span, enough);
            if left <= 0 {
                return Some(self.shares(book, job, span));
            }
        }
        None
    }

    /// The nodes for what was planned by resource, as many of each: the first
    /// that are free all the while. `None` if some are missing.
    pub(crate) fn fit_nodes(
        &self,
        book: &Book,
        job: &Waiting,
        span: (SimTime, SimTime),
        planned: &[Share],
    ) -> Option<Shares> {
        let mut shares = Shares::new();
        for share in planned {
            let columns = book.columns_of(share.resource);
            let missing = self.take_from(book, job, span, (columns, share.processors), &mut shares);
            if missing > 0 {
                return None;
            }
        }
        Some(shares)
    }

    fn shares(&self, book: &Book, job: &Waiting, span: (SimTime, SimTime)) -> Shares {
        let mut shares = Shares::new();
        let all = (0..self.lines.len(), job.processors);
        self.take_from(book, job, span, all, &mut shares);
        shares
    }

    /// Adds what these columns have of so many processors; answers how many
    /// are missing.
    fn take_from(
        &self,
        book: &Book,
        job: &Waiting,
        span: (SimTime, SimTime),
        (columns, mut missing): (Range<usize>, u32),
        shares: &mut Shares,
    ) -> u32 {
        let lines = self.lines.iter().zip(book.needs(job)).enumerate();
        for (column, (line, need)) in lines.take(columns.end).skip(columns.start) {
            if missing == 0 {
                break;
            }
            let processors = line.least(need, span, 1).min(i64::from(missing)) as u32;
            if processors > 0 {
                shares.push(book.share(column, processors));
                missing -= processors;
            }
        }
        missing
    }

    /// The longest estimates with which jobs of a shape [fit](Self::fit) at
    /// `start`: for each of `sizes`, which rise, as far as that many processors
    /// are free at all.
    pub(crate) fn longest(
        &mut self,
        needs: impl Iterator<Item = Need>,
        start: SimTime,
        sizes: &[u32],
        longest: &mut Vec<SimDuration>,
    ) {
        longest.clear();
        self.falls.clear();
        let mut total = 0;
        for (line, need) in self.lines.iter().zip(needs) {
            let first = line.step_at(start);
            let mut least = need.of(&line.steps[first]);
            total += least;
            for step in &line.steps[first + 1..] {
                if least == 0 {
                    break;
                }
                let here = need.of(step);
                if here < least {
                    self.falls.push((step.at, least - here));
                    least = here;
                }
            }
        }
        let mut open = sizes.partition_point(|size| i64::from(*size) <= total);
        longest.resize(open, SimDuration::from_nanos(u64::MAX));
        self.falls.sort_unstable_by_key(|fall| fall.0);
        for (at, fall) in &self.falls {
            total -= fall;
            while open > 0 && i64::from(sizes[open - 1]) > total {
                open -= 1;
                longest[open] = at.since(start);
            }
            if open == 0 {
                break;
            }
        }
    }

    /// The earliest instant from `from` on at which the job fits, and what it
    /// gets then. It always fits in the end: the last steps are the empty
    /// cluster, less what is promised for ever.
    #[must_use]
    pub fn earliest(
        &mut self,
        book: &Book,
        job: &Waiting,
        from: SimTime,
    ) -> Option<(SimTime, Shares)> {
        let start = self.earliest_start(book, job, from)?;
        Some((start, self.shares(book, job, (start, start + job.estimate))))
    }

    fn earliest_start(&mut self, book: &Book, job: &Waiting, from: SimTime) -> Option<SimTime> {
        let (length, wanted) = (job.estimate, i64::from(job.processors));
        if let [line] = self.lines.as_slice() {
            let need = book.needs(job).next()?;
            return line.earliest(need, wanted, from, length);
        }
        self.offers.clear();
        self.needs.clear();
        self.needs.extend(book.needs(job));
        let columns = self.lines.iter().zip(&self.needs);
        self.offers
            .extend(columns.map(|(line, need)| line.offer(*need, from, length)));
        let mut total: i64 = self.offers.iter().map(|offer| offer.processors).sum();
        let mut start = from;
        // What all columns offer together grows only where one of them does.
        while total < wanted {
            start = self.offers.iter().map(|offer| offer.rises).min()?;
            if start == SimTime::MAX {
                return None;
            }
            for (column, offer) in self.offers.iter_mut().enumerate() {
                if offer.changes <= start {
                    total -= offer.processors;
                    *offer = self.lines[column].offer(self.needs[column], start, length);
                    total += offer.processors;
                }
            }
        }
        Some(start)
    }

    /// Takes these processors from the start of the span to its end.
    pub fn reserve(
        &mut self,
        book: &Book,
        job: &Waiting,
        span: (SimTime, SimTime),
        shares: &[Share],
    ) {
        self.change(book, job, span, shares, -1);
    }

    /// Undoes [`Profile::reserve`].
    pub fn free_again(
        &mut self,
        book: &Book,
        job: &Waiting,
        span: (SimTime, SimTime),
        shares: &[Share],
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
        shares: &[Share],
    ) {
        self.change(book, job, span, shares, -1);
        if early >= span.0 || span.1 <= span.0 {
            return;
        }
        let each = book.memory_of(job);
        for share in shares {
            let line = &mut self.lines[share.column as usize];
            line.take_early(early, span.0, i64::from(share.processors), each);
        }
    }

    fn change(
        &mut self,
        book: &Book,
        job: &Waiting,
        (start, end): (SimTime, SimTime),
        shares: &[Share],
        sign: i64,
    ) {
        if end <= start {
            return;
        }
        let each = book.memory_of(job);
        for share in shares {
            let processors = sign * i64::from(share.processors);
            let memory = each.saturating_mul(processors);
            self.lines[share.column as usize].change(start, end, processors, memory);
        }
    }
}
