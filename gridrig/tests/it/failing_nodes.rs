//! Nodes that fail, from the scenario to the results.

use crate::command::{
    Bench, JOBS, PAIR, REAL, expect_audited, expect_code, expect_part, expect_refused,
    expect_stdout, json, ok, rows, run, stderr, stdout,
};
use crate::real_time::alone;
use gridrig_core::event::EventKind;
use gridrig_results::rundir;
use std::path::Path;

/// The first site is down while its first jobs run.
fn bench() -> Bench {
    let down = "outages = [ { from = \"8s\", until = \"30s\" } ], processors = 4 } ]";
    let scenario = PAIR.replacen("processors = 4 } ]", down, 1);
    Bench::new(&scenario.replace(", \"free-node\"", ""), &JOBS)
}

#[test]
fn both_clocks_requeue_the_jobs_of_a_site_that_is_down() {
    let _alone = alone();
    let bench = bench();
    for (name, words) in [("virtual", &[][..]), ("real", &REAL[..])] {
        let out = bench.path(name);
        let scenario = bench.path("s.toml");
        let mut all = vec!["run", &scenario, "--json", "--out", &out];
        all.extend(words);
        let report = &json(&ok(run(&all)))["runs"][0];
        expect_audited(report, 6);
        let failures = &report["node_failures"];
        assert_eq!(failures["requeues"], 1, "{failures}");
        assert_eq!(failures["finished_share"], 1.0, "{failures}");
        assert_eq!(failures["down_processor_s"], 88.0, "{failures}");
        let directory = format!("{out}/s-1/round-robin/r000");
        expect_code(&run(&["audit", &directory]), 0);
        let log = rundir::read(Path::new(&directory)).unwrap().log;
        let times = |kind| {
            log.records()
                .filter(|(_, event)| event.kind == kind)
                .count()
        };
        assert_eq!(times(EventKind::Requeued), 1);
        assert_eq!(times(EventKind::Started), 7);
        assert_eq!(times(EventKind::NodeFailed), 1);
        assert_eq!(times(EventKind::NodeRepaired), 1);
    }
}

#[test]
fn a_cluster_says_what_becomes_of_jobs_and_failures_are_drawn_from_the_seed() {
    let bench = bench();
    let drawn = "--set=domain.0.clusters.0.node_failures={ mtbf = \"40s\", mttr = \"5s\", \
                 distribution = \"weibull\", shape = 0.7 }";
    let scenario = bench.path("s.toml");
    let checked = stdout(&run(&["check", &scenario, drawn]));
    let line = checked
        .lines()
        .find(|line| line.starts_with("node failures"));
    let failures: Option<u64> = line.and_then(|line| line.split(' ').next_back()?.parse().ok());
    assert!(failures.is_some_and(|failures| failures > 8), "{checked}");
    let how = "a1: each node fails 40 s of the trace after its last repair (weibull with shape 0.7) \
               and is repaired after 5 s, on average; 1 outage of all nodes; on_node_failure requeue";
    assert!(checked.contains(how), "{checked}");
    let output = run(&["run", &scenario, "--out", &bench.path("text")]);
    let text = stdout(&output);
    for said in [
        "cluster a1: 1 outage of all nodes; on_node_failure requeue",
        "100.00 % of the jobs finished, goodput 0.1 processor-hours; nodes that failed: 1 requeue, \
         0 failed jobs, 0.0 processor-hours lost",
    ] {
        assert!(text.contains(said), "{text}");
    }
    let lost = |seed: &str, policy: &str| {
        let (seed, out) = (format!("run.seed={seed}"), bench.path(policy));
        let policy = format!("domain.0.clusters.0.on_node_failure=\"{policy}\"");
        let words = ["run", &scenario, drawn, "--set", &seed, "--set", &policy];
        let output = ok(run(
            &[&words[..], &["--json", "--force", "--out", &out]].concat()
        ));
        let report = json(&output)["runs"][0].clone();
        assert_eq!(report["audit"], "ok");
        let directory = format!("{out}/s-1/round-robin/r000");
        expect_code(&run(&["audit", &directory]), 0);
        report
    };
    let resumed = lost("1", "resume");
    assert_eq!(resumed["node_failures"]["lost_processor_s"], 0.0);
    assert_eq!(resumed["jobs"]["completed"], 6);
    let failed = lost("1", "fail");
    assert!(failed["jobs"]["failed"].as_u64() > Some(0), "{failed}");
    assert_eq!(lost("1", "fail"), failed);
    assert_ne!(lost("2", "fail")["node_failures"], failed["node_failures"]);
}

