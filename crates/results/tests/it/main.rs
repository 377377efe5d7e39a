//! Tests of the results, one module per behaviour.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod auditing;
mod batsim_export;
mod cluster_runs;
mod compare_guard;
mod compare_study;
mod comparing;
mod job_table;
mod run_directory;
mod story;
mod study;
mod summary;
