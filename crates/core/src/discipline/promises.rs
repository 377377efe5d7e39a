//! Starts that a plan promises.

use super::Outlook;
use crate::plan::{Backlog, Waiting};
use crate::queue::Slot;
use crate::time::SimTime;
use std::collections::BTreeMap;

/// Who has been promised a start, and what is still to be told of that. A job
/// is promised one start at most: plans only ever move it forward, unless a job
/// runs longer than its estimate or nodes go down or come up, which breaks every promise.
#[derive(Debug, Default)]
pub struct Promises {
    /// By arrival.
    made: BTreeMap<u64, Slot>,
    /// What the backlog said of jobs that ran too long.
    overran: u64,
    /// The same of nodes that went down or came up.
    node_changes: u64,
    /// Whether nothing holds for another reason.
    are_broken: bool,
    news: Vec<(Slot, Option<SimTime>)>,
}

impl Promises {
    /// Whether nodes have gone down or come up since the last pass.
    pub(super) fn has_other_nodes(&self, backlog: &Backlog) -> bool {
        self.node_changes != backlog.node_changes
    }

    pub(super) fn break_all(&mut self) {
        self.are_broken = true;
    }

    pub(super) fn are_broken(&self) -> bool {
        self.are_broken
    }

    /// A pass begins; answers whether what was promised holds no more.
    pub(super) fn review(&mut self, outlook: &Outlook<'_>) -> bool {
        let backlog = outlook.backlog;
        let are_broken = std::mem::take(&mut self.are_broken);
        let is_broken = are_broken
            || self.overran != backlog.overran
            || self.has_other_nodes(backlog)
            || outlook.calendar.overrun(outlook.now);
        self.overran = backlog.overran;
        self.node_changes = backlog.node_changes;
        self.made.retain(|arrival, slot| {
            let waits = backlog.waits(*arrival);
            if waits && is_broken {
                self.news.push((*slot, None));
            }
            waits && !is_broken
        });
        is_broken
    }

    /// The job will start then at the latest. Nothing is promised while a job
    /// runs longer than its estimate.
    pub(super) fn make(&mut self, outlook: &Outlook<'_>, job: &Waiting, start: SimTime) {
        let is_promise = start > outlook.now && !outlook.calendar.overrun(outlook.now);
        if is_promise && !self.made.contains_key(&job.arrival) {
            self.made.insert(job.arrival, job.slot);
            self.news.push((job.slot, Some(start)));
        }
    }

    /// What has been promised, or withdrawn (`None`), since the last call.
    pub(crate) fn take_news(&mut self) -> std::vec::Drain<'_, (Slot, Option<SimTime>)> {
        self.news.drain(..)
    }
}
