//! The routes of a broker.

use crate::drain;
use crate::glue2;
use crate::news::take_news;
use crate::resources;
use crate::{App, Config};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use gridrig_core::agent::{
    BrokerAgent, Cancel, Deal, EnvelopeId, Received, ToPeer, Undelivered, Unexpected,
};
use gridrig_core::event::{MessageKind, Party};
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::job::{JobSpec, MOST_COMPONENTS};
use gridrig_core::message::Target;
use gridrig_core::policy::BrokerSettings;
use gridrig_core::session::{Push, Roles};
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::Driven;
#[cfg(test)]
use gridrig_protocol::inventory::InventoryDocument;
use gridrig_protocol::rest::{
    BrokerInfo, CandidateInfo, ClaimNotice, DealNotice, InfoReport, JobNotice, JobSubmission,
    PeerInfo, PeerList, Place, Problem, RoleChange,
};
#[cfg(test)]
use gridrig_protocol::rest::{JobReceipt, JobStatus, SessionInfo};
use gridrig_protocol::xml::excerpt;
#[cfg(test)]
use gridrig_service::http::openapi::{BadBody, BadQuery, Unavailable, UnknownJob};
use gridrig_service::http::{Body, CancelQuery, Path, Query, Result, base_of};
use gridrig_service::{routes as common, submission};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/jobs", post(submit).get(common::list::<Config>))
        .route("/v1/jobs/{id}", get(common::show::<Config>).delete(cancel))
        .route("/v1/ends", get(common::ends::<Config>))
        .route("/v1/info", get(info).post(inform))
        .route("/v1/notifications", post(notify))
        .route("/v1/deals", post(deal))
        .route("/v1/claims", post(claim))
        .route("/v1/peers", get(peers))
        .route("/v1/peers/{name}/role", put(set_role))
        .route("/v1/peers/{name}/resources", get(peer_resources))
        .route("/v1/glue2", get(glue2))
        .merge(drain::routes())
        .merge(resources::routes())
        .route("/v1/events", get(common::events::<Config>))
        .route("/healthz", get(common::healthz::<Config>))
        .route("/metrics", get(common::metrics::<Config>))
}

/// Submit a job, as a client, or forward it, as a peer (`from`). It is decided
/// in the broker's next cycle. A peer's job is taken with 202 either way, and
/// its refusal goes back as a notification.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/jobs", request_body = JobSubmission,
    responses(
        (status = 201, description = "A client's job is queued", body = JobReceipt, headers(("Location" = String, description = "Where the job can be looked at"))),
        (status = 202, description = "A job from a broker was decided; the answer says how", body = JobReceipt, headers(("Location" = String, description = "Where the job can be looked at"))),
        BadBody,
        (status = 404, description = "A job that is sought is not held here", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "Another job has this id", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid, or the sender is no peer", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
))]
async fn submit(State(app): State<App>, Body(job): Body<JobSubmission>) -> Result<Response> {
    let arrival = submission::arrival(job, app.config.notify)?;
    if let Some(own) = &arrival.reservation {
        let expected = "an LRMS, which keeps reservations: a broker has none";
        return Err(Problem::field("reservation", &own.name, expected).into());
    }
    let config = &app.config.setup.config;
    let places = config.settings.policy.entry().placement.is_some();
    let own = |cluster| places && config.clusters.iter().any(|(id, _)| *id == cluster);
    let expected = "a cluster of this broker, whose policy has to place components (worst-fit, \
                    close-to-files, cluster-minimization, flexible-cluster-minimization, co-reservation)";
    submission::check_clusters(&arrival, own, expected)?;
    check_claims(&config.settings, &arrival.spec)?;
    expect_peer(&app, arrival.from())?;
    submission::submit(&app, arrival, MessageKind::Forward).await
}

