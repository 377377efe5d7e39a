//! A slice of a sweep: what of it is missing is run.

use super::plan::{Plan, Point};
use crate::exit::Failure;
use crate::interrupt;
use crate::runner::{self, CellNumber, ReplicationRuns, RunOptions};
use crate::words::many;
use anyhow::{Context as _, anyhow};
use gridrig_results::plot;
use gridrig_results::rundir::{self, Manifest, names::MANIFEST};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Says why a point has failed.
const FAILED: &str = "failed.txt";
/// Held by the process that runs a point.
const LOCK: &str = "lock";

/// How far a point has come.
pub struct State {
    /// Runs that are whole and valid, in order.
    pub done: Vec<Manifest>,
    /// Runs that are not, or why there is none.
    pub failed: Vec<String>,
}

impl State {
    /// Looks at what there is of a point.
    pub fn of(plan: &Plan, point: &Point) -> Self {
        let mut state = State {
            done: Vec::new(),
            failed: Vec::new(),
        };
        let dir = plan.runs_of(point);
        // SCENARIO-SEED/POLICY/rNNN
        let runs = (0..3).fold(vec![dir.clone()], |dirs, _| below(&dirs));
        for run in runs.iter().filter(|run| run.join(MANIFEST).exists()) {
            match rundir::read_manifest(run) {
                Ok(manifest) if manifest.summary["valid"] == true => state.done.push(manifest),
                Ok(manifest) => {
                    let audit = &manifest.summary["audit"];
                    let why = format!("{}: not valid, audit {audit}", run.display());
                    state.failed.push(why);
                }
                Err(error) => state.failed.push(error.to_string()),
            }
        }
        if let Ok(why) = fs::read_to_string(dir.join(FAILED)) {
            state
                .failed
                .push(format!("{}: {}", dir.display(), why.trim()));
        }
        state
    }

    /// Whether all runs of the point are done.
    pub fn is_whole(&self, point: &Point) -> bool {
        self.done.len() as u64 == point.runs
    }
}

/// The folders in these, in order.
fn below(dirs: &[PathBuf]) -> Vec<PathBuf> {
    let entries = dirs.iter().filter_map(|dir| fs::read_dir(dir).ok());
    let paths = entries.flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    paths.sort();
    paths
}

/// What became of a point.
enum Outcome {
    Done,
    /// Another process runs it.
    Elsewhere,
    Failed(String),
    Interrupted,
}

/// Runs what is missing of a slice, on so many processors.
///
/// # Errors
/// A plan that has changed; points that fail, when all others are done; Ctrl-C.
pub fn run(plan: &Plan, slice: CellNumber, processors: usize) -> Result<(), Failure> {
    plan.refuse_changed()?;
    let all: Vec<&Point> = plan.slice(slice).collect();
    let missing = |point: &&&Point| !State::of(plan, point).is_whole(point);
    let todo: Vec<&Point> = all.iter().filter(missing).copied().collect();
    let runs = todo.iter().map(|point| point.runs).sum();
    let predicted_s: f64 = todo.iter().map(|point| point.predicted_s).sum();
    let beside = todo.len().clamp(1, processors);
    eprintln!(
        "slice {}/{}: {} of {}, {} done; {} to do, about {}",
        slice.number,
        slice.of,
        all.len(),
        many(plan.points.len() as u64, "point"),
        all.len() - todo.len(),
        many(runs, "run"),
        plot::seconds(predicted_s / processors as f64),
    );
    let count = AtomicUsize::new(0);
    let goes_on = |outcome: &Outcome| !matches!(outcome, Outcome::Interrupted);
    let outcomes = runner::each(beside, todo.iter(), goes_on, |point| {
        let outcome = run_point(plan, point, processors / beside);
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        let said = match &outcome {
            Outcome::Done => "done",
            Outcome::Elsewhere => "left to another process, which runs it",
            Outcome::Failed(why) => why,
            Outcome::Interrupted => "interrupted",
        };
        let sets = point.sets().join(", ");
        eprintln!("{number} of {}: {} ({sets}): {said}", todo.len(), point.id);
        outcome
    });
    if interrupt::requested() {
        return Err(Failure::Interrupted);
    }
    let why = |outcome| match outcome {
        Outcome::Failed(why) => Some(why),
        _ => None,
    };
    let failed: Vec<String> = outcomes.into_iter().filter_map(why).collect();
    match failed.first() {
        None => Ok(()),
        Some(first) => Err(Failure::run(anyhow!(
            "{} of {} failed, the first: {first}",
            failed.len(),
            many(todo.len() as u64, "point")
        ))),
    }
}

fn run_point(plan: &Plan, point: &Point, processors: usize) -> Outcome {
    let dir = plan.runs_of(point);
    let outcome = match alone(&dir) {
        Ok(None) => return Outcome::Elsewhere,
        Ok(Some(_lock)) => run_alone(plan, point, processors),
        Err(error) => Err(Failure::Run(error)),
    };
    let why = match outcome {
        Ok(true) => {
            // Gone on with later.
            return Outcome::Interrupted;
        }
        Ok(false) => {
            let removed = rundir::remove_file(&dir, FAILED);
            return removed.map_or_else(|it| Outcome::Failed(it.to_string()), |()| Outcome::Done);
        }
        Err(Failure::Input(error) | Failure::Run(error)) => format!("{error:#}"),
        Err(_) => return Outcome::Interrupted,
    };
    // A disk that takes no results may take no reason either: it is said as well.
    let _ = rundir::write_file(&dir, FAILED, format!("{why}\n").as_bytes());
    Outcome::Failed(why)
}

/// The folder of a point for this process alone; none if another one has it. Where the
/// file system has no locks, nobody is asked.
fn alone(dir: &Path) -> anyhow::Result<Option<File>> {
    let lock = dir.join(LOCK);
    let made = fs::create_dir_all(dir).and_then(|()| File::create(&lock));
    let file = made.with_context(|| format!("{}: cannot be written", lock.display()))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        _ => Ok(Some(file)),
    }
}

/// Whether it was interrupted.
fn run_alone(plan: &Plan, point: &Point, processors: usize) -> Result<bool, Failure> {
    let options = RunOptions {
        out: Some(plan.runs_of(point)),
        quiet: true,
        jobs: processors,
        ..RunOptions::default()
    };
    let replications = runner::run(&plan.scenario(point)?, &options)?;
    let runs = || {
        replications
            .iter()
            .flat_map(|it: &ReplicationRuns| &it.runs)
    };
    if runs().any(|run| run.interrupted && run.broke.is_none()) {
        return Ok(true);
    }
    for run in runs() {
        let audit = run.violations.first().map(ToString::to_string);
        let mut failures = audit.into_iter().chain(run.broke.clone());
        let failure = failures.next().or_else(|| run.failures.first().cloned());
        if let Some(why) = failure {
            return Err(Failure::run(anyhow!("{}: {why}", run.name())));
        }
    }
    Ok(false)
}
