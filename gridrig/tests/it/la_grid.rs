//! The LA Grid study in small (docs/la-grid-study.md).

use crate::command::{expect_refused, expect_stdout, json, ok, root, run, stdout};
use gridrig::scenario::{Scenario, ScenarioText};
use serde_json::Value;
use std::path::Path;

/// The runs of a scenario of the study, cut to its first hours.
fn study(scenario: &str, sets: &[&str]) -> Vec<Value> {
    let path = root().join("resources/scenarios").join(scenario);
    let path = path.display().to_string();
    let mut words = vec!["run", &path, "--no-out", "--json"];
    for set in sets {
        words.extend(["--set", set]);
    }
    let runs = json(&ok(run(&words)))["runs"].as_array().unwrap().clone();
    for run in &runs {
        assert_eq!(run["audit"], "ok", "{run}");
        assert_eq!(run["jobs"]["completed"], run["jobs"]["submitted"], "{run}");
    }
    runs
}

fn of<'a>(runs: &'a [Value], policy: &str) -> &'a Value {
    let found = runs.iter().find(|run| run["policy"] == policy);
    found.unwrap_or_else(|| panic!("{policy} was not run"))
}

#[test]
fn at_a_load_of_nine_tenths_all_forward_and_wandering_starves_no_cluster() {
    let sets = ["workload.window.length=12h", "run.replicate.count=1"];
    let runs = study("la-grid-3.toml", &sets);
    assert_eq!(runs.len(), 6);
    let makespan = |policy| of(&runs, policy)["makespan_s"].as_f64().unwrap();
    // More than four times as long while backfilling broke its promises.
    for other in ["inter-rr", "inter-random"] {
        let (rank, other) = (makespan("best-broker-rank"), makespan(other));
        assert!(other < 2.0 * rank, "{rank} {other}");
    }
    for run in &runs {
        assert!(run["forwarding_ratio"].as_f64().unwrap() > 0.0, "{run}");
    }
}

#[test]
fn the_larger_studies_run_and_both_ways_to_submit_do() {
    for (scenario, spread) in [
        ("la-grid-9.toml", "random"),
        ("la-grid-27.toml", "round-robin"),
    ] {
        let spread = format!("workload.spread={spread}");
        let sets = [
            "workload.window.length=10min",
            "run.replicate.count=1",
            "run.policies=[\"best-broker-rank-aggr\", \"inter-rr\"]",
            &spread,
        ];
        let runs = study(scenario, &sets);
        assert_eq!(runs.len(), 2);
        let of = |policy| of(&runs, policy);
        let forwarded = |policy| of(policy)["forwarding_ratio"].as_f64().unwrap();
        // Where all clusters are nearly empty, who ranks sends most jobs to the
        // fastest one, and who goes round keeps its own.
        assert!(forwarded("best-broker-rank-aggr") > 0.8, "{scenario}");
        assert!(forwarded("inter-rr") < 0.05, "{scenario}");
        let (ranked, round) = (of("best-broker-rank-aggr"), of("inter-rr"));
        assert_eq!(ranked["jobs"], round["jobs"], "{scenario}");
        assert!(
            ranked["jobs"]["completed"].as_u64() > Some(200),
            "{scenario}"
        );
    }
}

#[test]
fn the_studies_read_from_their_resolved_form_are_the_same() {
    for name in ["la-grid-3", "la-grid-3-wide", "la-grid-9", "la-grid-27"] {
        let path = root().join(format!("resources/scenarios/{name}.toml"));
        let text = Scenario::load(&path, &[]).unwrap().to_resolved_toml();
        let again = Scenario::parse(&ScenarioText {
            file: &path,
            text: &text,
            sets: &[],
            directory: Path::new(""),
            traces_may_be_missing: false,
        });
        assert_eq!(again.unwrap().to_resolved_toml(), text, "{name}");
    }
}

#[test]
fn keys_of_the_study_that_do_not_fit_are_refused_by_name() {
    let path = root().join("resources/scenarios/la-grid-3.toml");
    let refused = |set: &str| {
        let error = Scenario::load(&path, &[set.to_owned()]).unwrap_err();
        error.to_string()
    };
    let long = format!("workload.draw.os.{}=1", "ü".repeat(201));
    for (set, expected) in [
        (&*long, "names of 1 to 200 characters"),
        (
            "workload.draw.architecture={ \"\" = 1 }",
            "names of 1 to 200 characters",
        ),
        (
            "workload.domain=fiu",
            "either spread, or a domain or cluster",
        ),
        ("workload.trace=x.swf", "either trace or model"),
        (
            "workload.draw.burst=[4, 3]",
            "the least and the most jobs of a burst",
        ),
        ("workload.draw.memory_mib.much=1", "numbers of MiB"),
        ("workload.spread=alphabetical", "expected"),
        ("mesh.bandwidth_mib_s=0", "above 0"),
        ("domain.fiu.broker.origin_promotion=0", "above 0"),
    ] {
        let error = refused(set);
        assert!(error.contains(expected), "{set}: {error}");
    }
}

/// Forwarded from FIU to the site with the better rank, with 250 MiB of data over
/// 3.16 MiB a second: 0.642 s + 79.1139... s, then a cycle of the broker at each second.
#[test]
fn a_program_runs_as_long_as_its_cluster_says_and_its_data_go_first() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("runs").display().to_string();
    let scenario = "resources/scenarios/la-grid-wrf.toml";
    let window = "workload.window={ start = \"6d\", length = \"1d\" }";
    let document = json(&ok(run(&[
        "run", scenario, "--out", &out, "--json", "--set", window,
    ])));
    let response = document["runs"][0]["response_s"]["mean"].as_f64().unwrap();
    // 64 nodes are at BSC only.
    assert!(
        (response - (269.0 + 80.667666666)).abs() < 1e-6,
        "{response}"
    );
    let of_run = "runs/la-grid-wrf-1/best-broker-rank/r000";
    let of_run = dir.path().join(of_run).display().to_string();
    let audit = ok(run(&["audit", &of_run]));
    expect_stdout(&audit, "audit ok: 1 jobs");
    let told = stdout(&run(&["run", scenario, "--no-out"]));
    let known = "gcb (8 processors, first-in-first-fit, run times of 1 program)";
    assert!(told.contains(known), "{told}");
    // The resolved scenario says the same.
    let again = format!("{of_run}/scenario.toml");
    let output = ok(run(&["run", &again, "--no-out", "--json"]));
    assert_eq!(json(&output)["runs"][0]["response_s"]["mean"], response);
}

#[test]
fn run_times_that_cannot_be_are_refused() {
    let scenario = "resources/scenarios/la-grid-wrf.toml";
    let mixed = "domain.bsc.clusters=[{ name = \"b\", resources = \
                 \"resources/clusters/heterogeneous.xml\", run_times = { 1 = { 2 = \"5s\" } } }]";
    for (set, says) in [
        (
            "domain.bsc.clusters.0.run_times={ 0 = { 2 = \"5s\" } }",
            "\"0\": expected a whole number from 1 to 4294967295",
        ),
        (
            "domain.bsc.clusters.0.run_times={ 1 = {} }",
            "expected sizes with their run times, such as",
        ),
        (
            "domain.bsc.clusters.0.run_times={ 1 = { 2 = \"soon\" } }",
            "soon",
        ),
        (mixed, "expected a cluster whose nodes have one speed"),
        (
            "workload.draw={ data_mib = { 1 = 1 }, disk_rate_mib = 1, disk_is_data = true }",
            "either data_mib or disk_is_data, not both",
        ),
    ] {
        expect_refused(&run(&["check", scenario, "--set", set]), says);
    }
}
