//! A broker that is somebody else's program, as part of a scenario: the rig
//! sees nothing of it but what reaches the LRMSs.

use crate::command::{Bench, expect_code, gridrig, json, run, start, stderr};
use gridrig_core::ids::DomainId;
use gridrig_core::time::SimDuration;
use gridrig_results::jobs::JobState;
use gridrig_results::{JobTable, rundir};
use gridrig_scenario::external::Submit;
use serde_json::Value;
use std::path::Path;

/// Two clusters behind a broker that is a script; more keys of the broker, and
/// of the run, follow.
pub fn scenario(broker: &str, run: &str) -> String {
    format!(
        r#"
[workload]
trace = "t.swf"
domain = "a"

[[domain]]
name = "a"
clusters = [ {{ name = "a1", processors = 4 }}, {{ name = "a2", processors = 4 }} ]

[domain.broker]
kind = "external"
{broker}

[run]
clock = "real"
lag_tolerance = "1h"
{run}
"#
    )
}

/// A whole broker: by policy the first cluster, or each in its turn.
const BROKER: &str = r#"#!/bin/sh
policy=$1 job=$2 script=$3; shift 3
if [ "$policy" = alternate ] && [ $((job % 2)) -eq 1 ]; then shift; fi
exec "$1/sbatch" "$script"
"#;

const JOBS: [(u64, i64, u32); 6] = [
    (0, 2, 2),
    (0, 2, 1),
    (1, 1, 1),
    (1, 1, 4),
    (2, 1, 1),
    (2, 1, 1),
];

fn bench(broker: &str, more: &str) -> Bench {
    let bench = Bench::new(&scenario(broker, more), &JOBS);
    std::fs::write(bench.path("broker.sh"), BROKER).unwrap();
    bench
}

/// The job table of a run: state, reason and cluster of every job.
fn jobs(bench: &Bench, policy: &str) -> Vec<(JobState, Option<&'static str>, Option<String>)> {
    let dir = bench.path(&format!("runs/s-1/{policy}/r000"));
    let read = rundir::read(Path::new(&dir)).unwrap();
    let table = JobTable::build(&read.log, &read.submissions, &read.grid, &[]);
    let rows = table.rows().iter();
    rows.map(|row| {
        let cluster = row
            .cluster
            .map(|id| read.grid.clusters[id.index()].name.clone());
        (row.state, row.reason.map(|reason| reason.name()), cluster)
    })
    .collect()
}

fn warnings(run: &Value) -> Vec<String> {
    let warnings = run["warnings"].as_array().unwrap().iter();
    warnings.map(|w| w.as_str().unwrap().to_owned()).collect()
}

fn said(run: &Value, code: &str) -> String {
    let found = warnings(run).into_iter().find(|w| w.starts_with(code));
    found.unwrap_or_else(|| panic!("no {code} in {run}"))
}

#[test]
fn a_script_as_broker_is_compared_under_policies_of_its_own() {
    let bench = bench(
        r#"
start = ["sh", "-c", "printf '#!/bin/sh\nsleep 1\n' | {a1.slurm}/sbatch -J other"]
submit = ["sh", "{scenario}/broker.sh", "{policy}", "{job}", "{script}", "{a1.slurm}", "{a2.slurm}"]
expect = "Submitted batch job"
stop = [["sh", "-c", "echo stopped"], ["true"]]
"#,
        r#"policies = ["first", "alternate"]"#,
    );
    let output = bench.run(&["--json"]);
    expect_code(&output, 0);
    let document = json(&output);
    let runs = document["runs"].as_array().unwrap();
    for (run, policy) in runs.iter().zip(["first", "alternate"]) {
        assert_eq!(run["policy"], policy, "{run}");
        assert_eq!(run["audit"], "ok", "{run}");
        assert_eq!(run["valid"], true, "{run}");
        assert_eq!(run["jobs"]["completed"], 6, "{run}");
        let seen = said(run, "external-broker");
        assert!(seen.contains("6 found in the logs"), "{seen}");
        assert!(seen.contains("delays do not include the way"), "{seen}");
        assert!(said(run, "foreign-jobs").contains("1 jobs at a1"), "{run}");
    }
    let clusters = |policy| -> Vec<String> {
        let jobs = jobs(&bench, policy).into_iter();
        jobs.map(|(_, _, cluster)| cluster.unwrap()).collect()
    };
    assert_eq!(clusters("first"), ["a1"; 6]);
    assert_eq!(clusters("alternate"), ["a1", "a2", "a1", "a2", "a1", "a2"]);
    let kept = bench.path("runs/s-1/first/r000/broker/a/commands.jsonl");
    let kept = std::fs::read_to_string(kept).unwrap();
    let steps = |step: &str| kept.matches(&format!("\"step\":\"{step}\"")).count();
    assert_eq!((steps("start"), steps("submit"), steps("stop")), (1, 6, 2));
    let audit = run(&["audit", &bench.path("runs/s-1/first/r000"), "--json"]);
    expect_code(&audit, 0);
    assert_eq!(json(&audit)["schema"], "gridrig.audit.1");
    let notes = json(&audit)["notes"].to_string();
    assert!(notes.contains("foreign-jobs"), "{notes}");
    let compared = run(&["compare", &bench.path("runs/s-1"), "--json"]);
    expect_code(&compared, 0);
    let compared = String::from_utf8_lossy(&compared.stdout).into_owned();
    for said in ["alternate", "delays do not include the way"] {
        assert!(compared.contains(said), "{compared}");
    }
}

