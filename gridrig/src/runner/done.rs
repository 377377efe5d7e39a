//! A run in virtual time that is there already: it is read instead of made again.

use super::write::{conclude, directory, is_of, workload_hashes};
use super::{Cell, Executed, Load, PolicyRun, RunOptions};
use crate::exit::Failure;
use crate::scenario::Clock;
use gridrig_core::grid::Grid;
use gridrig_core::policy::PolicySpec;
use gridrig_results::rundir;
use std::time::UNIX_EPOCH;

/// The run of this cell from its directory: of the same scenario and jobs, whole, by
/// this very program. It is audited and summarized again, so that it counts only if its
/// events give what its manifest says; `None` is a run that is to be made.
///
/// # Errors
/// None of its own: what cannot be read is made again.
pub(super) fn read(
    cell: &Cell,
    (grid, load): (&Grid, &Load),
    options: &RunOptions,
) -> Result<Option<PolicyRun>, Failure> {
    let replication = &cell.replication;
    let there = directory(cell, options).filter(|dir| is_of(replication, dir));
    // What a program of the user's would answer now, nobody knows.
    let policy = cell.contender.ours.as_ref();
    let is_ours = !policy.is_some_and(PolicySpec::is_own)
        && replication.scenario.own_disciplines().next().is_none();
    let reads = replication.scenario.clock == Clock::Virtual && !options.scratch && is_ours;
    let Some(dir) = there.filter(|_| reads && !options.force && !options.csv) else {
        return Ok(None);
    };
    let Ok(run) = rundir::read(&dir) else {
        return Ok(None);
    };
    let written = run.manifest.host.get("written_unix_s");
    let written = written.and_then(serde_json::Value::as_u64);
    if run.manifest.workload_hashes != workload_hashes(&load.submissions)
        || !written.is_some_and(is_of_this_program)
    {
        return Ok(None);
    }
    let mut executed = Executed {
        log: run.log,
        ..Executed::default()
    };
    let nowhere = RunOptions {
        out: None,
        ..options.clone()
    };
    let mut found = conclude(cell, grid, load, &mut executed, &nowhere)?;
    // Read as the manifest was: numbers lose their last digit by that.
    let summary = serde_json::to_string(&found.summary).map_err(Failure::run)?;
    let summary: serde_json::Value = serde_json::from_str(&summary).map_err(Failure::run)?;
    found.dir = Some(dir);
    Ok((summary == run.manifest.summary).then_some(found))
}

/// Whether the program has not changed since then.
fn is_of_this_program(written_unix_s: u64) -> bool {
    let changed = std::env::current_exe().and_then(|path| std::fs::metadata(path)?.modified());
    let changed = changed.map(|it| it.duration_since(UNIX_EPOCH).unwrap_or_default());
    changed.is_ok_and(|changed| changed.as_secs() <= written_unix_s)
}
