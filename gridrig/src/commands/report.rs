//! `gridrig report`

use super::compare::{options, thresholds};
use super::{answer, refuse_existing, say_each};
use crate::cli::ReportArgs;
use crate::exit::Failure;
use crate::sweep::{Found, Plan};
use crate::versioned::Versioned;
use anyhow::Context as _;
use gridrig_results::report::{self, Options};
use gridrig_results::rundir::names;
use gridrig_tracelab::format::create;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Writes one HTML page about finished runs.
pub(super) fn report(args: &ReportArgs) -> Result<(), Failure> {
    let out = &page(args);
    // Before the work, which may take seconds.
    refuse_existing(out, args.force)?;
    if let [dir] = &args.comparison.runs[..]
        && Plan::is_in(dir)
        && !args.json
    {
        return sweep(dir, &[], (out, args.force));
    }
    let options = Options {
        compare: options(&args.comparison, args.users, true),
        replication: args.replication.clone(),
    };
    let report = report::report(&args.comparison.runs, &options).map_err(Failure::input)?;
    write(out, args.force, &report.html)?;
    say_each("left out", &report.skipped);
    let document = serde_json::json!({
        "out": out.display().to_string(),
        "bytes": report.html.len(),
        "runs": report.runs,
        "replication": report.replication,
        "sentence": report.sentence,
        "verdict": report.verdict,
        "skipped": report.skipped,
    });
    let document = Versioned::of("gridrig.report.1", document);
    answer(args.json, &document, |_| {
        format!(
            "{}\nwritten: {} ({} kB, {} runs)\n",
            report.sentence,
            out.display(),
            report.html.len().div_ceil(1000),
            report.runs
        )
    })?;
    thresholds(&report.thresholds)
}

/// Where the page goes: beside the runs that it is about, and into no run directory.
fn page(args: &ReportArgs) -> PathBuf {
    let first = args.comparison.runs.first();
    let first = first.map_or(Path::new(""), PathBuf::as_path);
    let folder = match first.join(names::MANIFEST).exists() {
        true => first.parent().unwrap_or(first),
        false => first,
    };
    let beside = || folder.join("report.html");
    args.out.clone().unwrap_or_else(beside)
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
