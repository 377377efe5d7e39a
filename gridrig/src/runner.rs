//! A scenario becomes runs: every policy on every replication, each audited,
//! summarized and written.

mod again;
mod background;
mod cell;
mod done;
mod execute;
mod follow;
mod held;
mod load;
mod observer;
mod process;
mod real;
mod record;
mod running;
mod suspended;
mod workers;
mod write;

pub use again::decisions;
use cell::wanted;
pub use cell::{Cell, CellNumber, cells};
use execute::in_virtual_time;
pub use follow::Followed;
pub use held::{hold, vacant};
pub use load::{Load, prepare_workloads};
pub use observer::{Observation, Observer, Start};
pub use process::serve;
pub use real::{notes_of, tolerance};
pub use record::{PolicyRun, ReplicationRuns};
pub use running::{Gap, resume};
use running::{Running, can_go_on, ends_here, keeps_journals, why_no_journal};
pub use workers::each;
pub use write::{conclude, folder};

use crate::exit::Failure;
use crate::interrupt;
use crate::monitor;
use crate::own_policy::{self, OwnRun};
use crate::progress::Pace;
use crate::realtime::BrokerLogs;
use crate::scenario::{Clock, Replication, Scenario};
use anyhow::{Result, bail};
use gridrig_core::policy::InformationNeed;
use gridrig_core::time::SimDuration;
use gridrig_drivers::faults::FaultCounts;
use gridrig_results::EventLog;
use gridrig_results::rundir::EventsWriter;
use gridrig_service::http::Monitoring;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a run without a broker is called.
const NO_BROKER: &str = "no broker";

/// What to do with the runs of a scenario.
#[derive(Clone, Default)]
pub struct RunOptions {
    /// Where run directories go; `None` writes none.
    pub out: Option<PathBuf>,
    /// Whether no more is written than what the table at the end is made from,
    /// and not for long.
    pub scratch: bool,
    /// The only cell that runs; `None` runs all.
    pub cell: Option<CellNumber>,
    /// Whether existing run directories are overwritten.
    pub force: bool,
    /// Whether `jobs.csv` is written too.
    pub csv: bool,
    /// Whether a run in real time is written down only when it is over.
    pub no_journal: bool,
    /// Whether each service is a process of its own: real time only.
    pub processes: bool,
    /// Whether runs are gone on with that were broken off, and those begun that never
    /// were; what is over stays.
    pub resume: bool,
    /// Whether nothing is said of how the runs get on.
    pub quiet: bool,
    /// So many runs at a time, on the virtual clock; 0 is 1.
    pub jobs: usize,
    /// Which directory of this scenario and seed: from 2 on, the number in its name.
    pub study: u32,
    /// Services that die on the way, each `NAME@TIME`: real time only.
    pub kill: Vec<String>,
    /// How the services are monitored: real time only.
    pub monitoring: Monitoring,
    /// Whether each line to a policy of the user's own is answered twice.
    pub check_determinism: bool,
    /// The policy of the user's own in the run that is under way.
    pub own: Option<Arc<OwnRun>>,
    /// When the run that is under way began.
    pub began: Option<Instant>,
    /// Who watches the runs and may stop them.
    pub watch: Option<Arc<dyn Observer>>,
}

impl RunOptions {
    /// Whether this cell is to run.
    fn wants(&self, number: CellNumber, cell: &Cell) -> Result<bool> {
        let is_meant = self.cell.is_none_or(|wanted| wanted == number);
        Ok(is_meant && (!self.resume || Running::of(cell, self)?.is_some()))
    }
}

/// What a run leaves behind.
#[derive(Default)]
pub struct Executed {
    /// Everything that happened.
    pub log: EventLog,
    /// Who has written that down as it happened.
    pub events: Option<EventsWriter>,
    /// Whether somebody broke it off.
    pub interrupted: bool,
    /// Whether it was broken off and cannot be gone on with.
    pub is_cut: bool,
    /// Whether jobs were lost without an end because a service died.
    pub lost: bool,
    /// How late a timer may have been, in run time: zero in virtual time.
    pub timer_tolerance: SimDuration,
    /// What ended the run before its time.
    pub broke: Option<String>,
    /// What went wrong without ending the run.
    pub faults: Vec<String>,
    /// How often planned faults have struck.
    pub fault_counts: Option<FaultCounts>,
    /// What a reader has to know of how it went.
    pub notes: Vec<String>,
    /// When nobody ran it.
    pub gaps: Vec<Gap>,
    /// What brokers that are not ours have said.
    pub said: Option<BrokerLogs>,
}

