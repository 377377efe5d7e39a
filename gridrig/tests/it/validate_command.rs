//! `gridrig trace validate`.

use crate::command::{expect_code, json, run, stderr, stdout};
use crate::need::archive;
use std::fs;
use tempfile::TempDir;

const SHIPPED: &str = "traces/ctc-like.swf.gz";

fn path(dir: &TempDir, name: &str) -> String {
    dir.path().join(name).display().to_string()
}

/// Reduces a trace with these options and answers where it is.
fn reduced(dir: &TempDir, source: &str, options: &[&str]) -> String {
    let target = path(dir, "reduced.swf");
    let words = [&["trace", "reduce", source, &target], options].concat();
    expect_code(&run(&words), 0);
    target
}

/// The SWF text without the job lines that `drop` says, by their fields.
fn without(text: &str, mut drop: impl FnMut(&[&str]) -> bool) -> String {
    let kept = text.lines().filter(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        line.starts_with(';') || !drop(&fields)
    });
    kept.map(|line| format!("{line}\n")).collect()
}

#[test]
fn an_honest_reduction_passes_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let short = reduced(
        &dir,
        SHIPPED,
        &[
            "--window",
            "1d,4d",
            "--keep",
            "2/5",
            "--scale",
            "60",
            "--min-run-time",
            "1s",
        ],
    );
    let sheet = path(&dir, "sheet.html");
    let output = run(&["trace", "validate", SHIPPED, &short, "--sheet", &sheet]);
    expect_code(&output, 0);
    let text = stdout(&output);
    for part in [
        "every job is a job of the original",
        "outside-window",
        "processors.ks",
        "clusters of arrivals:",
        "adjusted Rand index",
        "at an offered load of",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // One paragraph in plain words comes first.
    let (first, _) = text.split_once("\n\n").unwrap();
    assert!(
        first.starts_with("open: ") || first.starts_with("equivalent: "),
        "{first}"
    );
    assert!(
        first.contains("% of the original's") && first.contains(", as declared"),
        "{first}"
    );
    assert_eq!(stderr(&output), "");
    let on_sites = ["--scenario", "resources/scenarios/two-sites.toml"];
    let output = run(&[&["trace", "validate", SHIPPED, &short], &on_sites[..]].concat());
    expect_code(&output, 0);
    let text = stdout(&output);
    assert!(
        text.contains("On the clusters of two-sites.toml, at"),
        "{text}"
    );
    let page = fs::read_to_string(&sheet).unwrap();
    for part in ["LSAP Figure 3", "LSAP Figure 4", "<svg", "users.worst"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<script") && !page.contains("src=\"http"));
    let refused = run(&["trace", "validate", SHIPPED, &short, "--sheet", &sheet]);
    expect_code(&refused, 2);
    assert!(stderr(&refused).contains("expected a new file, or --force"));
}

#[test]
fn the_document_is_all_there_is_on_stdout() {
    let dir = tempfile::tempdir().unwrap();
    let short = reduced(&dir, SHIPPED, &["--share", "0.4", "--seed", "3"]);
    let words = ["trace", "validate", SHIPPED, &short, "--json"];
    let output = run(&words);
    expect_code(&output, 0);
    let document = json(&output);
    assert_eq!(document["passed"], true);
    assert_eq!(document["verdict"], "open");
    assert_eq!(document["identity"]["foreign"], 0);
    assert_eq!(document["identity"]["shared"], document["reduced_jobs"]);
    let statistics = document["statistics"].as_array().unwrap();
    assert!(statistics.iter().all(|s| s["inside"] == true));
    let curve = document["clusters"]["original_wcss"].as_array().unwrap();
    assert_eq!(curve.len(), 30);
    assert!(document.get("curves").is_none());
    assert_eq!(run(&words).stdout, output.stdout);
}

