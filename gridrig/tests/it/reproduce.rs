//! Studies against real programs, in short, and pages that are made again.

use crate::command::{
    expect_code, expect_part, expect_refused, expect_stderr, json, ok, root, run, split, stdout,
};
use crate::need;
use gridrig::reproduce::page::Page;
use std::fs;
use std::path::Path;

#[test]
fn a_short_study_of_slurm_compares_every_job_and_writes_its_report() {
    if need::slurm("a_short_study_of_slurm_compares_every_job").is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("study").display().to_string();
    let words = split("reproduce slurm-fidelity --jobs 12 --processors 8");
    // How far below the bound it stays says how quick the machine is. A job that
    // waits for the end of another where it should not misses it: the longest
    // lasts 26 s.
    let more = ["--load", "2", "--bound", "20", "--out", &out];
    let all: Vec<&str> = words.iter().chain(&more).copied().collect();
    let study = ok(run(&[all.as_slice(), &["--json"]].concat()));
    let document = json(&study);
    assert_eq!(document["schema"], "gridrig.reproduce-slurm-fidelity.1");
    assert!(document["slurm"].as_str().unwrap().contains('.'));
    let builtin = &document["builtin"];
    assert_eq!(
        (builtin["jobs"].as_u64(), builtin["others"].as_u64()),
        (Some(12), Some(0))
    );
    assert!(builtin["slurm_wait_s"]["max"].as_f64() > Some(0.0));
    assert!(builtin["model_wait_s"]["max"].as_f64() > Some(0.0));
    assert_eq!(builtin["start_difference_s"]["n"], 12);
    // What Slurm adds to a run is no gift.
    assert!(
        builtin["overhead_s"]["min"].as_f64() > Some(0.0),
        "{builtin}"
    );
    let backfill = &document["backfill"];
    assert_eq!(backfill["jobs"], 12);
    let sides = backfill["sides"].as_array().unwrap();
    let names: Vec<&str> = sides
        .iter()
        .filter_map(|side| side["discipline"].as_str())
        .collect();
    let wanted = [
        "slurm-backfill",
        "easy-backfill",
        "conservative-backfill",
        "fcfs",
    ];
    assert_eq!(names, wanted);
    for name in [
        "report.md",
        "study.json",
        "jobs-builtin.csv",
        "jobs-backfill.csv",
    ] {
        assert!(dir.path().join("study").join(name).is_file(), "{name}");
    }
    let rows = fs::read_to_string(dir.path().join("study/jobs-builtin.csv")).unwrap();
    assert_eq!(rows.lines().count(), 13);
    expect_refused(&run(&all), "there is a study already");
}

#[test]
fn a_study_that_makes_no_sense_is_refused() {
    let none = run(&["reproduce", "slurm-fidelity", "--load", "0"]);
    expect_refused(&none, "--load 0: expected a number above 0");
    let few = run(&["reproduce", "slurm-fidelity", "--jobs", "3"]);
    expect_code(&few, 2);
}

/// A checkout with one page, of these tables.
fn checkout(tables: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("docs")).unwrap();
    fs::write(dir.path().join("docs/lsap.md"), tables).unwrap();
    let resources = root().join("resources");
    std::os::unix::fs::symlink(resources, dir.path().join("resources")).unwrap();
    dir
}

fn lsap(root: &Path, more: &[&str]) -> std::process::Output {
    let root = root.display().to_string();
    run(&[&["reproduce", "lsap", "--root", &root], more].concat())
}

const TABLES: &str = r#"# A page

<!-- table
name = "weeks"
scenario = "two-sites.toml"
set = ['run.replicate={ over = "shake", step = "90s", count = 2 }']
columns = [["jobs.completed", "jobs"], ["ratio delay_s.mean", "/ first"], ["wins delay_s.max", "wins"]]
lines = ["ours", "range", "words"]
row = [
    { name = "RR", policy = "round-robin", words = [[480, inf], [nan, nan], [nan, nan]] },
    { name = "QL", policy = "queue-length", words = [[0, 479], [0.001, inf], [nan, nan]] },
]
-->
to be made
<!-- end -->
Between.
<!-- table
name = "samples"
scenario = "two-sites.toml"
set = ["workload.keep=1/20"]
samples = 4
columns = [["jobs.completed", "jobs"], ["delay_s.mean", "delay"]]
lines = ["paper", "ours", "samples", "percentile"]
row = [{ name = "RR", policy = "round-robin", paper = [24, 1e9] }]
-->
stays
<!-- end -->
Behind.
"#;

