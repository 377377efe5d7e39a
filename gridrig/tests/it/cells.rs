//! `gridrig run --cell k/n`: one policy on one replication, by itself.

use crate::command::{
    Bench, JOBS, PAIR, expect_code, expect_part, expect_refused, expect_stderr, json, ok, run,
    stderr, stdout,
};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A study with everything that may differ between cells: two replications of
/// four policies, two of them bounds, and of one pooled cluster.
fn study() -> Bench {
    let scenario = PAIR
        .replace("bounds = false", "bounds = true")
        .replace("free-node", "random");
    let replicate =
        "tie = \"random\"\nreplicate = { over = \"shake\", step = \"20s\", count = 2 }\n";
    Bench::new(&format!("{scenario}{replicate}"), &JOBS)
}

/// The files below a folder by their paths in it, without what manifests say
/// of host and date.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let below = files(&path).into_iter();
            found.extend(below.map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
            continue;
        }
        let mut bytes = fs::read(&path).unwrap();
        if name == "manifest.json" {
            let mut manifest: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            manifest.as_object_mut().unwrap().shift_remove("host");
            bytes = manifest.to_string().into_bytes();
        }
        found.insert(name, bytes);
    }
    found
}

#[test]
fn every_cell_run_alone_writes_the_bytes_that_it_writes_among_the_others() {
    let bench = study();
    expect_code(&bench.run(&[]), 0);
    let among = files(Path::new(&bench.path("runs")));
    let (scenario, alone) = (bench.path("s.toml"), bench.path("alone"));
    // Backwards: no cell finds what the ones before it have left.
    for number in (1..=10).rev() {
        let cell = format!("{number}/10");
        expect_code(
            &run(&["run", &scenario, "--cell", &cell, "--out", &alone]),
            0,
        );
        let manifests = files(Path::new(&alone)).into_keys();
        let runs = manifests.filter(|file| file.ends_with("manifest.json"));
        assert_eq!(runs.count(), 11 - number, "one run is one more directory");
    }
    let alone = files(Path::new(&alone));
    assert!(among.keys().eq(alone.keys()), "{:?}", alone.keys());
    for (file, bytes) in &among {
        assert!(alone[file] == *bytes, "{file} differs");
    }
    assert!(among.contains_key("s-1/pooled/r001/jobs.parquet"));
}

#[test]
fn cells_are_numbered_with_the_policies_innermost() {
    let bench = study();
    expect_code(&bench.run(&["--cell", "2/10"]), 0);
    expect_code(&bench.run(&["--cell", "6/10"]), 0);
    for run in ["random/r000", "round-robin/r001"] {
        let manifest = bench.path(&format!("runs/s-1/{run}/manifest.json"));
        assert!(Path::new(&manifest).exists(), "{manifest}");
    }
}

#[test]
fn a_number_of_cells_that_is_wrong_is_answered_with_the_right_one() {
    let bench = study();
    expect_refused(&bench.run(&["--cell", "1/9"]), "10 cells");
    assert!(!Path::new(&bench.path("runs")).exists());
    expect_code(&bench.run(&["--cell", "11/10"]), 2);
}

#[test]
fn cells_side_by_side_write_the_bytes_that_they_write_one_after_another() {
    let bench = study();
    expect_code(&bench.run(&[]), 0);
    let (scenario, beside) = (bench.path("s.toml"), bench.path("beside"));
    let ran = ok(run(&["run", &scenario, "-j", "3", "--out", &beside]));
    let said = stderr(&ran);
    expect_part(&said, "s: 10 runs in virtual time, 3 at a time");
    assert!(said.contains("10 of 10: pooled r001: "), "{said}");
    let (one, other) = (
        files(Path::new(&bench.path("runs"))),
        files(Path::new(&beside)),
    );
    assert!(one.keys().eq(other.keys()), "{:?}", other.keys());
    for (file, bytes) in &one {
        assert!(other[file] == *bytes, "{file} differs");
    }
    // The clock of real time is the same for all.
    expect_refused(&bench.run(&["-j", "2", "--clock", "real"]), "--jobs");
}

#[test]
fn runs_of_other_settings_go_to_the_next_folder() {
    let bench = study();
    let there = |folder: &str| Path::new(&bench.path("runs")).join(folder).is_dir();
    let first = ok(bench.run(&[]));
    let said = "s-1 has other settings";
    assert!(!stderr(&first).contains(said), "{}", stderr(&first));
    let other = ["--set", "run.tie=local"];
    let second = ok(bench.run(&other));
    assert!(there("s-1") && there("s-1-2"));
    let line = format!("{said} (run.tie: random, here local): this run goes to ");
    let told = stderr(&second);
    let told: Vec<&str> = told.lines().filter(|it| it.contains(&line)).collect();
    assert!(
        told.len() == 1 && told[0].ends_with("/s-1-2"),
        "{}",
        stderr(&second)
    );
    let interval = ["--set", "domain.a.broker.interval=7s"];
    let checked = bench.run(&[&interval[..], &["--set", "run.tie=local", "--no-out"]].concat());
    assert!(!stderr(&checked).contains(said), "{}", stderr(&checked));
    // The same ones again are the same runs.
    expect_code(&bench.run(&other), 0);
    expect_code(&bench.run(&[]), 0);
    assert!(!there("s-1-3"));
    let third = [
        "domain.a.broker.exchange=7s",
        "domain.b.broker.exchange=7s",
        "domain.b.broker.max_hops=2",
        "run.tie=first",
    ];
    let third: Vec<&str> = third.into_iter().flat_map(|it| ["--set", it]).collect();
    let third = ok(bench.run(&third));
    assert!(there("s-1-3"));
    let told = "(domain.a.broker.exchange: 15s, here 7s; domain.b.broker.exchange: 15s, here 7s; \
                domain.b.broker.max_hops: 1, here 2; and 2 more): this run goes to ";
    expect_stderr(&third, told);
    let before = files(Path::new(&bench.path("runs/s-1-2")));
    expect_code(&bench.run(&["--set", "run.tie=first", "--force"]), 0);
    assert!(!there("s-1-4"), "overwritten");
    assert_eq!(before, files(Path::new(&bench.path("runs/s-1-2"))));
}

#[test]
fn runs_that_are_there_are_read_and_only_what_is_missing_is_run() {
    let bench = study();
    let whole = ok(bench.run(&["--json"]));
    let runs = bench.dir.path().join("runs");
    let before = files(&runs);
    let policies: Vec<_> = fs::read_dir(runs.join("s-1")).unwrap().collect();
    let missing = policies[0].as_ref().unwrap().path().join("r000");
    fs::remove_dir_all(&missing).unwrap();
    let again = ok(bench.run(&["--json"]));
    assert_eq!(stdout(&again), stdout(&whole));
    let there = stderr(&again).matches("from an earlier run").count();
    let of = json(&whole)["runs"].as_array().unwrap().len();
    assert_eq!(there, of - 1, "{}", stderr(&again));
    // Nothing of it was written but what was missing, and that as before.
    assert_eq!(files(&runs), before);
    let forced = bench.run(&["--json", "--force"]);
    assert!(!stderr(&forced).contains("from an earlier run"));
}
