//! Where a run goes: `OUT/SCENARIO-SEED/POLICY/rNNN`.

use super::cell::cannot_go_on;
use super::{Cell, CellNumber, Executed, Load, PolicyRun, RunOptions, background};
use crate::exit::Failure;
use crate::scenario::external::as_directory;
use crate::scenario::value::Str;
use crate::scenario::{Clock, POOLED_RESOURCES, Replication};
use crate::words::hex;
use anyhow::Context as _;
use gridrig_core::grid::Grid;
use gridrig_core::job::{Requirements, Submission};
use gridrig_core::time::SimDuration;
use gridrig_protocol::resources;
use gridrig_results::JobTable;
use gridrig_results::compare::differing;
use gridrig_results::rundir::{
    self, ChoiceDoc, EventsWriter, FileDoc, Manifest, RunFiles, ScaleDoc, StudyDoc, VariesDoc,
};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

/// So many settings are named in which runs differ that are there.
const MOST_SETTINGS: usize = 3;

/// What is in the directory of a run that is to be.
enum There {
    Nothing,
    /// Of the same scenario; whether it was broken off and can be gone on with.
    Same(bool),
    Other,
}

/// The options with the first directory of this scenario and seed where these runs may
/// go. A deterministic run of the very same scenario may be written again, since it is
/// the same run, and one that was broken off is gone on with; what is of other settings
/// stays where it is.
///
/// # Errors
/// When a directory cannot be looked at.
pub(super) fn placed(cells: &[&Cell], options: &RunOptions) -> anyhow::Result<RunOptions> {
    let mut options = options.clone();
    if options.force || options.resume || options.out.is_none() {
        return Ok(options);
    }
    loop {
        options.study += 1;
        let there = cells.iter().map(|cell| there(cell, &options));
        let there: Vec<There> = there.collect::<anyhow::Result<_>>()?;
        let mut deterministic = cells.iter().map(|it| it.replication.scenario.clock);
        if !there.iter().any(|it| matches!(it, There::Other)) {
            options.resume = there.iter().any(|it| matches!(it, There::Same(true)));
            let vacant = there.iter().all(|it| matches!(it, There::Nothing));
            if options.resume || vacant || deterministic.all(|it| it == Clock::Virtual) {
                return Ok(options);
            }
        }
    }
}

/// What a user is told whose runs go to another folder than the first of this scenario
/// and seed: what other settings the runs have that are there.
pub(super) fn why_elsewhere(cells: &[(CellNumber, Cell)], options: &RunOptions) -> Option<String> {
    let (cell, dir) = (1..options.study).find_map(|study| {
        let before = RunOptions {
            study,
            ..options.clone()
        };
        let mut cells = cells.iter().map(|(_, cell)| cell);
        let other = cells.find(|cell| matches!(there(cell, &before), Ok(There::Other)))?;
        Some((other, directory(other, &before)?))
    })?;
    let study = |dir: &Path| Some(dir.ancestors().nth(2)?.display().to_string());
    let (before, now) = (study(&dir)?, study(&directory(cell, options)?)?);
    let read = |text: &[u8]| toml::from_slice::<serde_json::Value>(text).ok();
    let written = rundir::read_file(&dir.join(rundir::names::SCENARIO)).ok();
    let here = cell.replication.scenario.to_resolved_toml();
    let both = written.and_then(|text| Some((read(&text)?, read(here.as_bytes())?)));
    let found = both.as_ref();
    let found = found.map_or(Vec::new(), |(one, other)| differing(one, other));
    let told = found.iter().take(MOST_SETTINGS);
    let mut told: Vec<String> = told
        .map(|it| format!("{}: {}, here {}", it.path, it.one, it.other))
        .collect();
    if found.len() > MOST_SETTINGS {
        told.push(format!("and {} more", found.len() - MOST_SETTINGS));
    }
    let why = match told.is_empty() {
        true if both.is_none() => "has no run that can be read".to_owned(),
        true => "has other settings".to_owned(),
        false => format!("has other settings ({})", told.join("; ")),
    };
    Some(format!("{before} {why}: this run goes to {now}"))
}

