//! The submitter: knows what to hand over, and when.

use crate::job::Submission;
use crate::time::SimTime;

/// Plays submissions in order of their time, ties in trace order.
///
/// Getters: [`Submitter::poll_timeout`], [`Submitter::remaining`].
/// Commands: [`Submitter::handle_timeout`], to be repeated while it answers.
pub struct Submitter<'a> {
    submissions: &'a [Submission],
    next: usize,
}

impl<'a> Submitter<'a> {
    /// A submitter of these jobs, which must be sorted by `at` with rising
    /// job ids.
    #[must_use]
    pub fn new(submissions: &'a [Submission]) -> Self {
        debug_assert!(submissions.is_sorted_by_key(|s| (s.at, s.spec.id)));
        Submitter {
            submissions,
            next: 0,
        }
    }

    /// When the next job is to be handed over.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<SimTime> {
        self.submissions.get(self.next).map(|s| s.at)
    }

    /// The next job, if its time has come.
    pub fn handle_timeout(&mut self, now: SimTime) -> Option<&'a Submission> {
        let due = self.submissions.get(self.next).filter(|s| s.at <= now)?;
        self.next += 1;
        Some(due)
    }

    /// How many have not been handed over.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.submissions.len() - self.next
    }
}
