//! The pages over finished runs: Runs, Compare and Gantt.
//!
//! All of them go by the catalogue of the folder of runs, which is brought up
//! to date at every request: a page shows what is on the disk. What a browser
//! names is looked up there, so that no path leads out of the folder.

mod compare;
mod gantt;
mod query;
mod runs;

use super::Shared;
use super::layout::{self, Tab};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use gridrig_protocol::rest::Problem;
use gridrig_results::catalogue::{Catalogue, CatalogueError, RunEntry};
use gridrig_results::compare::said;
use gridrig_service::http::ProblemResponse;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// So many pages are made at a time: each may hold the jobs of several runs.
const AT_ONCE: usize = 2;
/// A page is about at most so many runs or folders.
const MOST_NAMED: usize = 1000;

/// What the pages share besides the dashboard.
struct Pages {
    catalogue: Mutex<Option<Opened>>,
    /// Taken for as long as a page is being made.
    work: Semaphore,
    fragments: compare::Fragments,
    timelines: gantt::Timelines,
}

struct Opened {
    catalogue: Catalogue,
    /// Counts refreshes that found a change: what was made from the runs of
    /// before is out of date then.
    generation: u64,
}

type Ours = Extension<Arc<Pages>>;

/// The routes of all three pages.
pub(super) fn routes() -> Router<Shared> {
    let pages = Arc::new(Pages {
        catalogue: Mutex::new(None),
        work: Semaphore::new(AT_ONCE),
        fragments: compare::Fragments::default(),
        timelines: gantt::Timelines::default(),
    });
    Router::new()
        .merge(runs::routes())
        .merge(compare::routes())
        .merge(gantt::routes())
        .layer(Extension(pages))
}

/// Why there is no answer.
#[derive(Debug)]
struct Refused {
    status: StatusCode,
    /// A stable name for programs.
    code: &'static str,
    text: String,
}

impl Refused {
    fn new(status: StatusCode, code: &'static str, text: impl Into<String>) -> Self {
        Refused {
            status,
            code,
            text: text.into(),
        }
    }

    /// A mistake in the address or the form.
    fn request(text: impl Into<String>) -> Self {
        Refused::new(StatusCode::BAD_REQUEST, "bad-request", text)
    }

    /// Runs that are there and cannot be used so.
    fn runs(code: &'static str, error: &dyn std::error::Error) -> Self {
        Refused::new(StatusCode::UNPROCESSABLE_ENTITY, code, said(error))
    }

    /// As a page that says it.
    fn page(&self, tab: Tab) -> Response {
        let title = match self.status {
            StatusCode::NOT_FOUND => "There is no such run",
            StatusCode::BAD_REQUEST => "This address is not understood",
            StatusCode::UNPROCESSABLE_ENTITY => "These runs cannot be shown so",
            _ => "The runs cannot be read",
        };
        layout::message(self.status, tab, title, &self.text)
    }

    /// As a problem document.
    fn problem(&self) -> Response {
        let mut problem = Problem::new(self.status.as_u16(), self.code, self.text.as_str());
        if problem.title == "Error" {
            let words = self.status.canonical_reason().unwrap_or("Error");
            problem.title = words.to_owned();
        }
        ProblemResponse(problem).into_response()
    }
}

impl From<CatalogueError> for Refused {
    fn from(error: CatalogueError) -> Self {
        let (status, code) = match &error {
            CatalogueError::Unknown { .. } => (StatusCode::NOT_FOUND, "no-such-run"),
            CatalogueError::Labels(_) => (StatusCode::UNPROCESSABLE_ENTITY, "bad-labels"),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "unreadable"),
        };
        Refused::new(status, code, said(&error))
    }
}

/// Does blocking work for a page; at most [`AT_ONCE`] of them at a time.
async fn work<T: Send + 'static>(
    pages: &Arc<Pages>,
    job: impl FnOnce(&Pages) -> Result<T, Refused> + Send + 'static,
) -> Result<T, Refused> {
    let failed = || {
        let text = "the page could not be made";
        Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "no-page", text)
    };
    let _permit = pages.work.acquire().await.map_err(|_| failed())?;
    let own = Arc::clone(pages);
    let done = tokio::task::spawn_blocking(move || job(&own)).await;
    done.map_err(|error| {
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

impl Pages {
    /// The catalogue of the folder, up to date.
    fn catalogue(&self, folder: &Path) -> Result<MutexGuard<'_, Option<Opened>>, Refused> {
        let mut slot = self
            .catalogue
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if slot.is_none() {
            // Runs that are started from the page go there. Where it cannot be
            // made, opening it says why.
            let _ = std::fs::create_dir_all(folder);
            *slot = Some(Opened {
                catalogue: Catalogue::open(folder)?,
                generation: 0,
            });
        }
        if let Some(opened) = slot.as_mut() {
            let found = opened.catalogue.refresh()?;
            if found.read + found.gone > 0 {
                opened.generation += 1;
            }
        }
        Ok(slot)
    }

    /// Does something with the catalogue of the folder.
    fn with_catalogue<T>(
        &self,
        folder: &Path,
        ask: impl FnOnce(&mut Opened) -> Result<T, CatalogueError>,
    ) -> Result<T, Refused> {
        let mut slot = self.catalogue(folder)?;
        let opened = slot.as_mut().ok_or_else(|| {
            let text = "the catalogue is not open";
            Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "unreadable", text)
        })?;
        Ok(ask(opened)?)
    }

    /// The runs that an address names.
    fn chosen(&self, folder: &Path, mut named: Vec<String>) -> Result<Chosen, Refused> {
        if named.len() > MOST_NAMED {
            let count = named.len();
            return Err(Refused::request(format!(
                "{count} runs are named (expected at most {MOST_NAMED}; name the folder they lie in)"
            )));
        }
        for name in &mut named {
            name.truncate(name.trim_end_matches('/').len());
        }
        let mut seen = std::collections::BTreeSet::new();
        named.retain(|name| seen.insert(name.clone()));
        self.with_catalogue(folder, |opened| {
            let mut runs = Vec::new();
            for name in &named {
                runs.extend(opened.catalogue.at(name)?);
            }
            runs.sort_by(|a, b| a.path.cmp(&b.path));
            runs.dedup_by(|a, b| a.path == b.path);
            Ok(Chosen {
                dirs: named.iter().map(|name| folder.join(name)).collect(),
                named,
                runs,
                generation: opened.generation,
            })
        })
    }
}

/// A figure that may be undefined, with as many decimals as its neighbours in
/// a column: digits stand below each other.
fn figure(value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else {
        return "n/a".to_owned();
    };
    match value.abs() {
        1000.0.. => gridrig_results::plot::number(value.round()),
        100.0.. => format!("{value:.1}"),
        0.0 | 0.01.. => format!("{value:.2}"),
        _ => gridrig_results::plot::number(value),
    }
}

/// A share as per cent.
fn share(value: Option<f64>) -> String {
    gridrig_results::plot::percent(value.unwrap_or(f64::NAN))
}

/// A count, grouped by commas.
fn count(value: u64) -> String {
    gridrig_results::plot::integer(value)
}
