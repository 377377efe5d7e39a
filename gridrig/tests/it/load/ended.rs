//! Clients that wait for the end of each job.

use super::{failed, figure, load, with_all_interfaces};
use crate::command::{expect_code, expect_refused, json, start, stdout};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Four clients on two processors: each waits for its job, which waits for another one.
#[test]
fn a_client_waits_for_the_end_of_its_job_if_that_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let (bin, emulator) = with_all_interfaces(dir.path(), "2");
    let at = &emulator.url;
    let lrms = format!("a1={}", emulator.url);
    let broker = start(&["broker", "--name", "a", "--lrms", lrms.as_str()]);
    let ways = [
        format!("json:{at}"),
        format!("json:{}", broker.url),
        format!("arc:{at}/arex"),
        format!("bes:{at}/services/bes"),
        format!("slurm:{bin}"),
    ];
    for way in ways {
        let output = load(&format!(
            "{way} --json --until ended --clients 4 --every 0s --for 1s --run-time 300ms"
        ));
        expect_code(&output, 0);
        let document = json(&output);
        assert_eq!(document["until"], "ended");
        let accepted = figure(&document, "/whole/accepted");
        let mean = document["whole"]["response_s"]["mean"].as_f64().unwrap();
        assert!(accepted >= 4 && mean > 0.3, "{way}: {document}");
    }
    let too_long = format!(
        "json:{} --json --until ended --clients 1 --for 1ms --timeout 300ms --run-time 1h",
        emulator.url
    );
    let output = load(&too_long);
    expect_code(&output, 1);
    assert_eq!(failed(&json(&output), "timed-out"), 1);
    let output = load("command:true --until ended");
    expect_refused(&output, "the state of a command's jobs is not known");
}

/// What is counted as completed is: a job that is removed is not, in any interface.
#[test]
fn a_job_that_is_removed_has_not_completed() {
    let dir = tempfile::tempdir().unwrap();
    let (bin, emulator) = with_all_interfaces(dir.path(), "2");
    let at = &emulator.url;
    let ways = [
        (format!("json:{at}"), "not-completed"),
        (format!("arc:{at}/arex"), "not-completed"),
        (format!("bes:{at}/services/bes"), "not-completed"),
        // sbatch --wait has one exit code for all that goes wrong.
        (format!("slurm:{bin}"), "refused"),
    ];
    for (way, failure) in ways {
        let ended = thread::scope(|scope| {
            let words = format!("{way} --json --until ended --clients 1 --for 1ms --run-time 1h");
            let loading = scope.spawn(move || load(&words));
            while !remove_running(&bin) {
                thread::sleep(Duration::from_millis(20));
            }
            loading.join().unwrap()
        });
        expect_code(&ended, 1);
        assert_eq!(failed(&json(&ended), failure), 1, "{way}");
    }
}

/// Removes the jobs that run, by these commands; whether there were any.
fn remove_running(bin: &str) -> bool {
    let run = |command: &str, words: &[&str]| {
        let output = Command::new(format!("{bin}/{command}"))
            .args(words)
            .output()
            .unwrap();
        stdout(&output)
    };
    let running = run("squeue", &["-h", "-t", "R", "-o", "%i"]);
    let running: Vec<&str> = running.split_whitespace().collect();
    run("scancel", &running);
    !running.is_empty()
}
