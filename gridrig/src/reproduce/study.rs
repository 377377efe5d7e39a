//! The runs of a study: scenarios with settings, their replications and random
//! samples of their jobs, each in virtual time and audited.

use crate::own_policy;
use crate::runner::{Cell, Executed, Load, RunOptions, cells, conclude, each};
use crate::scenario::{Clock, Replication, Scenario};
use anyhow::{bail, ensure};
use gridrig_core::grid::Grid;
use gridrig_core::ids::DomainId;
use gridrig_core::job::{Entry, Submission};
use gridrig_core::time::SimDuration;
use gridrig_drivers::virtual_time;
use gridrig_results::EventLog;
use gridrig_results::stats::Distribution;
use gridrig_tracelab::characterize::Columns;
use gridrig_tracelab::characterize::demand::Demand;
use gridrig_tracelab::reduce::lowest_draws;
use gridrig_tracelab::spec::{Keep, WorkloadSpec};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::thread::available_parallelism;

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The name of the scenario's file.
    pub scenario: String,
    /// Its settings.
    pub set: Vec<String>,
    /// How many random samples.
    pub samples: u32,
}

/// The figures of one replication or sample, by policy and path.
pub type Figures = BTreeMap<String, BTreeMap<String, f64>>;

/// The figures of all runs of a key.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// Of every replication.
    pub ours: Vec<Figures>,
    /// Of every random sample.
    pub samples: Vec<Figures>,
}

/// What the jobs of a replication are made from.
#[derive(PartialEq)]
struct Made {
    key: String,
    shake: Option<SimDuration>,
    workloads: Vec<WorkloadSpec>,
}

/// The jobs, and what they were made from.
type Kept = (Made, Arc<Load>);

/// Where things are, and what is wanted of a run.
pub struct Study<'a> {
    /// The checkout.
    pub root: &'a Path,
    /// The folder of the archive's logs: `{archive}` in settings.
    pub archive: &'a Path,
    /// The paths of the figures.
    pub figures: &'a BTreeSet<String>,
}

impl Study<'_> {
    /// The scenario of a key under these policies.
    ///
    /// # Errors
    /// Input errors: a log that is not there, with where to get it.
    pub fn scenario(&self, key: &Key, policies: &BTreeSet<String>) -> anyhow::Result<Scenario> {
        let archive = self.archive.display().to_string();
        let mut sets = Vec::new();
        for set in &key.set {
            if let Some((_, log)) = set.split_once("{archive}/")
                && !self.archive.join(log).is_file()
            {
                bail!(
                    "--archive {archive}: there is no {log} (expected the log of this name from \
                     the Parallel Workloads Archive, \
                     https://www.cs.huji.ac.il/labs/parallel/workload/logs.html)"
                );
            }
            sets.push(set.replace("{archive}", &archive));
        }
        sets.push(format!("run.policies={}", json!(policies)));
        sets.push("run.bounds=false".to_owned());
        let folder = self.root.join("resources/scenarios");
        let scenario = Scenario::load(&folder.join(&key.scenario), &sets)?;
        ensure!(
            scenario.clock == Clock::Virtual && scenario.fault_plan().is_none(),
            "{}: expected virtual time and no faults",
            key.scenario
        );
        Ok(scenario)
    }

    /// Runs all that these keys ask for, several at a time.
    ///
    /// # Errors
    /// Input errors of the workload; a run that its audit finds fault with.
    pub fn run_every(&self, all: &[(Scenario, Key)]) -> anyhow::Result<BTreeMap<Key, Runs>> {
        // The jobs of the last key of each worker.
        let idle: Mutex<Vec<Vec<Kept>>> = Mutex::default();
        let workers = available_parallelism().map_or(1, NonZero::get);
        let tasks = all.iter().enumerate();
        let runs = each(workers, tasks, Result::is_ok, |(at, (scenario, key))| {
            let (name, set) = (&key.scenario, key.set.join(" "));
            eprintln!("{} of {}: {name} {set}", at + 1, all.len());
            let mut kept = idle.lock().pop().unwrap_or_default();
            let runs = self.run(key, scenario, &mut kept)?;
            idle.lock().push(kept);
            anyhow::Ok((key.clone(), runs))
        });
        runs.into_iter().collect()
    }

    /// Runs all that a key asks for. Jobs that the key before had too, and which are
    /// `kept`, are not made again.
    fn run(&self, key: &Key, scenario: &Scenario, kept: &mut Vec<Kept>) -> anyhow::Result<Runs> {
        let mut runs = Runs::default();
        let before = std::mem::take(kept);
        for replication in scenario.replications() {
            let made_from = Made {
                key: replication.key.clone(),
                shake: replication.shake,
                workloads: replication.scenario.workloads.clone(),
            };
            let known = before.iter().find(|(from, _)| *from == made_from);
            let load = match known {
                Some((_, load)) => Arc::clone(load),
                None => Arc::new(Load::prepare(&replication)?),
            };
            kept.push((made_from, Arc::clone(&load)));
            runs.ours.push(self.run_all(&replication, &load)?);
            if key.samples > 0 {
                let wanted = load.submissions.len();
                runs.samples = self.sample(key.samples, replication, wanted)?;
            }
        }
        Ok(runs)
    }

    /// Random samples of so many jobs of the window that the replication reduces.
    fn sample(
        &self,
        count: u32,
        mut replication: Replication,
        wanted: usize,
    ) -> anyhow::Result<Vec<Figures>> {
        for workload in &mut replication.scenario.workloads {
            workload.keep = Keep::All;
        }
        let mut load = Load::prepare(&replication)?;
        let all = std::mem::take(&mut load.submissions);
        let sample = |seed| {
            let kept = lowest_draws(all.len(), wanted, seed).into_iter();
            load.submissions = kept.map(|index| all[index].clone()).collect();
            load.number();
            self.run_all(&replication, &load)
        };
        (1..=u64::from(count)).map(sample).collect()
    }

    fn run_all(&self, replication: &Replication, load: &Load) -> anyhow::Result<Figures> {
        let of_workload = workload(load, &replication.scenario.grid);
        let cells = cells(&replication.scenario, replication);
        let run = |cell: &Cell| {
            let (name, mut summary) = run(cell, load)?;
            summary["workload"] = of_workload.clone();
            let value = |path: &String| {
                let value = summary.pointer(&format!("/{}", path.replace('.', "/")));
                Some((path.clone(), value?.as_f64()?))
            };
            Ok((name, self.figures.iter().filter_map(value).collect()))
        };
        cells.iter().map(run).collect()
    }
}

