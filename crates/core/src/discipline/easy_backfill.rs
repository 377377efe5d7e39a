//! EASY backfilling: one reservation, for the head of the queue.

use super::lines::Lines;
use super::reservations::sooner;
use super::{Outlook, PlannedStart, Planner, Promises};
use crate::calendar::{Calendar, Reservation};
use crate::plan::Waiting;
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
    lines: Lines,
    promises: Promises,
    /// Jobs before this arrival have been looked at.
    next: u64,
    /// Whether there is a head that waits.
    waits: bool,
    /// What is kept for it, if it will ever fit: for ever, since what is left
    /// over beside it is left over whatever its length, unless others have
    /// reserved it for later.
    head: Option<Reservation>,
    /// What was kept for it so far, and its arrival; only of several components,
    /// for which more room is not always better.
    before: Option<(u64, Reservation)>,
    /// When it came.
    head_arrival: u64,
    /// Whether that is by node.
    by_node: bool,
    /// What the backlog said of processors given back when the plan was made.
    given_back: u64,
    /// Whether only jobs that have come since the last pass may start.
    only_new: bool,
    /// How long jobs may take, for one shape by size.
    longest: Vec<SimDuration>,
    /// Whether the cluster reserves processors for others.
    beside_reserved: bool,
}

impl EasyBackfill {
    pub(super) fn new(beside_reserved: bool) -> Self {
        EasyBackfill {
            beside_reserved,
            ..EasyBackfill::default()
        }
    }
}

impl Planner for EasyBackfill {
    fn begin(&mut self, outlook: &mut Outlook<'_>) {
        let (backlog, now) = (outlook.backlog, outlook.now);
        if self.promises.has_other_nodes(backlog) {
            // Jobs wait again that were taken in long ago.
            self.lines = Lines::default();
        }
        let is_broken = self.promises.review(outlook);
        self.before.take_if(|_| is_broken);
        let by_node = outlook.calendar.layout.is_by_node();
        self.only_new = self.waits
            && self.by_node == by_node
            && self.given_back == backlog.given_back
            && !outlook.calendar.layout.has_joint()
            && !outlook.calendar.overrun(now);
        if self.only_new {
            return;
        }
        if let Some(head) = self.head.take() {
            outlook.calendar.free.release(&head);
            let arrival = self.head_arrival;
            let holds = !is_broken && !head.more.is_empty() && head.start >= now;
            self.before = holds.then_some((arrival, head));
        }
        self.by_node = by_node;
        self.given_back = backlog.given_back;
        self.next = 0;
        self.waits = false;
    }

    fn next_start(&mut self, outlook: &mut Outlook<'_>) -> Option<PlannedStart> {
        let now = outlook.now;
        // What was kept for a head of several components goes by the next plan; and what is
        // not kept for a head may be reserved for others.
        let matters = self.beside_reserved || outlook.calendar.layout.has_joint();
        let plans = !self.waits && matters;
        if !plans && !outlook.calendar.free.any_at(now) {
            return None;
        }
        if !self.waits {
            let start = self.start_or_wait(outlook);
            if start.is_some() || !self.waits || !outlook.calendar.free.any_at(now) {
                return start;
            }
        }
        match self.only_new || outlook.backlog.waiting() < WALKED {
            true => self.walk(outlook),
            false => self.first_that_fits(outlook),
        }
    }

    fn promises(&mut self) -> &mut Promises {
        &mut self.promises
    }

    /// The head needs what is kept for it as long as it is estimated to run.
    fn make_way(&mut self, outlook: &mut Outlook<'_>) {
        self.waits = false;
        let Some(head) = self.head.take() else {
            return;
        };
        outlook.calendar.free.release(&head);
        // A start that was missed, waits for a job that overruns, or was found on other nodes
        // cannot be relied on.
        let holds = head.start >= outlook.now
            && !outlook.calendar.overrun(outlook.now)
            && !self.promises.has_other_nodes(outlook.backlog)
            && !self.promises.are_broken();
        if holds && outlook.backlog.waits(self.head_arrival) {
            outlook.calendar.free.reserve(&head);
            self.head = Some(head);
        }
    }

