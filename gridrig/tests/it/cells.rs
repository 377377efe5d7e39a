//! `gridrig run --cell k/n`: one policy on one replication, by itself.

use crate::command::{Bench, JOBS, PAIR, expect_code, run, stderr};
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
    let output = bench.run(&["--cell", "1/9"]);
    expect_code(&output, 2);
    assert!(stderr(&output).contains("10 cells"), "{}", stderr(&output));
    assert!(!Path::new(&bench.path("runs")).exists());
    expect_code(&bench.run(&["--cell", "11/10"]), 2);
}
