//! `manifest.json`: what the run was.

use super::open::read_file;
use super::{Result, RunDirError, RunFiles, names};
use crate::log::InfoAge;
use crate::measure::{Measure, Stop};
use crate::names::Names;
use gridrig_core::event::{MessageKind, Party};
use gridrig_core::ids::DomainId;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_scenario::POOLED;
use gridrig_scenario::grid::GridDoc;
use gridrig_scenario::value::{Duration, Name, Str};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Version of the run directory: raised when a reader of it has to know.
pub const MANIFEST_FORMAT: u32 = 1;

/// What the reduction of a workload was left to choose, and chose. Durations are
/// strings with their unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChoiceDoc {
    /// The window that represents the log best; null where it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<ChosenWindow>,
    /// The share that loads the cluster as wanted; null where it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<ChosenShare>,
}

/// A window that was chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChosenWindow {
    /// From the log's time 0.
    pub start: String,
    /// How long.
    pub length: String,
    /// Windows that were ranked.
    pub considered: u64,
}

/// A share that was chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChosenShare {
    /// Probability of each job, a decimal.
    pub share: String,
    /// Seed of the stream that draws.
    pub seed: u64,
    /// The load that was asked for.
    pub offered: String,
}

/// What a comparison of runs has to know of one, and its files do not say.
/// Runs of before this was written have the default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StudyDoc {
    /// The name of the scenario.
    pub scenario: String,
    /// What tells the replication from the others, such as `window+604800s`.
    pub key: String,
    /// What varies between replications; null if it is the only one.
    pub varies: Option<VariesDoc>,
    /// By how much the trace is compressed, at most.
    pub scale: Option<ScaleDoc>,
    /// What policies are compared by, such as `delay_s.mean`.
    pub primary: Vec<String>,
    /// Bounds that the run has to keep, such as `delay_s.p95 < 60`.
    pub require: Vec<String>,
    /// The smallest differences that matter, by figure; absent where nobody said.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub relevant: BTreeMap<String, f64>,
    /// Whether its scenario makes the bounds too: `local-only`,
    /// `full-information` and a pooled cluster.
    pub bounds: bool,
}

/// What varies between the replications of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VariesDoc {
    /// `window`, `sample-phase`, `seed`, `broker-phase` or `shake`.
    pub over: String,
    /// How many replications were asked for.
    pub count: u32,
    /// How far they lie apart (`window`), or the bound of the move (`shake`), a
    /// duration; null for what has none.
    #[serde(default)]
    pub step: Option<String>,
    /// Why the samples share jobs, if they do.
    pub overlap: Option<String>,
}

/// Divisors of trace times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaleDoc {
    /// Of inter-arrival times.
    pub arrival: f64,
    /// Of run times.
    pub run_time: f64,
}

/// The document. Everything except `host` is the same for the same seed. Who
/// writes a run directory gives what it knows; what the grid, the jobs and the log
/// tell is added.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// [`MANIFEST_FORMAT`] of the writer.
    pub format: u32,
    /// The policy; null without a broker.
    pub policy: Option<String>,
    /// The seed.
    pub seed: u64,
    /// Which replication, from 0.
    pub replication: u32,
    /// `virtual` or `real`.
    pub clock: String,
    /// Whether jobs may be left over: the run was interrupted, or stopped
    /// with the last arrival.
    pub partial: bool,
    /// Tolerance of the audit: 0 in virtual time.
    pub tolerance: Duration,
    /// What was measured.
    pub measure: MeasureDoc,
    /// Hash of the resolved scenario.
    pub scenario_hash: String,
    /// Hash of each workload as replayed, by its name.
    pub workload_hashes: BTreeMap<String, String>,
    /// SHA-256 of each trace file, by its path in the scenario.
    pub trace_sha256: BTreeMap<String, String>,
    /// SHA-256 of each file of node failures, by the name of the cluster; absent where
    /// there is none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures_sha256: BTreeMap<String, String>,
    /// SHA-256 of each file among the words of a policy of the user's own, by its path in
    /// the scenario; absent where there is none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub policy_sha256: BTreeMap<String, String>,
    /// What the reduction was left to choose, by the trace's path in the
    /// scenario; absent where it was left nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub choices: BTreeMap<String, ChoiceDoc>,
    /// Versions of what decides the numbers.
    pub versions: BTreeMap<String, String>,
    /// What a comparison has to know.
    #[serde(default)]
    pub study: StudyDoc,
    /// Processor-seconds of all jobs over the capacity of all clusters from
    /// the first to the last arrival; null without that span.
    #[serde(default)]
    pub offered_load: Option<f64>,
    /// What the reader must know.
    pub warnings: Vec<String>,
    /// Names of the workloads, in the order of the scenario.
    pub workloads: Vec<String>,
    /// Domains, clusters with their nodes, and links.
    pub grid: GridDoc,
    /// Messages by kind.
    pub messages: BTreeMap<String, u64>,
    /// Information messages by sender and receiver; the event log does not
    /// have them one by one.
    pub info_messages: Vec<InfoDoc>,
    /// The instant of the run's last event.
    pub end_ns: u64,
    /// The other files.
    pub files: BTreeMap<String, FileDoc>,
    /// One element of `runs` in `run --json`; null if it was not computed.
    pub summary: serde_json::Value,
    /// Dates, host and anything else that differs between two equal runs.
    pub host: BTreeMap<String, serde_json::Value>,
}

