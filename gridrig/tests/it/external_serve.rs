//! The program that serves as a broker lasts as long as its run, and no longer.

use crate::command::{Bench, expect_code, expect_part, expect_stderr, gridrig, json};
use crate::external_broker::scenario;
use crate::patience::Patience;
use std::process::Stdio;

/// Nobody would wait for its end.
const JOB: [(u64, i64, u32); 1] = [(0, 3600, 1)];

#[test]
fn a_broker_that_ends_midway_ends_the_run_which_says_how_it_ended_and_where_its_log_is() {
    let broker = r#"
serve = ["sh", "-c", "until [ -e \"$0\" ]; do sleep 0.1; done; echo no more licences; exit 3",
         "{dir}/taken"]
submit = ["sh", "-c", "\"$0/sbatch\" \"$1\" && touch \"$2\"", "{a1.slurm}", "{script}", "{dir}/taken"]
"#;
    let bench = Bench::new(&scenario(broker, ""), &JOB);
    let output = bench.run(&["--json"]);
    expect_code(&output, 1);
    for words in [
        "broker a: serve ended too early: exit status: 3; it said: no more licences",
        "broker/a/serve.log",
    ] {
        expect_stderr(&output, words);
    }
    let run = &json(&output)["runs"][0];
    assert_eq!(run["jobs"]["submitted"], 1, "{run}");
    assert_eq!(run["jobs"]["completed"], 0, "{run}");
    let log = bench.path("runs/s-1/external/r000/broker/a/serve.log");
    expect_part(&std::fs::read_to_string(log).unwrap(), "no more licences");
}

/// Whether this process runs. A dead one may wait for its parent to hear of it.
fn runs(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| {
        let state = stat.rsplit(") ").next();
        state.is_some_and(|state| !state.starts_with(['Z', 'X']))
    })
}

#[test]
fn a_broker_and_its_child_processes_end_with_a_runner_that_is_killed() {
    // They do not end when they are only asked to.
    let broker = r#"
serve = ["sh", "-c", "trap '' TERM; sleep 3600 & echo $$ $! > \"$0\"; wait", "{scenario}/served"]
submit = ["touch", "{scenario}/goes"]
"#;
    let bench = Bench::new(&scenario(broker, ""), &JOB);
    let mut runner = gridrig();
    runner.args(["run", &bench.path("s.toml"), "--out", &bench.path("runs")]);
    runner.stdout(Stdio::null()).stderr(Stdio::null());
    let mut runner = runner.spawn().unwrap();
    let patience = Patience::seconds(300);
    let served = || -> Vec<String> {
        let text = std::fs::read_to_string(bench.path("served")).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    };
    while served().len() < 2 || !std::fs::exists(bench.path("goes")).unwrap() {
        patience.wait("the broker serves and the run goes");
    }
    let served = served();
    assert!(served.iter().all(|process| runs(process)), "{served:?}");
    // SIGKILL: it can end nothing.
    runner.kill().unwrap();
    runner.wait().unwrap();
    while served.iter().any(|process| runs(process)) {
        patience.wait(format!("{served:?} end"));
    }
}
