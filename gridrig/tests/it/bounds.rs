//! `run.bounds`: every comparison between its worst and its best.

use crate::command::{
    ALONE, Bench, JOBS, PAIR, expect_code, expect_refused, expect_stdout, json, ok, run,
};
use gridrig_results::catalogue::Catalogue;
use std::path::Path;

fn bounded(scenario: &str) -> String {
    scenario.replace("bounds = false", "bounds = true")
}

#[test]
fn bounds_are_run_beside_the_policies_and_do_not_compete() {
    let scenario = format!(
        "{}replicate = {{ over = \"broker-phase\", count = 5 }}\nrequire = [\"delay_s.max < 50\"]\n",
        bounded(PAIR)
    );
    let bench = Bench::new(&scenario, &JOBS);
    let output = bench.run(&[]);
    // local-only misses it by far, and need not keep it.
    expect_code(&output, 0);
    for name in ["local-only", "full-information", "pooled"] {
        expect_stdout(&output, &format!("\n{name} "));
        assert!(Path::new(&bench.path(&format!("runs/s-1/{name}/r004/manifest.json"))).exists());
    }
    let document = json(&run(&["compare", &bench.path("runs"), "--json"]));
    assert_eq!(
        document["guard"]["comparable"], true,
        "{}",
        document["guard"]
    );
    let policies = document["policies"].as_array().unwrap();
    let role = |name: &str| {
        let found = policies.iter().find(|policy| policy["name"] == name);
        found.expect(name)["role"].as_str().unwrap().to_owned()
    };
    assert_eq!(role("round-robin"), "baseline");
    assert_eq!(role("free-node"), "contender");
    for name in ["local-only", "full-information", "pooled"] {
        assert_eq!(role(name), "bound");
    }
    assert_eq!(document["method"]["comparisons"], 1);
    let thresholds = document["thresholds"].as_array().unwrap();
    assert_eq!(thresholds.len(), 2, "{thresholds:?}");
    // Lists call the pooled cluster by its name too.
    let folder = bench.path("runs");
    let mut catalogue = Catalogue::open(Path::new(&folder)).unwrap();
    catalogue.refresh().unwrap();
    let pooled = catalogue.runs().unwrap().into_iter();
    let pooled: Vec<_> = pooled
        .filter(|run| run.path.contains("/pooled/"))
        .map(|run| run.policy)
        .collect();
    assert_eq!(pooled, vec![Some("pooled".to_owned()); 5]);
    // Its page has a name as well, alone.
    let alone = bench.path("runs/s-1/pooled");
    let page = bench.path("pooled.html");
    let said = ok(run(&["report", &alone, "--out", &page]));
    expect_stdout(&said, "5 runs of pooled");
}

/// What the resolved scenario of its first run says of bounds.
fn resolved(scenario: &str, words: &[&str]) -> (bool, Vec<String>) {
    let bench = Bench::new(scenario, &JOBS);
    let document = json(&bench.run(&[&["--json"], words].concat()));
    let runs = document["runs"].as_array().unwrap();
    let names = runs.iter().map(|run| {
        let policy = run["policy"].as_str();
        policy.unwrap_or("pooled").to_owned()
    });
    let first = bench.path("runs/s-1/round-robin/r000/scenario.toml");
    let text = std::fs::read_to_string(first).unwrap();
    (text.contains("\nbounds = true\n"), names.collect())
}

