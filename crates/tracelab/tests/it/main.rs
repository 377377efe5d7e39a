//! What the laboratory does with traces, seen from outside.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests fail by panicking, and skips and figures are told on stdout"
)]

mod archive;
mod characterizing;
mod clustering;
mod converting;
mod equivalence;
mod examples;
mod gwf_files;
mod importing;
mod kinds_of_logs;
mod koala;
mod look_alike;
mod lublin;
mod need;
mod oddities;
mod paper_tables;
mod properties;
mod reduced_replay;
mod reduced_trace;
mod reduction;
mod ref_first_fit;
mod refusals;
mod sanitizing;
mod shipped;
mod survival;
mod synthesis;
mod twin;
mod validation;
mod windows;

use gridrig_core::ids::DomainId;
use gridrig_core::job::Entry;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_tracelab::TraceError;
use gridrig_tracelab::format::{Format, TraceReader};
use gridrig_tracelab::load::{Loaded, load_from};
use gridrig_tracelab::spec::{Keep, SizeFrom, TraceWindow, WorkloadSpec};
use std::error::Error;
use std::path::PathBuf;

/// Loads a text as a trace named `t.swf`.
fn load_text(text: impl AsRef<[u8]>) -> Result<Loaded, TraceError> {
    load_from(
        &mut TraceReader::new(Format::Swf, text.as_ref(), "t.swf"),
        SizeFrom::Allocated,
    )
}

/// A text that is a trace, under a name.
fn read(text: impl AsRef<[u8]>, name: &str) -> Loaded {
    load_from(
        &mut TraceReader::new(Format::Swf, text.as_ref(), name),
        SizeFrom::Allocated,
    )
    .unwrap()
}

/// Loads a text of either format, as a file named `t` would be.
fn load_any_text(text: impl AsRef<[u8]>) -> Result<Loaded, TraceError> {
    load_from(
        &mut TraceReader::detect(text.as_ref(), "t")?,
        SizeFrom::Allocated,
    )
}

/// A GWF line from the columns that matter: number, submit, wait, run,
/// processors, user, queue, site; all others are -1 but the structure.
fn gwf_line(
    job: u32,
    submit: &str,
    wait: &str,
    run: &str,
    processors: i64,
    [user, queue, site]: [&str; 3],
) -> String {
    let rest = ["-1"; 9].join("\t");
    format!(
        "{job}\t{submit}\t{wait}\t{run}\t{processors}\t-1\t-1\t{processors}\t3600\t-1\t1\t{user}\t\
         G1\tX1\t{queue}\t-1\t{site}\t{site}\tUNITARY\t-1\t{rest}\n"
    )
}

/// Submit times in seconds.
fn submits(trace: &Loaded) -> Vec<f64> {
    trace.jobs.iter().map(|j| j.submit.as_secs_f64()).collect()
}

fn secs(secs: u64) -> SimDuration {
    SimDuration::from_secs(secs)
}

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

/// A window from its start and its length in seconds.
fn window(start: u64, length: u64) -> TraceWindow {
    let [start, length] = [start, length].map(secs);
    TraceWindow { start, length }
}

fn systematic(m: u64, n: u64, phase: u64) -> Keep {
    Keep::Systematic { m, n, phase }
}

/// A spec that changes nothing; the trace is given separately.
fn whole() -> WorkloadSpec {
    WorkloadSpec::whole(PathBuf::from("t.swf"), Entry::Domain(DomainId(0)))
}

/// A job line from the fields that matter: number, submit, run, allocated,
/// requested processors, status.
fn line(job: u32, submit: &str, run: &str, allocated: i64, requested: i64, status: i64) -> String {
    format!(
        "{job} {submit} -1 {run} {allocated} -1 -1 {requested} 600 -1 {status} 3 1 1 1 1 -1 -1\n"
    )
}

/// The error with its causes, as a program would print it.
fn chain(error: &TraceError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
