//! EASY backfilling: one reservation, for the head of the queue.

use super::lines::Lines;
use super::{Outlook, PlannedStart, Planner, Promises};
use crate::plan::{Profile, Waiting};
use crate::time::{SimDuration, SimTime};

/// A queue shorter than this is walked: an index costs more.
const WALKED: usize = 16;

/// Jobs start in arrival order until one does not fit. That head is promised
/// the earliest instant at which it will (the shadow time); the jobs behind it
/// start, in arrival order, if they end by then by their estimates or need only
/// processors that the head leaves over. The plan is made anew in every pass
/// (Lifka 1995; Mu'alem and Feitelson, TPDS 12(6), 2001, section 2).
///
/// A plan that would come out as the last one did is kept: where nothing has
/// been given back since, who had to wait still has to, and only the jobs that
/// have come since are looked at.
#[derive(Default)]
pub struct EasyBackfill {
    profile: Profile,
    lines: Lines,
    promises: Promises,
    /// Jobs before this arrival have been looked at.
    next: u64,
    /// When the head is promised to start, once there is one that waits.
    shadow: Option<SimTime>,
    /// What the book said of processors given back when the plan was made.
    given_back: u64,
    /// Whether only jobs that have come since the last pass may start.
    only_new: bool,
    /// How long jobs may take, for one shape by size.
    longest: Vec<SimDuration>,
}

impl Planner for EasyBackfill {
    fn begin(&mut self, outlook: &Outlook<'_>) {
        let (book, now) = (outlook.book, outlook.now);
        self.promises.review(outlook);
        let stands = self.shadow.is_some() && self.profile.columns() == book.columns();
        self.only_new = stands && self.given_back == book.given_back() && !book.overrun(now);
        if self.only_new {
            return;
        }
        // Until the head has to wait, the present is all of the plan.
        book.present(now, &mut self.profile);
        self.given_back = book.given_back();
        self.next = 0;
        self.shadow = None;
    }

    fn next_start(&mut self, outlook: &Outlook<'_>) -> Option<PlannedStart> {
        if !self.profile.any_free_now() {
            return None;
        }
        if self.shadow.is_none() {
            let start = self.start_or_wait(outlook);
            if start.is_some() || self.shadow.is_none() || !self.profile.any_free_now() {
                return start;
            }
        }
        match self.only_new || outlook.book.waiting() < WALKED {
            true => self.walk(outlook),
            false => self.first_that_fits(outlook),
        }
    }

    fn promises(&mut self) -> &mut Promises {
        &mut self.promises
    }
}

impl EasyBackfill {
    /// The first job if it fits, with `None` it is the head that waits.
    fn start_or_wait(&mut self, outlook: &Outlook<'_>) -> Option<PlannedStart> {
        let (book, now) = (outlook.book, outlook.now);
        let job = book.waiting_from(self.next).next()?;
        self.next = job.arrival + 1;
        if let Some(shares) = outlook.fit_now(&self.profile, job) {
            let span = (now, SimTime::MAX);
            self.profile.reserve(book, job, span, &shares);
            return Some(PlannedStart::of(job, shares));
        }
        book.profile(now, &mut self.profile);
        // A job that overruns is expected to end right after this instant.
        let promised = self.profile.earliest(book, job, now.after());
        self.shadow = Some(promised.as_ref().map_or(SimTime::MAX, |promise| promise.0));
        if let Some((shadow, shares)) = promised {
            self.promises.make(outlook, job, shadow);
            // For ever: what is left over beside the head is left over whatever
            // the head's length.
            self.profile
                .reserve(book, job, (shadow, SimTime::MAX), &shares);
        }
        None
    }

    /// The first job behind the head that may start, of those that have not
    /// been looked at.
    fn walk(&mut self, outlook: &Outlook<'_>) -> Option<PlannedStart> {
        for job in outlook.book.waiting_from(self.next) {
            self.next = job.arrival + 1;
            if let Some(start) = self.start_behind(outlook, job) {
                return Some(start);
            }
        }
        None
    }

    /// The same, found without a look at those that cannot.
    fn first_that_fits(&mut self, outlook: &Outlook<'_>) -> Option<PlannedStart> {
        let book = outlook.book;
        self.lines.take_in(book);
        while let Some((arrival, shape, processors)) = self.first_in_lines(outlook) {
            self.next = arrival + 1;
            let Some(job) = book.waiting_job(arrival) else {
                // It was removed from the queue.
                self.lines.forget(shape, processors, arrival);
                continue;
            };
            if let Some(start) = self.start_behind(outlook, job) {
                self.lines.forget(shape, processors, arrival);
                return Some(start);
            }
        }
        self.next = self.lines.end();
        None
    }

    /// Arrival, shape and processors of the first job that the plan has room
    /// for.
    fn first_in_lines(&mut self, outlook: &Outlook<'_>) -> Option<(u64, usize, u32)> {
        let (book, now) = (outlook.book, outlook.now);
        let mut first: Option<(u64, usize, u32)> = None;
        for (number, shape) in self.lines.shapes() {
            self.profile
                .longest(book.needs_of(number), now, shape.sizes(), &mut self.longest);
            for (index, longest) in self.longest.iter().enumerate() {
                if let Some(arrival) = shape.first(index, self.next, *longest)
                    && first.is_none_or(|(before, ..)| arrival < before)
                {
                    first = Some((arrival, number, shape.sizes()[index]));
                }
            }
        }
        first
    }

    fn start_behind(&mut self, outlook: &Outlook<'_>, job: &Waiting) -> Option<PlannedStart> {
        let (book, now) = (outlook.book, outlook.now);
        let shares = outlook.fit_now(&self.profile, job)?;
        let span = book.span_from(now, job, &shares);
        self.profile.reserve(book, job, span, &shares);
        Some(PlannedStart::of(job, shares))
    }
}
