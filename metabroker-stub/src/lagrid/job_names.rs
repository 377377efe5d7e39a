//! What the two sides of a session call the jobs that travel between them.

use gridrig_core::ids::JobId;
use gridrig_protocol::lagrid::{Parameter, Reference};
use std::collections::BTreeMap;

/// The map of an intermediate broker: for each job that the peer has forwarded
/// here, the parameters of the peer's endpoint reference, which come back with
/// all news of the job; for each job that was forwarded to the peer, what the
/// peer calls it.
///
/// Jobs that have ended are forgotten. A peer that has them told again sends
/// them again, with their references.
#[derive(Debug, Default)]
pub(crate) struct JobNames {
    references: BTreeMap<JobId, Vec<Parameter>>,
    /// What the references take, in bytes.
    bytes: usize,
    theirs: BTreeMap<JobId, u32>,
    ours: BTreeMap<u32, JobId>,
}

/// Most jobs that are kept of either kind. Of what is older, the number of the
/// job in the run is said.
const MOST: usize = 100_000;
/// Most bytes that are kept of references: a hundred thousand of some 600 each.
const MOST_BYTES: usize = 64 << 20;

fn bytes(reference: &[Parameter]) -> usize {
    let strings = reference
        .iter()
        .flat_map(|one| [&one.name, &one.namespace, &one.value]);
    strings.map(String::len).sum()
}

impl JobNames {
    /// The peer has forwarded this job, and wants to hear of it by this
    /// reference.
    pub fn came(&mut self, job: JobId, forwarder: Option<Reference>) {
        let own = Reference::of_job(String::new(), job.0).parameters;
        self.told(job);
        // Mostly it is what would be said anyway.
        let said = forwarder.map(|reference| reference.parameters);
        let Some(parameters) = said.filter(|said| *said != own) else {
            return;
        };
        self.bytes += bytes(&parameters);
        self.references.insert(job, parameters);
        while self.references.len() > MOST || self.bytes > MOST_BYTES {
            let Some((_, oldest)) = self.references.pop_first() else {
                return;
            };
            self.bytes -= bytes(&oldest);
        }
    }

    /// What comes back with news of this job.
    pub fn reference(&self, job: JobId) -> Vec<Parameter> {
        let known = self.references.get(&job).cloned();
        known.unwrap_or_else(|| Reference::of_job(String::new(), job.0).parameters)
    }

    /// The peer has been told the last there is to say of this job.
    pub fn told(&mut self, job: JobId) {
        if let Some(reference) = self.references.remove(&job) {
            self.bytes -= bytes(&reference);
        }
    }

    /// The peer has taken this job, and calls it so.
    pub fn went(&mut self, job: JobId, theirs: u32) {
        self.forget(job);
        if theirs != job.0 {
            self.theirs.insert(job, theirs);
            self.ours.insert(theirs, job);
        }
        while self.theirs.len() > MOST
            && let Some((_, oldest)) = self.theirs.pop_first()
        {
            self.ours.remove(&oldest);
        }
    }

    /// What the peer calls this job.
    pub fn theirs(&self, job: JobId) -> u32 {
        self.theirs.get(&job).copied().unwrap_or(job.0)
    }

    /// The job that the peer calls so.
    pub fn ours(&self, theirs: u32) -> JobId {
        self.ours.get(&theirs).copied().unwrap_or(JobId(theirs))
    }

    /// The peer has no more to say of this job.
    pub fn forget(&mut self, job: JobId) {
        if let Some(theirs) = self.theirs.remove(&job) {
            self.ours.remove(&theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_kept_until_the_last_is_said() {
        let mut job_names = JobNames::default();
        let own = |job| Reference::of_job("http://h/", job);
        let foreign = Reference::of("http://h/").with("token", "x-1");
        job_names.came(JobId(7), Some(foreign.clone()));
        job_names.came(JobId(8), Some(own(8)));
        assert_eq!(job_names.reference(JobId(7)), foreign.parameters);
        assert_eq!(job_names.reference(JobId(8)), own(8).parameters);
        assert_eq!(job_names.references.len(), 1);
        job_names.told(JobId(7));
        assert_eq!(job_names.reference(JobId(7)), own(7).parameters);
    }

    #[test]
    fn a_peer_may_call_a_job_otherwise() {
        let mut job_names = JobNames::default();
        job_names.went(JobId(7), 901);
        job_names.went(JobId(8), 8);
        assert_eq!(
            (job_names.theirs(JobId(7)), job_names.theirs(JobId(8))),
            (901, 8)
        );
        assert_eq!(
            (job_names.ours(901), job_names.ours(8)),
            (JobId(7), JobId(8))
        );
        // Under the same key it may be given another number in another life.
        job_names.went(JobId(7), 5);
        assert_eq!(
            (job_names.ours(901), job_names.ours(5)),
            (JobId(901), JobId(7))
        );
        job_names.forget(JobId(7));
        assert_eq!(
            (job_names.theirs(JobId(7)), job_names.ours(5)),
            (7, JobId(5))
        );
    }

    #[test]
    fn long_references_are_bounded_in_bytes() {
        let mut job_names = JobNames::default();
        let long = Reference::of("http://h/").with("token", "x".repeat(2000));
        for job in 0..40_000 {
            job_names.came(JobId(job), Some(long.clone()));
        }
        let kept = job_names.references.len();
        assert!(kept < 40_000 && kept > 30_000, "{kept}");
        for job in 0..40_000 {
            job_names.told(JobId(job));
        }
        assert_eq!(job_names.bytes, 0);
    }

    #[test]
    fn references_are_bounded() {
        let mut job_names = JobNames::default();
        for job in 0..=u32::try_from(MOST).unwrap() {
            job_names.came(JobId(job), Some(Reference::of("http://h/")));
        }
        assert_eq!(job_names.references.len(), MOST);
    }
}
