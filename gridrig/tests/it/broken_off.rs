//! Runs in real time that are broken off, and go on.

use crate::command::{Bench, expect_code, gridrig, json, root, run, stderr, stdout};
use crate::patience::Patience;
use gridrig_core::event::EventKind;
use gridrig_core::rng;
use gridrig_results::rundir;
use rand::RngExt;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Submissions of one workload; there are two.
const JOBS: u64 = 60;

fn scenario(policies: &str) -> String {
    let sites = ["a", "b"].map(|site| {
        format!(
            "[[workload]]\ntrace = \"t.swf\"\ndomain = \"{site}\"\n\
             [[domain]]\nname = \"{site}\"\nclusters = [ {{ name = \"{site}1\", processors = 6 }} ]\n"
        )
    });
    let link = "[[link]]\nbetween = [\"a\", \"b\"]\nlatency = \"50ms\"\n";
    let run = format!(
        "[run]\nclock = \"real\"\nspeed = 20\npolicies = {policies}\nlag_tolerance = \"1h\"\n"
    );
    sites.concat() + link + &run
}

fn bench(policies: &str) -> Bench {
    let job = |job: u64| {
        (
            job,
            [6, 11, 16, 3][(job % 4) as usize],
            1 + (job % 2) as u32,
        )
    };
    let jobs: Vec<(u64, i64, u32)> = (0..JOBS).map(job).collect();
    Bench::new(&scenario(policies), &jobs)
}

