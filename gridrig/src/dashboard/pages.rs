//! The pages over finished runs: Runs, Compare, Gantt and Sweep.
//!
//! All of them go by the catalogue of the folder of runs, which is brought up
//! to date at every request: a page shows what is on the disk. What a browser
//! names is looked up there, so that no path leads out of the folder.

mod compare;
mod gantt;
mod query;
mod runs;
mod sweep;

use super::layout::{self, Tab};
use super::{Dashboard, Shared};
use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use gridrig_protocol::rest::{Problem, Result};
use gridrig_results::catalogue::{Catalogue, CatalogueError, RunEntry, State};
use gridrig_results::compare::said;
use gridrig_results::plot::integer as count;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// So many pages are made at a time: each may hold the jobs of several runs.
const AT_ONCE: usize = 2;
/// A page is about at most so many runs or folders.
const MOST_NAMED: usize = 1000;

/// What the pages have read and made.
pub struct Pages {
    catalogue: Mutex<Option<Opened>>,
    /// Taken for as long as a page is being made.
    work: Arc<Semaphore>,
    fragments: Kept<compare::Made>,
    timelines: Kept<gantt::Timeline>,
    /// How finished runs look on the Live page, as JSON.
    pub(super) states: Kept<String>,
}

struct Opened {
    catalogue: Catalogue,
    /// Counts refreshes that found a change: what was made from the runs of
    /// before is out of date then.
    generation: u64,
}

impl Default for Pages {
    fn default() -> Self {
        Pages {
            catalogue: Mutex::new(None),
            work: Arc::new(Semaphore::new(AT_ONCE)),
            fragments: Kept::default(),
            timelines: Kept::default(),
            states: Kept::default(),
        }
    }
}

/// The routes of these pages.
pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .merge(runs::routes())
        .merge(compare::routes())
        .merge(gantt::routes())
        .merge(sweep::routes())
}

/// A mistake in the address or the form.
fn bad_request(text: impl Into<String>) -> Problem {
    Problem::new(400, "bad-request", text)
}

/// Runs that are there and cannot be used so.
fn unusable(code: &str, error: &dyn std::error::Error) -> Problem {
    Problem::new(422, code, said(error))
}

/// A mistake of ours.
fn broken(code: &str, text: &str) -> Problem {
    let mut problem = Problem::new(500, code, text);
    "Internal Server Error".clone_into(&mut problem.title);
    problem
}

fn of_catalogue(error: &CatalogueError) -> Problem {
    match error {
        CatalogueError::Unknown { .. } => Problem::new(404, "no-such-run", said(error)),
        CatalogueError::Labels(_) => unusable("bad-labels", error),
        _ => broken("unreadable", &said(error)),
    }
}

/// A page that says why there is no other; of the table of runs unless it is
/// told.
struct NoPage(Problem, Tab);

/// The page under this tab that says what is wrong.
fn no_page(tab: Tab) -> impl FnOnce(Problem) -> NoPage {
    move |problem| NoPage(problem, tab)
}

impl From<Problem> for NoPage {
    fn from(problem: Problem) -> Self {
        NoPage(problem, Tab::Runs)
    }
}

impl IntoResponse for NoPage {
    fn into_response(self) -> Response {
        let NoPage(problem, tab) = self;
        let title = match problem.status {
            404 => "There is no such run",
            400 => "This address is not understood",
            422 => "These runs cannot be compared",
            _ => "The runs cannot be read",
        };
        let status = StatusCode::from_u16(problem.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        layout::message(status, tab, title, &problem.detail)
    }
}

/// What takes its time to make, by what was asked for, the newest first.
pub(super) struct Kept<T>(Mutex<VecDeque<(String, Arc<T>)>>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Kept(Mutex::default())
    }
}

impl<T> Kept<T> {
    /// What was made for this key, or is made now; of all the others, the
    /// newest first, those that `stays` wants are kept.
    pub(super) fn get(
        &self,
        key: String,
        make: impl FnOnce() -> Result<T>,
        mut stays: impl FnMut(&T) -> bool,
    ) -> Result<Arc<T>> {
        let mut all = self.0.lock();
        let known = all.iter().position(|(own, _)| *own == key);
        if let Some(found) = known.and_then(|at| all.remove(at)) {
            let made = Arc::clone(&found.1);
            all.push_front(found);
            return Ok(made);
        }
        drop(all);
        let made = Arc::new(make()?);
        let mut all = self.0.lock();
        all.push_front((key, Arc::clone(&made)));
        all.retain(|(_, made)| stays(made));
        Ok(made)
    }
}

