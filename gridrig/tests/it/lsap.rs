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
