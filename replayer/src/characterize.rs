//! What a trace is like: tables, profiles, demand (LSAP 4.2, DMM 2.2 and 5.1).

pub mod arrivals;
pub mod batches;
mod bins;
pub mod calendar;
pub mod demand;
mod row;

pub use row::{JobRow, rows};