    /// No end need come with the start of a head of several components: what was
    /// kept for it may have been found beside one that has come early.
    fn wakeup(&self, outlook: &Outlook<'_>) -> Option<SimTime> {
        let head = self.head.as_ref().filter(|head| !head.more.is_empty())?;
        let comes = head.start > outlook.now && !outlook.calendar.overrun(outlook.now);
        comes.then_some(head.start)
    }
}

impl EasyBackfill {
    /// The first job if it fits, with `None` it is the head that waits. One that
    /// waits for nodes that are down is passed by: nobody knows when it will start.
    fn start_or_wait(&mut self, outlook: &mut Outlook<'_>) -> Option<PlannedStart> {
        while !self.waits {
            let job = outlook.backlog.waiting_from(self.next).next()?;
            self.next = job.arrival + 1;
            let start = self.start_or_promise(outlook, job);
            if start.is_some() {
                return start;
            }
        }
        None
    }

    /// The job if it fits, with `None` it is promised what there is.
    fn start_or_promise(
        &mut self,
        outlook: &mut Outlook<'_>,
        job: &Waiting,
    ) -> Option<PlannedStart> {
        if let Some(start) = outlook.fit_now(None, job) {
            return Some(start);
        }
        let before = self.kept_for(outlook, job);
        if let Some(held) = before.as_ref().filter(|held| held.start == outlook.now)
            && outlook.nodes.offers(job.demand.class, &held.shares)
        {
            let shares = held.shares.clone();
            return Some(PlannedStart { job: *job, shares });
        }
        let Calendar { layout, free, .. } = &mut *outlook.calendar;
        // A job that overruns is expected to end right after this instant.
        let soonest = outlook.now.after();
        let found = free.earliest(layout, &job.demand, soonest);
        let beside = self.beside_reserved;
        let found = found.map(|(shadow, shares)| {
            let end = match beside {
                true => shadow + job.demand.length,
                false => SimTime::MAX,
            };
            layout.reservation(job.demand.class, (shadow, end), shares)
        });
        if let Some(head) = sooner(found, before) {
            free.reserve(&head);
            self.promises.make(outlook, job, head.start);
            self.waits = true;
            (self.head, self.head_arrival) = (Some(head), job.arrival);
        }
        None
    }

    /// What was kept for this job when the last plan was made.
    fn kept_for(&mut self, outlook: &mut Outlook<'_>, job: &Waiting) -> Option<Reservation> {
        let (_, mut held) = self
            .before
            .take_if(|(arrival, _)| *arrival == job.arrival)?;
        let Calendar { layout, free, .. } = &mut *outlook.calendar;
        if layout.is_by_node() && !held.is_by_node() {
            held.shares = free.fit_nodes(layout, &job.demand, &held)?;
        }
        Some(held)
    }

    /// The first job behind the head that may start, of those that have not
    /// been looked at.
    fn walk(&mut self, outlook: &mut Outlook<'_>) -> Option<PlannedStart> {
        let backlog = outlook.backlog;
        for job in backlog.waiting_from(self.next) {
            self.next = job.arrival + 1;
            if let Some(start) = outlook.fit_now(None, job) {
                return Some(start);
            }
        }
        None
    }

    /// The same, found without a look at those that cannot.
    fn first_that_fits(&mut self, outlook: &mut Outlook<'_>) -> Option<PlannedStart> {
        let backlog = outlook.backlog;
        self.lines.take_in(backlog, &outlook.calendar.layout);
        while let Some((arrival, shape, processors)) = self.first_in_lines(outlook) {
            self.next = arrival + 1;
            let Some(job) = backlog.waiting_job(arrival) else {
                // It was removed from the queue.
                self.lines.forget(shape, processors, arrival);
                continue;
            };
            if let Some(start) = outlook.fit_now(None, job) {
                self.lines.forget(shape, processors, arrival);
                return Some(start);
            }
        }
        self.next = self.lines.end();
        None
    }

    /// Arrival, shape and processors of the first job that the resources have
    /// room for.
    fn first_in_lines(&mut self, outlook: &mut Outlook<'_>) -> Option<(u64, usize, u32)> {
        let Calendar { layout, free, .. } = &mut *outlook.calendar;
        let mut first: Option<(u64, usize, u32)> = None;
        for (number, shape) in self.lines.shapes() {
            let needs = layout.needs(number);
            free.longest(needs, outlook.now, shape.sizes(), &mut self.longest);
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
}
