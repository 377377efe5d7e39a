//! The routes of an LRMS.

use crate::config::Config;
use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use gridrig_core::event::{MessageKind, Party};
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::{
    Actor, Arrival, CallError, JobState, JobView, LrmsMachine, Receipt, Recorder, SubmitError,
};
use gridrig_protocol::rest::serve::{
    self, BadBody, BadQuery, Body, ENDS_PAGE, EndsQuery, EventsQuery, ListQuery, Metrics, Path,
    Query, ServiceGauges, Stall, Unavailable, UnknownJob,
};
use gridrig_protocol::rest::{
    ClockInfo, ClusterInfo, EndPage, EventPage, EventReport, JobEndReport, JobList, JobReceipt,
    JobStatus, JobSubmission, LoadReport, NodeGroup, PlacementReport, Problem,
};
use std::sync::Arc;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

#[derive(Clone)]
pub(crate) struct App {
    pub actor: Actor<LrmsMachine>,
    pub recorder: Recorder,
    pub metrics: Arc<Metrics>,
    pub config: Arc<Config>,
}

#[derive(OpenApi)]
#[openapi(info(
    title = "gridrig emulator",
    description = "An emulated LRMS: submit jobs, watch them, cancel them."
))]
struct Description;

fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(submit, list))
        .routes(routes!(show, cancel))
        .routes(routes!(ends))
        .routes(routes!(info))
        .routes(routes!(events))
        .routes(routes!(healthz))
        .routes(routes!(metrics))
}

/// The description that the service gives of itself.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    serve::described(routes().into_openapi())
}

pub(crate) fn router(app: App, stall: Stall) -> Router {
    let metrics = Arc::clone(&app.metrics);
    let (router, _) = routes().split_for_parts();
    serve::finish(router.with_state(app), &openapi(), metrics, stall)
}

fn gone(error: CallError) -> Problem {
    match error {
        CallError::Busy => Problem::busy(),
        CallError::Stopped => Problem::stopped(),
    }
}

/// Submit a job. A client's job that can never run is turned away with 422; a
/// broker's job (`from`) is taken with 202 either way, and its refusal goes to
/// the broker as a notification.
#[utoipa::path(
    post, path = "/v1/jobs", request_body = JobSubmission,
    responses(
        (status = 201, description = "A client's job is queued", body = JobReceipt, headers(("Location" = String, description = "Where the job can be looked at"))),
        (status = 202, description = "A broker's job has been looked at", body = JobReceipt, headers(("Location" = String, description = "Where the job can be looked at"))),
        BadBody,
        (status = 409, description = "Another job has this id", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "A field will not do, or the job can never run here", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
)]
async fn submit(
    State(app): State<App>,
    Body(job): Body<JobSubmission>,
) -> Result<Response, Problem> {
    app.config.notify.check(job.notify.as_deref())?;
    let arrival = arrival(job)?;
    let meant = arrival.meant;
    let from = arrival.from;
    let receipt = app
        .actor
        .message(meant, move |lrms, now| lrms.submit(now, arrival))
        .await;
    let receipt = receipt.map_err(gone)?.map_err(conflict)?;
    match (receipt.repeated, from) {
        (true, _) => app.metrics.count_repeated(),
        (false, Party::Broker(_)) => app.metrics.count_message(MessageKind::Dispatch),
        (false, _) => app.metrics.count_message(MessageKind::Submit),
    }
    answer(&receipt, from)
}

fn arrival(job: JobSubmission) -> Result<Arrival, Problem> {
    let spec = job.spec()?;
    Ok(Arrival {
        id: job.id.map(JobId),
        spec,
        from: job
            .from
            .map_or(Party::Client, |domain| Party::Broker(DomainId(domain))),
        hop: job.hop,
        meant: job.meant_ns.map(SimTime::from_nanos),
        notify: job.notify.map(Into::into),
        key: job.key,
    })
}

