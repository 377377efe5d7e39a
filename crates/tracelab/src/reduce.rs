//! Reduction of a trace, step by step and accounted for, to a shorter one that
//! is played or written as SWF (LSAP 3.2).
//!
//! [`rank_windows`] chooses the window and [`share_for_load`] the sample;
//! [`write_reduced`] writes the outcome as a trace that says how it was made
//! ([`Provenance`]). `docs/reduction.md` has every step with its formula.

mod bins;
mod outcome;
mod provenance;
mod rank;
mod sample;
mod steady;
mod steps;
mod write;

pub use outcome::{Load, Reduced, STEPS, StepReport};
pub use provenance::{LoadNote, Provenance, REDUCTION_KEY, ScaleNote, WindowNote};
pub use rank::{COMPONENTS, MAX_WINDOWS, RankedWindow, Unrankable, WindowRanking, rank_windows};
pub use sample::{lowest_draws, share_for_load};
pub use steady::Steady;
pub use write::{WriteError, Written, write_reduced};

pub(crate) use rank::ranks;
pub(crate) use steps::{check, divided, too_long};
