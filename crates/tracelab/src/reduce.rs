//! Reduction of a trace to a shorter one, written as SWF (LSAP 3.2).
//!
//! The steps themselves are in [`crate::prepare`]: a run reduces its trace in
//! the same way. Here is what chooses the window ([`rank_windows`]) and the
//! sample ([`share_for_load`]), and what writes the outcome as a trace that
//! says how it was made ([`write_reduced`], [`Provenance`]).
//! `docs/reduction.md` has every rule.

mod bins;
mod provenance;
mod rank;
mod sample;
mod steady;
mod write;

pub use provenance::{LoadNote, Provenance, REDUCTION_KEY, ScaleNote, WindowNote};
pub use rank::{COMPONENTS, MAX_WINDOWS, RankedWindow, Unrankable, WindowRanking, rank_windows};
pub use sample::share_for_load;
pub(crate) use sample::{bound as sample_bound, draws as sample_draws};
pub use steady::Steady;
pub use write::{WriteError, Written, job_lines, write_reduced};

use crate::load::TraceJob;

/// Run time x processors in processor-nanoseconds.
pub(crate) fn demand(job: &TraceJob) -> u128 {
    u128::from(job.processors) * u128::from(job.run_time.as_nanos())
}
