//! One run, under whichever clock.

use super::observer::{Observation, Observed, Start};
use super::{Executed, RunOptions, keep_going};
use crate::exit::Failure;
use crate::progress::Progress;
use crate::scenario::Clock;
use gridrig_drivers::virtual_time;
use gridrig_results::EventLog;

/// Runs the grid under the clock of the scenario.
pub(super) fn execute(
    start: &Start<'_>,
    options: &RunOptions,
    progress: &Progress,
    watching: Option<Box<dyn Observation + '_>>,
) -> Result<Executed, Failure> {
    match start.scenario.clock {
        Clock::Virtual => Ok(in_virtual_time(start, options, progress, watching)),
        Clock::Real { .. } => super::real::execute(start, options, progress, watching),
    }
}

fn in_virtual_time(
    start: &Start<'_>,
    run: &RunOptions,
    progress: &Progress,
    watching: Option<Box<dyn Observation + '_>>,
) -> Executed {
    let (grid, jobs) = (start.grid, &start.load.submissions);
    let options = virtual_time::Options {
        seed: start.scenario.seed,
        stop_at: start.stop_at(),
        ..virtual_time::Options::default()
    };
    let mut log = EventLog::with_capacity(jobs.len());
    let observe = |now, ended| {
        progress.update(now, ended, None);
        keep_going(run)
    };
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
