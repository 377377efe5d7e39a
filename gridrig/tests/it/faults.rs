//! Faults that a scenario plans.

use crate::command::{
    Bench, PAIR, expect_audited, expect_code, expect_refused, expect_stderr, expect_stdout, json,
    ok, rows, run,
};
use crate::real_time::alone;
use serde_json::Value;
use std::collections::BTreeMap;

/// Forty jobs in ten minutes, half a site's worth of work, at the broker of a.
fn bench(faults: &str) -> Bench {
    let jobs: Vec<_> = (0..40).map(|k| (15 * k, 20, 2)).collect();
    let scenario = PAIR.replace("\"round-robin\", \"free-node\"", "\"round-robin\"");
    Bench::new(&format!("{scenario}\n{faults}"), &jobs)
}

fn summary(faults: &str) -> Value {
    json(&ok(bench(faults).run(&["--json"])))["runs"][0].clone()
}

/// What has gone wrong, and nothing that has not.
fn counts(run: &Value) -> BTreeMap<String, u64> {
    let all: BTreeMap<String, u64> = serde_json::from_value(run["faults"].clone()).unwrap();
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

fn names(run: &Value) -> Vec<String> {
    counts(run).into_keys().collect()
}

fn mean(run: &Value) -> f64 {
    run["delay_s"]["mean"].as_f64().unwrap()
}

#[test]
fn a_table_without_faults_changes_nothing() {
    let (without, with) = (summary(""), summary("[faults]\nlinks = [{ loss = 0 }]"));
    assert_eq!(without, with);
    assert_eq!(without["faults"], Value::Null);
}

#[test]
fn messages_are_lost_duplicated_reordered_and_delayed_as_it_is_written() {
    let lost = summary("[[faults.links]]\nloss = 0.2");
    assert!(counts(&lost)["lost"] > 20, "{lost}");
    assert!(!names(&lost).contains(&"duplicated".to_owned()), "{lost}");
    let twice = summary("[[faults.links]]\nduplication = 0.2");
    assert!(counts(&twice)["duplicated"] > 20, "{twice}");
    assert_eq!(twice["jobs"]["completed"], 40, "each ran once");
    let overtaken = summary("[[faults.links]]\nreordering = 0.2");
    assert_eq!(names(&overtaken), ["reordered"]);
    // Four messages carry a job there and back, or more if it is forwarded.
    let delayed = summary("[[faults.links]]\ndelay = \"2s\"");
    assert!(names(&delayed).is_empty(), "{delayed}");
    assert!(mean(&delayed) > mean(&summary("")) + 5.0, "{delayed}");
    let jitter = summary("[[faults.links]]\njitter = \"2s\"");
    assert!(mean(&jitter) > mean(&summary("")) && mean(&jitter) < mean(&delayed));
}

#[test]
fn of_several_settings_the_first_that_concerns_a_message_counts_while_it_holds() {
    let faults = |first: &str| {
        let first = format!("[[faults.links]]\nloss = 0\n{first}");
        summary(&format!("{first}\n[[faults.links]]\nloss = 0.2"))
    };
    let lost = |first: &str| counts(&faults(first)).get("lost").copied().unwrap_or(0);
    assert_eq!(lost(""), 0);
    let whole = lost("until = \"1s\"");
    let domains = lost("between = \"brokers\"");
    assert!(0 < domains && domains < whole, "{domains} of {whole}");
    let others = lost("party = \"broker:a\"\ntowards = \"lrms:a1\"");
    assert!(0 < others && others < whole, "{others} of {whole}");
    assert_eq!(lost("between = \"all\""), 0);
}

#[test]
fn a_partition_keeps_jobs_at_home_and_a_stop_of_information_does_not() {
    let outage = |more: &str| {
        summary(&format!(
            "[[faults.outages]]\nparty = \"broker:a\"\ntowards = \"broker:b\"\nuntil = \"1h\"\n{more}"
        ))
    };
    assert!(summary("")["forwarding_ratio"].as_f64().unwrap() > 0.4);
    let partition = outage("");
    assert!(counts(&partition)["cut-off"] > 0);
    // The first job finds out that there is no way.
    let ratio = partition["forwarding_ratio"].as_f64().unwrap();
    assert!(ratio < 0.1, "{ratio}");
    assert_eq!(partition["jobs"]["completed"], 40);
    let silent = outage("information = true");
    assert!(counts(&silent)["cut-off"] > 0);
    assert!(silent["forwarding_ratio"].as_f64().unwrap() > 0.4);
    // Before it begins, jobs are forwarded.
    let late = outage("from = \"5min\"");
    let ratio = late["forwarding_ratio"].as_f64().unwrap();
    assert!(0.1 < ratio && ratio < 0.4, "{ratio}");
}

#[test]
fn jobs_of_a_service_that_is_away_for_longer_than_the_client_waits_are_unfinished() {
    let faults = |patience: &str| {
        let outage = "[[faults.outages]]\nparty = \"broker:a\"\nfrom = \"100s\"\nuntil = \"300s\"";
        summary(&format!("[faults]\npatience = \"{patience}\"\n{outage}"))
    };
    let (soon, late) = (faults("10s"), faults("1h"));
    assert!(soon["jobs"]["unfinished"].as_u64().unwrap() > 5, "{soon}");
    assert!(stdout_of_lost(&soon), "{soon}");
    assert_eq!(late["jobs"]["completed"], 40);
}

/// Whether a reader is told that touch was lost.
fn stdout_of_lost(run: &Value) -> bool {
    let warnings = run["warnings"].as_array().unwrap().iter();
    let mut texts = warnings.filter_map(Value::as_str);
    texts.any(|text| text.starts_with("lost-touch"))
}

#[test]
fn a_broker_that_crashes_is_restarted_with_its_journal_or_without_memory() {
    let restarts = |memory: &str| {
        let when = "from = \"200s\"\nuntil = \"260s\"";
        summary(&format!(
            "[[faults.restarts]]\nbroker = \"a\"\n{when}\nmemory = \"{memory}\""
        ))
    };
    let runs = ["journal", "none", "kept"].map(restarts);
    for run in &runs {
        assert_eq!(counts(run)["restarts"], 1);
        assert_eq!(run["jobs"]["completed"], 40, "{run}");
        assert!(mean(run) > mean(&summary("")) + 1.0, "{run}");
    }
}

#[test]
fn failures_are_drawn_by_the_seed_of_the_run() {
    let report = |more: &str, seed: &str| {
        let failures = format!("failures = {{ mtbf = \"50s\", mttr = \"10s\"{more} }}");
        let faults = format!("[[faults.restarts]]\nbroker = \"a\"\nuntil = \"10min\"\n{failures}");
        let scenario = bench(&faults).dir;
        let path = scenario.path().join("s.toml");
        let output = ok(run(&[
            "check",
            path.to_str().unwrap(),
            "--json",
            "--seed",
            seed,
        ]));
        json(&output)["faults"]["restarts"].as_u64().unwrap()
    };
    // At 50 s, 110 s, ...: the last one at 590 s.
    assert_eq!(report(", distribution = \"constant\"", "1"), 10);
    let seeds = ["1", "2", "3", "4", "5", "6", "7", "8"];
    for more in ["", ", distribution = \"weibull\", shape = 0.7"] {
        let drawn = seeds.map(|seed| report(more, seed));
        assert_eq!(drawn, seeds.map(|seed| report(more, seed)));
        let all: u64 = drawn.iter().sum();
        assert!((50..120).contains(&all), "{drawn:?}");
        assert!(drawn.iter().any(|count| *count != drawn[0]), "{drawn:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_the_table_says_what_went_wrong() {
    let faults = "[[faults.links]]\nloss = 0.1\njitter = \"1s\"\n[[faults.restarts]]\n\
                  broker = \"b\"\nuntil = \"10min\"\nfailures = { mtbf = \"2min\", mttr = \"20s\" }";
    let bench = bench(faults);
    let bytes = |seed: &str, out: &str| {
        let output = run(&[
            "run",
            &bench.path("s.toml"),
            "--seed",
            seed,
            "--out",
            &bench.path(out),
        ]);
        expect_code(&output, 0);
        let finished = "100.00 % of the jobs finished";
        expect_stdout(&output, finished);
        let run = bench.path(&format!("{out}/s-{seed}/round-robin/r000"));
        ["events.parquet", "jobs.parquet"]
            .map(|file| std::fs::read(format!("{run}/{file}")).unwrap())
    };
    let first = bytes("1", "first");
    assert!(first == bytes("1", "second"));
    assert!(first != bytes("2", "first"));
}

#[test]
fn services_in_real_time_meet_the_same_plan() {
    let faults = "[[faults.links]]\nloss = 0.1\nduplication = 0.1\njitter = \"1s\"\n\
                  [[faults.outages]]\nparty = \"broker:a\"\ntowards = \"broker:b\"\n\
                  until = \"4min\"\nsilent = true";
    let bench = bench(faults);
    for protocol in ["native", "json"] {
        let link = format!("link.protocol={protocol}");
        let words = ["--clock", "real", "--set", "run.speed=60", "--set", &link];
        let run = &json(&ok(
            bench.run(&[&words[..], &["--json", "--force"]].concat())
        ))["runs"][0];
        assert_eq!(run["audit"], "ok");
        let lost = run["jobs"]["unfinished"].as_u64().unwrap();
        assert_eq!(run["jobs"]["completed"], 40 - lost, "{run}");
        // Without sessions some are never found again.
        assert!(
            lost == 0 || (protocol, lost < 20) == ("native", true),
            "{run}"
        );
        for kind in ["lost", "duplicated", "cut-off"] {
            assert!(counts(run).contains_key(kind), "{kind}: {run}");
        }
    }
    let checked = run(&["check", &bench.path("s.toml"), "--clock", "real"]);
    let warning = "warning [no-sessions]: links with protocol = \"native\"";
    expect_stdout(&checked, warning);
}

/// Threads of one process, and processes of their own.
#[test]
fn brokers_are_restarted_by_one_plan_in_both_clocks_and_every_job_ends_once() {
    let _alone = alone();
    let restart = |broker: &str, from: u32, memory: &str| {
        let until = from + 20;
        format!(
            "[[faults.restarts]]\nbroker = \"{broker}\"\nfrom = \"{from}s\"\n\
             until = \"{until}s\"\nmemory = \"{memory}\"\n"
        )
    };
    let restarts = [("a", 30, "none"), ("b", 60, "journal"), ("a", 90, "kept")];
    let restarts = restarts.map(|(broker, from, memory)| restart(broker, from, memory));
    let faults = format!("[[faults.links]]\nloss = 0.05\n{}", restarts.concat());
    let jobs: Vec<_> = (0..20).map(|k| (6 * k, 10, 2)).collect();
    let scenario = PAIR.replace("\"round-robin\", \"free-node\"", "\"round-robin\"");
    let bench = Bench::new(&format!("{scenario}\n{faults}"), &jobs);
    let sets = ["--set=run.speed=40", "--set=link.protocol=json"];
    for clock in [&["virtual"][..], &["real"], &["real", "--processes"]] {
        let words = [&["--json", "--force", "--clock"][..], clock, &sets].concat();
        let run = &json(&ok(bench.run(&words)))["runs"][0];
        assert_eq!(run["audit"], "ok", "{clock:?} {run}");
        assert_eq!(run["jobs"]["completed"], 20, "{clock:?} {run}");
        assert_eq!(counts(run)["restarts"], 3, "{clock:?} {run}");
        assert!(counts(run)["lost"] > 0, "{clock:?} {run}");
    }
}

#[test]
fn one_plan_has_like_effects_in_both_clocks() {
    let _alone = alone();
    let faults = "[[faults.links]]\nloss = 0.15\nduplication = 0.15\njitter = \"1s\"\n\
                  [[faults.outages]]\nparty = \"broker:a\"\ntowards = \"broker:b\"\nuntil = \"4min\"";
    let bench = bench(faults);
    let sets = ["--set=run.speed=60", "--set=link.protocol=json"];
    let of_clock = |clock: &str| {
        let words = ["--clock", clock, "--json", "--force"];
        let run = json(&ok(bench.run(&[&words[..], &sets].concat())))["runs"][0].clone();
        expect_audited(&run, 40);
        run
    };
    let (wanted, found) = (of_clock("virtual"), of_clock("real"));
    // Beside chance, tries within a second of the wall may be fewer or more.
    for kind in ["lost", "duplicated"] {
        let (wanted, found) = (counts(&wanted)[kind], counts(&found)[kind]);
        let near = wanted / 2..=wanted * 2;
        assert!(near.contains(&found), "{kind}: {wanted} and {found}");
    }
    let [wanted, found] = [&wanted, &found].map(|run| {
        assert!(counts(run)["cut-off"] > 0, "{run}");
        run["forwarding_ratio"].as_f64().unwrap()
    });
    assert!((wanted - found).abs() < 0.3, "{wanted} and {found}");
}

#[test]
fn faults_that_cannot_be_meant_are_refused_with_their_place() {
    for (faults, expected) in rows(
        r#"
            [[faults.links]]; loss = 1 => faults.links.0.loss = 1: expected a probability
            [[faults.links]]; loss = -0.1 => expected a probability
            [[faults.links]]; party = "broker:c" => faults.links.0.party = "broker:c": expected a service
            [[faults.links]]; towards = "client" => expected party, the service
            [[faults.links]]; party = "client"; between = "all" => expected either between or party
            [[faults.outages]]; until = "1s" => faults.outages.0.party
            [[faults.outages]]; party = "client" => faults.outages.0.until
            [[faults.outages]]; party = "client"; from = "2s"; until = "1s" => expected an instant after from = "2s"
            [[faults.restarts]]; broker = "a1"; until = "1s" => faults.restarts.0.broker = "a1": expected a domain
            [[faults.restarts]]; broker = "a"; until = "1d"; failures = { mtbf = "1s", mttr = "1s" } => expected a mean that gives at most 10000 failures, not 43200
            [[faults.restarts]]; broker = "a"; until = "1d"; failures = { mtbf = "1h", mttr = "1s", shape = 2 } => expected a shape if, and only if, distribution = "weibull"
            "#,
    ) {
        let output = bench(&faults.replace("; ", "\n")).run(&[]);
        expect_refused(&output, expected);
        expect_stderr(&output, "s.toml:2");
    }
    let oracle = bench("[faults]").run(&["--set", "run.policies=full-information"]);
    expect_code(&oracle, 2);
}

#[test]
fn faults_that_change_nothing_are_warned_of() {
    let faults = "[[faults.links]]\nparty = \"broker:a\"\ntowards = \"lrms:b1\"\nloss = 0.5\n\
                  [[faults.outages]]\nparty = \"client\"\nfrom = \"1h\"\nuntil = \"2h\"";
    let bench = bench(faults);
    let output = ok(run(&["check", &bench.path("s.toml")]));
    for said in [
        "faults        1 link setting, 1 outage, 0 restarts\n",
        "warning [idle-faults]: link settings and outages of services that never send",
        "warning [late-faults]: outages and restarts that begin after the last submission",
    ] {
        expect_stdout(&output, said);
    }
}
