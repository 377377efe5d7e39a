//! `gridrig explain`: why a job went where it went.

use crate::command::{expect_code, gridrig, stderr, stdout};
use gridrig::scenario::external::as_directory;
use serde_json::Value;
use std::path::Path;

/// Runs a day of the shipped pair with these settings into a directory.
fn run(out: &Path, scenario: &str, sets: &[&str]) {
    let mut command = gridrig();
    command.args(["run", scenario, "--out"]).arg(out);
    for set in sets {
        command.args(["--set", set]);
    }
    expect_code(&command.output().unwrap(), 0);
}

fn explained(run: &Path, job: u32) -> Value {
    let output = gridrig()
        .args(["explain", "--json"])
        .arg(run)
        .arg(job.to_string())
        .output()
        .unwrap();
    expect_code(&output, 0);
    let life: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(life["schema"], "gridrig.explain.1");
    life
}

const PAIR: &str = "resources/scenarios/two-sites.toml";
const POLICIES: &str = r#"run.policies=["queue-length","free-node(commit=late)","inter-rr","random",
    "earliest-completion"]"#;

#[test]
fn a_run_that_is_played_again_tells_of_a_job_what_the_run_has_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let (all, none, some) = ("all", "none", "some");
    let common = [
        POLICIES,
        "workload.window.length=1d",
        "run.bounds=false",
        r#"workload.preferences={ stage_in = "30s", benchmarks = { linpack = { result = 1000 } } }"#,
        "domain.b.clusters.b1.benchmarks={ linpack = 4000 }",
    ];
    for (name, share) in [(all, "1"), (none, "0"), (some, "0.25")] {
        let share = format!("run.decisions={share}");
        let sets = [&common[..], &[&share]].concat();
        run(&dir.path().join(name), PAIR, &sets);
    }
    let mut kinds = std::collections::BTreeSet::new();
    for policy in [
        "queue-length",
        "free-node(commit=late)",
        "inter-rr",
        "random",
        "earliest-completion",
    ] {
        let folder = as_directory(policy);
        let of = |name: &str| {
            let runs = dir.path().join(name).join("two-sites-1");
            runs.join(&folder).join("r000")
        };
        let mut recorded = 0;
        for job in 0..60 {
            let (kept, again) = (explained(&of(all), job), explained(&of(none), job));
            assert_eq!(kept["decisions_recorded"], true);
            assert_eq!(again["decisions_recorded"], false);
            let decisions = |life: &Value| -> Vec<Value> {
                let all = life["decisions"].as_array().unwrap().clone();
                let numbered = all.into_iter().map(|mut one| {
                    one["decision"] = Value::Null;
                    one
                });
                numbered.collect()
            };
            assert_eq!(decisions(&kept), decisions(&again), "{policy} job {job}");
            let share = explained(&of(some), job);
            assert_eq!(decisions(&share), decisions(&kept));
            recorded += u32::from(share["decisions_recorded"] == true);
            for decision in kept["decisions"].as_array().unwrap() {
                kinds.insert(decision["outcome"].as_str().unwrap().to_owned());
            }
        }
        assert!((5..=25).contains(&recorded), "{policy}: {recorded} of 60");
        let audit = gridrig().arg("audit").arg(of(all)).output().unwrap();
        expect_code(&audit, 0);
    }
    assert!(kinds.contains("sent"), "{kinds:?}");
}

#[test]
fn scores_are_what_the_policy_chose_by_and_the_text_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let sets = [
        r#"run.policies=["queue-length"]"#,
        "workload.window.length=2d",
        "run.bounds=false",
        "domain.a.clusters.a1.processors=225",
    ];
    run(dir.path(), PAIR, &sets);
    let run = dir.path().join("two-sites-1/queue-length/r000");
    let mut decided = 0;
    for job in (0..170).step_by(5) {
        for decision in explained(&run, job)["decisions"].as_array().unwrap() {
            assert_eq!(decision["score_of"], "queued jobs, the fewest");
            let all = decision["candidates"].as_array().unwrap();
            let chosen = all.iter().find(|it| it["standing"] == "chosen").unwrap();
            let possible = all.iter().filter_map(|it| it["score"].as_f64());
            let least = possible.fold(f64::INFINITY, f64::min);
            assert_eq!(chosen["score"].as_f64(), Some(least));
            for candidate in all {
                let age = candidate["information_age_s"].as_f64().unwrap();
                assert!((0.0..=20.1).contains(&age), "{candidate}");
                assert!(candidate["true_free"].as_i64().unwrap() <= 225);
            }
            decided += 1;
        }
    }
    assert!(decided > 30, "{decided}");
    let output = gridrig()
        .arg("explain")
        .arg(&run)
        .arg("0")
        .output()
        .unwrap();
    let text = stdout(&output);
    for said in ["broker:a decides by queued jobs", "true free", "-> sent to"] {
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn of_a_job_that_is_placed_on_several_clusters_all_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let trace = "; MaxProcs: 45\n; JobComponents: 1 10 6 6\n\
        1 0 -1 60 22 -1 -1 22 60 -1 1 1 1 -1 -1 -1 -1 -1\n\
        2 900 -1 60 9 -1 -1 9 60 -1 1 1 1 -1 -1 -1 -1 -1\n\
        3 901 -1 60 17 -1 -1 17 60 -1 1 1 1 -1 -1 -1 -1 -1\n";
    std::fs::write(dir.path().join("t.swf"), trace).unwrap();
    let scenario = dir.path().join("three.toml");
    let clusters = [("c1", 18), ("c2", 15), ("c3", 12)].map(|(name, processors)| {
        format!(
            "{{ name = \"{name}\", processors = {processors}, reservations = {{ overrun = \"kill\" }} }}"
        )
    });
    let clusters = clusters.join(", ");
    let text = format!(
        "[[workload]]\ntrace = \"t.swf\"\ndomain = \"d\"\n\
         [[domain]]\nname = \"d\"\nclusters = [{clusters}]\n\
         [run]\nbounds = false\npolicies = [\"worst-fit\", \"co-reservation\"]\n"
    );
    std::fs::write(&scenario, text).unwrap();
    run(dir.path(), &scenario.display().to_string(), &[]);
    let of = |policy: &str, job| {
        let run = dir.path().join("three-1").join(policy).join("r000");
        let told = explained(&run, job)["decisions"][0].clone();
        let all = told["candidates"].as_array().unwrap();
        let standings = all
            .iter()
            .map(|it| it["standing"].as_str().unwrap().to_owned());
        let says = told["says"].as_str().unwrap().to_owned();
        (standings.collect::<Vec<_>>().join(" "), says)
    };
    let expected = [
        (
            "worst-fit",
            0,
            "chosen chosen chosen",
            "at lrms:c1 and lrms:c2 and lrms:c3, each of which gets a part",
        ),
        (
            "worst-fit",
            1,
            "chosen possible possible",
            "at lrms:c1, which the policy prefers",
        ),
        (
            "worst-fit",
            2,
            "no-room no-room no-room",
            "it waits until one has room",
        ),
        (
            "co-reservation",
            0,
            "possible possible possible",
            "reservations are asked for",
        ),
    ];
    for (policy, job, standings, says) in expected {
        let told = of(policy, job);
        assert!(
            told.0 == standings && told.1.contains(says),
            "{policy} {job}: {told:?}"
        );
    }
}

