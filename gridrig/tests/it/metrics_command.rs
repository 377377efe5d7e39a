//! The table of metrics, and what is made from it: documentation, dashboards,
//! the setup of Prometheus.

use crate::command::{expect_code, expect_refused, json, root, run, split, stderr, stdout};
use crate::need;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The files that the command writes, by name.
fn written() -> BTreeMap<String, String> {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("monitoring");
    expect_code(
        &run(&["metrics", "--out", &folder.display().to_string()]),
        0,
    );
    let mut files = BTreeMap::new();
    collect(&folder, &folder, &mut files);
    files
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            files.insert(name, std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The dashboards as they ship, by name.
pub fn dashboards() -> BTreeMap<String, Value> {
    let folder = root().join("resources/grafana/dashboards");
    let mut files = BTreeMap::new();
    collect(&folder, &folder, &mut files);
    assert_eq!(files.len(), 3, "{files:?}");
    let read = |(name, text): (String, String)| (name, serde_json::from_str(&text).unwrap());
    files.into_iter().map(read).collect()
}

/// Every query of a dashboard with the title of its panel.
pub fn queries(dashboard: &Value) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap();
        for target in panel["targets"].as_array().unwrap() {
            all.push((
                title.to_owned(),
                target["expr"].as_str().unwrap().to_owned(),
            ));
        }
    }
    all
}

#[test]
fn what_ships_for_grafana_and_prometheus_is_what_the_command_writes() {
    let folder = root().join("resources/grafana");
    let mut shipped = BTreeMap::new();
    collect(&folder, &folder, &mut shipped);
    let written = written();
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&shipped), names(&written));
    for (name, text) in &written {
        assert!(
            shipped[name] == *text,
            "{name}: expected what `gridrig metrics --out resources/grafana --force` writes"
        );
    }
}

#[test]
fn the_documentation_has_the_table_of_the_program() {
    let page = std::fs::read_to_string(root().join("docs/metrics.md")).unwrap();
    let table = stdout(&run(&["metrics"]));
    assert!(
        page.contains(table.trim()),
        "docs/metrics.md: expected the text of `gridrig metrics`:\n{table}"
    );
}

#[test]
fn files_that_are_there_are_not_overwritten_unasked() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().display().to_string();
    expect_code(&run(&["metrics", "--out", &folder]), 0);
    expect_refused(&run(&["metrics", "--out", &folder]), "--force");
    expect_code(&run(&["metrics", "--out", &folder, "--force"]), 0);
}

#[test]
fn panels_lie_side_by_side_within_the_grid() {
    for (name, dashboard) in dashboards() {
        assert_eq!(dashboard["schemaVersion"], 39, "{name}");
        let mut ids = BTreeSet::new();
        let mut taken = BTreeSet::new();
        for panel in dashboard["panels"].as_array().unwrap() {
            let title = &panel["title"];
            assert!(ids.insert(panel["id"].as_u64().unwrap()), "{name}: {title}");
            let place = |side: &str| panel["gridPos"][side].as_u64().unwrap();
            let (x, y, w, h) = (place("x"), place("y"), place("w"), place("h"));
            assert!(w > 0 && h > 0 && x + w <= 24, "{name}: {title}");
            for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
                assert!(taken.insert(cell), "{name}: {title} covers {cell:?}");
            }
            assert_eq!(
                panel["datasource"]["uid"], "${datasource}",
                "{name}: {title}"
            );
            assert!(!panel["description"].as_str().unwrap().is_empty());
        }
    }
}

