//! What the services around the machines of `drivers::real_time` share: how one
//! is started, served and ended, the routes that are the same for each, and how
//! what a machine sends goes over HTTP. A service is what implements
//! [`Service`]; its own routes and its own envelopes stay with it.

mod envelopes;
mod events;
mod host;
pub mod http;
mod journal;
mod lines;
mod observe;
mod ports;
pub mod routes;
pub mod soap;
pub mod submission;
pub mod tls;

pub use envelopes::{inform, name_of, notify};
pub use events::{LineWriter, line_writer, read_lines};
pub use host::{Handle, run, serve, spawn};
pub use journal::{Begun, JournalSetup, incarnation, last_instant, recall, recall_service};
pub use observe::{clock_samples, count_samples, lag_samples};
pub use ports::free_ports;
pub use submission::conflict;

use crate::http::{Capture, Faults, Labels, Metrics, Monitoring, Samples};
use crate::tls::ServerTls;
use axum::Router;
use axum::middleware::from_fn_with_state;
use gridrig_core::agent::{JobHolder, Journaled, Memory, Participant};
use gridrig_core::decision::About;
use gridrig_core::faults::Restart;
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::{Actor, CallError, Driven, Recorder, RunClock, Transport};
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::{ClockInfo, Problem, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// One kind of service, by how it is configured.
///
/// - What it is: [`name`](Self::name), [`clock`](Self::clock),
///   [`keep_events`](Self::keep_events), [`journal`](Self::journal), [`resumed`](Self::resumed),
///   [`tls`](Self::tls), [`hosts`](Self::hosts), [`routes`](Self::routes),
///   [`OPENAPI`](Self::OPENAPI), [`faces`](Self::faces).
/// - When it crashes by plan: [`absences`](Self::absences), [`restart`](Self::restart).
/// - What it runs: [`machine`](Self::machine), [`transport`](Self::transport),
///   [`companion`](Self::companion).
/// - What is seen of it: [`monitoring`](Self::monitoring), [`labels`](Self::labels),
///   [`observe`](Self::observe).
pub trait Service: Clone + Send + Sync + 'static {
    /// What it runs.
    type Machine: JobHolder<Input: Serialize + DeserializeOwned>;
    /// How it sends.
    type Transport: Transport<Message = <Self::Machine as Participant>::Sends>;

    /// The description of its routes that it serves: the shipped OpenAPI document. Tests make
    /// it from the handlers, so that the program has no code for it.
    const OPENAPI: &'static str;

    /// Its kind and name, for people.
    fn name(&self) -> String;

    /// The clock it runs on.
    fn clock(&self) -> RunClock;

    /// How many of its newest events it keeps.
    fn keep_events(&self) -> usize;

    /// The jobs about which it keeps how it decides.
    fn decisions(&self) -> About {
        About::None
    }

    /// How it keeps a journal, if it does.
    fn journal(&self) -> Option<&JournalSetup> {
        None
    }

    /// It goes on with what its journal says: whoever else belongs to it is told.
    fn resumed(&self) {}

    /// When it crashes by plan, and is there again, in order.
    fn absences(&self) -> Vec<Restart> {
        Vec::new()
    }

    /// It begins its next life, with this memory.
    fn restart(&mut self, _memory: Memory) {}

    /// How it speaks TLS; `None` is plain HTTP.
    fn tls(&self) -> Option<&ServerTls> {
        None
    }

    /// Names under which it is asked for, besides those of its machine.
    fn hosts(&self) -> &[String] {
        &[]
    }

    /// Its routes.
    fn routes() -> Router<App<Self>>;

    /// Interfaces of other systems that it offers besides its own. They are no
    /// part of its OpenAPI description: each follows a document of its own.
    fn faces(_app: &App<Self>) -> Router {
        Router::new()
    }

    /// A second door, for others than those who come in by the first.
    ///
    /// # Errors
    /// When its address cannot be bound.
    fn side_door(_app: &App<Self>) -> io::Result<Option<SideDoor>> {
        Ok(None)
    }

    /// Under which base URL it is reached by its first door.
    fn listening(&self, _url: &str) {}

    /// What is said to others before the service ends in good order.
    fn farewell(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Its machine, new, in this life, which began at this instant.
    fn machine(&self, incarnation: u64, born: SimTime) -> Self::Machine;

    /// The way to whom it knows.
    fn transport(&self, client: Client) -> Self::Transport;

    /// A task that lives as long as the machine does.
    fn companion(
        &self,
        _actor: &Actor<Self::Machine>,
        _transport: &Arc<Self::Transport>,
    ) -> Option<JoinHandle<()>> {
        None
    }

    /// How it is monitored.
    fn monitoring(&self) -> &Monitoring;

    /// The labels of its metrics: which service this is, of which run.
    fn labels(&self) -> Labels;

    /// Adds what a scrape of its metrics shows of the machine at this instant
    /// of the run.
    fn observe(&self, machine: &Self::Machine, now: SimTime, samples: &mut Samples);
}

/// A door of its own for some routes.
pub struct SideDoor {
    /// Where it is.
    pub listener: TcpListener,
    /// How it speaks TLS; `None` is plain HTTP.
    pub tls: Option<ServerTls>,
    /// What it leads to.
    pub routes: Router,
}

/// Events that a service keeps unless told otherwise: some 100 MB. A job makes
/// about five.
pub const KEEP_EVENTS: usize = 1_000_000;

/// Jobs that may wait at a service whose configuration has no bound of its own: 1 GB at an
/// LRMS, twice as much at a broker (docs/rest.md). A further one is refused as `queue-full`.
pub const MOST_WAITING: usize = 1_000_000;

/// What the routes of a service work with.
pub struct App<S: Service> {
    /// The way to the machine.
    pub actor: Actor<S::Machine>,
    /// What has happened.
    pub recorder: Recorder,
    /// What has come in.
    pub metrics: Arc<Metrics>,
    /// How the service is set up.
    pub config: Arc<S>,
    /// Which life of the machine this is, by its [`incarnation`]: one that goes on
    /// with a journal is in its old one.
    pub life: u64,
    /// The places for requests that wait for news.
    pub waiting: Arc<Semaphore>,
}

// A derive would ask for the configuration to be `Clone`.
impl<S: Service> Clone for App<S> {
    fn clone(&self) -> Self {
        App {
            actor: self.actor.clone(),
            recorder: self.recorder.clone(),
            metrics: Arc::clone(&self.metrics),
            config: Arc::clone(&self.config),
            life: self.life,
            waiting: Arc::clone(&self.waiting),
        }
    }
}

impl<S: Service> App<S> {
    /// Has this done with the machine.
    ///
    /// # Errors
    /// When it has too much to do or has stopped.
    pub async fn call<R: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Driven<S::Machine>, SimTime) -> R + Send + 'static,
    ) -> Result<R> {
        self.actor.call(call).await.map_err(gone)
    }

    /// The same for a message that was meant to arrive at `meant`
    /// ([`Actor::message`]).
    ///
    /// # Errors
    /// When it has too much to do or has stopped.
    pub async fn message<R: Send + 'static>(
        &self,
        meant: Option<SimTime>,
        call: impl FnOnce(&mut Driven<S::Machine>, SimTime) -> R + Send + 'static,
    ) -> Result<R> {
        self.actor.message(meant, call).await.map_err(gone)
    }

    /// The clock as clients are told of it.
    pub fn clock_at(&self, now: SimTime) -> ClockInfo {
        let clock = self.config.clock();
        ClockInfo {
            epoch_unix_ns: clock.epoch_unix_ns(),
            speed: clock.speed().to_string(),
            now_ns: now.as_nanos(),
        }
    }
}

fn router<S: Service>(app: App<S>, faults: Faults, capture: Capture) -> Router {
    let metrics = Arc::clone(&app.metrics);
    let faces = S::faces(&app);
    let router = S::routes()
        .with_state(app)
        .merge(faces)
        .layer(from_fn_with_state(capture, http::capture));
    http::finish(router, S::OPENAPI, metrics, faults)
}

/// Has this done with a machine, however much it has to do: after each pause
/// it is asked again.
///
/// # Errors
/// When it has stopped.
pub async fn persist<M: Journaled + 'static, R: Send + 'static>(
    actor: &Actor<M>,
    pause: Duration,
    call: impl Fn(&mut Driven<M>, SimTime) -> R + Clone + Send + 'static,
) -> Result<R, CallError> {
    loop {
        match actor.call(call.clone()).await {
            Err(CallError::Busy) => tokio::time::sleep(pause).await,
            answer => return answer,
        }
    }
}

/// What a client is told when the machine cannot be called.
pub fn gone(error: CallError) -> Problem {
    match error {
        CallError::Busy => Problem::busy(),
        CallError::Stopped => Problem::stopped(),
    }
}
