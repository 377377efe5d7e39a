//! The dashboards for Grafana: what is worth looking at while a run goes on.

use super::panel::{Form, Panel, lay_out, panel};
use super::query::{of, of_all};
use gridrig_service::http::metrics::table;
use serde_json::{Value, json};

/// One dashboard: the name of its file, and what is in it.
pub(super) struct Dashboard {
    pub file: &'static str,
    pub document: Value,
}

/// All of them.
pub(super) fn all() -> [Dashboard; 3] {
    let dashboard = |file: &'static str, title: &str, about: &str, panels: &[Panel]| Dashboard {
        file,
        document: document(file, title, about, panels),
    };
    [
        dashboard(
            "overview.json",
            "gridrig: a run",
            "How far a run is, how the load lies on its clusters, who forwards to whom, and \
             whether the rig keeps up.",
            &overview(),
        ),
        dashboard(
            "cluster.json",
            "gridrig: one cluster",
            "The emulated clusters that are selected: processors, queue, events, requests.",
            &cluster(),
        ),
        dashboard(
            "brokers.json",
            "gridrig: brokers and information",
            "What brokers hold and decide, how old their information is, and what they say \
             to each other.",
            &brokers(),
        ),
    ]
}

fn document(file: &str, title: &str, about: &str, panels: &[Panel]) -> Value {
    let uid = format!("gridrig-{}", file.trim_end_matches(".json"));
    json!({
        "uid": uid,
        "title": title,
        "description": about,
        "tags": ["gridrig"],
        "schemaVersion": 39,
        "version": 1,
        "editable": true,
        "graphTooltip": 1,
        "refresh": "5s",
        "time": { "from": "now-15m", "to": "now" },
        "timezone": "browser",
        "annotations": { "list": [] },
        "links": [{
            "type": "dashboards", "tags": ["gridrig"], "title": "gridrig",
            "icon": "external link", "tooltip": "", "url": "",
            "asDropdown": true, "includeVars": true, "keepTime": true, "targetBlank": false,
        }],
        "templating": { "list": variables() },
        "panels": lay_out(panels),
    })
}

/// The data source, and one variable per label to choose by, each among what
/// the ones before leave.
fn variables() -> Value {
    let mut list = vec![json!({
        "name": "datasource", "label": "Data source", "type": "datasource",
        "query": "prometheus", "current": {}, "hide": 0, "refresh": 1,
    })];
    let build = table::BUILD.series().swap_remove(0);
    let mut chosen: Vec<String> = Vec::new();
    for label in ["run", "policy", "domain", "cluster"] {
        let query = format!("label_values({build}{{{}}}, {label})", chosen.join(","));
        list.push(json!({
            "name": label, "label": label, "type": "query",
            "datasource": { "type": "prometheus", "uid": "${datasource}" },
            "definition": query,
            "query": { "query": query, "refId": label },
            "refresh": 2, "sort": 1, "hide": 0,
            "multi": true, "includeAll": true, "allValue": ".*",
            "current": { "selected": true, "text": ["All"], "value": ["$__all"] },
        }));
        chosen.push(format!("{label}=~\"${label}\""));
    }
    json!(list)
}

const WHERE: &str = "run, policy, domain, cluster";

fn overview() -> Vec<Panel> {
    let mut panels = run_figures();
    panels.extend(load_of_clusters());
    panels.extend([
        panel(
            "Jobs waiting in brokers",
            "Jobs that wait for the next cycle of a broker",
            Form::Lines,
            "short",
            of(&table::JOBS, "broker")
                .with("state", "queued")
                .sum_by("run, policy, domain"),
            "{{domain}} {{policy}}",
        ),
        forwarding_matrix(),
        panel(
            "Jobs finished per second",
            "Seconds of the wall",
            Form::Stack,
            "short",
            of(&table::JOB_EVENTS, "emulator")
                .with("event", "finished")
                .rate_by(WHERE),
            "{{domain}}/{{cluster}} {{policy}}",
        ),
        panel(
            "Messages sent per second",
            "Messages of the model by kind; seconds of the wall",
            Form::Lines,
            "short",
            of_all(&table::MESSAGES_SENT).rate_by("kind"),
            "{{kind}}",
        ),
        panel(
            "Submission lag",
            "How much later than intended jobs were handed over lately, in seconds of the run",
            Form::Lines,
            "s",
            of(&table::SUBMISSION_LAG, "replay").recent_quantile_by("0.5", ""),
            "p50",
        )
        .and(
            of(&table::SUBMISSION_LAG, "replay").recent_quantile_by("0.99", ""),
            "p99",
        ),
        latency_by_route("", "Request latency, p99, by route"),
    ]);
    panels
}