fn conflict(error: SubmitError) -> Problem {
    match error {
        SubmitError::IdTaken(_) => Problem::new(409, "job-id-taken", error.to_string()),
        SubmitError::KeyReused(_) => Problem::new(422, "key-reused", error.to_string()),
    }
}

fn answer(receipt: &Receipt, from: Party) -> Result<Response, Problem> {
    let reason = receipt.taken.err();
    let status = match (from, reason) {
        (Party::Broker(_), _) => StatusCode::ACCEPTED,
        (_, None) => StatusCode::CREATED,
        (_, Some(reason)) => return Err(Problem::rejected(reason)),
    };
    let body = JobReceipt {
        id: receipt.job.0,
        state: if reason.is_none() {
            "queued"
        } else {
            "refused"
        }
        .to_owned(),
        reason: reason.map(|reason| reason.name().to_owned()),
        at_ns: receipt.at.as_nanos(),
    };
    let location = format!("/v1/jobs/{}", receipt.job.0);
    Ok((status, [(header::LOCATION, location)], Json(body)).into_response())
}

/// The jobs that are known here, by number.
#[utoipa::path(
    get, path = "/v1/jobs", params(ListQuery),
    responses(
        (status = 200, description = "Jobs", body = JobList),
        BadQuery,
        Unavailable,
    )
)]
async fn list(
    State(app): State<App>,
    Query(query): Query<ListQuery>,
) -> Result<Json<JobList>, Problem> {
    let limit = query.limit()?;
    let after = query.after.map(JobId);
    let views = app
        .actor
        .call(move |lrms, _| lrms.list(after, limit))
        .await
        .map_err(gone)?;
    let next = (views.len() == limit)
        .then(|| views.last().map(|view| view.spec.id.0))
        .flatten();
    let mut jobs: Vec<JobStatus> = views.iter().map(status).collect();
    if let Some(state) = query.state {
        jobs.retain(|job| job.state == state);
    }
    Ok(Json(JobList { jobs, next }))
}

fn status(view: &JobView) -> JobStatus {
    let of = |state| JobStatus::of(&view.spec, view.arrived, state);
    match &view.state {
        JobState::Queued { .. } => of("queued"),
        JobState::Running { start, placement } => JobStatus {
            start_ns: Some(start.as_nanos()),
            placement: placement.iter().map(PlacementReport::from).collect(),
            ..of("running")
        },
        JobState::Sent { to } => JobStatus {
            sent_to: Some((*to).into()),
            ..of("sent")
        },
        JobState::Ended(end) => of("ended").ended(end),
    }
}

/// One job.
#[utoipa::path(
    get, path = "/v1/jobs/{id}", params(("id" = u32, Path, description = "The job's number")),
    responses(
        (status = 200, description = "The job", body = JobStatus),
        UnknownJob,
        Unavailable,
    )
)]
async fn show(State(app): State<App>, Path(id): Path<u32>) -> Result<Json<JobStatus>, Problem> {
    let view = app
        .actor
        .call(move |lrms, _| lrms.view(JobId(id)))
        .await
        .map_err(gone)?;
    let view = view.ok_or_else(|| Problem::unknown_job(id))?;
    Ok(Json(status(&view)))
}

/// Cancel a job that waits or runs. Cancelling a cancelled one is no error.
#[utoipa::path(
    delete, path = "/v1/jobs/{id}", params(("id" = u32, Path, description = "The job's number")),
    responses(
        (status = 200, description = "The job is cancelled", body = JobStatus),
        UnknownJob,
        (status = 409, description = "It has ended otherwise", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
)]
async fn cancel(State(app): State<App>, Path(id): Path<u32>) -> Result<Json<JobStatus>, Problem> {
    let job = JobId(id);
    let call = app.actor.call(move |lrms, now| {
        lrms.cancel(now, job);
        lrms.view(job)
    });
    let view = call
        .await
        .map_err(gone)?
        .ok_or_else(|| Problem::unknown_job(id))?;
    let status = status(&view);
    match status.state.as_str() {
        "cancelled" => Ok(Json(status)),
        other => {
            let detail = format!("job {id} is {other}, so it cannot be cancelled");
            Err(Problem::new(409, "job-ended", detail))
        }
    }
}

