//! Free node (LSAP 4.3.2): the most free processors at the instant.

use super::{Candidate, Policy};
use crate::job::JobSpec;
use std::cmp::Ordering;

/// The most free processors are the best.
pub struct FreeNode;

impl Policy for FreeNode {
    fn compare(&self, _job: &JobSpec, a: &Candidate, b: &Candidate) -> Ordering {
        b.free.cmp(&a.free)
    }
}