/// Runs a scenario: replication by replication, policy by policy, `options.jobs` of
/// them side by side. None begins after one that failed or was broken off.
///
/// # Errors
/// Input errors before anything runs; failures of a run or its audit. What was
/// written stays.
pub fn run(scenario: &Scenario, options: &RunOptions) -> Result<Vec<ReplicationRuns>, Failure> {
    let goes_on = options.resume;
    let (replications, options) = &refuse(scenario, options)?;
    let cells = wanted(scenario, replications, options)?;
    let mut all = cells.iter();
    all.try_for_each(|(_, cell)| held::not_held(cell, options))?;
    if options.resume && !goes_on {
        eprintln!(
            "{}: the interrupted runs are continued (--force starts over)",
            scenario.name
        );
    }
    if let Some(watch) = &options.watch {
        watch.begin(scenario, replications);
    }
    let pace = Pace::new(scenario, cells.len(), (options.jobs, options.quiet));
    let elsewhere = write::why_elsewhere(&cells, options).filter(|_| !goes_on);
    let no_journal = why_no_journal(scenario, options).filter(|_| !options.resume);
    let told = elsewhere.into_iter().chain(no_journal);
    told.filter(|_| !options.quiet)
        .for_each(|why| eprintln!("{why}"));
    let claims = !options.resume && can_go_on(scenario, options);
    let mut load: Option<(u32, Arc<Load>)> = None;
    let tasks = cells.iter().map(|(number, cell)| -> Result<_, Failure> {
        let index = cell.replication.index;
        let read = match load.take() {
            Some((of, read)) if of == index => read,
            before => {
                let is_first = before.is_none();
                // Its jobs are not kept beside those of the next one.
                drop(before);
                let read = Load::prepare(&replications[index as usize])?;
                tracing::info!(jobs = read.submissions.len(), "read");
                load::refuse_impossible(&replications[index as usize].scenario, &read)?;
                if claims && is_first {
                    let mut all = cells.iter();
                    all.try_for_each(|(number, cell)| {
                        running::claim((*number, cell), scenario, options)
                    })?;
                }
                Arc::new(read)
            }
        };
        load = Some((index, Arc::clone(&read)));
        let pooled = cell.replication.pooled.then(|| Arc::new(read.pooled()));
        Ok((*number, cell, pooled.unwrap_or(read)))
    });
    let goes_on =
        |done: &Result<PolicyRun, Failure>| done.as_ref().is_ok_and(|run| !run.interrupted);
    let done = each(options.jobs, tasks, goes_on, |task| {
        let (number, cell, load) = task?;
        run_cell(cell, &load, options, (number, &pace, scenario))
    });
    let mut runs: BTreeMap<u32, Vec<PolicyRun>> = BTreeMap::new();
    for (done, (_, cell)) in done.into_iter().zip(&cells) {
        runs.entry(cell.replication.index).or_default().push(done?);
    }
    Ok(by_replication(replications, runs))
}

/// The runs of each replication; one that gave the same as an earlier one counts once.
fn by_replication(
    replications: &[Replication],
    runs: BTreeMap<u32, Vec<PolicyRun>>,
) -> Vec<ReplicationRuns> {
    let mut all: Vec<ReplicationRuns> = Vec::new();
    for (index, runs) in runs {
        let replication = &replications[index as usize];
        let broken_off = runs.iter().any(|run| run.interrupted);
        let done = ReplicationRuns::new(replication, runs);
        match all.iter_mut().find(|it| !broken_off && it.repeats(&done)) {
            Some(earlier) => earlier.note_repeated(replication),
            None => all.push(done),
        }
    }
    all
}

/// Refuses what cannot be run, or not there, before anything is; answers the
/// replications, and with which options they run: where runs of other settings are,
/// these go to the next directory.
///
/// # Errors
/// Input errors.
pub fn refuse(scenario: &Scenario, options: &RunOptions) -> Result<(Vec<Replication>, RunOptions)> {
    let mut policies = scenario.policies.iter().flatten();
    let truth = policies.find(|policy| policy.entry().need == InformationNeed::Truth);
    if let (Some(policy), Clock::Real { .. }) = (truth, scenario.clock) {
        bail!(
            "{}: policy {policy} needs the present state of all clusters, which no real broker has (expected \
             clock = \"virtual\" or another policy)",
            scenario.name
        );
    }
    if scenario.clock == Clock::Virtual {
        let mut clusters = scenario.grid.clusters.iter();
        if let Some(cluster) = clusters.find(|cluster| cluster.config.is_real) {
            bail!(
                "cluster {}: lrms = \"slurm\": a real Slurm knows no virtual time (expected clock \
                 = \"real\", or lrms = \"emulated\")",
                cluster.name
            );
        }
        if options.monitoring != Monitoring::default() {
            bail!("--label and --targets need services to look at (expected --clock real)");
        }
        if !options.kill.is_empty() {
            bail!("--kill needs services to kill (expected --clock real)");
        }
    }
    if options.processes && !can_go_on(scenario, options) {
        bail!(
            "--processes: expected --clock real and services that keep journals: no external \
             broker, no real LRMS, no interfaces of other systems, no policy or discipline of one's own"
        );
    }
    if options.check_determinism && !scenario.asks_programs() {
        bail!("--check-determinism: expected a policy or a discipline with exec or lua");
    }
    for text in &options.kill {
        real::kill(&scenario.grid, text)?;
    }
    let replications = scenario.replications();
    if options.jobs > 1 && scenario.clock != Clock::Virtual {
        bail!("--jobs: runs on the real clock go one after the other (expected --clock virtual)");
    }
    let wanted = wanted(scenario, &replications, options)?;
    let cells: Vec<&Cell> = wanted.iter().map(|(_, cell)| cell).collect();
    for cell in &cells {
        write::describe(&cell.replication)?;
    }
    let options = write::placed(&cells, options)?;
    Ok((replications, options))
}

