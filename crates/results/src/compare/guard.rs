//! Whether runs may be compared at all, and what differs besides the policy.

use super::document::{Guard, Objection};
use super::find::FoundRun;
use super::group::{Study, settings, traces};
use crate::rundir::Manifest;
use crate::words::{listed, pairs};
use gridrig_scenario::each_once;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Offered loads may differ by this share.
const LOAD_TOLERANCE: f64 = 0.10;

/// So many differing settings are told.
const MOST_DIFFERENCES: usize = 12;

/// Of so many domains, clusters or links the settings of each are told.
const MOST_EACH: usize = 4;

/// So many variants with one setting are named.
const MOST_NAMES: usize = 3;

/// Holds every run against the first one of the baseline, and pairs against
/// each other.
pub(super) fn guard(study: &Study<'_>) -> Guard {
    let mut found = Collected::default();
    let baseline = study.variants.first().and_then(|variant| variant.first());
    let Some(reference) = baseline else {
        return Guard::default();
    };
    for run in study.all_runs() {
        against(reference, run, &mut found);
        if run.manifest.summary.get("valid") == Some(&Value::Bool(false)) {
            let warnings = run.manifest.summary["warnings"].as_array();
            let why = warnings.and_then(|all| all.last()?.as_str());
            let why = why.map_or(String::new(), |why| format!(" ({why})"));
            let dir = run.dir.display();
            found.add("invalid", format!("{dir} is not valid{why}"));
        }
    }
    for key in &study.keys {
        let runs = study.runs_of(key);
        if let Some((first, others)) = runs.split_first() {
            others.iter().for_each(|run| within(first, run, &mut found));
        }
    }
    Guard {
        comparable: found.objections.is_empty(),
        objections: found.finish(),
        differences: differences(study, reference),
    }
}

/// What no two runs of a comparison may differ in.
fn against(first: &FoundRun, run: &FoundRun, found: &mut Collected) {
    let (a, b) = (&first.manifest, &run.manifest);
    let hashes = |m: &Manifest| m.trace_sha256.values().cloned().collect::<Vec<_>>();
    let seeds_vary = |m: &Manifest| {
        let varies = m.study.varies.as_ref();
        varies.is_some_and(|varies| varies.over == "seed")
    };
    // A generated trace may differ from seed to seed; pairs are of one seed.
    let same_seed = a.seed == b.seed;
    if hashes(a) != hashes(b) && (same_seed || !seeds_vary(a)) {
        found.differ("trace", "traces", (first, run), traces);
    }
    if let (Some(one), Some(other)) = (a.study.scale, b.study.scale)
        && one != other
    {
        let text = |m: &Manifest| {
            let scale = m.study.scale.unwrap_or(one);
            format!("arrival {}, run_time {}", scale.arrival, scale.run_time)
        };
        found.differ("compression", "compression", (first, run), text);
    }
    if a.versions != b.versions {
        let text = |m: &Manifest| pairs(&m.versions).join(", ");
        found.differ("version", "versions", (first, run), text);
    }
    machines(first, run, found);
    let measure = |m: &Manifest| serde_json::to_string(&m.measure).unwrap_or_default();
    if measure(a) != measure(b) {
        found.differ("measure", "what is measured", (first, run), measure);
    }
}

fn machines(first: &FoundRun, run: &FoundRun, found: &mut Collected) {
    let (a, b) = (&first.manifest.grid, &run.manifest.grid);
    let pooled = a.domains.is_empty() != b.domains.is_empty();
    let same = match pooled {
        true => a.processors() == b.processors(),
        false => a.same_machines(b),
    };
    if !same {
        let text = |Manifest { grid, .. }: &Manifest| {
            let (processors, clusters) = (grid.processors(), grid.clusters.len());
            format!("{processors} processors in {clusters} clusters")
        };
        found.differ("cluster-model", "cluster models", (first, run), text);
    }
}

