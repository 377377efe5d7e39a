//! Requests that a page elsewhere has a browser send, as they are (CSRF) or under a
//! name that it lets resolve to this machine (DNS rebinding). Both show in Origin and
//! Host, which no page can set; programs send no Origin.

use super::{Metrics, header_text, refused};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use gridrig_protocol::xml::excerpt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Name and port of a Host.
pub fn name_and_port(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
        _ => (host, Some(80)),
    }
}

/// Whether this is the name of the loopback or an address on it.
pub fn is_loopback(name: &str) -> bool {
    let address = name.trim_start_matches('[').trim_end_matches(']');
    let parsed: Result<IpAddr, _> = address.parse();
    name.eq_ignore_ascii_case("localhost") || parsed.is_ok_and(|address| address.is_loopback())
}

/// Whether the request comes from a page of another origin.
pub fn is_of_another_origin(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return false;
    };
    let origin = origin.to_str().unwrap_or_default();
    let host = header_text(headers, header::HOST).unwrap_or_default();
    let bare = origin
        .strip_prefix("http://")
        .or(origin.strip_prefix("https://"));
    !bare.is_some_and(|bare| bare.eq_ignore_ascii_case(host))
}

/// The routes of a service that listens at this address, without what pages elsewhere
/// have browsers send. Off the loopback its names are not known, and any Host will do.
///
/// What is refused is counted like any other request, with the route `none`.
pub fn guarded(router: Router, address: SocketAddr, metrics: Arc<Metrics>) -> Router {
    let state = (address.ip().is_loopback(), metrics);
    router.layer(middleware::from_fn_with_state(state, guard))
}

async fn guard(
    State((is_local, metrics)): State<(bool, Arc<Metrics>)>,
    request: Request,
    next: Next,
) -> Response {
    let refused = |code, detail: &str| {
        metrics.count_request(request.method().as_str(), "none", 403, Duration::ZERO);
        refused(403, code, detail).into_response()
    };
    let headers = request.headers();
    let shown = |name| excerpt(header_text(headers, name).unwrap_or_default());
    // No browser leaves it out.
    let is_wrong_host = is_local
        && headers.get(header::HOST).is_some_and(|host| {
            let (name, _) = name_and_port(host.to_str().unwrap_or_default());
            !is_loopback(name)
        });
    if is_wrong_host {
        let host = shown(header::HOST);
        let detail = format!("header Host = \"{host}\": expected localhost or a loopback address");
        return refused("wrong-host", &detail);
    }
    if is_of_another_origin(headers) {
        let origin = shown(header::ORIGIN);
        let detail = format!("header Origin = \"{origin}\": expected none, or that of the Host");
        return refused("wrong-origin", &detail);
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn the_loopback_has_one_name_and_its_addresses() {
        for host in [
            "127.0.0.1:81",
            "LOCALHOST",
            "127.9.9.9",
            "[::1]:81",
            "[::1]",
        ] {
            assert!(is_loopback(name_and_port(host).0), "{host}");
        }
        for host in [
            "",
            "evil.example:81",
            "127.0.0.1.evil.example",
            "0.0.0.0",
            "[::]:1",
        ] {
            assert!(!is_loopback(name_and_port(host).0), "{host}");
        }
    }

    #[test]
    fn an_origin_is_that_of_the_host_or_another() {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("a.example:81"));
        assert!(!is_of_another_origin(&headers));
        for (origin, is_other) in [
            ("http://a.example:81", false),
            ("https://A.example:81", false),
            ("http://a.example", true),
            ("http://b.example:81", true),
            ("null", true),
            ("", true),
        ] {
            headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
            assert_eq!(is_of_another_origin(&headers), is_other, "{origin}");
        }
    }
}
