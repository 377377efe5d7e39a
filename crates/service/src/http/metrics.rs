//! What `/metrics` shows, in the text of OpenMetrics 1.0. [`table`] has every
//! metric there is. No label ever holds the name of a job, and what a client
//! can make up is no label either.

mod labels;
mod latency;
mod samples;
pub mod table;
mod targets;

pub use labels::{LabelError, Labels, MAX_LABELS};
pub use samples::Samples;
pub use targets::{Monitoring, Target, TargetsFile};

use super::audit::Refusals;
use super::metrics_text;
use axum::Router;
use axum::routing::get;
use gridrig_core::event::MessageKind;
use latency::Latencies;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What one service counts by itself, whatever it serves. All else is looked
/// up when somebody asks.
#[derive(Debug, Default)]
pub struct Metrics {
    labels: Labels,
    /// Unix nanoseconds.
    began: u64,
    requests: Latencies,
    received: [AtomicU64; MessageKind::ALL.len()],
    repeated: AtomicU64,
    pub(super) refusals: Refusals,
}

impl Metrics {
    /// Those of a service with these labels on every series, whose life began
    /// at this Unix time in nanoseconds.
    pub fn new(labels: Labels, began: u64) -> Self {
        Metrics {
            labels,
            began,
            ..Metrics::default()
        }
    }

    /// The labels of every series.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Counts a request that has been answered.
    pub fn count_request(&self, method: &str, route: &str, status: u16, took: Duration) {
        self.requests.count(method, route, status, took);
    }

    /// Counts a message that came in for the first time.
    pub fn count_message(&self, kind: MessageKind) {
        self.received[kind as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a message that came in, for the first time or again.
    pub fn count_received(&self, kind: MessageKind, is_new: bool) {
        match is_new {
            true => self.count_message(kind),
            false => self.count_repeated(),
        }
    }

    /// Counts a message that had come in before.
    pub fn count_repeated(&self) {
        self.repeated.fetch_add(1, Ordering::Relaxed);
    }

    /// Messages of this kind so far, each counted once.
    pub fn messages(&self, kind: MessageKind) -> u64 {
        self.received[kind as usize].load(Ordering::Relaxed)
    }

    /// Messages that came in again.
    pub fn repeated(&self) -> u64 {
        self.repeated.load(Ordering::Relaxed)
    }

    /// Adds the messages that came in, for services that receive any.
    pub fn observe_received(&self, samples: &mut Samples) {
        for kind in MessageKind::ALL {
            let count = self.messages(kind);
            samples.count(&table::MESSAGES_RECEIVED, &[kind.name()], count);
        }
        samples.count(&table::MESSAGES_REPEATED, &[], self.repeated());
    }

    /// The text that Prometheus reads: these samples, and what every service
    /// has.
    pub fn text(&self, mut samples: Samples) -> String {
        samples.say(&table::BUILD, &[env!("CARGO_PKG_VERSION")]);
        samples.level(&table::START_TIME, &[], self.began as f64 / 1e9);
        self.requests.observe(&mut samples);
        let labels = self.labels.iter();
        let labels = labels.map(|(name, value)| (name.to_owned().into(), value.to_owned().into()));
        let mut registry = Registry::with_labels(labels);
        registry.register_collector(Box::new(samples));
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = encode(&mut text, &registry);
        text
    }
}

/// `GET /metrics` for a program that is none of the services of this project:
/// `look` adds what it has to show, at each scrape.
pub fn metrics_route<S: Clone + Send + Sync + 'static>(
    metrics: Arc<Metrics>,
    look: impl Fn(&mut Samples) + Clone + Send + Sync + 'static,
) -> Router<S> {
    let answer = move || {
        let mut samples = Samples::default();
        look(&mut samples);
        let text = metrics.text(samples);
        async move { metrics_text(text) }
    };
    Router::new().route("/metrics", get(answer))
}

#[cfg(test)]
mod tests;
