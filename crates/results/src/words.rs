//! Figures and numbers in words, for reports and for sentences.

use crate::threshold::Figure;
use std::collections::BTreeMap;

/// A number with the digits that count, and commas between thousands.
pub fn short(value: f64) -> String {
    let text = match value.abs() {
        0.0 => return "0".to_owned(),
        1000.0.. => return crate::plot::number(value.round()),
        100.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        0.001.. => format!("{value:.3}"),
        _ => format!("{value:.1e}"),
    };
    // What rounds to zero has no sign.
    match text.trim_matches(['-', '0', '.']).is_empty() {
        true => "0".to_owned(),
        false => text,
    }
}

/// A probability, corrected or not.
pub(crate) fn p_value(p: f64) -> String {
    match p < 0.0005 {
        true => "<0.001".to_owned(),
        false => format!("{p:.3}"),
    }
}

/// A metric of a job.
pub(crate) fn metric(metric: &str) -> &str {
    match metric {
        "delay_s" => "delay",
        "expansion" => "expansion ratio",
        "wait_s" => "wait time",
        "response_s" => "response time",
        "bounded_slowdown" => "bounded slowdown",
        "bounded_slowdown_ref" => "bounded slowdown at speed 1.0",
        other => other,
    }
}

/// The unit of a metric behind its name, in the caption of a table.
pub(crate) fn unit_of(metric: &str) -> &'static str {
    match metric.ends_with("_s") {
        true => ", s",
        false => "",
    }
}

/// The unit of a figure, behind a number.
pub(crate) fn unit(figure: Figure) -> String {
    match figure.unit() {
        "" => String::new(),
        unit => format!(" {unit}"),
    }
}

/// A statistic of a run.
pub(crate) fn statistic(statistic: &str) -> &str {
    match statistic {
        "p50" => "median",
        "p95" => "95 % quantile",
        "p99" => "99 % quantile",
        other => other,
    }
}

/// `95 % quantile of the delay`, of `delay_s.p95`.
pub(crate) fn figure(figure: Figure) -> String {
    let (statistic, metric) = (statistic(figure.statistic()), metric(figure.metric()));
    match figure.statistic() {
        "mean" | "p50" => format!("{statistic} {metric}"),
        _ => format!("{statistic} of the {metric}"),
    }
}

/// What varies between replications.
pub(crate) fn noun(over: &str) -> &str {
    match over {
        "window" | "seed" | "shake" | "workload" | "repeat" => over,
        "sample-phase" => "sample phase",
        "broker-phase" => "broker phase",
        _ => "replication",
    }
}

/// The first of them, and how many more there are.
pub(crate) fn listed<T: AsRef<str>>(texts: &[T], most: usize) -> String {
    let shown: Vec<&str> = texts.iter().take(most).map(AsRef::as_ref).collect();
    match texts.len().saturating_sub(most) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// `NAME VALUE` of each.
pub(crate) fn pairs(all: &BTreeMap<String, String>) -> Vec<String> {
    let pairs = all.iter().map(|(name, value)| format!("{name} {value}"));
    pairs.collect()
}
