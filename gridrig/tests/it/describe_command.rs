//! `gridrig describe`: jobs from one language into another.

use crate::command::{expect_part, expect_refused, expect_stdout, json, ok, run, stderr, stdout};

#[test]
fn a_job_is_translated_and_what_is_lost_is_listed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("job");
    let path = file.display().to_string();
    let to = |language: &str| run(&["describe", &path, "--to", language]);
    let xrsl = "&(executable=/bin/sleep)(arguments=90)(count=4)\n(walltime=5)(jobname=n)(acl=x)";
    std::fs::write(&file, xrsl).unwrap();
    let output = ok(to("jdl"));
    let jdl = stdout(&output);
    expect_part(&jdl, "  CpuNumber = 4;\n");
    expect_part(&jdl, "Time >= 5;");
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
    let output = ok(to("json"));
    let job = json(&output);
    assert_eq!(
        (&job["processors"], &job["run_time"]),
        (&4.into(), &"90s".into())
    );
    assert_eq!(job["requested_time"], "300s");
    std::fs::write(&file, stdout(&output)).unwrap();
    let output = ok(to("rsl"));
    expect_stdout(&output, "(count=\"4\")");
    expect_refused(
        &run(&["describe", &path, "--to", "jsdl", "--from", "rsl"]),
        "job:1: at \"{",
    );
    std::fs::write(&file, "&(executable=a)").unwrap();
    expect_refused(&to("json"), "no run time: expected one");
}
