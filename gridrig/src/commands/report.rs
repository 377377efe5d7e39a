//! `gridrig report`

use super::compare::{options, thresholds};
use super::{answer, refuse_existing};
use crate::cli::ReportArgs;
use crate::exit::Failure;
use crate::sweep::{Found, Plan};
use anyhow::Context as _;
use gridrig_results::report::{self, Options, Report};
use gridrig_tracelab::format::create;
use std::io::Write as _;
use std::path::Path;

/// Writes one HTML page about finished runs.
pub(super) fn report(args: &ReportArgs) -> Result<(), Failure> {
    // Before the work, which may take seconds.
    refuse_existing(&args.out, args.force)?;
    if let [dir] = &args.comparison.runs[..]
        && Plan::is_in(dir)
        && !args.json
    {
        return sweep(dir, &[], (&args.out, args.force));
    }
    let options = Options {
        compare: options(&args.comparison, args.users, true),
        replication: args.replication.clone(),
    };
    let report = report::report(&args.comparison.runs, &options).map_err(Failure::input)?;
    write(&args.out, args.force, &report.html)?;
    for run in &report.skipped {
        eprintln!("left out: {run}");
    }
    answer(args.json, &document(args, &report), |_| {
        format!(
            "{}\nwritten: {} ({} kB, {} runs)\n",
            report.sentence,
            args.out.display(),
            report.html.len().div_ceil(1000),
            report.runs
        )
    })?;
    thresholds(&report.thresholds)
}

/// Writes one HTML page about what a sweep has found.
pub(super) fn sweep(
    dir: &Path,
    figures: &[String],
    (out, force): (&Path, bool),
) -> Result<(), Failure> {
    refuse_existing(out, force)?;
    let plan = Plan::open(dir)?;
    let page = Found::read(&plan, figures)?.page(&format!("Sweep {}", plan.title()));
    write(out, force, &page.to_html())?;
    eprintln!("written: {}", out.display());
    Ok(())
}

/// Writes the whole page beside its place and renames it: nobody opens half a
/// page, and a page that could not be written leaves the one before it.
fn write(out: &Path, force: bool, html: &str) -> anyhow::Result<()> {
    refuse_existing(out, force)?;
    let written = create(out).and_then(|mut file| {
        file.write_all(html.as_bytes())?;
        file.commit()
    });
    written.with_context(|| format!("{}: cannot be written", out.display()))
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
