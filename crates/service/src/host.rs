//! Starting, serving and ending.

use crate::http::metrics::Target;
use crate::http::{
    self, AnswerFault, Capture, Door, Exchanges, Faults, Life, Metrics, ServiceThread, base_url,
    listening_at,
};
use crate::journal::{Begun, begin, incarnation};
use crate::{App, Service, router};
use gridrig_core::agent::{Freeze, JobHolder, Journaled, Tally};
use gridrig_core::decision::About;
use gridrig_drivers::real_time::{Actor, Recorder, RunClock, start};
use gridrig_protocol::client::Client;
use std::future::Future;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinError;

/// A running service.
pub struct Handle<M: Journaled> {
    thread: ServiceThread,
    /// Of its present life, or the last one.
    actor: watch::Receiver<Option<Actor<M>>>,
    recorder: Recorder,
    metrics: Arc<Metrics>,
    faults: Faults,
    capture: Capture,
    is_secure: bool,
}

/// How long a request from one service to another may take.
const REQUEST: Duration = Duration::from_secs(10);

/// Starts a service in a thread of its own.
///
/// # Errors
/// When the listener, a thread or an HTTP client cannot be had.
pub async fn spawn<S: Service>(config: S, listener: TcpListener) -> io::Result<Handle<S::Machine>> {
    let (begun, parts) = (first(&config)?, Parts::of(&config));
    let (recorder, shared) = (begun.recorder.clone(), parts.clone());
    let (ready, mut actor) = watch::channel(None);
    let (name, is_secure) = (config.name(), config.tls().is_some());
    let thread = ServiceThread::spawn(&name, listener, move |listener, life| {
        host(config, (begun, parts), listener, life, ready)
    })?;
    let started = actor.wait_for(Option::is_some).await.map(drop);
    match started {
        Ok(()) => Ok(Handle {
            thread,
            actor,
            recorder,
            metrics: shared.metrics,
            faults: shared.faults,
            capture: shared.capture,
            is_secure,
        }),
        Err(_ended) => {
            thread.stop().await?;
            Err(io::Error::other("the service ended while it was starting"))
        }
    }
}

/// Serves on the caller's runtime until `shutdown` ends.
///
/// # Errors
/// When the listener or an HTTP client cannot be had.
pub async fn run<S: Service>(
    config: S,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let begun = first(&config)?;
    go_on(config, begun, listener, shutdown).await
}

/// The same of a service that has begun.
async fn go_on<S: Service>(
    config: S,
    begun: Begun<S::Machine>,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let mut target = Target::new(listener.local_addr()?, &config.labels());
    if config.tls().is_some() {
        target = target.over_tls();
    }
    let _announced = config.monitoring().announce(&config.name(), target)?;
    let begun = (begun, Parts::of(&config));
    // Nobody waits for it where the service is the whole process.
    let (ready, _started) = watch::channel(None);
    host(config, begun, listener, Life::until(shutdown), ready).await
}

/// Binds, says on the first line of stdout where, and serves until `shutdown`
/// ends.
///
/// # Errors
/// When the address cannot be bound, the journal cannot be opened or stdout is closed.
pub async fn serve<S: Service>(
    config: S,
    bind: SocketAddr,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let listener = TcpListener::bind(bind)?;
    // Nobody is to hear of one whose journal cannot be written.
    let begun = first(&config)?;
    let mut stdout = io::stdout();
    let url = base_url(listener.local_addr()?, config.tls().is_some());
    let line = listening_at(&url);
    writeln!(stdout, "{line}")?;
    stdout.flush()?;
    go_on(config, begun, listener, shutdown).await
}

/// What all lives of a service have in common.
#[derive(Clone)]
struct Parts {
    metrics: Arc<Metrics>,
    faults: Faults,
    capture: Capture,
}

