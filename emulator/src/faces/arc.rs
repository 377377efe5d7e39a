//! ARC REST 1.0 with GLUE2, as A-REX 6.17 serves it: what ARC's own client,
//! and every broker that submits through it, talks to.
//!
//! `docs/arc.md` has the routes, the states and what differs from A-REX. The
//! parts: `store` keeps jobs and delegations, `create` turns descriptions into
//! jobs of the LRMS, `state` gives the cluster's states ARC's names; `jobs`,
//! `delegations`, `session`, `info` and `soap` answer requests; `answer` has
//! the forms of an answer.

mod answer;
mod create;
mod delegations;
mod info;
mod jobs;
mod look;
mod session;
mod soap;
mod state;
mod store;

use crate::Config;
use answer::{Fault, Format, Reply};
use axum::Router;
use axum::extract::{ConnectInfo, FromRequestParts, Query};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::routing::any;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_protocol::xml::Element;
use gridrig_service::App;
use gridrig_service::http::{Peer, header_text};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use store::Store;

/// How this face is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The name of its one queue.
    pub queue: String,
    /// How long a job runs whose description does not say.
    pub default_run_time: SimDuration,
    /// Jobs it keeps at once; beyond, the oldest that have ended are
    /// forgotten, and if none has, new ones are refused.
    pub max_jobs: usize,
    /// How long a job waits for the files its client is to upload, on the
    /// wall clock.
    pub stage_in: Duration,
    /// How long each of a CE's own steps around the LRMS takes, on the wall
    /// clock: four before it, three after it, one to kill. With zero a job
    /// goes straight in, and is seen to have ended at once.
    pub step: Duration,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            queue: "batch".to_owned(),
            default_run_time: SimDuration::from_secs(60),
            max_jobs: 100_000,
            stage_in: Duration::from_secs(600),
            step: Duration::ZERO,
        }
    }
}

/// Where clients look for the service.
const BASE: &str = "/arex";

/// What the handlers share.
struct Face {
    app: App<Config>,
    setup: Setup,
    /// Never held across an await.
    store: Mutex<Store>,
    /// What the ids of this life of the service begin with, so that no job of
    /// an earlier one is taken for one of this.
    prefix: String,
}

impl Face {
    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock()
    }

    /// A step around the LRMS, on the rig's clock.
    fn step(&self) -> SimDuration {
        self.app.config.clock.run(self.setup.step)
    }

    fn share_id(&self) -> String {
        let (name, queue) = (&self.app.config.name, &self.setup.queue);
        format!("urn:ogf:ComputingShare:{name}:{queue}")
    }

    fn id(&self, number: u64) -> String {
        format!("{}{number}", self.prefix)
    }

    fn number(&self, id: &str) -> Option<u64> {
        Self::digits(id.strip_prefix(&self.prefix)?)
    }

    fn delegation_id(&self, number: u64) -> String {
        format!("{}d{number}", self.prefix)
    }

    fn delegation_number(&self, id: &str) -> Option<u64> {
        Self::digits(id.strip_prefix(&self.prefix)?.strip_prefix('d')?)
    }

    fn digits(digits: &str) -> Option<u64> {
        let number: u64 = digits.parse().ok()?;
        // One job has one id: "+7" and "007" are none.
        (number.to_string() == digits).then_some(number)
    }

    fn unix_s(&self, at: SimTime) -> u64 {
        self.app.config.clock.unix_ns(at) / 1_000_000_000
    }

    /// The present in Unix seconds, as certificates count.
    fn unix_now(&self) -> i64 {
        let now = self.app.config.clock.now();
        i64::try_from(self.unix_s(now)).unwrap_or(i64::MAX)
    }
}

pub(super) fn routes(app: &App<Config>, setup: &Setup) -> Router {
    let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = app.config.name.chars().take(40).map(word).collect();
    let began = app.config.clock.epoch_unix_ns() / 1_000_000;
    let face = Arc::new(Face {
        app: app.clone(),
        setup: setup.clone(),
        store: Mutex::default(),
        prefix: format!("{name}.{began:x}."),
    });
    let rest = Router::new()
        .route("/rest", any(versions))
        .route("/rest/", any(versions))
        .route("/rest/1.0/info", any(info::info))
        .route("/rest/1.0/delegations", any(delegations::all))
        .route("/rest/1.0/delegations/{id}", any(delegations::one))
        .route("/rest/1.0/jobs", any(jobs::jobs))
        .route("/rest/1.0/jobs/{id}/session", any(session::top))
        .route("/rest/1.0/jobs/{id}/session/", any(session::top))
        .route("/rest/1.0/jobs/{id}/session/{*path}", any(session::below))
        .route(
            "/rest/1.0/jobs/{id}/diagnose/{name}",
            any(session::diagnose),
        )
        .route("/rest/{*rest}", any(nothing));
    Router::new()
        .route(BASE, any(soap::soap))
        .nest(BASE, rest)
        .with_state(face)
}

async fn versions(call: Call) -> Reply {
    call.only(&[Method::GET, Method::HEAD])?;
    let versions = Element::new("", "versions").field("version", "1.0");
    Ok(call.format.answer(StatusCode::OK, &versions, &["version"]))
}

async fn nothing() -> Reply {
    Err(Fault::new(404, "Functionality Not Supported"))
}

/// What every handler asks of a request.
struct Call {
    method: Method,
    format: Format,
    query: BTreeMap<String, Vec<String>>,
    headers: HeaderMap,
    /// The address under which the client found the service, with scheme.
    origin: String,
    /// Who asks, where a certificate says so.
    viewer: Option<Arc<str>>,
}

impl Call {
    /// A-REX answers 501 where others answer 405.
    fn only(&self, methods: &[Method]) -> Result<(), Fault> {
        match methods.contains(&self.method) {
            true => Ok(()),
            false => Err(Fault::not_implemented()),
        }
    }

    fn action(&self) -> &str {
        let first = self.query.get("action").and_then(|all| all.first());
        first.map_or("", String::as_str)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Call {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let peer = parts.extensions.get::<ConnectInfo<Peer>>();
        let scheme = match peer {
            Some(ConnectInfo(peer)) if peer.is_secure => "https",
            _ => "http",
        };
        let host = header_text(&parts.headers, header::HOST);
        // ARC's client sends the whole URL as the target of its requests.
        let authority = parts.uri.authority().map(Authority::as_str);
        let authority = authority.or(host).unwrap_or("localhost");
        let mut query: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let given = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        for (name, value) in given.unwrap_or_default().0 {
            query.entry(name).or_default().push(value);
        }
        Ok(Call {
            method: parts.method.clone(),
            format: Format::wanted(&parts.headers),
            query,
            origin: format!("{scheme}://{authority}"),
            viewer: peer.and_then(|ConnectInfo(peer)| peer.identity.clone()),
            headers: parts.headers.clone(),
        })
    }
}
