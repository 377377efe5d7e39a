//! The routes of the peer protocol: SOAP under `/lagrid`, which describes
//! itself at `?wsdl`, and JSON under `/v1/peers/OPERATION`. A message is read,
//! checked, handed to the [`Desk`] together with who asks, and answered; what
//! cannot be read never reaches the desk.

mod caller;
mod json;
mod soap;

use axum::Router;
use axum::routing::post;
use gridrig_protocol::lagrid::{
    CancelJob, Desk, Heartbeat, JSON_PATH, NotifyConn, NotifyJob, OpenConn, PeerFault, QueryJob,
    Request, RequestResourceData, SOAP_PATH, SendResourceData, SubmitJob,
};
use std::future::Future;
use std::sync::Arc;

/// The routes, answered by this desk.
pub fn routes<D: Desk>(desk: Arc<D>) -> Router {
    let json = Router::new()
        .route("/openConn", post(json::serve::<D, OpenConn>))
        .route("/notifyConn", post(json::serve::<D, NotifyConn>))
        .route("/heartbeat", post(json::serve::<D, Heartbeat>))
        .route(
            "/requestResourceData",
            post(json::serve::<D, RequestResourceData>),
        )
        .route(
            "/sendResourceData",
            post(json::serve::<D, SendResourceData>),
        )
        .route("/submitJob", post(json::serve::<D, SubmitJob>))
        .route("/queryJob", post(json::serve::<D, QueryJob>))
        .route("/notifyJob", post(json::serve::<D, NotifyJob>))
        .route("/cancelJob", post(json::serve::<D, CancelJob>));
    Router::new()
        .route(SOAP_PATH, post(soap::serve::<D>).get(soap::describe))
        .nest(JSON_PATH, json)
        .with_state(desk)
}

/// A request that a desk knows how to answer.
pub(crate) trait Asked: Request {
    /// Asks the desk.
    fn ask<D: Desk>(
        self,
        desk: &D,
        caller: &gridrig_protocol::lagrid::Caller,
    ) -> impl Future<Output = Result<Self::Answer, PeerFault>> + Send;
}

macro_rules! asked {
    ($($kind:ident => $method:ident,)+) => {$(
        impl Asked for $kind {
            async fn ask<D: Desk>(
                self,
                desk: &D,
                caller: &gridrig_protocol::lagrid::Caller,
            ) -> Result<Self::Answer, PeerFault> {
                desk.$method(caller, self).await
            }
        }
    )+};
}

asked! {
    OpenConn => open_conn,
    NotifyConn => notify_conn,
    Heartbeat => heartbeat,
    RequestResourceData => request_resource_data,
    SendResourceData => send_resource_data,
    SubmitJob => submit_job,
    QueryJob => query_job,
    NotifyJob => notify_job,
    CancelJob => cancel_job,
}
