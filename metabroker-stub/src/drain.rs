//! Taking a broker out of service, and back.

use crate::App;
use axum::extract::State;
use axum::http::StatusCode;
use gridrig_core::agent::{BrokerAgent, Drain};
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::Driven;
use gridrig_protocol::rest::DrainChange;
use gridrig_service::http::{BadBody, Body, ProblemResponse, Unavailable};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(drain))
}

/// Take the broker out of service, or set it back to work. A drained broker refuses
/// new jobs of clients and peers with the reason `draining`, and finishes those that
/// it has.
#[utoipa::path(
    put, path = "/v1/drain", request_body = DrainChange,
    responses(
        (status = 204, description = "So it is"),
        BadBody,
        Unavailable,
    )
)]
async fn drain(
    State(app): State<App>,
    Body(change): Body<DrainChange>,
) -> Result<StatusCode, ProblemResponse> {
    let set = move |broker: &mut Driven<BrokerAgent>, now: SimTime| {
        broker.handle(now, Drain(change.until(now)));
    };
    app.call(set).await?;
    Ok(StatusCode::NO_CONTENT)
}
