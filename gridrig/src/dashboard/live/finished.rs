//! A finished run as if one had watched it: its event log is played again.

use super::document::{AgeOfRun, Context, GridDoc, Now, RunDoc, SessionDoc};
use super::hub::{Hub, Shown};
use super::life::Life;
use super::tap::Tap;
use super::words;
use crate::scenario::{Scenario, ScenarioText};
use gridrig_core::broker::LocalInfo;
use gridrig_core::event::{EventSink as _, Party};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::policy::PolicyKind;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_results::names::Names;
use gridrig_results::rundir::{self, InfoDoc, Manifest, Run, RunDirError};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Why a finished run cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum FinishedError {
    /// The name leads out of the folder of runs, or nowhere.
    #[error(
        "run \"{0}\": expected a run directory below the folder of runs, as in two-sites-1/round-robin/r000"
    )]
    NoSuchRun(String),
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] RunDirError),
}

/// The run that was read last. Reading one takes a second per million jobs,
/// and pages are loaded again.
#[derive(Default)]
pub struct Shelf(Mutex<Option<Kept>>);

struct Kept {
    dir: PathBuf,
    written: Option<SystemTime>,
    run: Arc<Finished>,
}

/// A finished run.
pub struct Finished {
    snapshot: Arc<str>,
}

/// The directory of a run by its path below the folder of runs.
///
/// # Errors
/// When the path leads elsewhere or to no run.
pub fn directory(runs: &Path, run: &str) -> Result<PathBuf, FinishedError> {
    let below = Path::new(run);
    let plain = below
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let dir = runs.join(below);
    let there = dir.join(rundir::names::MANIFEST).is_file();
    match plain && !run.is_empty() && there {
        true => Ok(dir),
        false => Err(FinishedError::NoSuchRun(run.chars().take(200).collect())),
    }
}

impl Shelf {
    /// Reads a run, or answers the one that was read before. It may take
    /// seconds: not for a thread that serves.
    ///
    /// # Errors
    /// [`FinishedError`].
    pub fn get(&self, runs: &Path, run: &str) -> Result<Arc<Finished>, FinishedError> {
        let dir = directory(runs, run)?;
        let manifest = std::fs::metadata(dir.join(rundir::names::MANIFEST));
        let written = manifest.and_then(|manifest| manifest.modified()).ok();
        // Held while reading: who asks next most likely wants the same run.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.as_ref() {
            Some(kept) if kept.dir == dir && kept.written == written => {
                return Ok(Arc::clone(&kept.run));
            }
            _ => *kept = None,
        }
        let finished = Arc::new(Finished::read(&dir, run)?);
        *kept = Some(Kept {
            dir,
            written,
            run: Arc::clone(&finished),
        });
        Ok(finished)
    }
}

impl Finished {
    fn read(dir: &Path, below: &str) -> Result<Self, RunDirError> {
        let run = rundir::read(dir)?;
        let names = words::names(&run.grid);
        let snapshot = snapshot(dir, below, &run, &names);
        Ok(Finished { snapshot })
    }

    /// The state of the page at the end of the run, as JSON.
    #[must_use]
    pub fn snapshot(&self) -> Arc<str> {
        Arc::clone(&self.snapshot)
    }
}

/// The life of a job of a finished run; `None` if it has no such job. Reads no
/// more of the run than that.
///
/// # Errors
/// [`FinishedError`].
pub fn life(runs: &Path, run: &str, job: JobId) -> Result<Option<Life>, FinishedError> {
    let found = rundir::read_job(&directory(runs, run)?, job)?;
    Ok(found.as_ref().map(Life::of_finished))
}

