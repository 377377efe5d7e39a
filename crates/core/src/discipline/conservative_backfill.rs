//! Conservative backfilling: a reservation for every job.

use super::reservations::Reservations;
use super::{Outlook, PlannedStart, Planner, Promises};
use crate::calendar::Calendar;
use crate::time::SimTime;

/// Every job gets a reservation when it arrives: the earliest one that delays
/// nobody who came before. When a job ends before its estimate or is removed,
/// the plan is compressed: in arrival order, each job gives its reservation
/// back and takes the earliest one there is, never a later one than it had
/// (Mu'alem and Feitelson, TPDS 12(6), 2001, section 2). Jobs start when their
/// reservation does.
///
/// A job that runs past its estimate breaks the plan: it is then made anew in
/// arrival order.
#[derive(Default)]
pub struct ConservativeBackfill {
    reservations: Reservations,
    /// Jobs before this arrival have been looked at.
    next: u64,
    /// What the backlog said of ends before their time when the plan was last
    /// compressed.
    loosened: u64,
}

impl Planner for ConservativeBackfill {
    fn begin(&mut self, outlook: &mut Outlook<'_>) {
        let (backlog, now) = (outlook.backlog, outlook.now);
        self.next = 0;
        self.reservations.review(outlook);
        let compress = self.loosened != backlog.loosened;
        self.loosened = backlog.loosened;
        if !compress && self.reservations.len() == backlog.waiting() {
            return;
        }
        for job in backlog.waiting_from(0) {
            if !compress && self.reservations.holds(job) {
                continue;
            }
            let before = self.reservations.take_out(outlook, job);
            let Calendar { layout, free, .. } = &mut *outlook.calendar;
            let found = free.earliest(layout, &job.demand, now);
            let found = found.map(|(start, shares)| {
                let span = (start, start + job.demand.length);
                layout.reservation(job.demand.class, span, shares)
            });
            self.reservations.put_sooner(outlook, job, found, before);
        }
    }

    fn next_start(&mut self, outlook: &mut Outlook<'_>) -> Option<PlannedStart> {
        let start = self.reservations.due(outlook, self.next)?;
        self.next = start.job.arrival + 1;
        Some(start)
    }

    fn make_way(&mut self, outlook: &mut Outlook<'_>) {
        self.reservations.make_way(outlook);
    }

    fn promises(&mut self) -> &mut Promises {
        self.reservations.promises()
    }

    /// Compression goes once through the queue, so that a job may keep a
    /// reservation though what stood before it has moved: no end need come
    /// with its time.
    fn wakeup(&self, outlook: &Outlook<'_>) -> Option<SimTime> {
        self.reservations.next_start(outlook)
    }
}
