//! `gridrig describe`: jobs from one language into another.

use crate::command::{expect_code, json, run, stderr, stdout};

#[test]
fn a_job_is_translated_and_what_is_lost_is_listed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("job");
    let path = file.display().to_string();
    let to = |language: &str| run(&["describe", &path, "--to", language]);
    let xrsl = "&(executable=/bin/sleep)(arguments=90)(count=4)\n(walltime=5)(jobname=n)(acl=x)";
    std::fs::write(&file, xrsl).unwrap();
    let output = to("jdl");
    expect_code(&output, 0);
    let jdl = stdout(&output);
    assert!(
        jdl.contains("  CpuNumber = 4;\n") && jdl.contains("Time >= 5;"),
        "{jdl}"
    );
    let told = stderr(&output);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 3, "{told}");
    assert!(
        lines[1].trim_start().starts_with("2") && lines[1].contains("acl"),
        "{told}"
    );
    assert!(
        lines[2].trim_start().starts_with("-") && lines[2].contains("JobIdentification/JobName"),
        "{told}"
    );
    std::fs::write(&file, &jdl).unwrap();
    let output = to("json");
    expect_code(&output, 0);
    let job = json(&output);
    assert_eq!(
        (&job["processors"], &job["run_time"]),
        (&4.into(), &"90s".into())
    );
    assert_eq!(job["requested_time"], "300s");
    std::fs::write(&file, stdout(&output)).unwrap();
    let output = to("rsl");
    expect_code(&output, 0);
    assert!(stdout(&output).contains("(count=\"4\")"));
    let output = run(&["describe", &path, "--to", "jsdl", "--from", "rsl"]);
    expect_code(&output, 2);
    assert!(
        stderr(&output).contains("job:1: at \"{"),
        "{}",
        stderr(&output)
    );
    std::fs::write(&file, "&(executable=a)").unwrap();
    let output = to("json");
    expect_code(&output, 2);
    assert!(
        stderr(&output).contains("no run time: expected one"),
        "{}",
        stderr(&output)
    );
}
