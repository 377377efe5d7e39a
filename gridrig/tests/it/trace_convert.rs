//! `gridrig trace convert` as a user meets it.

use crate::command::{
    expect_code, expect_part, expect_stderr, expect_stdout, json, ok, root, run, split, stderr,
    stdout,
};

/// A shipped trace and a folder to write into.
fn folder_with_trace() -> (String, tempfile::TempDir) {
    let trace = root().join("traces/ctc-like.swf.gz");
    (trace.display().to_string(), tempfile::tempdir().unwrap())
}

#[test]
fn json_is_one_document_and_messages_go_to_stderr() {
    let (trace, folder) = folder_with_trace();
    let out = folder.path().join("c.gwf").display().to_string();
    let output = run(&split(&format!(
        "trace convert {trace} {out} --sanitize cancelled --json"
    )));
    expect_code(&output, 0);
    let told = json(&output);
    assert_eq!(told["format"], "gwf");
    assert_eq!(told["inputs"][0]["jobs"], 480);
    let removed = told["sanitized"][0]["removed"].as_u64().unwrap();
    assert!(removed > 0);
    assert_eq!(told["outputs"][0]["jobs"], 480 - removed);
    assert!(stderr(&output).is_empty(), "{}", stderr(&output));
}

#[test]
fn what_is_lost_is_named_on_stderr() {
    let (trace, folder) = folder_with_trace();
    let out = folder.path().join("both.swf").display().to_string();
    let output = ok(run(&["trace", "convert", &trace, &trace, &out, "--merge"]));
    expect_stderr(&output, "lost on the way to swf: partition");
    expect_stdout(&output, "(swf): 960 jobs");
}

#[test]
fn mistakes_end_with_2_and_leave_stdout_empty() {
    let (trace, folder) = folder_with_trace();
    let out = folder.path().join("c.swf").display().to_string();
    let words = |more: &[&str]| {
        let mut words = vec!["trace", "convert"];
        words.extend(more);
        let output = run(&words);
        expect_code(&output, 2);
        assert!(stdout(&output).is_empty());
        stderr(&output)
    };
    let told = words(&[&trace, &out, "--sanitize", "falied", "--json"]);
    expect_part(&told, "sanitizing rule = \"falied\": expected one of");
    let told = words(&[&trace, &trace, &out]);
    expect_part(&told, "2 inputs: expected one, or --merge");
    let told = words(&[&trace, &out, "--split", "by=user"]);
    assert!(told.contains("with {} once"), "{told}");
    let told = words(&[&trace, &out, "--split", "by=color"]);
    let fields = "by=user|group|executable|queue|partition|site|account,";
    assert!(told.contains(fields), "{told}");
    let help = stdout(&run(&["trace", "convert", "--help"]));
    assert!(help.contains(fields), "{help}");
    let told = words(&[&trace, &out, "--offset", "3"]);
    assert!(told.contains("expected 1 duration(s) with units"), "{told}");
    let told = words(&["no-such-file.swf", &out]);
    expect_part(&told, "no-such-file.swf: the file cannot be opened");
    assert!(!folder.path().join("c.swf").exists());
}
