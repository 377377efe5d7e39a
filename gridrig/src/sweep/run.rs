//! A slice of a sweep: what of it is missing is run.

use super::plan::{Plan, Point, sets};
use crate::exit::Failure;
use crate::interrupt;
use crate::runner::{self, CellNumber, RunOptions};
use crate::words::{list, many};
use anyhow::{Context as _, anyhow};
use gridrig_results::plot;
use gridrig_results::rundir::{self, Manifest, names::MANIFEST};
use std::fs::{self, File, TryLockError};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Says why a point has failed.
const FAILED: &str = "failed.txt";
/// Held by the process that runs a point.
const LOCK: &str = "lock";

/// How far a point has come.
#[derive(Default)]
pub struct State {
    /// Runs that are whole and valid, in order.
    pub done: Vec<Manifest>,
    /// Runs that are not, or why there is none.
    pub failed: Vec<String>,
}

impl State {
    /// Looks at what there is of a point.
    pub fn of(plan: &Plan, point: &Point) -> Self {
        let mut state = State::default();
        let dir = plan.runs_of(point);
        // SCENARIO-SEED/POLICY/rNNN
        let runs = (0..3).fold(vec![dir.clone()], |dirs, _| below(&dirs));
        for run in runs.iter().filter(|run| run.join(MANIFEST).exists()) {
            match rundir::read_manifest(run) {
                Ok(manifest) if manifest.summary["valid"] == true => state.done.push(manifest),
                // It was broken off, and is run again.
                Ok(manifest) if manifest.partial && manifest.summary["audit"] == "ok" => {}
                Ok(_) => state.failed.push(format!("{}: not valid", run.display())),
                Err(error) => state.failed.push(error.to_string()),
            }
        }
        let why = fs::read_to_string(dir.join(FAILED));
        let why = why.map(|why| format!("{}: {}", dir.display(), why.trim()));
        state.failed.extend(why);
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

/// Runs what is missing of a slice, on so many processors.
///
/// # Errors
/// A plan that has changed; points that fail, when all others are done; Ctrl-C.
pub fn run(plan: &Plan, slice: CellNumber, processors: usize) -> Result<(), Failure> {
    plan.refuse_changed()?;
    let all: Vec<&Point> = plan.slice(slice).collect();
    let missing = |point: &&&Point| !State::of(plan, point).is_whole(point);
    let todo: Vec<&Point> = all.iter().filter(missing).copied().collect();
    let predicted_s: f64 = todo.iter().map(|point| point.predicted_s).sum();
    let (number, of, done) = (slice.number, slice.of, all.len() - todo.len());
    eprintln!(
        "slice {number}/{of}: {} of {}, {done} done, about {} left",
        all.len(),
        many(plan.points.len() as u64, "point"),
        plot::seconds(predicted_s / processors as f64),
    );
    let beside = todo.len().clamp(1, processors);
    let count = AtomicUsize::new(0);
    let goes_on = |_: &Result<_, _>| !interrupt::requested();
    let ran = runner::each(beside, todo.iter(), goes_on, |point| {
        let ran = run_point(plan, point, processors / beside);
        let said = match &ran {
            Ok(said) => said,
            Err(Failure::Input(why) | Failure::Run(why)) => &*format!("{why:#}"),
            Err(_) => "interrupted",
        };
        let (number, of) = (count.fetch_add(1, Ordering::Relaxed) + 1, todo.len());
        let (id, sets) = (&point.id, list(sets(&point.set)));
        eprintln!("{number} of {of}: {id} ({sets}): {said}");
        ran
    });
    if ran.len() < todo.len() {
        return Err(Failure::Interrupted);
    }
    let failed = ran.iter().filter(|ran| ran.is_err()).count();
    match ran.into_iter().find_map(Result::err) {
        None => Ok(()),
        Some(Failure::Input(first) | Failure::Run(first)) => {
            let what = format!("{failed} of {} points failed, the first", todo.len());
            Err(Failure::Run(first.context(what)))
        }
        Some(other) => Err(other),
    }
}

/// Runs what is missing of a point; says what became of it.
fn run_point(plan: &Plan, point: &Point, processors: usize) -> Result<&'static str, Failure> {
    let dir = plan.runs_of(point);
    let lock = dir.join(LOCK);
    let made = fs::create_dir_all(&dir).and_then(|()| File::create(&lock));
    let made = made.with_context(|| format!("{}: cannot be written", lock.display()));
    let lock = made.map_err(Failure::Run)?;
    // Where the file system has no locks, nobody is asked.
    if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
        return Ok("left to another process, which runs it");
    }
    let ran = run_alone(plan, point, processors);
    match &ran {
        Ok(()) => rundir::remove_file(&dir, FAILED).map_err(Failure::run)?,
        Err(Failure::Input(why) | Failure::Run(why)) => {
            let why = format!("{why:#}\n");
            rundir::write_file(&dir, FAILED, why.as_bytes()).map_err(Failure::run)?;
        }
        Err(_) => {}
    }
    ran.map(|()| "done")
}

fn run_alone(plan: &Plan, point: &Point, processors: usize) -> Result<(), Failure> {
    let options = RunOptions {
        out: Some(plan.runs_of(point)),
        quiet: true,
        jobs: processors,
        ..RunOptions::default()
    };
    let replications = runner::run(&plan.scenario(point)?, &options)?;
    let mut runs = replications.iter().flat_map(|it| &it.runs);
    match runs.find(|run| !run.summary.valid) {
        None => Ok(()),
        Some(run) if run.interrupted && run.broke.is_none() => Err(Failure::Interrupted),
        Some(run) => {
            let audit = format!("audit: {}", run.summary.audit);
            let why = run.broke.clone().unwrap_or(audit);
            Err(Failure::run(anyhow!("{}: {why}", run.name())))
        }
    }
}
