//! The LSAP week of the real CTC log (design 10).

use crate::command::{json, ok, root, run};
use crate::need::archive;
use gridrig::reproduce::page::Page;
use gridrig::reproduce::study::Study;
use std::fs;
use std::path::Path;

#[test]
fn the_ctc_week_runs_and_unhindered_jobs_wait_half_a_cycle() {
    let Some(archive) = archive("the_ctc_week_runs_and_unhindered_jobs_wait_half_a_cycle") else {
        return;
    };
    let trace = archive
        .join("CTC-SP2-1996-3.1-cln.swf.gz")
        .display()
        .to_string();
    let trace = format!("workload.trace={trace}");
    let figures = |scenario: &str| {
        let path = root()
            .join("resources/scenarios")
            .join(scenario)
            .display()
            .to_string();
        let output = ok(run(&["run", &path, "--set", &trace, "--no-out", "--json"]));
        json(&output)["runs"].as_array().unwrap().clone()
    };
    let policies = figures("lsap-ctc.toml");
    // Four policies and their three bounds.
    assert_eq!(policies.len(), 7);
    for run in &policies {
        assert_eq!(run["jobs"]["completed"], 481, "{run}");
    }
    let window = [
        "--set",
        "workload.window.start=87.08d",
        "--set",
        "workload.keep=2/5",
    ];
    for scenario in ["one-site-450.toml", "one-site-225.toml"] {
        let path = root()
            .join("resources/scenarios")
            .join(scenario)
            .display()
            .to_string();
        let mut words = vec!["run", &path, "--set", &trace, "--no-out", "--json"];
        words.extend(window);
        words.extend(["--set", "workload.phase=2"]);
        let one = &json(&ok(run(&words)))["runs"][0];
        let unwaited = one["delay_s_unwaited_mean"].as_f64().unwrap();
        assert_eq!(one["jobs"]["completed"], 481);
        assert!((2.25..=2.75).contains(&unwaited), "{scenario}: {unwaited}");
    }
}

/// The lines of a table that are ours, of the one that is named so.
fn ours(page: &str, name: &str) -> Vec<String> {
    let start = page.find(&format!("name = \"{name}\"")).unwrap();
    let table = page[start..].split("<!-- end -->").next().unwrap();
    let lines = table.lines().filter(|line| line.contains("| ours |"));
    lines.map(str::to_owned).collect()
}

/// The figures of the page are those that its command gives, with one sample of
/// each row instead of 200.
fn is_as_made(name: &str, archive: &Path) {
    let text = fs::read_to_string(root().join("docs/lsap.md")).unwrap();
    let few = text.replace("samples = 200\n", "samples = 1\n");
    let page = Page::read(&few).unwrap();
    let figures = page.figures(name);
    let study = Study {
        root: &root(),
        archive,
        figures: &figures,
    };
    let needs = page.needs(name).into_iter();
    let needs = needs.map(|(key, policies)| (study.scenario(&key, &policies).unwrap(), key));
    let runs = study.run_every(&needs.collect::<Vec<_>>()).unwrap();
    let made = page.write(name, &runs);
    assert!(!ours(&text, name).is_empty(), "{name}");
    assert_eq!(ours(&made, name), ours(&text, name), "{name}");
}

#[test]
fn the_tables_of_the_stand_in_are_what_their_scenarios_give() {
    for name in ["stand-in", "grid5000"] {
        is_as_made(name, Path::new(""));
    }
}

#[test]
fn the_tables_of_the_ctc_week_are_what_their_scenarios_give() {
    let Some(archive) = archive("the_tables_of_the_ctc_week_are_what_their_scenarios_give") else {
        return;
    };
    for name in ["jobs of ctc", "ctc tables"] {
        is_as_made(name, &archive);
    }
}
