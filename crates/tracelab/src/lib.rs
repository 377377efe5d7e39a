//! The trace laboratory: reads, reduces and synthesizes workload traces.
//!
//! [`mod@format`] reads and writes traces line by line, [`load`] keeps the jobs that
//! ran, [`reduce`] reduces them as a [`spec::WorkloadSpec`] says, [`prepare`]
//! makes them the jobs of a run and merges several workloads, [`characterize`]
//! and [`validate`] measure, and [`synth`] generates the traces that ship in
//! `traces/`. Nothing is dropped in silence: every line and
//! every job left out is counted under a reason.

pub mod batsim;
pub mod characterize;
pub mod comments;
pub mod convert;
pub mod draw;
pub mod error;
pub mod format;
pub mod import;
pub mod linkage;
pub mod load;
pub mod prepare;
pub mod reduce;
pub mod sanitize;

pub mod split;
pub mod synth;
pub mod twin;
pub mod validate;

pub use error::TraceError;
pub use gridrig_scenario::workload as spec;
