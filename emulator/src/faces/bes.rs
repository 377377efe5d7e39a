//! OGSA-BES 1.0 with JSDL 1.0 over SOAP: the factory and the management port,
//! in the subset of the HPC Basic Profile. `docs/bes.md` has what is served.
//!
//! The operations are dispatched on the element in the body, since clients
//! disagree about SOAPAction, and answered in the version of SOAP that was
//! used. An activity is a job of the cluster; its name carries the job's
//! number and the life of the service, so that a reference from before a
//! restart names no job of after it.

mod activity;
mod documents;
mod operations;
mod wsdl;

use crate::Config;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use axum::routing::post;
use axum::{Extension, Router};
use documents::Documents;
use gridrig_core::time::SimDuration;
use gridrig_protocol::bes::Operation;
use gridrig_protocol::soap::Fault;
use gridrig_service::http::{Peer, Result, base_of};
use gridrig_service::soap::{self, FAULT_ACTION, Request};
use gridrig_service::{App, incarnation};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Where the service is found: under a path of its own, and under the one that
/// GridWay's driver has built in.
const PATHS: [&str; 2] = ["/services/bes", "/gridsam/services/bes"];

/// How this face is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How long a job runs whose description does not say.
    pub default_run_time: SimDuration,
    /// Documents of activities that are kept; of older ones the service knows
    /// what the cluster knows of the job.
    pub max_documents: usize,
}

/// Bytes of the requests that kept documents came in, at most.
const MOST_BYTES: usize = 256 * 1024 * 1024;

impl Default for Setup {
    fn default() -> Self {
        Setup {
            default_run_time: SimDuration::from_secs(60),
            max_documents: 100_000,
        }
    }
}

/// What the handlers work with.
struct Face {
    app: App<Config>,
    setup: Setup,
    /// Tells the activities of this life of the service from others.
    life: String,
    accepting: AtomicBool,
    documents: Mutex<Documents>,
}

pub(super) fn routes(app: &App<Config>, setup: &Setup) -> Router {
    let life = format!("{}-{:x}", app.config.cluster.id.0, incarnation());
    let face = Arc::new(Face {
        app: app.clone(),
        setup: setup.clone(),
        life,
        accepting: AtomicBool::new(true),
        documents: Mutex::new(Documents::new(setup.max_documents, MOST_BYTES)),
    });
    let mut routes = Router::new();
    for path in PATHS {
        routes = routes.route(path, post(serve).get(describe));
    }
    routes.with_state(face)
}

/// The header block of WS-Security. What is in it is not looked at: an
/// emulated cluster has no users of its own, and the clients of the HPC Basic
/// Profile send a name and password that must be understood.
const SECURITY: (&str, &str) = (
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd",
    "Security",
);

async fn serve(
    State(face): State<Arc<Face>>,
    uri: Uri,
    peer: Option<Extension<ConnectInfo<Peer>>>,
    request: Request,
) -> Response {
    let Some(operation) = Operation::of(&request.envelope.body) else {
        let fault = Fault::unknown_operation(&request.envelope.body);
        return soap::answer(&request, (FAULT_ACTION, FAULT_ACTION), Err(fault));
    };
    let actions = (operation.response_action(), operation.fault_action());
    let result = match request.envelope.check_understood(&[SECURITY]) {
        Ok(()) => {
            let address = face.address(&request.headers, &uri);
            let client = peer.and_then(|Extension(ConnectInfo(peer))| peer.identity);
            operations::answer(&face, operation, &request, &address, client).await
        }
        Err(fault) => Err(fault),
    };
    soap::answer(&request, (&actions.0, &actions.1), result)
}

async fn describe(State(face): State<Arc<Face>>, uri: Uri, headers: HeaderMap) -> Result<Response> {
    let address = face.address(&headers, &uri);
    soap::describe(&uri, || wsdl::document(&address))
}

impl Face {
    /// The service's address as this client has it, so that references work
    /// from where it stands.
    fn address(&self, headers: &HeaderMap, uri: &Uri) -> String {
        let base = base_of(headers, self.app.config.tls.is_some());
        format!("{base}{}", uri.path())
    }

    /// The names this cluster goes by: its own, and the host that the client
    /// has reached it under.
    fn names<'a>(&'a self, address: &'a str) -> [&'a str; 2] {
        let host = address.split("://").nth(1).unwrap_or_default();
        let host = host.split('/').next().unwrap_or_default();
        let host = match host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => host,
        };
        [&self.app.config.name, host]
    }
}
