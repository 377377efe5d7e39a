//! Runs in real time with programs of others that are killed: they are written as far as
//! they had come.

use crate::command::{Bench, expect_code, expect_refused, expect_stderr, gridrig, root, run};
use crate::patience::Patience;
use gridrig_results::rundir::{self, Manifest};
use gridrig_results::{JobTable, jobs::JobState};
use std::path::Path;
use std::process::Stdio;

/// The last one is under way when the run is killed.
const JOBS: [(u64, i64, u32); 3] = [(0, 100, 1), (0, 100, 1), (1, 90_000, 1)];

fn bench(cluster: &str, broker: &str, run: &str) -> Bench {
    let scenario = format!(
        "[workload]\ntrace = \"t.swf\"\ndomain = \"a\"\n\
         [[domain]]\nname = \"a\"\nclusters = [ {{ name = \"a1\", processors = 6{cluster} }} ]\n\
         {broker}\n[run]\nclock = \"real\"\nspeed = 20\nlag_tolerance = \"1h\"\n{run}"
    );
    Bench::new(&scenario, &JOBS)
}

/// Runs it, kills it as soon as two jobs have ended by this file of its journals, and
/// resumes it; answers what is said of it then.
fn killed(bench: &Bench, policy: &str, file: &str) -> Manifest {
    let (out, dir) = (
        bench.path("runs"),
        bench.path(&format!("runs/s-1/{policy}/r000")),
    );
    let mut command = gridrig();
    command.args(["run", &bench.path("s.toml"), "--out", &out]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let patience = Patience::seconds(120);
    let ended = || {
        let text = std::fs::read_to_string(format!("{dir}/journals/{file}"));
        text.map_or(0, |it| it.to_lowercase().matches("\"finished\"").count())
    };
    while ended() < 2 {
        patience.wait(format!("the ends of two jobs in {file}"));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let dir = Path::new(&dir);
    assert!(!dir.join("manifest.json").exists());
    let shown = dir.display();
    for words in [["audit", dir.to_str().unwrap()], ["compare", out.as_str()]] {
        let refused = run(&words);
        expect_refused(&refused, "it was interrupted, and cannot be continued (");
        expect_stderr(&refused, &format!("gridrig run --resume {shown} writes"));
    }
    expect_code(&run(&["run", "--resume", &out]), 130);
    assert!(!dir.join("running.json").exists());
    expect_code(&run(&["audit", dir.to_str().unwrap()]), 0);
    // It is over.
    expect_code(&run(&["run", "--resume", &out]), 2);
    let read = rundir::read(dir).unwrap();
    let table = JobTable::build(&read.log, &read.submissions, &read.grid, &[]);
    let states: Vec<JobState> = table.rows().iter().map(|row| row.state).collect();
    let expected = [
        JobState::Completed,
        JobState::Completed,
        JobState::Unfinished,
    ];
    assert_eq!(states, expected);
    assert!(table.rows()[2].start.is_some());
    read.manifest
}

fn is_partial(manifest: &Manifest, why: &str) {
    assert!(manifest.partial);
    assert_eq!(manifest.summary["audit"], "ok");
    let warnings = &manifest.warnings;
    let why = format!("cannot be continued ({why})");
    let is_it = |it: &String| it.starts_with("not-continued: ") && it.contains(&why);
    assert!(warnings.iter().any(is_it), "{warnings:?}");
}

#[test]
fn with_interfaces_and_disciplines_of_others() {
    let _alone = crate::real_time::alone();
    let lua = root().join("resources/policies/fcfs.lua");
    let own = format!(
        ", faces = [\"bes\"], discipline = {{ name = \"own\", lua = \"{}\" }}",
        lua.display()
    );
    let bench = bench(&own, "", "policies = [\"round-robin\"]\n");
    let manifest = killed(&bench, "round-robin", "lrms-a1.events");
    let why = "policy or discipline of one's own, interfaces of other systems";
    is_partial(&manifest, why);
}

#[test]
fn with_a_broker_of_others() {
    let _alone = crate::real_time::alone();
    let broker = "[domain.broker]\nkind = \"external\"\noutlet = \"slurm:{a1.slurm}\"";
    // By what the client has seen of its jobs: they have other names in the LRMS.
    let manifest = killed(&bench("", broker, ""), "external", "client.seen");
    is_partial(&manifest, "external broker");
}