fn run_cell(
    cell: &Cell,
    load: &Load,
    options: &RunOptions,
    (number, pace, whole): (CellNumber, &Pace, &Scenario),
) -> Result<PolicyRun, Failure> {
    let replication = &cell.replication;
    let policy = cell.contender.ours.as_ref();
    let scenario = &replication.scenario;
    let mut grid = scenario.grid_for(policy);
    scenario.fail_nodes(&mut grid, load.submissions.iter());
    let label = label(cell);
    let progress = pace
        .progress((number.number, number.of), &label, load.submissions.len())
        .silent(options.quiet);
    let position = number.number - 1;
    if let Some(run) = done::read(cell, (&grid, load), options)? {
        if let Some(watch) = &options.watch {
            watch.finish(position, &run);
        }
        progress.finish(&format!(
            "{}, from an earlier run{}",
            run.one_line(),
            pace.left()
        ));
        return Ok(run);
    }
    let can_go_on = can_go_on(scenario, options);
    let own = match ends_here(scenario, options) {
        Some(_) => None,
        None => own_policy::start(scenario, policy, &mut grid, options.check_determinism)?,
    };
    let mut running = written(cell, (number, whole), options)?;
    let options = &RunOptions {
        own,
        began: Some(write::now()),
        monitoring: monitor::of_run(replication, policy, &options.monitoring),
        // What is there is its own.
        force: options.force || running.is_some(),
        ..options.clone()
    };
    let start = Start::of(cell, &grid, load);
    let watch = options.watch.as_ref();
    let watching = watch.map(|watch| watch.start(position, &start));
    let _alone = running.as_ref().map(Running::lock).transpose()?;
    let dir = write::directory(cell, options).filter(|_| !options.scratch);
    let (dir, running_now) = (dir.as_deref(), running.as_mut());
    let executed = match scenario.clock {
        Clock::Virtual => in_virtual_time(&start, (options, dir), &progress, watching),
        Clock::Real { .. } => real::execute(&start, options, &progress, watching, running_now),
    };
    if executed.is_err() && !can_go_on && !options.resume {
        running.take().map(Running::forget).transpose()?;
    }
    let mut executed = executed?;
    tracing::info!(label, "the run has ended");
    if let Some(own) = &options.own {
        executed.broke = own.failure().cloned().or(executed.broke);
        executed.interrupted |= executed.broke.is_some();
        executed.notes.extend(own.notes());
    }
    let run = conclude(cell, &grid, load, &mut executed, options)?;
    match running {
        Some(running) if executed.is_cut => running.give_up()?,
        Some(running) if run.interrupted && can_go_on => running.say(),
        Some(running) => running.end()?,
        None => {}
    }
    if let Some(watch) = watch {
        watch.finish(position, &run);
    }
    progress.finish(&(run.one_line() + &pace.left()));
    Ok(run)
}

/// What a run is called while it goes on.
fn label(cell: &Cell) -> String {
    let name = cell.name().unwrap_or_else(|| NO_BROKER.to_owned());
    match cell.replication.index {
        0 => name,
        index => format!("{name} r{index:03}"),
    }
}

/// The run of this cell, where what happens is written down as it happens. One with which
/// nobody can go on gets its directory only now.
fn written(
    cell: &Cell,
    (number, whole): (CellNumber, &Scenario),
    options: &RunOptions,
) -> Result<Option<Running>, Failure> {
    let scenario = &cell.replication.scenario;
    if !keeps_journals(scenario, options) {
        return Ok(None);
    }
    if !options.resume && !can_go_on(scenario, options) {
        running::claim((number, cell), whole, options)?;
    }
    Ok(Running::of(cell, options)?)
}

/// Whether the loop should go on.
fn keep_going(options: &RunOptions) -> std::ops::ControlFlow<()> {
    match interrupt::requested() || is_stopped(options) {
        true => std::ops::ControlFlow::Break(()),
        false => std::ops::ControlFlow::Continue(()),
    }
}

/// Whether who watches wants the run to stop, or its policy cannot be asked any more.
fn is_stopped(options: &RunOptions) -> bool {
    let watch = options.watch.as_ref();
    let own = options.own.as_ref();
    watch.is_some_and(|it| it.stop_requested()) || own.is_some_and(|it| it.is_broken_off())
}

/// Resolves when somebody wants the run to end, or it cannot go on.
async fn wait_for_stop(options: &RunOptions) {
    let stopped = async {
        while !is_stopped(options) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        () = interrupt::wait() => {}
        () = stopped, if options.watch.is_some() || options.own.is_some() => {}
    }
}