fn there(cell: &Cell, options: &RunOptions) -> anyhow::Result<There> {
    let Some(dir) = directory(cell, options) else {
        return Ok(There::Nothing);
    };
    Ok(match rundir::is_vacant(&dir)? {
        true => There::Nothing,
        false if is_of(&cell.replication, &dir) => {
            let goes_on = cannot_go_on(&cell.replication.scenario).is_none();
            There::Same(goes_on && dir.join(rundir::names::RUNNING).exists())
        }
        false => There::Other,
    })
}

/// Whether the run there is of this scenario.
pub(super) fn is_of(replication: &Replication, dir: &Path) -> bool {
    let text = rundir::read_file(&dir.join(rundir::names::SCENARIO));
    text.is_ok_and(|text| text == replication.scenario.to_resolved_toml().as_bytes())
}

/// The run directory; `None` when none is wanted.
pub(super) fn directory(cell: &Cell, options: &RunOptions) -> Option<PathBuf> {
    // The directory carries the seed the user gave, also where the seed is
    // what varies: its replications lie side by side.
    let replication = &cell.replication;
    let name = &replication.scenario.name;
    let run = folder(name, replication.base_seed, options.study);
    let policy = cell.name();
    let policy = policy.map_or_else(|| "no-broker".to_owned(), |name| as_directory(&name));
    let out = options.out.as_ref()?;
    let number = format!("r{:03}", replication.index);
    Some(out.join(run).join(policy).join(number))
}

/// The folder of all runs of a scenario of this name and seed.
pub fn folder(name: &str, seed: u64, study: u32) -> String {
    match study {
        0 | 1 => format!("{name}-{seed}"),
        number => format!("{name}-{seed}-{number}"),
    }
}

/// What the manifest says of files that are written.
type Files = BTreeMap<String, FileDoc>;

/// Audits, summarizes and writes a run.
///
/// # Errors
/// When it cannot be written.
pub fn conclude(
    cell: &Cell,
    grid: &Grid,
    load: &Load,
    executed: &mut Executed,
    options: &RunOptions,
) -> Result<PolicyRun, Failure> {
    let names: Vec<String> = load.workloads.iter().map(|w| w.name.clone()).collect();
    let table = JobTable::build(&executed.log, &load.submissions, grid, &names);
    executed.notes.extend(background::notes(grid, &table));
    let mut events = executed.events.take();
    // Until its manifest is there it is being run.
    let _held = events.as_mut().and_then(EventsWriter::take_hold);
    let executed = &*executed;
    let replication = &cell.replication;
    let scenario = &replication.scenario;
    let files = RunFiles {
        info: &Manifest {
            measure: scenario.measure.into(),
            ..Manifest::default()
        },
        scenario: &scenario.to_resolved_toml(),
        grid,
        document: Some(&scenario.document),
        submissions: &load.submissions,
        log: &executed.log,
        table: &table,
    };
    let dir = directory(cell, options);
    // The tables are written while the run is audited.
    let (mut run, tables) = thread::scope(|scope| {
        let tables = scope.spawn(|| match dir.as_deref().filter(|_| !options.scratch) {
            Some(dir) => {
                // Another process may have written a run there since this one began.
                let may_be_same = scenario.clock == Clock::Virtual;
                let force = options.force || (may_be_same && is_of(replication, dir));
                rundir::write_tables(dir, force, &files, events)
            }
            None => Ok(Files::new()),
        });
        let run = PolicyRun::new(cell, grid, load, executed, &table);
        tracing::info!("audited");
        (run, tables.join())
    });
    let tables = tables.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let tables = tables.map_err(Failure::run)?;
    if let Some(dir) = dir {
        write(
            &run,
            (cell, load, executed),
            (&dir, tables),
            &files,
            options,
        )?;
        run.dir = Some(dir);
    }
    tracing::info!("written");
    Ok(run)
}

