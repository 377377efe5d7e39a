//! A service of a run as a process of its own.

use super::real::real_options;
use super::{Load, RunOptions, Running, Start};
use crate::exit::Failure;
use crate::realtime::{Configs, Order};
use anyhow::Context as _;
use gridrig_drivers::real_time::RunClock;
use std::net::TcpListener;
use std::os::fd::AsFd as _;
use std::os::unix::process::parent_id;
use std::time::Duration;

/// Serves what the runner of a run orders, on the listener that is the standard input,
/// until the runner is gone.
///
/// # Errors
/// When it is no order, or with what the service ends.
pub fn serve(order: &str) -> Result<(), Failure> {
    let order: Order = serde_json::from_str(order).context("expected the order of a runner")?;
    let stdin = std::io::stdin().as_fd().try_clone_to_owned();
    let listener = TcpListener::from(stdin.map_err(Failure::run)?);
    let runner = order.runner;
    std::thread::spawn(move || {
        while parent_id() == runner {
            std::thread::sleep(LOOK_AGAIN);
        }
        std::process::exit(0);
    });
    let running = Running::read(&order.dir)?;
    let running = running.with_context(|| order.dir.display().to_string())?;
    let cell = running.cell()?;
    let scenario = &cell.replication.scenario;
    let mut clusters = scenario.clusters();
    // How long nodes may fail hangs on the jobs.
    let load = match clusters.any(|it| it.node_failures.is_some()) {
        true => Load::prepare(&cell.replication)?,
        false => Load::default(),
    };
    let mut grid = scenario.grid_for(cell.contender.ours.as_ref());
    scenario.fail_nodes(&mut grid, load.submissions.iter());
    let start = Start::of(&cell, &grid, &load);
    let mut real = real_options(&start, &RunOptions::default(), &order.service)?;
    let journals = running.journals();
    let noted = journals.note(&real.planned, &order.service);
    noted.map_err(Failure::run)?;
    real.journals = Some(journals);
    let clock = RunClock::started(order.start, real.speed);
    let configs = Configs::of(&grid, &real, clock, &order.urls)?;
    let runtime = tokio::runtime::Runtime::new().map_err(Failure::run)?;
    let served = runtime.block_on(configs.serve(&order.service, listener));
    served.map_err(Failure::Run)
}

/// Time between two looks whether the runner is there.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