/// Does blocking work for a page; at most [`AT_ONCE`] of them at a time, also of those
/// for which nobody waits any more.
pub(super) async fn work<T: Send + 'static>(
    dashboard: &Shared,
    job: impl FnOnce(&Dashboard) -> Result<T> + Send + 'static,
) -> Result<T> {
    let failed = || broken("no-page", "the page could not be made");
    let permit = Arc::clone(&dashboard.pages.work).acquire_owned().await;
    let permit = permit.map_err(|_| failed())?;
    let own = Arc::clone(dashboard);
    let done = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        job(&own)
    });
    done.await.map_err(|error| {
        tracing::error!(%error, "a page could not be made");
        failed()
    })?
}

/// The runs that a page is about.
#[derive(Debug)]
struct Chosen {
    /// As the address names them: runs, or folders of runs.
    named: Vec<String>,
    /// All runs at or below them, by path, each once.
    runs: Vec<RunEntry>,
    /// Where those that were named lie.
    dirs: Vec<PathBuf>,
    generation: u64,
}

/// Address and name of each run in real time that goes on, whoever has started it.
pub(super) fn going_on(dashboard: &Dashboard) -> Result<Vec<(String, String)>> {
    dashboard.with_catalogue(|opened| {
        let all = opened.catalogue.runs()?.into_iter();
        let running = all.filter(|run| run.state == State::Running && run.clock == "real");
        Ok(running
            .map(|run| (format!("/live/{}", query::encoded(&run.path)), run.path))
            .collect())
    })
}

impl Dashboard {
    /// Does something with the catalogue of the folder, which is up to date.
    fn with_catalogue<T>(
        &self,
        ask: impl FnOnce(&mut Opened) -> Result<T, CatalogueError>,
    ) -> Result<T> {
        let mut slot = self.pages.catalogue.lock();
        let opened = || {
            // Runs that are started from the page go there. Where it cannot be
            // made, opening it says why.
            let _ = std::fs::create_dir_all(&self.runs);
            let catalogue = Catalogue::open(&self.runs)?;
            Ok(Opened {
                catalogue,
                generation: 0,
            })
        };
        let opened = slot.take().map_or_else(opened, Ok);
        let done = opened.map(|opened| slot.insert(opened)).and_then(|opened| {
            let found = opened.catalogue.refresh()?;
            opened.generation += u64::from(found.read + found.gone > 0);
            ask(opened)
        });
        done.map_err(|error| of_catalogue(&error))
    }

    /// The runs that an address names.
    fn chosen(&self, mut named: Vec<String>) -> Result<Chosen> {
        if named.len() > MOST_NAMED {
            let count = named.len();
            return Err(bad_request(format!(
                "{count} runs are named (expected at most {MOST_NAMED}; name the folder above them)"
            )));
        }
        for name in &mut named {
            name.truncate(name.trim_end_matches('/').len());
        }
        let mut seen = std::collections::BTreeSet::new();
        named.retain(|name| seen.insert(name.clone()));
        self.with_catalogue(|opened| {
            let mut runs = Vec::new();
            for name in &named {
                runs.extend(opened.catalogue.at(name)?);
            }
            runs.sort_by(|a, b| a.path.cmp(&b.path));
            runs.dedup_by(|a, b| a.path == b.path);
            Ok(Chosen {
                dirs: named.iter().map(|name| self.runs.join(name)).collect(),
                named,
                runs,
                generation: opened.generation,
            })
        })
    }
}

/// A figure that may be undefined.
fn figure(value: Option<f64>) -> String {
    let value = value.filter(|value| value.is_finite());
    value.map_or("n/a".to_owned(), gridrig_results::short)
}

/// A share as per cent.
fn share(value: Option<f64>) -> String {
    gridrig_results::plot::percent(value.unwrap_or(f64::NAN))
}
