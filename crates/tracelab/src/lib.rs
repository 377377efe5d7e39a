//! The trace laboratory: reads, reduces and synthesizes workload traces.
//!
//! [`swf`] and [`gwf`] read and write traces line by line, [`open`] tells the
//! formats apart, [`load`] keeps the jobs that ran,
//! [`prepare`] reduces them as a [`spec::WorkloadSpec`] says and merges several
//! workloads, [`compare`] measures what came out, and [`synth`] generates the
//! traces that ship in `traces/`. Nothing is dropped in silence: every line and
//! every job left out is counted under a reason.

pub mod characterize;
pub mod compare;
pub mod convert;
pub mod draw;
pub mod error;
pub mod gwf;
pub mod linkage;
pub mod load;
pub mod open;
pub mod prepare;
pub mod reduce;
pub mod sanitize;
pub mod spec;
pub mod split;
pub mod swf;
pub mod synth;
pub mod validate;

pub use error::TraceError;
