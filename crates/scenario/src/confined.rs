//! Scenarios of somebody who may compute here, but not say what else is done in
//! the name of whoever runs this: those that come from a page.
//!
//! What may be set is listed. A key that is new is refused until somebody has
//! decided whether it leads to a program, a file or another system.

use super::error::Result;
use super::source::Tables;
use ::toml::Spanned;
use ::toml::de::{DeTable, DeValue};

/// Tables, and those of their keys that mean nothing outside of the run. The
/// clusters of a domain are tables like `[cluster]`.
const HARMLESS: [(&str, &str); 28] = [
    (
        "workload",
        "components_from domain spread cluster offset size sanitize max_processors keep phase share zero_run_time \
         min_run_time requirements model_load preferences",
    ),
    (
        "workload.preferences",
        "objective benchmarks stage_in stage_out",
    ),
    (
        "workload.draw",
        "architecture os burst memory_mib disk_rate_mib disk_most_mib disk_is_data data_mib \
         generic_resources components accounts start_window",
    ),
    ("workload.draw.start_window", "share notice length flexible"),
    (
        "workload.window",
        "start length choose step skip_start skip_end",
    ),
    ("workload.load", "offered processors"),
    ("workload.scale", "arrival run_time"),
    (
        "cluster",
        "name processors discipline interval run_times benchmarks on_node_failure faces arc_step \
         reservations background",
    ),
    ("cluster.background", "least most check processors length"),
    (
        "cluster.reservations",
        "overrun most_share longest most_ahead",
    ),
    ("cluster.node_failures", "mtbf mttr distribution shape"),
    ("cluster.outages", "from until"),
    (
        "cluster.slurm",
        "bf_interval bf_resolution bf_window bf_max_job_test",
    ),
    (
        "domain",
        "name provides parent siblings site grid administrative central",
    ),
    (
        "domain.broker",
        "interval exchange phase max_hops ttl origin_promotion own_dispatch commit blocking \
         matchmaking matchmaking_interval delegation_interval delegation_threshold \
         delegation_memory lease_timeout usage_half_life local_info propagate_info \
         lrms_latency queue_window utilization_window drain co_allocation",
    ),
    (
        "domain.broker.co_allocation",
        "startup startup_contention wide_area run_times bandwidth_mib_s claim_timeout",
    ),
    ("link", "between provides latency protocol bandwidth_mib_s"),
    ("link.roles", "consumer provider"),
    ("mesh", "latency bandwidth_mib_s"),
    ("faults", "patience"),
    (
        "faults.links",
        "between party towards delay jitter loss duplication reordering from until",
    ),
    (
        "faults.outages",
        "party towards from until silent information",
    ),
    ("faults.restarts", "broker from until memory"),
    ("faults.outages.failures", "mtbf mttr distribution shape"),
    ("faults.restarts.failures", "mtbf mttr distribution shape"),
    (
        "run",
        "name clock speed policies bounds tie seed day starts_at require primary relevant decisions lag_tolerance",
    ),
    ("run.replicate", "over step count"),
    ("measure", "from until stop tau direct regret"),
];

/// Keys that say what runs something, with the one value that is ours.
const OURS: [(&str, &str); 2] = [
    ("cluster.lrms", "emulated"),
    ("domain.broker.kind", "gridrig"),
];

/// Keys of files that are read.
const FILES: [&str; 4] = [
    "workload.trace",
    "workload.model",
    "cluster.resources",
    "cluster.node_failures_file",
];

/// Refuses the first value that leads to a program, to another system, or to a
/// file that is not among those that may be read.
pub(super) fn check(tables: &Tables<'_>, may_read: &dyn Fn(&str) -> bool) -> Result<()> {
    let option = "unless the dashboard is started with --allow-commands";
    for (key, value) in beyond(tables.root.get_ref()) {
        let expected = match value.get_ref() {
            DeValue::String(file) if FILES.contains(&&*key) && may_read(file) => continue,
            _ if FILES.contains(&&*key) => "a file that a listed scenario names",
            _ => "no program, directory or real LRMS from a page",
        };
        return Err(tables.refuse(&value.span(), format!("{expected}, {option}")));
    }
    Ok(())
}

/// The files that a scenario names to be read, as they are written in it.
pub fn files(text: &str) -> Vec<String> {
    let read = DeTable::parse(text).ok();
    let named = read.iter().flat_map(|table| beyond(table.get_ref()));
    let files = named.filter(|(key, _)| FILES.contains(&&**key));
    let texts = files.filter_map(|(_, value)| value.get_ref().as_str().map(str::to_owned));
    texts.collect()
}

