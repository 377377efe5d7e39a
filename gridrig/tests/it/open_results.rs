//! Results in the tools of others: evalys, DuckDB and a notebook, executed.

use crate::command::{Bench, JOBS, PAIR, expect_code, json, root, run, stdout};
use crate::need;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Runs a script of Python and answers the document that it prints last.
fn python(python: &Path, script: &str, words: &[&str], dir: &Path) -> Value {
    let output = Command::new(python)
        .arg("-c")
        .arg(script)
        .args(words)
        .current_dir(dir)
        // Fonts and profiles go below the test's own directory.
        .env("HOME", dir)
        .env("MPLCONFIGDIR", dir)
        .env("IPYTHONDIR", dir.join("ipython"))
        .env("JUPYTER_CONFIG_DIR", dir.join("jupyter"))
        .env("JUPYTER_RUNTIME_DIR", dir.join("jupyter-runtime"))
        .env("GRIDRIG_RUNS", dir.join("runs"))
        .output()
        .expect("Python runs");
    expect_code(&output, 0);
    let text = stdout(&output);
    let last = text.lines().last().expect("a line");
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Five replications of two policies with their bounds, and what `gridrig compare` says of them.
fn study() -> (Bench, Value) {
    let scenario = format!("{PAIR}replicate = {{ over = \"broker-phase\", count = 5 }}\n")
        .replace("bounds = false", "bounds = true");
    let bench = Bench::ran(&scenario, &JOBS);
    let runs = bench.path("runs");
    let compared = run(&["compare", &runs, "--baseline", "round-robin", "--json"]);
    expect_code(&compared, 0);
    let document = json(&compared);
    (bench, document)
}

fn close(got: &Value, expected: &Value) {
    let (a, b) = (
        got.as_f64().expect("a number"),
        expected.as_f64().expect("a number"),
    );
    assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{got} {expected}");
}

/// Student's t within the interval that is adjusted for skewness, and not by far.
fn lies_within(ends: [&Value; 2], adjusted: &Value) {
    let [low, high] = ends.map(|end| end.as_f64().expect("a number"));
    let [from, to] = ["low", "high"].map(|end| adjusted[end].as_f64().expect("a number"));
    assert!(
        from <= low && low < high && high <= to,
        "{ends:?} {adjusted}"
    );
    assert!(to - from < 3.0 * (high - low), "{ends:?} {adjusted}");
}

const DRAW: &str = r#"
import json, sys
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
from evalys.jobset import JobSet
from evalys.visu.legacy import plot_gantt

jobs = JobSet.from_csv(sys.argv[1])
figure, axes = plt.subplots()
plot_gantt(jobs, axes)
figure.savefig("gantt.png")
boxes = [(p.get_x(), p.get_y(), p.get_width(), round(p.get_height() + 0.1)) for p in axes.patches]
print(json.dumps({"jobs": len(jobs.df), "bounds": list(jobs.res_bounds), "boxes": boxes}))
"#;

#[test]
fn evalys_draws_the_gantt_chart_of_the_batsim_export() {
    let Some(python3) = need::evalys("evalys_draws_the_gantt_chart_of_the_batsim_export") else {
        return;
    };
    let bench = Bench::ran(PAIR, &JOBS);
    let dir = bench.path("runs/s-1/free-node/r000");
    let out = bench.path("free-node_jobs.csv");
    expect_code(
        &run(&["export", &dir, "--format", "batsim", "--out", &out]),
        0,
    );
    let drawn = python(&python3, DRAW, &[&out], bench.dir.path());
    let png = std::fs::read(bench.path("gantt.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG") && png.len() > 5_000);
    assert_eq!(drawn["jobs"], JOBS.len());

    // Every job is drawn with all of its processors, from start to end.
    let boxes = drawn["boxes"].as_array().unwrap();
    let of = |one: &Value, at: usize| one[at].as_f64().unwrap();
    let area: f64 = boxes.iter().map(|one| of(one, 2) * of(one, 3)).sum();
    let work: f64 = JOBS
        .iter()
        .map(|(_, run, size)| *run as f64 * f64::from(*size))
        .sum();
    assert!((area - work).abs() < 1e-6, "{area} {work}");
    // And no two of them overlap.
    for (index, a) in boxes.iter().enumerate() {
        for b in &boxes[index + 1..] {
            let apart = |at: usize| {
                let (first, second) = if of(a, at) <= of(b, at) {
                    (a, b)
                } else {
                    (b, a)
                };
                of(first, at) + of(first, at + 2) <= of(second, at) + 1e-6
            };
            assert!(apart(0) || apart(1), "{a} {b}");
        }
    }
}

const EXECUTE: &str = r#"
import sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
pictures = [o for c in notebook.cells for o in c.get("outputs", []) if "image/png" in o.get("data", {})]
assert len(pictures) == 1, len(pictures)
last = [cell for cell in notebook.cells if cell.cell_type == "code"][-1]
print("".join(output.text for output in last.outputs).strip())
"#;

#[test]
fn the_notebook_gives_the_numbers_of_the_comparison() {
    let Some(python3) = need::evalys("the_notebook_gives_the_numbers_of_the_comparison") else {
        return;
    };
    let (bench, document) = study();
    let notebook = root()
        .canonicalize()
        .unwrap()
        .join("docs/notebook/compare.ipynb");
    let notebook = notebook.display().to_string();
    let found = python(&python3, EXECUTE, &[&notebook], bench.dir.path());
    let policies = document["policies"].as_array().unwrap();
    close(
        &found["baseline_value"],
        &policies[0]["metrics"]["delay_s"]["mean"]["value"],
    );
    let other = &policies[1]["metrics"]["delay_s"]["mean"];
    let own = &found["policies"][0];
    assert_eq!(own["policy"], policies[1]["name"]);
    for name in ["value", "difference", "ratio"] {
        close(&own[name], &other[name]);
    }
    lies_within([&own["low"], &own["high"]], &other["interval"]);
    assert_eq!(own["n"], other["n"]);
    assert_eq!(own["disagree"], other["disagree"]);
}

const QUERIES: &str = r#"
import json, re, sys
import duckdb

page = open(sys.argv[1]).read()
answers = []
for query in re.findall(r"```sql\n(.*?)```", page, re.S):
    asked = duckdb.sql(query)
    if asked is not None and not query.startswith("CREATE"):
        answers.append([dict(zip(asked.columns, row)) for row in asked.fetchall()])
print(json.dumps(answers))
"#;

#[test]
fn the_queries_of_the_duckdb_page_give_the_numbers_of_the_comparison() {
    let Some(python3) =
        need::evalys("the_queries_of_the_duckdb_page_give_the_numbers_of_the_comparison")
    else {
        return;
    };
    let (bench, document) = study();
    let page = root().canonicalize().unwrap().join("docs/duckdb.md");
    let page = page.display().to_string();
    let answers = python(&python3, QUERIES, &[&page], bench.dir.path());
    let [runs, figures, differences, forwarding, starving, series] =
        answers.as_array().unwrap().as_slice()
    else {
        panic!("{answers}");
    };
    assert_eq!(runs[1]["policy"], "round-robin");
    assert_eq!(runs[1]["runs"], 5);

    let compete = |policy: &Value| {
        ["round-robin", "free-node"]
            .iter()
            .any(|name| policy == name)
    };
    let runs = document["runs"].as_array().unwrap();
    for own in runs.iter().filter(|run| compete(&run["policy"])) {
        let mut all = figures.as_array().unwrap().iter();
        let found =
            all.find(|row| row["policy"] == own["policy"] && row["key"] == own["replication"]);
        let found = found.expect("a row");
        assert_eq!(found["jobs"], own["jobs"]);
        for statistic in ["mean", "p50", "p95", "p99"] {
            close(&found[statistic], &own["metrics"]["delay_s"][statistic]);
        }
    }
    let other = &document["policies"][1]["metrics"]["delay_s"]["mean"];
    close(&differences[0]["difference"], &other["difference"]);
    let ends = [&differences[0]["low"], &differences[0]["high"]];
    lies_within(ends, &other["interval"]);

    let policies = document["policies"].as_array().unwrap();
    let policies = || policies.iter().filter(|policy| compete(&policy["name"]));
    for policy in policies() {
        for cell in policy["forwarding"].as_array().unwrap() {
            let mut all = forwarding.as_array().unwrap().iter();
            let found = all.find(|row| {
                row["policy"] == policy["name"]
                    && row["origin_domain"] == cell["from"]
                    && row["exec_domain"] == cell["to"]
            });
            assert_eq!(found.expect("a row")["jobs"], cell["jobs"]);
        }
    }
    let worst = policies().map(|policy| policy["starvation"][0]["relative_wait"].as_f64().unwrap());
    close(
        &starving[0]["relative_wait"],
        &worst.fold(0.0, f64::max).into(),
    );
    assert_eq!(series.as_array().unwrap().len(), 4);
}
