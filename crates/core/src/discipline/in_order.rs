//! The disciplines that look at the instant only, beside what is reserved.

use super::{Outlook, PlannedStart, Planner, Promises};

/// Jobs start in arrival order if they end, by their estimates, before processors that
/// they need are reserved. One that does not fit is passed by the jobs behind it
/// (first-in-first-fit), or it is not (fcfs). Nothing is promised.
#[derive(Default)]
pub struct InOrder {
    passes: bool,
    /// Jobs before this arrival have been looked at.
    next: u64,
    promises: Promises,
}

impl InOrder {
    pub(super) fn new(passes: bool) -> Self {
        InOrder {
            passes,
            ..InOrder::default()
        }
    }
}

impl Planner for InOrder {
    fn begin(&mut self, _outlook: &mut Outlook<'_>) {
        self.next = 0;
    }

    fn next_start(&mut self, outlook: &mut Outlook<'_>) -> Option<PlannedStart> {
        let backlog = outlook.backlog;
        for job in backlog.waiting_from(self.next) {
            if !outlook.calendar.free.any_at(outlook.now) {
                return None;
            }
            let start = outlook.fit_now(None, job);
            if start.is_some() || !self.passes {
                return start;
            }
            self.next = job.arrival + 1;
        }
        None
    }

    fn promises(&mut self) -> &mut Promises {
        &mut self.promises
    }
}
