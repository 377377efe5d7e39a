//! The routes of the peer protocol: SOAP under `/lagrid`, which describes
//! itself at `?wsdl`, and JSON under `/v1/peers/OPERATION`. A message is read,
//! checked, handed to the [`Handler`] together with who asks, and answered; what
//! cannot be read never reaches the handler.

mod caller;
mod json;
mod soap;

use axum::Router;
use axum::routing::post;
use gridrig_protocol::lagrid::{
    CancelJob, Handler, Heartbeat, JSON_PATH, NotifyConn, NotifyJob, OpenConn, QueryJob,
    RequestResourceData, SOAP_PATH, SendResourceData, SubmitJob,
};
use std::sync::Arc;

/// The routes, answered by this handler.
pub fn routes<H: Handler>(handler: Arc<H>) -> Router {
    let json = Router::new()
        .route("/openConn", post(json::serve::<H, OpenConn>))
        .route("/notifyConn", post(json::serve::<H, NotifyConn>))
        .route("/heartbeat", post(json::serve::<H, Heartbeat>))
        .route(
            "/requestResourceData",
            post(json::serve::<H, RequestResourceData>),
        )
        .route(
            "/sendResourceData",
            post(json::serve::<H, SendResourceData>),
        )
        .route("/submitJob", post(json::serve::<H, SubmitJob>))
        .route("/queryJob", post(json::serve::<H, QueryJob>))
        .route("/notifyJob", post(json::serve::<H, NotifyJob>))
        .route("/cancelJob", post(json::serve::<H, CancelJob>));
    Router::new()
        .route(SOAP_PATH, post(soap::serve::<H>).get(soap::describe))
        .nest(JSON_PATH, json)
        .with_state(handler)
}
