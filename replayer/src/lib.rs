//! Hands the jobs of a workload over on time, and finds them again.
//!
//! [`player`] plays a workload in real time on the [`outlet`]s of where its jobs
//! enter, in the languages of [`describe`]; [`observation`] finds them in the logs of
//! LRMSs by their tags, and [`correlate`] makes those logs part of the run.

pub mod correlate;
pub mod describe;
pub mod observation;
pub mod outlet;
pub mod player;
