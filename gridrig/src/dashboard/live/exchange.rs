//! What was said about a job over HTTP, as the page shows it.

use crate::realtime::Listener;
use gridrig_core::ids::JobId;
use serde::Serialize;

/// A request and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exchange {
    /// When it was answered, in milliseconds of the run.
    pub t_ms: u64,
    /// Who answered.
    pub service: String,
    /// Method and target.
    pub request_line: String,
    /// The status of the answer.
    pub status: u16,
    /// The body of the request.
    pub request: String,
    /// The body of the answer.
    pub response: String,
}

/// The exchanges about a job that these listener have heard.
#[must_use]
pub fn about(listener: &Listener, job: JobId) -> Vec<Exchange> {
    let heard = listener.about(job.0).into_iter();
    heard
        .map(|one| Exchange {
            t_ms: one.at.as_nanos() / 1_000_000,
            service: one.service,
            request_line: format!("{} {}", one.method, one.target),
            status: one.status,
            request: one.request,
            response: one.response,
        })
        .collect()
}
