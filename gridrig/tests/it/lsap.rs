//! The LSAP week of the real CTC log (design 10).

use crate::command::{expect_code, json, root, run};
use crate::need::archive;

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
        let output = run(&["run", &path, "--set", &trace, "--no-out", "--json"]);
        expect_code(&output, 0);
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
        let output = run(&words);
        expect_code(&output, 0);
        let one = &json(&output)["runs"][0];
        let unwaited = one["delay_s_unwaited_mean"].as_f64().unwrap();
        assert_eq!(one["jobs"]["completed"], 481);
        assert!((2.25..=2.75).contains(&unwaited), "{scenario}: {unwaited}");
    }
}

/// A name and the figures of five phases.
type Row = (String, Vec<String>);

/// The tables of the page, each with its heading.
fn tables(page: &str) -> Vec<(String, Vec<Row>)> {
    let sections = page.split("\n## ").skip(1);
    let tables = sections.map(|section| {
        let rows = section.lines().filter(|line| line.starts_with("| "));
        let rows = rows.filter(|line| !line.starts_with("| |")).map(|row| {
            let mut cells = row.split('|').map(str::trim).skip(1);
            let name = cells.next().unwrap().to_owned();
            (name, cells.take(5).map(str::to_owned).collect())
        });
        (section.lines().next().unwrap().to_owned(), rows.collect())
    });
    tables
        .filter(|(_, rows): &(_, Vec<_>)| !rows.is_empty())
        .collect()
}

#[test]
fn every_figure_of_the_page_is_what_its_scenario_gives() {
    let Some(archive) = archive("every_figure_of_the_page_is_what_its_scenario_gives") else {
        return;
    };
    let trace = archive.join("CTC-SP2-1996-3.1-cln.swf.gz");
    let trace = format!("workload.trace={}", trace.display());
    let run = |scenario: &str, phase: usize| {
        let path = root().join("resources/scenarios").join(scenario);
        let phase = format!("workload.phase={phase}");
        // One policy more than the scenario has; runs without brokers take none.
        let policies = match scenario.starts_with("lsap") {
            true => {
                "run.policies=[\"round-robin\", \"queue-length\", \"free-node\", \
                 \"utilization\", \"utilization(commit=late)\"]"
            }
            false => "run.seed=1",
        };
        let output = run(&[
            "run",
            &path.display().to_string(),
            "--no-out",
            "--json",
            "--set",
            &trace,
            "--set",
            "workload.window.start=87.08d",
            "--set",
            "workload.keep=2/5",
            "--set",
            &phase,
            "--set",
            policies,
        ]);
        expect_code(&output, 0);
        json(&output)["runs"].as_array().unwrap().clone()
    };
    let all = |scenario: &str| -> Vec<_> { (0..5).map(|phase| run(scenario, phase)).collect() };
    let (one_450, one_225) = (all("one-site-450.toml"), all("one-site-225.toml"));
    let two = all("lsap-ctc.toml");
    let page = std::fs::read_to_string(root().join("docs/lsap.md")).unwrap();
    let tables = tables(&page);
    assert_eq!(tables.len(), 7);
    for (heading, rows) in tables {
        let policy = heading.strip_prefix("two sites, ");
        let policy = policy.map(|rest| rest.split(" (").next().unwrap());
        let runs = match policy {
            None if heading.contains("450") => &one_450,
            None => &one_225,
            Some(_) => &two,
        };
        assert_eq!(rows.len(), 8, "{heading}");
        for (name, figures) in rows {
            let (table, figure) = name.split_once(' ').unwrap();
            let table = match table {
                "delay" => "delay_s",
                other => other,
            };
            for (phase, written) in figures.iter().enumerate() {
                let its = runs[phase].iter();
                let mut its = its.filter(|run| policy.is_none_or(|policy| run["policy"] == policy));
                let given = its.next().unwrap()[table][figure].as_f64().unwrap();
                let given = format!("{given:.2}");
                assert_eq!(&given, written, "{heading}: {name}, phase {phase}");
            }
        }
    }
}

#[test]
fn late_commitment_on_the_stand_in_for_grid5000_gives_the_figures_of_the_page() {
    let path = root().join("resources/scenarios/two-sites.toml");
    let trace = root().join("traces/grid5000-like.swf.gz");
    let trace = format!("workload.trace={}", trace.display());
    let policies = "run.policies=[\"utilization\", \"utilization(commit=late)\"]";
    let path = path.display().to_string();
    let mut words = vec!["run", &path, "--no-out", "--json", "--set", &trace];
    words.extend(["--set", policies, "--set", "run.bounds=false"]);
    let output = run(&words);
    expect_code(&output, 0);
    let page = std::fs::read_to_string(root().join("docs/lsap.md")).unwrap();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
    let lines: Vec<Vec<String>> = page.lines().map(words).collect();
    for (name, run) in ["early", "late"]
        .iter()
        .zip(json(&output)["runs"].as_array().unwrap())
    {
        let mut line = vec![(*name).to_owned()];
        for metric in ["delay_s", "expansion"] {
            for statistic in ["max", "mean", "sd"] {
                line.push(format!("{:.2}", run[metric][statistic].as_f64().unwrap()));
            }
        }
        assert!(lines.contains(&line), "{line:?}");
    }
}
