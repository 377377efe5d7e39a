//! A finished run as if one had watched it: what its tables tell is played again.

use super::document::{self, AgeOfRun, Context, Now, RunDoc, SessionDoc};
use super::followed;
use super::hub::{Hub, Shown};
use super::tap::Tap;
use super::words::{self, Line};
use crate::dashboard::Dashboard;
use crate::runner;
use crate::scenario::{Scenario, ScenarioText};
use gridrig_core::broker::LocalInfo;
use gridrig_core::event::Party;
use gridrig_core::grid::Grid;
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::time::SimTime;
use gridrig_protocol::rest::{Problem, Result};
use gridrig_results::catalogue::is_held;
use gridrig_results::names::Names;
use gridrig_results::rundir::{self, DecisionDoc, InfoDoc, Manifest, RunDirError};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The directory of a run by its path below the folder of runs.
///
/// # Errors
/// When the path leads elsewhere or to no run.
pub fn directory(runs: &Path, run: &str) -> Result<PathBuf> {
    let below = Path::new(run);
    let mut parts = below.components();
    let plain = parts.all(|part| matches!(part, Component::Normal(_)));
    let dir = runs.join(below);
    let signs = [rundir::names::MANIFEST, rundir::names::RUNNING];
    if plain && !run.is_empty() && signs.iter().any(|sign| dir.join(sign).is_file()) {
        return Ok(dir);
    }
    let run: String = run.chars().take(200).collect();
    let detail = format!(
        "run \"{run}\": expected a run directory below the folder of runs, as in \
         two-sites-1/round-robin/r000"
    );
    Err(Problem::new(404, "no-such-run", detail))
}

fn unreadable(error: RunDirError) -> Problem {
    Problem::new(422, "unreadable-run", error.to_string())
}

/// The state of the page at the end of a run, as JSON: read, which takes a second
/// per million jobs, or the one that was read before. Not for a thread that
/// serves.
///
/// # Errors
/// A run that is not there or cannot be read.
pub fn state(dashboard: &Dashboard, run: &str) -> Result<Arc<String>> {
    let dir = directory(&dashboard.runs, run)?;
    if is_going_on(&dir) {
        return followed::state(&dir);
    }
    let manifest = std::fs::metadata(dir.join(rundir::names::MANIFEST));
    let written = manifest.and_then(|manifest| manifest.modified()).ok();
    let mut newest = true;
    let stays = |_: &_| std::mem::take(&mut newest);
    let kept = &dashboard.pages.states;
    kept.get(
        format!("{written:?} {run}"),
        || read(&dir, run).map_err(unreadable),
        stays,
    )
}

/// Whether it has no results yet, or is gone on with beside those of an earlier part of it.
fn is_going_on(dir: &Path) -> bool {
    let has = |name: &str| dir.join(name).is_file();
    !has(rundir::names::MANIFEST) || has(rundir::names::RUNNING) && is_held(dir)
}

fn read(dir: &Path, below: &str) -> Result<String, RunDirError> {
    let manifest = rundir::read_manifest(dir)?;
    let played = Played::tables(dir, &manifest)?;
    Ok(snapshot(dir, below, &manifest, &played).to_string())
}

/// The life of a job of a finished run; `None` if it has no such job. Reads no
/// more of the run than that.
///
/// # Errors
/// A run that is not there or cannot be read.
pub fn life(runs: &Path, run: &str, job: JobId) -> Result<Option<Value>> {
    let dir = directory(runs, run)?;
    if is_going_on(&dir) {
        return followed::life(&dir, job);
    }
    let found = rundir::read_job(&dir, job).map_err(unreadable)?;
    let life = found.as_ref().map(super::life::finished);
    Ok(life.map(|mut life| {
        life["is_over"] = json!(true);
        life
    }))
}

/// How brokers decided about a job of a finished run.
///
/// # Errors
/// As [`life`]; a run that cannot be played again.
pub fn decisions(runs: &Path, run: &str, job: JobId) -> Result<Vec<DecisionDoc>> {
    let dir = directory(runs, run)?;
    if is_going_on(&dir) {
        return Err(Problem::new(422, "no-decisions", "the run is not over"));
    }
    let manifest = rundir::read_manifest(&dir).map_err(unreadable)?;
    let found = runner::decisions(&dir, &manifest, job);
    let (found, _) = found.map_err(|it| Problem::new(422, "no-decisions", it.why()))?;
    Ok(found)
}

