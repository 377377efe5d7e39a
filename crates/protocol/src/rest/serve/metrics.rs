//! Counters for `/metrics`. No label ever holds the name of a job.

use gridrig_core::event::MessageKind;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MessageLabels {
    kind: &'static str,
}

/// What a service looks like at the instant of a scrape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceGauges {
    /// Jobs that wait.
    pub queued: u64,
    /// Processors in use, of an LRMS.
    pub busy_processors: Option<u64>,
    /// Jobs whose end is not known, of a broker.
    pub held: Option<u64>,
}

/// The counters of one service.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    messages: Family<MessageLabels, Counter>,
    repeated: Counter,
    queued: Gauge,
    busy: Gauge,
    held: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("gridrig");
        let requests = Family::default();
        let messages = Family::default();
        let (repeated, queued) = (Counter::default(), Gauge::default());
        let (busy, held) = (Gauge::default(), Gauge::default());
        registry.register(
            "http_requests",
            "Requests by route and status",
            requests.clone(),
        );
        registry.register("messages", "Messages received by kind", messages.clone());
        let help = "Messages that were delivered again and changed nothing";
        registry.register("messages_repeated", help, repeated.clone());
        registry.register("queue_jobs", "Jobs that wait", queued.clone());
        registry.register("busy_processors", "Processors in use", busy.clone());
        registry.register(
            "held_jobs",
            "Jobs whose end is not known here",
            held.clone(),
        );
        Metrics {
            registry,
            requests,
            messages,
            repeated,
            queued,
            busy,
            held,
        }
    }
}

impl Metrics {
    /// Counts a request that has been answered.
    pub fn count_request(&self, method: String, route: String, status: u16) {
        self.requests
            .get_or_create(&RequestLabels {
                method,
                route,
                status,
            })
            .inc();
    }

    /// Counts a message that came in for the first time.
    pub fn count_message(&self, kind: MessageKind) {
        self.messages
            .get_or_create(&MessageLabels { kind: kind.name() })
            .inc();
    }

    /// Counts a message that had come in before.
    pub fn count_repeated(&self) {
        self.repeated.inc();
    }

    /// Messages of this kind so far, each counted once.
    #[must_use]
    pub fn messages(&self, kind: MessageKind) -> u64 {
        self.messages
            .get_or_create(&MessageLabels { kind: kind.name() })
            .get()
    }

    /// Messages that came in again.
    #[must_use]
    pub fn repeated(&self) -> u64 {
        self.repeated.get()
    }

    /// The text that Prometheus reads.
    #[must_use]
    pub fn text(&self, gauges: ServiceGauges) -> String {
        let set = |gauge: &Gauge, value: u64| gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        set(&self.queued, gauges.queued);
        set(&self.busy, gauges.busy_processors.unwrap_or(0));
        set(&self.held, gauges.held.unwrap_or(0));
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_by_kind() {
        let metrics = Metrics::default();
        metrics.count_message(MessageKind::Info);
        metrics.count_message(MessageKind::Info);
        metrics.count_request("GET".to_owned(), "/v1/jobs/{id}".to_owned(), 200);
        assert_eq!(metrics.messages(MessageKind::Info), 2);
        assert_eq!(metrics.messages(MessageKind::Notify), 0);
        let text = metrics.text(ServiceGauges {
            queued: 3,
            ..ServiceGauges::default()
        });
        assert!(
            text.contains("gridrig_messages_total{kind=\"info\"} 2"),
            "{text}"
        );
        assert!(text.contains("gridrig_queue_jobs 3"), "{text}");
        assert!(
            text.contains("route=\"/v1/jobs/{id}\",status=\"200\"} 1"),
            "{text}"
        );
    }
}
