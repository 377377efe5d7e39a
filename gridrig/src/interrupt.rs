//! Ctrl-C as a flag that loops look at.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Whether nobody looks at it.
static AT_ONCE: AtomicBool = AtomicBool::new(false);
/// Wakes up those who wait for it.
static CAME: Notify = Notify::const_new();

/// Listens for Ctrl-C (and SIGTERM). The second one ends the process at
/// once. The handlers are in place when this returns, not when its thread
/// gets a processor: whoever has read our first line may send a signal.
///
/// # Errors
/// When the process may not set up a signal handler or a thread.
pub fn listen() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let entered = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    drop(entered);
    let watch = async move {
        loop {
            let came = tokio::select! {
                came = interrupt.recv() => came,
                came = terminate.recv() => came,
            };
            if came.is_none() {
                return;
            }
            if INTERRUPTED.swap(true, Ordering::SeqCst) || AT_ONCE.load(Ordering::SeqCst) {
                gridrig_tracelab::format::remove_partial();
                std::process::exit(130);
            }
            CAME.notify_waiters();
        }
    };
    let thread = std::thread::Builder::new().name("signals".into());
    thread.spawn(move || runtime.block_on(watch))?;
    Ok(())
}

/// Lets the first signal end the process: for commands that never look whether one
/// came.
pub fn ends_at_once() {
    AT_ONCE.store(true, Ordering::SeqCst);
}

/// Whether somebody wants the run to end.
pub fn requested() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// Resolves when somebody wants the run to end.
pub async fn wait() {
    let came = CAME.notified();
    tokio::pin!(came);
    // Whoever is listed before it looks misses nothing.
    came.as_mut().enable();
    if !requested() {
        came.await;
    }
}
