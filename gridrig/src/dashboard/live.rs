//! The Live page: what is going on, or how a finished run went.
//!
//! A run tells a [`Watch`] what it does; the watch counts with a tap
//! and publishes to the [`Hub`], which tells the pages what is new.

mod document;
mod estimate;
mod exchange;
mod finished;
mod hub;
mod life;
mod series;
mod tap;
mod watch;
mod words;

pub use exchange::Exchange;
pub use finished::{FinishedError, Shelf};
pub use hub::Hub;
pub use watch::Watch;

use super::Shared;
use super::layout::{Layout, Tab, message, page};
use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use finished::Finished;
use futures_util::{StreamExt as _, stream};
use gridrig_core::ids::JobId;
use gridrig_protocol::rest::Problem;
use gridrig_service::http::{Life as ServiceLife, ProblemResponse};
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a run may take to answer a question about a job.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between signs of life on a stream without news.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Time on the wall, for progress that people look at; nothing that a run
/// reports depends on it.
#[allow(clippy::disallowed_methods, reason = "progress output")]
fn clock() -> Instant {
    Instant::now()
}

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/", get(current))
        .route("/live/{*run}", get(chosen))
        .route("/api/live", get(snapshot))
        .route("/api/live/events", get(events))
        .route("/api/live/run/{*run}", get(finished_snapshot))
        .route("/api/live/jobs/{job}", get(job))
}

#[derive(Template)]
#[template(path = "live.html")]
struct LivePage {
    layout: Layout,
    /// The finished run that is shown; none follows what goes on.
    run: Option<String>,
    runs: String,
    /// Whether runs can be started from the page.
    starts: bool,
}

async fn current(State(dashboard): State<Shared>) -> Response {
    page(&LivePage {
        layout: Layout::new(Tab::Live),
        run: None,
        runs: dashboard.runs.display().to_string(),
        starts: dashboard.control.starts(),
    })
}

async fn chosen(State(dashboard): State<Shared>, Path(run): Path<String>) -> Response {
    if let Err(error) = finished::directory(&dashboard.runs, &run) {
        let (title, text) = ("There is no such run", error.to_string());
        return message(StatusCode::NOT_FOUND, Tab::Live, title, &text);
    }
    page(&LivePage {
        layout: Layout::new(Tab::Live),
        run: Some(run),
        runs: dashboard.runs.display().to_string(),
        starts: false,
    })
}

fn json(text: &str) -> Response {
    let media = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, media)], text.to_owned()).into_response()
}

async fn snapshot(State(dashboard): State<Shared>) -> Response {
    json(&dashboard.hub.snapshot())
}

async fn events(
    State(dashboard): State<Shared>,
    Extension(life): Extension<ServiceLife>,
) -> Response {
    let Some(reader) = dashboard.hub.reader() else {
        let detail = "too many pages follow this dashboard (expected at most 64)";
        return ProblemResponse(Problem::new(503, "too-many-readers", detail)).into_response();
    };
    let news = stream::unfold(reader, |mut reader| async {
        let news = reader.next().await?;
        let event = Event::default().event(news.kind).data(&*news.json);
        Some((Ok::<_, Infallible>(event), reader))
    });
    let news = news.take_until(Box::pin(async move { life.ended().await }));
    Sse::new(news)
        .keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
        .into_response()
}

/// Reads a finished run on a thread that may take its time.
async fn read(dashboard: &Shared, run: String) -> Result<Arc<Finished>, Problem> {
    let dashboard = Arc::clone(dashboard);
    answered(move || dashboard.shelf.get(&dashboard.runs, &run)).await
}

async fn answered<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, FinishedError> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(read).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error @ FinishedError::NoSuchRun(_))) => {
            Err(Problem::new(404, "no-such-run", error.to_string()))
        }
        Ok(Err(error)) => Err(Problem::new(422, "unreadable-run", error.to_string())),
        Err(_panicked) => Err(Problem::new(
            500,
            "unreadable-run",
            "the run cannot be read",
        )),
    }
}

async fn finished_life(
    dashboard: &Shared,
    run: String,
    job: JobId,
) -> Result<Option<life::Life>, Problem> {
    let dashboard = Arc::clone(dashboard);
    answered(move || finished::life(&dashboard.runs, &run, job)).await
}

async fn finished_snapshot(State(dashboard): State<Shared>, Path(run): Path<String>) -> Response {
    match read(&dashboard, run).await {
        Ok(finished) => json(&finished.snapshot()),
        Err(problem) => ProblemResponse(problem).into_response(),
    }
}

#[derive(Deserialize)]
struct OfRun {
    run: Option<String>,
}

/// The life of a job: of the run that is named, else of the one that goes on,
/// else of the one that was the last.
async fn job(
    State(dashboard): State<Shared>,
    Path(job): Path<String>,
    Query(of): Query<OfRun>,
) -> Response {
    match life(&dashboard, &job, of.run).await {
        Ok(life) => axum::Json(life).into_response(),
        Err(problem) => ProblemResponse(problem).into_response(),
    }
}

async fn life(dashboard: &Shared, job: &str, run: Option<String>) -> Result<life::Life, Problem> {
    let number = job
        .parse()
        .map_err(|_| Problem::field("job", job, "the number of a job, as in jobs.parquet"))?;
    let unknown = || Problem::unknown_job(number);
    if let Some(run) = run {
        return finished_life(dashboard, run, JobId(number))
            .await?
            .ok_or_else(unknown);
    }
    let nothing = || Problem::new(404, "no-run", "no run is going on, and none has");
    let current = dashboard.hub.current().ok_or_else(nothing)?;
    if let Some(dir) = current.dir {
        return finished_life(dashboard, dir, JobId(number))
            .await?
            .map(|life| life::Life {
                exchanges: dashboard.hub.exchanges.about(JobId(life.job)),
                ..life
            })
            .ok_or_else(unknown);
    }
    let not_kept = || {
        let detail = "the run is over and has no directory below the folder of runs";
        Problem::new(404, "not-kept", detail)
    };
    let busy = || {
        Problem::new(
            503,
            "run-is-busy",
            "the run cannot answer now, as while it is written; try again",
        )
    };
    match current.state {
        "running" => {}
        "writing" => return Err(busy()),
        _ => return Err(not_kept()),
    }
    let asked = dashboard.hub.ask(JobId(number)).ok_or_else(busy)?;
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(life)) => life.ok_or_else(unknown),
        Ok(Err(_)) => Err(not_kept()),
        Err(_) => Err(busy()),
    }
}
