//! Studies against real programs, in short.

use crate::command::{expect_code, json, run, stderr};
use crate::need;

#[test]
fn a_short_study_of_slurm_compares_every_job_and_writes_its_report() {
    if need::slurm("a_short_study_of_slurm_compares_every_job").is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("study").display().to_string();
    let words = [
        "reproduce",
        "slurm-fidelity",
        "--jobs",
        "12",
        "--processors",
        "8",
    ];
    // How far below the bound it stays says how quick the machine is. A job that
    // waits for the end of another where it should not misses it: the longest
    // lasts 26 s.
    let more = ["--load", "2", "--bound", "20", "--out", &out];
    let all: Vec<&str> = words.iter().chain(&more).copied().collect();
    let study = run(&[all.as_slice(), &["--json"]].concat());
    expect_code(&study, 0);
    let document = json(&study);
    assert!(document["slurm"].as_str().unwrap().contains('.'));
    let builtin = &document["builtin"];
    assert_eq!(
        (builtin["jobs"].as_u64(), builtin["others"].as_u64()),
        (Some(12), Some(0))
    );
    assert!(builtin["slurm_wait_s"]["max"].as_f64() > Some(0.0));
    assert!(builtin["model_wait_s"]["max"].as_f64() > Some(0.0));
    assert_eq!(builtin["start_difference_s"]["n"], 12);
    // What Slurm adds to a run is no gift.
    assert!(
        builtin["overhead_s"]["min"].as_f64() > Some(0.0),
        "{builtin}"
    );
    let backfill = &document["backfill"];
    assert_eq!(backfill["jobs"], 12);
    let sides = backfill["sides"].as_array().unwrap();
    let names: Vec<&str> = sides
        .iter()
        .filter_map(|side| side["discipline"].as_str())
        .collect();
    let wanted = [
        "slurm-backfill",
        "easy-backfill",
        "conservative-backfill",
        "fcfs",
    ];
    assert_eq!(names, wanted);
    for name in [
        "report.md",
        "study.json",
        "jobs-builtin.csv",
        "jobs-backfill.csv",
    ] {
        assert!(dir.path().join("study").join(name).is_file(), "{name}");
    }
    let rows = std::fs::read_to_string(dir.path().join("study/jobs-builtin.csv")).unwrap();
    assert_eq!(rows.lines().count(), 13);
    let again = run(&all);
    expect_code(&again, 2);
    assert!(stderr(&again).contains("there is a study already"));
}

#[test]
fn a_study_that_makes_no_sense_is_refused() {
    let none = run(&["reproduce", "slurm-fidelity", "--load", "0"]);
    expect_code(&none, 2);
    assert!(stderr(&none).contains("--load 0: expected a number above 0"));
    let few = run(&["reproduce", "slurm-fidelity", "--jobs", "3"]);
    expect_code(&few, 2);
}
