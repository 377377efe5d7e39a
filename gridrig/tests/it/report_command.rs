//! `gridrig report`

use crate::command::{
    Bench, JOBS, PAIR, expect_code, expect_refused, expect_stderr, json, ok, run, split, stderr,
    stdout,
};
use std::path::Path;
use std::process::Command;

/// Runs of two policies, each with five phases of its brokers.
fn repeats() -> Bench {
    let replicate = "replicate = { over = \"broker-phase\", count = 5 }\n";
    Bench::ran(&format!("{PAIR}{replicate}"), &JOBS)
}

#[test]
fn the_page_opens_with_the_sentence_of_compare() {
    let bench = repeats();
    let (runs, out) = (bench.path("runs"), bench.path("report.html"));
    let compared = json(&run(&["compare", &runs, "--json"]));
    let sentence = compared["verdict"]["text"].as_str().unwrap();
    let output = ok(run(&["report", &runs, "--out", &out]));
    assert!(stdout(&output).starts_with(sentence));
    let page = std::fs::read_to_string(&out).unwrap();
    let opening = page.split("<h2").next().unwrap();
    assert!(opening.contains(sentence), "{sentence}\n{opening}");
    let again = run(&["report", &runs, "--out", &out, "--force", "--json"]);
    let document = json(&again);
    assert_eq!(document["verdict"], compared["verdict"]);
    assert_eq!(document["runs"], 10);
    assert_eq!(document["bytes"], page.len());
    assert_eq!(std::fs::read_to_string(&out).unwrap(), page);
    let other = run(&split(&format!(
        "report {runs} --out {out} --force --baseline free-node --json"
    )));
    assert_eq!(json(&other)["verdict"]["baseline"], "free-node");
}

#[test]
fn without_out_the_page_is_written_beside_the_runs() {
    let bench = Bench::ran(PAIR, &JOBS);
    let (one, other) = ("runs/s-1/round-robin", "runs/s-1/free-node");
    let runs = [bench.path("runs/s-1"), bench.path(&format!("{one}/r000"))];
    let page = bench.path("runs/s-1/report.html");
    let told = ok(run(&["report", &runs[0]]));
    assert!(stdout(&told).contains(&format!("written: {page} (")));
    assert!(Path::new(&page).is_file());
    expect_code(&run(&["report", &runs[0]]), 2);
    // No run directory gets another file.
    expect_code(&run(&["report", &runs[1], &bench.path(other)]), 0);
    assert!(Path::new(&bench.path(&format!("{one}/report.html"))).is_file());
    expect_code(&run(&["audit", &runs[1]]), 0);
}

#[test]
fn a_page_that_is_there_is_kept_unless_forced() {
    let bench = Bench::ran(PAIR, &JOBS);
    let (runs, out) = (bench.path("runs"), bench.path("report.html"));
    std::fs::write(&out, "mine").unwrap();
    expect_refused(
        &run(&["report", &runs, "--out", &out]),
        "expected a new file, or --force",
    );
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "mine");
    expect_code(&run(&["report", &runs, "--out", &out, "--force"]), 0);
    assert!(
        std::fs::read_to_string(&out)
            .unwrap()
            .starts_with("<!DOCTYPE html>")
    );
    let nowhere = bench.path("no/such/folder/report.html");
    expect_refused(
        &run(&["report", &runs, "--out", &nowhere]),
        "cannot be written",
    );
}

#[test]
fn bad_input_writes_no_page() {
    let bench = Bench::ran(PAIR, &JOBS);
    let (runs, out) = (bench.path("runs"), bench.path("report.html"));
    let foreign = bench.path("foreign");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(Path::new(&foreign).join("manifest.json"), "{\"a\":1}").unwrap();
    let cases: [&[&str]; 5] = [
        &[&foreign],
        &[&bench.path("nothing")],
        &[&runs, "--baseline", "nobody"],
        &[&runs, "--replication", "window+7d"],
        &[&runs, "--primary", "delay.mean"],
    ];
    for words in cases {
        let mut all = vec!["report"];
        all.extend(words);
        all.extend(["--out", &out, "--json"]);
        let output = run(&all);
        expect_code(&output, 2);
        assert_eq!(stdout(&output), "");
        assert!(
            stderr(&output).starts_with("error: "),
            "{}",
            stderr(&output)
        );
        assert!(!Path::new(&out).exists(), "{words:?}");
    }
}

#[test]
fn a_missed_threshold_ends_with_99_and_a_page() {
    let bench = Bench::ran(PAIR, &JOBS);
    let (runs, out) = (bench.path("runs"), bench.path("report.html"));
    let output = run(&[
        "report",
        &runs,
        "--out",
        &out,
        "--require",
        "delay_s.max < 0.001",
    ]);
    expect_code(&output, 99);
    expect_stderr(&output, "delay_s.max < 0.001: missed by round-robin");
    assert!(
        std::fs::read_to_string(&out)
            .unwrap()
            .contains("\u{2717} 0 of 1 runs")
    );
}

