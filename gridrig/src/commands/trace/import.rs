//! `gridrig trace import`

use super::convert::{FORMATS, warn};
use crate::cli::values::known;
use crate::commands::{answer, print, refuse_existing};
use crate::exit::Failure;
use crate::versioned::Versioned;
use anyhow::{Context as _, bail};
use clap::Args;
use gridrig_tracelab::error::ConvertError;
use gridrig_tracelab::format::Format;
use gridrig_tracelab::import::{Hidden, Map, Report, Request, SHIPPED, import as run};
use std::fmt::Write as _;
use std::path::PathBuf;

/// `gridrig trace import`
#[derive(Debug, Args)]
#[command(after_help = format!("Slurm: append the accounting, month by month, to one file
  SLURM_TIME_FORMAT=%s sacct -a -X -D -P --noconvert -S 2024-01-01 -E 2024-02-01 -o \\
    JobIDRaw,Cluster,User,Group,Account,Partition,QOS,Submit,Eligible,Start,End,ElapsedRaw,\\
TimelimitRaw,State,ReqCPUS,AllocCPUS,NNodes,ReqMem,ReqTRES,AllocTRES >> jobs.txt
and import it:
  gridrig trace import jobs.txt --map sacct --processors 4096 -o jobs.swf.gz

Other examples:
  gridrig trace import jobs.txt --map sacct --zone Europe/Paris -o jobs.swf
  gridrig trace import jobs.txt --map sacct --anonymize key.txt -o jobs.swf
  gridrig trace import --show-map sacct > mine.toml
  gridrig trace import jobs.csv.xz --map mine.toml -o jobs.gwf

Built-in maps: {}", shipped()))]
pub struct ImportArgs {
    /// The log: text, JSON or Parquet, plain or compressed (gzip, xz, bzip2, zstd), recognized
    /// by content; use /dev/stdin for a pipe
    #[arg(required_unless_present = "show_map", value_name = "LOG")]
    file: Option<PathBuf>,
    /// The map of its columns: the name of a built-in map, or a TOML file
    #[arg(
        long,
        value_name = "NAME|FILE.toml",
        required_unless_present = "show_map"
    )]
    map: Option<String>,
    /// The trace to write: its name tells the format (.swf or .gwf) and gzip (.gz)
    #[arg(
        short,
        long,
        value_name = "TRACE",
        required_unless_present = "show_map"
    )]
    out: Option<PathBuf>,
    /// Format of the trace; by default its name says it
    #[arg(long, value_parser = known(FORMATS))]
    to: Option<Format>,
    /// The time zone of dates without a time zone, such as Europe/Paris or +08:00
    /// [default: that of the map, else UTC]
    #[arg(long)]
    zone: Option<String>,
    /// The columns of a log without a header row, in order
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    columns: Vec<String>,
    /// Processors of the machine, written into the header
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    processors: Option<u32>,
    /// Replace names by hashes under the key in this file: the same key gives the same
    /// names
    #[arg(long, value_name = "KEYFILE")]
    anonymize: Option<PathBuf>,
    /// Print a built-in map, as a start for your own
    #[arg(long, value_name = "NAME", exclusive = true)]
    show_map: Option<String>,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

fn shipped() -> String {
    let names: Vec<&str> = SHIPPED.iter().map(|map| map.0).collect();
    names.join(", ")
}

/// Writes the jobs of a log as a trace.
pub(super) fn import(args: &ImportArgs) -> Result<(), Failure> {
    if let Some(name) = &args.show_map {
        let found = SHIPPED.iter().find(|map| map.0 == name);
        let expected = || format!("--show-map {name}: expected one of {}", shipped());
        return print(found.with_context(expected)?.1);
    }
    let request = request(args)?;
    refuse_existing(&request.output, args.force)?;
    let report = run(&request).map_err(|error| match error {
        ConvertError::Write { .. } => Failure::run(error),
        _ => Failure::input(error),
    })?;
    warn(&report.warnings, &report.lost, report.format);
    let document = Versioned::of("gridrig.trace-import.1", &report);
    answer(args.json, &document, |_| text(&report))
}

fn request(args: &ImportArgs) -> anyhow::Result<Request> {
    let (Some(input), Some(map), Some(output)) = (&args.file, &args.map, &args.out) else {
        bail!("expected a log, --map and --out");
    };
    let mut map = Map::load(map)?;
    map.zone = args.zone.clone().or(map.zone);
    if !args.columns.is_empty() {
        map.table.columns.clone_from(&args.columns);
    }
    Ok(Request {
        input: input.clone(),
        map,
        output: output.clone(),
        to: args.to,
        processors: args.processors,
        hidden: args.anonymize.as_deref().map(Hidden::read).transpose()?,
    })
}

fn text(report: &Report) -> String {
    let mut text = format!(
        "read {} ({}): {} rows\n",
        report.file, report.map, report.rows
    );
    for (reason, rows) in &report.skipped {
        let _ = writeln!(text, "left out: {reason}, {rows} rows");
    }
    let _ = writeln!(
        text,
        "wrote {} ({}): {} jobs",
        report.output, report.format, report.jobs
    );
    text
}