/// What happened in a run.
struct Played {
    grid: Grid,
    names: Names,
    tap: Tap,
    feed: Vec<Line>,
}

impl Played {
    /// From the tables, which takes a tenth of the time that the event log takes.
    fn tables(dir: &Path, manifest: &Manifest) -> Result<Self, RunDirError> {
        let events = manifest.files.get(rundir::names::EVENTS);
        let rows = events.and_then(|file| file.rows).unwrap_or(0);
        let grid = rundir::read_grid(dir, manifest)?;
        let names = Names::of(&grid);
        let end = SimTime::from_nanos(manifest.end_ns);
        let mut tap = Tap::of_tables(dir, &grid, manifest.tolerance.0, end, rows)?;
        recall(&mut tap, manifest, &names);
        let newest = rundir::read_newest(dir, words::FEED)?;
        let places = newest.rows.iter().map(|row| *row as usize);
        let lines = places.zip(newest.log.records());
        let feed = lines.filter_map(|(n, (at, event))| Line::of(n, at, event, &names));
        Ok(Played {
            feed: feed.collect(),
            grid,
            names,
            tap,
        })
    }
}

/// Tells a tap of the information messages, which a log only counts, and of leases, which
/// no table has.
fn recall(tap: &mut Tap, manifest: &Manifest, names: &Names) {
    let sent = information(manifest, names).into_iter();
    tap.inform(sent.map(|((from, to), info)| {
        let last = info.age.map(|age| SimTime::from_nanos(age.last_ns));
        (from, to, info.count, last)
    }));
    let loans = manifest.summary["lending"]["pairs"].as_array();
    for loan in loans.into_iter().flatten() {
        let domain = |role: &str| names.find_domain(loan[role].as_str()?);
        if let Some((lender, borrower)) = domain("lender").zip(domain("borrower")) {
            let jobs = loan["jobs"].as_u64().unwrap_or(0);
            tap.leases.recall(lender, borrower, jobs);
        }
    }
}

