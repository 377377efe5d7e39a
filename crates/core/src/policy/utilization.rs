//! Utilization (LSAP 4.3.2): the smallest share of busy processors, 30 s mean
//! by default.

use super::{Candidate, Policy};
use crate::job::JobSpec;
use crate::load::Window;
use std::cmp::Ordering;

/// The least utilized is the best. At the instant and among equal sizes this
/// is free-node.
pub struct Utilization {
    /// Over which window.
    pub window: Window,
}

impl Policy for Utilization {
    fn compare(&self, _job: &JobSpec, a: &Candidate, b: &Candidate) -> Ordering {
        a.utilization_over(self.window)
            .compare(b.utilization_over(self.window))
    }
}