/// Writes what there is of a run besides its tables.
fn write(
    run: &PolicyRun,
    (cell, load, executed): (&Cell, &Load, &Executed),
    (dir, tables): (&Path, Files),
    files: &RunFiles<'_>,
    options: &RunOptions,
) -> Result<(), Failure> {
    let replication = &cell.replication;
    let scenario = &replication.scenario;
    let chosen = load.workloads.iter();
    let chosen = chosen.filter(|it| it.choice != ChoiceDoc::default());
    let choices = chosen.map(|it| (it.name.clone(), it.choice.clone()));
    let info = Manifest {
        policy: cell.contender.name.clone(),
        seed: replication.seed,
        replication: replication.index,
        clock: run.summary.clock.clone(),
        measure: scenario.measure.into(),
        partial: run.interrupted || scenario.measure.stop == gridrig_results::Stop::LastArrival,
        tolerance: Str(executed.timer_tolerance),
        scenario_hash: hex(Sha256::digest(scenario.to_canonical_toml())),
        workload_hashes: workload_hashes(&load.submissions),
        trace_sha256: load
            .workloads
            .iter()
            .map(|w| (w.name.clone(), w.sha256.clone()))
            .collect(),
        failures_sha256: scenario
            .failure_files()
            .map(|(cluster, text)| (cluster.to_owned(), hex(Sha256::digest(text))))
            .collect(),
        policy_sha256: options
            .own
            .as_ref()
            .map(|own| own.files.clone())
            .unwrap_or_default(),
        choices: choices.collect(),
        versions: [("gridrig".to_owned(), env!("CARGO_PKG_VERSION").to_owned())].into(),
        study: study(replication),
        warnings: run.summary.warnings.clone(),
        summary: serde_json::to_value(&run.summary).map_err(Failure::run)?,
        host: host(executed, options)?,
        ..Manifest::default()
    };
    let files = RunFiles {
        info: &info,
        ..*files
    };
    if options.scratch {
        return rundir::write_scratch(dir, &files).map_err(Failure::run);
    }
    rundir::write_manifest(dir, &files, tables).map_err(Failure::run)?;
    if let Some(xml) = describe(replication)? {
        rundir::write_file(dir, POOLED_RESOURCES, xml.as_bytes()).map_err(Failure::run)?;
    }
    if let Some(said) = &executed.said {
        let into = dir.join("broker");
        let copied = said.copy(&into);
        let copied = copied.with_context(|| format!("{}: cannot be written", into.display()));
        copied.map_err(Failure::Run)?;
    }
    if options.csv {
        let (log, jobs) = (files.log, files.submissions);
        rundir::write_batsim_csv(dir, log, files.table, jobs, files.grid).map_err(Failure::run)?;
    }
    Ok(())
}

/// The nodes of a pooled cluster as a cluster file, which its resolved scenario
/// names; `None` where a number of processors says it all.
///
/// # Errors
/// Nodes that no cluster file can describe beside the others.
pub(super) fn describe(replication: &Replication) -> anyhow::Result<Option<String>> {
    let scenario = &replication.scenario;
    let from_file = scenario.clusters().next();
    let from_file = from_file.is_some_and(|cluster| cluster.resources.is_some());
    let cluster = scenario.grid.clusters.first();
    let Some(cluster) = cluster.filter(|_| from_file && replication.pooled) else {
        return Ok(None);
    };
    let xml = resources::write(&cluster.config.resources).context(
        "run.bounds = true: the clusters make no pooled cluster (expected all of them with \
         processors, or all with resources)",
    );
    xml.map(Some)
}

/// What a comparison of runs has to know of this one.
fn study(replication: &Replication) -> StudyDoc {
    let scenario = &replication.scenario;
    StudyDoc {
        scenario: scenario.name.clone(),
        key: replication.key.clone(),
        varies: replication.varies.map(|varies| VariesDoc {
            over: varies.over.name().to_owned(),
            count: varies.count,
            step: varies.step.map(|step| step.to_string()),
            overlap: scenario.overlap(varies),
        }),
        scale: Some(ScaleDoc {
            arrival: scenario.compression().as_f64(),
            run_time: scenario.run_time_compression().as_f64(),
        }),
        primary: scenario.primary.iter().map(ToString::to_string).collect(),
        require: scenario.require.iter().map(ToString::to_string).collect(),
        relevant: scenario
            .relevant
            .iter()
            .map(|(figure, least)| (figure.to_string(), *least))
            .collect(),
        bounds: scenario.bounds,
    }
}

/// Two runs with the same hash `all` were given the same jobs at the same
/// instants: that is what pairs them. `jobs` leaves out where they enter, so
/// that a run of one pooled cluster is known as one of the same jobs.
pub(super) fn workload_hashes(submissions: &[Submission]) -> BTreeMap<String, String> {
    let hash =
        |(name, entries): (&str, bool)| (name.to_owned(), workload_hash(submissions, entries));
    [("all", true), ("jobs", false)].map(hash).into()
}