/// A job asks for nothing to which a policy that claims processors could not keep.
fn check_claims(settings: &BrokerSettings, job: &JobSpec) -> Result<(), Problem> {
    let placement = settings.policy.placement();
    let claims = placement.is_some_and(|placement| !placement.reserves());
    if let Some(window) = job.start_window.as_deref().filter(|_| claims) {
        let (earliest, latest) = (window.earliest.as_nanos(), window.latest.as_nanos());
        let expected = "no window under a policy that claims processors: one that places no \
                        components asks for windows, and so does co-reservation";
        let given = format!("{earliest} to {latest}");
        return Err(Problem::field("start_window", &given, expected));
    }
    if !settings.takes_components_of(job) {
        let given = format!("{} components", job.components.more.len());
        let (most, policy) = (MOST_COMPONENTS - 2, &settings.policy);
        let expected = format!("at most {most} under {policy}, which places components");
        return Err(Problem::field("more_components", &given, &expected));
    }
    Ok(())
}

/// Cancel a job. One that is elsewhere is cancelled there: the answer is then
/// 202, and its end becomes known like any other. Cancelling a cancelled job
/// is no error. A peer says who it is (`from`): over a cycle of links a job may
/// have come by here several times.
#[cfg_attr(test, utoipa::path(
    delete, path = "/v1/jobs/{id}",
    params(("id" = u32, Path, description = "The job's number"), CancelQuery),
    responses(
        (status = 200, description = "The job is cancelled", body = JobStatus),
        (status = 202, description = "The request travels to where the job is", body = JobStatus),
        BadQuery,
        UnknownJob,
        (status = 409, description = "It has ended otherwise", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "A parameter is invalid, or the sender is no peer", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
))]
async fn cancel(
    State(app): State<App>,
    Path(id): Path<u32>,
    Query(query): Query<CancelQuery>,
) -> Result<Response> {
    let job = JobId(id);
    let status = match query.from.map(DomainId) {
        None => common::cancel(&app, id, Cancel(job)).await?,
        Some(peer) => {
            expect_peer(&app, peer.into())?;
            let request = Received::new(Target::Peer(peer), ToPeer::Cancel(job));
            common::cancel(&app, id, request).await?
        }
    };
    let code = match status.is_over() {
        true => StatusCode::OK,
        // It is where it was sent, or it is being looked for.
        false => StatusCode::ACCEPTED,
    };
    Ok((code, Json(status)).into_response())
}

/// What the broker holds, and how old its knowledge of its candidates is.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/info",
    responses(
        (status = 200, description = "The broker", body = BrokerInfo),
        Unavailable,
    )
))]
async fn info(State(app): State<App>) -> Result<Json<BrokerInfo>> {
    let look = |broker: &mut Driven<BrokerAgent>, now: SimTime| {
        let core = broker.broker();
        let ages = core.information_age(now);
        let candidates = ages.map(|(target, age)| CandidateInfo {
            place: target.into(),
            information_age_ns: age.as_nanos(),
            open: core.is_open(target, now),
        });
        let candidates = candidates.collect();
        (
            core.queued(),
            core.held(),
            core.is_drained(now),
            candidates,
            now,
        )
    };
    let (queued, held, draining, candidates, now) = app.call(look).await?;
    let setup = &app.config.setup;
    Ok(Json(BrokerInfo {
        domain: setup.config.domain.0,
        name: setup.name.clone(),
        policy: setup.config.settings.policy.to_string(),
        queued: queued as u64,
        held: held as u64,
        draining,
        candidates,
        clock: app.clock_at(now),
    }))
}

