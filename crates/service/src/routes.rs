//! The routes that every service has. Their descriptions are beside them, where tests of the
//! services look for them.

use crate::http::metrics::table;
use crate::http::{
    self, ENDS_PAGE, EndsQuery, EventsQuery, ListQuery, Path, Query, Result, Samples,
};
use crate::{App, Service, clock_samples, count_samples};
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use gridrig_core::agent::{Agent as _, Handle, JobHolder, Journaled};
use gridrig_core::event::MessageKind;
use gridrig_core::ids::JobId;
use gridrig_drivers::real_time::Driven;
use gridrig_protocol::rest::{
    EndPage, EventPage, EventReport, JobEndReport, JobList, JobStatus, Problem,
};
use std::sync::Arc;
use std::time::Duration;

/// The jobs that are known here, by number.
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/v1/jobs", params(ListQuery),
    responses(
        (status = 200, description = "Jobs", body = JobList),
        http::openapi::BadQuery,
        http::openapi::Unavailable,
    )
))]
pub async fn list<S: Service>(
    State(app): State<App<S>>,
    Query(query): Query<ListQuery>,
) -> Result<Json<JobList>> {
    let limit = query.limit()?;
    let after = query.after.map(JobId);
    let call = app.call(move |machine, _| machine.list(after, limit));
    let views = call.await?;
    let last = views.last().filter(|_| views.len() == limit);
    let next = last.map(|view| view.spec.id.0);
    let mut jobs: Vec<JobStatus> = views.iter().map(JobStatus::from).collect();
    if let Some(state) = query.state {
        jobs.retain(|job| job.state == state);
    }
    Ok(Json(JobList { jobs, next }))
}

/// One job.
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/v1/jobs/{id}", params(("id" = u32, Path, description = "The job's number")),
    responses(
        (status = 200, description = "The job", body = JobStatus),
        http::openapi::UnknownJob,
        http::openapi::Unavailable,
    )
))]
pub async fn show<S: Service>(
    State(app): State<App<S>>,
    Path(id): Path<u32>,
) -> Result<Json<JobStatus>> {
    let view = app.call(move |machine, _| machine.view(JobId(id))).await?;
    let view = view.ok_or_else(|| Problem::unknown_job(id))?;
    Ok(Json(JobStatus::from(&view)))
}

/// Cancels a job by this request. Whoever has one that is elsewhere is told to.
///
/// # Errors
/// A problem document when nobody here knows it, it has ended otherwise, or the machine
/// cannot be called.
pub async fn cancel<S: Service, I: Clone + Send + 'static>(
    app: &App<S>,
    id: u32,
    request: I,
) -> Result<JobStatus>
where
    S::Machine: Handle<I> + Journaled<Input: From<I>>,
{
    let call = app.call(move |machine, now| {
        machine.handle(now, request);
        machine.view(JobId(id))
    });
    let view = call.await?.ok_or_else(|| Problem::unknown_job(id))?;
    let status = JobStatus::from(&view);
    if status.is_over() && status.state != "cancelled" {
        let detail = format!("job {id} is {}, so it cannot be cancelled", status.state);
        return Err(Problem::new(409, "job-ended", detail).into());
    }
    Ok(status)
}

/// Ends of clients' jobs in the order in which they happened, for following
/// many jobs with one request.
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/v1/ends", params(EndsQuery),
    responses(
        (status = 200, description = "Ends", body = EndPage),
        http::openapi::BadQuery,
        http::openapi::Unavailable,
    )
))]
pub async fn ends<S: Service>(
    State(app): State<App<S>>,
    Query(query): Query<EndsQuery>,
) -> Result<Json<EndPage>> {
    let (after, wait) = (query.after, query.wait()?);
    let mut published = app.actor.published();
    let is_there = *published.borrow() > after;
    if !(wait.is_zero() || is_there) {
        // An empty page would have clients ask again at once.
        let _place = app.waiting.try_acquire().map_err(|_full| Problem::busy())?;
        let news = published.wait_for(|ends| *ends > after);
        // The time is up or the service has stopped: the page is then empty, or
        // the call below says so.
        let _ = tokio::time::timeout(wait, news)
            .await
            .map(|seen| seen.map(|_| ()));
    }
    let look = move |machine: &mut Driven<S::Machine>, _| machine.ends(after, ENDS_PAGE);
    let (first, ends) = app.call(look).await?;
    let next = first + ends.len() as u64;
    Ok(Json(EndPage {
        first,
        ends: ends.iter().map(JobEndReport::from).collect(),
        next,
        life: app.life,
    }))
}

/// The event log of this service: its newest events, as many as it keeps.
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/v1/events", params(EventsQuery),
    responses(
        (status = 200, description = "Events", body = EventPage),
        http::openapi::BadQuery,
    )
))]
pub async fn events<S: Service>(
    State(app): State<App<S>>,
    Query(query): Query<EventsQuery>,
) -> Result<Json<EventPage>> {
    let limit = query.limit()?;
    let page = app.recorder.page(query.after, limit);
    let next = page.first.saturating_add(page.events.len() as u64);
    let events = page.events.iter();
    let events = events.map(|recorded| EventReport::of(recorded.at, &recorded.event()));
    Ok(Json(EventPage {
        first: page.first,
        events: events.collect(),
        next,
        total: page.total,
        lives: app.recorder.lives(),
    }))
}

/// Whether the service is there, and does what it is asked.
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/healthz",
    responses(
        (status = 200, description = "It is", body = String, content_type = "text/plain"),
        http::openapi::Unavailable,
    )
))]
pub async fn healthz<S: Service>(State(app): State<App<S>>) -> Result<&'static str> {
    let asked = tokio::time::timeout(HEALTH, app.call(|_, _| ()));
    asked.await.map_err(|_late| Problem::late())??;
    Ok("ok")
}

/// How long a service that is well may take to do what it is asked.
const HEALTH: Duration = Duration::from_secs(5);

/// Counters and gauges for Prometheus.
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/metrics",
    responses(
        (status = 200, description = "OpenMetrics text", body = String, content_type = "application/openmetrics-text"),
        http::openapi::Unavailable,
    )
))]
pub async fn metrics<S: Service>(State(app): State<App<S>>) -> Result<Response> {
    let config = Arc::clone(&app.config);
    let look = move |machine: &mut Driven<S::Machine>, now| {
        let mut samples = Samples::default();
        clock_samples(config.clock(), now, &mut samples);
        for kind in MessageKind::ALL {
            let lost = machine.undelivered().of(kind);
            samples.count(&table::MESSAGES_UNDELIVERED, &[kind.name()], lost);
        }
        config.observe(machine, now, &mut samples);
        samples
    };
    let mut samples = app.call(look).await?;
    count_samples(&app.recorder.counts(), &mut samples);
    app.metrics.observe_received(&mut samples);
    Ok(http::metrics_text(app.metrics.text(samples)))
}
