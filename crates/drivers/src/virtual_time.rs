//! Virtual time: an event queue instead of a clock.
//!
//! One order of an instant, two layers of participants: [`run()`] lets brokers and
//! LRMSs decide on links on which every message arrives once, [`run_with_faults`]
//! lets services do so under a plan of faults.

mod agenda;
mod agents;
mod around;
mod message;
mod order;
mod run;
mod watch;

pub use agents::run_with_faults;
pub use run::run;
pub use watch::{Meeting, Met, Step};

use gridrig_core::ids::JobId;
use gridrig_core::time::SimTime;
use std::cell::RefCell;
use std::sync::atomic::AtomicBool;

/// A request to remove a job at an instant, made where the job came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancellation {
    /// When.
    pub at: SimTime,
    /// Which.
    pub job: JobId,
}

/// What a run may be told besides the grid and the jobs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Seed of every broker's random stream.
    pub seed: u64,
    /// Nothing happens after this instant; `None` runs until every job has
    /// ended.
    pub stop_at: Option<SimTime>,
    /// Jobs to remove on the way.
    pub cancellations: &'a [Cancellation],
    /// Set by whoever wants nothing to happen after the instant that is under way.
    pub broken_off: Option<&'a AtomicBool>,
    /// Where it is noted what each message meets, with faults.
    pub meetings: Option<&'a RefCell<Vec<Meeting>>>,
}

/// How a run went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The last instant that was worked on.
    pub end: SimTime,
    /// Jobs whose end has been seen where they entered.
    pub ended: usize,
    /// Whether the observer broke the run off.
    pub interrupted: bool,
}