fn snapshot(dir: &Path, below: &str, manifest: &Manifest, played: &Played) -> Arc<str> {
    let (tap, grid) = (&played.tap, &played.grid);
    let scenario = scenario(dir);
    let scale = manifest.study.scale.as_ref();
    let compression = scale.map_or(1.0, |scale| scale.arrival);
    let lag_tolerance_s = scenario.as_ref().map(|it| it.lag_tolerance.as_secs_f64());
    let policy = manifest.policy.as_ref();
    let context = Context {
        grid: grid.clone(),
        policy: policy.and_then(|name| name.parse().ok()),
        compression,
        lag_tolerance_s: lag_tolerance_s.unwrap_or(f64::INFINITY),
    };
    let mut now = Now {
        pace: None,
        eta_s: None,
        used: document::used(&manifest.summary),
        ..Now::of(tap, &context, Duration::ZERO)
    };
    if !context.is_of_truth() {
        ages_of_run(&mut now, grid, &information(manifest, &played.names));
    }
    let hub = Hub::default();
    let state = if manifest.partial { "stopped" } else { "done" };
    let session = SessionDoc {
        scenario: manifest.study.scenario.clone(),
        clock: manifest.clock.clone(),
        speed: scenario
            .filter(|_| manifest.clock == "real")
            .map(|s| s.speed.as_f64()),
        compression,
        run_time_compression: scale.map_or(1.0, |scale| scale.run_time),
        lag_tolerance_s: lag_tolerance_s.unwrap_or(0.0),
        state,
        warnings: manifest.warnings.clone(),
        ..SessionDoc::default()
    };
    hub.begin(session, vec![run_doc(manifest, below)]);
    hub.start_run(0, document::grid(grid));
    hub.change_run(0, |doc| doc.state = state);
    hub.publish(Shown {
        now,
        history: tap.history.clone(),
        sparks: tap.sparks.clone(),
        feed: played.feed.clone(),
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
    let of = |from: Party, to: Party, _| {
        let age = known.get(&(from, to))?.age?;
        Some([age.mean_s, age.p95_s])
    };
    let larger = |a: [f64; 2], b: [f64; 2]| [a[0].max(b[0]), a[1].max(b[1])];
    for ((index, age), domain) in (0..).zip(&mut now.ages).zip(&grid.domains) {
        let (own, peers, oldest_s) = document::by_receiver(grid, DomainId(index), of, larger);
        let fresh = domain.broker.local_info == LocalInfo::Fresh;
        let shown = peers.into_iter().take(age.peers.len());
        age.run = Some(AgeOfRun {
            own_s: own.filter(|_| !fresh),
            peers_s: shown.map(|(_, age)| age).collect(),
            oldest_s,
        });
    }
}

/// The scenario of a run, where it can still be read: its files may be gone.
fn scenario(dir: &Path) -> Option<Scenario> {
    let file = dir.join(rundir::names::SCENARIO);
    let text = String::from_utf8(rundir::read_file(&file).ok()?).ok()?;
    let parsed = Scenario::parse(&ScenarioText {
        traces_may_be_missing: true,
        ..ScenarioText::new(&file, &text, &[])
    });
    parsed.ok()
}

fn run_doc(manifest: &Manifest, below: &str) -> RunDoc {
    let mut doc = RunDoc {
        policy: manifest.policy_or_bound(),
        replication: manifest.replication,
        key: manifest.study.key.clone(),
        state: "waiting",
        dir: Some(below.to_owned()),
        ..RunDoc::default()
    };
    doc.take(&manifest.summary);
    doc
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::RunOptions;
    use gridrig_core::event::EventSink as _;

    impl Played {
        /// Event by event.
        fn log(dir: &Path) -> Result<Self, RunDirError> {
            let run = rundir::read(dir)?;
            let names = Names::of(&run.grid);
            let last = run.submissions.last().map_or(SimTime::ZERO, |last| last.at);
            let jobs = run.submissions.len();
            let mut tap = Tap::new(&run.grid, jobs, last, run.manifest.tolerance.0);
            for (at, event) in run.log.records() {
                tap.emit(at, event);
            }
            recall(&mut tap, &run.manifest, &names);
            tap.close(run.log.end());
            let feed = words::newest(&run.log, &names);
            Ok(Played {
                grid: run.grid,
                names,
                tap,
                feed,
            })
        }
    }

    /// A run of the shipped pair, in a directory of its own.
    fn run(sets: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a directory");
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../resources/scenarios/two-sites.toml");
        let text = std::fs::read_to_string(&file).expect("the scenario");
        let sets: Vec<String> = ["run.policies=[\"free-node\"]", "workload.window.length=3d"]
            .iter()
            .chain(sets)
            .map(|set| (*set).to_owned())
            .collect();
        let scenario = Scenario::parse(&ScenarioText::new(&file, &text, &sets));
        let options = RunOptions {
            out: Some(dir.path().to_owned()),
            ..RunOptions::default()
        };
        runner::run(&scenario.expect("a scenario"), &options).expect("it runs");
        let run = dir.path().join("two-sites-1/free-node/r000");
        (dir, run)
    }

    #[test]
    fn tables_tell_of_a_run_what_its_events_tell() {
        // Drained, cut off while jobs run and wait, and with jobs turned away.
        for sets in [
            &[][..],
            &[
                "measure.stop=\"last-arrival\"",
                "domain.b.clusters.b1.processors=64",
            ][..],
            &["workload.max_processors=450"][..],
        ] {
            let (_dir, run) = run(sets);
            let manifest = rundir::read_manifest(&run).expect("a manifest");
            let log = Played::log(&run).expect("the log");
            let tables = Played::tables(&run, &manifest).expect("the tables");
            assert_eq!(log.feed, tables.feed);
            let shown = |played: &Played| -> Value {
                let text = snapshot(&run, "x", &manifest, played);
                serde_json::from_str(&text).expect("JSON")
            };
            let (log, tables) = (shown(&log), shown(&tables));
            let used = tables["now"]["used"][0].as_f64().expect("a mean");
            let mean = manifest.summary["clusters"][0]["utilization"].as_f64();
            assert!(used > 0.0 && mean.is_some_and(|mean| (used - mean).abs() < 1e-9));
            assert!(
                log["course"]["rows"]
                    .as_array()
                    .is_some_and(|rows| rows.len() > 100)
            );
            for (key, value) in log.as_object().expect("an object") {
                assert_eq!(*value, tables[key], "{sets:?}: {key}");
            }
        }
    }
}
