//! The two clocks: what real services do, against what virtual time says.

use crate::calm::same_when_calm;
use crate::command::{Bench, PAIR, expect_code, gridrig, json, stderr};
use crate::patience::Patience;
use gridrig_results::rundir;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

/// A small burst: eight jobs that fill both sites within two cycles, and some
/// after it. Submissions and completions lie a second or more from the instants
/// of cycles (run times are 1 modulo 5), so that the order of things does not
/// hang on milliseconds.
const BURST: [(u64, i64, u32); 12] = [
    (1, 41, 3),
    (1, 31, 3),
    (2, 26, 2),
    (2, 21, 4),
    (3, 31, 3),
    (6, 16, 2),
    (7, 36, 3),
    (8, 11, 1),
    (21, 21, 2),
    (22, 11, 4),
    (33, 11, 2),
    (41, 6, 1),
];

/// One at a time of the tests that look at when things happen, and of those that
/// keep a processor busy meanwhile. What only waits for real programs needs none
/// of this: nothing of it depends on how fast the machine is.
pub fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Without a window, time 0 of a run is its first submission.
const FROM_THE_LOG_S_TIME_0: &str = "--set=workload.window={ start = \"0s\", length = \"1h\" }";

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
            if event.kind == gridrig_core::event::EventKind::Started {
                let (job, cluster) = (event.job.unwrap(), event.by.cluster().unwrap());
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
            // A tenth of a second on the wall; a cycle that is missed is five
            // of the run.
            let tolerance = 0.02 * expected + 0.1 * speed;
            // 95 % of twelve jobs leave room for none.
            if sites != real_sites {
                return Some(format!("{sites:?}, but {real_sites:?}"));
            }
            let same = (expected - delay).abs() <= tolerance;
            (!same).then(|| format!("{expected} s, but {delay} s"))
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
        same_when_calm(&phase, || difference(&bench, &words, 15.0));
    }
}

#[test]
fn a_service_killed_on_the_way_ends_in_named_jobs_and_exit_1() {
    let _alone = alone();
    // Two jobs for each site, which run when one of them dies.
    let bench = Bench::new(PAIR, &[0, 1, 2, 3].map(|at| (at, 41, 2)));
    same_when_calm("a service killed on the way", || {
        let output = bench.run(&[
            "--clock",
            "real",
            "--force",
            "--set",
            "run.speed=20",
            "--kill",
            "b1@15s",
            "--json",
            "--set",
            "run.policies=[\"round-robin\"]",
        ]);
        let run = &json(&output)["runs"][0];
        assert_eq!(run["audit"], "ok", "{run}");
        let count = |state: &str| run["jobs"][state].as_u64().unwrap();
        // Where the machine stood still, it may have died before it had a job.
        if count("failed") + count("unfinished") == 0 {
            return Some(run.to_string());
        }
        expect_code(&output, 1);
        assert_eq!(run["valid"], false);
        assert!(stderr(&output).contains("job "), "{}", stderr(&output));
        None
    });
}

/// Runs a job that lasts for half an hour on the wall, for whose end nobody waits;
/// does something `meanwhile`, and interrupts the run. Answers its exit code and
/// what it has said on stdout and stderr.
fn interrupted(more: &[&str], meanwhile: impl FnOnce(&Bench)) -> (Bench, Option<i32>, [String; 2]) {
    // A cluster with an interface says where it listens.
    let cluster = "{ name = \"a1\", processors = 4 ";
    let scenario = PAIR.replace(cluster, &format!("{cluster}, faces = [\"bes\"] "));
    let bench = Bench::new(&scenario, &[(0, 36_000, 1)]);
    let mut child = gridrig()
        .args([
            "run",
            &bench.path("s.toml"),
            "--out",
            &bench.path("runs"),
            "--clock",
            "real",
        ])
        .args(["--set", "run.speed=20", "--json"])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains(" offers ") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it has ended");
    }
    let url = line.split_whitespace().last().unwrap().to_owned();
    let patience = Patience::seconds(180).every(100);
    let running = || {
        let jobs = Command::new("curl")
            .args(["-s", "-m", "60", &format!("{url}/v1/jobs")])
            .output();
        String::from_utf8_lossy(&jobs.unwrap().stdout).contains("\"state\":\"running\"")
    };
    while !running() {
        patience.wait(format!("a job that runs at {line}"));
    }
    meanwhile(&bench);
    let id = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &id]).status().unwrap();
    assert!(killed.success());
    let mut out = String::new();
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    said.read_to_string(&mut line).unwrap();
    let code = child.wait().unwrap().code();
    (bench, code, [out, line])
}

#[test]
fn an_interrupted_run_is_valid_and_marked_partial() {
    let (bench, code, [out, said]) = interrupted(&[], |_| ());
    assert_eq!(code, Some(130), "{said}");
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    let run = &document["runs"][0];
    assert_eq!(run["audit"], "ok", "{run}");
    assert!(run["jobs"]["unfinished"].as_u64() > Some(0), "{run}");
    let manifest = rundir::read_manifest(Path::new(&bench.path("runs/s-1/round-robin/r000")));
    assert!(manifest.unwrap().partial);
}

#[test]
fn a_run_that_another_has_written_meanwhile_is_not_replaced() {
    let file = |bench: &Bench| bench.path("runs/s-1/round-robin/r000/jobs.parquet");
    // With a journal the directory is its own from its beginning.
    let (bench, code, [_, said]) = interrupted(&["--no-journal"], |bench| {
        let theirs = file(bench);
        std::fs::create_dir_all(Path::new(&theirs).parent().unwrap()).unwrap();
        std::fs::write(theirs, "theirs").unwrap();
    });
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("r000: the run directory exists"), "{said}");
    assert_eq!(std::fs::read(file(&bench)).unwrap(), b"theirs");
}
