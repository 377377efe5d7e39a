//! The dashboard in a real browser (Debian's Chromium, driven by
//! playwright-core): one script a behaviour, in `tests/browser`.

use crate::command::{Service, gridrig, root, start, stdout, token};
use crate::need::{browser, duckdb};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::Duration;
use tempfile::TempDir;

/// A folder of runs, of the study or none.
struct Rig {
    dir: TempDir,
    /// Where screenshots are left to be looked at.
    shots: PathBuf,
}

impl Rig {
    fn new(name: &str) -> Self {
        let shots = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("browser")
            .join(name);
        std::fs::create_dir_all(&shots).unwrap();
        let dir = tempfile::tempdir().unwrap();
        Rig { dir, shots }
    }

    /// With a copy of the study, which is run once.
    fn with_study(name: &str) -> Self {
        static STUDY: LazyLock<PathBuf> = LazyLock::new(study);
        let rig = Rig::new(name);
        let mut copy = Command::new("cp");
        let copied = copy.arg("-r").arg(&*STUDY).arg(rig.runs()).status();
        assert!(copied.unwrap().success());
        rig
    }

    fn runs(&self) -> PathBuf {
        self.dir.path().join("runs")
    }

    fn serve(&self) -> Service {
        std::fs::create_dir_all(self.runs()).unwrap();
        start(&[Path::new("dashboard"), &self.runs()])
    }

    /// Runs a script against a dashboard over these runs; it must say ok.
    fn walk(&self, script: &str, words: &[&Path]) {
        let service = self.serve();
        let mut command = Command::new("node");
        command
            .arg(root().join("gridrig/tests/browser").join(script))
            .arg(&service.url)
            .env("GRIDRIG_TOKEN", token())
            .args(words)
            .stdin(Stdio::null());
        let output = within(Duration::from_secs(600), &mut command);
        assert!(
            output.status.success() && stdout(&output).ends_with("ok\n"),
            "{script}:\n{}{}",
            stdout(&output),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// The four policies of the two sites on five days.
fn study() -> PathBuf {
    let runs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser/study");
    let _ = std::fs::remove_dir_all(&runs);
    let output = gridrig()
        .args(["run", "resources/scenarios/two-sites.toml", "--out"])
        .arg(&runs)
        .args(["--set", "workload.window.length=1d"])
        .args([
            "--set",
            "run.replicate={ over = \"window\", step = \"1d\", count = 5 }",
        ])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    runs
}

/// A scenario of 200 clusters under two policies, as a file in this folder. It ends with
/// the last arrival: some clusters are idle then, some are full and have a queue.
fn many_clusters(dir: &Path) {
    let jobs = (0..300).map(|job| {
        let (id, at, size) = (job + 1, job * 10, 1 + job % 4);
        format!("{id} {at} -1 2500 {size} -1 -1 {size} 2500 -1 1 7 1 1 1 1 -1 -1\n")
    });
    let jobs: Vec<String> = jobs.collect();
    let trace = format!("; Version: 2.2\n{}", jobs.concat());
    std::fs::write(dir.join("many.swf"), trace).unwrap();
    let clusters = (0..200).map(|n| format!("{{ name = \"c{n:03}\", processors = 4 }},\n"));
    let clusters: Vec<String> = clusters.collect();
    let scenario = format!(
        r#"[workload]
trace = "many.swf"
domain = "d"
[[domain]]
name = "d"
clusters = [
{}]
[run]
name = "many"
bounds = false
policies = ["free-node", "round-robin"]
[measure]
stop = "last-arrival"
regret = false
"#,
        clusters.concat()
    );
    std::fs::write(dir.join("many.toml"), scenario).unwrap();
}

/// The output of a command that ends in time; one that does not is ended.
fn within(limit: Duration, command: &mut Command) -> Output {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pause = Duration::from_millis(50);
    let mut waited = Duration::ZERO;
    while child.try_wait().unwrap().is_none() {
        waited += pause;
        if waited > limit {
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            panic!(
                "no end in {limit:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        std::thread::sleep(pause);
    }
    child.wait_with_output().unwrap()
}

#[test]
fn every_page_keeps_its_promises_in_both_schemes_and_at_both_widths() {
    if !browser("every_page_keeps_its_promises_in_both_schemes_and_at_both_widths") {
        return;
    }
    let rig = Rig::with_study("pages");
    rig.walk("pages.mjs", &[&rig.shots]);
}

#[test]
fn runs_are_found_labelled_pinned_and_deleted_on_their_page() {
    if !browser("runs_are_found_labelled_pinned_and_deleted_on_their_page") {
        return;
    }
    let rig = Rig::with_study("runs");
    rig.walk("runs.mjs", &[]);
    // What the page did is in the directories.
    let labels = rig.runs().join("two-sites-1/free-node/r003/labels.json");
    assert!(std::fs::read_to_string(labels).unwrap().contains("paper"));
    assert!(!rig.runs().join("two-sites-1/utilization").exists());
}

#[test]
fn numbers_on_the_page_are_those_of_the_command_and_of_duckdb() {
    const NAME: &str = "numbers_on_the_page_are_those_of_the_command_and_of_duckdb";
    let Some(python) = duckdb(NAME).filter(|_| browser(NAME)) else {
        return;
    };
    let rig = Rig::with_study("compare");
    let study = rig.runs().join("two-sites-1");
    let written = |name: &str, output: Output| {
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{told}");
        let file = rig.dir.path().join(name);
        std::fs::write(&file, output.stdout).unwrap();
        file
    };
    let compared = gridrig()
        .arg("compare")
        .arg(&study)
        .args(["--baseline", "round-robin", "--json"])
        .output();
    let compared = written("compare.json", compared.unwrap());
    let queried = Command::new(python)
        .arg(root().join("gridrig/tests/browser/figures.py"))
        .arg(&study)
        .output();
    let queried = written("figures.json", queried.unwrap());
    rig.walk("compare.mjs", &[&compared, &queried]);
}

#[test]
fn gantt_charts_are_zoomed_and_tell_the_life_of_a_job() {
    if !browser("gantt_charts_are_zoomed_and_tell_the_life_of_a_job") {
        return;
    }
    let rig = Rig::with_study("gantt");
    rig.walk("gantt.mjs", &[&rig.shots]);
}

#[test]
fn a_run_is_started_and_watched_and_looked_at_afterwards() {
    if !browser("a_run_is_started_and_watched_and_looked_at_afterwards") {
        return;
    }
    let rig = Rig::new("live");
    rig.walk("live.mjs", &[&rig.shots]);
}

#[test]
fn many_clusters_are_searched_and_ordered_and_seen_as_a_heat_map() {
    if !browser("many_clusters_are_searched_and_ordered_and_seen_as_a_heat_map") {
        return;
    }
    let rig = Rig::new("clusters");
    many_clusters(rig.dir.path());
    rig.walk("clusters.mjs", &[&rig.shots]);
}
