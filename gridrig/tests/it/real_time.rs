//! The two clocks: what real services do, against what virtual time says.

use crate::command::{Bench, PAIR, expect_code, gridrig, json, stderr};
use gridrig_results::rundir;
use std::path::Path;
use std::process::Stdio;

/// A small burst: eight jobs that fill both sites within two cycles, and some
/// after it. Submissions and completions lie a second or more from the instants
/// of cycles (run times are 1 modulo 5), so that the order of things does not
/// hang on milliseconds; the first comes when everybody has long been there.
const BURST: [(u64, i64, u32); 12] = [
    (46, 41, 3),
    (46, 31, 3),
    (47, 26, 2),
    (47, 21, 4),
    (48, 31, 3),
    (51, 16, 2),
    (52, 36, 3),
    (53, 11, 1),
    (66, 21, 2),
    (67, 11, 4),
    (78, 11, 2),
    (86, 6, 1),
];

/// One real run at a time in this binary: they share two processors.
pub fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Without a window, time 0 of a run is its first submission.
const FROM_THE_LOG_S_TIME_0: &str = "--set=workload.window={ start = \"0s\", length = \"1h\" }";

/// Tries of a comparison: a machine that stands still for a moment is not what
/// is tested, and a difference between the clocks would show in each.
const TRIES: usize = 3;

/// For each policy: mean delay, and the cluster of every job.
fn runs(bench: &Bench, words: &[&str]) -> Vec<(f64, Vec<String>)> {
    let output = bench.run(words);
    expect_code(&output, 0);
    let document = json(&output);
    let runs = document["runs"].as_array().unwrap().iter().map(|run| {
        let policy = run["policy"].as_str().unwrap();
        let dir = bench.path(&format!("runs/s-1/{policy}/r000"));
        let read = rundir::read(Path::new(&dir)).unwrap();
        let mut sites = vec![String::new(); read.submissions.len()];
        for (_, event) in read.log.records() {
            if let gridrig_core::event::Event::Started { job, cluster, .. } = event {
                sites[job.index()] = read.grid.clusters[cluster.index()].name.clone();
            }
        }
        (run["delay_s"]["mean"].as_f64().unwrap(), sites)
    });
    runs.collect()
}

/// What differs between the clocks, if anything.
fn difference(bench: &Bench, words: &[&str], speed: f64) -> Option<String> {
    let virtual_runs = runs(bench, words);
    let mut real = words.to_vec();
    real.extend(["--clock", "real"]);
    let real_runs = runs(bench, &real);
    virtual_runs
        .iter()
        .zip(&real_runs)
        .find_map(|((expected, sites), (delay, real_sites))| {
            let tolerance = 0.02 * expected + 0.05 * speed;
            // 95 % of twelve jobs leave room for none.
            let same = sites == real_sites && (expected - delay).abs() <= tolerance;
            (!same).then(|| format!("{expected} s at {sites:?}, but {delay} s at {real_sites:?}"))
        })
}

#[test]
fn both_clocks_send_the_jobs_of_a_burst_to_the_same_sites() {
    let _alone = alone();
    for phase in ["0s", "2.5s"] {
        let bench = Bench::new(PAIR, &BURST);
        let phase = format!("--set=domain.b.broker.phase={phase}");
        let words = [
            "--json",
            "--force",
            "--set=domain.a.broker.phase=0s",
            phase.as_str(),
            "--set=run.speed=15",
            FROM_THE_LOG_S_TIME_0,
            // The machine may be slow; what is compared are decisions.
            "--set=run.lag_tolerance=1h",
        ];
        let tries: Vec<String> = (0..TRIES)
            .map_while(|_| difference(&bench, &words, 15.0))
            .collect();
        for missed in &tries {
            println!("RETRIED: phase {phase}: {missed}");
        }
        assert!(tries.len() < TRIES, "{phase}: {tries:?}");
    }
}

#[test]
fn a_service_killed_on_the_way_ends_in_named_jobs_and_exit_1() {
    let _alone = alone();
    let bench = Bench::new(PAIR, &BURST);
    let output = bench.run(&[
        "--clock",
        "real",
        "--set",
        "run.speed=20",
        "--kill",
        "b1@15s",
        "--json",
        "--set",
        "run.policies=[\"round-robin\"]",
    ]);
    expect_code(&output, 1);
    let run = &json(&output)["runs"][0];
    let lost =
        run["jobs"]["failed"].as_u64().unwrap() + run["jobs"]["unfinished"].as_u64().unwrap();
    assert!(lost > 0, "{run}");
    assert_eq!(run["valid"], false);
    assert_eq!(run["audit"], "ok", "{run}");
    assert!(stderr(&output).contains("job "), "{}", stderr(&output));
}

#[test]
fn an_interrupted_run_is_valid_and_marked_partial() {
    let _alone = alone();
    let bench = Bench::new(PAIR, &BURST);
    let mut child = gridrig()
        .args([
            "run",
            &bench.path("s.toml"),
            "--out",
            &bench.path("runs"),
            "--clock",
            "real",
        ])
        .args(["--set", "run.speed=1", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    let id = child.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status()
        .unwrap();
    assert!(killed.success());
    let mut out = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    let run = &document["runs"][0];
    assert_eq!(run["audit"], "ok", "{run}");
    assert!(run["jobs"]["unfinished"].as_u64() > Some(0), "{run}");
    let manifest = rundir::read_manifest(Path::new(&bench.path("runs/s-1/round-robin/r000")));
    assert!(manifest.unwrap().partial);
}