/// What was measured, with durations as text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasureDoc {
    /// From this instant.
    pub from: Duration,
    /// To this one; null is the last finish.
    pub until: Option<Duration>,
    /// `drained` or `last-arrival`.
    pub stop: Str<Name<Stop>>,
    /// Bound of the bounded slowdown, in the time of the run.
    pub tau: Duration,
    /// Whether jobs that enter at a cluster, past any broker, are measured; absent if they
    /// are.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub direct: bool,
}

fn yes() -> bool {
    true
}

impl Default for MeasureDoc {
    fn default() -> Self {
        Measure::default().into()
    }
}

/// Information messages between two parties.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InfoDoc {
    /// Who sent.
    pub from: String,
    /// Who received.
    pub to: String,
    /// How many.
    pub count: u64,
    /// How old what the receiver knew was; absent if nothing arrived, and in
    /// manifests of before it was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<InfoAge>,
}

/// A file of the run directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDoc {
    /// SHA-256 in hexadecimal.
    pub sha256: String,
    /// Length in bytes.
    pub bytes: u64,
    /// Rows of a Parquet file; null for any other.
    pub rows: Option<u64>,
}

/// How many rows the manifest beside a table says that it has.
pub(super) fn read_rows(table: &Path) -> Result<Option<u64>> {
    /// The rest of it is for who reads the run.
    #[derive(Deserialize)]
    struct Files {
        files: BTreeMap<String, FileDoc>,
    }
    let (path, text) = read_text(table.parent().unwrap_or(table))?;
    let parsed: Result<Files, _> = serde_json::from_slice(&text);
    let files = parsed
        .map_err(|source| RunDirError::Manifest(path, source))?
        .files;
    let name = table.file_name().unwrap_or_default().to_string_lossy();
    Ok(files.get(&*name).and_then(|doc| doc.rows))
}

/// Reads the manifest alone.
///
/// # Errors
/// When it is missing, no manifest, of a format to come, or names files that lie
/// elsewhere.
pub fn read_manifest(dir: &Path) -> Result<Manifest> {
    let (path, text) = read_text(dir)?;
    let parsed: Result<Manifest, _> = serde_json::from_slice(&text);
    let manifest = parsed.map_err(|source| RunDirError::Manifest(path, source))?;
    if manifest.format != MANIFEST_FORMAT {
        let found = manifest.format.to_string();
        return Err(RunDirError::field(dir, "format", found, "1"));
    }
    // A name must not lead elsewhere.
    let is_plain = |name: &str| {
        let alone = Path::new(name).file_name().is_some_and(|own| own == name);
        alone && !name.contains('\\')
    };
    if let Some(name) = manifest.files.keys().find(|name| !is_plain(name)) {
        return Err(RunDirError::field(dir, "files", name, "plain file names"));
    }
    Ok(manifest)
}

/// The manifest's path and text.
fn read_text(dir: &Path) -> Result<(PathBuf, Vec<u8>)> {
    let path = dir.join(names::MANIFEST);
    let action = "read the manifest (expected the directory of one run)";
    let text = read_file(&path).map_err(RunDirError::io(action, &path))?;
    Ok((path, text))
}

