//! The first hour of an operator, as the pages tell it.

use crate::command::{
    expect_code, expect_part, expect_refused, expect_stdout, json, ok, run, stderr, stdout,
};
use std::path::Path;
use tempfile::TempDir;

/// A log of jobs `(submit, run time, processors)`.
fn log(dir: &Path, name: &str, jobs: impl Iterator<Item = (u64, u64, u32)>) -> String {
    let line = |(number, (submit, run_time, processors)): (usize, (u64, u64, u32))| {
        let (id, requested) = (number + 1, 2 * run_time);
        format!(
            "{id} {submit} -1 {run_time} {processors} -1 -1 {processors} {requested} -1 1 1 1 1 1 \
             -1 -1 -1\n"
        )
    };
    let text: String = jobs.enumerate().map(line).collect();
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn two_logs_become_a_scenario_that_says_whether_to_federate() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    // A cluster with more work than it has processors for, and one with less.
    let busy = log(
        dir.path(),
        "Alpha site.swf",
        (0..60).map(|i| (100 * i, 600, 3)),
    );
    let idle = log(dir.path(), "beta.swf", (0..20).map(|i| (300 * i, 60, 1)));
    let (file, out) = (at("federation.toml"), at("runs"));
    let (busy, idle) = (format!("{busy}:8"), format!("{idle}:16"));
    let words = ["init", &file, "--from", &busy, "--from", &idle];
    expect_code(&run(&words), 0);
    expect_code(&run(&words), 2);
    expect_code(&run(&["check", &file]), 0);
    let ran = ok(run(&["run", &file, "--out", &out]));
    let answer = stdout(&ran).replace('\n', " ");
    assert!(answer.starts_with("Federating: with "), "{answer}");
    assert!(
        answer.contains("Better off in mean delay: alpha-site ("),
        "{answer}"
    );
    let document = json(&run(&["compare", &out, "--json"]));
    let federation = &document["federation"];
    assert!(federation["value"].as_f64() < federation["local_value"].as_f64());
    assert_eq!(federation["paired"]["n"], 10);
    let first = federation["text"].as_str().unwrap();
    assert!(answer.starts_with(first), "{answer}");
    let page = at("report.html");
    expect_code(&run(&["report", &out, "--out", &page]), 0);
    assert!(
        std::fs::read_to_string(&page)
            .unwrap()
            .contains("Federating: with ")
    );
}

#[test]
fn a_log_that_does_not_say_its_processors_is_asked_for_them() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let own = log(dir.path(), "own.swf", (0..3).map(|i| (i, 10, 1)));
    let file = at("s.toml");
    expect_refused(
        &run(&["init", &file, "--from", &own]),
        "own.swf: its header has no MaxProcs",
    );
    let refused = run(&["init", &file, "--from", &format!("{own}:none")]);
    expect_code(&refused, 2);
    expect_code(&run(&["init", &file, "--from", &at("no.swf:8")]), 2);
    assert!(!Path::new(&file).exists());
    // A single log gets a peer.
    expect_code(&run(&["init", &file, "--from", &format!("{own}:4")]), 0);
    let checked = ok(run(&["check", &file]));
    expect_stdout(&checked, "peer-1");
}

#[test]
fn seeds_that_would_change_nothing_are_refused_before_they_are_run() {
    let seeds = "run.replicate={ over = \"seed\", count = 5 }";
    let scenario = "resources/scenarios/two-sites.toml";
    for command in ["check", "run"] {
        let refused = run(&[command, scenario, "--set", seeds]);
        expect_code(&refused, 2);
        let said = stderr(&refused);
        expect_part(&said, "expected something that depends on the seed");
        assert!(said.contains("over = \"shake\""), "{said}");
    }
    for depends in ["run.policies=[\"random\"]", "run.tie=random"] {
        let words = ["check", scenario, "--set", seeds, "--set", depends];
        expect_code(&run(&words), 0);
    }
}
