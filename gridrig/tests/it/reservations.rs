//! Advance reservations, from the scenario to the results.

use crate::command::{
    Bench, PAIR, REAL, expect_code, expect_refused, expect_stdout, json, ok, rows, run, stderr,
};
use crate::real_time::alone;
use gridrig_core::event::{EventKind, Party};
use gridrig_core::ids::ClusterId;
use gridrig_core::time::SimTime;
use gridrig_results::rundir;
use serde_json::Value;
use std::path::Path;

const DRAW: &str = "[workload]
draw = { start_window = { share = 0.5, notice = \"30s\", length = \"20s\" } }
";

/// Bursts of jobs that wait for each other.
const JOBS: [(u64, i64, u32); 12] = [
    (1, 11, 4),
    (1, 21, 3),
    (1, 11, 2),
    (21, 11, 2),
    (21, 21, 3),
    (21, 11, 4),
    (41, 11, 4),
    (41, 6, 1),
    (41, 11, 3),
    (61, 11, 2),
    (61, 11, 1),
    (61, 11, 3),
];

fn bench() -> Bench {
    let scenario = PAIR
        .replace("[workload]\n", DRAW)
        .replace(", \"free-node\"", "")
        .replace("processors = 4", "processors = 4, reservations = {}");
    Bench::new(&scenario, &JOBS)
}

/// What became of a job: who took it, from when on processors were reserved for it, when it
/// started, and whether it was rejected.
#[derive(Clone, Debug, Default)]
struct Life {
    lrms: Option<Party>,
    reserved: Option<SimTime>,
    start: Option<SimTime>,
    rejected: bool,
}

fn lives(directory: &str) -> Vec<Life> {
    let read = rundir::read(Path::new(directory)).unwrap();
    let mut lives = vec![Life::default(); read.submissions.len()];
    for (at, event) in read.log.records() {
        let Some(job) = event.job else { continue };
        let life = &mut lives[job.index()];
        match event.kind {
            EventKind::Queued => life.lrms = Some(event.by),
            EventKind::Reserved => life.reserved = Some(event.instant()),
            EventKind::Started => life.start = Some(at),
            EventKind::Rejected => life.rejected = true,
            _ => {}
        }
    }
    lives
}

#[test]
fn both_clocks_reserve_for_the_same_jobs_and_start_them_then() {
    let _alone = alone();
    let bench = bench();
    let mut all_lives = Vec::new();
    for (name, words) in [("virtual", &[][..]), ("real", &REAL[..])] {
        let (out, scenario) = (bench.path(name), bench.path("s.toml"));
        let mut all = vec!["run", &scenario, "--json", "--out", &out];
        all.extend(words);
        let report = &json(&ok(run(&all)))["runs"][0];
        assert_eq!(report["audit"], "ok");
        let granted = &report["reservations_granted_share"];
        assert!(granted.as_f64().is_some_and(|it| it > 0.0), "{granted}");
        let directory = format!("{out}/s-1/round-robin/r000");
        expect_code(&run(&["audit", &directory]), 0);
        all_lives.push(lives(&directory));
    }
    let reserved = all_lives[0]
        .iter()
        .filter(|life| life.reserved.is_some())
        .count();
    assert!((3..12).contains(&reserved), "{all_lives:?}");
    for (in_virtual, in_real) in all_lives[0].iter().zip(&all_lives[1]) {
        // A job that is late by the milliseconds of the wire may miss a cycle of its broker.
        assert_eq!(
            (
                in_virtual.lrms,
                in_virtual.reserved.is_some(),
                in_virtual.rejected
            ),
            (in_real.lrms, in_real.reserved.is_some(), in_real.rejected),
            "{all_lives:?}"
        );
        for life in [in_virtual, in_real] {
            let in_time = life.reserved.is_none() || life.reserved == life.start;
            assert!(in_time, "{all_lives:?}");
        }
    }
    let said = "drawn at random by draw: start_window\n";
    let output = run(&["check", &bench.path("s.toml")]);
    expect_stdout(&output, said);
}

#[test]
fn windows_have_columns_and_figures_of_their_own() {
    let bench = bench();
    let summary = &json(&ok(bench.run(&["--json"])))["runs"][0];
    assert!(summary["wait_s_unreserved_mean"].is_number(), "{summary}");
    let directory = bench.path("runs/s-1/round-robin/r000");
    let windows = rundir::read(Path::new(&directory)).unwrap().submissions;
    let windows = windows.iter().filter_map(|job| {
        let window = job.spec.start_window.as_deref()?;
        assert!(window.earliest >= job.at && !window.flexible);
        Some(window.latest.since(window.earliest).as_nanos())
    });
    let windows: Vec<u64> = windows.collect();
    assert!((3..12).contains(&windows.len()));
    assert!(windows.iter().all(|length| *length == 20_000_000_000));
    let plain = Bench::new(&PAIR.replace(", \"free-node\"", ""), &JOBS);
    let output = plain.run(&["--json"]);
    let summary = &json(&output)["runs"][0];
    assert_eq!(summary["reservations_granted_share"], Value::Null);
    let directory = plain.path("runs/s-1/round-robin/r000");
    let table = rundir::TableColumns::open(directory.as_ref(), "jobs.parquet").unwrap();
    assert!(table.codes("earliest_start_ns").is_err());
}

#[test]
fn windows_that_nobody_can_keep_are_refused_with_what_is_missing() {
    let bench = bench();
    let refused = |set: &str| {
        let output = bench.run(&[&format!("--set={set}")]);
        expect_code(&output, 2);
        stderr(&output)
    };
    let none = PAIR
        .replace("[workload]\n", DRAW)
        .replace(", \"free-node\"", "");
    expect_refused(
        &Bench::new(&none, &JOBS).run(&[]),
        "none reserves processors",
    );
    let said = refused("workload.draw.start_window={}");
    assert!(said.contains("expected a share from 0 to 1"), "{said}");
    let said = refused("workload.draw.start_window.share=2");
    assert!(said.contains("a share from 0 to 1"), "{said}");
    let said = refused("domain.0.clusters.0.reservations={overrun=\"wait\"}");
    assert!(said.contains("`kill`, `delay`"), "{said}");
}

#[test]
fn predicted_starts_are_told_and_scored() {
    let policies = "policies = [\"earliest-start\"]";
    let bench = Bench::new(
        &PAIR.replace("policies = [\"round-robin\", \"free-node\"]", policies),
        &JOBS,
    );
    let summary = &json(&ok(bench.run(&["--json"])))["runs"][0];
    let directory = bench.path("runs/s-1/earliest-start/r000");
    let table = rundir::TableColumns::open(directory.as_ref(), "jobs.parquet").unwrap();
    let (starts, predicted) = (
        table.i64s("start_ns").unwrap(),
        table.i64s("predicted_start_ns").unwrap(),
    );
    let late = starts.iter().zip(&predicted);
    let late: Vec<f64> = late.map(|(at, said)| (at - said) as f64 / 1e9).collect();
    assert_eq!(late.len(), JOBS.len());
    let mean = |of: fn(f64) -> f64| late.iter().map(|it| of(*it)).sum::<f64>() / late.len() as f64;
    for (name, expected) in [
        ("prediction_error_s_mean", mean(|it| it)),
        ("prediction_error_s_abs_mean", mean(f64::abs)),
        (
            "prediction_kept_share",
            mean(|it| f64::from(u8::from(it <= 0.0))),
        ),
    ] {
        let told = summary[name].as_f64().unwrap();
        assert!((told - expected).abs() < 1e-9, "{name}: {told}, {expected}");
    }
    // The first finds everything idle: nothing but the latency is predicted.
    assert!(late[0].abs() < 0.1, "{late:?}");
    assert!(late.iter().any(|it| it.abs() > 1.0), "{late:?}");
}

/// Where a job ran, its predicted and its real start, and whether that was reserved.
type Told = (Option<Party>, Option<SimTime>, Option<SimTime>, bool);

/// Two clusters and a neighbour.
fn guaranteed(words: &[&str]) -> Vec<Told> {
    let scenario = PAIR
        .replace(
            "policies = [\"round-robin\", \"free-node\"]",
            "policies = [\"earliest-start(reserve=all)\"]",
        )
        .replace("processors = 4", "processors = 4, reservations = {}")
        .replace(
            "{ name = \"a1\"",
            "{ name = \"a2\", processors = 4, reservations = {} }, { name = \"a1\"",
        );
    let bench = Bench::new(&scenario, &JOBS);
    let run = &json(&ok(bench.run(&[&["--json"], words].concat())))["runs"][0];
    assert_eq!(run["audit"], "ok", "{run}");
    let mut policies = std::fs::read_dir(bench.path("runs/s-1")).unwrap();
    let is_its = |entry: &std::fs::DirEntry| entry.path().join("r000").is_dir();
    let policy = policies
        .find_map(|entry| entry.ok().filter(is_its))
        .unwrap();
    let read = rundir::read(&policy.path().join("r000")).unwrap();
    let mut told = vec![(None, None, None, false); read.submissions.len()];
    for (at, event) in read.log.records() {
        let Some(job) = event.job else { continue };
        let one = &mut told[job.index()];
        match event.kind {
            EventKind::Queued => one.0 = Some(event.by),
            EventKind::Predicted => one.1 = Some(event.instant()),
            EventKind::Started => one.2 = Some(at),
            EventKind::Reserved => one.3 = true,
            _ => {}
        }
    }
    told
}

#[test]
fn a_broker_that_predicts_reserves_keeps_one_and_is_right() {
    let _alone = alone();
    let in_virtual = guaranteed(&[]);
    assert_eq!(in_virtual.len(), JOBS.len());
    let clusters: std::collections::BTreeSet<_> = in_virtual.iter().map(|it| it.0).collect();
    assert!(clusters.len() > 1, "{in_virtual:?}");
    for (_, predicted, start, reserved) in &in_virtual {
        assert!(
            *reserved && predicted.is_some() && predicted == start,
            "{in_virtual:?}"
        );
    }
    // A cluster without reservations has jobs, too, by the estimate of their waits.
    let mixed = guaranteed(&["--set=domain.a.clusters.a2.reservations={ most_share = 0.01 }"]);
    let reserved = mixed.iter().filter(|it| it.3).count();
    assert!((1..JOBS.len()).contains(&reserved), "{mixed:?}");
    assert!(mixed.iter().all(|it| it.2.is_some()), "{mixed:?}");
    // A reservation waits for the files of its job; the first one comes at 0.
    let staged = guaranteed(&["--set=workload.preferences={ stage_in = \"60s\" }"]);
    for ((submitted, ..), it) in JOBS.iter().zip(&staged) {
        assert!(it.3 && it.1 == it.2, "{staged:?}");
        assert!(
            it.2 >= Some(SimTime::from_secs(submitted - JOBS[0].0 + 60)),
            "{staged:?}"
        );
    }
    let lossy = [
        "--clock",
        "real",
        "--set=run.speed=20",
        "--set=run.lag_tolerance=1h",
        "--set=faults.links=[{ between = \"domain\", loss = 0.1, duplication = 0.1 }]",
    ];
    let in_real = guaranteed(&lossy);
    for (_, predicted, start, reserved) in &in_real {
        assert!(start.is_some(), "{in_real:?}");
        assert!(!reserved || predicted == start, "{in_real:?}");
    }
    assert!(in_real.iter().filter(|it| it.3).count() > 6, "{in_real:?}");
}

#[test]
fn who_is_to_reserve_has_to_be_able_to() {
    let plain = PAIR.replace(
        "policies = [\"round-robin\", \"free-node\"]",
        "policies = [\"earliest-start(reserve=all)\"]",
    );
    expect_refused(
        &Bench::new(&plain, &JOBS).run(&[]),
        "clusters with reservations = {",
    );
    let twice = "--set=run.policies=[\"earliest-start(matchmaking=push,reserve=all)\"]";
    expect_refused(
        &Bench::new(&plain, &JOBS).run(&[twice]),
        "reserve=none with a matchmaking",
    );
}

/// Where jobs run of which users know that they are fast at the neighbour, and how long after
/// they were sent on they are predicted to start.
fn by_benchmarks(words: &[&str]) -> Vec<(Option<Party>, u64)> {
    let knows = "domain = \"a\"\npreferences = { stage_in = \"30s\", \
                 benchmarks = { linpack = { result = 1000, time = \"20s\" }, other = { result = 1 } } }";
    let scenario = PAIR
        .replacen("domain = \"a\"", knows, 1)
        .replace("\"round-robin\", \"free-node\"", "\"earliest-completion\"")
        .replace(
            "\"a1\", processors = 4",
            "\"a1\", processors = 4, benchmarks = { linpack = 100 }",
        )
        .replace(
            "\"b1\", processors = 4",
            "\"b1\", processors = 4, benchmarks = { linpack = 1250.5 }",
        );
    let bench = Bench::new(&scenario, &[(0, 10, 4), (60, 10, 2), (120, 10, 1)]);
    expect_code(&bench.run(&[&["--json"], words].concat()), 0);
    let directory = bench.path("runs/s-1/earliest-completion/r000");
    let read = rundir::read(Path::new(&directory)).unwrap();
    let mut told = vec![(None, 0); read.submissions.len()];
    for (at, event) in read.log.records() {
        let Some(job) = event.job else { continue };
        match event.kind {
            EventKind::Queued => told[job.index()].0 = Some(event.by),
            EventKind::Predicted if told[job.index()].1 == 0 => {
                told[job.index()].1 = event.instant().since(at).as_nanos();
            }
            _ => {}
        }
    }
    told
}

#[test]
fn benchmarks_and_staging_count_under_both_clocks() {
    let _alone = alone();
    for words in [&[][..], &REAL] {
        // The latency, and 30 s that the user says: the link has no bandwidth.
        let at_b1 = (Some(Party::Lrms(ClusterId(1))), 30_050_000_000);
        assert_eq!(by_benchmarks(words), [at_b1; 3], "{words:?}");
    }
    // As fast as the other in what is known of both, or nothing known of one: at home.
    for other in ["{ linpack = 1250.5 }", "{ stream = 1 }"] {
        let set = format!("--set=domain.a.clusters.a1.benchmarks={other}");
        let told = by_benchmarks(&[&set]);
        let at_home = |it: &(Option<Party>, u64)| it.0 == Some(Party::Lrms(ClusterId(0)));
        assert!(told.iter().all(at_home), "{told:?}");
    }
}

#[test]
fn preferences_that_would_get_lost_or_mean_nothing_are_refused() {
    let known = "--set=workload.preferences={ objective = \"early-start\" }";
    let bench = Bench::new(PAIR, &JOBS);
    for (set, expected) in rows(
        r#"
            link.0.protocol=json => brokers that are told of preferences
            workload.preferences.benchmarks={ a = {} } => missing key `workload.preferences.benchmarks.a.result`
            workload.preferences.benchmarks={ a = { result = 0 } } => a decimal number above 0
            workload.preferences.objective=cheap => early-start
            domain.a.clusters.a1.benchmarks={ a = -1 } => a decimal number above 0
            domain.a.clusters.a1.benchmarks={ "a b" = 1 } => a name of 1 to 64
            "#,
    ) {
        let output = bench.run(&[known, &format!("--set={set}"), "--clock=real"]);
        expect_refused(&output, expected);
    }
}