/// Ends of clients' jobs in the order in which they happened, for following
/// many jobs with one request.
#[utoipa::path(
    get, path = "/v1/ends", params(EndsQuery),
    responses(
        (status = 200, description = "Ends", body = EndPage),
        BadQuery,
        Unavailable,
    )
)]
async fn ends(
    State(app): State<App>,
    Query(query): Query<EndsQuery>,
) -> Result<Json<EndPage>, Problem> {
    let (after, wait) = (query.after, query.wait()?);
    let mut published = app.actor.published();
    let news = published.wait_for(|ends| *ends > after);
    // The time is up or the machine has stopped: the page is then empty, or
    // the call below says so.
    let _ = tokio::time::timeout(wait, news)
        .await
        .map(|seen| seen.map(|_| ()));
    let (first, ends) = app
        .actor
        .call(move |lrms, _| lrms.ends(after, ENDS_PAGE))
        .await
        .map_err(gone)?;
    let next = first + ends.len() as u64;
    Ok(Json(EndPage {
        first,
        ends: ends.iter().map(JobEndReport::from).collect(),
        next,
    }))
}

/// What the cluster is made of, its load and its clock.
#[utoipa::path(
    get, path = "/v1/info",
    responses(
        (status = 200, description = "The cluster", body = ClusterInfo),
        Unavailable,
    )
)]
async fn info(State(app): State<App>) -> Result<Json<ClusterInfo>, Problem> {
    let sample = app
        .actor
        .call(|lrms, now| lrms.sample_at(now))
        .await
        .map_err(gone)?;
    let resources = &app.config.cluster.resources;
    let clock = app.config.clock;
    Ok(Json(ClusterInfo {
        cluster: app.config.cluster.id.0,
        name: app.config.name.clone(),
        processors: resources.processors(),
        nodes: resources.nodes(),
        resources: NodeGroup::all(resources),
        clock: ClockInfo {
            epoch_unix_ns: clock.epoch_unix_ns(),
            speed: clock.speed().to_string(),
            now_ns: sample.at.as_nanos(),
        },
        load: LoadReport::from(&sample),
    }))
}

/// The event log of this service.
#[utoipa::path(
    get, path = "/v1/events", params(EventsQuery),
    responses(
        (status = 200, description = "Events", body = EventPage),
        BadQuery,
    )
)]
async fn events(
    State(app): State<App>,
    Query(query): Query<EventsQuery>,
) -> Result<Json<EventPage>, Problem> {
    let limit = query.limit()?;
    let after = usize::try_from(query.after).unwrap_or(usize::MAX);
    let events = app.recorder.page(after, limit);
    let next = query.after.saturating_add(events.len() as u64);
    let events = events
        .iter()
        .map(|recorded| EventReport::of(recorded.at, &recorded.event()));
    let total = app.recorder.len() as u64;
    Ok(Json(EventPage {
        events: events.collect(),
        next,
        total,
    }))
}

/// Whether the service is there.
#[utoipa::path(
    get, path = "/healthz",
    responses((status = 200, description = "It is", body = String, content_type = "text/plain"))
)]
async fn healthz() -> &'static str {
    "ok"
}

/// Counters and gauges for Prometheus.
#[utoipa::path(
    get, path = "/metrics",
    responses(
        (status = 200, description = "OpenMetrics text", body = String, content_type = "application/openmetrics-text"),
        Unavailable,
    )
)]
async fn metrics(State(app): State<App>) -> Result<Response, Problem> {
    let look = |lrms: &mut LrmsMachine, _| (lrms.cluster().queued(), lrms.cluster().busy());
    let (queued, busy) = app.actor.call(look).await.map_err(gone)?;
    let gauges = ServiceGauges {
        queued: queued as u64,
        busy_processors: Some(u64::from(busy)),
        held: None,
    };
    Ok(serve::metrics_text(app.metrics.text(gauges)))
}