pub(super) fn workload_hash(submissions: &[Submission], entries: bool) -> String {
    let mut hash = Sha256::new();
    // Most jobs want what the one before them does.
    let mut before: Option<&Submission> = None;
    let (mut entry, mut wanted) = (String::new(), String::new());
    for submission in submissions {
        let spec = &submission.spec;
        let wants = &spec.components.first.requirements;
        if before.is_none_or(|it| it.entry != submission.entry) {
            entry = format!("{:?}", submission.entry);
        }
        if before.is_none_or(|it| it.spec.components.first.requirements != *wants) {
            // As ever where there are no generic resources: hashes of older runs hold.
            let (of_nodes, most) = (wanted_of_nodes(wants), most_per_node(wants));
            wanted = format!("{of_nodes} }}{}{most}", wants.generic);
        }
        before = Some(submission);
        let requested = spec.requested_time.map_or(u64::MAX, SimDuration::as_nanos);
        let mut fixed = [0; 36];
        fixed[..8].copy_from_slice(&submission.at.as_nanos().to_le_bytes());
        fixed[8..16].copy_from_slice(&spec.run_time.as_nanos().to_le_bytes());
        fixed[16..24].copy_from_slice(&requested.to_le_bytes());
        fixed[24..28].copy_from_slice(&spec.processors().to_le_bytes());
        fixed[28..].copy_from_slice(&submission.label.trace_id.to_le_bytes());
        hash.update(fixed);
        if entries {
            hash.update(&entry);
        }
        hash.update(&wanted);
        for component in &spec.components.more {
            let wants = &component.requirements;
            hash.update(format!(
                "Component {{ processors: {}, requirements: {}, generic: {:?} }} }}{}",
                component.processors,
                wanted_of_nodes(wants),
                wants.generic,
                most_per_node(wants)
            ));
        }
        if spec.components.name_clusters() || spec.division.is_some() {
            let named = spec.components.iter().map(|one| one.cluster);
            let named: Vec<_> = named.collect();
            hash.update(format!("{named:?}{:?}", spec.division));
        }
        if !spec.inputs.is_empty() {
            hash.update(format!("{:?}", spec.inputs));
        }
    }
    hex(hash.finalize())
}

fn wanted_of_nodes(wants: &Requirements) -> String {
    format!(
        "Requirements {{ architecture: {:?}, os: {:?}, memory_kib: {}, disk_mib: {}, \
         speed_millionths: {}",
        wants.architecture, wants.os, wants.memory_kib, wants.disk_mib, wants.speed_millionths
    )
}

/// Nothing where it may be any number, as in runs of before.
fn most_per_node(wants: &Requirements) -> String {
    match wants.most_per_node {
        0 => String::new(),
        most => format!(" most_per_node: {most}"),
    }
}

/// When a run begins, from which it is told how long it took.
#[allow(
    clippy::disallowed_methods,
    reason = "how long it took stands under host, outside the same bytes"
)]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// What differs between two equal runs.
#[allow(
    clippy::disallowed_methods,
    reason = "the date stands under host, outside the same bytes"
)]
fn host(
    executed: &Executed,
    options: &RunOptions,
) -> Result<BTreeMap<String, serde_json::Value>, Failure> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seconds = now.map_or(0, |since| since.as_secs());
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let mut host = BTreeMap::from([
        ("written_unix_s".to_owned(), seconds.into()),
        ("hostname".to_owned(), name.trim().into()),
        ("os".to_owned(), std::env::consts::OS.into()),
        ("arch".to_owned(), std::env::consts::ARCH.into()),
        (
            "peak_memory_mib".to_owned(),
            crate::memory::peak_mib().into(),
        ),
    ]);
    if let Some(own) = &options.own {
        let (lines, wall_s) = own.asked();
        host.insert("policy_lines".to_owned(), lines.into());
        host.insert("policy_wall_s".to_owned(), wall_s.into());
    }
    // One that was continued has taken longer than its last life.
    if let Some(began) = options.began.filter(|_| executed.gaps.is_empty()) {
        host.insert("wall_s".to_owned(), began.elapsed().as_secs_f64().into());
    }
    if !executed.gaps.is_empty() {
        let gaps = serde_json::to_value(&executed.gaps).map_err(Failure::run)?;
        host.insert("gaps".to_owned(), gaps);
    }
    Ok(host)
}
