//! A real Slurm in the place of the emulated LRMS.
//!
//! Each job becomes a batch job that sleeps as long as the job lasts; when it
//! starts and ends is Slurm's to say, and is read back from `scontrol show
//! job`. Brokers and clients see the same interface either way.
//!
//! - [`Site`]: the cluster as it was found before anything began.
//! - `commands`: one call of a command, bounded in time and in what it says.
//! - `listing`: what `scontrol show job` says.
//! - `store`: which job is where, pure.
//! - `outlet`: the task that submits, looks and tells.

mod commands;
mod listing;
mod outlet;
mod site;
mod store;

pub(crate) use outlet::open;
pub use site::{Site, SiteError};

pub use gridrig_scenario::interface::{SLEEP, SlurmAccess as Settings};