#[test]
fn a_fraud_exits_99_and_names_what_gave_it_away() {
    let dir = tempfile::tempdir().unwrap();
    let short = reduced(&dir, SHIPPED, &["--keep", "2/5", "--scale", "60"]);
    let text = fs::read_to_string(&short).unwrap();
    let mut serial = 0;
    let few_serial = without(&text, |fields| {
        serial += u32::from(fields[4] == "1");
        fields[4] == "1" && serial % 10 != 0
    });
    fs::write(&short, few_serial).unwrap();
    let output = run(&["trace", "validate", SHIPPED, &short]);
    expect_code(&output, 99);
    assert!(stdout(&output).starts_with("different: "));
    assert!(stdout(&output).contains("OUTSIDE"));
    let told = stderr(&output);
    assert!(told.contains("validate: serial.share = "), "{told}");
    assert!(told.contains("outside the envelope ["), "{told}");
    let output = run(&["trace", "validate", SHIPPED, &short, "--json"]);
    expect_code(&output, 99);
    assert_eq!(json(&output)["schema"], "gridrig.trace-validate.1");
    assert_eq!(json(&output)["passed"], false);
}

#[test]
fn without_the_busiest_user_or_with_shuffled_arrivals_a_reduction_exits_99() {
    let dir = tempfile::tempdir().unwrap();
    let short = reduced(&dir, SHIPPED, &["--keep", "2/5", "--scale", "60"]);
    let text = fs::read_to_string(&short).unwrap();
    let judge = |text: &str| {
        fs::write(&short, text).unwrap();
        let output = run(&["trace", "validate", SHIPPED, &short]);
        expect_code(&output, 99);
        stderr(&output)
    };
    let is_job = |line: &&str| !line.starts_with(';');
    let jobs: Vec<Vec<&str>> = text
        .lines()
        .filter(is_job)
        .map(|line| line.split_whitespace().collect())
        .collect();
    let count = |user: &str| jobs.iter().filter(|job| job[11] == user).count();
    let busiest = jobs
        .iter()
        .map(|job| job[11])
        .max_by_key(|user| count(user));
    let told = judge(&without(&text, |fields| Some(fields[11]) == busiest));
    assert!(told.contains("validate: users.worst = "), "{told}");
    // The 173rd job next, round and round: 192 jobs have no divisor in common
    // with it. New numbers, so that no job is known by its number.
    let mut moved: Vec<(&str, Vec<&str>)> = Vec::new();
    for (at, job) in jobs.iter().enumerate() {
        moved.push((jobs[at * 173 % jobs.len()][1], job.clone()));
    }
    moved.sort_by(|a, b| {
        let seconds = |text: &str| text.parse::<f64>().unwrap();
        seconds(a.0).total_cmp(&seconds(b.0))
    });
    let mut shuffled = without(&text, |_| true);
    for (number, (submit, job)) in moved.iter().enumerate() {
        shuffled += &format!("{} {submit} {}\n", number + 1, job[2..].join(" "));
    }
    let told = judge(&shuffled);
    assert!(told.contains("validate: users.time = "), "{told}");
}

#[test]
fn a_missed_requirement_exits_99() {
    let dir = tempfile::tempdir().unwrap();
    let short = reduced(&dir, SHIPPED, &["--keep", "2/5"]);
    let judge = |bound| run(&["trace", "validate", SHIPPED, &short, "--require", bound]);
    expect_code(&judge("processors.ks < 0.5"), 0);
    let output = judge("processors.ks < 0.000001");
    expect_code(&output, 99);
    assert!(stderr(&output).contains("validate: processors.ks < 0.000001 = 0."));
    assert!(stdout(&output).contains("MISSED"));
}