/// The rules of Grafana's own schema of the classic model
/// (`kinds/dashboard/dashboard_kind.cue` in its repository), as far as they
/// are about what these dashboards use. Grafana itself is in no test.
#[test]
fn dashboards_keep_the_rules_of_grafanas_classic_model() {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let one_of = |value: &Value, known: &[&str], what: &str| {
        let found = value.as_str().is_some_and(|value| known.contains(&value));
        assert!(found, "{what}: {value}, expected one of {known:?}");
    };
    for (name, dashboard) in dashboards() {
        let uid = text(&dashboard["uid"]).unwrap();
        assert!((8..=40).contains(&uid.len()), "{name}: {uid}");
        assert!(
            dashboard["graphTooltip"]
                .as_u64()
                .is_some_and(|mode| mode <= 2)
        );
        for key in ["title", "description", "timezone", "refresh"] {
            assert!(text(&dashboard[key]).is_some(), "{name}: {key}");
        }
        for key in ["from", "to"] {
            assert!(
                text(&dashboard["time"][key]).is_some(),
                "{name}: time.{key}"
            );
        }
        for link in dashboard["links"].as_array().unwrap() {
            one_of(&link["type"], &["link", "dashboards"], &name);
            for key in ["title", "icon", "tooltip", "url"] {
                assert!(text(&link[key]).is_some(), "{name}: links.{key}");
            }
            for key in ["asDropdown", "targetBlank", "includeVars", "keepTime"] {
                assert!(link[key].is_boolean(), "{name}: links.{key}");
            }
        }
        for variable in dashboard["templating"]["list"].as_array().unwrap() {
            one_of(&variable["type"], &["query", "datasource"], &name);
            assert!(variable["hide"].as_u64().is_some_and(|hide| hide <= 2));
            let query = &variable["query"];
            assert!(query.is_string() || query.is_object(), "{name}: {query}");
        }
        for panel in dashboard["panels"].as_array().unwrap() {
            let what = format!("{name}: {}", panel["title"]);
            one_of(
                &panel["type"],
                &["stat", "gauge", "timeseries", "table"],
                &what,
            );
            assert!(panel["fieldConfig"]["defaults"].is_object(), "{what}");
            assert!(panel["fieldConfig"]["overrides"].is_array(), "{what}");
            assert!(panel["options"].is_object(), "{what}");
            let targets = panel["targets"].as_array().unwrap();
            let ids: BTreeSet<_> = targets.iter().map(|t| text(&t["refId"]).unwrap()).collect();
            assert_eq!(ids.len(), targets.len(), "{what}");
            for target in targets {
                one_of(
                    &target["format"],
                    &["time_series", "table", "heatmap"],
                    &what,
                );
                assert_ne!(target["instant"], target["range"], "{what}");
            }
            for step in panel["transformations"].as_array().into_iter().flatten() {
                assert!(
                    text(&step["id"]).is_some() && step["options"].is_object(),
                    "{what}"
                );
            }
        }
    }
}

/// Reads dashboards into Grafana's own types, writes them again, and prints
/// what is not as it was.
const THROUGH_GRAFANA: &str = r#"
import json, pathlib, sys
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

def differs(a, b, path):
    if isinstance(a, dict) and isinstance(b, dict):
        for key in a:
            yield from differs(a[key], b[key], f"{path}.{key}") if key in b else [f"{path}.{key}"]
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for index, (x, y) in enumerate(zip(a, b)):
            yield from differs(x, y, f"{path}[{index}]")
    elif a != b:
        yield f"{path}: {a!r} became {b!r}"

register_default_plugins()
for name in sys.argv[1:]:
    own = json.loads(pathlib.Path(name).read_text())
    read = Dashboard.from_json(own)
    for panel in read.panels:
        # Where a type of panel or query is unknown, its JSON is kept as it is.
        assert not isinstance(panel.options, dict), panel.title
        assert not any(isinstance(target, dict) for target in panel.targets), panel.title
    written = json.loads(JSONEncoder().encode(read))
    print(f"{name}: {len(read.panels)} panels")
    for line in differs(own, written, ""):
        print("differs", line)
"#;