/// The line of figures on top of a run.
fn run_figures() -> Vec<Panel> {
    let figure = |title, about, unit, query| panel(title, about, Form::Figure, unit, query, "");
    let open = of(&table::JOBS, "replay").sum();
    let workload = of(&table::WORKLOAD_JOBS, "replay").sum();
    vec![
        figure(
            "Services",
            "Services that answer",
            "short",
            of_all(&table::BUILD).number(),
        ),
        figure(
            "Virtual time",
            "The time of the run",
            "s",
            of_all(&table::VIRTUAL_TIME).max(),
        ),
        figure(
            "Clock speed",
            "Seconds of the run per second on the wall",
            "short",
            of_all(&table::CLOCK_SPEED).max(),
        ),
        panel(
            "Progress",
            "Jobs of the workload whose end is known",
            Form::Share,
            "percentunit",
            format!("1 - {open} / {workload}"),
            "",
        ),
        figure(
            "Jobs handed over",
            "Jobs that were submitted so far",
            "short",
            of(&table::JOB_EVENTS, "replay")
                .with("event", "submitted")
                .sum(),
        ),
        figure(
            "Jobs forwarded",
            "Jobs that run outside the domain they entered at",
            "short",
            of(&table::FORWARDED_JOBS, "broker").sum(),
        ),
        figure(
            "Submission lag, p99",
            "Since the start, in seconds of the run; a run whose lag passes run.lag_tolerance \
             is not valid",
            "s",
            of(&table::SUBMISSION_LAG, "replay").quantile("0.99"),
        ),
        figure(
            "Messages lost",
            "Messages that were given up after several tries",
            "short",
            of_all(&table::MESSAGES_UNDELIVERED).sum(),
        ),
    ]
}

fn load_of_clusters() -> Vec<Panel> {
    let busy = of(&table::BUSY_PROCESSORS, "emulator").sum_by(WHERE);
    let available = of(&table::AVAILABLE_PROCESSORS, "emulator").sum_by(WHERE);
    vec![
        panel(
            "Queue length",
            "Jobs that wait in each LRMS",
            Form::Lines,
            "short",
            of(&table::JOBS, "emulator")
                .with("state", "queued")
                .sum_by(WHERE),
            "{{domain}}/{{cluster}} {{policy}}",
        ),
        panel(
            "Utilization",
            "Busy over available processors of each cluster",
            Form::Lines,
            "percentunit",
            format!("{busy} / {available}"),
            "{{domain}}/{{cluster}} {{policy}}",
        ),
        panel(
            "Jobs in the clusters",
            "Queued and running jobs of all clusters",
            Form::Stack,
            "short",
            of(&table::JOBS, "emulator").sum_by("state"),
            "{{state}}",
        ),
    ]
}

fn forwarding_matrix() -> Panel {
    panel(
        "Forwarded jobs",
        "Rows: the domain at which jobs entered; columns: the domain that executes them",
        Form::Matrix("origin", "executing"),
        "short",
        of(&table::FORWARDED_JOBS, "broker").sum_by("origin, executing"),
        "",
    )
}

/// Requests for ends wait for news on purpose, so that they are left out.
fn latency_by_route(service: &str, title: &'static str) -> Panel {
    let requests = match service {
        "" => of_all(&table::REQUEST_DURATION),
        service => of(&table::REQUEST_DURATION, service),
    };
    panel(
        title,
        "Without /v1/ends, which waits for news",
        Form::Lines,
        "s",
        requests
            .without("route", "/v1/ends")
            .recent_quantile_by("0.99", "route"),
        "{{route}}",
    )
}

/// The line of figures on top of a cluster.
fn cluster_figures() -> Vec<Panel> {
    let emulator = |metric| of(metric, "emulator");
    let figure =
        |title, about, query| panel(title, about, Form::Figure, "short", query, "").wide(4);
    let jobs = |state| emulator(&table::JOBS).with("state", state);
    vec![
        figure(
            "Queued jobs",
            "Jobs that wait in the LRMS",
            jobs("queued").sum(),
        ),
        figure("Running jobs", "Jobs that run", jobs("running").sum()),
        figure(
            "Queued processors",
            "Processors that the waiting jobs want",
            emulator(&table::QUEUED_PROCESSORS).sum(),
        ),
        figure(
            "Busy processors",
            "Processors that run a job",
            emulator(&table::BUSY_PROCESSORS).sum(),
        ),
        figure(
            "Available processors",
            "Processors that are up",
            emulator(&table::AVAILABLE_PROCESSORS).sum(),
        ),
        figure(
            "Jobs finished",
            "Jobs that ended by themselves",
            emulator(&table::JOB_EVENTS).with("event", "finished").sum(),
        ),
    ]
}

