//! A run directory read back.

use super::batch::{for_each_row, guarded};
use super::events::{self, UnreadableRow};
use super::manifest::{Manifest, read_manifest};
use super::{Result, RunDirError, file, job_columns, names};
use crate::log::EventLog;
use crate::names::Names;
use gridrig_core::grid::Grid;
use gridrig_core::job::Submission;
use gridrig_core::time::SimTime;
use std::path::Path;

/// A finished run, as its directory has it. With it a
/// [`JobTable`](crate::JobTable) can be built again.
#[derive(Clone, Debug)]
pub struct Run {
    /// What the run was.
    pub manifest: Manifest,
    /// Domains, clusters and links. Names are those of the files.
    pub grid: Grid,
    /// The workload.
    pub submissions: Vec<Submission>,
    /// The event log.
    pub log: EventLog,
    /// Rows of the event file that cannot be events.
    pub unreadable: Vec<UnreadableRow>,
}

/// Reads a run directory.
///
/// # Errors
/// Says which file is missing, damaged or holds what it may not. Rows of the
/// event file that make no event are no error: they are in
/// [`Run::unreadable`], for the audit to tell.
pub fn read(dir: &Path) -> Result<Run> {
    let manifest = read_manifest(dir)?;
    let grid = read_grid(dir, &manifest)?;
    let shown = Names::of(&grid);
    let mut submissions = Vec::new();
    guarded(dir, names::JOBS, |path| {
        for_each_row(path, |batch, index, row| {
            submissions.push(job_columns::read(batch, (index, row), &manifest, &shown)?);
            Ok(())
        })
    })?;
    let (mut log, unreadable) = guarded(dir, names::EVENTS, |path| events::read(path, &shown))?;
    for info in &manifest.info_messages {
        let party = |text: &str| {
            let party = shown.find_party(text);
            let expected = "parties of the grid";
            party.ok_or_else(|| RunDirError::field(dir, "info_messages", text, expected))
        };
        log.add_info_messages(party(&info.from)?, party(&info.to)?, info.count);
    }
    log.extend_end(SimTime::from_nanos(manifest.end_ns));
    Ok(Run {
        manifest,
        grid,
        submissions,
        log,
        unreadable,
    })
}

/// The grid that a manifest describes.
///
/// # Errors
/// When it describes something that cannot be.
pub fn read_grid(dir: &Path, manifest: &Manifest) -> Result<Grid> {
    manifest
        .grid
        .read()
        .map_err(|(field, value, expected)| RunDirError::field(dir, &field, value, expected))
}

/// Whether a file is the one that the manifest describes; its SHA-256 if not.
///
/// # Errors
/// When it cannot be read, or the manifest does not describe it.
pub(crate) fn is_unchanged(dir: &Path, manifest: &Manifest, name: &str) -> Result<()> {
    let doc = manifest.files.get(name);
    let expected = "a hash of every file of the run";
    let doc = doc.ok_or_else(|| RunDirError::field(dir, "files", "", expected))?;
    let path = dir.join(name);
    let found = file::sha256_of(&path)?;
    match found == doc.sha256 {
        true => Ok(()),
        false => Err(RunDirError::Damaged(
            path,
            format!("its SHA-256 is {found}, the manifest has {}", doc.sha256),
        )),
    }
}
