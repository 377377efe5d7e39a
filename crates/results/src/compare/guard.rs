//! Whether runs may be compared at all, and what differs besides the policy.

use super::document::{Guard, Objection};
use super::find::FoundRun;
use super::group::{Study, settings, traces};
use crate::rundir::Manifest;
use crate::words::pairs;
use serde_json::Value;
use std::collections::BTreeMap;

/// Offered loads may differ by this share.
const LOAD_TOLERANCE: f64 = 0.10;

/// So many differing settings are told.
const MOST_DIFFERENCES: usize = 12;

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
            let why = first_text(&run.manifest.summary["warnings"]);
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
        found.differ("trace", "traces", (first, traces(a)), (run, traces(b)));
    }
    if let (Some(one), Some(other)) = (a.study.scale, b.study.scale)
        && one != other
    {
        let text = |scale: crate::rundir::ScaleDoc| {
            format!("arrival {}, run_time {}", scale.arrival, scale.run_time)
        };
        let (one, other) = (text(one), text(other));
        found.differ("compression", "compression", (first, one), (run, other));
    }
    if a.versions != b.versions {
        let text = |m: &Manifest| pairs(&m.versions).join(", ");
        found.differ("version", "versions", (first, text(a)), (run, text(b)));
    }
    machines(first, run, found);
    let measure = |m: &Manifest| serde_json::to_string(&m.measure).unwrap_or_default();
    if measure(a) != measure(b) {
        let (one, other) = (measure(a), measure(b));
        found.differ("measure", "what is measured", (first, one), (run, other));
    }
}

fn machines(first: &FoundRun, run: &FoundRun, found: &mut Collected) {
    let (a, b) = (&first.manifest.grid, &run.manifest.grid);
    let (one, other) = (a.processors(), b.processors());
    let text = |processors: u64, clusters: usize| {
        format!("{processors} processors in {clusters} clusters")
    };
    let (one_text, other_text) = (text(one, a.clusters.len()), text(other, b.clusters.len()));
    let pooled = a.domains.is_empty() != b.domains.is_empty();
    let same = match pooled {
        true => one == other,
        false => a.same_machines(b),
    };
    if !same {
        found.differ(
            "cluster-model",
            "cluster models",
            (first, one_text),
            (run, other_text),
        );
    }
}

/// What two runs of one replication may not differ in.
fn within(first: &FoundRun, run: &FoundRun, found: &mut Collected) {
    let (a, b) = (&first.manifest, &run.manifest);
    if let (Some(one), Some(other)) = (a.offered_load, b.offered_load)
        && (one - other).abs() > LOAD_TOLERANCE * one.min(other)
    {
        let text = |load: f64| format!("{:.1} %", 100.0 * load);
        found.differ(
            "offered-load",
            "offered loads more than 10 % apart",
            (first, text(one)),
            (run, text(other)),
        );
    }
    let pooled = a.grid.domains.is_empty() != b.grid.domains.is_empty();
    let entries = |m: &Manifest| m.workload_hashes.get("all").cloned();
    if !pooled && entries(a) != entries(b) {
        let text = |m: &Manifest| format!("{:.12}", entries(m).unwrap_or_default());
        found.differ(
            "entry",
            "the same jobs entering at other places",
            (first, text(a)),
            (run, text(b)),
        );
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
        (first, one): (&FoundRun, String),
        (run, other): (&FoundRun, String),
    ) {
        let (a, b) = (first.dir.display(), run.dir.display());
        self.add(code, format!("{what}: {a} has {one}, {b} has {other}"));
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

fn first_text(warnings: &Value) -> String {
    let last = warnings.as_array().and_then(|all| all.last());
    let text = last.and_then(Value::as_str);
    text.map_or(String::new(), |text| format!(" ({text})"))
}

/// Settings that differ between the variants, besides the policy: legal, since
/// they may be what is compared, and told.
fn differences(study: &Study<'_>, reference: &FoundRun) -> Vec<String> {
    let base = settings(&reference.manifest);
    let name = study.variants.first().map_or("", |v| v.name.as_str());
    let mut told = Vec::new();
    for variant in study.variants.iter().skip(1) {
        let Some(run) = variant.first() else {
            continue;
        };
        // A pooled cluster differs in everything, on purpose.
        if run.manifest.grid.domains.is_empty() != reference.manifest.grid.domains.is_empty() {
            continue;
        }
        let mut found = Vec::new();
        compare_values("", &base, &settings(&run.manifest), &mut found);
        for (path, one, other) in found {
            told.push(format!(
                "{path}: {one} with {name}, {other} with {}",
                variant.name
            ));
        }
    }
    let more = told.len().saturating_sub(MOST_DIFFERENCES);
    told.truncate(MOST_DIFFERENCES);
    if more > 0 {
        told.push(format!("and {more} more settings"));
    }
    told
}

fn compare_values(path: &str, a: &Value, b: &Value, found: &mut Vec<(String, String, String)>) {
    match (a, b) {
        (Value::Object(one), Value::Object(other)) => {
            for (key, value) in one {
                let path = match path.is_empty() {
                    true => key.clone(),
                    false => format!("{path}.{key}"),
                };
                let other = other.get(key).unwrap_or(&Value::Null);
                compare_values(&path, value, other, found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (a, b)) in one.iter().zip(other).enumerate() {
                compare_values(&format!("{path}.{index}"), a, b, found);
            }
        }
        _ if a == b => {}
        _ => found.push((path.to_owned(), short_value(a), short_value(b))),
    }
}

fn short_value(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.chars().take(40).collect()
}
