//! Where a run goes: `OUT/SCENARIO-SEED/POLICY/rNNN`.

use super::{Cell, Executed, Load, PolicyRun, RunOptions};
use crate::exit::Failure;
use crate::scenario::external::as_directory;
use crate::scenario::value::Str;
use crate::scenario::{Clock, POOLED_RESOURCES, Replication};
use crate::words::hex;
use anyhow::{Context as _, bail};
use gridrig_core::grid::Grid;
use gridrig_core::job::Submission;
use gridrig_core::time::SimDuration;
use gridrig_protocol::resources;
use gridrig_results::JobTable;
use gridrig_results::rundir::{self, ChoiceDoc, Manifest, RunFiles, ScaleDoc, StudyDoc, VariesDoc};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Refuses to overwrite somebody else's run. A deterministic run of the very
/// same scenario may be written again: it is the same run.
pub(super) fn refuse_existing(cell: &Cell, options: &RunOptions) -> anyhow::Result<()> {
    let Some(dir) = directory(cell, options) else {
        return Ok(());
    };
    if !dir.exists() || options.force || options.resume || is_same_run(&cell.replication, &dir) {
        return Ok(());
    }
    let broken_off = match dir.join(rundir::names::RUNNING).exists() {
        true => "; or --resume it",
        false => "",
    };
    let dir = dir.display();
    bail!(
        "{dir}: holds another run already (expected a new directory; give another --out, or \
         --force{broken_off})"
    )
}

fn is_same_run(replication: &Replication, dir: &Path) -> bool {
    let text = rundir::read_file(&dir.join(rundir::names::SCENARIO));
    let scenario = &replication.scenario;
    scenario.clock == Clock::Virtual
        && text.is_ok_and(|text| text == scenario.to_resolved_toml().as_bytes())
}

/// The run directory; `None` when none is wanted.
pub(super) fn directory(cell: &Cell, options: &RunOptions) -> Option<PathBuf> {
    // The directory carries the seed the user gave, also where the seed is
    // what varies: its replications lie side by side.
    let replication = &cell.replication;
    let run = format!("{}-{}", replication.scenario.name, replication.base_seed);
    let policy = cell.name();
    let policy = policy.map_or_else(|| "no-broker".to_owned(), |name| as_directory(&name));
    let out = options.out.as_ref()?;
    let number = format!("r{:03}", replication.index);
    Some(out.join(run).join(policy).join(number))
}

/// Writes a run; answers where.
pub(super) fn write(
    run: &PolicyRun,
    cell: &Cell,
    grid: &Grid,
    load: &Load,
    executed: &Executed,
    table: &JobTable,
    options: &RunOptions,
) -> Result<Option<PathBuf>, Failure> {
    let log = &executed.log;
    let Some(dir) = directory(cell, options) else {
        return Ok(None);
    };
    let replication = &cell.replication;
    let scenario = &replication.scenario;
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
        choices: choices(load),
        versions: versions(),
        study: study(replication),
        warnings: run.summary.warnings.clone(),
        summary: serde_json::to_value(&run.summary).map_err(Failure::run)?,
        host: host(executed)?,
        ..Manifest::default()
    };
    let text = scenario.to_resolved_toml();
    let files = RunFiles {
        info: &info,
        scenario: &text,
        grid,
        document: Some(&scenario.document),
        submissions: &load.submissions,
        log,
        table,
    };
    if options.scratch {
        rundir::write_scratch(&dir, &files).map_err(Failure::run)?;
        return Ok(Some(dir));
    }
    // Another process may have written a run there since this one began.
    let force = options.force || is_same_run(replication, &dir);
    rundir::write(&dir, force, &files).map_err(Failure::run)?;
    if let Some(xml) = describe(replication)? {
        rundir::write_file(&dir, POOLED_RESOURCES, xml.as_bytes()).map_err(Failure::run)?;
    }
    if let Some(said) = &executed.said {
        let into = dir.join("broker");
        said.copy(&into).map_err(|error| unwritten(&into, error))?;
    }
    if options.csv {
        rundir::write_batsim_csv(&dir, log, table, &load.submissions, grid)
            .map_err(Failure::run)?;
    }
    Ok(Some(dir))
}

fn unwritten(path: &Path, error: std::io::Error) -> Failure {
    let what = format!("{}: cannot be written", path.display());
    Failure::Run(anyhow::Error::new(error).context(what))
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
fn choices(load: &Load) -> BTreeMap<String, ChoiceDoc> {
    let workloads = load.workloads.iter();
    let chosen = workloads.filter(|workload| workload.choice != ChoiceDoc::default());
    chosen
        .map(|workload| (workload.name.clone(), workload.choice.clone()))
        .collect()
}

fn workload_hashes(submissions: &[Submission]) -> BTreeMap<String, String> {
    let hash =
        |(name, entries): (&str, bool)| (name.to_owned(), workload_hash(submissions, entries));
    [("all", true), ("jobs", false)].map(hash).into()
}

pub(super) fn workload_hash(submissions: &[Submission], entries: bool) -> String {
    let mut hash = Sha256::new();
    for submission in submissions {
        let spec = &submission.spec;
        let requested = spec.requested_time.map_or(u64::MAX, SimDuration::as_nanos);
        hash.update(submission.at.as_nanos().to_le_bytes());
        hash.update(spec.run_time.as_nanos().to_le_bytes());
        hash.update(requested.to_le_bytes());
        hash.update(spec.processors().to_le_bytes());
        hash.update(submission.label.trace_id.to_le_bytes());
        if entries {
            hash.update(format!("{:?}", submission.entry));
        }
        let wanted = &spec.components.first.requirements;
        // As ever where there are no generic resources: hashes of older runs hold.
        hash.update(format!(
            "Requirements {{ architecture: {:?}, os: {:?}, memory_kib: {}, disk_mib: {}, \
             speed_millionths: {} }}",
            wanted.architecture,
            wanted.os,
            wanted.memory_kib,
            wanted.disk_mib,
            wanted.speed_millionths
        ));
        hash.update(wanted.generic.to_string());
        for component in &spec.components.more {
            hash.update(format!("{component:?}"));
        }
    }
    hex(hash.finalize())
}

fn versions() -> BTreeMap<String, String> {
    BTreeMap::from([("gridrig".to_owned(), env!("CARGO_PKG_VERSION").to_owned())])
}

/// What differs between two equal runs.
#[allow(
    clippy::disallowed_methods,
    reason = "the date stands under host, outside the same bytes"
)]
fn host(executed: &Executed) -> Result<BTreeMap<String, serde_json::Value>, Failure> {
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
    if !executed.gaps.is_empty() {
        let gaps = serde_json::to_value(&executed.gaps).map_err(Failure::run)?;
        host.insert("gaps".to_owned(), gaps);
    }
    Ok(host)
}
