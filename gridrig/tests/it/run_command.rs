//! `gridrig run`: what it prints, what it writes, how it ends.

use crate::command::{ALONE, Bench, JOBS, PAIR, expect_code, json, run, stderr, stdout};

#[test]
fn the_demo_ends_in_a_table_of_four_audited_policies() {
    let out = tempfile::tempdir().unwrap();
    let dir = out.path().display().to_string();
    let output = run(&["run", "resources/scenarios/two-sites.toml", "--out", &dir]);
    expect_code(&output, 0);
    let table = stdout(&output);
    assert!(table.contains("\n480 jobs submitted\n"), "{table}");
    let delay = |policy: &str| -> f64 {
        let row = table.lines().find(|line| line.starts_with(policy));
        let row = row.expect(policy).trim_end();
        assert!(row.ends_with("| ok"), "{row}");
        let mean = row.split('|').nth(1).unwrap().split_whitespace().next();
        mean.unwrap().parse().unwrap()
    };
    for policy in ["round-robin", "queue-length", "free-node", "utilization"] {
        // One cluster of all processors waits least, sites without links most.
        let mean = delay(policy);
        assert!(
            delay("pooled") < mean && mean < delay("local-only"),
            "{table}"
        );
    }
    for setting in [
        "tie rotate",
        "own_dispatch ignored",
        "local_info exchange",
        "max_hops 1",
    ] {
        assert!(table.contains(setting), "{setting} is not shown:\n{table}");
    }
}

#[test]
fn json_is_one_document_and_nothing_else() {
    let bench = Bench::new(PAIR, &JOBS);
    let output = bench.run(&["--json"]);
    expect_code(&output, 0);
    let document = json(&output);
    let runs = document["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for run in runs {
        assert_eq!(run["audit"], "ok");
        assert_eq!(run["valid"], true);
        assert_eq!(run["clock"], "virtual");
        assert_eq!(run["jobs"]["submitted"], 6);
        assert_eq!(run["jobs"]["completed"], 6);
        assert_eq!(run["delay_s"]["n"], 6);
        assert_eq!(run["messages"]["submit"], 6);
    }
}

#[test]
fn without_a_broker_the_policy_is_null_and_waits_are_those_of_first_in_first_fit() {
    let bench = Bench::new(ALONE, &JOBS);
    let output = bench.run(&["--json"]);
    expect_code(&output, 0);
    let run = &json(&output)["runs"][0];
    assert!(run["policy"].is_null());
    // Starts at 0, 30, 30, 50, 50, 90: waits 0, 29, 28, 47, 46, 30.
    assert_eq!(run["wait_s"]["mean"].as_f64(), Some(30.0));
    assert_eq!(run["wait_s"]["max"].as_f64(), Some(47.0));
}

#[test]
fn one_seed_gives_the_same_bytes() {
    let files = [
        "jobs.parquet",
        "hops.parquet",
        "series.parquet",
        "events.parquet",
        "scenario.toml",
    ];
    let bench = Bench::new(PAIR, &JOBS);
    let read = |name: &str| std::fs::read(bench.path(&format!("runs/s-1/free-node/r000/{name}")));
    expect_code(&bench.run(&["--set", "run.tie=random"]), 0);
    let first: Vec<Vec<u8>> = files.iter().map(|name| read(name).unwrap()).collect();
    expect_code(&bench.run(&["--set", "run.tie=random", "--force"]), 0);
    for (name, before) in files.iter().zip(first) {
        assert_eq!(read(name).unwrap(), before, "{name}");
    }
}

#[test]
fn a_missed_threshold_exits_99_and_says_which() {
    let bench = Bench::new(PAIR, &JOBS);
    let kept = bench.run(&["--set", "run.require=[\"jobs.completed == 6\"]", "--no-out"]);
    expect_code(&kept, 2);
    let scenario = bench.path("s.toml");
    let with = |require: &str| {
        run(&[
            "run",
            &scenario,
            "--no-out",
            "--set",
            &format!("run.require=[\"{require}\"]"),
        ])
    };
    expect_code(&with("jobs.completed == 6"), 0);
    let missed = with("delay_s.max < 1");
    expect_code(&missed, 99);
    assert!(
        stderr(&missed).contains("delay_s.max < 1: missed"),
        "{}",
        stderr(&missed)
    );
}

