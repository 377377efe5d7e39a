//! The jobs of a replication: its traces, read and reduced.

use super::background;
use crate::check;
use crate::scenario::{Replication, Scenario};
use anyhow::bail;
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::{Entry, Submission};
use gridrig_core::policy::PolicySpec;
use gridrig_core::resource::Resources;
use gridrig_core::time::SimTime;
use gridrig_results::names::unique;
use gridrig_results::rundir::{ChoiceDoc, ChosenShare, ChosenWindow};
use gridrig_results::{Measure, Stop};
use gridrig_tracelab::prepare::{self, Prepared};
use gridrig_tracelab::spec::{Keep, WorkloadSpec};
use std::collections::BTreeMap;

/// Where the jobs of a pooled run enter.
const POOLED_ENTRY: Entry = Entry::Cluster(ClusterId(0));

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
    pub(super) pooled_warnings: Vec<String>,
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
        let mut workloads: Vec<WorkloadInfo> = specs
            .zip(&prepared)
            .map(|(spec, p)| WorkloadInfo::of(spec, p))
            .collect();
        // Files of one name in two folders are two workloads.
        let names = unique(workloads.iter().map(|it| (it.name.clone(), None)));
        for (workload, name) in workloads.iter_mut().zip(names) {
            workload.name = name;
        }
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
        background::add_dummies(&scenario.grid, &mut submissions);
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
    pub(super) fn pooled(&self) -> Load {
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
        refuse_misnamed(scenario, spec, &prepared)?;
        Ok(prepared)
    };
    (0..).zip(&scenario.workloads).map(prepared).collect()
}

/// Only a broker that places components keeps to the clusters that jobs name, and only to its
/// own.
fn refuse_misnamed(
    scenario: &Scenario,
    spec: &WorkloadSpec,
    prepared: &Prepared,
) -> anyhow::Result<()> {
    let mut jobs = prepared.jobs.iter();
    let has_places =
        |job: &Submission| job.spec.components.name_clusters() || !job.spec.inputs.is_empty();
    let Some(first) = jobs.find(|job| has_places(job)) else {
        return Ok(());
    };
    let (name, trace) = (&scenario.name, spec.trace.display());
    let places = |policy: &Option<PolicySpec>| {
        let policy = policy.as_ref().map(PolicySpec::entry);
        policy.is_some_and(|policy| policy.placement.is_some())
    };
    if scenario.bounds || !scenario.policies.iter().all(places) {
        bail!(
            "{name}: {trace}: job {} names its cluster, or what it reads there (expected run.policies that all place \
             components, such as \"worst-fit\", and run.bounds = false)",
            first.label.trace_id
        );
    }
    for job in std::iter::once(first).chain(jobs) {
        let own: &[ClusterId] = match prepared.entry_of(job) {
            Entry::Domain(id) => &scenario.grid.domains[id.index()].clusters,
            Entry::Cluster(_) => &[],
        };
        if let Some(other) = job
            .spec
            .named_clusters()
            .find(|cluster| !own.contains(cluster))
        {
            bail!(
                "{name}: {trace}: job {} names cluster {} (expected one of the domain where it \
                 enters, by its position in the scenario from 1)",
                job.label.trace_id,
                other.index() + 1
            );
        }
    }
    Ok(())
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

/// A trace of which no job can run anywhere is a mistake; single jobs that are
/// too wide are rejected and counted.
pub(super) fn refuse_impossible(scenario: &Scenario, load: &Load) -> anyhow::Result<()> {
    let jobs = || load.submissions.iter().map(|job| &job.spec);
    let clusters = || scenario.grid.clusters.iter().map(|c| &c.config.resources);
    let all = scenario.grid.clusters.iter().map(|it| it.config.id);
    let all: Vec<ClusterId> = all.collect();
    if jobs().any(|job| scenario.could_run(&job.components, &all)) {
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
