//! The files that set up Prometheus and Grafana, and the table of metrics as
//! text.

use super::dashboards;
use gridrig_service::http::metrics::table::{ALL, Metric, SERVICE_LABELS};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Files to be written below a folder, with what is in each.
pub(crate) fn all() -> Vec<(PathBuf, String)> {
    let text = |path: &str, text: &str| (PathBuf::from(path), text.to_owned());
    let mut files = vec![
        text("prometheus.yml", PROMETHEUS),
        text("provisioning/datasources/gridrig.yml", DATASOURCE),
        text("provisioning/dashboards/gridrig.yml", PROVIDER),
    ];
    for dashboard in dashboards::all() {
        // A document made of text and numbers has a text.
        let mut text = serde_json::to_string_pretty(&dashboard.document).unwrap_or_default();
        text.push('\n');
        files.push((PathBuf::from("dashboards").join(dashboard.file), text));
    }
    files
}

const PROMETHEUS: &str = "\
# Written by `gridrig metrics --out DIR`.
#
#   gridrig run SCENARIO --clock real --targets DIR/targets
#   prometheus --config.file=DIR/prometheus.yml --web.listen-address=127.0.0.1:9090
#
# Every service that is started with --targets DIR/targets keeps a file there
# as long as it lives; Prometheus sees files come and go by itself.
global:
  # Runs in real time are short, and often faster than the wall. Grafana has to
  # know this (timeInterval of the data source).
  scrape_interval: 1s
  scrape_timeout: 1s

scrape_configs:
  - job_name: gridrig
    # The labels of a target (run, policy, domain, cluster, service) are those
    # of its metrics; they are there so that `up` has them too.
    honor_labels: true
    file_sd_configs:
      - files: [\"targets/*.json\"]
        refresh_interval: 5s
    # Services on ports that you have chosen need no file:
    # static_configs:
    #   - targets: [\"127.0.0.1:8101\", \"127.0.0.1:8201\"]
";

const DATASOURCE: &str = "\
# For Grafana's provisioning folder.
apiVersion: 1
datasources:
  - name: gridrig
    uid: gridrig
    type: prometheus
    access: proxy
    url: http://127.0.0.1:9090
    jsonData:
      # scrape_interval of prometheus.yml: $__rate_interval is made from it.
      timeInterval: 1s
";

const PROVIDER: &str = "\
# For Grafana's provisioning folder; GRIDRIG_DASHBOARDS names the folder of the
# dashboards.
apiVersion: 1
providers:
  - name: gridrig
    type: file
    options:
      path: $GRIDRIG_DASHBOARDS
";

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
    let labels: serde_json::Map<String, Value> = SERVICE_LABELS
        .iter()
        .map(|(name, about)| ((*name).to_owned(), json!(about)))
        .collect();
    json!({ "metrics": metrics, "service_labels": labels })
}

/// Every metric, as Markdown.
pub(crate) fn markdown() -> String {
    let mut text =
        String::from("| series | type | labels of its own | on | says |\n|---|---|---|---|---|\n");
    for metric in ALL {
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} |",
            shown(metric),
            metric.kind.name(),
            names(metric.labels),
            metric.services.join(", "),
            metric.help
        );
    }
    text.push_str("\n| label of every series | is |\n|---|---|\n");
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

fn names(labels: &[&str]) -> String {
    let names: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
    names.join(", ")
}
