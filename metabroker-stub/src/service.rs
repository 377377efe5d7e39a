//! Starting, serving and ending.

use crate::app::{App, router};
use crate::config::Config;
use crate::transport::HttpTransport;
use crate::watch::watch;
use gridrig_drivers::real_time::{Actor, BrokerMachine, BrokerSetup, Recorder, Tally, start};
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::serve::{
    self, BoundedListener, Life, Metrics, ServiceThread, Stall, Weather, listening_line,
};
use std::future::Future;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::oneshot;

/// A running broker.
pub struct Handle {
    thread: ServiceThread,
    actor: Actor<BrokerMachine>,
    recorder: Recorder,
    metrics: Arc<Metrics>,
    stall: Stall,
    undelivered: Arc<Tally>,
}

/// How long a request to an LRMS or a peer may take.
const REQUEST: Duration = Duration::from_secs(10);

/// Starts a broker in a thread of its own.
///
/// # Errors
/// When the listener, a thread or an HTTP client cannot be had.
pub async fn spawn(config: Config, listener: TcpListener) -> io::Result<Handle> {
    let (recorder, metrics, stall) = (Recorder::default(), Arc::default(), Stall::default());
    let parts = Parts {
        machine: BrokerMachine::new(setup(&config), recorder.clone()),
        recorder: recorder.clone(),
        metrics: Arc::clone(&metrics),
        stall: stall.clone(),
    };
    let undelivered = parts.machine.undelivered();
    let (ready, started) = oneshot::channel();
    let name = format!("broker-{}", config.setup.name);
    let thread = ServiceThread::spawn(&name, listener, move |listener, life| {
        host(config, parts, listener, life, ready)
    })?;
    match started.await {
        Ok(actor) => Ok(Handle {
            thread,
            actor,
            recorder,
            metrics,
            stall,
            undelivered,
        }),
        Err(_ended) => {
            thread.stop().await?;
            Err(io::Error::other("the service ended before it had begun"))
        }
    }
}

/// Serves a broker on the caller's runtime until `shutdown` ends.
///
/// # Errors
/// When the listener or an HTTP client cannot be had.
pub async fn run(
    config: Config,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let recorder = Recorder::default();
    let parts = Parts {
        machine: BrokerMachine::new(setup(&config), recorder.clone()),
        recorder,
        metrics: Arc::default(),
        stall: Stall::default(),
    };
    let (ready, _started) = oneshot::channel();
    host(config, parts, listener, Life::until(shutdown), ready).await
}

/// Binds, says on the first line of stdout where, and serves until `shutdown`
/// ends.
///
/// # Errors
/// When the address cannot be bound or stdout is closed.
pub async fn serve(
    config: Config,
    bind: SocketAddr,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let listener = TcpListener::bind(bind)?;
    let mut stdout = io::stdout();
    writeln!(stdout, "{}", listening_line(listener.local_addr()?))?;
    stdout.flush()?;
    run(config, listener, shutdown).await
}

struct Parts {
    machine: BrokerMachine,
    recorder: Recorder,
    metrics: Arc<Metrics>,
    stall: Stall,
}

async fn host(
    config: Config,
    parts: Parts,
    listener: TcpListener,
    life: Life,
    ready: oneshot::Sender<Actor<BrokerMachine>>,
) -> io::Result<()> {
    let listener = BoundedListener::new(listener)?;
    let client = Client::new(REQUEST).map_err(io::Error::other)?;
    let transport = Arc::new(HttpTransport {
        client,
        lrms: config.lrms.clone(),
        peers: config.peers.clone(),
    });
    let actor = start(parts.machine, config.clock, Arc::clone(&transport));
    let watching = tokio::spawn(watch(actor.clone(), transport, config.liveness));
    tracing::info!(broker = config.setup.name, "serving");
    let app = App {
        actor: actor.clone(),
        recorder: parts.recorder,
        metrics: parts.metrics,
        config: Arc::new(config),
    };
    let drain = actor.clone();
    let router = router(app, parts.stall);
    // Nobody waits for it where the service is the whole process.
    let _ = ready.send(actor);
    let served = serve::serve(listener, router, life).await;
    // What the machine has said is still sent, within reason.
    let _ = tokio::time::timeout(serve::GRACE, drain.drained()).await;
    watching.abort();
    served
}

fn setup(config: &Config) -> BrokerSetup {
    let setup = BrokerSetup {
        incarnation: incarnation(),
        ..config.setup.clone()
    };
    setup.wait_on(&config.clock)
}

#[allow(
    clippy::disallowed_methods,
    reason = "the lives of a service are told apart by when they began"
)]
fn incarnation() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

impl Handle {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.thread.address()
    }

    /// Its base URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The events so far; they stay readable when the service is gone.
    #[must_use]
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// What it has received.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Letters it could not deliver.
    #[must_use]
    pub fn undelivered(&self) -> &Tally {
        &self.undelivered
    }

    /// Makes it slow or silent.
    pub fn weather(&self, weather: Weather) {
        self.stall.set(weather);
    }

    /// Cuts it off at once, as the death of its process would.
    pub fn kill(&self) {
        self.thread.kill();
    }

    /// Stops its own timers: what has been said is still sent, nothing new
    /// begins. A killed service has nothing more to say.
    pub async fn freeze(&self) {
        // A call is answered after everything before it has been handled.
        let _ = self.actor.call(|machine, _| machine.freeze()).await;
    }

    /// Waits until all it has said is delivered or has failed to be.
    pub async fn drained(&self) {
        // An empty call puts the machine's latest letters into the outbox.
        if self.actor.call(|_, _| ()).await.is_ok() {
            self.actor.drained().await;
        }
    }

    /// Ends it gently and waits until it has ended.
    ///
    /// # Errors
    /// What the service ended with.
    pub async fn stop(&self) -> io::Result<()> {
        self.thread.stop().await
    }
}
