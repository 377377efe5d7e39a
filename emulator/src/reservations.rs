//! The advance reservations of an emulated cluster that are made without a job.

use crate::Config;
use axum::extract::{ConnectInfo, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use gridrig_core::agent::LrmsAgent;
use gridrig_core::reservation::{ReservationOrder, ReservationRefusal, ReservationStep};
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::Driven;
use gridrig_protocol::rest::{
    Problem, ReservationAfter, ReservationList, ReservationRequest, ReservationStatus,
    ReservationUser,
};
#[cfg(test)]
use gridrig_service::http::openapi::{BadBody, BadQuery, Unavailable};
use gridrig_service::http::{Body, Path, Peer, Query, Result};
use std::sync::Arc;

type App = gridrig_service::App<Config>;
/// Who is at the other end, where the service listens.
pub(crate) type Caller = Option<Extension<ConnectInfo<Peer>>>;

pub(crate) fn routes() -> Router<App> {
    let one = get(show).put(make).delete(cancel);
    Router::new()
        .route("/v1/reservations", get(list))
        .route("/v1/reservations/{name}", one)
        .route("/v1/reservations/{name}/confirm", post(confirm))
}

/// The name in the certificate of a client, else what it says.
pub(crate) fn user(caller: Caller, said: Option<String>) -> Option<Arc<str>> {
    let known = caller.and_then(|Extension(ConnectInfo(peer))| peer.identity);
    known.or_else(|| said.map(Into::into))
}

async fn order(
    app: &App,
    by: Option<Arc<str>>,
    step: ReservationStep,
) -> Result<Json<ReservationStatus>> {
    let order = ReservationOrder { by, step };
    let tell = move |lrms: &mut Driven<LrmsAgent>, now: SimTime| lrms.handle(now, order);
    let view = app.call(tell).await?.map_err(Problem::not_reserved)?;
    Ok(Json(ReservationStatus::from(&view)))
}

/// Most reservations in one answer.
const PAGE: usize = 1000;

/// The reservations that are kept, by name: at most 1000 at a time.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/reservations", params(ReservationAfter),
    responses(
        (status = 200, description = "The reservations", body = ReservationList),
        BadQuery,
        Unavailable,
    )
))]
async fn list(
    State(app): State<App>,
    Query(page): Query<ReservationAfter>,
) -> Result<Json<ReservationList>> {
    let after = page.after.unwrap_or_default();
    let look = move |lrms: &mut Driven<LrmsAgent>, _: SimTime| {
        let views = lrms.cluster().reservations(&after).take(PAGE);
        views.map(|view| ReservationStatus::from(&view)).collect()
    };
    let reservations = app.call(look).await?;
    Ok(Json(ReservationList { reservations }))
}

/// How a reservation stands.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/reservations/{name}",
    params(("name" = String, Path, description = "Its name")),
    responses(
        (status = 200, description = "The reservation", body = ReservationStatus),
        (status = 404, description = "There is no such reservation", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
))]
async fn show(State(app): State<App>, Path(name): Path<String>) -> Result<Json<ReservationStatus>> {
    let look =
        move |lrms: &mut Driven<LrmsAgent>, _: SimTime| lrms.cluster().reservation_named(&name);
    let view = app.call(look).await?;
    let view = view.ok_or(ReservationRefusal::NotHere);
    let view = view.map_err(Problem::not_reserved)?;
    Ok(Json(ReservationStatus::from(&view)))
}

/// Reserve processors under a name, or modify what is reserved under it: if that cannot be,
/// everything stays as it is. The same said again changes nothing.
#[cfg_attr(test, utoipa::path(
    put, path = "/v1/reservations/{name}", request_body = ReservationRequest,
    params(("name" = String, Path, description = "Its name, of 1 to 200 characters"), ReservationUser),
    responses(
        (status = 200, description = "Granted", body = ReservationStatus),
        BadBody,
        BadQuery,
        (status = 403, description = "It is for other users", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "Rejected until not_before_ns, from which on the same may be granted (`not-before`), or it has begun or is used (`in-use`)", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid, or this is never granted here", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
))]
async fn make(
    State(app): State<App>,
    Path(name): Path<String>,
    Query(said): Query<ReservationUser>,
    caller: Caller,
    Body(request): Body<ReservationRequest>,
) -> Result<Json<ReservationStatus>> {
    let step = ReservationStep::Make(Box::new(request.wanted(name)?));
    order(&app, user(caller, said.user), step).await
}

/// Confirm a reservation that is temporary: it is kept from now on.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/reservations/{name}/confirm",
    params(("name" = String, Path, description = "Its name"), ReservationUser),
    responses(
        (status = 200, description = "It is confirmed", body = ReservationStatus),
        BadQuery,
        (status = 403, description = "It is for other users", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "There is no such reservation, or no more", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
))]
async fn confirm(
    State(app): State<App>,
    Path(name): Path<String>,
    Query(said): Query<ReservationUser>,
    caller: Caller,
) -> Result<Json<ReservationStatus>> {
    let step = ReservationStep::Confirm(name.into());
    order(&app, user(caller, said.user), step).await
}

/// Give a reservation back; not while jobs wait or run in it.
#[cfg_attr(test, utoipa::path(
    delete, path = "/v1/reservations/{name}",
    params(("name" = String, Path, description = "Its name"), ReservationUser),
    responses(
        (status = 204, description = "It is kept no more"),
        BadQuery,
        (status = 403, description = "It is for other users", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "There is no such reservation", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "Jobs wait or run in it", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
))]
async fn cancel(
    State(app): State<App>,
    Path(name): Path<String>,
    Query(said): Query<ReservationUser>,
    caller: Caller,
) -> Result<StatusCode> {
    let step = ReservationStep::Cancel(name.into());
    let _was = order(&app, user(caller, said.user), step).await?;
    Ok(StatusCode::NO_CONTENT)
}
