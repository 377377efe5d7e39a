//! Tests of the results, one module per behaviour.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a helper that fails fails its test, and a test says what it skips"
)]

mod auditing;
mod batsim_export;
mod browser;
mod cluster_runs;
mod comparing;
mod job_table;
mod markup;
mod plots;
mod run_directory;
mod story;
mod summary;
