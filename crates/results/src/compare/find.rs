//! Runs on the disk: found, and checked to be what their manifest says.

use super::error::{CompareError, Result};
use super::parallel::each;
use crate::incomplete::{Incomplete, is_file_of_a_run};
use crate::rundir::{self, Manifest, RunDirError, names};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How deep runs may lie below a directory that is given: a folder of
/// studies, a study, a policy and a replication, with room to spare.
const DEPTH: usize = 8;

/// A complete run.
#[derive(Clone, Debug)]
pub(crate) struct FoundRun {
    /// Key of its replication.
    pub(crate) key: String,
    pub(crate) dir: PathBuf,
    pub(crate) manifest: Manifest,
}

impl FoundRun {
    /// What its manifest says.
    pub(crate) fn read(dir: &Path) -> Result<Self, RunDirError> {
        let manifest = rundir::read_manifest(dir)?;
        Ok(FoundRun {
            key: manifest.key(),
            dir: dir.to_owned(),
            manifest,
        })
    }
}

/// All runs that were found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) runs: Vec<FoundRun>,
    /// Damaged runs that were left out, and why.
    pub(crate) skipped: Vec<String>,
}

/// The directories of the complete runs at or below these, each once and in
/// order; the jobs of each are those that its manifest describes. With
/// `skip_damaged`, runs that are not so are left out and come second, each with
/// what is wrong with it.
///
/// # Errors
/// A directory without runs; a run that is foreign, damaged or half written.
pub fn find_runs(paths: &[PathBuf], skip_damaged: bool) -> Result<(Vec<PathBuf>, Vec<String>)> {
    let found = find(paths, skip_damaged)?;
    let dirs = found.runs.into_iter().map(|run| run.dir);
    Ok((dirs.collect(), found.skipped))
}

/// Finds the runs at or below these directories, each once.
pub(crate) fn find(paths: &[PathBuf], skip_damaged: bool) -> Result<Found> {
    let mut candidates = Vec::new();
    let mut seen = BTreeSet::new();
    for path in paths {
        let before = candidates.len();
        if path.is_dir() {
            walk(path, DEPTH, &mut seen, &mut candidates)?;
        }
        let known = path.canonicalize().is_ok_and(|path| seen.contains(&path));
        if candidates.len() == before && !known {
            unfinished(path, DEPTH, &mut candidates);
            if candidates.len() == before {
                return Err(CompareError::NoRun(path.clone()));
            }
        }
    }
    let opened = each(&candidates, |candidate| open(candidate));
    let mut found = Found::default();
    for run in opened {
        match run {
            Ok(run) => found.runs.push(run),
            Err(error) if skip_damaged => found.skipped.push(said(&error)),
            Err(error) => return Err(error),
        }
    }
    match found.runs.is_empty() && !found.skipped.is_empty() {
        true => Err(CompareError::NoneWhole(found.skipped)),
        false => Ok(found),
    }
}

/// An error with all that lies under it.
pub fn said(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let below = source.to_string();
        if !text.contains(&below) {
            text = format!("{text}: {below}");
        }
        next = source.source();
    }
    text
}

fn walk(
    dir: &Path,
    depth: usize,
    seen: &mut BTreeSet<PathBuf>,
    candidates: &mut Vec<PathBuf>,
) -> Result<()> {
    let unreadable = |source: io::Error| {
        CompareError::from(RunDirError::Io(
            "read the directory",
            dir.to_owned(),
            source,
        ))
    };
    let whole = dir.canonicalize().map_err(unreadable)?;
    let mut below = Vec::new();
    let mut is_run = false;
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let path = entry.path();
        if path.is_dir() {
            below.push(path);
        } else {
            is_run |= is_file_of_a_run(&name);
        }
    }
    if is_run {
        if seen.insert(whole) {
            candidates.push(dir.to_owned());
        }
        return Ok(());
    }
    below.sort();
    if depth > 0 {
        for path in below {
            walk(&path, depth - 1, seen, candidates)?;
        }
    }
    Ok(())
}

/// The runs at or below a directory that have no file of a run yet: where they are all that
/// there is, whoever looks for others wants to know of them.
fn unfinished(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if Incomplete::at(dir).is_some() {
        found.push(dir.to_owned());
        return;
    }
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut below: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    below.retain(|path| depth > 0 && path.is_dir());
    below.sort();
    for path in below {
        unfinished(&path, depth - 1, found);
    }
}

fn open(dir: &Path) -> Result<FoundRun> {
    if let Some(stands) = Incomplete::at(dir) {
        return Err(CompareError::HalfWritten(dir.to_owned(), stands));
    }
    let run = FoundRun::read(dir)?;
    rundir::is_unchanged(dir, &run.manifest, names::JOBS)?;
    Ok(run)
}
