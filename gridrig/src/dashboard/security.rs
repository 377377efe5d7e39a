//! Who may ask: Host, Origin and a token. The loopback is no border: every user
//! of the machine reaches it.
//!
//! A page elsewhere can make a browser send requests here, by a form (CSRF) or
//! under a name that it lets resolve to this machine (DNS rebinding). Both show
//! in Origin and Host, which no page can set.

use super::{Shared, layout};
use askama::Template;
use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use gridrig_service::http;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::net::{IpAddr, SocketAddr};

/// Who may ask.
pub struct Access {
    address: SocketAddr,
    /// Further names under which the dashboard is asked for, in lower case.
    names: Vec<String>,
    /// SHA-256 of the token.
    token: [u8; 32],
}

impl Access {
    /// Access to a dashboard at this address, for who has this token.
    pub fn new(address: SocketAddr, names: &[String], token: &str) -> Self {
        Access {
            address,
            names: names.iter().map(|name| name.to_ascii_lowercase()).collect(),
            token: Sha256::digest(token).into(),
        }
    }

    /// The name of the cookie that a browser keeps the token in. Browsers send
    /// cookies to all ports of a name: two dashboards have two.
    fn cookie(&self) -> String {
        format!("gridrig_token_{}", self.address.port())
    }

    /// Whether somebody who calls the dashboard by this name may do so.
    ///
    /// An address is no name that somebody else could point here; names are
    /// those of this machine and those that the user allows.
    fn host_allowed(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let (name, port) = http::name_and_port(&host);
        let name = name.strip_suffix('.').unwrap_or(name);
        if self.names.iter().any(|n| *n == host || n == name) {
            return true;
        }
        if port != Some(self.address.port()) {
            return false;
        }
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            Ok(ip) if self.address.ip().is_loopback() => ip.is_loopback(),
            Ok(_) => true,
            Err(_) if name == "localhost" => true,
            Err(_) => !self.address.ip().is_loopback() && name == http::machine_name(),
        }
    }

    /// Whether this is the token. Digests of equal length are compared to
    /// their ends, so that the time it takes says nothing about the token.
    fn is_token(&self, token: &str) -> bool {
        let given: [u8; 32] = Sha256::digest(token).into();
        let pairs = self.token.iter().zip(given);
        let apart = pairs.fold(0, |sum, (a, b)| sum | (a ^ b));
        std::hint::black_box(apart) == 0
    }

    fn is_known(&self, headers: &HeaderMap) -> bool {
        let name = self.cookie();
        let bearer = headers.get(header::AUTHORIZATION);
        let bearer = bearer.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let cookie = layout::parts_of(headers, header::COOKIE, ';')
            .find_map(|pair| pair.strip_prefix(&*name)?.strip_prefix('='));
        bearer.into_iter().chain(cookie).any(|t| self.is_token(t))
    }
}

/// Refuses whoever may not ask, and puts the headers of every answer.
pub(super) async fn guard(
    State(dashboard): State<Shared>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match refuse(&dashboard.access, &request) {
        Some(refused) => refused,
        None => next.run(request).await,
    };
    put_headers(response.headers_mut());
    response
}

