//! Finding a job's submission by its id.

use gridrig_core::ids::JobId;
use gridrig_core::job::Submission;

/// Positions of submissions by job id.
///
/// Ids count from 0 without gaps in every run of ours; a file that was
/// tampered with may say otherwise, and must not make a table of 2^32 lines.
pub(crate) enum JobIndex {
    /// The id is the position.
    Dense(usize),
    /// (id, position), sorted.
    Sparse(Vec<(JobId, usize)>),
}

impl JobIndex {
    pub(crate) fn new(submissions: &[Submission]) -> Self {
        let dense = |(index, submission): (usize, &Submission)| submission.spec.id.index() == index;
        if submissions.iter().enumerate().all(dense) {
            return JobIndex::Dense(submissions.len());
        }
        let ids = submissions.iter().map(|submission| submission.spec.id);
        let mut sorted: Vec<_> = ids.zip(0..).collect();
        sorted.sort_unstable();
        JobIndex::Sparse(sorted)
    }

    pub(crate) fn find(&self, job: JobId) -> Option<usize> {
        match self {
            JobIndex::Dense(len) => Some(job.index()).filter(|index| index < len),
            JobIndex::Sparse(sorted) => {
                let at = sorted.partition_point(|(id, _)| *id < job);
                let (id, index) = *sorted.get(at)?;
                (id == job).then_some(index)
            }
        }
    }

    /// Ids that more than one submission has.
    pub(crate) fn doubles(&self) -> Vec<JobId> {
        match self {
            JobIndex::Dense(_) => Vec::new(),
            JobIndex::Sparse(sorted) => {
                let same = sorted.windows(2).filter(|pair| pair[0].0 == pair[1].0);
                let mut ids: Vec<JobId> = same.map(|pair| pair[0].0).collect();
                ids.dedup();
                ids
            }
        }
    }
}
