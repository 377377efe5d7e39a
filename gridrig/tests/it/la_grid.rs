//! The LA Grid study in small (docs/la-grid-study.md).

use crate::command::{expect_code, json, root, run};
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
    let output = run(&words);
    expect_code(&output, 0);
    let runs = json(&output)["runs"].as_array().unwrap().clone();
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
