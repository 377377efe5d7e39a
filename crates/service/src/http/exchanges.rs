//! What is said over HTTP about jobs, kept for whoever looks at a run: the
//! newest requests with their answers, whatever the interface.

use super::{MAX_BODY_BYTES, Problem, ProblemResponse, header_text};
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use gridrig_core::time::SimTime;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, OnceLock};

/// Characters of a body that are kept.
const KEPT_CHARS: usize = 4000;

/// A request and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// When the request was answered, in the time of the run.
    pub at: SimTime,
    /// The service that answered.
    pub service: String,
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The status of the answer.
    pub status: u16,
    /// The body of the request, its beginning if it is long.
    pub request: String,
    /// The body of the answer, its beginning if it is long.
    pub response: String,
    /// The jobs that it is about.
    pub jobs: BTreeSet<u32>,
}

/// The newest exchanges of several services. The default keeps none.
#[derive(Clone, Debug, Default)]
pub struct Exchanges(Arc<Mutex<Ring>>);

#[derive(Debug, Default)]
struct Ring {
    most: usize,
    kept: VecDeque<Exchange>,
    forgotten: u64,
}

impl Exchanges {
    /// Keeps the newest `most`.
    pub fn keeping(most: usize) -> Self {
        Exchanges(Arc::new(Mutex::new(Ring {
            most,
            ..Ring::default()
        })))
    }

    /// The kept ones about a job, oldest first.
    pub fn about(&self, job: u32) -> Vec<Exchange> {
        let ring = self.0.lock();
        let about = ring.kept.iter().filter(|one| one.jobs.contains(&job));
        about.cloned().collect()
    }

    /// How many older ones are forgotten.
    pub fn forgotten(&self) -> u64 {
        self.0.lock().forgotten
    }

    /// Takes note of one.
    pub fn add(&self, exchange: Exchange) {
        let mut ring = self.0.lock();
        ring.kept.push_back(exchange);
        while ring.kept.len() > ring.most {
            ring.kept.pop_front();
            ring.forgotten += 1;
        }
    }
}

/// Where a service puts what it answers, once somebody wants to know.
#[derive(Clone, Default)]
pub struct Capture(Arc<OnceLock<Listener>>);

struct Listener {
    service: String,
    ring: Exchanges,
    now: Box<dyn Fn() -> SimTime + Send + Sync>,
}

impl Capture {
    /// From now on exchanges of this service go to `ring`, with the time that
    /// `now` tells. Who comes second hears nothing.
    pub fn listen(
        &self,
        service: &str,
        ring: &Exchanges,
        now: impl Fn() -> SimTime + Send + Sync + 'static,
    ) {
        // Only one can listen, which is the first.
        let _ = self.0.set(Listener {
            service: service.to_owned(),
            ring: ring.clone(),
            now: Box::new(now),
        });
    }
}

/// Keeps what goes by, if somebody listens.
pub async fn capture(State(capture): State<Capture>, request: Request, next: Next) -> Response {
    let Some(listener) = capture.0.get() else {
        return next.run(request).await;
    };
    let (parts, body) = request.into_parts();
    let Ok(asked) = to_bytes(body, MAX_BODY_BYTES).await else {
        let detail = "the body is too long or broke off";
        return ProblemResponse(Problem::new(413, "too-large", detail)).into_response();
    };
    let method = parts.method.to_string();
    let target = parts.uri.to_string();
    let request = Request::from_parts(parts, Body::from(asked.clone()));
    let (parts, body) = next.run(request).await.into_parts();
    if !is_message(&parts.headers) {
        return Response::from_parts(parts, body);
    }
    let Ok(said) = to_bytes(body, usize::MAX).await else {
        let detail = "the answer broke off";
        return ProblemResponse(Problem::new(500, "broken-answer", detail)).into_response();
    };
    let jobs = jobs_of(&target, &asked, &said);
    if !jobs.is_empty() {
        listener.ring.add(Exchange {
            at: (listener.now)(),
            service: listener.service.clone(),
            method,
            target,
            status: parts.status.as_u16(),
            request: beginning(&asked),
            response: beginning(&said),
            jobs,
        });
    }
    Response::from_parts(parts, Body::from(said))
}