#[test]
fn a_page_is_made_again_table_by_table() {
    let dir = checkout(TABLES);
    let made = ok(lsap(dir.path(), &["--only", "weeks"]));
    let text = stdout(&made);
    // The rest stays, what it is made from included.
    let (before, after) = TABLES.split_once("to be made\n").unwrap();
    assert!(text.starts_with(before) && text.ends_with(after), "{text}");
    let table = &text[before.len()..text.len() - after.len()];
    let lines: Vec<&str> = table.trim().lines().collect();
    assert_eq!(lines[0], "| | | jobs | / first | wins |");
    assert_eq!(lines[2], "| RR | ours | 480.0 | 1.000 | 0 of 2 |");
    assert_eq!(
        lines[3],
        "|  | least to most | 480.0 to 480.0 | 1.000 to 1.000 |  |"
    );
    assert_eq!(
        lines[4],
        "|  | paper's words | inside: at least 480.0 |  |  |"
    );
    assert!(lines[5].starts_with("| QL | ours | 480.0 |"), "{table}");
    let words = "|  | paper's words | **outside**: 0.000 to 479.0 | inside: at least 0.001 |  |";
    assert_eq!(lines[7], words);
    assert_eq!(lines.len(), 8);
    // So are samples, of as many jobs as ours.
    let out = dir.path().join("made.md");
    let file = out.display().to_string();
    expect_code(&lsap(dir.path(), &["--only", "samples", "--out", &file]), 0);
    let text = fs::read_to_string(&out).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(
        lines[1].starts_with("| RR | paper | 24.00 | 1000000000 |"),
        "{text}"
    );
    assert!(lines[2].starts_with("|  | ours | 24.00 |"), "{text}");
    assert!(
        lines[3].starts_with("|  | 4 samples, 5 to 95 % | 24.00 to 24.00 |"),
        "{text}"
    );
    assert_eq!(lines[4], "|  | percentile | 0.500 | 1.000 |");
}

#[test]
fn the_tables_of_a_page_are_drawn_over_what_they_vary() {
    let made = |name: &str, rows: &str| {
        format!(
            "<!-- table\nname = \"{name}\"\nx = \"load, %\"\n\
             columns = [[\"delay_s.mean\", \"delay, s\"], [\"ratio delay_s.mean\", \"/ RR\"]]\n\
             row = [{{ name = \"RR\", policy = \"round-robin\" }}]\n-->\n{rows}<!-- end -->\n"
        )
    };
    let lines =
        |delay: u32| format!("| RR | ours | {delay} | 1.000 |\n|  | least to most | 1 to 9 | |\n");
    let none = checkout(TABLES);
    let file = none.path().join("figures.html").display().to_string();
    let refused = lsap(none.path(), &["--figures", &file]);
    expect_code(&refused, 2);
    let said = String::from_utf8_lossy(&refused.stderr);
    expect_part(&said, "--figures: expected a page with figures");
    let loads = [(20, 7), (10, 3)]
        .map(|(load, delay)| made(&format!("Figure 7, load {load}"), &lines(delay)));
    let dir = checkout(&(TABLES.to_owned() + &loads.concat() + &made("Table 3", &lines(5))));
    let file = dir.path().join("figures.html").display().to_string();
    let out = dir.path().join("made.md").display().to_string();
    let words = ["--only", "samples", "--out", &out, "--figures", &file];
    expect_code(&lsap(dir.path(), &words), 0);
    let html = fs::read_to_string(&file).unwrap();
    assert_eq!(html.matches("<figcaption").count(), 1, "{html}");
    for part in ["Figure 7 of the paper", "delay, s", "load, %", "RR"] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(
        !html.contains("/ RR") && !html.contains("Table 3"),
        "{html}"
    );
}

#[test]
fn a_page_that_cannot_be_made_is_refused_by_name() {
    let nowhere = tempfile::tempdir().unwrap();
    expect_refused(
        &lsap(nowhere.path(), &[]),
        "expected a checkout of gridrig at --root",
    );
    // The log does not ship: nothing is run.
    let no_log = run(&[
        "reproduce",
        "lsap",
        "--root",
        &root().display().to_string(),
        "--archive",
        &nowhere.path().display().to_string(),
    ]);
    expect_refused(&no_log, "there is no CTC-SP2-1996-3.1-cln.swf.gz");
    expect_stderr(&no_log, "https://www.cs.huji.ac.il/labs/parallel/workload");
    let dir = checkout(TABLES);
    let none = lsap(dir.path(), &["--only", "months"]);
    expect_refused(&none, "expected a part of one of weeks, samples");
    for (wrong, expected) in [
        (
            TABLES.replace("samples = 4\n", ""),
            "lines of samples, but no samples",
        ),
        (
            TABLES.replace("[24, 1e9]", "[24]"),
            "1 figures, expected 2 or none",
        ),
        (
            TABLES.replace("[[480, inf], [nan, nan], [nan, nan]]", "[[480, inf]]"),
            "1 figures, expected 3 or none",
        ),
        (
            TABLES.replace("<!-- end -->\nBehind", ""),
            "without its `-->` or `<!-- end -->`",
        ),
        (
            TABLES.replace("samples = 4", "sample = 4"),
            "unknown field `sample`",
        ),
    ] {
        expect_refused(&lsap(checkout(&wrong).path(), &[]), expected);
    }
}

#[test]
fn every_table_of_the_pages_is_understood_and_filled() {
    for name in ["lsap", "la-grid-study"] {
        let text = fs::read_to_string(root().join(format!("docs/{name}.md"))).unwrap();
        let page = Page::read(&text).unwrap();
        assert!(page.tables("").count() >= 5, "{name}");
        assert!(!text.contains("-->\n<!-- end"), "{name}");
    }
}
