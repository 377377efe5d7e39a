//! What `gridrig check` predicts and warns of.

use super::scenario::{PAIR, parse_with};
use crate::command::{expect_code, expect_part, json, ok, root, run, stderr};
use gridrig::check::{CheckReport, check};
use gridrig::scenario::Scenario;
use gridrig_tracelab::prepare::prepare;
use std::fmt::Write as _;
use std::path::Path;

/// The report on `PAIR` with a trace of `(submit, run time, processors)`.
fn report(jobs: &[(u64, u64, u32)], sets: &[&str]) -> CheckReport {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("t.swf");
    let mut text = String::from("; UnixStartTime: 0\n");
    for (id, (submit, run_time, processors)) in jobs.iter().enumerate() {
        let line = format!(
            "{} {submit} 0 {run_time} {processors} -1 -1 {processors} -1 -1 1 1 1 1 1 -1 -1 -1",
            id + 1
        );
        writeln!(text, "{line}").unwrap();
    }
    std::fs::write(&trace, text).unwrap();
    let path = format!("workload.trace={}", trace.display());
    let mut all = vec![path.as_str()];
    all.extend(sets);
    let scenario = parse_with(PAIR, &all).unwrap_or_else(|error| panic!("{error}"));
    let prepared: Vec<_> = (0u16..)
        .zip(&scenario.workloads)
        .map(|(index, spec)| prepare(spec, index).unwrap())
        .collect();
    check(&scenario, &prepared)
}

fn codes(report: &CheckReport) -> Vec<&str> {
    report.warnings.iter().map(|warning| warning.code).collect()
}

const QUIET: [(u64, u64, u32); 3] = [(0, 1000, 45), (500, 1000, 45), (1000, 1000, 90)];

#[test]
fn jobs_loads_and_runs_are_predicted() {
    let report = report(&QUIET, &[]);
    assert_eq!((report.jobs, report.runs, report.processors), (3, 2, 450));
    // 180,000 processor-seconds in 1,000 s of 450 processors.
    assert!((report.offered_load.unwrap() - 0.4).abs() < 1e-9);
    assert!((report.domains[0].load_on_own.unwrap() - 0.8).abs() < 1e-9);
    assert!((report.domains[0].load_on_reachable.unwrap() - 0.4).abs() < 1e-9);
    assert_eq!(report.domains[1].jobs, 0);
    assert!((report.clusters[1].even_load.unwrap() - 0.4).abs() < 1e-9);
    assert!((report.domains[0].jobs_per_cycle - 0.015).abs() < 1e-9);
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    // With bounds, local-only, full-information and the pooled cluster too.
    assert_eq!(self::report(&QUIET, &["run.bounds=true"]).runs, 5);
}

#[test]
fn a_compressed_run_is_told_what_its_intervals_are_in_trace_time() {
    let report = report(&QUIET, &["workload.scale={ arrival = 60, run_time = 60 }"]);
    let warning = report
        .warnings
        .iter()
        .find(|w| w.code == "compressed-intervals")
        .unwrap();
    for part in [
        "broker interval 5 s is 5 min",
        "mean load over 5 min is 5 h",
        "link latency 50 ms is 3 s",
        "LRMS latency 1 ms is 60 ms",
    ] {
        assert!(warning.message.contains(part), "{}", warning.message);
    }
    assert!(codes(&report).contains(&"short-median-run"));
}

#[test]
fn short_runs_are_warned_of() {
    let report = report(&[(0, 1, 1), (100, 3000, 1), (200, 3000, 1)], &[]);
    assert_eq!(codes(&report), ["short-runs"]);
}

#[test]
fn a_crowd_between_two_exchanges_is_warned_of_where_it_herds() {
    let crowd: Vec<(u64, u64, u32)> = (0..40).map(|second| (second, 3000, 1)).collect();
    assert!(codes(&report(&crowd, &[])).contains(&"herding"));
    let debited = ["domain.a.broker.own_dispatch=debited"];
    assert!(!codes(&report(&crowd, &debited)).contains(&"herding"));
    let late = ["run.policies=[\"utilization(commit=late)\"]"];
    assert!(!codes(&report(&crowd, &late)).contains(&"herding"));
    let blind = ["run.policies=[\"round-robin\"]"];
    assert!(!codes(&report(&crowd, &blind)).contains(&"herding"));
}

