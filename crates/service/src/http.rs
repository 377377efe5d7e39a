//! What every service shares: problem documents for whatever goes wrong,
//! bounds on what a client may cost, metrics, and a life in a thread of its
//! own that can be ended gently or killed.

mod audit;
mod connection;
mod door;
mod exchanges;
mod extract;
mod guard;
pub mod metrics;
mod notify;
#[cfg(feature = "openapi")]
pub mod openapi;
mod query;
mod serve;
mod thread;

pub use door::{Door, Peer, allow_descriptors};
pub use exchanges::{Capture, Exchange, Exchanges, capture};
pub use extract::{Body, Path, Query, bytes, json_bytes, media_type};
pub use guard::{guarded, is_loopback, is_of_another_origin, machine_name, name_and_port};
pub use metrics::{Labels, Metrics, Monitoring, Samples};
pub use notify::{NotifyHosts, is_on_loopback};
pub use query::{CancelQuery, ENDS_PAGE, EndsQuery, EventsQuery, ListQuery, ResourcesQuery};
pub use serve::serve;
pub use thread::{AnswerFault, Faults, Life, ServiceThread};

use audit::Asked;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use gridrig_protocol::rest::Problem;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Largest request body: a job is well below 10 KiB, the samples of a domain
/// with a thousand clusters below 500 KiB.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;
/// No request takes longer; the longest wait that a client may ask for is
/// [`MAX_WAIT`].
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(40);
/// The longest that a request may wait for news.
pub const MAX_WAIT: Duration = Duration::from_secs(30);
/// Requests of a service that may wait for news at a time, a quarter of its connections:
/// the others are for those who want an answer now.
pub const MAX_WAITING: usize = connection::BOUNDS.connections / 4;

/// What is answered to a request, else a problem document.
pub type Result<T, E = ProblemResponse> = std::result::Result<T, E>;

/// A request that is answered with a problem document.
#[derive(Debug)]
pub struct ProblemResponse(pub Problem);

impl From<Problem> for ProblemResponse {
    fn from(problem: Problem) -> Self {
        ProblemResponse(problem)
    }
}

impl IntoResponse for ProblemResponse {
    fn into_response(self) -> Response {
        let status = self.0.status;
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self.0)).into_response();
        let headers = response.headers_mut();
        let media = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, media);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// Completes a service's routes: its own description under `/openapi.json`,
/// and all that [`bounded`] adds.
pub fn finish(
    router: Router,
    openapi: &'static str,
    metrics: Arc<Metrics>,
    faults: Faults,
) -> Router {
    let describe = move || async move { ([(header::CONTENT_TYPE, "application/json")], openapi) };
    let router = router.route("/openapi.json", get(describe));
    bounded(router, metrics, faults)
}

/// Adds to routes: problem documents where there is no route or no such
/// method, bounds on body and time, and counting.
pub fn bounded(router: Router, metrics: Arc<Metrics>, faults: Faults) -> Router {
    let router = router
        .fallback(async || refused(404, "no-such-route", "there is no such route here"))
        .method_not_allowed_fallback(async || {
            let detail = "the route does not have this method";
            refused(405, "method-not-allowed", detail)
        })
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(REQUEST_TIMEOUT, bound_time))
        .layer(middleware::from_fn_with_state(faults, fault));
    counted(router, metrics)
}

/// Answers the requests of these routes within this time, whatever becomes of them.
pub fn timely(router: Router, limit: Duration) -> Router {
    router.layer(middleware::from_fn_with_state(limit, bound_time))
}

/// Counts the requests of these routes, by how long each takes.
pub fn counted(router: Router, metrics: Arc<Metrics>) -> Router {
    router.layer(middleware::from_fn_with_state(metrics, count))
}

fn refused(status: u16, code: &str, detail: &str) -> ProblemResponse {
    ProblemResponse(Problem::new(status, code, detail))
}

async fn bound_time(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    let answer = tokio::time::timeout(limit, next.run(request)).await;
    answer.unwrap_or_else(|_late| ProblemResponse(Problem::late()).into_response())
}

/// Makes the service slow or silent where a test or a scenario asks for it.
async fn fault(State(faults): State<Faults>, request: Request, next: Next) -> Response {
    faults.wait().await;
    next.run(request).await
}

#[allow(
    clippy::disallowed_methods,
    reason = "how long a request takes is measured in service I/O"
)]
async fn count(State(metrics): State<Arc<Metrics>>, request: Request, next: Next) -> Response {
    let begin = std::time::Instant::now();
    let method = request.method().clone();
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let asked = Asked::of(&request);
    let response = next.run(request).await;
    let route = matched.as_ref().map_or("none", MatchedPath::as_str);
    let status = response.status().as_u16();
    metrics.count_request(method.as_str(), route, status, begin.elapsed());
    if let Some(asked) = asked {
        asked.answered(status, &metrics.refusals);
    }
    response
}

/// The answer of `/metrics`.
pub fn metrics_text(text: String) -> Response {
    let media = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, media)], text).into_response()
}

/// How long open requests may keep a service that is asked to end.
pub const GRACE: Duration = Duration::from_secs(3);

/// The first stdout line of a service that speaks plain HTTP.
pub fn listening_line(address: SocketAddr) -> String {
    listening_at(&base_url(address, false))
}

/// The same for a service with this base URL.
pub fn listening_at(url: &str) -> String {
    format!("{{\"listening\":\"{url}\"}}")
}

/// The text of a header, if it is given and is one.
pub fn header_text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// The address by which a client came: a broker or LRMS does not know it by
/// itself. A host that is none is not repeated.
pub fn base_of(headers: &HeaderMap, is_secure: bool) -> String {
    let is_host = |text: &&str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
        !text.is_empty() && text.len() <= 255 && text.chars().all(fits)
    };
    let host = header_text(headers, header::HOST);
    let scheme = if is_secure { "https" } else { "http" };
    format!("{scheme}://{}", host.filter(is_host).unwrap_or("localhost"))
}

/// Where a service that listens there is found.
pub fn base_url(address: SocketAddr, is_secure: bool) -> String {
    let scheme = if is_secure { "https" } else { "http" };
    format!("{scheme}://{address}")
}
