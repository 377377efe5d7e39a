//! A scenario becomes runs: every policy on every replication, each audited,
//! summarized and written.

mod again;
mod cell;
mod execute;
mod observer;
mod process;
mod real;
mod record;
mod running;
mod write;

pub use again::decisions;
use cell::wanted;
pub use cell::{Cell, CellNumber, cells};
pub use observer::{Observation, Observer, Start};
pub use process::serve;
pub use real::{notes_of, tolerance};
pub use record::{PolicyRun, ReplicationRuns};
pub use running::{Gap, resume};
use running::{Running, keeps_journals};
pub use write::conclude;

use crate::check;
use crate::exit::Failure;
use crate::interrupt;
use crate::monitor;
use crate::progress::Progress;
use crate::realtime::BrokerLogs;
use crate::scenario::{Clock, Replication, Scenario};
use anyhow::bail;
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::{Entry, Submission};
use gridrig_core::policy::InformationNeed;
use gridrig_core::resource::Resources;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::faults::FaultCounts;
use gridrig_results::rundir::{ChoiceDoc, ChosenShare, ChosenWindow, EventsWriter};
use gridrig_results::{EventLog, Measure, Stop};
use gridrig_service::http::Monitoring;
use gridrig_tracelab::prepare::{self, Prepared};
use gridrig_tracelab::spec::{Keep, WorkloadSpec};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What a run without a broker is called.
const NO_BROKER: &str = "no broker";

/// Where the jobs of a pooled run enter.
const POOLED_ENTRY: Entry = Entry::Cluster(ClusterId(0));

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
    /// Services that die on the way, each `NAME@TIME`: real time only.
    pub kill: Vec<String>,
    /// How the services are monitored: real time only.
    pub monitoring: Monitoring,
    /// Who watches the runs and may stop them.
    pub watch: Option<Arc<dyn Observer>>,
}