#[test]
fn comparisons_are_bounded_unless_the_scenario_says_otherwise() {
    let unsaid = PAIR.replace("bounds = false\n", "");
    let all = [
        "round-robin",
        "free-node",
        "local-only",
        "full-information",
        "pooled",
    ];
    assert_eq!(
        resolved(&unsaid, &[]),
        (true, all.map(str::to_owned).into())
    );
    let off = ["--set", "run.bounds=false"];
    let two = ["round-robin", "free-node"].map(str::to_owned).to_vec();
    assert_eq!(resolved(&unsaid, &off), (false, two));
    // One policy is no comparison, and nor is one beside its bound.
    for policies in ["[\"round-robin\"]", "[\"round-robin\", \"local-only\"]"] {
        let scenario = unsaid.replace("[\"round-robin\", \"free-node\"]", policies);
        let (bounded, names) = resolved(&scenario, &[]);
        assert!(
            !bounded && !names.contains(&"pooled".to_owned()),
            "{names:?}"
        );
    }
    // Clusters that no file can describe together make no pooled one.
    let cluster = crate::command::root().join("resources/clusters/site-225.xml");
    let cluster = cluster.canonicalize().unwrap().display().to_string();
    let mixed = unsaid.replacen("processors = 4", &format!("resources = \"{cluster}\""), 1);
    assert!(!resolved(&mixed, &[]).0);
}

#[test]
fn bounds_change_nothing_of_what_is_found() {
    let scenario = format!("{PAIR}replicate = {{ over = \"broker-phase\", count = 5 }}\n");
    let verdict = |scenario: &str| {
        let bench = Bench::ran(scenario, &JOBS);
        let document = json(&run(&["compare", &bench.path("runs"), "--json"]));
        (document["verdict"].clone(), document["measured"].clone())
    };
    let (found, measured) = verdict(&scenario);
    assert!(
        found["text"].is_string() && measured.is_object(),
        "{found} {measured}"
    );
    assert_eq!(verdict(&bounded(&scenario)), (found, measured));
}

#[test]
fn a_pooled_cluster_runs_what_fits_no_cluster_of_the_grid() {
    // Five processors fit neither cluster of four, but both together.
    let bench = Bench::new(&bounded(PAIR), &[(0, 10, 5), (0, 10, 3)]);
    let document = json(&bench.run(&["--json"]));
    let runs = document["runs"].as_array().unwrap();
    let completed: Vec<u64> = runs
        .iter()
        .map(|run| run["jobs"]["completed"].as_u64().unwrap())
        .collect();
    assert_eq!(completed, [1, 1, 1, 1, 2]);
    let pooled = runs.last().unwrap();
    assert!(pooled["policy"].is_null());
    assert_eq!(pooled["clusters"][0]["cluster"], "pooled");
    assert_eq!(pooled["wait_s"]["max"].as_f64(), Some(0.0));
    let warnings = pooled["warnings"].to_string();
    assert!(
        !warnings.contains("herding") && !warnings.contains("broker"),
        "{warnings}"
    );
}

#[test]
fn the_run_of_a_pooled_cluster_can_be_made_again_from_its_directory() {
    let cluster = crate::command::root().join("resources/clusters/site-225.xml");
    let cluster = cluster.canonicalize().unwrap().display().to_string();
    let scenario = bounded(PAIR).replace("processors = 4", &format!("resources = \"{cluster}\""));
    let bench = Bench::ran(&scenario, &JOBS);
    let dir = bench.path("runs/s-1/pooled/r000");
    let again = bench.path("again");
    let scenario = format!("{dir}/scenario.toml");
    expect_code(&run(&["run", &scenario, "--out", &again]), 0);
    let jobs = |path: &str| std::fs::read(Path::new(path).join("jobs.parquet")).unwrap();
    assert_eq!(jobs(&dir), jobs(&format!("{again}/s-1/no-broker/r000")));
    expect_code(&run(&["audit", &dir]), 0);
}

#[test]
fn bounds_that_cannot_be_are_refused() {
    let alone = Bench::new(&format!("{ALONE}[run]\nbounds = true\n"), &JOBS);
    expect_refused(&alone.run(&[]), "bounds");

    let cluster = crate::command::root().join("resources/clusters/site-225.xml");
    let cluster = cluster.canonicalize().unwrap().display().to_string();
    let mixed = bounded(PAIR).replacen("processors = 4", &format!("resources = \"{cluster}\""), 1);
    let bench = Bench::new(&mixed, &JOBS);
    expect_refused(&bench.run(&[]), "no pooled cluster");
    assert!(!Path::new(&bench.path("runs")).exists());
}
