//! One run in virtual time.

use super::observer::{Observation, Observed, Start};
use super::{Executed, RunOptions, keep_going};
use crate::exit::Failure;
use crate::progress::Progress;
use gridrig_core::event::EventSink;
use gridrig_core::time::SimTime;
use gridrig_drivers::faults::FaultCounts;
use gridrig_drivers::virtual_time;
use gridrig_results::EventLog;
use gridrig_results::rundir::EventsWriter;
use std::ops::ControlFlow;
use std::path::Path;

/// Runs the grid. `dir` is where what happens is to be written down.
pub(super) fn in_virtual_time(
    start: &Start<'_>,
    (run, dir): (&RunOptions, Option<&Path>),
    progress: &Progress,
    watching: Option<Box<dyn Observation + '_>>,
) -> Result<Executed, Failure> {
    let options = virtual_time::Options {
        seed: start.scenario.seed,
        stop_at: start.stop_at(),
        broken_off: run.own.as_ref().map(|own| &own.broken_off),
        ..virtual_time::Options::default()
    };
    let (mut log, chunks) = EventLog::followed();
    log.keep_decisions(start.scenario.decisions);
    let events = dir.map(|dir| EventsWriter::follow(dir, start.grid, chunks));
    let events = events.transpose().map_err(Failure::run)?;
    let observe = |now, ended| {
        progress.update(now, ended, None);
        keep_going(run)
    };
    let (outcome, counts) = match watching {
        None => play(start, &options, &mut log, observe)?,
        Some(watching) => {
            let mut watched = Observed::new(&mut log, watching);
            let played = play(start, &options, &mut watched, observe)?;
            watched.end();
            played
        }
    };
    log.end_chunks();
    Ok(Executed {
        log,
        events,
        interrupted: outcome.interrupted,
        fault_counts: counts,
        ..Executed::default()
    })
}

/// Without faults, brokers and LRMSs by themselves: nothing is paid for links that
/// may fail.
pub(super) fn play(
    start: &Start<'_>,
    options: &virtual_time::Options<'_>,
    log: &mut impl EventSink,
    observe: impl FnMut(SimTime, usize) -> ControlFlow<()>,
) -> Result<(virtual_time::Outcome, Option<FaultCounts>), Failure> {
    let (grid, jobs) = (start.grid, &start.load.submissions);
    let Some(plan) = start.scenario.fault_plan() else {
        return Ok((virtual_time::run(grid, jobs, options, log, observe), None));
    };
    let played = virtual_time::run_with_faults(grid, jobs, options, &plan, log, observe);
    let (outcome, counts) = played.map_err(Failure::run)?;
    Ok((outcome, Some(counts)))
}
