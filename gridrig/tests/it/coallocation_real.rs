//! Jobs that several clusters run together, in real time.

use crate::calm::same_when_calm;
use crate::command::{Bench, json, ok};
use crate::real_time::alone;
use gridrig_results::jobs::JobRow;
use gridrig_results::{JobTable, rundir};
use std::path::Path;

/// Twelve jobs of two or three components. They come, and end, a second or more from the
/// instants of scans and samples, on which what a broker knows depends.
const SMALL: &str = r#"
[[workload]]
trace = "t.swf"
domain = "d"
draw = { components = { 2 = 1, 3 = 1 } }
[[domain]]
name = "d"
clusters = [
    { name = "c1", processors = 6 },
    { name = "c2", processors = 4 },
    { name = "c3", processors = 4 },
]
[domain.broker]
interval = "10s"
phase = "0s"
exchange = "10s"
[domain.broker.co_allocation]
startup = ["10s"]
wide_area = [1, 1.5, 2]
[run]
policies = ["worst-fit", "cluster-minimization", "flexible-cluster-minimization"]
bounds = false
speed = 20
lag_tolerance = "1h"
"#;

/// What is told of each job by the runs of the policies, in their order.
pub fn told<T>(bench: &Bench, words: &[&str], tell: impl Fn(&str, &JobRow) -> T) -> Vec<Vec<T>> {
    let output = ok(bench.run(&[&["--force", "--json"], words].concat()));
    let runs = json(&output)["runs"].as_array().unwrap().clone();
    let of_run = |run: &serde_json::Value| {
        assert_eq!(run["audit"], "ok", "{run}");
        let policy = run["policy"].as_str().unwrap();
        let read = rundir::read(Path::new(&bench.path(&format!("runs/s-1/{policy}/r000"))));
        let read = read.unwrap();
        let table = JobTable::build(&read.log, &read.submissions, &read.grid, &["w".to_owned()]);
        let rows = table.rows().iter();
        rows.map(|row| tell(policy, row)).collect()
    };
    runs.iter().map(of_run).collect()
}

/// For each policy what became of each job: which cluster had how much of it, and when it
/// began, to a second.
fn places(bench: &Bench, words: &[&str]) -> Vec<String> {
    let place = |policy: &str, row: &JobRow| {
        let parts = row.parts().map(|part| (part.cluster.0, part.processors));
        let mut parts: Vec<_> = parts.collect();
        parts.sort_unstable();
        let start = row
            .start
            .map_or(0, |start| start.as_nanos() / 1_000_000_000);
        format!("{policy} {} {:?} {parts:?} {start}", row.job, row.state)
    };
    told(bench, words, place).concat()
}

#[test]
fn both_clocks_place_the_same_parts_on_the_same_clusters() {
    let _alone = alone();
    let jobs = [
        (2, 14, 9),
        (3, 21, 6),
        (4, 12, 3),
        (15, 13, 12),
        (16, 24, 4),
        (27, 15, 8),
        (33, 11, 6),
        (34, 22, 3),
        (46, 12, 5),
        (57, 14, 14),
        (58, 11, 7),
        (63, 13, 6),
    ];
    let bench = Bench::new(SMALL, &jobs);
    let from_0 = "--set=workload.0.window={ start = \"0s\", length = \"1h\" }";
    same_when_calm("parts of jobs", || {
        let expected = places(&bench, &[from_0]);
        assert!(
            expected.iter().any(|row| row.contains("), (")),
            "{expected:?}"
        );
        let real = places(&bench, &[from_0, "--clock", "real"]);
        let mut both = expected.iter().zip(&real);
        let other = both.find(|(one, other)| one != other);
        other.map(|(one, other)| format!("{one}, but {other}"))
    });
}

#[test]
fn services_that_lose_messages_in_real_time_run_all_parts_or_none() {
    let _alone = alone();
    let jobs: Vec<(u64, i64, u32)> = (0..12).map(|job| (2 * job, 3, 5)).collect();
    let faults = "[[faults.links]]\nbetween = \"domain\"\nloss = 0.15\nduplication = 0.1\n";
    let bench = Bench::new(&format!("{SMALL}{faults}"), &jobs);
    let words = [
        "--clock",
        "real",
        "--set=run.policies=[\"worst-fit\", \"co-reservation\"]",
        "--set=domain.d.clusters.*.reservations={}",
    ];
    for row in places(&bench, &words) {
        assert!(row.contains("Completed"), "{row}");
    }
}