fn begin(words: &[&str]) -> Child {
    let mut command = gridrig();
    let command = command.arg("run").args(words);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Waits until the client of the run in this directory was told so much.
fn wait_for(dir: &Path, lines: usize, child: &mut Child) {
    let journal = dir.join("journals/client.journal");
    let patience = Patience::seconds(300).every(10);
    let told = || std::fs::read(&journal).map_or(0, |all| all.split(|it| *it == b'\n').count());
    while told() < lines {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        patience.wait(format!("{lines} lines of {}", journal.display()));
    }
}

fn lines(dir: &Path) -> usize {
    std::fs::read_to_string(dir.join("journals/client.journal"))
        .map_or(0, |all| all.lines().count())
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Where the run of this policy is.
fn dir(bench: &Bench, policy: &str) -> PathBuf {
    PathBuf::from(bench.path(&format!("runs/s-1/{policy}/r000")))
}

/// The gaps of a run in which every job was started and ended once.
fn gaps_of_a_whole_run(dir: &Path) -> Vec<Value> {
    let read = rundir::read(dir).unwrap();
    let count = |kind| read.log.records().filter(|(_, it)| it.kind == kind).count();
    let all = 2 * JOBS as usize;
    for kind in [
        EventKind::Submitted,
        EventKind::Queued,
        EventKind::Started,
        EventKind::Finished,
    ] {
        assert_eq!(count(kind), all, "{kind:?}");
    }
    assert!(!dir.join("running.json").exists() && !dir.join("journals").exists());
    let manifest = rundir::read_manifest(dir).unwrap();
    assert!(!manifest.partial);
    assert_eq!(manifest.summary["audit"], "ok");
    let gaps = manifest.host.get("gaps").cloned().unwrap_or_default();
    gaps.as_array().cloned().unwrap_or_default()
}

#[test]
fn a_run_that_is_killed_three_times_loses_no_job_and_starts_none_twice() {
    let _alone = crate::real_time::alone();
    killed_three_times(&bench("[\"round-robin\"]"), "round-robin");
}

#[test]
fn a_run_that_is_killed_three_times_loses_no_part_of_a_job_and_holds_none_twice() {
    let _alone = crate::real_time::alone();
    let policy = "flexible-cluster-minimization";
    // None has room on one cluster.
    let mut scenario = scenario(&format!("[\"{policy}\"]"));
    for site in ["a", "b"] {
        let parts = ["1", "2"].map(|n| format!("{{ name = \"{site}{n}\", processors = 2 }}"));
        let whole = format!("{{ name = \"{site}1\", processors = 6 }}");
        scenario = scenario.replace(&whole, &parts.join(", "));
    }
    let jobs: Vec<(u64, i64, u32)> = (0..JOBS).map(|job| (job, 1 + job as i64 % 4, 3)).collect();
    killed_three_times(&Bench::new(&scenario, &jobs), policy);
}

fn killed_three_times(bench: &Bench, policy: &str) {
    let (out, dir) = (bench.path("runs"), dir(bench, policy));
    let mut random = rng::stream(14, "kill");
    let mut child = begin(&[&bench.path("s.toml"), "--out", &out]);
    for _ in 0..3 {
        let more = random.random_range(20..60);
        wait_for(&dir, lines(&dir) + more, &mut child);
        child.kill().unwrap();
        child.wait().unwrap();
        child = begin(&["--resume", &out]);
    }
    expect_code(&child.wait_with_output().unwrap(), 0);
    let gaps = gaps_of_a_whole_run(&dir);
    assert_eq!(gaps.len(), 3, "{gaps:?}");
    assert!(gaps.is_sorted_by_key(|gap| gap["at_s"].as_f64().map(f64::to_bits)));
    let again = run(&["run", "--resume", &out]);
    expect_code(&again, 2);
    assert!(stderr(&again).contains("no run to continue there"));
}

#[test]
fn an_interrupted_study_is_partial_until_it_goes_on_and_then_runs_what_never_began() {
    let _alone = crate::real_time::alone();
    let bench = bench("[\"round-robin\", \"queue-length\"]");
    let (out, first) = (bench.path("runs"), dir(&bench, "round-robin"));
    let mut child = begin(&[&bench.path("s.toml"), "--out", &out]);
    wait_for(&first, 60, &mut child);
    signal(&child, "-INT");
    let ended = child.wait_with_output().unwrap();
    expect_code(&ended, 130);
    assert!(stderr(&ended).contains(&format!("gridrig run --resume {}", first.display())));
    assert!(rundir::read_manifest(&first).unwrap().partial);
    // Other jobs are another run.
    let trace = std::fs::read_to_string(bench.path("t.swf")).unwrap();
    let changed = trace.replacen("1 0 -1 6 ", "1 0 -1 7 ", 1);
    assert_ne!(changed, trace);
    std::fs::write(bench.path("t.swf"), changed).unwrap();
    let other = run(&["run", &bench.path("s.toml"), "--out", &out]);
    expect_code(&other, 2);
    assert!(stderr(&other).contains("the interrupted runs are continued"));
    assert!(
        stderr(&other).contains("the jobs have changed since the run began"),
        "{}",
        stderr(&other)
    );
    std::fs::write(bench.path("t.swf"), trace).unwrap();
    // The scenario again, or --resume: it is all the same.
    let done = run(&["run", &bench.path("s.toml"), "--out", &out, "--json"]);
    expect_code(&done, 0);
    assert_eq!(json(&done)["runs"].as_array().unwrap().len(), 2);
    assert_eq!(gaps_of_a_whole_run(&first).len(), 1);
    assert!(gaps_of_a_whole_run(&dir(&bench, "queue-length")).is_empty());
    let compared = run(&["compare", &out, "--anyway"]);
    expect_code(&compared, 0);
    let said = stdout(&compared);
    assert!(said.contains("the run was interrupted at"), "{said}");
}

#[test]
fn a_run_that_sigterm_has_ended_is_partial_and_goes_on() {
    let _alone = crate::real_time::alone();
    for mode in [None, Some("--processes")] {
        let bench = bench("[\"round-robin\"]");
        let (out, dir) = (bench.path("runs"), dir(&bench, "round-robin"));
        let scenario = bench.path("s.toml");
        let mut words = vec![&*scenario, "--out", &out];
        words.extend(mode);
        let mut child = begin(&words);
        wait_for(&dir, 60, &mut child);
        signal(&child, "-TERM");
        let ended = child.wait_with_output().unwrap();
        expect_code(&ended, 130);
        assert!(stderr(&ended).contains(&format!("gridrig run --resume {}", dir.display())));
        assert!(rundir::read_manifest(&dir).unwrap().partial);
        expect_code(&run(&["run", "--resume", &out]), 0);
        assert_eq!(gaps_of_a_whole_run(&dir).len(), 1);
    }
}

#[test]
fn a_run_whose_results_cannot_be_written_keeps_its_journals_until_they_can() {
    let _alone = crate::real_time::alone();
    let bench = bench("[\"round-robin\"]");
    let (out, dir) = (bench.path("runs"), dir(&bench, "round-robin"));
    let mut child = begin(&[&bench.path("s.toml"), "--out", &out]);
    wait_for(&dir, 30, &mut child);
    // Journals are longer than the tables, so a limit of their length would end the run
    // earlier: something is where the table is to go.
    let taken = dir.join("jobs.parquet.partial");
    std::fs::create_dir(&taken).unwrap();
    let ended = child.wait_with_output().unwrap();
    expect_code(&ended, 1);
    let said = stderr(&ended);
    assert!(said.contains(taken.to_str().unwrap()), "{said}");
    assert!(dir.join("running.json").exists() && !dir.join("manifest.json").exists());
    std::fs::remove_dir(taken).unwrap();
    expect_code(&run(&["run", "--resume", &out]), 0);
    assert_eq!(gaps_of_a_whole_run(&dir).len(), 1);
}

#[test]
fn a_run_that_cannot_be_continued_says_why_when_it_begins() {
    let _alone = crate::real_time::alone();
    let ours = scenario("[\"round-robin\"]");
    let own = format!(
        "processors = 6, faces = [\"bes\"], discipline = {{ name = \"own\", lua = \"{}\" }}",
        root().join("resources/policies/fcfs.lua").display()
    );
    let others = ours.replace("processors = 6", &own);
    let why = "s: a run that is killed cannot be continued (policy or discipline of one's own, \
               interfaces of other systems), but --resume writes what happened until then";
    for (scenario, more, is_told) in [
        (&ours, None, false),
        (&others, None, true),
        (&others, Some("--no-journal"), false),
    ] {
        let output = Bench::new(scenario, &[(0, 1, 1)]).run(more.as_slice());
        expect_code(&output, 0);
        let said = stderr(&output);
        assert_eq!(said.lines().any(|line| line == why), is_told, "{said}");
    }
}

#[test]
fn a_full_disk_ends_a_run_with_one_message_and_it_goes_on_when_there_is_room() {
    let _alone = crate::real_time::alone();
    let bench = bench("[\"round-robin\"]");
    let out = bench.path("runs");
    // No file gets longer than so many kilobytes.
    let line = "trap '' XFSZ; ulimit -f 24; exec \"$@\"";
    let full = Command::new("bash")
        .args(["-c", line, "bash", env!("CARGO_BIN_EXE_gridrig"), "run"])
        .args([&bench.path("s.toml"), "--out", &out])
        .output()
        .unwrap();
    expect_code(&full, 1);
    let said = stderr(&full);
    assert_eq!(said.matches("File too large").count(), 1, "{said}");
    assert!(
        said.contains(".journal: ") && said.contains("--resume"),
        "{said}"
    );
    let dir = dir(&bench, "round-robin");
    assert!(!dir.join("manifest.json").exists());
    for journal in std::fs::read_dir(dir.join("journals")).unwrap() {
        let text = std::fs::read_to_string(journal.unwrap().path()).unwrap();
        assert!(text.ends_with('\n'), "{text}");
    }
    expect_code(&run(&["run", "--resume", &out]), 0);
    assert_eq!(gaps_of_a_whole_run(&dir).len(), 1);
}

#[test]
fn a_run_with_a_damaged_journal_ends_with_what_is_known_until_there() {
    let _alone = crate::real_time::alone();
    let bench = bench("[\"round-robin\"]");
    let (out, dir) = (bench.path("runs"), dir(&bench, "round-robin"));
    let mut child = begin(&[&bench.path("s.toml"), "--out", &out]);
    wait_for(&dir, 150, &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    let journal = dir.join("journals/lrms-a1.journal");
    let text = std::fs::read_to_string(&journal).unwrap();
    let all = text.lines().count();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[all / 2] = lines[all / 2].replace("Input", "Imput");
    std::fs::write(&journal, lines.join("\n") + "\n").unwrap();
    let cut = run(&["run", "--resume", &out]);
    expect_code(&cut, 130);
    let said = format!("lrms-a1.journal: line {}: it is damaged", all / 2 + 1);
    let manifest = rundir::read_manifest(&dir).unwrap();
    assert!(stdout(&cut).contains("unread-journal"), "{}", stdout(&cut));
    let warnings = &manifest.warnings;
    assert!(warnings.iter().any(|it| it.contains(&said)), "{warnings:?}");
    assert!(manifest.partial);
    assert_eq!(manifest.summary["audit"], "ok");
    assert!(manifest.summary["jobs"]["completed"].as_u64() > Some(0));
    expect_code(&run(&["run", "--resume", &out]), 2);
}

/// The process of a service of the run in this directory; the runner starts another
/// one for it when that is gone.
fn process(bench: &Bench, service: &str) -> Option<u32> {
    let dir = bench.dir.path().display().to_string();
    let words = [dir, format!("\"service\":\"{service}\"")];
    let is_it = |pid: u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        words.iter().all(|word| line.contains(word.as_str()))
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let mut pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.find(|pid| is_it(*pid))
}

/// The same as soon as there is one.
fn started(bench: &Bench, service: &str) -> u32 {
    let patience = Patience::seconds(60);
    loop {
        match process(bench, service) {
            Some(pid) => return pid,
            None => patience.wait(format!("the process of {service}")),
        }
    }
}

#[test]
fn a_process_of_a_run_is_told_no_secrets() {
    // Nobody waits for the end of this job.
    let bench = Bench::new(&scenario("[\"round-robin\"]"), &[(0, 90_000, 1)]);
    let mut command = gridrig();
    command.args(["run", &bench.path("s.toml"), "--out", &bench.path("runs")]);
    command.arg("--processes");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let secrets = [("GRIDRIG_TOKEN", "0123456789abcdefXYZ"), ("SECRET", "x")];
    let child = command.envs(secrets).env("RUST_BACKTRACE", "0").spawn();
    let mut child = child.unwrap();
    for service in ["broker-a", "lrms-b1"] {
        let pid = started(&bench, service);
        let told = std::fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
        let told: Vec<&str> = told.split('\0').collect();
        let has = |name: &str| told.iter().any(|it| it.starts_with(&format!("{name}=")));
        assert!(has("PATH") && has("RUST_BACKTRACE"), "{told:?}");
        assert!(!has("SECRET") && !has("GRIDRIG_TOKEN"), "{told:?}");
    }
    wait_for(&dir(&bench, "round-robin"), 3, &mut child);
    signal(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// Bytes in the journal of a service.
fn written(dir: &Path, service: &str) -> u64 {
    let journal = dir.join(format!("journals/{service}.journal"));
    std::fs::metadata(journal).map_or(0, |it| it.len())
}

/// Waits until a service that was killed with so much in its journal goes on with it:
/// one that dies before that has not been restarted, and died once.
fn wait_until_back(dir: &Path, service: &str, known: u64) {
    let patience = Patience::seconds(60).every(10);
    while written(dir, service) <= known {
        patience.wait(format!("the journal of {service} to go on"));
    }
}

#[test]
fn each_process_of_a_run_and_its_runner_are_killed_twice_and_no_job_is_lost_or_run_twice() {
    let _alone = crate::real_time::alone();
    let bench = bench("[\"round-robin\"]");
    let (out, dir) = (bench.path("runs"), dir(&bench, "round-robin"));
    let mut random = rng::stream(15, "kill");
    let mut child = begin(&[&bench.path("s.toml"), "--out", &out, "--processes"]);
    let services = ["broker-a", "broker-b", "lrms-a1", "lrms-b1"];
    for victim in ["broker-a", "lrms-a1", "", "lrms-b1", "broker-b"].repeat(2) {
        let more = random.random_range(8..24);
        wait_for(&dir, lines(&dir) + more, &mut child);
        if victim.is_empty() {
            child.kill().unwrap();
            child.wait().unwrap();
            let known = services.map(|service| written(&dir, service));
            child = begin(&["--resume", &out]);
            for (service, known) in services.into_iter().zip(known) {
                wait_until_back(&dir, service, known);
            }
            continue;
        }
        let pid = started(&bench, victim).to_string();
        let killed = Command::new("kill").args(["-KILL", &pid]).status();
        assert!(killed.unwrap().success());
        wait_until_back(&dir, victim, written(&dir, victim));
    }
    let ended = child.wait_with_output().unwrap();
    expect_code(&ended, 0);
    assert_eq!(gaps_of_a_whole_run(&dir).len(), 2);
    // With those of the runner, each has died four times.
    let warnings = rundir::read_manifest(&dir).unwrap().warnings;
    let said = warnings
        .iter()
        .find(|it| it.starts_with("restarted:"))
        .unwrap();
    for service in services {
        assert!(said.contains(&format!("{service} (4)")), "{said}");
    }
}
