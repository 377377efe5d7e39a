//! Round robin (LSAP 4.3.2): the candidates in turn.

use super::{Candidate, Policy, Tie};
use crate::job::JobSpec;
use std::cmp::Ordering;

/// Every candidate is as good as any other, and they take turns.
pub struct RoundRobin;

impl Policy for RoundRobin {
    fn compare(&self, _job: &JobSpec, _a: &Candidate, _b: &Candidate) -> Ordering {
        Ordering::Equal
    }

    fn tie(&self, _configured: Tie) -> Tie {
        Tie::Rotate
    }
}
