//! The routes of a broker.

use crate::config::Config;
use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use gridrig_core::event::{MessageKind, Party};
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::load::LoadSample;
use gridrig_core::message::{JobEnd, Target};
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::real_time::{
    Actor, Arrival, BrokerMachine, CallError, JobState, JobView, LetterId, Receipt, Recorder,
    SubmitError,
};
use gridrig_protocol::rest::serve::{
    self, BadBody, BadQuery, Body, ENDS_PAGE, EndsQuery, EventsQuery, ListQuery, Metrics, Path,
    Query, ServiceGauges, Stall, Unavailable, UnknownJob,
};
use gridrig_protocol::rest::{
    BrokerInfo, CandidateInfo, ClockInfo, EndPage, EventPage, EventReport, InfoReport,
    JobEndReport, JobList, JobNotice, JobReceipt, JobStatus, JobSubmission, LetterName, NoticeKind,
    PeerInfo, PeerList, Place, PlacementReport, Problem,
};
use std::sync::Arc;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

#[derive(Clone)]
pub(crate) struct App {
    pub actor: Actor<BrokerMachine>,
    pub recorder: Recorder,
    pub metrics: Arc<Metrics>,
    pub config: Arc<Config>,
}

#[derive(OpenApi)]
#[openapi(info(
    title = "gridrig broker",
    description = "The reference meta-broker: clients submit to it, peers forward to it, LRMSs report to it."
))]
struct Description;

fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(submit, list))
        .routes(routes!(show, cancel))
        .routes(routes!(ends))
        .routes(routes!(info, inform))
        .routes(routes!(notify))
        .routes(routes!(peers))
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

/// Submit a job, as a client, or forward it, as a peer (`from`). It is decided
/// in the broker's next cycle. A peer's job is taken with 202 either way, and
/// its refusal goes back as a notification.
#[utoipa::path(
    post, path = "/v1/jobs", request_body = JobSubmission,
    responses(
        (status = 201, description = "A client's job is queued", body = JobReceipt, headers(("Location" = String, description = "Where the job can be looked at"))),
        (status = 202, description = "A broker's job has been looked at", body = JobReceipt, headers(("Location" = String, description = "Where the job can be looked at"))),
        BadBody,
        (status = 409, description = "Another job has this id", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "A field will not do, or the sender is no peer", body = Problem, content_type = "application/problem+json"),
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
    if let Party::Broker(domain) = arrival.from
        && !app.config.peers.contains_key(&domain)
    {
        let expected = "the domain of a broker that has a link with this one";
        return Err(Problem::field("from", &domain.0.to_string(), expected));
    }
    let from = arrival.from;
    let receipt = app
        .actor
        .message(meant, move |broker, now| broker.submit(now, arrival))
        .await;
    let receipt = receipt.map_err(gone)?.map_err(conflict)?;
    match (receipt.repeated, from) {
        (true, _) => app.metrics.count_repeated(),
        (false, Party::Broker(_)) => app.metrics.count_message(MessageKind::Forward),
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
        // Only forwards make hops.
        hop: if job.from.is_some() { job.hop } else { 0 },
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
        .call(move |broker, _| broker.list(after, limit))
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
        .call(move |broker, _| broker.view(JobId(id)))
        .await
        .map_err(gone)?;
    let view = view.ok_or_else(|| Problem::unknown_job(id))?;
    Ok(Json(status(&view)))
}

/// Cancel a job. One that is elsewhere is cancelled there: the answer is then
/// 202, and its end becomes known like any other. Cancelling a cancelled job
/// is no error.
#[utoipa::path(
    delete, path = "/v1/jobs/{id}", params(("id" = u32, Path, description = "The job's number")),
    responses(
        (status = 200, description = "The job is cancelled", body = JobStatus),
        (status = 202, description = "The request travels to where the job is", body = JobStatus),
        UnknownJob,
        (status = 409, description = "It has ended otherwise", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
)]
async fn cancel(State(app): State<App>, Path(id): Path<u32>) -> Result<Response, Problem> {
    let job = JobId(id);
    let call = app.actor.call(move |broker, now| {
        broker.cancel(now, job);
        broker.view(job)
    });
    let view = call
        .await
        .map_err(gone)?
        .ok_or_else(|| Problem::unknown_job(id))?;
    let status = status(&view);
    match status.state.as_str() {
        "cancelled" => Ok(Json(status).into_response()),
        "sent" => Ok((StatusCode::ACCEPTED, Json(status)).into_response()),
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
        .call(move |broker, _| broker.ends(after, ENDS_PAGE))
        .await
        .map_err(gone)?;
    let next = first + ends.len() as u64;
    Ok(Json(EndPage {
        first,
        ends: ends.iter().map(JobEndReport::from).collect(),
        next,
    }))
}

/// What the broker holds, and how old its knowledge of its candidates is.
#[utoipa::path(
    get, path = "/v1/info",
    responses(
        (status = 200, description = "The broker", body = BrokerInfo),
        Unavailable,
    )
)]
async fn info(State(app): State<App>) -> Result<Json<BrokerInfo>, Problem> {
    let look = |broker: &mut BrokerMachine, now: SimTime| {
        let core = broker.broker();
        let ages = core.information_age(now);
        let candidates = ages.map(|(target, age)| CandidateInfo {
            place: target.into(),
            information_age_ns: age.as_nanos(),
        });
        (core.queued(), core.held(), candidates.collect(), now)
    };
    let (queued, held, candidates, now) = app.actor.call(look).await.map_err(gone)?;
    let (setup, clock) = (&app.config.setup, app.config.clock);
    Ok(Json(BrokerInfo {
        domain: setup.config.domain.0,
        name: setup.name.clone(),
        policy: setup.config.policy.name().to_owned(),
        queued: queued as u64,
        held: held as u64,
        candidates,
        clock: ClockInfo {
            epoch_unix_ns: clock.epoch_unix_ns(),
            speed: clock.speed().to_string(),
            now_ns: now.as_nanos(),
        },
    }))
}

