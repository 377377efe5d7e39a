//! `gridrig twin` and `gridrig whatif`.

use crate::command::{expect_code, expect_part, json, ok, run, split, stderr, stdout};
use gridrig_core::discipline::DisciplineKind;
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const CTC: &str = "traces/ctc-like.swf.gz";
const GRID5000: &str = "traces/grid5000-like.swf.gz";

/// The log that a cluster of 180 processors writes under this discipline.
fn log_of(dir: &TempDir, discipline: &str) -> String {
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (scenario, runs) = (path("one.toml"), path(discipline));
    let trace = fs::canonicalize(crate::command::root().join(CTC)).unwrap();
    let text = format!(
        "[workload]\ntrace = {trace:?}\n[cluster]\nprocessors = 180\n\
         discipline = {discipline:?}\n[run]\nclock = \"virtual\"\n"
    );
    fs::write(&scenario, text).unwrap();
    expect_code(&run(&["run", &scenario, "--out", &runs]), 0);
    let log = path(&format!("{discipline}.swf"));
    let words = ["export", &runs, "--format", "swf", "--out", &log];
    expect_code(&run(&words), 0);
    log
}

fn twin_of(words: &[&str]) -> Value {
    json(&ok(run(&[&["twin", "--json"], words].concat())))
}

/// Exit 2 and a message that holds all of these.
fn refused(words: &[&str], expected: &[&str]) {
    let output = run(words);
    expect_code(&output, 2);
    let message = stderr(&output);
    for part in expected {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
    assert_eq!(stdout(&output), "");
}

/// Two jobs and what a header says of their clock.
fn small_log(dir: &Path, name: &str, header: &str) -> String {
    let path = dir.join(name).display().to_string();
    let job =
        |number, submit| format!("{number} {submit} 0 60 1 -1 -1 1 60 -1 1 1 1 1 1 1 -1 -1\n");
    let text = format!("; MaxProcs: 4\n{header}{}{}", job(1, 0), job(2, 86_400));
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_log_of_ours_is_reproduced_by_its_own_discipline_and_by_no_other() {
    let dir = tempfile::tempdir().unwrap();
    for own in DisciplineKind::ALL.iter().map(|kind| kind.name()) {
        let log = log_of(&dir, own);
        let twin = twin_of(&[&log]);
        assert_eq!(twin["grade"], "exact", "{own}: {}", twin["verdict"]);
        assert_eq!(twin["discipline"], own);
        assert_eq!(twin["processors"], 180);
        let fits = twin["fits"].as_array().unwrap();
        assert_eq!(fits.len(), DisciplineKind::ALL.len());
        assert_eq!(
            (&fits[0]["area_s"], &fits[0]["misfit"]),
            (&0.0.into(), &0.0.into())
        );
        assert_eq!(fits[0]["largest_job_error_s"], 0.0);
        for other in &fits[1..] {
            assert!(other["area_s"].as_f64().unwrap() > 60.0, "{own}: {other}");
        }
        let lacks = twin["not_modelled"].as_array().unwrap().iter();
        let lacks: Vec<&Value> = lacks.filter(|it| it["count"] != 0).collect();
        assert!(lacks.is_empty(), "{own}: {lacks:?}");
    }
    let log = dir.path().join("fcfs.swf").display().to_string();
    let other = twin_of(&[&log, "--discipline", "easy-backfill"]);
    assert_eq!(
        (&other["grade"], &other["best_of_halves"]),
        (&"poor".into(), &Value::Null)
    );
}

#[test]
fn twin_says_what_it_found_and_writes_both_waits_of_each_job() {
    let dir = tempfile::tempdir().unwrap();
    let log = log_of(&dir, "easy-backfill");
    let table = dir.path().join("waits.csv").display().to_string();
    let output = ok(run(&["twin", &log, "--out", &table]));
    let text = stdout(&output);
    for part in [
        "The twin is exact: under easy-backfill, the best of 6",
        "480 jobs compared of 480 in the model, on 180 processors (by the header)",
        "easy-backfill was chosen by the least misfit of 6 disciplines",
        "size    jobs  recorded mean",
        "and 49 users more, ",
        "looked for and not found: start-order, priorities",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let csv = fs::read_to_string(&table).unwrap();
    let mut lines = csv.lines();
    let head = "job,submit_s,processors,recorded_wait_s,simulated_wait_s";
    assert_eq!(lines.next(), Some(head));
    let waits = lines.map(|line| line.split(',').skip(3).map(str::to_owned).collect());
    let waits: Vec<Vec<String>> = waits.collect();
    assert_eq!(waits.len(), 480);
    assert!(waits.iter().all(|wait| wait[0] == wait[1]));
    assert!(waits.iter().any(|wait| wait[0] != "0"));
    refused(&["twin", &log, "--out", &table], &["exists already"]);
}

#[test]
fn twin_refuses_logs_that_it_cannot_judge() {
    refused(&["twin", "nowhere.swf"], &["nowhere.swf"]);
    refused(
        &["twin", CTC],
        &[CTC, "none of the 480 jobs", "recorded wait time (field 3)"],
    );
    let dir = tempfile::tempdir().unwrap();
    let log = small_log(dir.path(), "small.swf", "");
    refused(
        &["twin", &log, "--window", "0d,9d"],
        &[
            "small.swf",
            "window 0s,777600s",
            "last submission is at 86400s",
        ],
    );
    refused(&["twin", &log, "--discipline", "fifo"], &["fcfs"]);
}

#[test]
fn whatif_answers_for_two_shipped_traces_and_says_that_they_have_no_twins() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out").display().to_string();
    let (a, b) = (format!("{CTC}:180"), format!("{GRID5000}:220"));
    let line = format!("whatif {a} {b} --policy free-node --repeats 3 --out {out}");
    let words = split(&line);
    let output = ok(run(&words));
    let text = stdout(&output);
    for part in [
        "ctc-like: no twin",
        "warning: grid5000-like: its log has no recorded waits",
        "Federating: with free-node the mean delay is ",
        "Better off in mean delay: ctc-like",
        "Mean delay_s by origin domain",
        "Mean delay_s by user",
        "Worse off than under local-only",
        "next: gridrig compare ",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert!(!text.contains("Starvation"), "the rest is for compare");
    let again = ok(run(&[&words[..], &["--json"]].concat()));
    let again = json(&again);
    assert_eq!(again["schema"], "gridrig.whatif.1");
    assert_eq!(again["twins"], serde_json::json!([null, null]));
    assert_eq!(again["comparison"]["schema"], "gridrig.compare.1");
    assert_eq!(again["comparison"]["pairs"]["n"], 3);
    let refused_text = ["--repeats", "2", "--out", &out];
    refused(
        &[&["whatif", &a, &b][..], &refused_text].concat(),
        &["whatif.toml", "--force"],
    );
}

#[test]
fn whatif_takes_the_discipline_of_each_twin() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (log_of(&dir, "fcfs"), log_of(&dir, "conservative-backfill"));
    let out = dir.path().join("out").display().to_string();
    let line = format!("whatif {a} {b} --repeats 2 --align start --out {out}");
    let words = split(&line);
    let output = ok(run(&words));
    let text = stdout(&output);
    expect_part(&text, "fcfs: The twin is exact: under fcfs");
    assert!(!text.contains("what follows is about a model"), "{text}");
    let scenario = fs::read_to_string(dir.path().join("out/whatif.toml")).unwrap();
    expect_part(&scenario, "processors = 180, discipline = \"fcfs\"");
    expect_part(&scenario, "discipline = \"conservative-backfill\"");
    // Under a discipline that neither site had, both twins are bad, and that is said.
    let words = [
        &words[..],
        &["--force", "--discipline", "shortest-job-first"],
    ]
    .concat();
    let output = ok(run(&words));
    let text = stdout(&output);
    expect_part(&text, "warning: fcfs: what follows is about a model");
}

#[test]
fn whatif_refuses_logs_whose_clocks_disagree() {
    let dir = tempfile::tempdir().unwrap();
    let log = |name, header| small_log(dir.path(), name, header);
    let utc = log("utc.swf", "; UnixStartTime: 1000000000\n; TimeZone: 0\n");
    let later = log("later.swf", "; UnixStartTime: 1100000000\n; TimeZone: 0\n");
    let east = log(
        "east.swf",
        "; UnixStartTime: 1000000000\n; TimeZone: 36000\n",
    );
    let none = log("none.swf", "");
    let out = dir.path().join("out").display().to_string();
    let ask = |a: &str, b: &str, more: &[&str]| {
        let words = ["whatif", a, b, "--repeats", "1", "--out", &out, "--force"];
        [&words[..], more]
            .concat()
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    let refuse = |a: &str, b: &str, more: &[&str], expected: &[&str]| {
        let words = ask(a, b, more);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        refused(&words, expected);
    };
    let apart = [
        "the clocks disagree",
        "utc.swf ends on Mon 2001-09-10",
        "--align week",
    ];
    refuse(&utc, &later, &[], &apart);
    refuse(&utc, &later, &["--align", "clock"], &apart);
    refuse(
        &utc,
        &east,
        &[],
        &["time zones are", "UTC+10", "--align clock"],
    );
    refuse(
        &utc,
        &none,
        &[],
        &["none.swf: its header has no UnixStartTime"],
    );
    refuse(&utc, "nowhere.swf:4", &[], &["nowhere.swf"]);
    let window = ["--window", "0d,3d"];
    refuse(
        &utc,
        &utc,
        &window,
        &["expected a part of the 1.00 days that all logs cover"],
    );
    assert!(!Path::new(&out).exists(), "nothing has been written");
    for (a, b, how) in [
        (&utc, &later, "start"),
        (&utc, &east, "clock"),
        (&utc, &none, "start"),
    ] {
        let words = ask(a, b, &["--align", how]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        expect_code(&run(&words), 0);
    }
}