#[test]
fn a_trace_without_the_header_is_told_about_and_takes_options() {
    let dir = tempfile::tempdir().unwrap();
    let options = [
        "--window",
        "1d,4d",
        "--keep",
        "1/2",
        "--scale",
        "60",
        "--min-run-time",
        "1s",
    ];
    let short = reduced(&dir, SHIPPED, &options);
    let text = fs::read_to_string(&short).unwrap();
    let bare: String = text
        .lines()
        .filter(|line| !line.starts_with(';'))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(&short, bare).unwrap();
    let output = run(&["trace", "validate", SHIPPED, &short]);
    expect_code(&output, 99);
    assert!(stderr(&output).contains("no header line Gridrig-Reduction"));
    let words = [
        "--window",
        "1d,4d",
        "--scale",
        "60",
        "--min-run-time",
        "1s",
        "--zero-run-time",
        "1s",
    ];
    let output = run(&[&["trace", "validate", SHIPPED, &short], &words[..]].concat());
    expect_code(&output, 0);
}

#[test]
fn bad_usage_and_input_exit_2() {
    let dir = tempfile::tempdir().unwrap();
    let short = reduced(&dir, SHIPPED, &["--keep", "2/5"]);
    for (options, told) in [
        (
            &["--require", "cpus < 1"][..],
            "statistic = \"cpus\": expected one of processors.ks",
        ),
        (
            &["--require", "processors.ks"],
            "expected STATISTIC < NUMBER",
        ),
        (&["--only", "everything"], "expected one of marginals"),
        (&["--samples", "100"], "200..=100000"),
        (&["--window", "1d"], "expected START,LENGTH"),
        (&["--scale", "0"], "expected ARRIVAL,RUN"),
        (&["--thin", "2"], "expected a share above 0 and below 1"),
        (
            &["--window", "900d,1d"],
            "original jobs = 0 after the width limit and the window",
        ),
        (
            &[
                "--only",
                "marginals",
                "--require",
                "clusters.ari > 2",
                "--max-processors",
                "0",
            ],
            "0",
        ),
    ] {
        let output = run(&[&["trace", "validate", SHIPPED, &short], options].concat());
        expect_code(&output, 2);
        assert!(
            stderr(&output).contains(told),
            "{told}: {}",
            stderr(&output)
        );
        assert_eq!(stdout(&output), "");
    }
    let swapped = run(&["trace", "validate", &short, SHIPPED]);
    expect_code(&swapped, 2);
    assert!(
        stderr(&swapped).contains("expected at most the"),
        "{}",
        stderr(&swapped)
    );
    let damaged = path(&dir, "damaged.swf");
    fs::write(
        &damaged,
        fs::read_to_string(&short)
            .unwrap()
            .replace("Gridrig-Reduction: {", "Gridrig-Reduction: {{"),
    )
    .unwrap();
    let output = run(&["trace", "validate", SHIPPED, &damaged]);
    expect_code(&output, 2);
    assert!(
        stderr(&output).contains("Gridrig-Reduction"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_model_of_the_trace_is_held_to_what_a_model_can_do() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(&["trace", "validate", SHIPPED, SHIPPED, "--generated"]);
    expect_code(&output, 0);
    let text = stdout(&output);
    assert!(
        text.contains("not judged") && text.contains("users.tv"),
        "{text}"
    );
    let other = "traces/grid5000-like.swf.gz";
    expect_code(
        &run(&["trace", "validate", SHIPPED, other, "--generated"]),
        99,
    );
    drop(dir);
}

#[test]
fn the_week_of_the_paper_gets_its_verdict() {
    let Some(folder) = archive("the_week_of_the_paper_gets_its_verdict") else {
        return;
    };
    let log = folder
        .join("CTC-SP2-1996-3.1-cln.swf.gz")
        .display()
        .to_string();
    let dir = tempfile::tempdir().unwrap();
    let short = reduced(
        &dir,
        &log,
        &[
            "--window",
            "87.08d,7d",
            "--max-processors",
            "225",
            "--keep",
            "2/5",
            "--phase",
            "2",
            "--scale",
            "60",
            "--min-run-time",
            "1s",
        ],
    );
    let output = run(&["trace", "validate", &log, &short, "--json"]);
    expect_code(&output, 0);
    let document = json(&output);
    assert_eq!(document["reduced_jobs"], 481);
    assert_eq!(document["original_jobs"], 1201);
    assert_eq!(document["statistics"].as_array().unwrap().len(), 31);
}