/// Report the load of an LRMS of this domain, or, as a peer that provides for
/// this broker, of one's own clusters.
#[utoipa::path(
    post, path = "/v1/info", request_body = InfoReport,
    responses(
        (status = 204, description = "Taken in"),
        BadBody,
        (status = 422, description = "A field will not do, or the sender is not expected", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
)]
async fn inform(
    State(app): State<App>,
    Body(report): Body<InfoReport>,
) -> Result<StatusCode, Problem> {
    let from = sender(report.from)?;
    let samples = report.samples()?;
    let letter = report.letter.map(letter_id);
    let meant = report.meant_ns.map(SimTime::from_nanos);
    let call = app.actor.message(meant, move |broker, now| {
        let late = |sample: &LoadSample| sample.at > now + AHEAD;
        if !broker.expects(from, &samples) || samples.iter().any(late) {
            return Heard::Unexpected;
        }
        if letter.is_some_and(|id| !broker.hear(report.from.into(), id)) {
            return Heard::Before;
        }
        broker.handle_info(now, from, &samples);
        Heard::New
    });
    match call.await.map_err(gone)? {
        Heard::New => app.metrics.count_message(MessageKind::Info),
        Heard::Before => app.metrics.count_repeated(),
        Heard::Unexpected => {
            let detail = "field samples: expected clusters that this broker may send jobs to, \
                          reported by whoever has them, sampled no later than now";
            return Err(Problem::new(422, "unexpected-samples", detail));
        }
    }
    Ok(StatusCode::NO_CONTENT)
}

/// What became of a message.
enum Heard {
    New,
    Before,
    Unexpected,
}

/// How far ahead of ours another clock may be. A sample from the far future
/// would outweigh every later one.
const AHEAD: SimDuration = SimDuration::from_secs(60);

fn letter_id(name: LetterName) -> LetterId {
    LetterId {
        incarnation: name.incarnation,
        number: name.number,
    }
}

fn sender(place: Place) -> Result<Target, Problem> {
    place
        .target()
        .ok_or_else(|| Problem::field("from.kind", "client", "broker or lrms"))
}

/// Tell that a job has ended, or that it comes back.
#[utoipa::path(
    post, path = "/v1/notifications", request_body = JobNotice,
    responses(
        (status = 204, description = "Taken in; news about a job that is not with the sender changes nothing"),
        BadBody,
        (status = 422, description = "A field will not do", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
)]
async fn notify(
    State(app): State<App>,
    Body(notice): Body<JobNotice>,
) -> Result<StatusCode, Problem> {
    let by = sender(notice.from)?;
    let letter = notice.letter.map(letter_id);
    let (kind, news) = match notice.kind {
        NoticeKind::Ended => (MessageKind::Notify, Ok(JobEnd::try_from(&notice.job)?)),
        NoticeKind::Refused => {
            // The reason is looked at so that a wrong one is not swallowed.
            notice.reason()?;
            (MessageKind::Refuse, Err(JobId(notice.job.job)))
        }
    };
    let meant = notice.meant_ns.map(SimTime::from_nanos);
    let hear = move |broker: &mut BrokerMachine, now: SimTime| {
        if letter.is_some_and(|id| !broker.hear(notice.from.into(), id)) {
            return false;
        }
        match news {
            Ok(end) => drop(broker.handle_end(now, by, end)),
            Err(job) => broker.handle_refusal(now, meant, job, by),
        }
        true
    };
    // An end changes no decision, so it need not wait for a cycle; a job that
    // comes back is decided in the next one.
    let heard = match news {
        Ok(_) => app.actor.call(hear).await,
        Err(_) => app.actor.message(meant, hear).await,
    };
    match heard.map_err(gone)? {
        true => app.metrics.count_message(kind),
        false => app.metrics.count_repeated(),
    }
    Ok(StatusCode::NO_CONTENT)
}

/// The brokers that this one has links with.
#[utoipa::path(
    get, path = "/v1/peers",
    responses((status = 200, description = "Peers", body = PeerList))
)]
async fn peers(State(app): State<App>) -> Json<PeerList> {
    let setup = &app.config.setup;
    let peers = setup.neighbours.iter().map(|neighbour| {
        let address = app.config.peers.get(&neighbour.domain);
        let domain = neighbour.domain;
        PeerInfo {
            domain: domain.0,
            name: address.map(|peer| peer.name.clone()).unwrap_or_default(),
            url: address.map(|peer| peer.url.clone()).unwrap_or_default(),
            latency: neighbour.latency.to_string(),
            provider: setup.config.peers.iter().any(|peer| peer.domain == domain),
            consumer: neighbour.consumer,
        }
    });
    Json(PeerList {
        peers: peers.collect(),
    })
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
    let look = |broker: &mut BrokerMachine, _| (broker.broker().queued(), broker.broker().held());
    let (queued, held) = app.actor.call(look).await.map_err(gone)?;
    let gauges = ServiceGauges {
        queued: queued as u64,
        busy_processors: None,
        held: Some(held as u64),
    };
    Ok(serve::metrics_text(app.metrics.text(gauges)))
}
