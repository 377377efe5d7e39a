//! Full information: what perfect knowledge would make of the same choice.

use super::{Candidate, InformationNeed, Policy};
use crate::job::JobSpec;
use std::cmp::Ordering;

/// A candidate where the job can start at once is better than one where it
/// cannot; among equals, the least work left per processor. It sees the truth
/// of this instant and counts what is on its way.
pub struct FullInformation;

impl Policy for FullInformation {
    fn compare(&self, job: &JobSpec, a: &Candidate, b: &Candidate) -> Ordering {
        let must_wait = |c: &Candidate| c.free_beyond_queue < i64::from(job.processors);
        must_wait(a)
            .cmp(&must_wait(b))
            .then_with(|| a.work_per_processor.compare(b.work_per_processor))
    }

    fn need(&self) -> InformationNeed {
        InformationNeed::Truth
    }
}
