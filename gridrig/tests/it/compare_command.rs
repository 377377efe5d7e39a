//! `gridrig compare`: from runs on the disk to a sentence.

use crate::command::{Bench, JOBS, PAIR, expect_code, json, ok, root, run, split, stderr, stdout};
use crate::need;
use serde_json::Value;
use std::process::Command;

/// The pair of sites, its brokers out of phase in five ways.
fn phases() -> Bench {
    let scenario = format!(
        "{PAIR}replicate = {{ over = \"broker-phase\", count = 5 }}\nprimary = [\"wait_s.p95\"]\n"
    );
    let bench = Bench::new(&scenario, &JOBS);
    let output = bench.run(&["--set=measure.tau=166.666666ms"]);
    expect_code(&output, 0);
    let text = stdout(&output);
    assert!(flowing(&text).contains("tau = 0.167 s"), "{text}");
    bench
}

/// The text without the ends of its lines.
fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_study_is_compared_as_text_markdown_and_json_with_one_sentence() {
    let bench = phases();
    let runs = bench.path("runs/s-1");
    let compare = |more: &[&str]| {
        let words = [
            &["compare", runs.as_str(), "--baseline", "round-robin"],
            more,
        ]
        .concat();
        let output = run(&words);
        expect_code(&output, 0);
        output
    };
    let document = json(&compare(&["--json"]));
    let sentence = document["verdict"]["text"].as_str().unwrap();
    assert_eq!(document["verdict"]["figure"], "wait_s.p95");
    assert_eq!(document["pairs"]["over"], "broker-phase");
    assert_eq!(document["pairs"]["n"], 5);
    assert_eq!(document["method"]["interval"], "skewness-adjusted t");
    assert_eq!(document["measured"]["jobs"], 30);
    assert_eq!(document["measured"]["tau"], "0.167 s");
    let text = stdout(&compare(&[]));
    assert!(flowing(&text).starts_with(sentence), "{text}\n{sentence}");
    for said in [
        "baseline: round-robin",
        "skewness-adjusted t of each value",
        "5 broker phases",
        "of one workload",
        "tau of the bounded slowdown is 0.167 s",
    ] {
        assert!(flowing(&text).contains(said), "{said}:\n{text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    let markdown = stdout(&compare(&["--markdown"]));
    assert!(markdown.starts_with("**"), "{markdown}");
    assert!(
        markdown.contains("| policy | value | 95 % interval | difference |"),
        "{markdown}"
    );
    // One replication's figures are those that `run --json` prints for it.
    let alone = json(&bench.run(&["--json", "--force"]));
    let shown = document["runs"][0]["metrics"]["wait_s"]["p95"].as_f64();
    assert_eq!(shown, alone["runs"][0]["wait_s"]["p95"].as_f64());
}

#[test]
fn a_threshold_that_is_missed_ends_with_99_and_is_marked() {
    let scenario = format!("{PAIR}require = [\"jobs.completed == 6\"]\n");
    let bench = Bench::new(&scenario, &JOBS);
    expect_code(&bench.run(&[]), 0);
    let runs = bench.path("runs");
    let kept = run(&["compare", &runs]);
    expect_code(&kept, 0);
    assert!(
        stdout(&kept).contains("jobs.completed == 6"),
        "{}",
        stdout(&kept)
    );
    assert!(stdout(&kept).contains('\u{2713}'));
    let missed = run(&["compare", &runs, "--require", "delay_s.max < 1"]);
    expect_code(&missed, 99);
    assert!(stdout(&missed).contains('\u{2717}'));
    let said = stderr(&missed);
    assert!(
        said.contains("delay_s.max < 1: missed by round-robin in 1 of 1 runs"),
        "{said}"
    );
}

#[test]
fn information_is_as_old_as_the_exchange_makes_it() {
    // Cycles at 0, 5, 10, ... s; samples at 0 and 15 s, there a millisecond
    // later. A job that comes at 12 s is decided at 15 s, on the sample of 0 s;
    // one at 16 s is decided at 20 s, on that of 15 s.
    let scenario = PAIR.replace("[run]", "[run]\ntie = \"first\"").replace(
        "name = \"a\"",
        "name = \"a\"\nbroker = { interval = \"5s\", exchange = \"15s\", phase = \"0s\" }",
    );
    let compared = |words: &[&str]| {
        let bench = Bench::new(&scenario, &[(0, 5, 1), (12, 5, 1), (16, 5, 1)]);
        expect_code(&bench.run(words), 0);
        json(&run(&["compare", &bench.path("runs"), "--json"]))
    };
    let document = compared(&[]);
    let policies = document["policies"].as_array().unwrap();
    assert!(
        policies[0]["load"]["information"].is_null(),
        "{}",
        policies[0]["load"]
    );
    let age = &policies[1]["load"]["information"];
    assert_eq!(policies[1]["name"], "free-node");
    // Time 0 of the run is the first submission, at which a cycle is due: the
    // first decision comes before any report.
    assert_eq!(
        (&age["decisions"], &age["before_first"]),
        (&3.into(), &1.into())
    );
    assert_eq!(age["mean_s"].as_f64(), Some(10.0));
    assert_eq!(age["max_s"].as_f64(), Some(15.0));
    // Decisions about jobs of the warm-up do not count.
    let document = compared(&["--set", "measure.from=13s"]);
    let age = &document["policies"][1]["load"]["information"];
    assert_eq!(
        (&age["decisions"], &age["before_first"]),
        (&1.into(), &0.into())
    );
    assert_eq!(age["mean_s"].as_f64(), Some(5.0));
}

#[test]
fn two_runs_can_be_named_one_by_one() {
    let bench = Bench::new(PAIR, &JOBS);
    expect_code(&bench.run(&[]), 0);
    let one = bench.path("runs/s-1/round-robin/r000");
    let other = bench.path("runs/s-1/free-node");
    let output = run(&["compare", &one, &other, "--baseline", "free-node"]);
    expect_code(&output, 0);
    let text = flowing(&stdout(&output));
    assert!(
        text.contains("there is one run of each policy, and no repeat"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_compared_is_bad_input_and_leaves_stdout_empty() {
    let bench = Bench::new(PAIR, &JOBS);
    expect_code(&bench.run(&[]), 0);
    let runs = bench.path("runs");
    let refused = |words: &[&str], expected: &str| {
        let output = run(&[&["compare", "--json"], words].concat());
        expect_code(&output, 2);
        assert_eq!(stdout(&output), "");
        let said = stderr(&output);
        assert!(said.contains(expected), "{expected}: {said}");
    };
    refused(
        &[&runs, "--baseline", "best"],
        "baseline \"best\": expected one of",
    );
    refused(
        &[&runs, "--primary", "delay"],
        "'delay' for '--primary <METRIC.STATISTIC>': it is not one of",
    );
    refused(
        &[&runs, "--require", "delay"],
        "expected a threshold such as",
    );
    refused(&[&format!("{runs}/s-1/free-node")], "are of free-node");
    refused(&[&bench.path("nowhere")], "nowhere");
    refused(&[&bench.path(".")[..], "--markdown"], "cannot be used with");
    let other = Bench::new(PAIR, &[(0, 10, 1), (5, 10, 2)]);
    expect_code(&other.run(&[]), 0);
    let (one, two) = (
        format!("{runs}/s-1/round-robin"),
        other.path("runs/s-1/free-node"),
    );
    refused(&[&one, &two], "not comparable: traces");
    let manifest = bench.path("runs/s-1/free-node/r000/manifest.json");
    std::fs::remove_file(manifest).unwrap();
    refused(&[&runs], "without manifest.json");
}

#[test]
fn regret_is_what_a_better_candidate_would_have_spared() {
    // Cycles at 0, 5, 10, ... s. The first job takes all of a1 from 0.001 s to
    // 30.001 s; the second, decided at 5 s, could start on b1 at once.
    let scenario = PAIR
        .replace("\"free-node\"]", "\"local-only\"]")
        .replace("[run]", "[run]\ntie = \"first\"")
        .replace("name = \"a\"", "name = \"a\"\nbroker = { phase = \"0s\" }");
    let bench = Bench::new(&scenario, &[(0, 30, 4), (1, 20, 2)]);
    let document = json(&bench.run(&["--json"]));
    let regret = |run: usize| document["runs"][run]["regret"].clone();
    let best = serde_json::json!({
        "decisions": 2, "weighed": 2, "best_share": 1.0,
        "mean_s": 0.0, "p95_s": 0.0, "max_s": 0.0,
    });
    assert_eq!(regret(0), best);
    let local = regret(1);
    assert_eq!(local["best_share"], 0.5);
    assert_eq!(local["mean_s"].as_f64(), Some(12.5005));
    assert_eq!(local["max_s"].as_f64(), Some(25.001));
    let compared = json(&run(&["compare", &bench.path("runs"), "--json"]));
    assert_eq!(compared["policies"][1]["name"], "local-only");
    assert_eq!(compared["policies"][1]["load"]["regret"], local);
    let text = stdout(&run(&["compare", &bench.path("runs")]));
    assert!(text.contains("Decisions: what brokers knew"), "{text}");
}

#[test]
fn a_job_on_its_way_is_part_of_the_truth() {
    // Both are decided at 0 s, before the first is queued anywhere.
    let scenario = PAIR
        .replace("\"free-node\"]", "\"local-only\"]")
        .replace("name = \"a\"", "name = \"a\"\nbroker = { phase = \"0s\" }");
    let bench = Bench::new(&scenario, &[(0, 30, 4), (0, 20, 4)]);
    let document = json(&bench.run(&["--json"]));
    assert_eq!(document["runs"][1]["regret"]["max_s"].as_f64(), Some(30.0));
    // It can be left out, and then nothing is said of it.
    let without = bench.run(&["--json", "--force", "--set", "measure.regret=false"]);
    assert!(json(&without)["runs"][1]["regret"].is_null());
    let text = stdout(&run(&["compare", &bench.path("runs")]));
    assert!(!text.contains("regret"), "{text}");
    // Without brokers nobody decides anything.
    let alone = Bench::new(crate::command::ALONE, &JOBS);
    let document = json(&alone.run(&["--json"]));
    assert!(document["runs"][0]["regret"].is_null());
}

#[test]
fn what_run_compare_and_check_print_is_what_their_schemas_say() {
    let name = "what_run_compare_and_check_print_is_what_their_schemas_say";
    let Some(python) = need::jsonschema(name) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let scenario = root().join("resources/scenarios/two-sites.toml");
    let (scenario, out) = (scenario.to_str().unwrap(), dir.path().to_str().unwrap());
    let window = "workload.window={start=\"0s\",length=\"30min\"}";
    let ran = ["run", scenario, "--json", "--out", out, "--set", window];
    let runs = dir.path().join("two-sites-1");
    let compared = ["compare", runs.to_str().unwrap(), "--json"];
    let checked = ["check", scenario, "--json", "--set", window];
    let policy = "/runs/0/policy";
    for (kind, command, at) in [
        ("run", &ran[..], policy),
        ("compare", &compared, policy),
        ("check", &checked, "/jobs"),
    ] {
        let output = run(command);
        expect_code(&output, 0);
        let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(document["schema"], format!("gridrig.{kind}.1"));
        let schema: Value = serde_json::from_str(&stdout(&run(&["schema", kind]))).unwrap();
        let holds = |document: &Value| {
            let file = dir.path().join("both.json");
            std::fs::write(&file, serde_json::json!([schema, document]).to_string()).unwrap();
            let check = "import json, sys, jsonschema as j; s, d = json.load(open(sys.argv[1])); \
                         j.Draft202012Validator.check_schema(s); j.Draft202012Validator(s).validate(d)";
            let held = Command::new(&python)
                .args(["-c", check])
                .arg(&file)
                .output();
            let held = held.unwrap();
            (
                held.status.success(),
                String::from_utf8(held.stderr).unwrap(),
            )
        };
        let (held, why) = holds(&document);
        assert!(held, "{kind}: {why}");
        // And it is a schema that says something.
        let mut other = document.clone();
        other["schema"] = "another".into();
        assert!(!holds(&other).0, "{kind}");
        let mut other = document;
        *other.pointer_mut(at).unwrap() = true.into();
        assert!(!holds(&other).0, "{kind}");
    }
}

#[test]
fn every_document_begins_with_the_name_of_its_schema() {
    let bench = Bench::ran(PAIR, &JOBS);
    let (scenario, runs) = (bench.path("s.toml"), bench.path("runs"));
    let (page, tables) = (bench.path("report.html"), bench.path("tables"));
    let dir = format!("{runs}/s-1/free-node/r000");
    for (words, name) in [
        (format!("run {scenario} --out {runs}"), "run"),
        (format!("check {scenario}"), "check"),
        (format!("compare {runs}"), "compare"),
        (format!("audit {dir}"), "audit"),
        (format!("explain {dir} 0"), "explain"),
        (format!("report {runs} --out {page}"), "report"),
        (
            format!("export {runs} --format csv --out {tables}"),
            "export",
        ),
        ("metrics".to_owned(), "metrics"),
        ("trace info traces/ctc-like.swf.gz".to_owned(), "trace-info"),
    ] {
        let document = json(&ok(run(&split(&format!("{words} --json")))));
        let (first, value) = document.as_object().unwrap().iter().next().unwrap();
        assert_eq!(first, "schema", "{words}");
        assert_eq!(*value, format!("gridrig.{name}.1"), "{words}");
    }
}