/// What two runs of one replication may not differ in.
fn within(first: &FoundRun, run: &FoundRun, found: &mut Collected) {
    let (a, b) = (&first.manifest, &run.manifest);
    if let (Some(one), Some(other)) = (a.offered_load, b.offered_load)
        && (one - other).abs() > LOAD_TOLERANCE * one.min(other)
    {
        let text = |m: &Manifest| format!("{:.1} %", 100.0 * m.offered_load.unwrap_or(one));
        let what = "offered loads more than 10 % apart";
        found.differ("offered-load", what, (first, run), text);
    }
    let pooled = a.grid.domains.is_empty() != b.grid.domains.is_empty();
    let entries = |m: &Manifest| m.workload_hashes.get("all").cloned();
    if !pooled && entries(a) != entries(b) {
        let text = |m: &Manifest| format!("{:.12}", entries(m).unwrap_or_default());
        let what = "the same jobs entering at other places";
        found.differ("entry", what, (first, run), text);
    }
}

/// Objections by code, each told once, with how many more runs it is about.
#[derive(Default)]
struct Collected {
    objections: BTreeMap<&'static str, (String, u64)>,
}

impl Collected {
    fn add(&mut self, code: &'static str, message: String) {
        let entry = self.objections.entry(code).or_insert((message, 0));
        entry.1 += 1;
    }

    fn differ(
        &mut self,
        code: &'static str,
        what: &str,
        (first, run): (&FoundRun, &FoundRun),
        text: impl Fn(&Manifest) -> String,
    ) {
        let has = |run: &FoundRun| format!("{} has {}", run.dir.display(), text(&run.manifest));
        self.add(code, format!("{what}: {}, {}", has(first), has(run)));
    }

    fn finish(self) -> Vec<Objection> {
        let objection = |(code, (message, count)): (&'static str, (String, u64))| Objection {
            code,
            message: match count {
                0 | 1 => message,
                _ => format!("{message}, and so do {} more runs", count - 1),
            },
            runs: count,
        };
        self.objections.into_iter().map(objection).collect()
    }
}

/// Settings that differ between the variants, besides the policy: legal, since
/// they may be what is compared, and told, each with all variants that have it.
fn differences(study: &Study<'_>, reference: &FoundRun) -> Vec<String> {
    let base = settings(&reference.manifest);
    let name = study.variants.first().map_or("", |v| v.name.as_str());
    let mut found: Vec<(Difference, Vec<&str>)> = Vec::new();
    for variant in study.variants.iter().skip(1) {
        let Some(run) = variant.first() else {
            continue;
        };
        // A pooled cluster differs in everything, on purpose.
        if run.manifest.grid.domains.is_empty() != reference.manifest.grid.domains.is_empty() {
            continue;
        }
        for difference in differing(&base, &settings(&run.manifest)) {
            match found.iter_mut().find(|(other, _)| *other == difference) {
                Some((_, names)) => names.push(variant.name.as_str()),
                None => found.push((difference, vec![variant.name.as_str()])),
            }
        }
    }
    let more = found.len().saturating_sub(MOST_DIFFERENCES);
    let shown = found.iter().take(MOST_DIFFERENCES);
    let mut told: Vec<String> = shown
        .map(|(difference, names)| {
            let Difference { path, one, other } = difference;
            let path = path.replacen("grid.domains.", "domain.", 1);
            let path = path.replacen("grid.clusters.", "cluster.", 1);
            let with = listed(names, MOST_NAMES);
            format!("{path}: {one} with {name}, {other} with {with}")
        })
        .collect();
    if more > 0 {
        told.push(format!("and {more} more settings"));
    }
    told
}

/// A setting that differs between two documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where it stands, such as `domain.a.broker.exchange`.
    pub path: String,
    /// What the first document says, in short.
    pub one: String,
    /// What the second one says.
    pub other: String,
}

/// The settings that differ between two documents. What is in a list goes by its name
/// if both call it the same, else by its number.
pub fn differing(a: &Value, b: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare_values("", a, b, &mut found);
    found
}

