//! What comes out of a run: the event log, its audit, the job table, the
//! statistics, and the run directory that holds them.
//!
//! Everything is computed from the [`log::EventLog`], whichever clock made
//! the run, so that a simulation and an emulation can be compared number by
//! number.

pub mod audit;
pub mod batsim;
pub mod catalogue;
pub mod compare;
mod incomplete;
mod index;
pub mod jobs;
pub mod log;
pub mod names;
pub mod plot;
mod processors;
pub mod regret;
pub mod report;
pub mod rundir;
pub mod stats;
pub mod summary;
pub mod text;
mod words;

pub use audit::{AuditFacts, AuditReport, Violation, audit};
pub use gridrig_scenario::{measure, threshold};
pub use incomplete::Incomplete;
pub use jobs::JobTable;
pub use log::EventLog;
pub use measure::{Measure, Stop};
pub use summary::RunSummary;
pub use words::short;