impl Parts {
    fn of(config: &impl Service) -> Self {
        Parts {
            metrics: Arc::new(Metrics::new(config.labels(), incarnation())),
            faults: Faults::default(),
            capture: Capture::default(),
        }
    }
}

fn first<S: Service>(config: &S) -> io::Result<Begun<S::Machine>> {
    let keep = config.keep_events();
    // Of who forgets events, the journal tells how it has decided, if it has inputs.
    let has_inputs = config.journal().is_some_and(|journal| !journal.events);
    let about = match keep < usize::MAX && has_inputs {
        true => About::None,
        false => config.decisions(),
    };
    begin(config, Recorder::keeping(keep).deciding(about))
}

/// Where the present life of a service is told of.
type Ready<S> = watch::Sender<Option<Actor<<S as Service>::Machine>>>;

/// Serves, in one life after the other where that is planned.
async fn host<S: Service>(
    mut config: S,
    (mut begun, parts): (Begun<S::Machine>, Parts),
    listener: TcpListener,
    life: Life,
    ready: Ready<S>,
) -> io::Result<()> {
    let (clock, recorder) = (config.clock(), begun.recorder.clone());
    for crash in config.absences() {
        // A run that goes on may have had it.
        if crash.back <= clock.now() {
            continue;
        }
        let (door, own) = (listener.try_clone()?, config.clone());
        let crashed = clock.sleep_until(crash.at);
        let lived = live(
            own,
            (begun, parts.clone()),
            door,
            (life.clone(), crashed),
            &ready,
        );
        if !lived.await? {
            return Ok(());
        }
        tokio::select! {
            () = life.ended() => return Ok(()),
            () = clock.sleep_until(crash.back) => {}
        }
        config.restart(crash.anew.unwrap_or_default());
        // What has happened in earlier lives is known already.
        begun = begin(&config, Recorder::keeping(0))?;
        begun.recorder = recorder.clone();
        recorder.set_lives(recorder.lives() + 1);
    }
    let never = std::future::pending();
    live(config, (begun, parts), listener, (life, never), &ready).await?;
    Ok(())
}

/// Serves in one life; whether that ended by a crash, with all that was not sent off.
async fn live<S: Service>(
    config: S,
    (begun, parts): (Begun<S::Machine>, Parts),
    listener: TcpListener,
    (life, crashed): (Life, impl Future<Output = ()>),
    ready: &Ready<S>,
) -> io::Result<bool> {
    let address = listener.local_addr()?;
    let name = config.name();
    config.listening(&base_url(address, config.tls().is_some()));
    let door = Door::open(listener, config.tls())?.ending_by_panic();
    let client = Client::new(REQUEST).map_err(io::Error::other)?;
    let transport = Arc::new(config.transport(client));
    let (log, clock) = (begun.recorder.clone(), config.clock());
    let way = Arc::clone(&transport);
    let (actor, mut agent) = start(begun.agent, begun.journal, log, clock, way);
    let companion = config.companion(&actor, &transport);
    let mut companion = companion.unwrap_or_else(|| tokio::spawn(async {}));
    tracing::info!(service = name, "serving");
    let app = App {
        actor: actor.clone(),
        recorder: begun.recorder,
        metrics: parts.metrics,
        config: Arc::new(config),
        life: begun.life,
        waiting: Arc::new(Semaphore::new(http::MAX_WAITING)),
    };
    let drain = actor.clone();
    let config = Arc::clone(&app.config);
    let side = S::side_door(&app)?;
    let metrics = Arc::clone(&app.metrics);
    let side = side.map(|side| {
        let router = http::bounded(side.routes, Arc::clone(&metrics), parts.faults.clone());
        let address = side.listener.local_addr()?;
        let router = http::guarded(router, address, config.hosts(), metrics);
        let door = Door::open(side.listener, side.tls.as_ref());
        door.map(|door| (door.ending_by_panic(), router))
    });
    let side = side.transpose()?;
    let metrics = Arc::clone(&app.metrics);
    let router = router(app, parts.faults, parts.capture);
    let router = http::guarded(router, address, config.hosts(), metrics);
    ready.send_replace(Some(actor));
    let side_life = life.clone();
    let side = async {
        match side {
            Some((door, router)) => http::serve(door, router, side_life).await,
            None => Ok(()),
        }
    };
    let serving = async { tokio::try_join!(http::serve(door, router, life), side) };
    tokio::select! {
        served = serving => {
            let why = served.map(drop).map_err(|panic| format!("{name} broke off: {panic}"));
            why.map_err(io::Error::other)?;
        }
        // What nobody answers any more is not to be waited for.
        Err(panic) = &mut agent => return Err(broken(&name, panic)),
        Err(panic) = &mut companion => return Err(broken(&name, panic)),
        () = crashed => {
            companion.abort();
            agent.abort();
            // Whoever begins next has its journal.
            let _ = agent.await;
            return Ok(true);
        }
    }
    // What the machine has said is still sent, within reason.
    let _ = tokio::time::timeout(http::GRACE, drain.drained()).await;
    config.farewell().await;
    companion.abort();
    Ok(false)
}