#[test]
fn every_way_in_which_a_command_fails_ends_its_job_once_and_says_why() {
    let bench = bench(
        r#"
files = { "broker.sh" = '''
case $1 in
  1) echo "no such user" >&2; exit 3 ;;
  2) sleep 600 ;;
  3) head -c 100000 /dev/zero; exit 0 ;;
  4) echo accepted; exit 0 ;;
  5) kill -9 $$ ;;
esac
"$2/sbatch" "$3" > /dev/null && echo accepted
''' }
submit = ["sh", "{dir}/broker.sh", "{job}", "{a1.slurm}", "{script}"]
expect = "accepted"
timeout = "20s"
at_once = 8
lost_after = "10s"
"#,
        "",
    );
    let output = bench.run(&["--json"]);
    expect_code(&output, 0);
    let run = &json(&output)["runs"][0];
    assert_eq!(
        (&run["audit"], &run["policy"]),
        (&"ok".into(), &"external".into())
    );
    assert_eq!(
        (&run["jobs"]["completed"], &run["jobs"]["failed"]),
        (&1.into(), &4.into())
    );
    let ended: Vec<(JobState, Option<&str>)> = jobs(&bench, "external")
        .into_iter()
        .map(|(state, reason, _)| (state, reason))
        .collect();
    let (failed, lost) = (
        (JobState::Failed, Some("submit-failed")),
        (JobState::Unfinished, Some("not-placed")),
    );
    let expected = [
        (JobState::Completed, None),
        failed,
        failed,
        failed,
        lost,
        failed,
    ];
    assert_eq!(ended, expected);
    assert!(
        said(run, "submit-failed").contains("4 submissions failed"),
        "{run}"
    );
    assert!(said(run, "not-placed").contains("1 jobs"), "{run}");
    let said = stderr(&output);
    for why in [
        "no such user",
        "killed after 20s",
        "without saying",
        "signal 9",
        "no LRMS",
    ] {
        assert!(said.contains(why), "{why}: {said}");
    }
}