impl RunOptions {
    /// Whether this cell is to run.
    fn wants(&self, number: CellNumber, cell: &Cell) -> anyhow::Result<bool> {
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
    /// Whether it cannot be gone on with, since a journal cannot be read.
    pub is_cut: bool,
    /// Whether jobs were lost without an end because a service died.
    pub lost: bool,
    /// How late a timer may have been, in run time: zero in virtual time.
    pub timer_tolerance: SimDuration,
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

/// The workloads of a replication, read and reduced once for all policies.
#[derive(Default)]
pub struct Load {
    /// What is known of each workload, in file order.
    pub workloads: Vec<WorkloadInfo>,
    /// All jobs in order.
    pub submissions: Vec<Submission>,
    /// What a reader of the results must know of them.
    pub warnings: Vec<String>,
    /// The same of a run of one pooled cluster, which has no brokers to warn
    /// of; empty where none is asked for.
    pooled_warnings: Vec<String>,
}

/// What is known of a workload besides its jobs.
#[derive(Clone, Debug)]
pub struct WorkloadInfo {
    /// The file's name.
    pub name: String,
    /// SHA-256 of the file, in hex.
    pub sha256: String,
    /// Lines that are no usable job, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// What its reduction was left to choose.
    pub choice: ChoiceDoc,
}

impl WorkloadInfo {
    fn of(spec: &WorkloadSpec, prepared: &Prepared) -> Self {
        let name = spec.trace.file_name().unwrap_or(spec.trace.as_os_str());
        WorkloadInfo {
            name: name.to_string_lossy().into_owned(),
            sha256: prepared.reduction.trace.sha256.clone(),
            skipped: prepared.reduction.trace.skipped.clone(),
            choice: choice(spec, prepared),
        }
    }
}

impl Load {
    /// When a run of these jobs stops although some still wait or run.
    #[must_use]
    pub fn stop_at(&self, measure: &Measure) -> Option<SimTime> {
        match measure.stop {
            Stop::Drained => None,
            Stop::LastArrival => self.submissions.last().map(|last| last.at),
        }
    }

    /// Reads and reduces the workloads of a scenario.
    ///
    /// # Errors
    /// Input errors of the traces; nothing to run at all.
    pub fn prepare(replication: &Replication) -> anyhow::Result<Load> {
        let scenario = &replication.scenario;
        let mut prepared = prepare_workloads(scenario)?;
        let specs = scenario.workloads.iter();
        let workloads = specs
            .zip(&prepared)
            .map(|(spec, p)| WorkloadInfo::of(spec, p))
            .collect();
        let warnings = warnings_of(scenario, &prepared);
        let pooled_warnings = match replication.pooled() {
            None => Vec::new(),
            Some(pooled) => {
                let entries: Vec<Entry> = prepared.iter().map(|p| p.entry).collect();
                prepared.iter_mut().for_each(|p| p.entry = POOLED_ENTRY);
                let warnings = warnings_of(&pooled.scenario, &prepared);
                prepared
                    .iter_mut()
                    .zip(entries)
                    .for_each(|(p, entry)| p.entry = entry);
                warnings
            }
        };
        let mut submissions = prepare::merge(prepared)?;
        if submissions.is_empty() {
            bail!(
                "{}: no job is left after the reduction (expected at least one; see what \
                 `gridrig check` says of each step)",
                scenario.name
            );
        }
        replication.shake(&mut submissions);
        let mut load = Load {
            workloads,
            submissions,
            warnings,
            pooled_warnings,
        };
        load.number();
        Ok(load)
    }

    /// Ids are positions; the label keeps the number of the trace.
    pub fn number(&mut self) {
        for (position, submission) in self.submissions.iter_mut().enumerate() {
            submission.spec.id = JobId(position as u32);
        }
    }

    /// The same jobs, entering the one cluster that a pooled run has.
    fn pooled(&self) -> Load {
        let mut submissions = self.submissions.clone();
        for submission in &mut submissions {
            submission.entry = POOLED_ENTRY;
        }
        Load {
            workloads: self.workloads.clone(),
            submissions,
            warnings: self.pooled_warnings.clone(),
            pooled_warnings: Vec::new(),
        }
    }

    /// Lines of all traces that are no usable job, by reason.
    #[must_use]
    pub fn skipped(&self) -> BTreeMap<String, u64> {
        let mut skipped = BTreeMap::new();
        for (reason, count) in self.workloads.iter().flat_map(|w| &w.skipped) {
            *skipped.entry((*reason).to_owned()).or_default() += count;
        }
        skipped
    }
}

/// What a reader of the results must know of these workloads on this grid.
fn warnings_of(scenario: &Scenario, prepared: &[Prepared]) -> Vec<String> {
    let own = prepared
        .iter()
        .flat_map(|p| p.reduction.trace.warnings.iter().cloned());
    let checked = check::check(scenario, prepared).warnings;
    let checked = checked.iter().map(|w| format!("{}: {}", w.code, w.message));
    own.chain(checked).collect()
}

/// Reads and reduces every workload of a scenario.
///
/// # Errors
/// Input errors of the traces.
pub fn prepare_workloads(scenario: &Scenario) -> anyhow::Result<Vec<Prepared>> {
    let prepared = |(index, spec): (u16, &WorkloadSpec)| {
        let prepared = prepare::prepare(spec, index)?;
        tell_choices(spec, &prepared);
        Ok(prepared)
    };
    (0..).zip(&scenario.workloads).map(prepared).collect()
}

/// What the reduction was left to choose, and chose.
fn choice(spec: &WorkloadSpec, prepared: &Prepared) -> ChoiceDoc {
    let ranked = prepared
        .reduction
        .window
        .zip(prepared.reduction.ranking.as_ref());
    let window = ranked.map(|(window, ranking)| ChosenWindow {
        start: window.start.to_string(),
        length: window.length.to_string(),
        considered: ranking.considered(),
    });
    let share = match (spec.keep, prepared.reduction.keep) {
        (Keep::Load { offered, .. }, Keep::Share { share, seed }) => Some(ChosenShare {
            share: share.to_string(),
            seed,
            offered: offered.to_string(),
        }),
        _ => None,
    };
    ChoiceDoc { window, share }
}

/// Logs what the reduction was left to choose.
fn tell_choices(spec: &WorkloadSpec, prepared: &Prepared) {
    let (trace, choice) = (spec.trace.display(), choice(spec, prepared));
    if let Some(window) = choice.window {
        let (start, length, windows) = (window.start, window.length, window.considered);
        tracing::info!(%trace, start, length, windows, "the most representative window was chosen");
    }
    if let Some(chosen) = choice.share {
        let (share, seed, offered) = (chosen.share, chosen.seed, chosen.offered);
        tracing::info!(%trace, offered, share, seed, "the share was chosen by its load");
    }
}

/// Runs a scenario: replication by replication, policy by policy.
///
/// # Errors
/// Input errors before anything runs; failures of a run or its audit. What was
/// written stays.
pub fn run(scenario: &Scenario, options: &RunOptions) -> Result<Vec<ReplicationRuns>, Failure> {
    let replications = refuse(scenario, options)?;
    let wanted = wanted(scenario, &replications, options)?;
    if let Some(watch) = &options.watch {
        watch.begin(scenario, &replications);
    }
    let mut claims = !options.resume && keeps_journals(scenario, options);
    let mut all: Vec<ReplicationRuns> = Vec::new();
    for (replication, cells) in replications.iter().zip(&wanted) {
        if cells.is_empty() {
            continue;
        }
        let load = Load::prepare(replication)?;
        tracing::info!(jobs = load.submissions.len(), "read");
        refuse_impossible(&replication.scenario, &load)?;
        if std::mem::take(&mut claims) {
            let all = wanted.iter().flatten();
            all.clone()
                .try_for_each(|it| running::claim(it, scenario, options))?;
        }
        let mut runs: Vec<PolicyRun> = Vec::new();
        for (position, cell) in cells {
            let pooled = cell.replication.pooled.then(|| load.pooled());
            let load = pooled.as_ref().unwrap_or(&load);
            runs.push(run_cell(cell, load, options, position.number - 1)?);
            if runs.last().is_some_and(|run| run.interrupted) {
                all.push(ReplicationRuns::new(replication, runs));
                return Ok(all);
            }
        }
        let done = ReplicationRuns::new(replication, runs);
        match all.iter_mut().find(|earlier| earlier.repeats(&done)) {
            Some(earlier) => earlier.note_repeated(replication),
            None => all.push(done),
        }
    }
    Ok(all)
}

/// Refuses what cannot be run, or not there, before anything is; answers the
/// replications.
///
/// # Errors
/// Input errors.
pub fn refuse(scenario: &Scenario, options: &RunOptions) -> anyhow::Result<Vec<Replication>> {
    refuse_truth_in_real_time(scenario)?;
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
    if options.processes && !keeps_journals(scenario, options) {
        bail!(
            "--processes: expected --clock real and services that keep journals: no external \
             broker, no real LRMS, no interfaces of other systems"
        );
    }
    for text in &options.kill {
        real::kill(&scenario.grid, text)?;
    }
    let replications = scenario.replications();
    for (_, cell) in wanted(scenario, &replications, options)?.iter().flatten() {
        write::describe(&cell.replication)?;
        write::refuse_existing(cell, options)?;
    }
    Ok(replications)
}

fn run_cell(
    cell: &Cell,
    load: &Load,
    options: &RunOptions,
    position: usize,
) -> Result<PolicyRun, Failure> {
    let replication = &cell.replication;
    let policy = cell.contender.ours.as_ref();
    let scenario = &replication.scenario;
    let mut grid = scenario.grid_for(policy);
    scenario.fail_nodes(&mut grid, load.submissions.iter());
    let name = cell.name().unwrap_or_else(|| NO_BROKER.to_owned());
    let label = match replication.index {
        0 => name,
        index => format!("{name} r{index:03}"),
    };
    let progress = Progress::new(&label, load.submissions.len());
    let options = &RunOptions {
        monitoring: monitor::of_run(replication, policy, &options.monitoring),
        // What is there is its own.
        force: options.force || keeps_journals(scenario, options),
        ..options.clone()
    };
    let start = Start {
        scenario,
        grid: &grid,
        policy,
        load,
        tolerance: tolerance(scenario.clock),
    };
    let watch = options.watch.as_ref();
    let watching = watch.map(|watch| watch.start(position, &start));
    let mut running = match keeps_journals(scenario, options) {
        true => Running::of(cell, options)?,
        false => None,
    };
    let dir = write::directory(cell, options).filter(|_| !options.scratch);
    let (dir, running_now) = (dir.as_deref(), running.as_mut());
    let mut executed = execute::execute(&start, (options, dir), &progress, watching, running_now)?;
    tracing::info!(label, "has run");
    let run = conclude(cell, &grid, load, &mut executed, options)?;
    match running {
        Some(running) if executed.is_cut => running.give_up()?,
        Some(running) if run.interrupted => running.say(),
        Some(running) => running.end()?,
        None => {}
    }
    if let Some(watch) = watch {
        watch.finish(position, &run);
    }
    progress.finish(&run.one_line());
    Ok(run)
}

/// A trace of which no job can run anywhere is a mistake; single jobs that are
/// too wide are rejected and counted.
fn refuse_impossible(scenario: &Scenario, load: &Load) -> anyhow::Result<()> {
    let jobs = || load.submissions.iter().map(|job| &job.spec);
    let clusters = || scenario.grid.clusters.iter().map(|c| &c.config.resources);
    if jobs().any(|job| clusters().any(|resources| resources.could_run(&job.components))) {
        return Ok(());
    }
    let narrowest = jobs().map(|job| job.processors()).min().unwrap_or(0);
    let widest = clusters().map(Resources::processors).max().unwrap_or(0);
    bail!(
        "{}: no job can run anywhere: the narrowest wants {narrowest} processors, the largest \
         cluster has {widest} (expected at least one job that fits a cluster)",
        scenario.name
    )
}

fn refuse_truth_in_real_time(scenario: &Scenario) -> anyhow::Result<()> {
    let mut policies = scenario.policies.iter().flatten();
    let truth = policies.find(|policy| policy.entry().need == InformationNeed::Truth);
    if let (Some(policy), Clock::Real { .. }) = (truth, scenario.clock) {
        bail!(
            "{}: policy {policy} needs the present state of all clusters, which no real broker has (expected \
             clock = \"virtual\" or another policy)",
            scenario.name
        );
    }
    Ok(())
}

/// Whether the loop should go on.
fn keep_going(options: &RunOptions) -> std::ops::ControlFlow<()> {
    let watch = options.watch.as_ref();
    let stopped = watch.is_some_and(|watch| watch.stop_requested());
    match interrupt::requested() || stopped {
        true => std::ops::ControlFlow::Break(()),
        false => std::ops::ControlFlow::Continue(()),
    }
}

/// Resolves when somebody wants the run to end.
async fn wait_for_stop(options: &RunOptions) {
    match &options.watch {
        None => interrupt::wait().await,
        Some(watch) => {
            let stopped = async {
                while !watch.stop_requested() {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            };
            tokio::select! {
                () = interrupt::wait() => {}
                () = stopped => {}
            }
        }
    }
}