/// Report the load of an LRMS of this domain, or, as a peer that provides for
/// this broker, of one's own clusters.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/info", request_body = InfoReport,
    responses(
        (status = 204, description = "Taken in"),
        BadBody,
        (status = 422, description = "A field is invalid, or the sender is not expected", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
))]
async fn inform(State(app): State<App>, Body(report): Body<InfoReport>) -> Result<StatusCode> {
    let (load, id) = (Push::from(report.samples()?), report.letter.map(Into::into));
    let info = received(&app, report.from, id, report.meant_ns, load)?;
    let call = app.message(info.meant, move |broker, now| broker.handle(now, info));
    match call.await? {
        Ok(updated) => {
            let is_new = updated.taken.is_some();
            app.metrics.count_received(MessageKind::Info, is_new);
        }
        Err(Unexpected) => {
            let detail = "field samples: expected clusters that this broker may send jobs to, \
                          reported by the domain that has them, sampled no later than now";
            return Err(Problem::new(422, "unexpected-samples", detail).into());
        }
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Who says to be a broker has to be a peer without a session.
fn expect_peer(app: &App, from: Party) -> Result<(), Problem> {
    if let Party::Broker(domain) = from
        && !app.config.peers.contains_key(&domain)
    {
        let expected = "the domain of a broker that has a link with this one";
        return Err(Problem::field("from", &domain.0.to_string(), expected));
    }
    refuse_session_peer(app, from)
}

/// A peer that holds a session speaks in it: here anybody could say to be it.
fn refuse_session_peer(app: &App, from: Party) -> Result<(), Problem> {
    let link = match from {
        Party::Broker(domain) => app.config.links.get(domain),
        Party::Client | Party::Lrms(_) => None,
    };
    let Some(link) = link else {
        return Ok(());
    };
    let detail = format!("domain {} has a session, and sends this there", link.name());
    Err(Problem::new(403, "session-required", detail))
}

/// What somebody says who is no client and may say it here.
fn received<S>(
    app: &App,
    from: Place,
    id: Option<EnvelopeId>,
    meant_ns: Option<u64>,
    said: S,
) -> Result<Received<S>, Problem> {
    let no_client = || Problem::field("from.kind", "client", "broker or lrms");
    let sender = from.target().ok_or_else(no_client)?;
    refuse_session_peer(app, from.into())?;
    Ok(Received {
        from: sender,
        id,
        meant: meant_ns.map(SimTime::from_nanos),
        said,
    })
}

/// Tell that a job has ended, or that it comes back.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/notifications", request_body = JobNotice,
    responses(
        (status = 204, description = "Taken in; news about a job that is not with the sender changes nothing"),
        BadBody,
        (status = 422, description = "A field is invalid", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
))]
async fn notify(State(app): State<App>, Body(notice): Body<JobNotice>) -> Result<StatusCode> {
    let (news, id) = (notice.news()?, notice.letter.map(Into::into));
    let news = received(&app, notice.from, id, notice.meant_ns, news)?;
    take_news(&app, news).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ask for processors, delegate or release them, or tell of room, as the matchmaking of the
/// brokers has it.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/deals", request_body = DealNotice,
    responses(
        (status = 204, description = "Taken in; what is about no job that was asked for changes nothing"),
        BadBody,
        (status = 403, description = "The sender holds a session", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid, or the sender is no peer", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
))]
async fn deal(State(app): State<App>, Body(notice): Body<DealNotice>) -> Result<StatusCode> {
    let (from, meant) = (notice.from, notice.meant_ns);
    let id = notice.letter.map(Into::into);
    expect_peer(&app, from.into())?;
    let said = notice.said(|job| submission::arrival(job, app.config.notify))?;
    if let ToPeer::Deal(Deal::Delegate { cluster, .. }) = &said
        && !app.config.lrms.contains_key(cluster)
    {
        let expected = "a cluster that this broker can send jobs to";
        return Err(Problem::field("cluster", &cluster.0.to_string(), expected).into());
    }
    let heard = received(&app, from, id, meant, said)?;
    let call = app.message(heard.meant, move |broker, now| broker.handle(now, heard));
    // What it says of the message is that it was taken in.
    let _: Result<(), Undelivered> = call.await?;
    Ok(StatusCode::NO_CONTENT)
}

/// An LRMS of this domain tells that it holds processors for a part of a job that several
/// clusters run together, or that it does not, or no more.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/claims", request_body = ClaimNotice,
    responses(
        (status = 204, description = "Taken in; of what is not wanted any more the LRMS is told to let go"),
        BadBody,
        (status = 422, description = "A field is invalid, or the sender is no LRMS of this domain", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
))]
async fn claim(State(app): State<App>, Body(notice): Body<ClaimNotice>) -> Result<StatusCode> {
    let own = |id| app.config.lrms.contains_key(id);
    if !matches!(Party::from(notice.from), Party::Lrms(id) if own(&id)) {
        let expected = "an LRMS of this domain";
        return Err(Problem::field("from", &notice.from.id.to_string(), expected).into());
    }
    let (said, id) = (notice.said()?, notice.message.map(Into::into));
    let heard = received(&app, notice.from, id, notice.meant_ns, said)?;
    let call = app.message(heard.meant, move |broker, now| broker.handle(now, heard));
    // One that has come before is confirmed again.
    let _: bool = call.await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The domain in GLUE 2.0 (GFD.147, by the OGF's XML schema): the broker as a
/// computing service, its clusters as shares, managers and environments, as
/// they last reported.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/glue2",
    responses(
        (status = 200, description = "The domain", body = String, content_type = "application/xml"),
        Unavailable,
    )
))]
async fn glue2(State(app): State<App>, headers: HeaderMap) -> Result<Response> {
    let base = base_of(&headers, false);
    let document = glue2::document(&app, &base).await?;
    let media = [(header::CONTENT_TYPE, "application/xml")];
    Ok((media, document.to_document()).into_response())
}

