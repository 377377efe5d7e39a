//! Tests of the results, one module per behaviour.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a helper that fails fails its test, and a test tells what it skips"
)]

mod any_numbers;
mod auditing;
mod batsim_export;
mod browser;
mod catalogue;
mod cluster_runs;
mod compare_guard;
mod compare_study;
mod compare_verdict;
mod comparing;
mod coverage;
mod events_writer;
mod failing_nodes;
mod foreign_files;
mod job_table;
mod labels;
mod lost_touch;
mod markup;
mod need;
mod plots;
mod regret;
mod report;
mod run_directory;
mod scipy;
mod story;
mod study;
mod summary;
