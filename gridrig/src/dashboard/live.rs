//! The Live page: what is going on, or how a finished run went.
//!
//! A run tells a [`Watch`] what it does; the watch counts with a tap
//! and publishes to the [`Hub`], which tells the pages what is new.

mod document;
mod exchange;
mod finished;
mod followed;
mod hub;
mod life;
mod series;
mod tap;
mod watch;
mod words;

pub use hub::Hub;
pub use life::finished as life_of;
pub use watch::Watch;

use super::layout::{Layout, Tab, message, page};
use super::{Shared, pages};
use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use futures_util::{Stream, StreamExt as _, stream};
use gridrig_core::ids::JobId;
use gridrig_protocol::rest::Problem;
use gridrig_results::rundir::DecisionDoc;
use gridrig_service::http::{Life, Result};
use hub::Reader;
use serde::Deserialize;
use serde_json::Value;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a run may take to answer a question about a job.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between signs of life on a stream without news.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// No stream lasts longer, whoever reads it and however slowly. The page comes again by
/// itself and is given the whole state.
const LONGEST: Duration = Duration::from_secs(3600);

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
        .route("/api/live/jobs/{job}/decisions", get(decisions))
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
    /// Address and name of the runs in real time that were started elsewhere.
    elsewhere: Vec<(String, String)>,
}

impl LivePage {
    fn new(dashboard: &Shared, run: Option<String>) -> Self {
        LivePage {
            layout: Layout::new(Tab::Live),
            runs: dashboard.runs.display().to_string(),
            starts: run.is_none() && dashboard.control.starts(),
            elsewhere: Vec::new(),
            run,
        }
    }
}

async fn current(State(dashboard): State<Shared>) -> Response {
    let mut shown = LivePage::new(&dashboard, None);
    let own = dashboard.hub.is_busy();
    if !own && let Ok(going_on) = read(&dashboard, |own| pages::going_on(own)).await {
        shown.elsewhere = going_on;
    }
    page(&shown)
}

async fn chosen(State(dashboard): State<Shared>, Path(run): Path<String>) -> Response {
    match finished::directory(&dashboard.runs, &run) {
        Ok(_) => page(&LivePage::new(&dashboard, Some(run))),
        Err(problem) => {
            let title = "There is no such run";
            message(StatusCode::NOT_FOUND, Tab::Live, title, &problem.detail)
        }
    }
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
    Extension(life): Extension<Life>,
) -> Result<Response> {
    let reader = dashboard.hub.reader().ok_or_else(|| {
        let detail = "too many pages follow this dashboard (expected at most 64)";
        Problem::new(503, "too-many-readers", detail)
    })?;
    let alive = KeepAlive::new().interval(KEEP_ALIVE);
    let news = news(reader, life, LONGEST);
    Ok(Sse::new(news).keep_alive(alive).into_response())
}

/// What a reader is told until the dashboard ends, for so long at most.
fn news(
    reader: Reader,
    life: Life,
    longest: Duration,
) -> impl Stream<Item = Result<Event, Infallible>> {
    let news = stream::unfold(reader, |mut reader| async {
        let news = reader.next().await?;
        let event = Event::default().event(news.kind).data(&*news.json);
        Some((Ok::<_, Infallible>(event), reader))
    });
    let over = async move { tokio::time::timeout(longest, life.ended()).await };
    news.take_until(Box::pin(over))
}

/// Reads of a finished run on a thread that may take its time.
async fn read<T: Send + 'static>(
    dashboard: &Shared,
    read: impl FnOnce(&Shared) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let dashboard = Arc::clone(dashboard);
    let read = tokio::task::spawn_blocking(move || read(&dashboard)).await;
    let panicked = || Problem::new(500, "unreadable-run", "the run cannot be read");
    read.unwrap_or_else(|_| Err(panicked()))
}

async fn finished_life(dashboard: &Shared, run: String, job: JobId) -> Result<Option<Value>> {
    Ok(read(dashboard, move |own| finished::life(&own.runs, &run, job)).await?)
}

async fn finished_snapshot(
    State(dashboard): State<Shared>,
    Path(run): Path<String>,
) -> Result<Response> {
    let read = read(&dashboard, move |own| finished::state(own, &run));
    Ok(json(&read.await?))
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
) -> Result<axum::Json<Value>> {
    let job = number(&job)?;
    let life = life(&dashboard, job, of.run).await?;
    let life = life.ok_or_else(|| Problem::unknown_job(job.0))?;
    Ok(axum::Json(life))
}

fn number(job: &str) -> Result<JobId, Problem> {
    let expected = "the number of a job, as in jobs.parquet";
    let number = job.parse().map(JobId);
    number.map_err(|_| Problem::field("job", job, expected))
}

/// How brokers decided about a job of a run that is over.
async fn decisions(
    State(dashboard): State<Shared>,
    Path(job): Path<String>,
    Query(of): Query<OfRun>,
) -> Result<axum::Json<Vec<DecisionDoc>>> {
    let job = number(&job)?;
    let last = || dashboard.hub.current().and_then(|current| current.dir);
    let nothing = || Problem::new(404, "no-run", "no finished run has a directory");
    let run = of.run.or_else(last).ok_or_else(nothing)?;
    let read = read(&dashboard, move |own| {
        finished::decisions(&own.runs, &run, job)
    });
    Ok(axum::Json(read.await?))
}

async fn life(dashboard: &Shared, job: JobId, run: Option<String>) -> Result<Option<Value>> {
    if let Some(run) = run {
        return finished_life(dashboard, run, job).await;
    }
    let nothing = || Problem::new(404, "no-run", "no run is going on, and none has ended here");
    let current = dashboard.hub.current().ok_or_else(nothing)?;
    if let Some(dir) = current.dir {
        let mut life = finished_life(dashboard, dir, job).await?;
        if let Some(life) = &mut life {
            life["exchanges"] = dashboard.hub.exchanges(job);
        }
        return Ok(life);
    }
    let not_kept = || {
        let detail = "the run is over and has no directory below the folder of runs";
        Problem::new(404, "not-kept", detail)
    };
    let busy = || {
        let detail = "the run cannot answer now, for example while it is written; try again";
        Problem::new(503, "run-is-busy", detail)
    };
    match current.state {
        "running" => {}
        "writing" => return Err(busy().into()),
        _ => return Err(not_kept().into()),
    }
    let asked = dashboard.hub.ask(job).ok_or_else(busy)?;
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(life)) => Ok(life),
        Ok(Err(_)) => Err(not_kept().into()),
        Err(_) => Err(busy().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stream_ends_by_itself_after_its_longest_time() {
        let hub = Arc::new(Hub::default());
        let reader = hub.reader().expect("a place");
        let life = Life::until(std::future::pending());
        let told = news(reader, life, Duration::from_millis(50)).count();
        let told = tokio::time::timeout(Duration::from_secs(60), told).await;
        // The state, and no news: nothing goes on.
        assert_eq!(told.expect("the end"), 1);
    }
}
