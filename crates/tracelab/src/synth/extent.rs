//! What all models begin with: the schema, and how much is made.

use super::error::{Result, SynthError, within};
use serde::{Deserialize, Serialize};

/// The schema of a model file; `docs/synthesize.md` describes it.
pub const SCHEMA: &str = "gridrig-workload-model/1";

/// How much is made: so many jobs, or so many days, or what ends first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extent {
    /// Number of jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u64>,
    /// Submissions come before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<f64>,
}

impl Extent {
    /// So many jobs.
    pub fn jobs(jobs: u64) -> Self {
        Extent {
            jobs: Some(jobs),
            days: None,
        }
    }

    /// So many days.
    pub fn days(days: f64) -> Self {
        Extent {
            jobs: None,
            days: Some(days),
        }
    }

    /// The length in seconds, where it is given.
    pub fn seconds(&self) -> Option<f64> {
        self.days.map(|days| days * 86_400.0)
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.jobs.is_none() && self.days.is_none() {
            return Err(SynthError::parameter("extent", "{}", "jobs or days"));
        }
        if let Some(jobs) = self.jobs {
            within("extent.jobs", jobs as f64, 1.0..=4e9)?;
        }
        self.days
            .map_or(Ok(()), |days| within("extent.days", days, 1e-3..=100_000.0))
    }
}

/// Counts down an extent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    taken: u64,
    jobs: u64,
    until: f64,
}

impl Budget {
    pub(super) fn new(extent: &Extent) -> Self {
        Budget {
            taken: 0,
            jobs: extent.jobs.unwrap_or(u64::MAX),
            until: extent.seconds().unwrap_or(f64::INFINITY),
        }
    }

    /// The number of a job submitted at this second, from 1; `None` once the
    /// extent is used up.
    pub(super) fn take(&mut self, submit: u64) -> Option<u64> {
        if self.taken >= self.jobs || submit as f64 >= self.until {
            return None;
        }
        self.taken += 1;
        Some(self.taken)
    }
}
