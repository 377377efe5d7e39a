//! The scenarios that can be started: shipped ones, and those beside the
//! folder of runs.

use super::{Draft, Shared};
use crate::dashboard::Dashboard;
use crate::scenario::{Scenario, ScenarioText, confined};
use axum::Router;
use axum::extract::{Json, Query, State};
use axum::routing::get;
use gridrig_protocol::rest::Problem;
use gridrig_service::http::Result;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Where shipped scenarios are, from the working directory.
const SHIPPED: &str = "resources/scenarios";
/// Scenarios that are listed.
const MOST: usize = 500;
/// A scenario that is larger is none.
const LARGEST: u64 = 512 * 1024;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/api/scenarios", get(list))
        .route("/api/scenarios/text", get(text))
}

/// The scenario files by path.
fn files(dashboard: &Dashboard) -> BTreeMap<String, PathBuf> {
    let beside = match dashboard.runs.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut found = BTreeMap::new();
    for folder in [PathBuf::from(SHIPPED), beside] {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            let small = std::fs::metadata(&path).is_ok_and(|m| m.is_file() && m.len() <= LARGEST);
            if small && path.extension().is_some_and(|end| end == "toml") && found.len() < MOST {
                let name = path.strip_prefix(".").unwrap_or(&path).display();
                found.insert(name.to_string(), path);
            }
        }
    }
    found
}

/// Other TOML files lie about too: a scenario has domains or a cluster.
fn is_scenario(text: &str) -> bool {
    let table = |line: &str| {
        let name = line.trim_start().trim_start_matches('[');
        name.starts_with("workload") || name.starts_with("run]")
    };
    let mut lines = text.lines();
    lines.any(|line| line.trim_start().starts_with('[') && table(line))
}

async fn list(State(dashboard): State<Shared>) -> Result<Json<Value>> {
    let listed = tokio::task::spawn_blocking(move || {
        let texts = files(&dashboard).into_iter().filter_map(|(file, path)| {
            let text = std::fs::read_to_string(path).ok()?;
            is_scenario(&text).then(|| json!({ "file": file, "about": about(&text) }))
        });
        json!({ "scenarios": texts.collect::<Vec<_>>() })
    });
    let panicked = |_| Problem::new(500, "no-list", "the scenarios cannot be listed");
    Ok(Json(listed.await.map_err(panicked)?))
}

/// The first paragraph of the comment at the top.
fn about(text: &str) -> String {
    let comment = text.lines().map_while(|line| line.trim().strip_prefix('#'));
    let lines = comment.map(str::trim).take_while(|line| !line.is_empty());
    let about = lines.collect::<Vec<_>>().join(" ");
    about.chars().take(400).collect()
}

#[derive(Deserialize)]
struct Wanted {
    file: String,
}

/// Only a listed file is read: its name is looked up, not followed.
async fn text(
    State(dashboard): State<Shared>,
    Query(Wanted { file }): Query<Wanted>,
) -> Result<Json<Value>> {
    let text = files(&dashboard).get(&file).map(std::fs::read_to_string);
    match text {
        Some(Ok(text)) if is_scenario(&text) => Ok(Json(json!({ "file": file, "text": text }))),
        _ => {
            let detail = "there is no such scenario in the list";
            Err(Problem::new(404, "no-such-scenario", detail).into())
        }
    }
}

/// The file that a scenario means, found as a run finds it.
fn meant(scenario: &Path, written: &str) -> PathBuf {
    match Path::new(written) {
        here if here.is_file() => here.to_owned(),
        _ => scenario.with_file_name(written),
    }
}

/// The files that listed scenarios name.
fn named(listed: &BTreeMap<String, PathBuf>) -> BTreeSet<PathBuf> {
    let named = listed.iter().flat_map(|(name, path)| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let files = confined::files(&text).into_iter();
        files.map(move |written| meant(Path::new(name), &written))
    });
    named.collect()
}

/// The scenario of a draft. Unless the dashboard allows commands, it leads to
/// nothing but files that listed scenarios name.
pub(super) fn parse(dashboard: &Dashboard, draft: &Draft) -> Result<Scenario, String> {
    let listed = files(dashboard);
    if !listed.contains_key(&draft.file) {
        let file: String = draft.file.chars().take(200).collect();
        return Err(format!(
            "field file = \"{file}\": expected one of the listed scenarios"
        ));
    }
    let name = draft.name.as_deref().map(str::trim).unwrap_or_default();
    // The name becomes that of a folder.
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !name.chars().all(fits) || name.starts_with('.') || name.len() > 80 {
        let name: String = name.chars().take(100).collect();
        return Err(format!(
            "field run.name = \"{name}\": expected up to 80 letters, digits, \"-\", \"_\" or \".\""
        ));
    }
    let set = (!name.is_empty()).then(|| format!("run.name=\"{name}\""));
    let sets = Vec::from_iter(set);
    let text = ScenarioText::new(Path::new(&draft.file), &draft.text, &sets);
    if dashboard.control.allow_commands {
        return Scenario::parse(&text).map_err(|error| error.to_string());
    }
    let named = named(&listed);
    let may_read = |written: &str| named.contains(&meant(text.file, written));
    Scenario::parse_confined(&text, Some(&may_read)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_told_by_its_tables_and_introduced_by_its_first_comment() {
        let text =
            "# One site.\n# With brokers.\n#\n#   gridrig run x\n\n[[workload]]\ntrace = \"x\"\n";
        assert!(is_scenario(text));
        assert!(!is_scenario("[package]\nname = \"workload\"\n"));
        assert_eq!(about(text), "One site. With brokers.");
        assert_eq!(about("[run]"), "");
    }
}
