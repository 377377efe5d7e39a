//! Background loads that dummy jobs keep within a range.

use crate::command::{Bench, expect_code, json, ok, rows, stderr};
use gridrig_core::job::DUMMIES;
use gridrig_core::time::SimTime;
use gridrig_results::jobs::{JobRow, JobState};
use gridrig_results::{JobTable, rundir};
use std::path::Path;

const SCENARIO: &str = r#"
[[workload]]
trace = "t.swf"
domain = "d"
[[workload]]
trace = "local.swf"
cluster = "c1"
[[domain]]
name = "d"
clusters = [
    { name = "c1", processors = 100, background = { processors = 3 } },
    { name = "c2", processors = 20 },
]
[domain.broker]
interval = "10s"
exchange = "10s"
[run]
policies = ["worst-fit"]
bounds = false
[measure]
direct = false
"#;

/// Jobs for the broker all the time, the last after an hour.
fn bench(local: &[(u64, i64, u32)]) -> Bench {
    let jobs: Vec<(u64, i64, u32)> = (0..=60).map(|job| (60 * job, 50, 10)).collect();
    let bench = Bench::new(SCENARIO, &jobs);
    let lines = (1..).zip(local).map(|(number, (at, run_time, processors))| {
        format!("{number} {at} -1 {run_time} {processors} -1 -1 {processors} -1 -1 1 1 1 -1 -1 -1 -1 -1\n")
    });
    std::fs::write(bench.path("local.swf"), lines.collect::<String>()).unwrap();
    bench
}

/// The warnings of a run, and its jobs.
fn ran(bench: &Bench) -> (String, JobTable) {
    let run = json(&ok(bench.run(&["--force", "--json"])))["runs"][0].clone();
    assert_eq!(run["audit"], "ok", "{run}");
    let measured = &run["measured"];
    assert_eq!(
        (&measured["submitted"], &measured["completed"]),
        (&61.into(), &61.into())
    );
    let directory = bench.path("runs/s-1/worst-fit/r000");
    expect_code(&crate::command::run(&["audit", &directory]), 0);
    let read = rundir::read(Path::new(&directory)).unwrap();
    let names = read.manifest.workloads.clone();
    let table = JobTable::build(&read.log, &read.submissions, &read.grid, &names);
    (run["warnings"].to_string(), table)
}

fn is_dummy(row: &JobRow) -> bool {
    row.label.workload == DUMMIES
}

/// On how many processors those past the broker run at an instant, and how many of these
/// processors dummy jobs have.
fn load_at(table: &JobTable, at: u64) -> (u32, u32) {
    let at = SimTime::from_secs(at);
    let runs = |row: &&JobRow| {
        let over = row.end.is_some_and(|end| end <= at);
        row.direct && row.start.is_some_and(|start| start <= at) && !over
    };
    let here = || table.rows().iter().filter(runs);
    let of_dummies = here().filter(|row| is_dummy(row)).map(|row| row.processors);
    (here().map(|row| row.processors).sum(), of_dummies.sum())
}

#[test]
fn dummy_jobs_come_below_the_range_and_go_above_it() {
    // 4 of 100 processors for local users, then 18 of them, then none.
    let bench = bench(&[(0, 3000, 4), (1005, 900, 14)]);
    let (warnings, table) = ran(&bench);
    assert!(!warnings.contains("void"), "{warnings}");
    // A dummy every 10 s until there are 15 processors or more.
    assert_eq!(load_at(&table, 5), (7, 3));
    assert_eq!(load_at(&table, 15), (10, 6));
    for at in (40..1000).step_by(10) {
        let (load, dummies) = load_at(&table, at + 5);
        assert!(
            (15..=20).contains(&load) && dummies >= 11,
            "{at}: {load} {dummies}"
        );
    }
    // All of them have gone when local users have 18 themselves.
    for at in (1015..1900).step_by(10) {
        assert_eq!(load_at(&table, at), (18, 0), "{at}");
    }
    for at in (1960..3600).step_by(10) {
        let (load, _) = load_at(&table, at);
        assert!((12..=20).contains(&load), "{at}: {load}");
    }
    let dummies = || table.rows().iter().filter(|row| is_dummy(row));
    assert!(dummies().any(|row| row.state == JobState::Cancelled));
    assert!(dummies().any(|row| row.state == JobState::Completed));
    // One for each look; those that were not needed were never submitted.
    assert_eq!(dummies().count(), 361);
    assert!(dummies().filter(|row| row.submit.is_none()).count() > 300);
    assert_eq!(table.workload(DUMMIES), "dummy jobs");
}

#[test]
fn a_run_is_void_in_which_local_users_alone_are_above_the_range_for_a_minute() {
    let above = |seconds: i64| ran(&bench(&[(100, 1000, 19), (205, seconds, 7)])).0;
    assert!(!above(60).contains("void"));
    let said = above(61);
    let expected = "background load of c1: above 0.2 of its processors for 61s on end, with no dummy \
                    job left to remove: more than 60s, so that this run is void";
    assert!(said.contains(expected), "{said}");
    // What comes after the last job for a broker is no matter.
    let late = ran(&bench(&[(0, 1, 1), (3590, 1000, 30)])).0;
    assert!(!late.contains("void"), "{late}");
}

#[test]
fn two_runs_have_the_same_dummies() {
    let rows = || {
        let (_, table) = ran(&bench(&[(0, 3000, 4), (1005, 900, 14)]));
        let row = |row: &JobRow| (row.job, row.start, row.end, row.state);
        table.rows().iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(rows(), rows());
}

#[test]
fn a_background_that_cannot_be_controlled_is_refused() {
    let bench = bench(&[(0, 3000, 4)]);
    for (set, expected) in rows(
        r#"
            run.clock=real => clock = "virtual" and no faults for a background load
            measure.direct=true => run.bounds = false and measure.direct = false beside it
            run.bounds=true => run.bounds = false and measure.direct = false beside it
            domain.d.clusters.c1.background.least=0.2 => a least share that is below the most
            domain.d.clusters.c1.background.processors=101 => dummy jobs no wider than the cluster
            "#,
    ) {
        let output = bench.run(&["--force", &format!("--set={set}")]);
        expect_code(&output, 2);
        assert!(
            stderr(&output).contains(expected),
            "{set}: {}",
            stderr(&output)
        );
    }
}
