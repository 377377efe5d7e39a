//! The reference of requests to remove a job.

use super::RefBroker;
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::message::Target;

/// Where a request to remove a job has to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::reference) enum Removal {
    /// Nobody here knows the job.
    Unknown,
    /// It waited here and is gone.
    Done,
    /// It was sent there, and whether that was the last that was done with it here.
    Follow(Target, bool),
}

impl RefBroker<'_> {
    /// The visit that a request to remove the job is for, of whoever brought it: the first of
    /// its visits from there that it has not followed yet.
    pub(super) fn meant(&self, job: JobId, by: Option<DomainId>) -> Option<usize> {
        self.visits.iter().position(|visit| {
            let is_its = visit.spec.id == job && visit.from == by;
            is_its && !(visit.followed && visit.sent_to.is_some())
        })
    }

    /// Such a request goes on to where that was sent. One that waits here is forgotten only by
    /// [`RefBroker::ended`].
    pub(in crate::reference) fn remove(&mut self, job: JobId, by: Option<DomainId>) -> Removal {
        let latest = self.latest(job);
        let Some(index) = self.meant(job, by) else {
            return Removal::Unknown;
        };
        let visit = &mut self.visits[index];
        visit.unwanted = true;
        match visit.sent_to {
            None => Removal::Done,
            Some(target) => {
                visit.followed = true;
                Removal::Follow(target, latest == Some(index))
            }
        }
    }

    /// Whoever brought the job, if it has come back to be removed.
    pub fn unwanted_by(&self, job: JobId) -> Option<Option<DomainId>> {
        let latest = &self.visits[self.latest(job)?];
        latest.unwanted.then_some(latest.from)
    }
}
