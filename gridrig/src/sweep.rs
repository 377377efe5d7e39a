//! A scenario at many points: planned once, run in slices by any number of processes,
//! merged into one table (`docs/sweeps.md`).

mod merge;
mod page;
mod plan;
mod run;
mod script;
mod study;

pub use merge::merge;
pub use page::Found;
pub use plan::{Plan, make};
pub use run::{State, run};
pub use script::{Engine, script};
