//! What the replayer does with traces, seen from outside.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests fail by panicking, and skips and figures are told on stdout"
)]

mod archive;
mod examples;
mod need;
mod properties;
mod reduction;
mod ref_first_fit;
mod refusals;
mod shipped;
mod survival;

use gridrig_core::ids::DomainId;
use gridrig_core::job::Entry;
use gridrig_replayer::TraceError;
use gridrig_replayer::load::{Loaded, load_from};
use gridrig_replayer::spec::{SizeFrom, WorkloadSpec};
use gridrig_replayer::swf::SwfReader;
use std::error::Error;
use std::path::PathBuf;

/// Loads a text as a trace named `t.swf`.
fn load_text(text: impl AsRef<[u8]>) -> Result<Loaded, TraceError> {
    load_from(
        &mut SwfReader::new(text.as_ref(), "t.swf"),
        SizeFrom::Allocated,
    )
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
