//! Ctrl-C as a flag that loops look at.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Listens for Ctrl-C (and SIGTERM) from now on. The second one ends the
/// process at once.
///
/// # Errors
/// When the process may not set up a signal handler or a thread.
pub fn listen() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            runtime.block_on(async {
                while signal().await {
                    if INTERRUPTED.swap(true, Ordering::SeqCst) {
                        std::process::exit(130);
                    }
                }
            });
        })?;
    Ok(())
}

/// Waits for one signal; `false` when there will be none.
async fn signal() -> bool {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return false;
    };
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.is_ok(),
        _ = terminate.recv() => true,
    }
}

/// Whether somebody wants the run to end.
#[must_use]
pub fn requested() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// Resolves when somebody wants the run to end.
pub async fn wait() {
    while !requested() {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}