/// A service of this name in which a task has panicked, or cannot go on.
fn broken(name: &str, panic: JoinError) -> io::Error {
    let said = panic.to_string();
    let error = panic.try_into_panic().ok();
    let error = error.and_then(|panic| panic.downcast::<io::Error>().ok());
    let why = error.map_or(said, |error| error.to_string());
    io::Error::other(format!("{name} broke off: {why}"))
}

impl<M: JobHolder> Handle<M> {
    fn actor(&self) -> Option<Actor<M>> {
        self.actor.borrow().clone()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.thread.address()
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        base_url(self.address(), self.is_secure)
    }

    /// The events so far; they stay readable when the service is gone.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// What it has received.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Messages it could not deliver.
    pub fn undelivered(&self) -> Tally {
        self.actor()
            .map_or_else(Tally::default, |actor| actor.undelivered())
    }

    /// Has what it answers about jobs kept from now on.
    pub fn capture(&self, name: &str, ring: &Exchanges, clock: RunClock) {
        self.capture.listen(name, ring, move || clock.now());
    }

    /// Makes it slow or silent.
    pub fn fault(&self, fault: AnswerFault) {
        self.faults.set(fault);
    }

    /// Cuts it off at once, as the death of its process would.
    pub fn kill(&self) {
        self.thread.kill();
    }

    /// Stops its own timers: what has been said is still sent, nothing new
    /// begins. A killed service has nothing more to say.
    pub async fn freeze(&self) {
        // A call is answered after everything before it has been handled.
        if let Some(actor) = self.actor() {
            let freeze = actor.call(|machine, now| machine.handle(now, Freeze));
            let _ = freeze.await;
        }
    }

    /// Asks its machine something; the default when it has stopped or has too
    /// much to do.
    pub async fn ask<R: Default + Send + 'static>(&self, about: fn(&M) -> R) -> R {
        let Some(actor) = self.actor() else {
            return R::default();
        };
        let call = actor.call(move |machine, _| about(machine));
        call.await.unwrap_or_default()
    }

    /// Waits until all it has said is delivered or has failed to be.
    pub async fn drained(&self) {
        // An empty call puts the machine's latest messages into the outbox.
        if let Some(actor) = self.actor()
            && actor.call(|_, _| ()).await.is_ok()
        {
            actor.drained().await;
        }
    }

    /// Waits until it has ended by itself, as after a panic: [`stop`](Self::stop)
    /// then says of what.
    pub async fn failed(&self) {
        self.thread.failed().await;
    }

    /// Ends it gently and waits until it has ended.
    ///
    /// # Errors
    /// What the service ended with.
    pub async fn stop(&self) -> io::Result<()> {
        self.thread.stop().await
    }
}
