//! A run in real time that somebody else runs, followed by its journals.

use super::cell::cannot_go_on;
use super::real::real_options;
use super::{Cell, Load, RunOptions, Running, Start};
use crate::realtime::{told, workdir};
use anyhow::{Context as _, anyhow};
use gridrig_core::grid::Grid;
use gridrig_core::time::SimTime;
use gridrig_results::EventLog;
use std::path::Path;

/// How far it has come.
pub struct Followed {
    /// Which run it is.
    pub cell: Cell,
    /// Its grid.
    pub grid: Grid,
    /// Its jobs.
    pub load: Load,
    /// What has happened.
    pub log: EventLog,
    /// The latest instant that a journal has.
    pub now: SimTime,
    /// Why nobody can go on with it once it is broken off, if nobody can.
    pub cannot_go_on: Option<String>,
}

impl Followed {
    /// The run that goes on in this directory, or was broken off. Its journals are copied
    /// and read from there, so that it is not disturbed.
    ///
    /// # Errors
    /// When there is none, or its files cannot be read.
    pub fn read(dir: &Path) -> anyhow::Result<Self> {
        let running = Running::read(dir)?;
        let running = running.with_context(|| format!("{}: no run goes on", dir.display()))?;
        let cell = running.cell()?;
        let scenario = &cell.replication.scenario;
        if scenario.clusters().any(|it| it.slurm_bin().is_some()) {
            return Err(anyhow!(
                "{}: field slurm_bin: a run with commands of Slurm is followed only by the page \
                 that was opened with it",
                dir.display()
            ));
        }
        let mut load = Load::prepare(&cell.replication)?;
        if cell.replication.pooled {
            load = load.pooled();
        }
        let mut grid = scenario.grid_for(cell.contender.ours.as_ref());
        scenario.fail_nodes(&mut grid, load.submissions.iter());
        let copies = workdir()?;
        let journals = running.copy_journals(copies.path(), scenario)?;
        let now = journals.from();
        let mut followed = Followed {
            cell: cell.clone(),
            grid,
            load,
            log: EventLog::default(),
            now,
            cannot_go_on: cannot_go_on(scenario),
        };
        let start = followed.start();
        // Of others it asks nobody how they are.
        let options = RunOptions {
            resume: true,
            ..RunOptions::default()
        };
        let real = real_options(&start, &options, "page");
        let mut real = real.map_err(|failure| anyhow!(failure.why()))?;
        real.journals = Some(journals);
        followed.log = told(&followed.grid, &followed.load.submissions, &real)?;
        followed.now = now.max(followed.log.end());
        Ok(followed)
    }

    /// What it is.
    pub fn start(&self) -> Start<'_> {
        Start::of(&self.cell, &self.grid, &self.load)
    }
}
