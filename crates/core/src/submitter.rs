//! The submitter: knows what to hand over, and when.

use crate::job::Submission;
use crate::time::SimTime;

/// Plays submissions in order of their time, ties in trace order.
///
/// Getters: [`Submitter::poll_timeout`], [`Submitter::remaining`].
/// Commands: [`Submitter::handle_timeout`], to be repeated while it answers.
pub struct Submitter<L> {
    submissions: L,
    next: usize,
}

impl<L: AsRef<[Submission]>> Submitter<L> {
    /// A submitter of these jobs, which must be sorted by `at` with rising
    /// job ids.
    pub fn new(submissions: L) -> Self {
        debug_assert!(submissions.as_ref().is_sorted_by_key(|s| (s.at, s.spec.id)));
        Submitter {
            submissions,
            next: 0,
        }
    }

    /// All jobs, handed over or not.
    pub fn submissions(&self) -> &[Submission] {
        self.submissions.as_ref()
    }

    /// When the next job is to be handed over.
    pub fn poll_timeout(&self) -> Option<SimTime> {
        self.submissions().get(self.next).map(|s| s.at)
    }

    /// The next job, if its time has come.
    pub fn handle_timeout(&mut self, now: SimTime) -> Option<&Submission> {
        let due = self.submissions.as_ref().get(self.next);
        let due = due.filter(|s| s.at <= now)?;
        self.next += 1;
        Some(due)
    }

    /// How many have not been handed over.
    pub fn remaining(&self) -> usize {
        self.submissions().len() - self.next
    }
}
