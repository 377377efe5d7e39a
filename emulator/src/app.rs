//! The routes of an LRMS.

use crate::Config;
use crate::reservations::{Caller, user};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use gridrig_core::agent::{Asked, Cancel, ClaimStep, LrmsAgent, Received};
use gridrig_core::event::{MessageKind, Party};
use gridrig_core::ids::JobId;
use gridrig_core::message::Target;
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::Driven;
#[cfg(test)]
use gridrig_protocol::rest::JobReceipt;
use gridrig_protocol::rest::{
    ClaimOrder, ClusterInfo, JobStatus, JobSubmission, LoadReport, NodeGroup, Problem,
};
#[cfg(test)]
use gridrig_service::http::openapi::{BadBody, Unavailable, UnknownJob};
use gridrig_service::http::{Body, Path, Result};
use gridrig_service::{routes as common, submission};

type App = gridrig_service::App<Config>;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/jobs", post(submit).get(common::list::<Config>))
        .route("/v1/jobs/{id}", get(common::show::<Config>).delete(cancel))
        .route("/v1/ends", get(common::ends::<Config>))
        .route("/v1/info", get(info))
        .route("/v1/claims", post(claim))
        .merge(crate::nodes::routes())
        .merge(crate::reservations::routes())
        .route("/v1/events", get(common::events::<Config>))
        .route("/healthz", get(common::healthz::<Config>))
        .route("/metrics", get(common::metrics::<Config>))
}

/// Submit a job. A client's job that can never run is turned away with 422; a
/// broker's job (`from`) is taken with 202 either way, and its refusal goes to
/// the broker as a notification.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/jobs", request_body = JobSubmission,
    responses(
        (status = 201, description = "A client's job is queued", body = JobReceipt, headers(("Location" = String, description = "Where the job can be looked at"))),
        (status = 202, description = "A job from a broker was decided; the answer says how", body = JobReceipt, headers(("Location" = String, description = "Where the job can be looked at"))),
        BadBody,
        (status = 404, description = "A job that is sought is not held here", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "Another job has this id", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid, or the job can never run here", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
))]
async fn submit(
    State(app): State<App>,
    caller: Caller,
    Body(mut job): Body<JobSubmission>,
) -> Result<Response> {
    let home = app.config.broker.as_ref().map(|broker| broker.domain.0);
    if home.is_some() && job.from == home {
        // Its own broker hears of its jobs at the address that it was started with.
        job.notify = None;
    }
    let mut arrival = submission::arrival(job, app.config.notify)?;
    if let Some(own) = &mut arrival.reservation {
        let said = own.user.take();
        own.user = user(caller, said.as_deref().map(str::to_owned));
    }
    let own = |cluster| cluster == app.config.cluster.id;
    submission::check_clusters(&arrival, own, "this cluster, or none")?;
    submission::submit(&app, arrival, MessageKind::Dispatch).await
}

/// Cancel a job that waits or runs. Cancelling a cancelled one is no error.
#[cfg_attr(test, utoipa::path(
    delete, path = "/v1/jobs/{id}", params(("id" = u32, Path, description = "The job's number")),
    responses(
        (status = 200, description = "The job is cancelled", body = JobStatus),
        UnknownJob,
        (status = 409, description = "It has ended otherwise", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
))]
async fn cancel(State(app): State<App>, Path(id): Path<u32>) -> Result<Json<JobStatus>> {
    common::cancel(&app, id, Cancel(JobId(id))).await.map(Json)
}

/// Hold processors for a part of a job that several clusters run together, begin it at an
/// instant, or release them. Whether they are held the broker is told by a message.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/claims", request_body = ClaimOrder,
    responses(
        (status = 204, description = "Taken in; of a start: the part begins"),
        BadBody,
        (status = 409, description = "Nothing is held that could begin", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid, or the sender is not the broker here", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
))]
async fn claim(State(app): State<App>, Body(order): Body<ClaimOrder>) -> Result<StatusCode> {
    let (from, id) = (order.from, order.message.map(Into::into));
    let meant = order.meant_ns.map(SimTime::from_nanos);
    let home = app.config.broker.as_ref().map(|broker| broker.domain);
    let Some(home) = home.filter(|home| Party::from(from) == Party::Broker(*home)) else {
        let expected = "the broker to which this LRMS reports";
        return Err(Problem::field("from", &from.id.to_string(), expected).into());
    };
    let heard = Received {
        from: Target::Peer(home),
        id,
        meant,
        said: order.said(|job| submission::arrival(job, app.config.notify))?,
    };
    check_clock(&app, &heard.said)?;
    let leads = matches!(heard.said.1, ClaimStep::Begin { leads: true, .. });
    let tell = move |lrms: &mut Driven<LrmsAgent>, now: SimTime| lrms.handle(now, heard);
    let (new, answer) = app.message(meant, tell).await?;
    if leads {
        app.metrics.count_received(MessageKind::Dispatch, new);
    }
    answer.map_err(|_| {
        let message = "nothing is held for this part, or no more, or it begins too late";
        Problem::new(409, "not-held", message)
    })?;
    Ok(StatusCode::NO_CONTENT)
}

/// What a broker asks for counts from when it was to arrive by its own clock. Further from now
/// than it is kept for, it would be over here, or begin when the others have ended.
fn check_clock(app: &App, (asked, step): &(Asked, ClaimStep)) -> Result<()> {
    let (ClaimStep::Hold { timeout, .. } | ClaimStep::Reserve { timeout, .. }) = step else {
        return Ok(());
    };
    let (at, now) = (asked.at, app.config.clock.now());
    if at + *timeout >= now && at <= now + *timeout {
        return Ok(());
    }
    let expected = format!(
        "at most {timeout} from {}, the instant by the clock here: it has come too late, or the \
         clocks differ",
        now.as_nanos()
    );
    Err(Problem {
        code: Problem::WRONG_TIME.to_owned(),
        ..Problem::field("asked_ns", &at.as_nanos().to_string(), &expected)
    }
    .into())
}

/// What the cluster is made of, its load and its clock.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/info",
    responses(
        (status = 200, description = "The cluster", body = ClusterInfo),
        Unavailable,
    )
))]
async fn info(State(app): State<App>) -> Result<Json<ClusterInfo>> {
    let sample = app.call(|lrms, now| lrms.sample_at(now)).await?;
    let resources = &app.config.cluster.resources;
    let benchmarks = resources.benchmarks().iter();
    Ok(Json(ClusterInfo {
        benchmarks: benchmarks
            .map(|(name, result)| (name.to_string(), result.to_string()))
            .collect(),
        cluster: app.config.cluster.id.0,
        name: app.config.name.clone(),
        processors: resources.processors(),
        nodes: resources.nodes(),
        resources: NodeGroup::all(resources),
        clock: app.clock_at(sample.at),
        load: LoadReport::from(&sample),
    }))
}

#[cfg(test)]
mod tests;