fn cluster() -> Vec<Panel> {
    let emulator = |metric| of(metric, "emulator");
    let mut panels = cluster_figures();
    panels.extend([
        panel(
            "Processors",
            "Busy, available, and wanted by the jobs that wait",
            Form::Lines,
            "short",
            emulator(&table::BUSY_PROCESSORS).sum_by("cluster"),
            "busy {{cluster}}",
        )
        .and(
            emulator(&table::AVAILABLE_PROCESSORS).sum_by("cluster"),
            "available {{cluster}}",
        )
        .and(
            emulator(&table::QUEUED_PROCESSORS).sum_by("cluster"),
            "wanted {{cluster}}",
        ),
        panel(
            "Jobs by state",
            "Queued and running jobs",
            Form::Stack,
            "short",
            emulator(&table::JOBS).sum_by("cluster, state"),
            "{{state}} {{cluster}}",
        ),
        panel(
            "What happens to jobs, per second",
            "Events of the cluster's log; seconds of the wall",
            Form::Lines,
            "short",
            emulator(&table::JOB_EVENTS)
                .like(
                    "event",
                    "queued|started|finished|refused|rejected|cancelled|failed",
                )
                .rate_by("event"),
            "{{event}}",
        ),
        panel(
            "Messages per second",
            "Received and sent, by kind; seconds of the wall",
            Form::Lines,
            "short",
            emulator(&table::MESSAGES_RECEIVED).rate_by("kind"),
            "received {{kind}}",
        )
        .and(
            emulator(&table::MESSAGES_SENT).rate_by("kind"),
            "sent {{kind}}",
        ),
        latency_by_route("emulator", "Request latency, p99, by route"),
        requests_by_status("emulator"),
        lives("emulator", "cluster").wide(24),
    ]);
    panels
}

fn requests_by_status(service: &str) -> Panel {
    let mut counts = table::REQUEST_DURATION.series();
    // The count of a histogram is the number of its requests.
    let count = counts.pop().unwrap_or_default();
    panel(
        "Requests per second, by status",
        "Seconds of the wall",
        Form::Stack,
        "reqps",
        super::query::named(count, service).rate_by("status"),
        "{{status}}",
    )
}

/// Which services there are, in which version, since when.
fn lives(service: &str, name: &'static str) -> Panel {
    let start = of(&table::START_TIME, service).max_by(&format!("run, policy, {name}, instance"));
    let build = of(&table::BUILD, service);
    let build = build.count_by(&format!("run, policy, {name}, instance, version"));
    panel(
        "Services",
        "Version, and when this life of the service began (seconds since 1970)",
        Form::Rows,
        "none",
        format!("{build} * on (run, policy, {name}, instance) group_left () {start}"),
        "",
    )
}

/// What brokers know, hold and decide.
fn decisions() -> Vec<Panel> {
    let broker = |metric| of(metric, "broker");
    let sources = "domain, source, source_kind";
    vec![
        panel(
            "Information age",
            "Age of the oldest information that each broker uses about each source, in seconds \
             of the run; it saws between 0 and the exchange interval",
            Form::Lines,
            "s",
            broker(&table::INFORMATION_AGE).max_by(sources),
            "{{domain}} knows {{source}}",
        ),
        panel(
            "Information age now",
            "By broker and source: a cluster of its own (lrms) or a peer (broker)",
            Form::Rows,
            "s",
            broker(&table::INFORMATION_AGE).max_by(sources),
            "",
        ),
        panel(
            "Jobs held",
            "Waiting for a cycle (queued), or with a cluster or peer (sent)",
            Form::Stack,
            "short",
            broker(&table::JOBS).sum_by("domain, state"),
            "{{domain}} {{state}}",
        ),
        panel(
            "Decisions per second",
            "Jobs dispatched to own clusters, forwarded to peers, refused and rejected",
            Form::Lines,
            "short",
            broker(&table::JOB_EVENTS)
                .like("event", "dispatched|forwarded|refused|rejected|failed")
                .rate_by("domain, event"),
            "{{domain}} {{event}}",
        ),
    ]
}

fn brokers() -> Vec<Panel> {
    let broker = |metric| of(metric, "broker");
    let mut panels = decisions();
    panels.extend([
        forwarding_matrix(),
        panel(
            "Forwarded jobs per second",
            "By the domain at which they entered and the one that executes them",
            Form::Lines,
            "short",
            broker(&table::FORWARDED_JOBS).rate_by("origin, executing"),
            "{{origin}} to {{executing}}",
        ),
        panel(
            "Messages per second",
            "Received and sent, by kind; seconds of the wall",
            Form::Lines,
            "short",
            broker(&table::MESSAGES_RECEIVED).rate_by("kind"),
            "received {{kind}}",
        )
        .and(
            broker(&table::MESSAGES_SENT).rate_by("kind"),
            "sent {{kind}}",
        ),
        panel(
            "Messages repeated and lost",
            "Delivered again without effect, and given up after several tries",
            Form::Lines,
            "short",
            broker(&table::MESSAGES_REPEATED).sum_by("domain"),
            "{{domain}} repeated",
        )
        .and(
            broker(&table::MESSAGES_UNDELIVERED).sum_by("domain"),
            "{{domain}} lost",
        ),
        latency_by_route("broker", "Request latency, p99, by route"),
        requests_by_status("broker"),
        lives("broker", "domain").wide(24),
    ]);
    panels
}