#[test]
fn a_job_wider_than_every_cluster_is_rejected_and_counted() {
    let bench = Bench::new(PAIR, &[(0, 10, 2), (1, 10, 5)]);
    let output = bench.run(&["--json"]);
    expect_code(&output, 0);
    for run in json(&output)["runs"].as_array().unwrap() {
        assert_eq!(run["jobs"]["completed"], 1);
        assert_eq!(run["jobs"]["rejected"], 1);
        assert_eq!(run["audit"], "ok");
    }
}

#[test]
fn replications_that_give_the_same_run_count_once() {
    let scenario = format!("{PAIR}\nreplicate = {{ over = \"seed\", count = 3 }}\n");
    let bench = Bench::new(&scenario, &JOBS);
    let document = json(&bench.run(&["--json", "--set", "workload.share=1"]));
    let runs = document["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "no sample leaves a job out");
    let warnings = runs[0]["warnings"].to_string();
    assert!(warnings.contains("counts once"), "{warnings}");
    let random = json(&bench.run(&["--json", "--force", "--set", "run.policies=[\"random\"]"]));
    assert!(random["runs"].as_array().unwrap().len() > 1);
}

#[test]
fn several_replications_are_one_table_with_the_intervals_of_compare() {
    let scenario = format!("{PAIR}replicate = {{ over = \"broker-phase\", count = 5 }}\n");
    // One job of each replication is wider than any cluster.
    let jobs: Vec<_> = JOBS.into_iter().chain([(61, 5, 9)]).collect();
    let bench = Bench::new(&scenario, &jobs);
    let output = bench.run(&[]);
    expect_code(&output, 0);
    let table = stdout(&output);
    assert!(
        table.contains("\n5 replications, ") && table.contains(": 35 jobs submitted in all\n"),
        "{table}"
    );
    let document = json(&run(&["compare", &bench.path("runs"), "--json"]));
    for policy in document["policies"].as_array().unwrap() {
        let name = policy["name"].as_str().unwrap();
        let rows = table
            .lines()
            .filter(|line| line.starts_with(name) && line.ends_with("| ok"));
        let rows: Vec<&str> = rows.collect();
        assert_eq!(rows.len(), 1, "{name}: {table}");
        let mean = &policy["metrics"]["delay_s"]["mean"];
        let figure = |value: &serde_json::Value| format!("{:.2}", value.as_f64().unwrap());
        let ends = &mean["value_interval"];
        let (low, high) = (figure(&ends["low"]), figure(&ends["high"]));
        let shown = format!("{} {low} .. {high} ", figure(&mean["value"]));
        let words = rows[0].split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&shown), "{shown}: {table}");
        let rejected = format!("{name}: 5 rejected");
        assert!(table.contains(&rejected), "{rejected}: {table}");
    }
    let next = format!("next: gridrig compare {}\n", bench.path("runs/s-1"));
    assert!(stderr(&output).contains(&next), "{}", stderr(&output));
    let scenario = bench.path("s.toml");
    let words = [
        "run",
        &scenario,
        "--no-out",
        "--set",
        "run.replicate.count=3",
    ];
    let few = stdout(&run(&words));
    let said = "no intervals: too few repeats: 3, five are needed";
    assert!(few.contains(said), "{few}");
}

#[test]
fn the_csv_has_one_line_per_job_and_a_header() {
    let bench = Bench::new(ALONE, &JOBS);
    expect_code(&bench.run(&["--csv"]), 0);
    let csv = std::fs::read_to_string(bench.path("runs/s-1/no-broker/r000/jobs.csv")).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| -> Vec<f64> {
        let at = rows[0].iter().position(|own| *own == name).expect(name);
        let values = rows[1..].iter().map(|row| row[at].parse().unwrap());
        values.collect()
    };
    assert_eq!(column("job_id"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(column("submission_time"), [0.0, 1.0, 2.0, 3.0, 4.0, 60.0]);
    assert_eq!(column("starting_time"), [0.0, 30.0, 30.0, 50.0, 50.0, 90.0]);
    assert_eq!(column("finish_time"), [30.0, 50.0, 50.0, 90.0, 60.0, 95.0]);
}

#[test]
fn stopping_with_the_last_arrival_leaves_the_rest_unfinished_and_says_so() {
    let bench = Bench::new(ALONE, &JOBS);
    let output = bench.run(&["--json", "--set", "measure.stop=last-arrival"]);
    expect_code(&output, 0);
    let run = &json(&output)["runs"][0];
    assert_eq!(run["audit"], "ok");
    assert!(run["jobs"]["unfinished"].as_u64() > Some(0), "{run}");
    assert!(
        run["warnings"].to_string().contains("delays are too low"),
        "{}",
        run["warnings"]
    );
}