#[test]
fn a_broker_that_cannot_be_set_up_fails_the_run_with_what_it_said() {
    let cases = [
        (
            r#"start = ["sh", "-c", "echo no licence >&2; exit 4"]"#,
            "no licence",
        ),
        (
            r#"serve = ["sh", "-c", "exit 5"]
ready = ["false"]"#,
            "serve ended too early",
        ),
        (
            r#"ready = ["false"]
start_timeout = "1s""#,
            "not ready within 1s",
        ),
        (r#"start = ["/no/such/program"]"#, "/no/such/program"),
    ];
    for (keys, expected) in cases {
        let bench = bench(&format!("{keys}\nsubmit = [\"true\"]"), "");
        let output = bench.run(&[]);
        expect_code(&output, 1);
        let said = stderr(&output);
        assert!(said.contains(expected), "{said}");
        assert!(
            said.contains("s: a run that is killed cannot be continued (external broker), but"),
            "{said}"
        );
        // It has not begun, so that the next one may go there.
        let dir = bench.path("runs/s-1/external/r000");
        assert!(!Path::new(&dir).exists());
    }
}

#[test]
fn bes_arc_and_slurm_outlets_each_drive_a_cluster() {
    for outlet in [
        "bes:{a2.bes}",
        "arc:{a2.arc}",
        "slurm:{a2.slurm}",
        "json:{a2.url}",
    ] {
        let bench = bench(&format!("outlet = \"{outlet}\""), "");
        let output = bench.run(&["--json"]);
        expect_code(&output, 0);
        let run = &json(&output)["runs"][0];
        assert_eq!(run["audit"], "ok", "{outlet}: {run}");
        assert_eq!(run["jobs"]["completed"], 6, "{outlet}: {run}");
        let jobs = jobs(&bench, "external");
        assert!(
            jobs.iter()
                .all(|(_, _, cluster)| cluster.as_deref() == Some("a2"))
        );
    }
}

#[test]
fn the_replayer_finds_jobs_again_that_it_sent_on_another_outlet() {
    let text = "[workload]\ntrace = \"t.swf\"\n[cluster]\nname = \"c\"\nprocessors = 4\n";
    let bench = Bench::new(text, &JOBS);
    let bin = bench.path("bin");
    let scenario = bench.path("s.toml");
    let lrms = start(&[
        "emulator",
        "--scenario",
        &scenario,
        "--name",
        "c",
        "--face",
        "arc",
        "--face",
        "bes",
        "--slurm-bin",
        &bin,
    ]);
    let outlets = [
        format!("c=bes:{}/services/bes", lrms.url),
        format!("c=arc:{}/arex", lrms.url),
        format!("c=slurm:{bin}"),
        format!("c=command:sh -c 'exec \"$0/sbatch\" < \"$1\"' {bin} {{script}}"),
    ];
    for outlet in outlets {
        let out = bench.path("runs");
        let output = gridrig()
            .args(["replay", &scenario, "--json", "--out", &out, "--force"])
            .args(["--outlet", &outlet, "--collect", &lrms.url])
            .args(["--set", "run.lag_tolerance=1h"])
            .output()
            .unwrap();
        expect_code(&output, 0);
        let run = &json(&output)["runs"][0];
        assert_eq!(run["audit"], "ok", "{outlet}: {run}");
        assert_eq!(run["jobs"]["completed"], 6, "{outlet}: {run}");
    }
    // That there is a run already is said before a job is handed over.
    let out = bench.path("runs");
    let output = run(&[
        "replay",
        &scenario,
        "--out",
        &out,
        "--outlet",
        "c=bes:http://127.0.0.1:9/services/bes",
        "--collect",
        &lrms.url,
    ]);
    expect_code(&output, 1);
    let said = stderr(&output);
    assert!(
        said.contains("run directory exists") && !said.contains("jobs ended"),
        "{said}"
    );
    let output = gridrig()
        .args(["replay", &scenario, "--json", "--outlet"])
        .arg(format!("c=arc:{}/arex", lrms.url))
        .output()
        .unwrap();
    expect_code(&output, 0);
    assert_eq!(
        json(&output)["taken"],
        6,
        "without a log, what was taken counts"
    );
}

#[test]
fn wrong_keys_and_places_are_mistakes_of_input() {
    let cases = [
        (
            "submit = [\"x\", \"{xsrl}\"]",
            "",
            "{xsrl}: expected one of",
        ),
        ("submit = []", "", "expected its program and arguments"),
        ("submit = [\"x\"]\ninterval = \"5s\"", "", "no interval"),
        (
            "submit = [\"x\"]\noutlet = \"bes:{a1.bes}\"",
            "",
            "not both",
        ),
        ("outlet = \"condor:x\"", "", "bes:URL"),
        ("start = [\"x\"]", "", "broker.submit"),
        (
            "submit = [\"x\"]\nfiles = { \"../x\" = \"\" }",
            "",
            "names of letters",
        ),
        (
            "submit = [\"x\"]\nstart = [\"x\", [\"y\"]]",
            "",
            "expected words only",
        ),
        ("submit = [\"x\"]", "policies = [\"one\"]", "{policy}"),
        (
            "submit = [\"{policy}\"]",
            "policies = [\"a:b\", \"a-b\"]",
            "each policy once",
        ),
        ("submit = [\"x\"]", "bounds = true", "bounds"),
    ];
    for (broker, more, expected) in cases {
        let bench = bench(broker, more);
        let output = run(&["check", &bench.path("s.toml")]);
        expect_code(&output, 2);
        let said = stderr(&output);
        assert!(said.contains(expected), "{broker} {more}: {said}");
    }
    let bench = bench("submit = [\"x\"]", "");
    let output = run(&["check", &bench.path("s.toml"), "--set", "run.clock=virtual"]);
    expect_code(&output, 2);
    assert!(stderr(&output).contains("run.clock"), "{}", stderr(&output));
    let bad = [
        ("a1", "NAME="),
        ("a=x:y", "bes:URL"),
        ("zz=slurm:x", "no domain or cluster"),
    ];
    for (outlet, expected) in bad {
        let output = run(&["replay", &bench.path("s.toml"), "--outlet", outlet]);
        expect_code(&output, 2);
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn a_resolved_scenario_with_an_external_broker_is_read_back_as_it_was() {
    let bench = bench(
        "files = { \"c.conf\" = \"a \\\"b\\\"\\n{a1.arc}\\n\" }\nstart = [[\"x\", \"y z\"], [\"w\"]]\n\
         serve = [\"s\"]\nready = [\"r\"]\nsubmit = [\"x\", \"{xrsl}\", \"{policy}\"]\n\
         expect = \"e\"\nstop = [\"t\"]\ntimeout = \"5s\"\nat_once = 2",
        "policies = [\"one\", \"PythonBroker:m.C\"]",
    );
    let load = |path: &str| gridrig::scenario::Scenario::load(Path::new(path), &[]).unwrap();
    let first = load(&bench.path("s.toml"));
    let again = bench.path("again.toml");
    std::fs::write(&again, first.to_resolved_toml()).unwrap();
    let second = load(&again);
    assert_eq!(first.external.brokers, second.external.brokers);
    let broker = &second.external.brokers[&DomainId(0)];
    assert_eq!(broker.files["c.conf"], "a \"b\"\n{a1.arc}\n");
    assert_eq!(broker.start, [vec!["x", "y z"], vec!["w"]]);
    assert_eq!(broker.serve, Some(vec!["s".to_owned()]));
    assert_eq!(broker.ready, Some(vec!["r".to_owned()]));
    let submit = ["x", "{xrsl}", "{policy}"].map(str::to_owned);
    assert_eq!(broker.submit, Submit::Command(submit.to_vec()));
    assert_eq!(broker.expect.as_deref(), Some("e"));
    assert_eq!(broker.stop, [vec!["t"]]);
    assert_eq!(
        (broker.timeout, broker.at_once),
        (SimDuration::from_secs(5), 2)
    );
    assert_eq!(second.external.policies, ["one", "PythonBroker:m.C"]);
    let arc = gridrig_emulator::faces::FaceKind::Arc;
    let faces: Vec<_> = second.clusters().map(|cluster| cluster.faces()).collect();
    assert_eq!(faces, [vec![arc], vec![]]);
}

#[test]
fn arcs_own_brokers_are_compared_over_three_emulated_clusters() {
    if !crate::need::arc("arcs_own_brokers_are_compared_over_three_emulated_clusters") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().display().to_string();
    let scenario = "resources/scenarios/arc-brokers.toml";
    let output = run(&[
        "run",
        scenario,
        "--json",
        "--out",
        &out,
        // Half a minute each, and patience with a busy machine.
        "--set=workload.scale={ arrival = 1200, run_time = 6000 }",
        "--set=run.lag_tolerance=10h",
        "--set=domain.broker.start_timeout=10min",
        "--set=domain.broker.timeout=5min",
    ]);
    expect_code(&output, 0);
    let document = json(&output);
    for (run, policy) in document["runs"]
        .as_array()
        .unwrap()
        .iter()
        .zip(["Random", "Benchmark"])
    {
        assert_eq!(
            (&run["policy"], &run["audit"]),
            (&policy.into(), &"ok".into()),
            "{run}"
        );
        assert_eq!(run["jobs"]["completed"], 18, "{run}");
        assert!(
            said(run, "external-broker").contains("18 found in the logs"),
            "{run}"
        );
        let read = Path::new(&out)
            .join("arc-brokers-1")
            .join(policy)
            .join("r000");
        let read = rundir::read(&read).unwrap();
        let table = JobTable::build(&read.log, &read.submissions, &read.grid, &[]);
        let mut at = [0; 3];
        for row in table.rows() {
            at[row.cluster.unwrap().index()] += 1;
        }
        match policy {
            // A fair coin with three sides leaves one out once in 490 runs.
            "Random" => assert!(at.iter().filter(|n| **n > 0).count() > 1, "{at:?}"),
            // The fastest cluster that is wide enough.
            _ => {
                for (row, submission) in table.rows().iter().zip(&read.submissions) {
                    let width = submission.spec.processors();
                    let fastest = [16, 32, 64].iter().position(|all| width <= *all).unwrap();
                    assert_eq!(row.cluster.unwrap().index(), fastest, "{width}: {at:?}");
                }
            }
        }
    }
    let study = format!("{out}/arc-brokers-1");
    let compared = run(&["compare", &study]);
    expect_code(&compared, 0);
    let text = String::from_utf8_lossy(&compared.stdout).into_owned();
    assert!(
        text.contains("Random") && text.contains("Benchmark"),
        "{text}"
    );
}
