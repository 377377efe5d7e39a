//! EASY backfilling: one reservation, for the head of the queue.

use super::{Outlook, PlannedStart, Planner};
use crate::plan::Profile;
use crate::time::SimTime;

/// Jobs start in arrival order until one does not fit. That head is promised
/// the earliest instant at which it will (the shadow time); the jobs behind it
/// start, in arrival order, if they end by then by their estimates or need only
/// processors that the head leaves over. The plan is made anew in every pass
/// (Lifka 1995; Mu'alem and Feitelson, TPDS 12(6), 2001, section 2).
#[derive(Default)]
pub struct EasyBackfill {
    profile: Profile,
    /// Jobs before this arrival have been looked at.
    next: u64,
    head_waits: bool,
}

impl Planner for EasyBackfill {
    fn begin(&mut self, outlook: &Outlook<'_>) {
        // Until the head has to wait, the present is all of the plan.
        self.profile = outlook.book.present(outlook.now);
        self.next = 0;
        self.head_waits = false;
    }

    fn next_start(&mut self, outlook: &Outlook<'_>) -> Option<PlannedStart> {
        let (book, now) = (outlook.book, outlook.now);
        if !self.profile.any_free_now() {
            return None;
        }
        for job in book.waiting_from(self.next) {
            self.next = job.arrival + 1;
            if let Some(shares) = outlook.fit_now(&mut self.profile, job) {
                let span = match self.head_waits {
                    true => book.span_from(now, job, &shares),
                    false => (now, SimTime::MAX),
                };
                self.profile.reserve(book, job, span, &shares);
                return Some(PlannedStart::of(job, shares));
            }
            if !self.head_waits {
                self.head_waits = true;
                self.profile = book.profile(now);
                // Right after this instant at the earliest: the nodes may have
                // said no where the plan says now.
                let soonest = now.after();
                if let Some((shadow, shares)) = self.profile.earliest(book, job, soonest) {
                    // For ever: what is left over beside the head is left over
                    // whatever the head's length.
                    self.profile
                        .reserve(book, job, (shadow, SimTime::MAX), &shares);
                }
            }
        }
        None
    }
}
