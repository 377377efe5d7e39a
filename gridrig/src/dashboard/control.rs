//! Starting and stopping runs from the page.
//!
//! One scenario runs at a time, on a thread of its own; a few more may wait.
//! Requests are JSON: a form of another site cannot send that.

mod scenarios;

use super::Shared;
use super::live::{Hub, Watch};
use super::pages::work;
use crate::exit::Failure;
use crate::runner::{self, Observer as _, RunOptions};
use crate::scenario::Scenario;
use crate::words::panicked;
use anyhow::anyhow;
use axum::Router;
use axum::extract::{Json, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use gridrig_protocol::rest::Problem;
use gridrig_service::http::Result;
use parking_lot::{Condvar, Mutex};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Scenarios that may wait for their turn.
const QUEUE: usize = 8;

/// What runs, and what is to run next.
pub struct Control {
    hub: Arc<Hub>,
    runs: PathBuf,
    starts: bool,
    allow_commands: bool,
    state: Mutex<Work>,
    changed: Condvar,
}

#[derive(Default)]
struct Work {
    running: Option<(Arc<Watch>, String)>,
    queue: VecDeque<Order>,
    closed: bool,
    /// Whether Ctrl-C has cut a run off.
    cut: bool,
}

/// A scenario that waits for its turn.
struct Order {
    watch: Arc<Watch>,
    scenario: Scenario,
    force: bool,
}

impl Control {
    /// Runs scenarios into this folder, if `starts`; otherwise it can stop
    /// what is [given to it](Self::adopt). Scenarios from the page may name
    /// programs, files and real LRMSs if `allow_commands`.
    pub fn new(hub: Arc<Hub>, runs: &Path, starts: bool, allow_commands: bool) -> Self {
        Control {
            hub,
            runs: runs.to_owned(),
            starts,
            allow_commands,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Whether runs can be started from the page.
    pub fn starts(&self) -> bool {
        self.starts
    }

    /// A run that somebody else has started, which the page may stop.
    pub fn adopt(&self, watch: Arc<Watch>, name: &str) {
        self.state.lock().running = Some((watch, name.to_owned()));
    }

    /// Works off the queue until [`close`](Self::close): the body of a thread.
    pub fn work(&self) {
        loop {
            let mut state = self.state.lock();
            while state.queue.is_empty() && !state.closed {
                self.changed.wait(&mut state);
            }
            if state.closed {
                return;
            }
            let Some(order) = state.queue.pop_front() else {
                continue;
            };
            let name = order.scenario.name.clone();
            state.running = Some((Arc::clone(&order.watch), name));
            drop(state);
            self.run(&order);
            let mut state = self.state.lock();
            state.running = None;
            state.cut |= crate::interrupt::requested();
        }
    }

    fn run(&self, order: &Order) {
        let options = options(&self.runs, order.force, Some(&order.watch));
        // A mistake in here must not end the thread that runs the others.
        let run = std::panic::AssertUnwindSafe(|| runner::run(&order.scenario, &options));
        let ran = std::panic::catch_unwind(run).unwrap_or_else(|panic| {
            let why = panicked(&*panic);
            Err(Failure::Run(anyhow!("the run broke off: {why}")))
        });
        let watch = &order.watch;
        match ran {
            Ok(_) if watch.stop_requested() || crate::interrupt::requested() => {
                let message = "stopped: what was written is marked partial";
                watch.end("stopped", Some(message.to_owned()));
            }
            Ok(replications) => {
                let mut runs = replications.iter().flat_map(|all| &all.runs);
                let failed = runs.find_map(|run| {
                    let violation = run.violations.first().map(|found| found.message.clone());
                    let why = violation.or_else(|| run.failures.first().cloned())?;
                    Some(format!("{}: {why}", run.name()))
                });
                watch.end(if failed.is_some() { "failed" } else { "done" }, failed);
            }
            Err(failure) => {
                watch.refuse(&order.scenario);
                watch.end("failed", Some(failure.why()));
            }
        }
    }

    /// Queues a scenario; answers its number.
    ///
    /// # Errors
    /// When this dashboard starts none, or none more.
    pub fn start(&self, scenario: Scenario, force: bool) -> Result<u64, Problem> {
        if !self.starts {
            let detail = "this dashboard watches one run and starts none (expected `gridrig \
                          dashboard`)";
            return Err(Problem::new(409, "watches-only", detail));
        }
        let mut state = self.state.lock();
        if state.closed {
            return Err(Problem::new(503, "queue-full", "the dashboard is ending"));
        }
        if state.queue.len() >= QUEUE {
            let detail = format!("{QUEUE} scenarios wait already (expected fewer)");
            return Err(Problem::new(503, "queue-full", detail));
        }
        let watch = Arc::new(Watch::new(Arc::clone(&self.hub), &self.runs));
        let id = watch.id();
        state.queue.push_back(Order {
            watch,
            scenario,
            force,
        });
        drop(state);
        self.changed.notify_all();
        Ok(id)
    }

    /// Stops what runs or takes it out of the queue; whether there was such a
    /// scenario.
    pub fn stop(&self, id: u64) -> bool {
        let mut state = self.state.lock();
        if let Some((watch, _)) = &state.running
            && watch.id() == id
        {
            watch.stop();
            return true;
        }
        let before = state.queue.len();
        state.queue.retain(|order| order.watch.id() != id);
        state.queue.len() < before
    }

    /// Stops what runs and starts nothing more; whether anything ran, or had just
    /// seen for itself that the process is to end.
    pub fn close(&self) -> bool {
        let mut state = self.state.lock();
        state.closed = true;
        state.queue.clear();
        let running = state.running.as_ref();
        let ran = running.is_some() || state.cut;
        running.into_iter().for_each(|(watch, _)| watch.stop());
        drop(state);
        self.changed.notify_all();
        ran
    }

    /// Whether runs can be started, and the scenarios that run and wait.
    fn list(&self) -> Value {
        let state = self.state.lock();
        let entry =
            |watch: &Watch, scenario: &str| json!({ "id": watch.id(), "scenario": scenario });
        let queue = state.queue.iter();
        let queue = queue.map(|order| entry(&order.watch, &order.scenario.name));
        let running = state.running.as_ref();
        json!({
            "starts": self.starts,
            "running": running.map(|(watch, name)| entry(watch, name)),
            "queue": queue.collect::<Vec<_>>(),
        })
    }
}

fn options(runs: &Path, force: bool, watch: Option<&Arc<Watch>>) -> RunOptions {
    RunOptions {
        out: Some(runs.to_owned()),
        force,
        watch: watch.map(|watch| Arc::clone(watch) as _),
        ..RunOptions::default()
    }
}

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/api/control", get(list))
        .route("/api/control/check", post(check))
        .route("/api/control/start", post(start))
        .route("/api/control/stop", post(stop))
        .merge(scenarios::routes())
}

async fn list(State(dashboard): State<Shared>) -> Json<Value> {
    Json(dashboard.control.list())
}

/// The text of a scenario, as it is in the editor.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Draft {
    /// The scenario that it began as: paths in it are also looked for beside
    /// that file, and messages call it so.
    file: String,
    /// The TOML.
    text: String,
    /// `run.name`, where it is to be another.
    #[serde(default)]
    name: Option<String>,
    /// Whether runs that are there already are overwritten.
    #[serde(default)]
    force: bool,
}

type Body<T> = Result<Json<T>, axum::extract::rejection::JsonRejection>;

/// A body that is no JSON, or not of this shape.
fn read<T>(body: Body<T>) -> Result<T, Problem> {
    let refuse = |rejection: axum::extract::rejection::JsonRejection| {
        let status = rejection.status().as_u16();
        Problem::new(status, "bad-body", rejection.body_text())
    };
    body.map(|Json(read)| read).map_err(refuse)
}

/// A mistake in a scenario, with its line where it has one.
fn mistake(file: &str, message: String) -> Response {
    // FILE:LINE: ...
    let line = message.strip_prefix(file);
    let line = line.and_then(|rest| rest.strip_prefix(':')?.split(':').next());
    let line: Option<usize> = line.and_then(|line| line.parse().ok());
    let mut document = json!(Problem::new(422, "bad-scenario", message));
    document["line"] = json!(line);
    let media = [(header::CONTENT_TYPE, "application/problem+json")];
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    (status, media, document.to_string()).into_response()
}

/// What `gridrig check` says of a draft.
async fn check(State(dashboard): State<Shared>, body: Body<Draft>) -> Result<Response> {
    let draft = read(body)?;
    let file = draft.file.clone();
    // Traces are read, which takes its time.
    let checked = work(&dashboard, move |dashboard| {
        let prepared = scenarios::parse(dashboard, &draft).and_then(|scenario| {
            let prepared = runner::prepare_workloads(&scenario);
            Ok((prepared.map_err(|e| format!("{e:#}"))?, scenario))
        });
        Ok(prepared.map(|(prepared, scenario)| {
            let report = crate::check::check(&scenario, &prepared);
            let taken = runner::refuse(&scenario, &options(&dashboard.runs, draft.force, None));
            let (folder, taken) = match taken {
                Ok((_, own)) => (Some(runner::folder(&scenario.name, scenario.seed, own.study)), None),
                Err(error) => (None, Some(format!("{error:#}"))),
            };
            json!({ "text": report.to_string(), "report": report, "folder": folder, "taken": taken })
        }))
    });
    Ok(match checked.await? {
        Ok(checked) => Json(checked).into_response(),
        Err(message) => mistake(&file, message),
    })
}

fn accepted(id: u64) -> Response {
    (StatusCode::ACCEPTED, Json(json!({ "id": id }))).into_response()
}

async fn start(State(dashboard): State<Shared>, body: Body<Draft>) -> Result<Response> {
    let draft = read(body)?;
    let started = work(&dashboard, move |dashboard| {
        let scenario = match scenarios::parse(dashboard, &draft) {
            Ok(scenario) => scenario,
            Err(message) => return Ok(mistake(&draft.file, message)),
        };
        let taken = runner::refuse(&scenario, &options(&dashboard.runs, draft.force, None));
        taken.map_err(|error| Problem::new(409, "runs-exist", format!("{error:#}")))?;
        Ok(accepted(dashboard.control.start(scenario, draft.force)?))
    });
    Ok(started.await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    id: u64,
}

async fn stop(State(dashboard): State<Shared>, body: Body<Which>) -> Result<Response> {
    let Which { id } = read(body)?;
    if !dashboard.control.stop(id) {
        let detail = format!("no scenario {id} runs or waits");
        return Err(Problem::new(404, "no-such-scenario", detail).into());
    }
    Ok(accepted(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::ids::ClusterId;

    #[test]
    fn a_run_that_panics_has_failed_with_what_the_panic_says_and_the_next_one_runs() {
        let dir = tempfile::tempdir().unwrap();
        let trace = "; Version: 2.2\n1 0 -1 5 1 -1 -1 1 -1 -1 1 7 1 1 1 1 -1 -1\n";
        std::fs::write(dir.path().join("t.swf"), trace).unwrap();
        let text = "[workload]\ntrace = \"t.swf\"\ndomain = \"a\"\n[[domain]]\nname = \"a\"\n\
                    clusters = [ { name = \"a1\", processors = 4 } ]\n\
                    [run]\npolicies = [\"round-robin\"]\nbounds = false\n";
        let file = dir.path().join("s.toml");
        std::fs::write(&file, text).unwrap();
        let good = Scenario::load(&file, &[]).unwrap();
        let mut bad = good.clone();
        // No file can say so: it is a mistake in the program that makes grids.
        bad.grid.domains[0].clusters = vec![ClusterId(7)];
        let hub = Arc::<Hub>::default();
        let control = Control::new(Arc::clone(&hub), &dir.path().join("runs"), true, false);
        let out_of_bounds = "the run broke off: panic: index out of bounds";
        for (scenario, state, said) in [(bad, "failed", out_of_bounds), (good, "done", "")] {
            control.run(&Order {
                watch: Arc::new(Watch::new(Arc::clone(&hub), &control.runs)),
                scenario,
                force: true,
            });
            let shown: Value = serde_json::from_str(&hub.snapshot()).unwrap();
            let session = &shown["session"];
            assert_eq!(session["state"], state, "{session}");
            let message = session["message"].as_str().unwrap_or_default();
            assert!(message.starts_with(said), "{message}");
        }
    }
}
