//! The page of a sweep, as a file and in the dashboard.

use crate::command::{Bench, JOBS, PAIR, expect_code, expect_part, run, stderr};
use crate::dashboard::Dashboard;
use std::fs;

/// Two exchanges, two disciplines and five repeats whose arrivals are shaken.
const STUDY: &str = r#"
[grid]
"domain.*.broker.exchange" = ["5s", "5m"]
"domain.*.clusters.*.discipline" = ["fcfs", "easy-backfill"]
"workload.scale.arrival" = [2]
"#;

/// A sweep that is planned beside its study, in the folder of the runs.
fn planned() -> (Bench, String) {
    let repeats = "replicate = { over = \"shake\", step = \"3s\", count = 5 }\nseed = 1\n";
    let bench = Bench::new(&format!("{PAIR}{repeats}"), &JOBS);
    let study = format!("scenario = \"{}\"\n{STUDY}", bench.path("s.toml"));
    fs::write(bench.path("study.toml"), study).unwrap();
    let dir = bench.path("runs/paper/sweep");
    fs::create_dir_all(bench.path("runs/paper")).unwrap();
    let output = run(&["sweep", "plan", &bench.path("study.toml"), "--out", &dir]);
    expect_code(&output, 0);
    (bench, dir)
}

#[test]
fn a_page_of_a_sweep_shows_what_differs_the_responses_and_the_best_trade_offs() {
    let (bench, dir) = planned();
    let file = bench.path("sweep.html");
    let report = |more: &[&str]| {
        let words = ["sweep", "report", &dir, "--out", &file, "--force"];
        run(&[&words, more].concat())
    };
    let nothing = report(&[]);
    expect_code(&nothing, 2);
    assert!(
        stderr(&nothing).contains("nothing has run yet"),
        "{}",
        stderr(&nothing)
    );
    expect_code(&run(&["sweep", "run", &dir, "--slice", "1/2"]), 0);
    expect_code(&report(&[]), 0);
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .contains("2 of 4 have runs")
    );
    expect_code(&run(&["sweep", "run", &dir]), 0);
    expect_code(&report(&[]), 0);
    let page = fs::read_to_string(&file).unwrap();
    for told in [
        "4 of 4 have runs",
        "40 runs",
        "Response to exchange",
        "Response to discipline",
        "intervals are 95 % intervals of the mean over replications",
        "Pareto front",
        "Of 8 cases",
        "8 cases as lines over 4 axes",
    ] {
        assert!(page.contains(told), "{told}");
    }
    // What does not differ is no axis.
    assert!(!page.contains("workload.scale.arrival"));
    expect_code(&report(&[]), 0);
    assert!(fs::read_to_string(&file).unwrap() == page);
    // The greatest utilization is the best, and the only one on a front of one figure.
    let twice = ["--figure", "utilization", "--figure", "utilization"];
    expect_code(&report(&twice), 0);
    let page = fs::read_to_string(&file).unwrap();
    assert!(page.contains("utilization (the more the better)"), "{page}");
    let best = best(&dir, "utilization");
    // The last table before the responses has the front alone.
    let trade_offs = page.split("Response to exchange").nth(1).unwrap();
    let trade_offs = trade_offs.rsplit("<tbody>").next().unwrap();
    let shown = gridrig_results::plot::number(best);
    let row = trade_offs.split("</tr>").next().unwrap();
    assert!(row.contains(&format!(">{shown}<")), "{shown}: {row}");
    // As the other command has it, which leads here; neither overwrites without a word.
    expect_code(&report(&[]), 0);
    let page = fs::read_to_string(&file).unwrap();
    let other = bench.path("other.html");
    expect_code(&run(&["report", &dir, "--out", &other]), 0);
    assert!(fs::read_to_string(&other).unwrap() == page);
    expect_code(&run(&["report", &dir, "--out", &other]), 2);
    expect_code(&run(&["sweep", "report", &dir, "--out", &other]), 2);
    let unknown = report(&["--figure", "speed"]);
    expect_code(&unknown, 2);
    assert!(stderr(&unknown).contains("--figure speed: expected one of "));
}

/// The greatest mean of a figure over the replications of a policy at a point.
fn best(dir: &str, figure: &str) -> f64 {
    let mut best = f64::NEG_INFINITY;
    for point in fs::read_dir(format!("{dir}/runs")).unwrap() {
        let seeds = fs::read_dir(point.unwrap().path()).unwrap().flatten();
        for scenario in seeds.filter(|it| it.path().is_dir()) {
            for policy in fs::read_dir(scenario.path()).unwrap().flatten() {
                let runs = fs::read_dir(policy.path()).unwrap().flatten();
                let values = runs.map(|run| {
                    let text = fs::read(run.path().join("manifest.json")).unwrap();
                    let manifest: serde_json::Value = serde_json::from_slice(&text).unwrap();
                    manifest["summary"][figure].as_f64().unwrap()
                });
                let values: Vec<f64> = values.collect();
                assert_eq!(values.len(), 5);
                best = best.max(values.iter().sum::<f64>() / 5.0);
            }
        }
    }
    best
}

#[test]
fn the_dashboard_shows_the_sweeps_among_its_runs() {
    let (bench, dir) = planned();
    expect_code(&run(&["sweep", "run", &dir]), 0);
    let rig = Dashboard::start_over(bench.dir, &[], &[]);
    let runs = rig.get("/runs").expect(200).body;
    expect_part(&runs, "<a href=\"/sweep?dir=paper/sweep\">paper/sweep</a>");
    let page = rig.get("/sweep?dir=paper%2Fsweep").expect(200).body;
    assert!(page.contains("Response to exchange") && page.contains("forwards_per_job"));
    let page = rig
        .get("/sweep?dir=paper%2Fsweep&figure=makespan_s")
        .expect(200)
        .body;
    assert!(page.contains("makespan_s") && !page.contains("forwards_per_job"));
    for (target, status) in [
        ("/sweep?dir=paper", 404),
        ("/sweep?dir=..%2Fruns%2Fpaper%2Fsweep", 404),
        ("/sweep", 404),
        ("/sweep?dir=paper%2Fsweep&figure=speed", 422),
    ] {
        rig.get(target).expect(status);
    }
}