/// Change what this broker is to a peer with which it holds a session: the
/// terms are negotiated anew, and jobs already taken are finished. It can be no
/// more than the peer agrees to.
#[cfg_attr(test, utoipa::path(
    put, path = "/v1/peers/{name}/role", request_body = RoleChange,
    params(("name" = String, Path, description = "Name of the peer's domain")),
    responses(
        (status = 202, description = "The terms are being negotiated", body = SessionInfo),
        BadBody,
        (status = 404, description = "No session with a peer of this name", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "There is no such role", body = Problem, content_type = "application/problem+json"),
    )
))]
async fn set_role(
    State(app): State<App>,
    Path(name): Path<String>,
    Body(change): Body<RoleChange>,
) -> Result<Response> {
    let roles = Roles::from_name(&change.role)
        .ok_or_else(|| Problem::field("role", &change.role, "provider, consumer, both or none"))?;
    let link = app.config.links.named(&name).ok_or_else(|| {
        let detail = format!("there is no session with a peer {}", excerpt(&name));
        Problem::new(404, "unknown-peer", detail)
    })?;
    link.set_roles(roles);
    Ok((StatusCode::ACCEPTED, Json(link.info())).into_response())
}

/// The resources of a peer as it has last told them in the session: in JSON, or
/// in XML for who accepts `application/xml`.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/peers/{name}/resources",
    params(("name" = String, Path, description = "Name of the peer's domain")),
    responses(
        (status = 200, description = "The inventory, in the form that was agreed on", content((InventoryDocument = "application/json"), (String = "application/xml"))),
        (status = 404, description = "No peer of this name tells of its resources as records", body = Problem, content_type = "application/problem+json"),
    )
))]
async fn peer_resources(
    State(app): State<App>,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> Result<Response> {
    let link = app.config.links.named(&name);
    let records = link.and_then(|link| link.records()).ok_or_else(|| {
        let name = excerpt(&name);
        let detail = format!("no peer {name} has told of its resources as records");
        Problem::new(404, "unknown-peer", detail)
    })?;
    Ok(resources::respond(&records, &headers))
}

/// The brokers that this one has links with.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/peers",
    responses((status = 200, description = "Peers", body = PeerList))
))]
async fn peers(State(app): State<App>) -> Json<PeerList> {
    let setup = &app.config.setup;
    let peers = setup.config.neighbours.iter().map(|neighbour| {
        let address = app.config.peers.get(&neighbour.domain);
        let domain = neighbour.domain;
        PeerInfo {
            domain: domain.0,
            name: address.map(|peer| peer.name.clone()).unwrap_or_default(),
            url: address.map(|peer| peer.url.clone()).unwrap_or_default(),
            latency: neighbour.latency.to_string(),
            provider: setup.config.peers.iter().any(|peer| peer.domain == domain),
            consumer: neighbour.consumer,
            session: app.config.links.get(domain).map(|link| link.info()),
        }
    });
    Json(PeerList {
        peers: peers.collect(),
    })
}

#[cfg(test)]
mod tests;
