//! Problem documents (RFC 9457) with a code.

use crate::xml::excerpt;
use gridrig_core::job::Reason;
use serde::{Deserialize, Serialize};

/// What was asked for, or what is wrong with the request.
pub type Result<T, E = Problem> = std::result::Result<T, E>;

/// What went wrong with a request. Programs go by `code`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[error("{detail} ({code})")]
pub struct Problem {
    /// Always `about:blank`: the code says more than a page would.
    #[serde(rename = "type")]
    pub kind: String,
    /// The HTTP status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What exactly is wrong.
    pub detail: String,
    /// A fixed name of the problem.
    pub code: String,
    /// From which instant on the same may be granted, in nanoseconds of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before_ns: Option<u64>,
}

impl Problem {
    /// The code of what comes at another time than it was to come.
    pub const WRONG_TIME: &str = "wrong-time";

    /// A problem with this status, code and explanation.
    pub fn new(status: u16, code: &str, detail: impl Into<String>) -> Self {
        let title = match status {
            400 => "Bad Request",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            409 => "Conflict",
            413 => "Content Too Large",
            415 => "Unsupported Media Type",
            422 => "Unprocessable Content",
            503 => "Service Unavailable",
            _ => "Error",
        };
        Problem {
            kind: "about:blank".to_owned(),
            title: title.to_owned(),
            status,
            detail: detail.into(),
            code: code.to_owned(),
            not_before_ns: None,
        }
    }

    /// A field with a value that will not do.
    pub fn field(field: &str, value: &str, expected: &str) -> Self {
        // A hostile value is not echoed at length.
        let value = excerpt(value);
        let detail = format!("field {field} = \"{value}\": expected {expected}");
        Problem::new(422, "invalid", detail)
    }

    /// A job that nobody here knows.
    pub fn unknown_job(id: u32) -> Self {
        Problem::new(404, "unknown-job", format!("no job {id} is known here"))
    }

    /// A job that was turned away for good.
    pub fn rejected(reason: Reason) -> Self {
        let (status, detail) = match reason {
            Reason::NeverFits => (422, "no set of nodes here could ever hold the job"),
            Reason::NoCandidate => (422, "no cluster in reach could ever run the job"),
            Reason::NotReserved => (
                422,
                "no processors are reserved for the job: none can be in its start window, or the \
                 reservation that it names is not here, not confirmed, for others, or too small \
                 or short for it",
            ),
            Reason::QueueFull => (503, "the queue has reached its bound"),
            _ => (422, "the job was turned away"),
        };
        Problem::new(status, reason.name(), detail)
    }

    /// The service has too much to do; the request may be repeated.
    pub fn busy() -> Self {
        let detail = "too many requests wait already: repeat this one later";
        Problem::new(503, "busy", detail)
    }

    /// The request took too long; it may be repeated.
    pub fn late() -> Self {
        Problem::new(503, "timeout", "the request took too long")
    }

    /// The service is ending.
    pub fn stopped() -> Self {
        Problem::new(503, "stopped", "the service is stopping")
    }
}