#[test]
fn crowds_in_many_domains_are_one_warning_that_names_the_first() {
    let path = root().join("resources/scenarios/la-grid-27.toml");
    let path = path.display().to_string();
    let window = ["--set", "workload.window.length=1h"];
    let told = json(&ok(run(
        &[&["check", &path, "--json"], &window[..]].concat()
    )));
    let warnings = told["warnings"].as_array().unwrap();
    let of_crowds = warnings.iter().filter(|w| w["code"] == "herding");
    let messages: Vec<&str> = of_crowds
        .map(|warning| warning["message"].as_str().unwrap())
        .collect();
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(messages[0].starts_with("27 domains, "), "{messages:?}");
    assert!(
        messages[0].contains("; and 24 more. With own_dispatch"),
        "{messages:?}"
    );
}

#[test]
fn reductions_that_change_the_load_are_warned_of() {
    let wide = [(0, 1000, 225), (500, 1000, 300), (1000, 1000, 225)];
    let limited = report(&wide, &["workload.max_processors=225"]);
    assert_eq!(codes(&limited), ["wide-jobs-lost", "load-changed"]);
    assert!(
        limited.warnings[0]
            .message
            .contains("1 jobs ask for more than max_processors"),
        "{:?}",
        limited.warnings
    );
    let half = report(&QUIET, &["workload.keep=1/2"]);
    assert!(codes(&half).contains(&"load-changed"));
    let window = report(&QUIET, &["workload.window={ length = \"1000s\" }"]);
    assert!(codes(&window).contains(&"cut-edges"));
    // It holds all jobs of the trace.
    let whole = report(&QUIET, &["workload.window={ length = \"1001s\" }"]);
    assert!(!codes(&whole).contains(&"cut-edges"));
    // Nor does one that reaches far beyond the end of the trace change anything.
    let long = report(&QUIET, &["workload.window={ length = \"100d\" }"]);
    assert!(long.warnings.is_empty(), "{:?}", long.warnings);
    assert_eq!(long.offered_load, report(&QUIET, &[]).offered_load);
}

#[test]
fn logs_of_different_lengths_are_warned_of() {
    let dir = tempfile::tempdir().unwrap();
    let log = |name: &str, end: u32| {
        let lines: String = (0..=10).map(|at| swf_line(at + 1, at * end / 10)).collect();
        let path = dir.path().join(name);
        std::fs::write(&path, format!("; MaxProcs: 8\n{lines}")).unwrap();
        format!("{}:8", path.display())
    };
    let (year, month) = (log("year.swf", 1_000_000), log("month.swf", 790_000));
    let nearly = log("nearly.swf", 810_000);
    for (other, expected) in [(month, true), (nearly, false)] {
        let scenario = dir.path().join("both.toml").display().to_string();
        let words = [
            "init", &scenario, "--force", "--from", &year, "--from", &other,
        ];
        expect_code(&run(&words), 0);
        let told = json(&ok(run(&["check", &scenario, "--json"])));
        let warnings = told["warnings"].as_array().unwrap();
        let found = warnings.iter().find(|it| it["code"] == "unequal-lengths");
        assert_eq!(found.is_some(), expected, "{warnings:?}");
        if let Some(found) = found {
            let message = found["message"].as_str().unwrap();
            expect_part(message, "month.swf is submitted after 9.14 d");
        }
    }
}

fn swf_line(job: u32, at: u32) -> String {
    format!("{job} {at} -1 600 1 -1 -1 1 600 -1 1 1 1 -1 -1 -1 -1 -1\n")
}

#[test]
fn jobs_that_can_run_nowhere_are_counted() {
    let some = report(&[(0, 1000, 226), (1000, 1000, 1)], &[]);
    assert_eq!(some.impossible_jobs, 1);
    assert!(codes(&some).contains(&"impossible-jobs"));
    let all = report(&[(0, 1000, 226), (1000, 1000, 226)], &[]);
    assert!(codes(&all).contains(&"nothing-can-run"));
}

