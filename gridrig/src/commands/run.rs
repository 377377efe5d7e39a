//! `gridrig run`

use super::dashboard::RunDashboard;
use super::{load_scenario, print, print_json, say_each};
use crate::cli::RunArgs;
use crate::exit::Failure;
use crate::realtime::workdir;
use crate::runner::{self, PolicyRun, ReplicationRuns, RunOptions};
use crate::scenario::Scenario;
use crate::versioned::{Runs, Versioned};
use crate::{memory, table};
use anyhow::anyhow;
use gridrig_results::audit::Violation;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tempfile::TempDir;

/// Runs a scenario, prints the comparison and says what failed.
#[allow(
    clippy::disallowed_methods,
    reason = "how long the command took is progress output"
)]
pub(super) fn run(args: &RunArgs) -> Result<(), Failure> {
    let begin = Instant::now();
    let (scenario, options) = what(args)?;
    let page = RunDashboard::open(args, &scenario.name)?;
    let out = (!args.no_out).then(|| args.out.clone());
    let (place, _scratch) = place(out, args.scenario.json)?;
    let (out, scratch) = match args.resume {
        true => (options.out.clone(), false),
        false => (place.out, place.scratch),
    };
    let options = RunOptions {
        out,
        scratch,
        monitoring: super::monitoring(&args.monitoring)?,
        watch: page.as_ref().map(|page| Arc::clone(&page.watch) as _),
        ..options
    };
    let ended = execute(args, &scenario, &options, begin);
    if let Some(page) = page {
        page.end(&ended);
        page.close()?;
    }
    ended
}

/// The scenario, or that of runs that are gone on with, and how it is run.
fn what(args: &RunArgs) -> Result<(Scenario, RunOptions), Failure> {
    let options = RunOptions {
        cell: args.cell,
        force: args.force,
        csv: args.csv,
        kill: args.kill.clone(),
        no_journal: args.no_journal,
        processes: args.processes,
        check_determinism: args.check_determinism,
        jobs: match args.jobs {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            jobs => jobs,
        },
        ..RunOptions::default()
    };
    match args.resume {
        true => Ok(runner::resume(&args.scenario.scenario, options)?),
        false => Ok((load_scenario(&args.scenario)?, options)),
    }
}

/// Options that have runs written below `out`. Where they are to leave nothing,
/// the table at the end is still made from files: they lie in the directory
/// that comes second, and are gone with it.
pub(super) fn place(
    out: Option<PathBuf>,
    json: bool,
) -> Result<(RunOptions, Option<TempDir>), Failure> {
    let scratch = (out.is_none() && !json).then(workdir).transpose();
    let scratch = scratch.map_err(Failure::run)?;
    let options = RunOptions {
        scratch: scratch.is_some(),
        out: out.or_else(|| Some(scratch.as_ref()?.path().to_owned())),
        ..RunOptions::default()
    };
    Ok((options, scratch))
}

fn execute(
    args: &RunArgs,
    scenario: &Scenario,
    options: &RunOptions,
    begin: Instant,
) -> Result<(), Failure> {
    let replications = runner::run(scenario, options)?;
    tracing::info!(
        wall_s = begin.elapsed().as_secs_f64(),
        peak_memory_mib = memory::peak_mib().unwrap_or(0),
        "done"
    );
    let ended = finish(scenario, &replications, args.scenario.json);
    if !args.scenario.json && !args.no_out {
        say_where(&replications);
    }
    ended
}

/// Prints the results and answers how the command ends.
pub(super) fn finish(
    scenario: &Scenario,
    replications: &[ReplicationRuns],
    json: bool,
) -> Result<(), Failure> {
    match json {
        true => {
            let runs = runs(replications).map(|run| &run.summary).collect();
            print_json(&Versioned::from(Runs { runs }))?;
        }
        false => print(&table::report(scenario, replications).map_err(Failure::run)?)?,
    }
    verdict(scenario, replications)
}

fn runs(replications: &[ReplicationRuns]) -> impl Iterator<Item = &PolicyRun> {
    replications
        .iter()
        .flat_map(|replication| &replication.runs)
}

/// Says on stderr where the runs were written.
pub(super) fn say_where(replications: &[ReplicationRuns]) {
    let mut dirs = runs(replications).filter_map(|run| run.dir.as_ref());
    if let Some(first) = dirs.next() {
        match dirs.count() {
            0 => eprintln!("written: {}", first.display()),
            more => {
                eprintln!("written: {} and {more} more", first.display());
                // OUT/SCENARIO-SEED/POLICY/rNNN
                if let Some(study) = first.ancestors().nth(2) {
                    let study = study.display();
                    eprintln!("next: gridrig compare {study}");
                    if replications.len() > 1 {
                        eprintln!(
                            "that has all tables; each run's manifest.json has its own figures"
                        );
                    }
                }
            }
        }
    }
}

/// What went wrong, the worst first.
pub(super) fn verdict(
    scenario: &Scenario,
    replications: &[ReplicationRuns],
) -> Result<(), Failure> {
    for run in runs(replications) {
        say_each(&format!("audit: {}", run.name()), &run.violations);
    }
    // What is missing since then may be all that the audit finds.
    if let Some(why) = runs(replications).find_map(|run| run.broke.clone()) {
        return Err(Failure::run(anyhow!(why)));
    }
    if let Some(run) = runs(replications).find(|run| !run.violations.is_empty()) {
        return Err(violated(run.name(), &run.violations));
    }
    if runs(replications).any(|run| run.interrupted) {
        return Err(Failure::Interrupted);
    }
    for run in runs(replications) {
        say_each(&format!("failed: {}", run.name()), &run.failures);
    }
    let mut failed = runs(replications).filter_map(|run| Some((run, run.failures.first()?)));
    match failed.next() {
        Some((run, first)) => Err(Failure::run(anyhow!("{}: {first}", run.name()))),
        None => thresholds(scenario, replications),
    }
}

/// That an audit has found these violations of a run.
pub(super) fn violated(run: impl Display, violations: &[Violation]) -> Failure {
    let (count, first) = (violations.len(), violations.first());
    let first = first.map_or("", |it| it.message.as_str());
    Failure::run(anyhow!(
        "{run}: the audit found {count} violations, the first: {first}"
    ))
}

fn thresholds(scenario: &Scenario, replications: &[ReplicationRuns]) -> Result<(), Failure> {
    let mut missed = false;
    // Bounds show what is possible; they are not what was to be good enough.
    let judged = runs(replications).filter(|run| !(scenario.bounds && run.is_bound()));
    for run in judged {
        let summary = serde_json::to_value(&run.summary).map_err(Failure::run)?;
        for threshold in &scenario.require {
            let figure = threshold.figure_in(&summary);
            let reached = threshold.holds(figure);
            missed |= !reached;
            let is = figure.map_or("undefined".to_owned(), |figure| figure.to_string());
            let mark = if reached { "reached" } else { "missed" };
            eprintln!("require {threshold}: {mark} by {} ({is})", run.name());
        }
    }
    match missed {
        true => Err(Failure::Threshold),
        false => Ok(()),
    }
}
