//! One offline HTML page about finished runs (`docs/report.md`): what a
//! comparison found, and what happened in the runs.
//!
//! The page is made from a [`Comparison`](crate::compare::Comparison) and the
//! run directories behind it. Runs that cannot be compared (a single one, or
//! runs of different traces) are shown side by side, without a verdict.

mod cdf;
mod choose;
mod data;
mod diff;
mod error;
mod facts;
mod forest;
mod gantt;
mod groups;
mod judgement;
mod lending;
mod load;
mod material;
mod matrices;
mod number;
mod over_time;
mod side_by_side;

pub use error::ReportError;
pub use number::key_words;

use crate::compare::{self, ThresholdDoc, Verdict};
use crate::plot::Page;
use choose::Chosen;
use data::Replications;
use error::Result;
use material::Material;
use std::path::PathBuf;
use std::thread;

/// What to put on the page.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How the runs are compared. Runs that are not comparable are shown all
    /// the same, without a verdict.
    pub compare: compare::Options,
    /// Key of the replication that is shown up close; `None` is the one that
    /// disagrees most with the verdict, else the first.
    pub replication: Option<String>,
}

/// A page and what it says.
#[derive(Clone, Debug)]
pub struct Report {
    /// The page: UTF-8, without script, nothing loaded from anywhere.
    pub html: String,
    /// The verdict; `None` if there was nothing to compare.
    pub verdict: Option<Verdict>,
    /// The sentence that the page opens with: that of the verdict, or what is
    /// shown without one.
    pub sentence: String,
    /// Runs on the page.
    pub runs: u64,
    /// Key of the replication that is shown up close.
    pub replication: String,
    /// Bounds and how the runs kept them; empty without a comparison.
    pub thresholds: Vec<ThresholdDoc>,
    /// Damaged runs that were left out, and why.
    pub skipped: Vec<String>,
}

/// Makes the page of all runs at or below these directories.
///
/// # Errors
/// All are mistakes of input: no runs, a damaged, foreign or half-written one,
/// an unknown baseline or replication.
pub fn report(paths: &[PathBuf], options: &Options) -> Result<Report> {
    let (material, chosen, page) = made(paths, options, true)?;
    let comparison = material.comparison.as_ref();
    Ok(Report {
        html: page.to_html(),
        verdict: comparison.map(|comparison| comparison.verdict.clone()),
        sentence: material.sentence(),
        runs: material.columns.iter().map(|c| c.runs.len() as u64).sum(),
        replication: chosen.key,
        thresholds: comparison.map_or(Vec::new(), |c| c.thresholds.clone()),
        skipped: material.skipped,
    })
}

/// The inside of a page, for a page around it that moves by itself.
#[derive(Clone, Debug)]
pub struct Fragment {
    /// Title of the page.
    pub title: String,
    /// Everything between title and footer, without Gantt charts; it needs the
    /// classes of [`RULES`](crate::plot::RULES).
    pub html: String,
    /// What it was made from; `None` if there was nothing to compare.
    pub comparison: Option<compare::Comparison>,
    /// The sentence that it opens with.
    pub sentence: String,
}

/// Makes the inside of the page of all runs at or below these directories.
///
/// # Errors
/// As [`report`].
pub fn fragment(paths: &[PathBuf], options: &Options) -> Result<Fragment> {
    let (material, _, page) = made(paths, options, false)?;
    Ok(Fragment {
        title: material.title(),
        html: page.to_fragment(),
        sentence: material.sentence(),
        comparison: material.comparison,
    })
}

/// What is on the page, which replication of it is shown up close, and its jobs.
type Shown<'a> = (&'a Material, &'a Chosen, &'a Replications);

/// The page and what it was made of; Gantt charts are most of a large one.
fn made(
    paths: &[PathBuf],
    options: &Options,
    with_gantt: bool,
) -> Result<(Material, Chosen, Page)> {
    let mut material = Material::gather(paths, &options.compare)?;
    let chosen = choose::choose(&material, options.replication.as_deref())?;
    let replications = Replications::read(&mut material, chosen.index)?;
    let shown = (&material, &chosen, &replications);
    // Nearly all of the work of a large page, on two threads.
    let (over_time, gantt) = thread::scope(|scope| {
        let over_time = scope.spawn(|| over_time::draw(shown));
        let gantt = with_gantt.then(|| gantt::draw(shown));
        match over_time.join() {
            Ok(over_time) => (over_time, gantt),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    let mut page = Page::new(material.title());
    judgement::open(&mut page, &material);
    match &material.comparison {
        Some(comparison) => {
            judgement::policies(&mut page, comparison);
            judgement::thresholds(&mut page, comparison);
            forest::draw(&mut page, comparison);
        }
        None => side_by_side::draw(&mut page, &material),
    }
    cdf::draw(&mut page, &material, &replications);
    load::draw(&mut page, &material, &chosen)?;
    matrices::draw(&mut page, &material, &replications);
    lending::draw(&mut page, &material, &chosen);
    if let Some(gantt) = gantt {
        gantt?.show(&mut page);
    }
    over_time?.show(&mut page, &chosen);
    groups::draw(&mut page, &material);
    diff::draw(&mut page, &material, &chosen)?;
    facts::draw(&mut page, &material, options)?;
    Ok((material, chosen, page))
}