#[test]
fn failures_that_cannot_be_are_refused() {
    let bench = bench();
    let scenario = bench.path("s.toml");
    for (set, says) in rows(
        r#"
            outages=[{ from = "2s", until = "1s" }] => expected outages that each
            node_failures={ mtbf = "2s" } => mttr
            node_failures={ mtbf = "2s", mttr = "1s", shape = 0.7 } => expected a shape if, and only if
            on_node_failure="retry" => one of `fail`, `requeue`, `resume`
            node_failures_file="nothing.csv" => node_failures_file = "nothing.csv": expected a file, looked for in
            "#,
    ) {
        let set = format!("--set=domain.0.clusters.0.{set}");
        expect_refused(&run(&["check", &scenario, &set]), says);
    }
}

#[test]
fn both_clocks_play_the_failures_of_a_file() {
    let _alone = alone();
    let bench = bench();
    let scenario = bench.path("s.toml");
    let text = "# the first site\nnode,down_s,up_s\nn1,8,30\nn2, 8 ,20.5\n\nn4,500,501\n";
    std::fs::write(bench.path("failures.csv"), text).unwrap();
    let sets = [
        "--set=domain.0.clusters.0.outages=[]",
        "--set=domain.0.clusters.0.node_failures_file=\"failures.csv\"",
    ];
    let checked = run(&[&["check", &scenario][..], &sets].concat());
    let how = "node failures 3\n  a1: nodes fail as ";
    expect_stdout(&checked, how);
    for (name, words) in [("virtual", &[][..]), ("real", &REAL[..])] {
        let out = bench.path(name);
        let all = ["run", &scenario, "--json", "--out", &out];
        let report = &json(&ok(run(&[&all[..], &sets, words].concat())))["runs"][0];
        assert_eq!(report["audit"], "ok");
        let failures = &report["node_failures"];
        assert_eq!(failures["down_processor_s"], 34.5, "{failures}");
        let warnings = report["warnings"].to_string();
        assert!(warnings.contains("no-regret: nodes failed"), "{warnings}");
        let manifest = format!("{out}/s-1/round-robin/r000/manifest.json");
        let manifest = std::fs::read_to_string(manifest).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
        let hash = manifest["failures_sha256"]["a1"].as_str().unwrap();
        assert_eq!(hash.len(), 64);
    }
    let lines = rows(
        r#"
            n1,8 => line 3: line = "n1,8": expected node,down_s,up_s
            n5,8,30 => line 3: node = "n5": expected a node from n1 to n4
            n1,8m,30 => line 3: down_s = "8m": expected seconds of the trace
            n1,8,-1 => line 3: up_s = "-1": expected seconds of the trace
            n1,8,8.0 => line 3: up_s = "8.0": expected an instant after down_s
            "#,
    );
    let lines = lines.map(|(line, says)| (format!("# x\nnode,down_s,up_s\n{line}\n"), says));
    let no_head = [
        ("", "line 1: \"\": expected \"node,down_s,up_s\""),
        (
            "n1,8,30\n",
            "line 1: \"n1,8,30\": expected \"node,down_s,up_s\"",
        ),
    ];
    let no_head = no_head.map(|(text, says)| (text.to_owned(), says));
    for (text, says) in lines.chain(no_head) {
        std::fs::write(bench.path("failures.csv"), text).unwrap();
        let output = run(&[&["check", &scenario][..], &sets].concat());
        expect_code(&output, 2);
        let said = stderr(&output);
        assert!(said.contains(says), "{said}");
        expect_part(&said, "node_failures_file = \"failures.csv\"");
    }
}
