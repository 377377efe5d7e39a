//! Reservations that are kept from pass to pass.

use super::{Outlook, Promises};
use crate::plan::{Profile, Shares, Waiting};
use crate::time::SimTime;
use std::collections::BTreeMap;

/// A start that is kept free for a job, with its processors.
pub(super) struct Reservation {
    pub start: SimTime,
    pub end: SimTime,
    pub shares: Shares,
}

/// Reservations by arrival. A plan that is made beside all of them can only
/// move a job forward, so that what was promised is kept.
#[derive(Default)]
pub(super) struct Reservations {
    by_arrival: BTreeMap<u64, Reservation>,
    by_node: bool,
    promises: Promises,
}

impl Reservations {
    /// Forgets those of jobs that do not wait any more; all of them if a job
    /// overruns or a start was missed, since then none can be relied on.
    pub fn review(&mut self, outlook: &Outlook<'_>) {
        let (book, now) = (outlook.book, outlook.now);
        self.promises.review(outlook);
        self.by_arrival.retain(|arrival, _| book.waits(*arrival));
        let missed = self.by_arrival.values().any(|held| held.start < now);
        if missed || book.overrun(now) {
            self.by_arrival.clear();
        }
    }

    /// Whether they are by resource still, while the book counts by node.
    pub fn are_outdated(&self, outlook: &Outlook<'_>) -> bool {
        self.by_node != outlook.book.is_by_node()
    }

    pub fn len(&self) -> usize {
        self.by_arrival.len()
    }

    /// What is free beside all that run and all of these.
    pub fn plan(&mut self, outlook: &Outlook<'_>, profile: &mut Profile) {
        let book = outlook.book;
        book.profile(outlook.now, profile);
        if self.are_outdated(outlook) {
            self.by_node = book.is_by_node();
            return self.find_nodes(outlook, profile);
        }
        for (arrival, held) in &self.by_arrival {
            if let Some(job) = book.waiting_job(*arrival) {
                profile.reserve(book, job, (held.start, held.end), &held.shares);
            }
        }
    }

    /// Gives nodes to reservations that were made by resource, in the order of
    /// their starts: whoever holds a node then has begun before, so that those
    /// that are free at a start stay so, and there are enough of them.
    fn find_nodes(&mut self, outlook: &Outlook<'_>, profile: &mut Profile) {
        let book = outlook.book;
        let mut by_start: Vec<(SimTime, u64)> = self
            .by_arrival
            .iter()
            .map(|(arrival, held)| (held.start, *arrival))
            .collect();
        by_start.sort_unstable();
        for (start, arrival) in by_start {
            let found = self.by_arrival.remove(&arrival).and_then(|held| {
                let job = book.waiting_job(arrival)?;
                let span = (start, held.end);
                let shares = profile.fit_nodes(book, job, span, &held.shares)?;
                profile.reserve(book, job, span, &shares);
                Some(Reservation { shares, ..held })
            });
            if let Some(found) = found {
                self.by_arrival.insert(arrival, found);
            }
        }
    }

    /// Takes a job's reservation out of the plan.
    pub fn take_out(
        &mut self,
        outlook: &Outlook<'_>,
        profile: &mut Profile,
        job: &Waiting,
    ) -> Option<Reservation> {
        let held = self.by_arrival.remove(&job.arrival)?;
        profile.free_again(outlook.book, job, (held.start, held.end), &held.shares);
        Some(held)
    }

    /// Puts one into the plan.
    pub fn put(
        &mut self,
        outlook: &Outlook<'_>,
        profile: &mut Profile,
        job: &Waiting,
        held: Reservation,
    ) {
        profile.reserve(outlook.book, job, (held.start, held.end), &held.shares);
        self.promises.make(outlook, job, held.start);
        self.by_arrival.insert(job.arrival, held);
    }

    pub fn promises(&mut self) -> &mut Promises {
        &mut self.promises
    }

    /// Whether a job has one.
    pub fn holds(&self, job: &Waiting) -> bool {
        self.by_arrival.contains_key(&job.arrival)
    }

    /// The first job that arrived at `from` or after, whose start has come and
    /// whose processors are free; the reservation is gone then.
    pub fn due(&mut self, outlook: &Outlook<'_>, from: u64) -> Option<(Waiting, Shares)> {
        let due = self.by_arrival.range(from..).find_map(|(arrival, held)| {
            if held.start > outlook.now {
                return None;
            }
            let job = outlook.book.waiting_job(*arrival)?;
            let is_free = outlook.nodes.offers(job.class, &held.shares);
            is_free.then_some(*job)
        })?;
        let held = self.by_arrival.remove(&due.arrival)?;
        Some((due, held.shares))
    }

    /// The next start after this instant. While a job overruns, all wait for
    /// its end.
    pub fn next_start(&self, outlook: &Outlook<'_>) -> Option<SimTime> {
        if outlook.book.overrun(outlook.now) {
            return None;
        }
        let starts = self.by_arrival.values().map(|held| held.start);
        starts.filter(|start| *start > outlook.now).min()
    }
}
