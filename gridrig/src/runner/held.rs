//! A run directory while a run goes on: one process has it for itself.

use super::write::directory;
use super::{Cell, RunOptions};
use crate::exit::Failure;
use anyhow::anyhow;
use gridrig_results::catalogue::is_held;
use gridrig_results::rundir::{self, RunDirError};
use std::fs::{File, TryLockError};
use std::path::Path;

/// Refuses a run that another process is running.
///
/// # Errors
/// When it is.
pub(super) fn not_held(cell: &Cell, options: &RunOptions) -> Result<(), Failure> {
    match directory(cell, options).filter(|dir| is_held(dir)) {
        None => Ok(()),
        Some(dir) => Err(being_run(&dir)),
    }
}

fn being_run(dir: &Path) -> Failure {
    Failure::Input(anyhow!(
        "{}: another process is running it (expected a run that is over)",
        dir.display()
    ))
}

/// Refuses a run where there is one already, before anything is done for it.
///
/// # Errors
/// When the directory has a run, or another process writes one there, or cannot be read.
pub fn vacant(cell: &Cell, options: &RunOptions) -> Result<(), Failure> {
    not_held(cell, options)?;
    without_run(cell, options)
}

fn without_run(cell: &Cell, options: &RunOptions) -> Result<(), Failure> {
    let Some(dir) = directory(cell, options).filter(|_| !options.force) else {
        return Ok(());
    };
    match rundir::is_vacant(&dir).map_err(Failure::run)? {
        true => Ok(()),
        false => Err(Failure::run(RunDirError::Exists(dir))),
    }
}

/// Makes the directory of a run that is to be, for this process alone until what is answered
/// is dropped. `None` where nothing stays of the run, or the file system knows no locks.
///
/// # Errors
/// As [`vacant`], and when the directory cannot be made.
pub fn hold(cell: &Cell, options: &RunOptions) -> Result<Option<File>, Failure> {
    let Some(dir) = directory(cell, options).filter(|_| !options.scratch) else {
        return Ok(None);
    };
    rundir::make_dir(&dir).map_err(Failure::run)?;
    let held = match rundir::hold(&dir) {
        Ok(held) => Some(held),
        Err(TryLockError::WouldBlock) => return Err(being_run(&dir)),
        Err(TryLockError::Error(_)) => None,
    };
    // Another one may have ended there since somebody looked.
    without_run(cell, options)?;
    Ok(held)
}
