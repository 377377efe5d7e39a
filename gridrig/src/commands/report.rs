//! `gridrig report`

use super::compare::{options, thresholds};
use super::{print, print_json};
use crate::cli::ReportArgs;
use crate::exit::Failure;
use anyhow::{Context, anyhow};
use gridrig_results::report::{self, Options, Report};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Writes one HTML page about finished runs.
pub(super) fn report(args: &ReportArgs) -> Result<(), Failure> {
    // Before the work, which may take seconds.
    refuse_existing(&args.out, args.force)?;
    let options = Options {
        compare: options(&args.comparison, args.users, true)?,
        replication: args.replication.clone(),
    };
    let report = report::report(&args.comparison.runs, &options).map_err(Failure::input)?;
    write(&args.out, args.force, &report.html)?;
    for run in &report.skipped {
        eprintln!("left out: {run}");
    }
    if args.json {
        print_json(&document(args, &report))?;
    } else {
        print(&format!(
            "{}\nwritten: {} ({} kB, {} runs)\n",
            report.sentence,
            args.out.display(),
            report.html.len().div_ceil(1000),
            report.runs
        ))?;
    }
    thresholds(&report.thresholds)
}

fn refuse_existing(out: &Path, force: bool) -> Result<(), Failure> {
    match out.exists() && !force {
        true => Err(exists(out)),
        false => Ok(()),
    }
}

fn exists(out: &Path) -> Failure {
    Failure::input(anyhow!(
        "{}: exists already (expected a new file, or --force)",
        out.display()
    ))
}

/// Writes the whole page beside its place and renames it: nobody opens half a
/// page, and a page that could not be written leaves the one before it.
fn write(out: &Path, force: bool, html: &str) -> Result<(), Failure> {
    refuse_existing(out, force)?;
    let mut name = out.file_name().unwrap_or(out.as_os_str()).to_owned();
    name.push(".partial");
    let partial: PathBuf = out.with_file_name(name);
    let result = (|| {
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .open(&partial)?;
        file.write_all(html.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&partial, out)
    })();
    result
        .with_context(|| format!("{}: cannot be written", out.display()))
        .map_err(|error| {
            let _ = std::fs::remove_file(&partial);
            Failure::input(error)
        })
}

fn document(args: &ReportArgs, report: &Report) -> serde_json::Value {
    serde_json::json!({
        "out": args.out.display().to_string(),
        "bytes": report.html.len(),
        "runs": report.runs,
        "replication": report.replication,
        "sentence": report.sentence,
        "verdict": report.verdict,
        "skipped": report.skipped,
    })
}