fn refuse(access: &Access, request: &Request) -> Option<Response> {
    let headers = request.headers();
    let text = |name: HeaderName| Some(headers.get(name)?.to_str().unwrap_or(""));
    let host = text(header::HOST).unwrap_or("");
    if !access.host_allowed(host) {
        let detail = "the Host of the request is none of this dashboard's names (expected its \
                      address, or a name given with --allow-host)";
        return Some(layout::problem(403, "wrong-host", detail));
    }
    if http::is_of_another_origin(headers) {
        let detail = "the request comes from a page of another origin";
        return Some(layout::problem(403, "wrong-origin", detail));
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let site = text(HeaderName::from_static("sec-fetch-site"));
    if !reads && site.is_some_and(|site| site != "same-origin" && site != "none") {
        let detail = "the request comes from a page of another site";
        return Some(layout::problem(403, "wrong-origin", detail));
    }
    let path = request.uri().path();
    let public = path == "/login" || path.starts_with("/assets/");
    if public || access.is_known(headers) {
        return None;
    }
    if !path.starts_with("/api/") {
        return Some(login(StatusCode::UNAUTHORIZED, false));
    }
    let detail = "this dashboard needs its token";
    Some(layout::problem(401, "no-token", detail))
}

fn put_headers(headers: &mut HeaderMap) {
    let fixed = [
        (
            "content-security-policy",
            "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
             object-src 'none'",
        ),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        // Within this origin only: with no referrer at all, browsers would
        // send forms without an origin.
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        (
            "permissions-policy",
            "camera=(), geolocation=(), microphone=()",
        ),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
}

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/login", get(enter).post(enter_by_form))
}

#[derive(Template)]
#[template(path = "login.html")]
struct Login {
    layout: layout::Layout,
    wrong: bool,
}

fn login(status: StatusCode, wrong: bool) -> Response {
    let layout = layout::Layout::new(layout::Tab::None);
    layout::page_with(status, &Login { layout, wrong })
}

#[derive(Deserialize)]
struct Given {
    token: Option<String>,
}

/// `/login?token=...`: the address that is printed at the start.
async fn enter(
    State(dashboard): State<Shared>,
    Query(given): Query<Given>,
    headers: HeaderMap,
) -> Response {
    match given.token {
        Some(token) => let_in(&dashboard.access, &token, &headers),
        None => login(StatusCode::OK, false),
    }
}

/// A token has no signs that a form would encode.
async fn enter_by_form(
    State(dashboard): State<Shared>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let mut fields = body.split('&');
    let token = fields.find_map(|field| field.strip_prefix("token="));
    let_in(&dashboard.access, token.unwrap_or(""), &headers)
}

/// The token moves into a cookie that no script and no other site can read,
/// and out of the address. There is TLS only in a proxy, which says so: whoever
/// lies about it binds nobody's cookie but their own.
fn let_in(access: &Access, token: &str, headers: &HeaderMap) -> Response {
    if !access.is_token(token) {
        return login(StatusCode::UNAUTHORIZED, true);
    }
    let forwarded = headers.get("x-forwarded-proto");
    let secure = match forwarded.is_some_and(|scheme| scheme == "https") {
        true => "; Secure",
        false => "",
    };
    let cookie = access.cookie();
    let cookie = format!("{cookie}={token}; Path=/; HttpOnly; SameSite=Strict{secure}");
    let fields = [(header::LOCATION, "/"), (header::SET_COOKIE, &cookie)];
    (StatusCode::SEE_OTHER, fields).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn access(address: &str) -> Access {
        Access::new(address.parse().unwrap(), &["Lab.Example".to_owned()], TOKEN)
    }

    #[test]
    fn loopback_goes_by_loopback_names_only() {
        let access = access("127.0.0.1:8080");
        for host in [
            "127.0.0.1:8080",
            "localhost:8080",
            "LOCALHOST:8080",
            "[::1]:8080",
            "lab.example",
        ] {
            assert!(access.host_allowed(host), "{host}");
        }
        for host in [
            "",
            "evil.example:8080",
            "127.0.0.1",
            "127.0.0.1:81",
            "10.0.0.1:8080",
            "localhost.evil.example:8080",
        ] {
            assert!(!access.host_allowed(host), "{host}");
        }
    }

    #[test]
    fn an_open_address_goes_by_any_address() {
        let access = access("0.0.0.0:80");
        assert!(access.host_allowed("192.0.2.7"));
        assert!(access.host_allowed("192.0.2.7:80"));
        assert!(!access.host_allowed("evil.example"));
    }

    #[test]
    fn a_token_is_taken_from_the_cookie_of_the_port_or_as_bearer() {
        let access = access("127.0.0.1:81");
        for (name, value, known) in [
            ("cookie", "a=b; gridrig_token_81=0123456789abcdef", true),
            ("cookie", "gridrig_token_81=0123456789abcdeF", false),
            ("cookie", "gridrig_token_8=0123456789abcdef", false),
            ("cookie", "gridrig_token=0123456789abcdef", false),
            ("authorization", "Bearer 0123456789abcdef", true),
            ("authorization", "0123456789abcdef", false),
            ("authorization", "Bearer ", false),
            ("host", "127.0.0.1:81", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            assert_eq!(access.is_known(&headers), known, "{value}");
        }
    }
}