fn snapshot(dir: &Path, below: &str, run: &Run, names: &Names) -> Arc<str> {
    let manifest = &run.manifest;
    let scenario = scenario(dir);
    let scale = manifest.study.scale.as_ref();
    let compression = scale.map_or(1.0, |scale| scale.arrival);
    let lag_tolerance_s = scenario.as_ref().map_or(f64::INFINITY, |scenario| {
        scenario.lag_tolerance.as_secs_f64()
    });
    let tolerance = SimDuration::parse(&manifest.tolerance).unwrap_or_default();
    let last = run.submissions.last().map_or(SimTime::ZERO, |last| last.at);
    let mut tap = Tap::new(&run.grid, run.submissions.len(), last, tolerance);
    for (at, event) in run.log.records() {
        tap.emit(at, event);
    }
    let known = information(manifest, names);
    for (&(from, to), info) in &known {
        let last = info.age.map(|age| SimTime::from_nanos(age.last_ns));
        tap.recall(info.count, last, from, to);
    }
    tap.close(run.log.end());
    let policy = manifest.policy.as_deref();
    let context = Context {
        grid: run.grid.clone(),
        policy: PolicyKind::ALL
            .into_iter()
            .find(|kind| Some(kind.name()) == policy),
        compression,
        lag_tolerance_s,
    };
    let mut now = Now {
        pace: None,
        eta_s: None,
        ..Now::of(&tap, &context, Duration::ZERO)
    };
    if context.policy != Some(PolicyKind::FullInformation) {
        ages_of_run(&mut now, &run.grid, &known);
    }
    let hub = Hub::default();
    let session = SessionDoc {
        id: 0,
        scenario: manifest.study.scenario.clone(),
        clock: manifest.clock.clone(),
        speed: scenario
            .filter(|_| manifest.clock == "real")
            .map(|s| s.speed.as_f64()),
        compression,
        run_time_compression: scale.map_or(1.0, |scale| scale.run_time),
        lag_tolerance_s: if lag_tolerance_s.is_finite() {
            lag_tolerance_s
        } else {
            0.0
        },
        state: if manifest.partial { "stopped" } else { "done" },
        message: None,
        warnings: manifest.warnings.clone(),
    };
    hub.begin(session, vec![run_doc(manifest, below)]);
    hub.start_run(0, GridDoc::of(&run.grid));
    let state = if manifest.partial { "stopped" } else { "done" };
    hub.change_run(0, |doc| doc.state = state);
    hub.publish(Shown {
        now,
        course: tap.course().clone(),
        sparks: tap.sparks().clone(),
        feed: words::newest(&run.log, names, 0),
    });
    hub.snapshot()
}

/// The information messages of a run by sender and receiver.
fn information<'m>(manifest: &'m Manifest, names: &Names) -> BTreeMap<(Party, Party), &'m InfoDoc> {
    let docs = manifest.info_messages.iter();
    let known = docs.filter_map(|info| {
        let (from, to) = (names.find_party(&info.from)?, names.find_party(&info.to)?);
        Some(((from, to), info))
    });
    known.collect()
}

/// Adds how old information was over the run to how old it is at its end.
fn ages_of_run(now: &mut Now, grid: &Grid, known: &BTreeMap<(Party, Party), &InfoDoc>) {
    let of = |from: Party, to: Party| {
        let age = known.get(&(from, to))?.age?;
        Some([age.mean_s, age.p95_s])
    };
    let largest = |ages: &mut dyn Iterator<Item = [f64; 2]>| {
        ages.reduce(|a, b| [a[0].max(b[0]), a[1].max(b[1])])
    };
    for ((index, age), domain) in (0..).zip(&mut now.ages).zip(&grid.domains) {
        let (id, here) = (DomainId(index), Party::Broker(DomainId(index)));
        let clusters = domain.clusters.iter();
        let mut own = clusters.filter_map(|cluster| of(Party::Lrms(*cluster), here));
        let fresh = domain.broker.local_info == LocalInfo::Fresh;
        let consumers = grid.consumers_of(id);
        let mut all = consumers.filter_map(|link| of(here, Party::Broker(link.consumer)));
        let peers = age.peers.iter();
        age.run = Some(AgeOfRun {
            own_s: largest(&mut own).filter(|_| !fresh),
            peers_s: peers
                .map(|(peer, _)| of(here, Party::Broker(DomainId(*peer))))
                .collect(),
            oldest_s: largest(&mut all),
        });
    }
}

/// The scenario of a run, where it can still be read: its files may be gone.
fn scenario(dir: &Path) -> Option<Scenario> {
    let file = dir.join(rundir::names::SCENARIO);
    let text = std::fs::read_to_string(&file).ok()?;
    let parsed = Scenario::parse(&ScenarioText {
        file: &file,
        text: &text,
        sets: &[],
        directory: Path::new(""),
        traces_may_be_missing: true,
    });
    parsed.ok()
}

fn run_doc(manifest: &Manifest, below: &str) -> RunDoc {
    let summary = &manifest.summary;
    let number = |at: &str| summary.pointer(at).and_then(serde_json::Value::as_f64);
    let count = |at: &str| summary.pointer(at).and_then(serde_json::Value::as_u64);
    let text = |at: &str| summary.pointer(at).and_then(|value| value.as_str());
    RunDoc {
        policy: manifest.policy.clone(),
        replication: manifest.replication,
        key: manifest.study.key.clone(),
        state: "waiting",
        completed: count("/jobs/completed"),
        jobs: count("/jobs/submitted"),
        delay_mean_s: number("/delay_s/mean"),
        delay_p95_s: number("/delay_s/p95"),
        waited_share: number("/waited_share"),
        valid: summary
            .pointer("/valid")
            .and_then(serde_json::Value::as_bool),
        audit: text("/audit").map(str::to_owned),
        dir: Some(below.to_owned()),
    }
}
