//! Shortest job first.

use super::{Outlook, PlannedStart, Planner, Promises};
use crate::time::SimDuration;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Of the jobs that wait, the one with the shortest estimate starts when it fits,
/// ties in arrival order; until then nobody does. Nothing is promised: a shorter
/// job may always come.
#[derive(Default)]
pub struct ShortestJobFirst {
    /// Estimates and arrivals, the shortest first. Who does not wait any more is
    /// found out at the top.
    shortest: BinaryHeap<Reverse<(SimDuration, u64)>>,
    /// Jobs before this arrival have been taken in.
    next: u64,
    /// What the backlog said of nodes that changed.
    node_changes: u64,
    promises: Promises,
}

impl Planner for ShortestJobFirst {
    fn begin(&mut self, outlook: &mut Outlook<'_>) {
        if self.node_changes != outlook.backlog.node_changes {
            // Jobs wait again that were taken in long ago.
            self.shortest.clear();
            (self.next, self.node_changes) = (0, outlook.backlog.node_changes);
        }
        for job in outlook.backlog.waiting_from(self.next) {
            self.next = job.arrival + 1;
            self.shortest
                .push(Reverse((job.at_full_speed, job.arrival)));
        }
    }

    fn next_start(&mut self, outlook: &mut Outlook<'_>) -> Option<PlannedStart> {
        let backlog = outlook.backlog;
        while let Some(Reverse((_, arrival))) = self.shortest.peek() {
            if let Some(job) = backlog.waiting_job(*arrival) {
                return outlook.fit_now(None, job);
            }
            self.shortest.pop();
        }
        None
    }

    fn promises(&mut self) -> &mut Promises {
        &mut self.promises
    }
}
