//! Requests that a page elsewhere has a browser send, as they are (CSRF) or under a
//! name that it lets resolve to this machine (DNS rebinding). Both show in Origin and
//! Host, which no page can set; programs send no Origin.

use super::audit::Asked;
use super::{Metrics, Peer, header_text, refused};
use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
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

/// The address that this name is, if it is one.
fn address(name: &str) -> Option<IpAddr> {
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    bare.parse().ok()
}

/// Whether this is the name of the loopback or an address on it.
pub fn is_loopback(name: &str) -> bool {
    let is_on_it = address(name).is_some_and(|address| address.is_loopback());
    name.eq_ignore_ascii_case("localhost") || is_on_it
}

/// The name of this machine, in lower case; nothing where it has none.
pub fn machine_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_ascii_lowercase()
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

/// The routes of a service that listens at this address and goes by these names too,
/// without what pages elsewhere have browsers send.
///
/// What is refused is counted like any other request, with the route `none`.
pub fn guarded(
    router: Router,
    address: SocketAddr,
    names: &[String],
    metrics: Arc<Metrics>,
) -> Router {
    let state = (Names::new(address, names), metrics);
    router.layer(middleware::from_fn_with_state(state, guard))
}

async fn guard(
    State((names, metrics)): State<(Names, Arc<Metrics>)>,
    request: Request,
    next: Next,
) -> Response {
    let Some((code, detail)) = names.refusal(&request) else {
        return next.run(request).await;
    };
    metrics.count_request(request.method().as_str(), "none", 403, Duration::ZERO);
    if let Some(asked) = Asked::of(&request) {
        asked.refused(403, Some(&detail), &metrics.refusals);
    }
    refused(403, code, &detail).into_response()
}

/// What a service may be called.
#[derive(Clone)]
struct Names {
    is_local: bool,
    given: Arc<[String]>,
}

impl Names {
    fn new(address: SocketAddr, given: &[String]) -> Self {
        let is_local = address.ip().is_loopback();
        let own = Some(machine_name()).filter(|name| !is_local && !name.is_empty());
        Names {
            is_local,
            given: given.iter().cloned().chain(own).collect(),
        }
    }

    /// Code and text, if the request is none for this service.
    fn refusal(&self, request: &Request) -> Option<(&'static str, String)> {
        let headers = request.headers();
        let shown = |name| excerpt(header_text(headers, name).unwrap_or_default());
        let peer = request.extensions().get::<ConnectInfo<Peer>>();
        let is_secure = peer.is_some_and(|ConnectInfo(peer)| peer.is_secure);
        // No browser leaves it out.
        let is_wrong_host = headers
            .get(header::HOST)
            .is_some_and(|host| !self.include(host.to_str().unwrap_or_default(), is_secure));
        if is_wrong_host {
            let host = shown(header::HOST);
            let expected = match self.is_local {
                true => "localhost, a loopback address",
                false => "an address, the name of the machine",
            };
            let detail = format!(
                "header Host = \"{host}\": expected {expected} or a name given with --allow-host"
            );
            return Some(("wrong-host", detail));
        }
        is_of_another_origin(headers).then(|| {
            let origin = shown(header::ORIGIN);
            let detail =
                format!("header Origin = \"{origin}\": expected none, or that of the Host");
            ("wrong-origin", detail)
        })
    }

    /// Nobody else can have an address, or what the certificate says, resolve to here.
    fn include(&self, host: &str, is_secure: bool) -> bool {
        let (name, _) = name_and_port(host);
        // A name may end with the dot of the root.
        let name = name.strip_suffix('.').unwrap_or(name);
        let is = |given: &String| [name, host].iter().any(|it| given.eq_ignore_ascii_case(it));
        let is_far = !self.is_local && (is_secure || address(name).is_some());
        is_far || is_loopback(name) || self.given.iter().any(is)
    }
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

    #[test]
    fn a_service_goes_by_addresses_and_the_names_of_its_machine_that_are_known() {
        let given = ["Lab.Example".to_owned()];
        let names = |address: &str| Names::new(address.parse().unwrap(), &given);
        let (near, far) = (names("127.0.0.1:81"), names("0.0.0.0:81"));
        for (host, by_near, by_far) in [
            ("localhost:81", true, true),
            ("localhost.:81", true, true),
            ("lab.example.:81", true, true),
            ("127.0.0.1", true, true),
            ("lab.example:81", true, true),
            ("192.0.2.7:81", false, true),
            ("[2001:db8::7]:81", false, true),
            ("", false, false),
            ("evil.example", false, false),
            ("192.0.2.7.evil.example", false, false),
            ("lab.example.evil.example:81", false, false),
        ] {
            assert_eq!(near.include(host, false), by_near, "{host}");
            assert_eq!(far.include(host, false), by_far, "{host}");
        }
        let own = machine_name();
        assert!(own.is_empty() || far.include(&own, false), "{own}");
        // A page that has its name resolve to here has no certificate for it.
        assert!(far.include("evil.example", true) && !near.include("evil.example", true));
    }
}
