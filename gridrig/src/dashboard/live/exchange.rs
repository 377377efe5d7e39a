//! What was said about a job over HTTP, as the page shows it.

use crate::realtime::Listener;
use gridrig_core::ids::JobId;
use serde_json::{Value, json};

/// The exchanges about a job that this listener has heard: when each was
/// answered, in milliseconds of the run, by which service, and both bodies.
pub fn about(listener: &Listener, job: JobId) -> Value {
    let heard = listener.about(job.0).into_iter();
    heard
        .map(|one| {
            json!({
                "t_ms": one.at.as_nanos() / 1_000_000,
                "service": one.service,
                "request_line": format!("{} {}", one.method, one.target),
                "status": one.status,
                "request": one.request,
                "response": one.response,
            })
        })
        .collect()
}
