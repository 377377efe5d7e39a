//! The server: its routes, its bounds, its life.

use super::{Shared, assets, layout, security};
use axum::body::{Body, to_bytes};
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::{Extension, Router};
use flate2::Compression;
use flate2::write::GzEncoder;
use gridrig_service::http::metrics::metrics_route;
use gridrig_service::http::{self, Door, Labels, Life, Metrics, ServiceThread};
use gridrig_service::incarnation;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

/// Largest request body: the text of a scenario.
const MAX_BODY_BYTES: usize = 1024 * 1024;
/// No answer takes longer to make, of the largest runs too.
const ANSWER: Duration = Duration::from_secs(120);
/// Answers below this size fit into a packet as they are.
const WORTH_PACKING: usize = 1024;
/// Media types that are packed.
const TEXTS: [&str; 5] = [
    "text/html",
    "text/css",
    "text/javascript",
    "application/json",
    "image/svg+xml",
];
/// No answer is larger: the jobs of a large run come in parts.
const LARGEST_ANSWER: usize = 64 * 1024 * 1024;

/// Serves the dashboard in a thread of its own until the answer is dropped or
/// stopped.
///
/// # Errors
/// When no thread or runtime can be had.
pub fn start(bound: TcpListener, dashboard: Shared) -> io::Result<ServiceThread> {
    ServiceThread::spawn("dashboard", bound, |listener, life| {
        run(listener, life, dashboard, ANSWER)
    })
}

async fn run(
    listener: TcpListener,
    life: Life,
    dashboard: Shared,
    limit: Duration,
) -> io::Result<()> {
    let listener = Door::open(listener, None)?;
    let hub = Arc::clone(&dashboard.hub);
    let metrics = Arc::new(Metrics::new(Labels::of("dashboard"), incarnation()));
    let router = router(dashboard, &metrics).layer(Extension(life.clone()));
    let router = http::counted(http::timely(router, limit), metrics);
    tokio::select! {
        served = http::serve(listener, router, life) => served,
        // It never ends, but by a panic: then pages would stand still.
        () = hub.tick() => Ok(()),
    }
}

fn router(dashboard: Shared, metrics: &Arc<Metrics>) -> Router {
    Router::new()
        // What is special about a dashboard is on its pages.
        .merge(metrics_route(Arc::clone(metrics), |_samples| ()))
        .merge(assets::routes())
        .merge(security::routes())
        .merge(super::live::routes())
        .merge(super::pages::routes())
        .merge(super::control::routes())
        .fallback(no_such_page)
        .method_not_allowed_fallback(async || {
            let detail = "the route does not have this method";
            layout::problem(405, "method-not-allowed", detail)
        })
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(from_fn_with_state(Arc::clone(&dashboard), security::guard))
        .layer(from_fn(pack))
        .with_state(dashboard)
}

async fn no_such_page(request: Request) -> Response {
    if request.uri().path().starts_with("/api/") {
        return layout::problem(404, "no-such-route", "there is no such route here");
    }
    layout::message(
        StatusCode::NOT_FOUND,
        layout::Tab::None,
        "There is no such page",
        "The navigation above has all pages of this dashboard.",
    )
}

/// Packs what is worth it, for whoever can unpack it. A stream of events goes
/// out as it comes.
async fn pack(request: Request, next: Next) -> Response {
    let wanted = layout::parts_of(request.headers(), header::ACCEPT_ENCODING, ',')
        .any(|coding| matches!(coding, "gzip" | "*") || coding.starts_with("gzip;q=1"));
    let response = next.run(request).await;
    let text = layout::parts_of(response.headers(), header::CONTENT_TYPE, ';')
        .any(|media| TEXTS.contains(&media));
    let (mut parts, body) = response.into_parts();
    if !text || parts.headers.contains_key(header::CONTENT_ENCODING) {
        return Response::from_parts(parts, body);
    }
    parts
        .headers
        .append(header::VARY, HeaderValue::from_static("accept-encoding"));
    if !wanted {
        return Response::from_parts(parts, body);
    }
    let Ok(bytes) = to_bytes(body, LARGEST_ANSWER).await else {
        return layout::problem(500, "too-large", "the answer is too large");
    };
    if bytes.len() < WORTH_PACKING {
        return Response::from_parts(parts, Body::from(bytes));
    }
    let mut packer = GzEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::fast());
    let packed = packer.write_all(&bytes).and_then(|()| packer.finish());
    let Ok(packed) = packed else {
        return Response::from_parts(parts, Body::from(bytes));
    };
    parts
        .headers
        .insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(packed))
}

#[cfg(test)]
mod tests {
    use super::super::control::Control;
    use super::super::{Access, Dashboard, Pages};
    use super::*;
    use std::path::PathBuf;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    #[tokio::test]
    async fn a_request_that_is_not_done_in_time_is_answered_that_it_is_late() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, runs) = (listener.local_addr().unwrap(), PathBuf::from("runs"));
        let hub = Arc::default();
        let dashboard = Dashboard {
            access: Access::new(address, &[], "secret"),
            pages: Pages::default(),
            control: Arc::new(Control::new(Arc::clone(&hub), &runs, true, false)),
            runs,
            hub,
        };
        let life = Life::until(std::future::pending());
        let limit = Duration::from_millis(200);
        let asked = async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let head = format!(
                "POST /api/control/check HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
                 authorization: Bearer secret\r\ncontent-type: application/json\r\n\
                 content-length: 9\r\n\r\nhalf"
            );
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.unwrap();
            String::from_utf8(answer).unwrap()
        };
        tokio::select! {
            ended = run(listener, life, Arc::new(dashboard), limit) => ended.unwrap(),
            answer = asked => assert!(answer.contains("\"code\":\"timeout\""), "{answer}"),
        }
    }
}
