//! Local only: what the domains do without a federation.

use super::{Candidate, Policy};
use crate::job::JobSpec;
use crate::message::Target;
use std::cmp::Ordering;

/// Own clusters, all alike, and never a peer.
pub struct LocalOnly;

impl Policy for LocalOnly {
    fn admits(&self, candidate: &Candidate) -> bool {
        matches!(candidate.target, Target::Cluster(_))
    }

    fn compare(&self, _job: &JobSpec, _a: &Candidate, _b: &Candidate) -> Ordering {
        Ordering::Equal
    }
}