/// The one command under "Run it again", run in the bench's directory.
fn run_again(bench: &Bench) {
    let (runs, out) = (bench.path("runs"), bench.path("report.html"));
    expect_code(&run(&["report", &runs, "--out", &out]), 0);
    let page = std::fs::read_to_string(&out).unwrap();
    let section = page.split("id=\"run-it-again\"").nth(1).unwrap();
    let block = |number: usize| {
        let code = section.split("<code>").nth(number).unwrap();
        let code = code.split("</code>").next().unwrap();
        code.replace("&quot;", "\"")
            .replace("&#39;", "'")
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&")
    };
    // Who has the page only has the scenario too.
    let scenario = bench.path("runs/s-1/round-robin/r000/scenario.toml");
    let scenario = std::fs::read_to_string(scenario).unwrap();
    assert_eq!(block(2), scenario.trim_end());
    let unescaped = block(1);
    assert_eq!(
        unescaped.lines().count(),
        1,
        "one command for all: {unescaped}"
    );
    let bin = Path::new(env!("CARGO_BIN_EXE_gridrig")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .args(["-euc", &unescaped])
        .current_dir(bench.dir.path())
        .env("PATH", format!("{}:{path}", bin.display()))
        .output()
        .unwrap();
    expect_code(&output, 0);
}

/// Every run of these policies is there again, byte for byte.
fn expect_same(bench: &Bench, policies: &[&str]) {
    let root = bench.dir.path();
    for policy in policies {
        for replication in 0..5 {
            let place = format!("s-1/{policy}/r{replication:03}/jobs.parquet");
            let first = std::fs::read(root.join("runs").join(&place)).unwrap();
            let again = std::fs::read(root.join("again").join(&place)).unwrap();
            assert_eq!(again, first, "{place}");
        }
    }
}

#[test]
fn the_command_on_the_page_makes_the_same_runs() {
    let bench = repeats();
    run_again(&bench);
    expect_same(&bench, &["round-robin", "free-node"]);
}

#[test]
fn shaken_runs_and_bounds_are_made_again_by_one_command() {
    let scenario = format!(
        "{}replicate = {{ over = \"shake\", step = \"3s\", count = 5 }}\n",
        PAIR.replace("bounds = false", "bounds = true")
    );
    let bench = Bench::ran(&scenario, &JOBS);
    run_again(&bench);
    let all = split("round-robin free-node local-only full-information pooled");
    expect_same(&bench, &all);
}

#[test]
fn a_scenario_beside_the_working_directory_leaves_no_absolute_path() {
    let bench = Bench::new(PAIR, &JOBS);
    let scenario = bench.path("s.toml");
    let output = Command::new(env!("CARGO_BIN_EXE_gridrig"))
        .args(["run", &scenario, "--out", "runs"])
        .current_dir(bench.dir.path())
        .output()
        .unwrap();
    expect_code(&output, 0);
    let resolved = std::fs::read_to_string(bench.path("runs/s-1/free-node/r000/scenario.toml"));
    let resolved = resolved.unwrap();
    assert!(resolved.contains("trace = \"t.swf\""), "{resolved}");
}

/// Two sites below one, of which `a` borrows what it has not.
pub const LENDING: &str = "[workload]
trace = \"t.swf\"
domain = \"a\"

[[domain]]
name = \"a\"
parent = \"top\"
grid = \"g\"
clusters = [ { name = \"a1\", processors = 2 } ]

[[domain]]
name = \"b\"
parent = \"top\"
siblings = [\"a\"]
grid = \"g\"
clusters = [ { name = \"b1\", processors = 4 } ]

[[domain]]
name = \"top\"
administrative = true

[run]
policies = [\"free-node(matchmaking=delegate)\", \"free-node(matchmaking=independent)\"]
bounds = false
";

pub const BORROWERS: [(u64, i64, u32); 3] = [(1, 10_000, 2), (10, 3_600, 2), (20, 100, 1)];

#[test]
fn the_page_says_whose_processors_were_used_and_hatches_the_borrowed_ones() {
    let bench = Bench::ran(LENDING, &BORROWERS);
    let (runs, out) = (bench.path("runs"), bench.path("report.html"));
    expect_code(&run(&["report", &runs, "--out", &out]), 0);
    let page = std::fs::read_to_string(&out).unwrap();
    let part = |from: &str, to: &str| {
        let part = page.split_once(&format!("<h2 id=\"{from}\"")).unwrap().1;
        part.split_once(&format!("<h2 id=\"{to}\"")).unwrap().0
    };
    let lending = part("whose-processors", "gantt-charts");
    // From the delegation until the release: what is a little more than the hour that it ran.
    let hours = "<th scope=\"row\">a</th><td class=\"num\">2.";
    for wanted in ["borrowed by", "lent by", "Who pays and who gains", hours] {
        assert!(lending.contains(wanted), "{wanted}: {lending}");
    }
    let gantt = part("gantt-charts", "demand-and-delay-over-time");
    let of_policy: Vec<&str> = gantt.split("<figure").skip(1).collect();
    assert!(of_policy[0].contains(">on borrowed processors<"));
    assert!(of_policy[0].contains("<path class=\"z\""));
    // Where nobody lends there is nothing to hatch but the key of the legend.
    assert!(of_policy[1].contains(">forwarded<"));
    assert_eq!(of_policy[1].matches("class=\"z\"").count(), 1);
}
