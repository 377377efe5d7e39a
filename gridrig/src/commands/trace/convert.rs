//! `gridrig trace convert`

use crate::cli::values::known;
use crate::commands::{answer, say_each};
use crate::exit::Failure;
use crate::versioned::Versioned;
use anyhow::{Context as _, bail, ensure};
use clap::Args;
use gridrig_core::time::SimDuration;
use gridrig_tracelab::convert::{Input, Report, Request, convert as run};
use gridrig_tracelab::error::ConvertError;
use gridrig_tracelab::format::Format;
use gridrig_tracelab::sanitize::Rules;
use gridrig_tracelab::split::{Split, ways};
use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::path::PathBuf;

/// `gridrig trace convert`
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:
  gridrig trace convert log.swf.gz log.gwf
  gridrig trace convert log.swf clean.swf --sanitize never-ran,failed,flurry=135@47421-50307
  gridrig trace convert log.swf 'parts/{{}}.swf' --split by=partition
  gridrig trace convert a.swf b.swf both.swf.gz --merge --offset 0s,3d

Rules of --sanitize, in the order in which they apply:
  no-submit-time, never-ran, no-processors, negative-times, failed, cancelled,
  run-above-requested, wider-than=N, flurry=USER@FROM-TO (job numbers) and
  remove=FILTER, such as remove=\"user=3 and proc=1 and app=1\"

Ways of --split: {}", ways()))]
pub struct ConvertArgs {
    /// Trace files, SWF or GWF, plain or compressed, and last the file to write:
    /// its name tells the format (.swf or .gwf) and gzip (.gz); if the name of a
    /// split has no known ending, the format of the inputs is kept
    #[arg(required = true, num_args = 2.., value_names = ["IN", "OUT"])]
    files: Vec<PathBuf>,
    /// Format of the inputs; by default it is recognized by their content
    #[arg(long, value_parser = known(FORMATS))]
    from: Option<Format>,
    /// Format of the output; by default its name says it
    #[arg(long, value_parser = known(FORMATS))]
    to: Option<Format>,
    /// Processors of the machine, written into the header in place of its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    processors: Option<u32>,
    /// Leave jobs out by these rules, and print how many
    #[arg(long, value_name = "RULE,...")]
    sanitize: Vec<String>,
    /// Merge several inputs into one stream ordered by submit time; the
    /// partition says where a job came from
    #[arg(long)]
    merge: bool,
    /// Added to the submit times: one duration for each input, or `calendar` to
    /// align merged traces by their calendar dates
    #[arg(long, value_name = "DURATION,...")]
    offset: Option<String>,
    /// Write several streams; {} in OUT stands for the name of the stream
    #[arg(long, value_name = "WAY")]
    split: Option<String>,
    /// Seed of --split random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The formats.
pub(super) const FORMATS: &[(Format, &str, &str)] = &[
    (Format::Swf, "swf", "Standard Workload Format"),
    (Format::Gwf, "gwf", "Grid Workload Format"),
];

/// Writes a trace in another format, sanitized, merged or split.
pub(super) fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let request = request(args)?;
    let report = run(&request).map_err(|error| match error {
        ConvertError::Write { .. } | ConvertError::Changed { .. } => Failure::run(error),
        _ => Failure::input(error),
    })?;
    warn(&report.warnings, &report.lost, report.format);
    let document = Versioned::of("gridrig.trace-convert.1", &report);
    answer(args.json, &document, |_| text(&report))
}

/// Says what is to be known of a trace, and what did not come through to this format.
pub(super) fn warn<T: Display>(warnings: &[String], lost: &BTreeMap<T, u64>, format: Format) {
    say_each("warning", warnings);
    for (what, jobs) in lost {
        eprintln!("warning: lost on the way to {format}: {what}, of {jobs} jobs");
    }
}

fn request(args: &ConvertArgs) -> anyhow::Result<Request> {
    let files = args.files.split_last();
    let (output, inputs) = files.context("expected an input and an output")?;
    ensure!(
        inputs.len() < 2 || args.merge,
        "{} inputs: expected one, or --merge (the last file, {}, is the output)",
        inputs.len(),
        output.display()
    );
    let (calendar, offsets) = offsets(args.offset.as_deref(), inputs.len())?;
    let rules = Rules::parse(&args.sanitize.join(","))?;
    let split = args.split.as_deref().map(Split::parse).transpose()?;
    let inputs = inputs.iter().zip(offsets).map(|(path, offset)| Input {
        path: path.clone(),
        from: args.from,
        offset,
    });
    Ok(Request {
        inputs: inputs.collect(),
        output: output.clone(),
        to: args.to,
        processors: args.processors,
        rules,
        split,
        calendar,
        seed: args.seed,
        force: args.force,
    })
}

/// Whether the calendar counts, and an offset per input.
fn offsets(text: Option<&str>, inputs: usize) -> anyhow::Result<(bool, Vec<SimDuration>)> {
    let text = match text {
        None => return Ok((false, vec![SimDuration::ZERO; inputs])),
        Some("calendar") => return Ok((true, vec![SimDuration::ZERO; inputs])),
        Some(text) => text,
    };
    let parsed: Result<Vec<_>, _> = text.split(',').map(SimDuration::parse).collect();
    match parsed {
        Ok(offsets) if offsets.len() == inputs => Ok((false, offsets)),
        _ => bail!(
            "--offset = \"{text}\": expected {inputs} duration(s) with units such as 0s,3d, or \
             calendar"
        ),
    }
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    for input in &report.inputs {
        let origin = input.origin.as_ref();
        let origin = origin.map_or(String::new(), |o| format!(", origin {o}"));
        let _ = writeln!(
            text,
            "read {} ({}): {} jobs{origin}",
            input.file, input.format, input.jobs
        );
    }
    for rule in &report.sanitized {
        let _ = writeln!(
            text,
            "left out by {}: {} jobs ({})",
            rule.rule, rule.removed, rule.reason
        );
    }
    for output in &report.outputs {
        let stream = output.stream.as_ref();
        let stream = stream.map_or(String::new(), |s| format!(", stream {s}"));
        let _ = writeln!(
            text,
            "wrote {} ({}): {} jobs{stream}",
            output.file, report.format, output.jobs
        );
    }
    text
}