#[test]
fn a_table_that_names_another_candidate_is_found_by_the_audit() {
    let dir = tempfile::tempdir().unwrap();
    let sets = [
        r#"run.policies=["round-robin"]"#,
        "workload.window.length=1d",
        "run.bounds=false",
        "run.decisions=1",
    ];
    run(&dir.path().join("rr"), PAIR, &sets);
    let other = [&[r#"run.policies=["random"]"#][..], &sets[1..]].concat();
    run(&dir.path().join("random"), PAIR, &other);
    let at = |name: &str, policy: &str| dir.path().join(name).join("two-sites-1").join(policy);
    let (one, two) = (at("rr", "round-robin"), at("random", "random"));
    let name = "r000/decisions.parquet";
    std::fs::copy(one.join(name), two.join(name)).unwrap();
    let output = gridrig()
        .arg("audit")
        .arg(two.join("r000"))
        .output()
        .unwrap();
    expect_code(&output, 1);
    let said = stderr(&output);
    assert!(said.contains(": no event says that broker:"), "{said}");
}

#[test]
fn services_record_how_they_decided() {
    let dir = tempfile::tempdir().unwrap();
    let smoke = "resources/scenarios/realtime-smoke.toml";
    let sets = ["run.speed=60", "run.lag_tolerance=10min"];
    run(dir.path(), smoke, &sets);
    let run = dir.path().join("realtime-smoke-1/round-robin/r000");
    for job in 0..10 {
        let life = explained(&run, job);
        assert_eq!(life["decisions_recorded"], true);
        let sent = life["decisions"].as_array().unwrap().iter();
        let to = sent.map(|it| it["outcome"].as_str().unwrap());
        assert!(to.clone().count() > 0 && to.clone().all(|it| it == "sent"));
    }
    expect_code(&gridrig().arg("audit").arg(&run).output().unwrap(), 0);
    // Without a record there is no way back.
    let silent = dir.path().join("silent");
    let sets = [&sets[..], &["run.decisions=0"]].concat();
    self::run(&silent, smoke, &sets);
    let silent = silent.join("realtime-smoke-1/round-robin/r000");
    let output = gridrig()
        .arg("explain")
        .arg(&silent)
        .arg("3")
        .output()
        .unwrap();
    expect_code(&output, 2);
    assert!(stderr(&output).contains("expected a run with run.decisions = 1"));
}

#[test]
fn a_job_that_the_run_does_not_have_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let sets = [
        r#"run.policies=["random"]"#,
        "workload.window.length=1d",
        "run.bounds=false",
    ];
    run(dir.path(), PAIR, &sets);
    let run = dir.path().join("two-sites-1/random/r000");
    let output = gridrig()
        .arg("explain")
        .arg(&run)
        .arg("999999")
        .output()
        .unwrap();
    expect_code(&output, 2);
    assert!(stderr(&output).contains("job 999999: expected a number from 0 and below"));
}

#[test]
fn the_folder_of_a_policy_stands_for_its_only_run() {
    let dir = tempfile::tempdir().unwrap();
    let sets = [
        r#"run.policies=["random"]"#,
        "workload.window.length=1d",
        "run.bounds=false",
    ];
    run(dir.path(), PAIR, &sets);
    let folder = dir.path().join("two-sites-1/random");
    assert_eq!(explained(&folder, 3), explained(&folder.join("r000"), 3));
    std::fs::create_dir(folder.join("r001")).unwrap();
    let manifest = |run: &str| folder.join(run).join("manifest.json");
    std::fs::copy(manifest("r000"), manifest("r001")).unwrap();
    let output = gridrig()
        .arg("explain")
        .arg(&folder)
        .arg("3")
        .output()
        .unwrap();
    expect_code(&output, 2);
    let said = stderr(&output);
    assert!(
        said.contains("holds 2 replications, r000, r001 (expected one of them, such as "),
        "{said}"
    );
}
