//! Random: any candidate, each as likely.

use super::{Candidate, Policy, Tie};
use crate::job::JobSpec;
use std::cmp::Ordering;

/// Every candidate is as good as any other, and chance decides.
pub struct Random;

impl Policy for Random {
    fn compare(&self, _job: &JobSpec, _a: &Candidate, _b: &Candidate) -> Ordering {
        Ordering::Equal
    }

    fn tie(&self, _configured: Tie) -> Tie {
        Tie::Random
    }
}
