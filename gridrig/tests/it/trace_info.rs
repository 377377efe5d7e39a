//! `gridrig trace info`, as a user would call it.

use crate::command::{expect_code, json, run, stderr, stdout};
use crate::need::archive;
use std::fs;

const SHIPPED: &str = "traces/ctc-like.swf.gz";

#[test]
fn trace_info_prints_one_screen_with_the_figures_of_the_trace() {
    let output = run(&["trace", "info", SHIPPED]);
    expect_code(&output, 0);
    let text = stdout(&output);
    for part in [
        "480 jobs of 54 users in 7.0 days",
        "machine of 450 processors (MaxProcs)",
        "peak 1392 processors",
        "no line skipped",
        "run time s ",
        "inter-arrival s ",
        "by hour ",
        "batches ",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert!(text.lines().count() <= 40, "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 140),
        "{text}"
    );
}

#[test]
fn trace_info_as_json_begins_as_the_design_says() {
    let output = run(&["trace", "info", SHIPPED, "--json"]);
    expect_code(&output, 0);
    assert_eq!(stderr(&output), "");
    let document = json(&output);
    let keys: Vec<&str> = document
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(document["schema"], "gridrig.trace-info.1");
    assert_eq!(
        keys[..10],
        [
            "schema",
            "format",
            "jobs",
            "skipped",
            "span_s",
            "max_processors",
            "run_time_s",
            "processors",
            "interarrival_s",
            "demand"
        ]
    );
    assert_eq!(document["format"], "swf");
    assert_eq!(document["demand"]["peak_processors"], 1392);
    let summary: Vec<&str> = document["run_time_s"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        summary,
        [
            "n",
            "mean",
            "sd",
            "cv",
            "min",
            "max",
            "p50",
            "p90",
            "p95",
            "p99",
            "mean_trimmed"
        ]
    );
    assert_eq!(document["clusters"], serde_json::Value::Null);
    assert_eq!(document["arrivals"]["hourly"].as_array().unwrap().len(), 24);
}

#[test]
fn the_sheet_is_one_file_that_loads_nothing_and_is_the_same_every_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    for name in ["a.html", "b.html"] {
        let output = run(&["trace", "info", SHIPPED, "--sheet", &path(name)]);
        expect_code(&output, 0);
        assert!(stderr(&output).contains(&format!("wrote {}", path(name))));
    }
    let (a, b) = (
        fs::read(path("a.html")).unwrap(),
        fs::read(path("b.html")).unwrap(),
    );
    assert!(a == b, "two sheets of one trace differ");
    let text = String::from_utf8(a).unwrap();
    assert!(!text.contains("<script") && !text.contains("src="));
    assert!(!text.contains("http://") && !text.contains("https://"));
    assert_eq!(text.matches("<figure>").count(), 12);
    for heading in [
        "Job profile",
        "Demand with unlimited resources",
        "Batch submissions",
    ] {
        assert!(text.contains(heading), "{heading}");
    }
}

#[test]
fn a_sheet_that_cannot_be_written_is_the_users_to_mend() {
    let output = run(&["trace", "info", SHIPPED, "--sheet", "no/such/folder/a.html"]);
    expect_code(&output, 2);
    assert!(stderr(&output).contains("no/such/folder/a.html"));
}

#[test]
fn processors_and_clusters_can_be_given() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("t.swf");
    let line = |job: u32, submit: u32, partition: u32| {
        format!("{job} {submit} -1 50 2 -1 -1 2 -1 -1 1 7 1 1 1 {partition} -1 -1\n")
    };
    fs::write(&trace, line(1, 0, 1) + &line(2, 10, 2) + &line(3, 100, 2)).unwrap();
    let trace = trace.display().to_string();
    let words = ["trace", "info", &trace, "--json"];
    let silent = run(&words);
    expect_code(&silent, 0);
    assert!(
        stderr(&silent).contains("--processors"),
        "{}",
        stderr(&silent)
    );
    assert!(json(&silent)["offered_load"].is_null());
    let mut given = words.to_vec();
    given.extend(["--processors", "6", "--cluster", "1=4", "--cluster", "2=2"]);
    let given = json(&run(&given));
    assert_eq!(given["offered_load"], 0.5);
    assert_eq!(given["clusters"]["overall_imbalance"]["ratio"], 4.0);
    assert_eq!(given["clusters"]["temporary_imbalance"]["ratio"], 2.0);
    for bad in ["1", "1=0", "x=3", "1=2=3"] {
        let output = run(&["trace", "info", &trace, "--cluster", bad]);
        expect_code(&output, 2);
        assert!(stderr(&output).contains("expected ID=N"), "{bad}");
    }
    expect_code(&run(&["trace", "info", &trace, "--processors", "0"]), 2);
}

#[test]
fn a_gwf_trace_is_told_apart_by_site() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("t.gwf");
    // Columns 12 to 18 are user, group, executable, queue, partition and the
    // two sites; the rest is not available.
    let line = |job: u32, submit: u32, user: &str, site: &str| {
        let rest = ["-1"; 11].join("\t");
        format!(
            "{job}\t{submit}\t5\t60\t1\t-1\t-1\t1\t-1\t-1\t1\t{user}\tG\tX\tQ\t-1\t{site}\t{site}\t\
             {rest}\n"
        )
    };
    let lines = [
        line(1, 1_100_000_000, "U1", "lyon"),
        line(2, 1_100_000_010, "U1", "lyon"),
        line(3, 1_100_000_020, "U2", "rennes"),
    ];
    fs::write(&trace, lines.concat()).unwrap();
    let output = run(&["trace", "info", &trace.display().to_string(), "--json"]);
    expect_code(&output, 0);
    let document = json(&output);
    assert_eq!(document["format"], "gwf");
    assert_eq!(document["distinct"]["users"], 2);
    assert_eq!(document["batches"]["count"], 1);
    let clusters = &document["clusters"];
    assert_eq!(clusters["field"], "site");
    assert_eq!(clusters["loads"][0]["name"], "lyon");
    assert_eq!(clusters["loads"][0]["processors"], 2);
    assert_eq!(clusters["temporary_imbalance"]["ratio"], 2.0);
    assert_eq!(document["first_submit"], "Tue 2004-11-09 11:33 UTC");
}

#[test]
fn what_is_no_trace_is_refused() {
    let output = run(&["trace", "info", "no-such-file.swf", "--json"]);
    expect_code(&output, 2);
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).starts_with("error: no-such-file.swf"));
    expect_code(&run(&["trace", "info", "Cargo.toml"]), 2);
    expect_code(&run(&["trace", "info"]), 2);
}

#[test]
fn the_reservation_table_is_refused_and_a_log_without_header_is_not() {
    let test = "the_reservation_table_is_refused_and_a_log_without_header_is_not";
    let Some(folder) = archive(test) else { return };
    let file = |name: &str| folder.join(name).display().to_string();
    let table = file("GWA-T-2-grid5000-reservation-jobs.log.gz");
    let output = run(&["trace", "info", &table]);
    expect_code(&output, 2);
    assert!(stderr(&output).contains("reservation table"));
    let log = file("METACENTRUM-2009-2.swf.gz");
    let output = run(&["trace", "info", &log, "--processors", "806"]);
    expect_code(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("machine of 806 processors (--processors), offered load 3"));
    assert!(text.contains("the trace has no header"));
    assert!(text.contains("14 clusters (field partition)"));
}
