//! What others have no words for.

use super::{Component, JobSpec};
use crate::ids::JobId;

impl JobSpec {
    /// The only component, for those who have no words for several.
    ///
    /// # Errors
    /// Says how many it has.
    pub fn only_component(&self) -> Result<&Component, SeveralComponents> {
        let several = || SeveralComponents {
            job: self.id,
            count: 1 + self.components.more.len(),
        };
        self.components.only().ok_or_else(several)
    }

    /// The same for those who have no words for clusters and start windows either.
    ///
    /// # Errors
    /// Says what cannot be said.
    pub fn plain_component(&self) -> Result<&Component, Unsaid> {
        let component = self.only_component()?;
        if self.named_clusters().next().is_some() {
            return Err(Unsaid::Clusters(self.id));
        }
        match self.start_window {
            Some(_) => Err(Unsaid::Window(self.id)),
            None => Ok(component),
        }
    }
}

/// What a job asks for, and others have no words for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsaid {
    /// Several components.
    #[error(transparent)]
    Components(#[from] SeveralComponents),
    /// Where it may run, or where what it reads is.
    #[error("{0} names its cluster, or where what it reads is (expected neither)")]
    Clusters(JobId),
    /// When it is to start.
    #[error("{0} has a start window (expected none)")]
    Window(JobId),
}

/// A job has several components, where only one can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{job} has {count} components (expected one)")]
pub struct SeveralComponents {
    /// The job.
    pub job: JobId,
    /// How many it has.
    pub count: usize,
}