/// A run, and its summary.
fn run(cell: &Cell, load: &Load) -> anyhow::Result<(String, Value)> {
    let scenario = &cell.replication.scenario;
    let policy = cell.contender.ours.as_ref();
    own_policy::refuse(policy, Some(&scenario.grid), "a study")?;
    let grid = scenario.grid_for(policy);
    let jobs = &load.submissions;
    let mut log = EventLog::default();
    let options = virtual_time::Options {
        seed: scenario.seed,
        stop_at: load.stop_at(&scenario.measure),
        ..virtual_time::Options::default()
    };
    let go_on = |_, _| ControlFlow::Continue(());
    virtual_time::run(&grid, jobs, &options, &mut log, go_on);
    let mut executed = Executed {
        log,
        ..Executed::default()
    };
    let run = conclude(cell, &grid, load, &mut executed, &RunOptions::default());
    let run = run.map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
    if let Some(violation) = run.violations.first() {
        bail!("{}: audit: {violation}", run.name());
    }
    Ok((run.name().to_owned(), serde_json::to_value(&run.summary)?))
}

/// Tables 1 and 2 and Figures 7 and 8 of LSAP, and Figure 2 of Iosup et al.: what the
/// jobs are like.
fn workload(load: &Load, grid: &Grid) -> Value {
    let jobs = || load.submissions.iter();
    let columns = Columns {
        submits: jobs()
            .map(|job| SimDuration::from_nanos(job.at.as_nanos()))
            .collect(),
        run_times: jobs().map(|job| job.spec.run_time).collect(),
        sizes: jobs().map(|job| job.spec.processors()).collect(),
        users: Vec::new(),
    };
    let demand = Demand::of(&columns, 1, None);
    json!({
        "jobs": columns.sizes.len(),
        "run_time_s": Distribution::of(columns.run_times.iter().map(|run| run.as_secs_f64())),
        "processors": Distribution::of(columns.sizes.iter().map(|size| f64::from(*size))),
        "peak": demand.peak_processors,
        "peak_at_s": demand.peak_processors_at_s,
        "imbalance": imbalance(&load.submissions, grid),
    })
}

/// How uneven arrivals are between the domains of one grid, where that is most (Iosup et
/// al., 2.2): over the whole time by jobs a processor, and within an hour by jobs, of
/// domains that have some in it.
fn imbalance(submissions: &[Submission], grid: &Grid) -> Value {
    let mut overall = BTreeMap::new();
    let mut hourly: BTreeMap<(u64, _), BTreeMap<DomainId, f64>> = BTreeMap::new();
    for job in submissions {
        if let Entry::Domain(domain) = job.entry {
            let its = grid.domains[domain.index()].topology.grid.as_deref();
            let hour = job.at.as_nanos() / SimDuration::from_secs(3600).as_nanos();
            let jobs = hourly.entry((hour, its)).or_default();
            *jobs.entry(domain).or_default() += 1.0;
            let jobs: &mut BTreeMap<DomainId, f64> = overall.entry(its).or_default();
            *jobs.entry(domain).or_default() += 1.0 / processors_of(grid, domain);
        }
    }
    let widest = |groups: &mut dyn Iterator<Item = &BTreeMap<DomainId, f64>>| {
        let ratios = groups.map(|group| {
            let all = || group.values().copied();
            all().fold(0.0, f64::max) / all().fold(f64::INFINITY, f64::min)
        });
        ratios.fold(1.0, f64::max)
    };
    json!({
        "overall": widest(&mut overall.values()),
        "temporary": widest(&mut hourly.values()),
    })
}

/// Processors of a domain, at least one.
fn processors_of(grid: &Grid, domain: DomainId) -> f64 {
    let clusters = grid.domains[domain.index()].clusters.iter();
    let processors = clusters.map(|id| grid.clusters[id.index()].config.resources.processors());
    f64::from(processors.sum::<u32>().max(1))
}
