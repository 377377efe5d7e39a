//! `gridrig trace reduce`.

use crate::command::{Bench, PAIR, expect_code, json, root, run, stderr, stdout};
use crate::need::archive;
use std::path::Path;

const SHIPPED: &str = "traces/ctc-like.swf.gz";

fn out(dir: &tempfile::TempDir, name: &str) -> String {
    dir.path().join(name).display().to_string()
}

/// Job lines of a plain SWF file.
fn lines(path: &str) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let jobs = text.lines().filter(|line| !line.starts_with(';'));
    jobs.map(str::to_owned).collect()
}

#[test]
fn a_shipped_trace_is_reduced_and_the_steps_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let target = out(&dir, "short.swf");
    let words = [
        "trace",
        "reduce",
        SHIPPED,
        &target,
        "--window",
        "1d,2d",
        "--keep",
        "2/5",
        "--phase",
        "2",
        "--scale",
        "60",
        "--min-run-time",
        "1s",
    ];
    let output = run(&words);
    expect_code(&output, 0);
    let text = stdout(&output);
    for part in [
        "window        2 d from 1 d",
        "keep",
        "min-run-time",
        "wrote ",
        "offered load",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(lines(&target).len() > 10);
    // Twice the same bytes; and never over a file that is there.
    let refused = run(&words);
    expect_code(&refused, 2);
    assert!(stderr(&refused).contains("expected a new file, or --force"));
    let first = std::fs::read(&target).unwrap();
    expect_code(&run(&[&words[..], &["--force"]].concat()), 0);
    assert_eq!(std::fs::read(&target).unwrap(), first);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn arrivals_and_run_times_are_divided_by_their_own_factors() {
    let bench = Bench::new(PAIR, &[(0, 30, 1), (60, 90, 2)]);
    let (trace, target) = (bench.path("t.swf"), bench.path("r.swf"));
    let words = ["trace", "reduce", &trace, &target, "--scale-arrival", "6"];
    expect_code(&run(&[&words[..], &["--scale-run-time", "3"]].concat()), 0);
    let times = lines(&target).into_iter().map(|line| {
        let mut fields = line.split_whitespace().map(str::to_owned);
        (fields.nth(1).unwrap(), fields.nth(1).unwrap())
    });
    let expected = [("0", "10"), ("10", "30")].map(|(at, run)| (at.to_owned(), run.to_owned()));
    assert_eq!(times.collect::<Vec<_>>(), expected);
}

#[test]
fn a_window_begins_at_a_step_and_overlaps_nothing_that_is_skipped() {
    // A job every ten minutes of twelve hours.
    let jobs: Vec<(u64, i64, u32)> = (0..=72)
        .map(|i| (600 * i, 60 + i as i64, 1 + i as u32 % 4))
        .collect();
    let bench = Bench::new(PAIR, &jobs);
    let trace = bench.path("t.swf");
    let mut words = vec!["trace", "reduce", &trace, "--processors", "8", "--json"];
    words.extend(["--window-length", "1h", "--step", "30min", "--rank", "99"]);
    words.extend(["--skip-start", "2h", "--skip-end", "1h"]);
    let output = run(&words);
    expect_code(&output, 0);
    let windows = json(&output)["ranking"]["windows"].clone();
    let windows = windows.as_array().unwrap().iter();
    let mut starts: Vec<f64> = windows
        .map(|window| window["start_s"].as_f64().unwrap())
        .collect();
    starts.sort_by(f64::total_cmp);
    let expected: Vec<f64> = (4..=20).map(|half| f64::from(half) * 1800.0).collect();
    assert_eq!(starts, expected);
}

#[test]
fn a_verdict_that_is_missed_ends_with_99_and_keeps_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let (target, sheet) = (out(&dir, "short.swf"), out(&dir, "sheet.html"));
    let words = |bound: &'static str| {
        let target = target.as_str();
        let words = [
            "trace", "reduce", SHIPPED, target, "--keep", "1/2", "--force", "--json",
        ];
        [&words[..], &["--sheet", &sheet, "--require", bound]].concat()
    };
    let passed = run(&words("processors.ks < 0.5"));
    expect_code(&passed, 0);
    assert_eq!(json(&passed)["schema"], "gridrig.trace-reduce.1");
    assert_eq!(json(&passed)["validation"]["passed"], true);
    assert!(std::fs::read_to_string(&sheet).unwrap().contains("<svg"));
    let missed = run(&words("processors.ks < 0.000001"));
    expect_code(&missed, 99);
    assert_eq!(json(&missed)["validation"]["passed"], false);
    assert!(
        stderr(&missed).contains("it is kept"),
        "{}",
        stderr(&missed)
    );
    assert!(!lines(&target).is_empty());
    let unasked = run(&[
        "trace",
        "reduce",
        SHIPPED,
        &target,
        "--force",
        "--json",
        "--no-validate",
    ]);
    expect_code(&unasked, 0);
    assert!(json(&unasked)["validation"].is_null());
}

