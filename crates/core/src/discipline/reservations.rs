//! Reservations that are kept from pass to pass.

use super::{Outlook, PlannedStart, Promises};
use crate::calendar::{Calendar, Reservation};
use crate::plan::Waiting;
use crate::time::SimTime;
use std::collections::BTreeMap;

/// Starts that the calendar keeps free for jobs, by arrival. A plan that is
/// made beside all of them can only move a job forward, so that what was
/// promised is kept.
#[derive(Default)]
pub(super) struct Reservations {
    by_arrival: BTreeMap<u64, Reservation>,
    promises: Promises,
}

impl Reservations {
    /// Gives those of jobs that do not wait any more back; all of them if a job
    /// overruns, nodes have changed or a start was missed, since then none can be
    /// relied on.
    pub fn review(&mut self, outlook: &mut Outlook<'_>) {
        let has_other_nodes = self.promises.has_other_nodes(outlook.backlog);
        let are_broken = self.promises.are_broken();
        self.promises.review(outlook);
        self.give_back(outlook, are_broken || has_other_nodes);
        let mut held = self.by_arrival.values();
        if outlook.calendar.layout.is_by_node() && held.any(|held| !held.is_by_node()) {
            self.find_nodes(outlook);
        }
    }

    /// Between passes: nothing is kept that cannot be relied on.
    pub fn make_way(&mut self, outlook: &mut Outlook<'_>) {
        let has_other_nodes = self.promises.has_other_nodes(outlook.backlog);
        self.give_back(outlook, self.promises.are_broken() || has_other_nodes);
    }

    fn give_back(&mut self, outlook: &mut Outlook<'_>, is_broken: bool) {
        let (backlog, now) = (outlook.backlog, outlook.now);
        let is_broken = is_broken || outlook.calendar.overrun(now) || {
            let mut all = self.by_arrival.iter();
            all.any(|(arrival, held)| held.start < now && backlog.waits(*arrival))
        };
        let gone = |arrival: &u64, _: &mut _| is_broken || !backlog.waits(*arrival);
        let gone = self.by_arrival.extract_if(.., gone);
        gone.for_each(|(_, held)| outlook.calendar.free.release(&held));
    }

    pub fn len(&self) -> usize {
        self.by_arrival.len()
    }

    /// Gives nodes to reservations that were made by resource, in the order of
    /// their starts: whoever holds a node then has begun before, so that those
    /// that are free at a start stay so, and there are enough of them.
    fn find_nodes(&mut self, outlook: &mut Outlook<'_>) {
        let Calendar { layout, free, .. } = &mut *outlook.calendar;
        let mut by_start: Vec<(u64, Reservation)> = Vec::new();
        for (arrival, held) in std::mem::take(&mut self.by_arrival) {
            free.release(&held);
            by_start.push((arrival, held));
        }
        by_start.sort_by_key(|(arrival, held)| (held.start, *arrival));
        for (arrival, mut held) in by_start {
            if let Some(job) = outlook.backlog.waiting_job(arrival)
                && let Some(shares) = free.fit_nodes(layout, &job.demand, &held)
            {
                held.shares = shares;
                free.reserve(&held);
                self.by_arrival.insert(arrival, held);
            }
        }
    }

    /// Takes a job's reservation out of the calendar.
    pub fn take_out(&mut self, outlook: &mut Outlook<'_>, job: &Waiting) -> Option<Reservation> {
        let held = self.by_arrival.remove(&job.arrival)?;
        outlook.calendar.free.release(&held);
        Some(held)
    }

    /// Puts what was found for a job into the calendar, or what it had if that is
    /// sooner: more room is not always better for several components.
    pub fn put_sooner(
        &mut self,
        outlook: &mut Outlook<'_>,
        job: &Waiting,
        found: Option<Reservation>,
        before: Option<Reservation>,
    ) {
        if let Some(held) = sooner(found, before) {
            self.put(outlook, job, held);
        }
    }

    /// Puts one into the calendar.
    pub fn put(&mut self, outlook: &mut Outlook<'_>, job: &Waiting, held: Reservation) {
        outlook.calendar.free.reserve(&held);
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
    pub fn due(&mut self, outlook: &mut Outlook<'_>, from: u64) -> Option<PlannedStart> {
        let job = self.by_arrival.range(from..).find_map(|(arrival, held)| {
            if held.start > outlook.now {
                return None;
            }
            let job = outlook.backlog.waiting_job(*arrival)?;
            let is_free = outlook.nodes.offers(job.demand.class, &held.shares);
            is_free.then_some(*job)
        })?;
        let Reservation { shares, .. } = self.take_out(outlook, &job)?;
        Some(PlannedStart { job, shares })
    }

    /// The next start after this instant. While a job overruns, all wait for
    /// its end.
    pub fn next_start(&self, outlook: &Outlook<'_>) -> Option<SimTime> {
        if outlook.calendar.overrun(outlook.now) {
            return None;
        }
        let starts = self.by_arrival.values().map(|held| held.start);
        starts.filter(|start| *start > outlook.now).min()
    }
}

/// The one that begins first, what was found if both do.
pub(super) fn sooner(
    found: Option<Reservation>,
    before: Option<Reservation>,
) -> Option<Reservation> {
    match (found, before) {
        (Some(found), Some(before)) if before.start < found.start => Some(before),
        (found, before) => found.or(before),
    }
}
