//! The routes of the peer protocol: SOAP under `/lagrid`, which describes
//! itself at `?wsdl`, and JSON under `/v1/peers/OPERATION`. A message is read,
//! checked, handed to the [`Handler`] together with who asks, and answered; what
//! cannot be read never reaches the handler.

mod caller;
mod json;
mod soap;

use axum::Router;
use axum::routing::post;
use gridrig_protocol::lagrid::{Handler, JSON_PATH, Operation, SOAP_PATH};
use std::sync::Arc;

/// The routes, answered by this handler.
pub fn routes<H: Handler>(handler: Arc<H>) -> Router {
    let soap = post(soap::serve::<H>).get(soap::describe);
    let mut routes = Router::new().route(SOAP_PATH, soap);
    for operation in Operation::ALL {
        let path = format!("{JSON_PATH}/{}", operation.name());
        let serve = post(|state, from, body| json::serve::<H>(*operation, state, from, body));
        routes = routes.route(&path, serve);
    }
    routes.with_state(handler)
}
