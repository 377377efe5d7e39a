//! The files that set up Prometheus and Grafana, and the table of metrics as
//! text.

use crate::words::list;
use gridrig_service::http::metrics::table::{ALL, Metric, SERVICE_LABELS};
use rust_embed::{EmbeddedFile, RustEmbed};
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(RustEmbed)]
#[folder = "../resources/grafana"]
struct Setup;

/// Files to be written below a folder: path and content.
pub(crate) fn all() -> Vec<(String, EmbeddedFile)> {
    let paths = Setup::iter();
    let files = paths.filter_map(|path| Some((path.to_string(), Setup::get(&path)?)));
    files.collect()
}

/// Every metric, for programs.
pub(crate) fn document() -> Value {
    let metrics = ALL.map(|metric| {
        json!({
            "name": metric.name(),
            "type": metric.kind.name(),
            "unit": metric.unit,
            "help": metric.help,
            "labels": metric.labels,
            "series": metric.series(),
            "services": metric.services,
        })
    });
    json!({ "metrics": metrics, "service_labels": Value::from_iter(SERVICE_LABELS) })
}

/// Every metric, as Markdown.
pub(crate) fn markdown() -> String {
    let mut text =
        String::from("| series | type | own labels | on | meaning |\n|---|---|---|---|---|\n");
    for metric in ALL {
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} |",
            shown(metric),
            metric.kind.name(),
            list(metric.labels.iter().map(|label| format!("`{label}`"))),
            list(metric.services),
            metric.help
        );
    }
    text.push_str("\n| label of every series | meaning |\n|---|---|\n");
    for (name, about) in SERVICE_LABELS {
        let _ = writeln!(text, "| `{name}` | {about} |");
    }
    text
}

/// Its series, or for a histogram what they have in common.
fn shown(metric: &Metric) -> String {
    let series = metric.series();
    match series.len() {
        1 => series.concat(),
        _ => metric.name(),
    }
}
