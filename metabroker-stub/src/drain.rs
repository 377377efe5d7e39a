//! Taking a broker out of service, and back.

use crate::App;
use crate::lagrid::BrokerHandler;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{post, put};
use gridrig_core::agent::{BrokerAgent, Drain, Received, ToPeer};
use gridrig_core::ids::DomainId;
use gridrig_core::message::Target;
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::Driven;
use gridrig_protocol::lagrid::{Answers, Caller, NotifyDrain, Taken};
use gridrig_protocol::rest::{DrainChange, Problem};
#[cfg(test)]
use gridrig_service::http::openapi::{BadBody, Unavailable};
use gridrig_service::http::{Body, Path, Result};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/drain", put(drain))
        .route("/v1/peers/{name}/drain", post(peer_drain))
}

/// Take the broker out of service, or set it back to work. A drained broker refuses
/// new jobs of clients and peers with the reason `draining`, and finishes those that
/// it has.
#[cfg_attr(test, utoipa::path(
    put, path = "/v1/drain", request_body = DrainChange,
    responses(
        (status = 204, description = "So it is"),
        BadBody,
        (status = 422, description = "A field is invalid", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
))]
async fn drain(State(app): State<App>, Body(change): Body<DrainChange>) -> Result<StatusCode> {
    let set = move |broker: &mut Driven<BrokerAgent>, now: SimTime| {
        broker.handle(now, Drain(change.until(now)));
    };
    app.call(set).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A peer without a session is drained: it is sent no jobs for a while.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/peers/{name}/drain", request_body = DrainChange,
    params(("name" = String, Path, description = "Name of the peer's domain")),
    responses(
        (status = 204, description = "Taken in"),
        BadBody,
        (status = 404, description = "No peer of this name without a session", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
))]
async fn peer_drain(
    State(app): State<App>,
    Path(name): Path<String>,
    Body(change): Body<DrainChange>,
) -> Result<StatusCode> {
    let mut peers = app.config.peers.iter();
    let peer = peers.find(|(id, peer)| peer.name == name && app.config.links.get(**id).is_none());
    let why = "no peer of this name without a session";
    let (peer, _) = peer.ok_or_else(|| Problem::new(404, "unknown-peer", why))?;
    hear(&app, *peer, change.until(SimTime::ZERO)).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl Answers<NotifyDrain> for BrokerHandler {
    async fn answer(&self, caller: &Caller, request: NotifyDrain) -> Result<Taken, Problem> {
        let link = self.admit(caller, &request.connection)?;
        let until = SimTime::from_nanos(request.until_ns);
        hear(&self.app, link.domain, until).await?;
        Ok(Taken::default())
    }
}

async fn hear(app: &App, peer: DomainId, until: SimTime) -> Result<(), Problem> {
    let told = Received::new(Target::Peer(peer), ToPeer::Drain(until));
    // A broker always takes that in.
    let call = app.call(move |broker, now| broker.handle(now, told));
    call.await.map(drop)
}
