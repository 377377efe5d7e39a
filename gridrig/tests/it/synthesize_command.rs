//! `gridrig trace synthesize`, as a user would call it.

use crate::command::{expect_code, gridrig, root, run, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The document of `--json`.
fn json(words: &[&str]) -> Value {
    let output = run(&[&["trace", "synthesize"], words, &["--json"]].concat());
    expect_code(&output, 0);
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["schema"], "gridrig.trace-synthesize.1");
    document
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_load_that_is_asked_for_is_reached_and_told() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("week.swf");
    let words = "lublin --processors 64 --days 7 --load 0.7 --seed 3 --out";
    let mut words: Vec<&str> = words.split(' ').collect();
    words.push(text(&out));
    let made = json(&words);
    let load = made["offered_load"].as_f64().unwrap();
    assert!((load / 0.7 - 1.0).abs() < 0.01, "{load}");
    assert_eq!(made["load"]["wanted_load"], 0.7);
    let swf = fs::read_to_string(&out).unwrap();
    assert!(swf.contains(
        "; Note: made by gridrig trace synthesize lublin --processors 64 --days 7 --load 0.7 \
         --seed 3\n"
    ));
    let jobs = swf.lines().filter(|line| !line.starts_with(';')).count();
    assert_eq!(made["jobs"], jobs);
}

#[test]
fn a_look_alike_is_made_again_from_its_model_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let (model, first, second) = (path("m.json"), path("a.swf"), path("b.swf"));
    let made = json(&[
        "like",
        "traces/ctc-like.swf.gz",
        "--model-out",
        text(&model),
        "--out",
        text(&first),
    ]);
    assert_eq!(made["recurring_jobs"], 0);
    assert_eq!(made["jobs"], 480);
    let behaviour = &made["behaviour"];
    assert_eq!(behaviour["queueing"][0]["discipline"], "easy-backfill");
    assert_eq!(behaviour["queueing"][1]["discipline"], "fcfs");
    let [source, generated] = [0, 1].map(|at| &behaviour["weeks_above"][at]);
    assert_eq!(source, generated);
    json(&["model", text(&model), "--out", text(&second)]);
    let jobs = |path: &Path| -> Vec<String> {
        let swf = fs::read_to_string(path).unwrap();
        let lines = swf.lines().filter(|line| !line.starts_with(';'));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(jobs(&first), jobs(&second));
}

#[test]
fn every_model_reports_without_writing_anything() {
    for words in [
        &["lublin", "--jobs", "100"][..],
        &["poisson", "--preset", "koala-w2"],
        &["burst", "--preset", "ctc"],
        &["like", "traces/grid5000-like.swf.gz", "--days", "2"],
        &["model", "traces/ctc-like.json"],
    ] {
        let output = run(&[&["trace", "synthesize"], words].concat());
        expect_code(&output, 0);
        let report = stdout(&output);
        assert!(report.contains("jobs by hour of the day"), "{report}");
        assert!(report.contains("nothing written; --out FILE"), "{report}");
        // Only a look-alike of its source's length queues beside it.
        assert!(!report.contains("on one cluster of"), "{report}");
    }
}

#[test]
fn a_file_that_exists_is_not_overwritten_without_force() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("x.swf");
    fs::write(&out, "mine").unwrap();
    let words = [
        "trace",
        "synthesize",
        "lublin",
        "--jobs",
        "5",
        "--out",
        text(&out),
    ];
    let refused = run(&words);
    expect_code(&refused, 2);
    assert!(stderr(&refused).contains("expected a new file, or --force"));
    assert_eq!(fs::read_to_string(&out).unwrap(), "mine");
    expect_code(&run(&[&words[..], &["--force"]].concat()), 0);
}

#[test]
fn mistakes_exit_2_and_name_what_is_wrong() {
    let check = |words: &[&str], message: &str| {
        let output = run(&[&["trace", "synthesize"], words].concat());
        expect_code(&output, 2);
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
        assert_eq!(stdout(&output), "");
    };
    check(&["lublin", "--days", "0"], "field extent.days = \"0\"");
    check(&["lublin", "--load=-1"], "field load");
    check(&["lublin", "--days", "NaN"], "field extent.days = \"NaN\"");
    check(&["burst", "--days", "3"], "--days: expected none");
    check(
        &["burst", "--size", "204,200,10"],
        "field size.mean = \"200\": expected moments that jobs of these groups",
    );
    check(&["like", "no/such.swf"], "no/such.swf");
    check(&["model", "no/such.json"], "no/such.json: cannot be read");
    check(&["model", "traces/README.md"], "traces/README.md:1: ");
    check(
        &["lublin", "--jobs", "5", "--out", "no/such/dir/x.swf"],
        "no/such/dir/x.swf",
    );
}

#[test]
fn the_traces_that_ship_are_what_the_command_makes_from_their_models() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["ctc-like", "grid5000-like"] {
        let out = dir.path().join(format!("{name}.swf"));
        json(&["model", &format!("traces/{name}.json"), "--out", text(&out)]);
        let shipped = fs::File::open(root().join(format!("traces/{name}.swf.gz"))).unwrap();
        let mut unzipped = String::new();
        let mut reader = std::process::Command::new("gunzip")
            .arg("-c")
            .stdin(shipped)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = reader.stdout.take().unwrap();
        std::io::Read::read_to_string(&mut pipe, &mut unzipped).unwrap();
        reader.wait().unwrap();
        assert!(unzipped == fs::read_to_string(&out).unwrap(), "{name}");
    }
}

#[test]
fn the_first_signal_ends_it_and_no_half_trace_stays() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("long.swf");
    let partial = dir.path().join("long.swf.partial");
    let words = "trace synthesize lublin --jobs 100000000 --out";
    let mut child = gridrig()
        .args(words.split(' '))
        .arg(&out)
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !partial.exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let kill = std::process::Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