/// Documents are kept; streams, metrics and the like go by.
fn is_message(headers: &HeaderMap) -> bool {
    let media = header_text(headers, header::CONTENT_TYPE);
    media.is_none_or(|media| media.contains("json") || media.contains("xml"))
}

fn beginning(body: &Bytes) -> String {
    let text = String::from_utf8_lossy(body);
    match text.char_indices().nth(KEPT_CHARS) {
        Some((end, _)) => format!("{} ... ({} bytes)", &text[..end], body.len()),
        None => text.into_owned(),
    }
}

/// The jobs that an exchange of the native interface is about. A log or a
/// list of many is about nobody in particular.
fn jobs_of(target: &str, asked: &[u8], said: &[u8]) -> BTreeSet<u32> {
    let path = target.split('?').next().unwrap_or(target);
    let mut jobs = BTreeSet::new();
    if let Some(id) = path.strip_prefix("/v1/jobs/") {
        jobs.extend(id.parse::<u32>());
        return jobs;
    }
    if !matches!(path, "/v1/jobs" | "/v1/notifications" | "/v1/ends") {
        return jobs;
    }
    for body in [asked, said] {
        let Ok(document) = serde_json::from_slice::<Value>(body) else {
            continue;
        };
        let whole = [&document["id"], &document["job"], &document["job"]["job"]];
        let ends = document["ends"].as_array();
        let ends = ends.into_iter().flatten().map(|end| &end["job"]);
        let numbers = whole.into_iter().chain(ends).filter_map(Value::as_u64);
        jobs.extend(numbers.filter_map(|number| u32::try_from(number).ok()));
    }
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_keeps_the_newest() {
        let ring = Exchanges::keeping(2);
        for job in 0..3 {
            ring.add(Exchange {
                at: SimTime::ZERO,
                service: String::new(),
                method: String::new(),
                target: String::new(),
                status: 200,
                request: String::new(),
                response: String::new(),
                jobs: [job].into(),
            });
        }
        assert!(ring.about(0).is_empty());
        assert_eq!(ring.about(2).len(), 1);
        assert_eq!(ring.forgotten(), 1);
    }

    #[test]
    fn an_exchange_is_about_the_jobs_that_it_names() {
        let of = |target: &str, asked: &str, said: &str| {
            let jobs = jobs_of(target, asked.as_bytes(), said.as_bytes());
            jobs.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(
            of("/v1/jobs", r#"{"processors":1,"id":7}"#, r#"{"id":7}"#),
            [7]
        );
        assert_eq!(of("/v1/jobs", r#"{"processors":1}"#, r#"{"id":9}"#), [9]);
        assert_eq!(of("/v1/jobs/4", "", "garbage"), [4]);
        assert_eq!(of("/v1/notifications", r#"{"job":{"job":3}}"#, ""), [3]);
        assert_eq!(
            of("/v1/ends?after=0", "", r#"{"ends":[{"job":1},{"job":2}]}"#),
            [1, 2]
        );
        assert!(of("/v1/events", "", r#"{"id":7}"#).is_empty());
        assert!(of("/v1/jobs", "[[[", "\u{0}").is_empty());
    }

    #[test]
    fn a_long_body_is_cut_at_a_character() {
        let long = Bytes::from("\u{e4}".repeat(KEPT_CHARS + 1));
        let (kept, bytes) = ("\u{e4}".repeat(KEPT_CHARS), 2 * (KEPT_CHARS + 1));
        assert_eq!(beginning(&long), format!("{kept} ... ({bytes} bytes)"));
        let just = Bytes::from(kept.clone());
        assert_eq!(beginning(&just), kept);
    }
}