#[test]
fn more_than_all_clusters_can_do_is_an_overload() {
    let jobs: Vec<(u64, u64, u32)> = (0..5).map(|k| (k * 250, 3000, 225)).collect();
    assert!(codes(&report(&jobs, &[])).contains(&"overload"));
}

#[test]
fn cycles_in_phase_are_a_race_on_the_real_clock_only() {
    let in_phase = [
        "domain.a.broker.phase=0s",
        "domain.b.broker.phase=0s",
        "link.latency=5ms",
    ];
    assert!(!codes(&report(&QUIET, &in_phase)).contains(&"phase-race"));
    let mut real = in_phase.to_vec();
    real.push("run.clock=real");
    assert!(codes(&report(&QUIET, &real)).contains(&"phase-race"));
    real.push("link.latency=50ms");
    assert!(!codes(&report(&QUIET, &real)).contains(&"phase-race"));
    // On a rig ten times faster 10 ms of lateness are 100 ms.
    real.push("run.speed=10");
    assert!(codes(&report(&QUIET, &real)).contains(&"phase-race"));
}

#[test]
fn wall_time_is_that_of_the_clock() {
    let virtually = report(&QUIET, &[]);
    assert!(virtually.wall_time_s < 1.0);
    let really = report(&QUIET, &["run.clock=real", "run.speed=10"]);
    // The last job ends at 2,000 s; two policies.
    assert!((really.wall_time_s - 400.0).abs() < 1e-9);
    // The last arrives at 1,000 s.
    let cut = [
        "run.clock=real",
        "run.speed=10",
        "measure.stop=last-arrival",
    ];
    assert!((report(&QUIET, &cut).wall_time_s - 200.0).abs() < 1e-9);
}

#[test]
fn the_real_time_smoke_scenario_takes_about_a_minute() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let file = root.join("resources/scenarios/realtime-smoke.toml");
    let scenario = Scenario::load(&file, &[]).unwrap();
    let report = check(&scenario, &[prepare(&scenario.workloads[0], 0).unwrap()]);
    assert!(
        (30.0..70.0).contains(&report.wall_time_s),
        "{}",
        report.wall_time_s
    );
    assert!(report.jobs >= 10, "{}", report.jobs);
    assert!(!codes(&report).contains(&"phase-race"));
}

#[test]
fn stopping_at_the_last_arrival_is_warned_of() {
    assert!(codes(&report(&QUIET, &["measure.stop=last-arrival"])).contains(&"no-cool-down"));
}

#[test]
fn the_report_is_readable_and_is_json() {
    let report = report(&QUIET, &["workload.keep=2/3"]);
    let text = report.to_string();
    for part in [
        "offered load",
        "domain",
        "cluster",
        "keep",
        "warning [load-changed]",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["jobs"], 2);
    assert_eq!(json["workloads"][0]["steps"][0]["name"], "keep");
}

#[test]
fn a_window_in_which_no_job_is_submitted_is_a_mistake_as_for_a_run() {
    let words = [
        "resources/scenarios/lrms-only.toml",
        "--set",
        "workload.window.start=100d",
    ];
    for command in ["check", "run"] {
        let output = run(&[
            &[command],
            &words[..],
            &["--no-out"][..usize::from(command == "run")],
        ]
        .concat());
        expect_code(&output, 2);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        expect_part(&said, "no job is left after the reduction");
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        let place = "no job is submitted in the window from day 100.00 to 107.00";
        assert!(command == "run" || report.contains(place), "{report}");
    }
}

#[test]
fn a_list_where_one_value_is_expected_is_answered_with_sweeps() {
    let refused = |set: &str| {
        let output = run(&["check", "resources/scenarios/two-sites.toml", "--set", set]);
        expect_code(&output, 2);
        stderr(&output)
    };
    let sweep = "(gridrig sweep runs a scenario with several values)";
    let said = refused(r#"domain.a.broker.exchange=["5s","30s"]"#);
    let expected = format!("expected a duration above 0 such as \"5s\" {sweep}");
    assert!(said.contains(&expected), "{said}");
    let said = refused(r#"link.between=["a"]"#);
    assert!(!said.contains(sweep), "{said}");
}