/// A field that Grafana's types do not have would be lost on the way.
#[test]
fn dashboards_pass_through_grafanas_own_types_unchanged() {
    let Some(python) = need::grafana_types("dashboards_pass_through_grafanas_own_types_unchanged")
    else {
        return;
    };
    let folder = root().join("resources/grafana/dashboards");
    let names = ["overview", "cluster", "brokers"];
    let files = names.map(|name| folder.join(format!("{name}.json")));
    let out = std::process::Command::new(python)
        .args(["-c", THROUGH_GRAFANA])
        .args(&files)
        .output()
        .unwrap();
    let said = String::from_utf8(out.stdout).unwrap();
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{errors}");
    assert_eq!(said.matches(" panels").count(), 3, "{said}");
    // Grafana itself writes this field of variables, and leaves it out of its
    // types.
    let differs = said.lines().filter(|line| line.starts_with("differs"));
    let told: Vec<&str> = differs
        .filter(|line| !line.ends_with(".definition"))
        .collect();
    assert!(told.is_empty(), "{told:#?}");
}

#[test]
fn every_dashboard_can_be_narrowed_by_run_policy_domain_and_cluster() {
    for (name, dashboard) in dashboards() {
        let list = dashboard["templating"]["list"].as_array().unwrap();
        let names: Vec<&str> = list.iter().map(|v| v["name"].as_str().unwrap()).collect();
        let expected = ["datasource", "run", "policy", "domain", "cluster"];
        assert_eq!(names, expected, "{name}");
    }
}

/// Words of a query that are no text in quotes, with what follows each.
fn words(query: &str) -> Vec<(String, char)> {
    let mut words = Vec::new();
    for (index, part) in query.split('"').enumerate() {
        if index % 2 == 1 {
            continue;
        }
        let mut word = String::new();
        for sign in part.chars().chain([' ']) {
            if sign.is_ascii_alphanumeric() || sign == '_' {
                word.push(sign);
            } else if !word.is_empty() {
                words.push((std::mem::take(&mut word), sign));
            }
        }
    }
    words
}

#[test]
fn queries_name_metrics_and_labels_that_there_are() {
    let table = json(&run(&["metrics", "--json"]));
    let strings = |value: &Value| -> Vec<String> {
        let all = value.as_array().unwrap().iter();
        all.map(|one| one.as_str().unwrap().to_owned()).collect()
    };
    let service_labels = table["service_labels"].as_object().unwrap().keys().cloned();
    let mut labels: BTreeSet<String> = service_labels.collect();
    labels.extend(["le".to_owned(), "instance".to_owned()]);
    let mut series = BTreeSet::new();
    for metric in table["metrics"].as_array().unwrap() {
        series.extend(strings(&metric["series"]));
        labels.extend(strings(&metric["labels"]));
    }
    let functions = split("sum max count by rate histogram_quantile on group_left __rate_interval");
    let mut used = BTreeSet::new();
    for (name, dashboard) in dashboards() {
        for (panel, query) in queries(&dashboard) {
            for (word, next) in words(&query) {
                let number = word.chars().all(|c| c.is_ascii_digit());
                let known = series.contains(&word)
                    || labels.contains(&word)
                    || functions.contains(&&*word)
                    || number;
                assert!(known, "{name}: {panel}: {word}: {query}");
                assert!(
                    next != '{' || series.contains(&word),
                    "{name}: {panel}: {word} is no series: {query}"
                );
                used.insert(word);
            }
        }
    }
    // Whatever is measured is also shown somewhere.
    for metric in table["metrics"].as_array().unwrap() {
        let shown = strings(&metric["series"]).iter().any(|s| used.contains(s));
        assert!(shown, "no panel shows {}", metric["name"]);
    }
}

#[test]
fn a_label_that_will_not_do_is_refused_before_anything_starts() {
    for (label, said) in [
        ("site", "has no ="),
        ("job=7", "is taken"),
        ("1=x", "is no name of a label"),
    ] {
        let output = run(&["emulator", "--processors", "1", "--label", label]);
        expect_code(&output, 2);
        let text = stderr(&output);
        assert!(text.contains("--label") && text.contains(said), "{text}");
        assert!(stdout(&output).is_empty());
    }
    let output = run(&split(
        "run resources/scenarios/two-sites.toml --no-out --label site=x",
    ));
    expect_refused(&output, "--clock real");
    let file = tempfile::NamedTempFile::new().unwrap();
    let folder = file.path().join("below").display().to_string();
    expect_refused(
        &run(&["emulator", "--processors", "1", "--targets", &folder]),
        "--targets",
    );
}