fn compare_values(path: &str, a: &Value, b: &Value, found: &mut Vec<Difference>) {
    let below = |key: &str| match path.is_empty() {
        true => key.to_owned(),
        false => format!("{path}.{key}"),
    };
    match (a, b) {
        (Value::Object(one), Value::Object(other)) => {
            let only_other = other.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(only_other) {
                let [a, b] = [one, other].map(|it| it.get(key).unwrap_or(&Value::Null));
                compare_values(&below(key), a, b, found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (a, b)) in one.iter().zip(other).enumerate() {
                let name = a["name"].as_str().filter(|name| b["name"] == **name);
                let key = name.map_or_else(|| index.to_string(), str::to_owned);
                compare_values(&below(&key), a, b, found);
            }
        }
        _ if a == b => {}
        _ => found.push(Difference {
            path: path.to_owned(),
            one: short_value(a),
            other: short_value(b),
        }),
    }
}

fn short_value(value: &Value) -> String {
    let text = match value {
        Value::Null => "unset".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// The settings of a run besides its policy, each with its value: what all domains,
/// clusters or links have alike is said once. A pooled cluster, which differs in
/// everything, on purpose, has none.
pub(crate) fn settings_in_words(manifest: &Manifest) -> Vec<String> {
    if manifest.grid.is_pooled() {
        return Vec::new();
    }
    let all = settings(manifest);
    let mut told = Vec::new();
    alike_once("", &all["grid"]["domains"], &mut told);
    if let Some(scale) = manifest.study.scale {
        told.push(format!("scale.arrival {}", scale.arrival));
        told.push(format!("scale.run_time {}", scale.run_time));
    }
    if let Some(load) = manifest.offered_load {
        told.push(format!("load {:.0} %", 100.0 * load));
    }
    if !manifest.trace_sha256.is_empty() {
        let traces = Value::String(traces(manifest));
        told.push(format!("trace {}", short_value(&traces)));
    }
    for (key, value) in all["measure"].as_object().into_iter().flatten() {
        told.push(format!("measure.{key} {}", short_value(value)));
    }
    told.push(format!("clock {}", manifest.clock));
    alike_once("cluster.", &all["grid"]["clusters"], &mut told);
    alike_once("link.", &all["grid"]["links"], &mut told);
    told
}

/// Each key of a list of domains, clusters or links with its value; where they have
/// different ones, those of each, or of many the values alone.
fn alike_once(prefix: &str, all: &Value, told: &mut Vec<String>) {
    let all: Vec<&Map<String, Value>> = all
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .collect();
    let keys: BTreeSet<&String> = all.iter().flat_map(|one| one.keys()).collect();
    let names = ["name", "domain", "consumer", "provider"];
    for key in keys {
        if names.contains(&key.as_str()) {
            continue;
        }
        let value = |one: &Map<String, Value>| match one.get(key) {
            Some(Value::Array(nodes)) if key == "resources" => processors(nodes),
            value => short_value(value.unwrap_or(&Value::Null)),
        };
        let values = each_once(all.iter().copied().map(value));
        if values.len() > 1 && all.len() <= MOST_EACH {
            let each = all.iter().copied();
            told.extend(each.map(|one| format!("{} {key} {}", called(one), value(one))));
        } else {
            let values = short_value(&Value::String(values.join(", ")));
            told.push(format!("{prefix}{key} {values}"));
        }
    }
}

/// The name of a domain or cluster; a link is called by its two ends.
fn called(one: &Map<String, Value>) -> String {
    let ends = ["name", "consumer", "provider"].map(|key| one.get(key).and_then(Value::as_str));
    ends.into_iter().flatten().collect::<Vec<_>>().join("-")
}

/// The nodes of a cluster, without their names.
fn processors(nodes: &[Value]) -> String {
    let group = |nodes: &Value| {
        let number = |key: &str| nodes[key].as_u64().unwrap_or_default();
        let text = format!("{} processors", number("count") * number("cpu_count"));
        match nodes["speed"].as_str() {
            None | Some("1") => text,
            Some(speed) => format!("{text} of speed {speed}"),
        }
    };
    let groups: Vec<String> = nodes.iter().map(group).collect();
    short_value(&Value::String(groups.join(", ")))
}