type Value<'a> = Spanned<DeValue<'a>>;

/// The values that mean something outside of the run, by key.
fn beyond<'t, 'a>(root: &'t DeTable<'a>) -> Vec<(String, &'t Value<'a>)> {
    let mut found = Vec::new();
    look(root, "", &mut found);
    found
}

fn look<'t, 'a>(table: &'t DeTable<'a>, at: &str, found: &mut Vec<(String, &'t Value<'a>)>) {
    for (key, value) in table {
        let path = path(at, key.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) if is_table(&path) => look(inner, &path, found),
            DeValue::Array(list) if is_table(&path) => {
                let tables = list.iter().filter_map(|item| item.get_ref().as_table());
                tables.for_each(|inner| look(inner, &path, found));
            }
            DeValue::String(name) if OURS.contains(&(&*path, &**name)) => {}
            _ if is_harmless(at, key.get_ref()) => look_for_programs(&path, value, found),
            _ => found.push((path, value)),
        }
    }
}

/// What is harmless otherwise may name a program: a policy or discipline of somebody's own.
fn look_for_programs<'t, 'a>(
    path: &str,
    value: &'t Value<'a>,
    found: &mut Vec<(String, &'t Value<'a>)>,
) {
    match value.get_ref() {
        DeValue::Array(list) => list
            .iter()
            .for_each(|it| look_for_programs(path, it, found)),
        DeValue::Table(table) => {
            for key in ["exec", "lua"] {
                let program = table.get(key);
                found.extend(program.map(|program| (format!("{path}.{key}"), program)));
            }
        }
        _ => {}
    }
}

/// The path of a key, as the lists above have it.
fn path(at: &str, key: &str) -> String {
    match (at, key) {
        ("", _) => key.to_owned(),
        ("domain", "clusters") => "cluster".to_owned(),
        _ => format!("{at}.{key}"),
    }
}

fn is_table(path: &str) -> bool {
    HARMLESS.iter().any(|(table, _)| *table == path)
}

fn is_harmless(at: &str, key: &str) -> bool {
    let keys = HARMLESS.iter().find(|(table, _)| *table == at);
    keys.is_some_and(|(_, keys)| keys.split(' ').any(|harmless| harmless == key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value as Json;
    use std::collections::BTreeSet;

    /// The keys of a schema that are not harmless; those that are, are counted.
    fn read(schema: &Json, at: &str, root: &Json, beyond: &mut BTreeSet<String>) -> usize {
        let target = schema["$ref"]
            .as_str()
            .and_then(|to| root.pointer(&to[1..]));
        let schema = target.unwrap_or(schema);
        let all = schema["anyOf"].as_array().into_iter().flatten();
        let within = all.chain(schema.get("items"));
        let mut harmless = within.map(|one| read(one, at, root, beyond)).sum();
        for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
            let path = path(at, key);
            if is_table(&path) {
                harmless += read(inner, &path, root, beyond);
            } else if is_harmless(at, key) {
                harmless += 1;
            } else {
                beyond.insert(path);
            }
        }
        harmless
    }

    /// A key that is new is refused, and this test asks which kind it is.
    #[test]
    fn every_key_is_harmless_or_known_to_lead_out_of_the_run() {
        let shipped = include_str!("../../../resources/scenario.schema.json");
        let schema: Json = serde_json::from_str(shipped).unwrap();
        let mut beyond = BTreeSet::new();
        let harmless = read(&schema, "", &schema, &mut beyond);
        let brokers = [
            "at_once",
            "expect",
            "files",
            "kind",
            "lost_after",
            "outlet",
            "ready",
            "serve",
            "start",
            "start_timeout",
            "stop",
            "submit",
            "timeout",
        ];
        let mut known: BTreeSet<String> = brokers
            .map(|key| format!("domain.broker.{key}"))
            .into_iter()
            .chain(FILES.map(str::to_owned))
            .collect();
        for key in ["lrms", "lrms_settings", "slurm_bin"] {
            known.insert(format!("cluster.{key}"));
        }
        assert_eq!(beyond, known);
        // The keys of clusters are read in both their places, those of a
        // workload as a table and as a list.
        assert!(harmless > 90, "{harmless}");
    }

    #[test]
    fn files_that_are_read_are_found_wherever_they_stand() {
        let text = "workload = [{ trace = \"a\" }, { model = \"b\" }]\n[[domain]]\n\
                    clusters = [{ resources = \"c\", slurm_bin = \"d\" }]\n";
        assert_eq!(files(text), ["a", "b", "c"]);
        assert!(files("[[").is_empty());
    }
}
