//! What one scrape shows, and how it becomes text.

use super::table::{ALL, Kind, Metric, PREFIX};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Unit;
use std::fmt;

/// The samples of one scrape. Series of one metric stay in the order in which
/// they were added.
#[derive(Debug, Default)]
pub struct Samples(Vec<Sample>);

#[derive(Debug)]
struct Sample {
    metric: &'static Metric,
    labels: Vec<(&'static str, String)>,
    value: Value,
}

#[derive(Debug)]
enum Value {
    Count(u64),
    Level(f64),
    Classes {
        sum: f64,
        /// Upper bound and values between it and the one before; the last
        /// bound is infinite.
        buckets: Vec<(f64, u64)>,
    },
    Said,
}

impl Samples {
    /// The present count of a counter.
    pub fn count(&mut self, metric: &'static Metric, labels: &[&str], count: u64) {
        self.add(metric, labels, Value::Count(count));
    }

    /// The present level of a gauge.
    pub fn level(&mut self, metric: &'static Metric, labels: &[&str], level: f64) {
        self.add(metric, labels, Value::Level(level));
    }

    /// A histogram: values by class, each with its upper bound, the last of
    /// which is infinite, and their sum.
    pub fn classes(
        &mut self,
        metric: &'static Metric,
        labels: &[&str],
        sum: f64,
        buckets: Vec<(f64, u64)>,
    ) {
        self.add(metric, labels, Value::Classes { sum, buckets });
    }

    /// An information.
    pub fn say(&mut self, metric: &'static Metric, labels: &[&str]) {
        self.add(metric, labels, Value::Said);
    }

    /// `labels` are the values of the metric's labels, in the table's order.
    fn add(&mut self, metric: &'static Metric, labels: &[&str], value: Value) {
        debug_assert_eq!(metric.labels.len(), labels.len(), "{}", metric.stem);
        let labels = metric.labels.iter().zip(labels);
        self.0.push(Sample {
            metric,
            labels: labels
                .map(|(name, value)| (*name, (*value).to_owned()))
                .collect(),
            value,
        });
    }
}

impl Collector for Samples {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        for metric in ALL {
            let is_its = |sample: &&Sample| std::ptr::eq(sample.metric, metric);
            let mut samples = self.0.iter().filter(is_its).peekable();
            if samples.peek().is_none() {
                continue;
            }
            let name = format!("{PREFIX}_{}", metric.stem);
            let unit = metric.unit.map(unit);
            let kind = metric_type(metric.kind);
            let help = format!("{}.", metric.help);
            let mut family = encoder.encode_descriptor(&name, &help, unit.as_ref(), kind)?;
            for sample in samples {
                sample.encode(&mut family)?;
            }
        }
        Ok(())
    }
}

impl Sample {
    fn encode(&self, family: &mut MetricEncoder<'_>) -> Result<(), fmt::Error> {
        if let Value::Said = self.value {
            return family.encode_info(&self.labels);
        }
        // Without labels of its own a series stands for the whole family.
        if self.labels.is_empty() {
            return self.value.encode(family);
        }
        let mut series = family.encode_family(&self.labels)?;
        self.value.encode(&mut series)
    }
}

impl Value {
    fn encode(&self, series: &mut MetricEncoder<'_>) -> Result<(), fmt::Error> {
        match self {
            Value::Count(count) => {
                let none: Option<&Exemplar<NoLabelSet, u64>> = None;
                series.encode_counter(count, none)
            }
            Value::Level(level) => series.encode_gauge(level),
            Value::Classes { sum, buckets } => {
                let count = buckets.iter().map(|(_, count)| count).sum();
                series.encode_histogram::<NoLabelSet>(*sum, count, buckets, None)
            }
            Value::Said => Ok(()),
        }
    }
}

fn unit(name: &str) -> Unit {
    match name {
        "seconds" => Unit::Seconds,
        other => Unit::Other(other.to_owned()),
    }
}

fn metric_type(kind: Kind) -> MetricType {
    match kind {
        Kind::Counter => MetricType::Counter,
        Kind::Gauge => MetricType::Gauge,
        Kind::Histogram => MetricType::Histogram,
        Kind::Info => MetricType::Info,
    }
}
