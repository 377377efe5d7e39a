//! A real Slurm in the place of the emulated LRMS.
//!
//! Each job becomes a batch job that sleeps as long as the job lasts; when it
//! starts and ends is Slurm's to say, and is read back from `scontrol show
//! job`. Brokers and clients see the same interface either way.
//!
//! - [`Site`]: the cluster as it was found before anything began.
//! - `commands`: one call of a command, bounded in time and in what it says.
//! - `listing`: what `scontrol show job` says.
//! - `book`: which job is where, pure.
//! - `outlet`: the task that submits, looks and tells.

mod book;
mod commands;
mod listing;
mod outlet;
mod site;

pub(crate) use outlet::open;
pub use site::{Site, SiteError};

use std::path::PathBuf;
use std::time::Duration;

/// How a real Slurm is reached and used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The directory of its commands; `None` finds them by `PATH`.
    pub bin: Option<PathBuf>,
    /// Its `slurm.conf`; `None` leaves it to `SLURM_CONF` or Slurm itself.
    pub conf: Option<PathBuf>,
    /// The partition that jobs go to; `None` is the default one.
    pub partition: Option<String>,
    /// The batch script of a job: `{seconds}`, `{job}` and `{processors}`
    /// stand for its length on the wall, its number and its size.
    pub template: String,
    /// Time between two looks at the jobs, on the wall.
    pub poll: Duration,
    /// How long a Slurm that does not answer is waited for, on the wall,
    /// before its jobs are lost.
    pub patience: Duration,
}

/// A script that only sleeps.
pub const SLEEP: &str = "#!/bin/sh\nexec sleep {seconds}\n";

impl Default for Settings {
    fn default() -> Self {
        Settings {
            bin: None,
            conf: None,
            partition: None,
            template: SLEEP.to_owned(),
            poll: Duration::from_millis(500),
            patience: Duration::from_secs(60),
        }
    }
}
