//! A service in a thread of its own: what a process would be, within one
//! process. Ending its runtime cuts every connection and every task at once,
//! as the death of a process does.

use parking_lot::Mutex;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::watch;

/// The end of a service, as it is told to everyone in it.
#[derive(Clone, Debug)]
pub struct Life(watch::Receiver<bool>);

impl Life {
    /// A life that ends together with `shutdown`.
    pub fn until(shutdown: impl Future<Output = ()> + Send + 'static) -> Self {
        let (end, life) = watch::channel(false);
        tokio::spawn(async move {
            tokio::select! {
                () = shutdown => { let _ = end.send(true); }
                // Nobody is left who could be told.
                () = end.closed() => {}
            }
        });
        Life(life)
    }

    /// Waits for the end.
    pub async fn ended(&self) {
        let mut life = self.0.clone();
        // Whoever could end it having gone away ends it as well.
        let _ = life.wait_for(|ended| *ended).await;
    }
}

/// How a service answers: at once, slowly, or not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerFault {
    /// At once.
    #[default]
    None,
    /// Every request waits so long first.
    Slow(Duration),
    /// No request is answered as long as this lasts.
    Silent,
}

/// How a service answers now, shared with whoever changes it.
#[derive(Clone, Debug)]
pub struct Faults(Arc<watch::Sender<AnswerFault>>);

impl Default for Faults {
    fn default() -> Self {
        Faults(Arc::new(watch::Sender::new(AnswerFault::None)))
    }
}

impl Faults {
    /// From now on it answers so.
    pub fn set(&self, fault: AnswerFault) {
        self.0.send_replace(fault);
    }

    /// Waits as long as the fault demands.
    pub async fn wait(&self) {
        let fault = *self.0.borrow();
        match fault {
            AnswerFault::None => {}
            AnswerFault::Slow(by) => tokio::time::sleep(by).await,
            AnswerFault::Silent => {
                let mut changes = self.0.subscribe();
                let _ = changes
                    .wait_for(|fault| *fault != AnswerFault::Silent)
                    .await;
            }
        }
    }
}

/// A running service.
pub struct ServiceThread {
    address: SocketAddr,
    end: watch::Sender<bool>,
    kill: watch::Sender<bool>,
    /// Gone when the thread has ended; what it showed last is whether in good order.
    well: watch::Receiver<bool>,
    thread: Mutex<Option<JoinHandle<io::Result<()>>>>,
}

impl ServiceThread {
    /// Starts `service` in a thread with a runtime of its own. It is given a
    /// [`Life`] and ends some time after that does.
    ///
    /// # Errors
    /// When the address cannot be read, or no thread or runtime can be had.
    pub fn spawn<F, S>(name: &str, listener: std::net::TcpListener, service: S) -> io::Result<Self>
    where
        S: FnOnce(std::net::TcpListener, Life) -> F + Send + 'static,
        F: Future<Output = io::Result<()>>,
    {
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (end, life) = watch::channel(false);
        let (kill, mut killed) = watch::channel(false);
        let (end_well, well) = watch::channel(false);
        let run = move || {
            let ended = runtime.block_on(async {
                tokio::select! {
                    ended = service(listener, Life(life)) => ended,
                    _ = killed.wait_for(|killed| *killed) => Ok(()),
                }
            });
            runtime.shutdown_background();
            end_well.send_replace(ended.is_ok());
            ended
        };
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(run)?;
        Ok(ServiceThread {
            address,
            end,
            kill,
            well,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Cuts the service off at once: connections break, tasks vanish.
    pub fn kill(&self) {
        self.kill.send_replace(true);
    }

    /// Waits until the service has ended with an error or a panic.
    pub async fn failed(&self) {
        let mut well = self.well.clone();
        while well.changed().await.is_ok() {}
        if *well.borrow() {
            std::future::pending::<()>().await;
        }
    }

    /// Asks the service to end, and waits until it has.
    ///
    /// # Errors
    /// What the service ended with.
    pub async fn stop(&self) -> io::Result<()> {
        self.end.send_replace(true);
        let thread = self.thread.lock().take();
        let Some(thread) = thread else { return Ok(()) };
        let joined = tokio::task::spawn_blocking(move || thread.join()).await;
        match joined {
            Ok(Ok(ended)) => ended,
            Ok(Err(_panic)) => Err(io::Error::other("the service's thread panicked")),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

impl Drop for ServiceThread {
    fn drop(&mut self) {
        // A handle that is let go of takes its service along.
        self.end.send_replace(true);
        self.kill.send_replace(true);
    }
}