impl Manifest {
    /// What a run is called in lists: its policy; `pooled` for the bound that
    /// has every node of the grid in one cluster and no broker; else nothing.
    pub fn policy_or_bound(&self) -> Option<String> {
        let pooled = self.grid.is_pooled().then(|| POOLED.to_owned());
        self.policy.clone().or(pooled)
    }

    /// How its replication is named.
    pub fn key(&self) -> String {
        match self.study.key.as_str() {
            "" => format!("replication {}", self.replication),
            key => key.to_owned(),
        }
    }

    /// Its clusters with their utilization, as its summary has them.
    pub(crate) fn cluster_loads(&self) -> Vec<(String, Option<f64>)> {
        let clusters = self.summary["clusters"].as_array();
        let one = |cluster: &serde_json::Value| {
            let name = cluster["cluster"].as_str().unwrap_or_default();
            (name.to_owned(), cluster["utilization"].as_f64())
        };
        clusters.into_iter().flatten().map(one).collect()
    }

    pub(super) fn new(run: &RunFiles<'_>, files: BTreeMap<String, FileDoc>) -> Self {
        let names = run.table.names();
        let messages =
            MessageKind::ALL.map(|kind| (kind.name().to_owned(), run.log.messages(kind)));
        let grid = GridDoc::of(
            run.grid,
            |id| names.domain(id).into_owned(),
            |id| names.cluster(id).into_owned(),
            run.document,
        );
        Manifest {
            format: MANIFEST_FORMAT,
            offered_load: offered_load(run, grid.processors()),
            workloads: run.table.workloads.clone(),
            grid,
            messages: messages.into_iter().collect(),
            info_messages: info_docs(run, names),
            end_ns: run.log.end().as_nanos(),
            files,
            ..run.info.clone()
        }
    }
}

fn offered_load(run: &RunFiles<'_>, processors: u64) -> Option<f64> {
    let first = run.submissions.iter().map(|job| job.at).min()?;
    let last = run.submissions.iter().map(|job| job.at).max()?;
    let work = run
        .submissions
        .iter()
        .map(|job| u128::from(job.spec.processors()) * u128::from(job.spec.run_time.as_nanos()));
    let capacity = u128::from(processors) * u128::from(last.since(first).as_nanos());
    (capacity > 0).then(|| work.sum::<u128>() as f64 / capacity as f64)
}

fn info_docs(run: &RunFiles<'_>, names: &Names) -> Vec<InfoDoc> {
    let messages = run.log.info_messages();
    let links = run.grid.links.iter();
    let links: BTreeMap<(DomainId, DomainId), SimDuration> = links
        .map(|link| ((link.provider, link.consumer), link.latency))
        .collect();
    // How long information takes between two parties of the grid.
    let latency = |from: Party, to: Party| match (from, to) {
        (Party::Lrms(_), Party::Broker(domain)) => {
            Some(run.grid.domains.get(domain.index())?.broker.lrms_latency)
        }
        (Party::Broker(provider), Party::Broker(consumer)) => {
            links.get(&(provider, consumer)).copied()
        }
        _ => None,
    };
    let doc = |(from, to, count, _)| InfoDoc {
        from: names.party(from).into_owned(),
        to: names.party(to).into_owned(),
        count,
        age: latency(from, to).and_then(|latency| run.log.info_age(from, to, latency)),
    };
    messages.map(doc).collect()
}

impl From<Measure> for MeasureDoc {
    fn from(measure: Measure) -> Self {
        let instant = |at: SimTime| Str(at.since(SimTime::ZERO));
        MeasureDoc {
            from: instant(measure.from),
            until: measure.until.map(instant),
            stop: Str(Name(measure.stop)),
            tau: Str(measure.tau),
            direct: measure.direct,
        }
    }
}

impl MeasureDoc {
    /// Tau as people read it, such as `0.167 s`.
    pub fn tau_in_seconds(&self) -> String {
        format!("{:.3} s", self.tau.0.as_secs_f64())
    }

    /// What it says.
    pub fn read(&self) -> Measure {
        let instant = |Str(length): Duration| SimTime::ZERO + length;
        Measure {
            from: instant(self.from),
            until: self.until.map(instant),
            stop: self.stop.0.0,
            tau: self.tau.0,
            direct: self.direct,
        }
    }
}
