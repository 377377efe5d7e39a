//! Jobs of several components from the scenario to the results.

use crate::command::{
    Bench, PAIR, REAL, expect_audited, expect_code, expect_refused, expect_stdout, json, ok, run,
    stderr,
};
use crate::real_time::alone;
use gridrig_core::event::EventKind;
use gridrig_results::rundir;
use std::path::Path;

const DRAW: &str = "[workload]
draw = { components = { 2 = 3, 1 = 1 }, memory_mib = { 100 = 1, 200 = 1 } }
";

/// Three bursts of jobs that one site has no room for.
const JOBS: [(u64, i64, u32); 9] = [
    (1, 11, 4),
    (1, 21, 3),
    (1, 11, 4),
    (21, 11, 2),
    (21, 21, 3),
    (21, 11, 4),
    (41, 11, 4),
    (41, 6, 1),
    (41, 11, 3),
];

fn bench() -> Bench {
    let scenario = PAIR
        .replace("[workload]\n", DRAW)
        .replace(", \"free-node\"", "");
    Bench::new(&scenario, &JOBS)
}

#[test]
fn both_clocks_run_jobs_of_several_components_and_the_audit_knows_them() {
    let _alone = alone();
    let bench = bench();
    let mut drawn = Vec::new();
    let mut folders = Vec::new();
    for (name, words) in [("virtual", &[][..]), ("real", &REAL[..])] {
        let out = bench.path(name);
        let mut all = vec!["run", "s.toml", "--json", "--out", &out];
        all.extend(words);
        let scenario = bench.path("s.toml");
        all[1] = &scenario;
        let report = &json(&ok(run(&all)))["runs"][0];
        expect_audited(report, 9);
        let directory = format!("{out}/s-1/round-robin/r000");
        expect_code(&run(&["audit", &directory]), 0);
        let read = rundir::read(Path::new(&directory)).unwrap();
        // Over REST in real time, to LRMSs and to the other broker.
        let kinds = read.log.records().map(|(_, event)| event.kind);
        assert!(kinds.filter(|kind| *kind == EventKind::Forwarded).count() > 0);
        let jobs = read.submissions.into_iter().map(|job| job.spec.components);
        drawn.push(jobs.collect::<Vec<_>>());
        folders.push(directory);
    }
    assert_eq!(drawn[0], drawn[1]);
    let output = run(&["check", &bench.path("s.toml")]);
    let said = "drawn at random by draw: memory_mib, components\n";
    expect_stdout(&output, said);
    let output = bench.run(&[]);
    expect_stdout(&output, said);
    let several = drawn[0].iter().filter(|job| job.only().is_none()).count();
    assert!((1..9).contains(&several), "{drawn:?}");
    expect_code(&run(&["compare", &folders[0], &folders[1]]), 0);
}

#[test]
fn a_run_has_a_column_of_its_components_and_is_no_swf() {
    let bench = bench();
    let memory = "--set=workload.draw.memory_mib={ 100 = 1, 150 = 1, 200 = 1, 250 = 1 }";
    expect_code(&bench.run(&[memory]), 0);
    let directory = bench.path("runs/s-1/round-robin/r000");
    let table = rundir::TableColumns::open(directory.as_ref(), "jobs.parquet").unwrap();
    let column = table.codes("more_components").unwrap();
    let text = (0..JOBS.len()).find_map(|row| column.name(row)).unwrap();
    assert!(text.starts_with("[{\"processors\":"), "{text}");
    let output = run(&["export", &directory, "--format", "swf", "--out", "-"]);
    expect_code(&output, 2);
    let said = stderr(&output);
    assert!(
        said.contains("has components that need different nodes (expected the"),
        "{said}"
    );
}

#[test]
fn components_are_not_drawn_for_whom_only_one_can_be_told() {
    let scenario = |more: &str| {
        format!(
            "[workload]\ntrace = \"t.swf\"\ndomain = \"a\"\n\
             draw = {{ components = {{ 1 = 1, 2 = 1 }} }}\n\
             [[domain]]\nname = \"a\"\nclusters = [ {{ name = \"a1\", processors = 4 }} ]\n{more}\n\
             [run]\nclock = \"real\"\n"
        )
    };
    let check = |more: &str| {
        let bench = Bench::new(&scenario(more), &JOBS);
        let output = run(&["check", &bench.path("s.toml")]);
        (output.status.code(), stderr(&output))
    };
    let command = "broker = { kind = \"external\", submit = [\"true\", \"{script}\"] }";
    let bes = "broker = { kind = \"external\", outlet = \"bes:http://localhost:1/\" }";
    for narrow in [command, bes] {
        let (code, said) = check(narrow);
        let expected = "s.toml:4:23: field workload.draw.components = a table: expected \
                        { 1 = 1 }, since the external broker of domain a takes jobs of one \
                        component only";
        assert!(code == Some(2) && said.contains(expected), "{said}");
    }
    let own = bes.replace("bes:", "json:");
    let (code, said) = check(&own);
    assert_eq!(code, Some(0), "{said}");
    let slurm = "[[domain]]\nname = \"b\"\n\
                 clusters = [ { name = \"b1\", processors = 4, lrms = \"slurm\" } ]";
    let (code, said) = check(slurm);
    let expected = "since the real LRMS of cluster b1 takes jobs of one component only";
    assert!(code == Some(2) && said.contains(expected), "{said}");
}

#[test]
fn a_number_of_components_that_is_none_is_refused_with_its_line() {
    let bench = bench();
    for wrong in ["0", "65", "x"] {
        let draw = format!("--set=workload.draw.components={{ {wrong} = 1 }}");
        expect_refused(&bench.run(&[&draw]), "expected numbers from 1 to 64");
    }
}
