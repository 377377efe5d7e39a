//! `gridrig trace export`

use crate::cli::values::known;
use crate::commands::{answer, refuse_existing, say_each};
use crate::exit::Failure;
use crate::versioned::Versioned;
use anyhow::Context as _;
use clap::Args;
use gridrig_tracelab::batsim::{Version, write};
use gridrig_tracelab::format::create;
use gridrig_tracelab::load::load;
use gridrig_tracelab::spec::SizeFrom;
use serde_json::json;
use std::path::PathBuf;

/// `gridrig trace export`
#[derive(Debug, Args)]
#[command(after_help = "Example:
  gridrig trace export traces/ctc-like.swf.gz --format batsim -o ctc-like.json

A workload of Batsim becomes a trace by gridrig trace import --map batsim.")]
pub struct ExportArgs {
    /// The trace, SWF or GWF, plain or compressed
    file: PathBuf,
    /// What to write
    #[arg(long, value_parser = known(VERSIONS))]
    format: Version,
    /// The file to write, gzip if its name ends in .gz
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Processors of the machine [default: those of the trace's header, else of its
    /// largest job]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    processors: Option<u32>,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Other formats.
#[rustfmt::skip]
const VERSIONS: &[(Version, &str, &str)] = &[
    (Version::Five, "batsim", "Workload for Batsim 5 (profile type DelayProfile)"),
    (Version::Four, "batsim4", "Workload for Batsim 4 and earlier (profile type delay)"),
];

/// Writes a trace in a format of other tools.
pub(super) fn export(args: &ExportArgs) -> Result<(), Failure> {
    refuse_existing(&args.out, args.force)?;
    let loaded = load(&args.file, SizeFrom::Allocated).map_err(Failure::input)?;
    let largest = loaded.jobs.iter().map(|job| job.processors).max();
    let processors = args.processors.or(loaded.known_processors()).or(largest);
    let refused = || format!("{}: cannot be written", args.out.display());
    let written = create(&args.out).and_then(|mut out| {
        let written = write(&loaded, processors.unwrap_or(1), args.format, &mut out)?;
        out.commit().map(|()| written)
    });
    let written = written.with_context(refused).map_err(Failure::Run)?;
    say_each("warning", &loaded.warnings);
    let mut skipped = loaded.skipped.clone();
    if written.without_run_time > 0 {
        skipped.insert("run-time-0", written.without_run_time);
    }
    if written.numbered {
        eprintln!("warning: job numbers occur twice: jobs are numbered from 1");
    }
    let out = args.out.display().to_string();
    let report = json!({ "out": out, "jobs": written.jobs, "skipped": skipped });
    let report = Versioned::of("gridrig.trace-export.1", &report);
    answer(args.json, &report, |_| {
        let left_out = skipped
            .iter()
            .map(|(why, jobs)| format!("left out: {why}, {jobs} jobs\n"));
        let left_out: String = left_out.collect();
        format!("{left_out}wrote {out}: {} jobs\n", written.jobs)
    })
}
