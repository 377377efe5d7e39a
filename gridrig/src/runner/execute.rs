//! One run, under whichever clock.

use super::observer::{Observation, Observed};
use super::{Executed, Load, RunOptions, keep_going};
use crate::exit::Failure;
use crate::progress::Progress;
use crate::scenario::{Clock, Scenario, Stop};
use gridrig_core::grid::Grid;
use gridrig_drivers::virtual_time;
use gridrig_results::EventLog;

/// Runs the grid under the clock of the scenario.
pub(super) fn execute(
    scenario: &Scenario,
    grid: &Grid,
    load: &Load,
    options: &RunOptions,
    progress: &Progress,
    watching: Option<Box<dyn Observation + '_>>,
) -> Result<Executed, Failure> {
    match scenario.clock {
        Clock::Virtual => Ok(in_virtual_time(
            scenario, grid, load, options, progress, watching,
        )),
        Clock::Real { .. } => {
            super::real::execute(scenario, grid, load, options, progress, watching)
        }
    }
}

fn in_virtual_time(
    scenario: &Scenario,
    grid: &Grid,
    load: &Load,
    run: &RunOptions,
    progress: &Progress,
    watching: Option<Box<dyn Observation + '_>>,
) -> Executed {
    let stop_at = match scenario.measure.stop {
        Stop::Drained => None,
        Stop::LastArrival => load.submissions.last().map(|last| last.at),
    };
    let options = virtual_time::Options {
        seed: scenario.seed,
        stop_at,
        ..virtual_time::Options::default()
    };
    let mut log = EventLog::with_capacity(load.submissions.len());
    let observe = |now, ended| {
        progress.update(now, ended, None);
        keep_going(run)
    };
    let jobs = &load.submissions;
    let outcome = match watching {
        None => virtual_time::run(grid, jobs, &options, &mut log, observe),
        Some(watching) => {
            let mut watched = Observed::new(&mut log, watching);
            let outcome = virtual_time::run(grid, jobs, &options, &mut watched, observe);
            watched.end();
            outcome
        }
    };
    Executed {
        log,
        interrupted: outcome.interrupted,
        ..Executed::default()
    }
}