#[test]
fn a_few_jobs_pass_with_a_word_on_how_little_that_says() {
    let dir = tempfile::tempdir().unwrap();
    let target = out(&dir, "few.swf");
    let output = run(&["trace", "reduce", SHIPPED, &target, "--keep", "1/60"]);
    expect_code(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("validation    open: "), "{text}");
    assert!(text.contains("Keep more jobs"), "{text}");
    let random = "as random samples of so few jobs are: processors.ks";
    assert!(text.contains(random), "{text}");
    let again = run(&["trace", "validate", SHIPPED, &target]);
    expect_code(&again, 0);
    let text = stdout(&again);
    assert!(text.starts_with("open: 8 of 480 jobs. "), "{text}");
    assert!(text.contains(random), "{text}");
    let document = json(&run(&["trace", "validate", SHIPPED, &target, "--json"]));
    assert_eq!(document["verdict"], "open", "{document}");
}

#[test]
fn what_is_sanitized_away_is_no_reason_to_miss_the_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let target = out(&dir, "short.swf");
    let output = run(&[
        "trace",
        "reduce",
        SHIPPED,
        &target,
        "--sanitize",
        "wider-than=8",
        "--keep",
        "1/2",
        "--json",
    ]);
    expect_code(&output, 0);
    let document = json(&output);
    assert!(document["reduced"]["wider-than"].as_u64().unwrap() > 0);
    assert_eq!(document["steps"][0]["name"], "sanitize");
    assert_eq!(document["reduction"]["sanitize"], "wider-than=8");
}

#[test]
fn the_json_document_has_every_figure() {
    let dir = tempfile::tempdir().unwrap();
    let target = out(&dir, "short.swf.gz");
    let output = run(&[
        "trace",
        "reduce",
        SHIPPED,
        &target,
        "--window-length",
        "2d",
        "--load",
        "0.3",
        "--processors",
        "100",
        "--rank",
        "3",
        "--json",
    ]);
    expect_code(&output, 0);
    let document = json(&output);
    assert_eq!(document["processors"], 100);
    let load = document["offered_load"].as_f64().unwrap();
    assert!((load - 0.3).abs() < 0.03, "{load}");
    let windows = document["ranking"]["windows"].as_array().unwrap();
    assert_eq!(windows.len(), 3);
    assert_eq!(
        document["reduction"]["window"]["start_s"].as_f64(),
        windows[0]["start_s"].as_f64()
    );
    assert_eq!(document["reduction"]["keep"], "share");
    assert_eq!(document["reduction"]["load"]["offered"], 0.3);
    let steps = document["steps"].as_array().unwrap();
    assert_eq!(steps[0]["name"], "window");
    let left_out: u64 = document["reduced"]
        .as_object()
        .unwrap()
        .values()
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert_eq!(
        document["source_jobs"].as_u64().unwrap() - left_out,
        document["jobs"].as_u64().unwrap()
    );
}

