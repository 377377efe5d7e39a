//! Virtual time: an event queue instead of a clock.

mod agenda;
mod alarms;
mod around;
mod run;

pub use run::{Cancellation, Options, Outcome, run};
