//! Conservative backfilling: a reservation for every job.

use super::{Outlook, PlannedStart, Planner};
use crate::plan::{Profile, Shares, Waiting};
use crate::time::SimTime;
use std::collections::BTreeMap;

/// Every job gets a reservation when it arrives: the earliest one that delays
/// nobody who came before. When a job ends before its estimate or is removed,
/// the plan is compressed: in arrival order, each job gives its reservation
/// back and takes the earliest one there is, never a later one than it had
/// (Mu'alem and Feitelson, TPDS 12(6), 2001, section 2). Jobs start when their
/// reservation does.
///
/// A job that runs past its estimate, or that the nodes cannot hold when its
/// time has come (scattered memory), breaks the plan: it is then made anew in
/// arrival order.
#[derive(Default)]
pub struct ConservativeBackfill {
    reservations: BTreeMap<u64, Reservation>,
    /// Jobs before this arrival have been looked at.
    next: u64,
    /// What the book said of ends before their time when the plan was last
    /// compressed.
    loosened: u64,
}

struct Reservation {
    start: SimTime,
    end: SimTime,
    shares: Shares,
}

impl Planner for ConservativeBackfill {
    fn begin(&mut self, outlook: &Outlook<'_>) {
        let (book, now) = (outlook.book, outlook.now);
        self.next = 0;
        self.reservations.retain(|arrival, _| book.waits(*arrival));
        let missed = self.reservations.values().any(|held| held.start < now);
        if missed || book.overrun(now) {
            self.reservations.clear();
        }
        let compress = self.loosened != book.loosened();
        self.loosened = book.loosened();
        if !compress && self.reservations.len() == book.waiting() {
            return;
        }
        let mut profile = book.profile(now);
        for (arrival, reservation) in &self.reservations {
            if let Some(job) = book.waiting_from(*arrival).next() {
                let span = (reservation.start, reservation.end);
                profile.reserve(book, job, span, &reservation.shares);
            }
        }
        for job in book.waiting_from(0) {
            if let Some(held) = self.reservations.get(&job.arrival) {
                if !compress {
                    continue;
                }
                profile.free_again(book, job, (held.start, held.end), &held.shares);
            }
            self.reserve(&mut profile, outlook, job);
        }
    }

    fn next_start(&mut self, outlook: &Outlook<'_>) -> Option<PlannedStart> {
        for (&arrival, reservation) in self.reservations.range(self.next..) {
            self.next = arrival + 1;
            if reservation.start > outlook.now {
                continue;
            }
            let Some(job) = outlook.book.waiting_from(arrival).next() else {
                break;
            };
            if outlook.nodes.offers(job.class, &reservation.shares) {
                let shares = reservation.shares.clone();
                self.reservations.remove(&arrival);
                return Some(PlannedStart::of(job, shares));
            }
        }
        None
    }

    /// Compression goes once through the queue, so that a job may keep a
    /// reservation though what stood before it has moved: no end need come
    /// with its time. While a job overruns, all wait for its end.
    fn wakeup(&self, outlook: &Outlook<'_>) -> Option<SimTime> {
        if outlook.book.overrun(outlook.now) {
            return None;
        }
        let starts = self.reservations.values().map(|held| held.start);
        starts.filter(|start| *start > outlook.now).min()
    }
}

impl ConservativeBackfill {
    fn reserve(&mut self, profile: &mut Profile, outlook: &Outlook<'_>, job: &Waiting) {
        let (book, now) = (outlook.book, outlook.now);
        let Some((start, shares)) = profile.earliest(book, job, now) else {
            return;
        };
        let end = start + job.estimate;
        profile.reserve(book, job, (start, end), &shares);
        let reservation = Reservation { start, end, shares };
        self.reservations.insert(job.arrival, reservation);
    }
}