#[test]
fn without_an_output_the_best_windows_are_shown_and_nothing_is_written() {
    let output = run(&[
        "trace",
        "reduce",
        SHIPPED,
        "--window-length",
        "1d",
        "--rank",
        "4",
    ]);
    expect_code(&output, 0);
    let text = stdout(&output);
    for part in [
        "warm-up",
        "#4",
        "interarrival",
        "arrival_rate",
        "wrote nothing",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_scenario_says_the_same_and_its_reduced_trace_runs_as_the_scenario_does() {
    let jobs: Vec<(u64, i64, u32)> = (0..60)
        .map(|i| (500 + 97 * i, 20 + 13 * (i as i64 % 11), 1 + (i % 4) as u32))
        .collect();
    let keys = "domain = \"a\"\nwindow = { start = \"20m\", length = \"1h\" }\nkeep = \"2/3\"\n\
                phase = 1\nscale = { arrival = 7, run_time = 3 }\nmin_run_time = \"12s\"";
    let bench = Bench::new(&PAIR.replacen("domain = \"a\"", keys, 1), &jobs);
    let (scenario, target) = (bench.path("s.toml"), bench.path("r.swf"));
    let output = run(&[
        "trace",
        "reduce",
        "--from-scenario",
        &scenario,
        &target,
        "--json",
    ]);
    expect_code(&output, 0);
    let document = json(&output);
    assert_eq!(document["processors"], 8);
    assert_eq!(document["reduction"]["keep"], "2/3");
    let whole = bench.path("w.toml");
    std::fs::write(&whole, PAIR.replace("t.swf", "r.swf")).unwrap();
    let figures = |scenario: &str| {
        let output = run(&[
            "run",
            scenario,
            "--no-out",
            "--json",
            "--set",
            "run.name=same",
        ]);
        expect_code(&output, 0);
        let mut runs = json(&output)["runs"].clone();
        // What a warning says of compression is no result. Bounded slowdown is: the file
        // says by what its run times were divided.
        for run in runs.as_array_mut().unwrap() {
            run.as_object_mut().unwrap().remove("warnings");
        }
        runs
    };
    assert_eq!(figures(&scenario), figures(&whole));
}

#[test]
fn a_workload_is_named_by_index_trace_or_entry() {
    let scenario = "[[workload]]\ntrace = \"t.swf\"\ndomain = \"a\"\nmax_processors = 1\n\
        offset = \"5s\"\n[[workload]]\ntrace = \"t.swf\"\ncluster = \"b1\"\nmax_processors = 2\n\
        [[domain]]\nname = \"a\"\nclusters = [ { name = \"a1\", processors = 4 } ]\n\
        [[domain]]\nname = \"b\"\nclusters = [ { name = \"b1\", processors = 4 } ]\n";
    let bench = Bench::new(scenario, &[(0, 5, 1), (5, 5, 2), (9, 5, 3)]);
    let file = bench.path("s.toml");
    let jobs = |workload: &str| {
        let words = [
            "trace",
            "reduce",
            "--from-scenario",
            &file,
            "--workload",
            workload,
            "--json",
        ];
        let output = run(&words);
        expect_code(&output, 0);
        (
            json(&output)["jobs"].as_u64().unwrap(),
            json(&output)["warnings"].to_string(),
        )
    };
    assert_eq!(jobs("a").0, 1);
    assert!(jobs("0").1.contains("it stays with the scenario"));
    assert_eq!((jobs("b1").0, jobs("1").0), (2, 2));
    for words in [&["--workload", "t.swf"][..], &["--workload", "c"], &[]] {
        let all = [&["trace", "reduce", "--from-scenario", &file][..], words].concat();
        let output = run(&all);
        expect_code(&output, 2);
        let told = stderr(&output);
        assert!(
            told.contains("expected one of: 0 = t.swf = a; 1 = t.swf = b1"),
            "{told}"
        );
    }
}

#[test]
fn what_cannot_be_done_is_refused_with_what_was_expected() {
    let dir = tempfile::tempdir().unwrap();
    let no_header = out(&dir, "n.swf");
    std::fs::write(&no_header, "1 0 -1 5 1 -1 -1 1 -1 -1 1 1 1 1 1 1 -1 -1\n").unwrap();
    let check = |words: &[&str], expected: &str| {
        let output = run(&[&["trace", "reduce"], words].concat());
        expect_code(&output, 2);
        let told = stderr(&output);
        assert!(told.contains(expected), "{words:?}: {told}");
        assert!(stdout(&output).is_empty());
    };
    check(&[], "expected IN and OUT, or --from-scenario");
    check(&["none.swf"], "none.swf: the file cannot be opened");
    check(&[&no_header, &no_header], "this is the trace to be reduced");
    check(
        &[&no_header, "--load", "0.5"],
        "expected --processors N beside --load",
    );
    check(&[SHIPPED, "--rank", "3"], "there are no windows to rank");
    check(&[SHIPPED, "--window", "7d"], "expected START,LENGTH");
    check(&[SHIPPED, "--window", "7d,0s"], "a length above 0");
    check(
        &[SHIPPED, "--window-length", "9000d"],
        ": --window-length 9000d: expected a window that starts at a multiple of 1d and fits",
    );
    check(&[SHIPPED, "--keep", "3/2"], "expected m/n");
    check(
        &[SHIPPED, "--keep", "1/2", "--phase", "2"],
        "below the n of --keep",
    );
    check(
        &[SHIPPED, "--keep", "1/2", "--load", "0.5"],
        "cannot be used with",
    );
    check(
        &[SHIPPED, "--share", "1.5"],
        ": --share 1.5: expected a share above 0 and at most 1",
    );
    check(&[SHIPPED, "--scale", "0"], "above 0");
    check(
        &[SHIPPED, "--sanitize", "odd"],
        "expected one of no-submit-time",
    );
    check(
        &[SHIPPED, &out(&dir, "e.swf"), "--window", "900d,1d"],
        "the reduction leaves no job (expected at least one to write)",
    );
    check(&[SHIPPED, "--require", "ks < 1"], "--require");
    check(
        &[SHIPPED, "--sheet", "s.html"],
        "judge what is written (expected OUT)",
    );
    check(
        &[
            SHIPPED,
            &out(&dir, "e.swf"),
            "--keep",
            "1/2",
            "--sheet",
            &no_header,
        ],
        "expected a new file, or --force",
    );
    check(&[SHIPPED, "--skip-end", "1d"], "--window-length");
    check(
        &[SHIPPED, "/nowhere/at/all.swf"],
        "the reduced trace cannot be written",
    );
    check(&["--from-scenario", "none.toml"], "none.toml");
}

#[test]
fn the_lsap_week_comes_out_of_its_scenario() {
    let Some(folder) = archive("the_lsap_week_comes_out_of_its_scenario") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let target = out(&dir, "week.swf");
    let trace = folder
        .join("CTC-SP2-1996-3.1-cln.swf.gz")
        .display()
        .to_string();
    let scenario = root()
        .join("resources/scenarios/lsap-ctc.toml")
        .display()
        .to_string();
    let output = run(&[
        "trace",
        "reduce",
        "--from-scenario",
        &scenario,
        &trace,
        &target,
        "--json",
    ]);
    expect_code(&output, 0);
    let document = json(&output);
    assert_eq!(
        (&document["jobs"], &document["processors"]),
        (&481.into(), &450.into())
    );
    assert_eq!(document["span_s"], 10_080.0);
    assert_eq!(lines(&target).len(), 481);
    assert!(Path::new(&target).exists());
}
