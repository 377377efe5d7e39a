//! Queue length (LSAP 4.3.2): the fewest queued jobs, 30 s mean by default.

use super::{Candidate, Policy};
use crate::job::JobSpec;
use crate::load::Window;
use std::cmp::Ordering;

/// The shortest queue is the best.
pub struct QueueLength {
    /// Over which window.
    pub window: Window,
}

impl Policy for QueueLength {
    fn compare(&self, _job: &JobSpec, a: &Candidate, b: &Candidate) -> Ordering {
        a.queued_over(self.window)
            .compare(b.queued_over(self.window))
    }
}
