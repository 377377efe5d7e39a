//! The shipped topologies, and providers that are closed for a part of the day.

use crate::command::{Bench, expect_audited, expect_code, json, ok, root, run};
use crate::scenario::{PAIR, parse, parse_with};
use gridrig::scenario::{Scenario, ScenarioText};
use gridrig_core::event::EventKind;
use gridrig_core::ids::DomainId;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_results::rundir;
use std::path::Path;

fn shipped(name: &str) -> String {
    let file = root().join("resources/scenarios").join(name);
    file.display().to_string()
}

#[test]
fn every_topology_finishes_every_job_under_every_policy() {
    for (name, forwards) in [
        ("la-grid-p2p.toml", 1),
        ("la-grid-star.toml", 2),
        ("la-grid-tree.toml", 4),
    ] {
        let out = tempfile::tempdir().unwrap();
        let dir = out.path().join("runs").display().to_string();
        let words = ["run", &shipped(name), "--json", "--out", &dir];
        let document = json(&ok(run(
            &[&words[..], &["--set", "run.bounds=false"]].concat()
        )));
        let runs = document["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 3);
        for run in runs {
            assert_eq!(run["audit"], "ok", "{name}: {run}");
            assert_eq!(run["jobs"]["submitted"], 480, "{name}: {run}");
            assert_eq!(run["jobs"]["completed"], 480, "{name}: {run}");
        }
        // The whole depth is used.
        let name = name.trim_end_matches(".toml");
        let policy = Path::new(&dir).join(format!("{name}-1/round-robin/r000"));
        let log = rundir::read(&policy).unwrap().log;
        let arrivals = log.records().map(|(_, event)| event);
        let arrivals = arrivals.filter(|event| event.kind == EventKind::BrokerArrival);
        let hops = arrivals.map(|event| event.hop()).max();
        assert_eq!(hops, Some(forwards), "{name}");
    }
}

#[test]
fn off_shift_a_domain_takes_the_jobs_of_others_and_on_shift_its_own_only() {
    let file = shipped("la-grid-p2p.toml");
    let scenario = Scenario::load(Path::new(&file), &[]).unwrap();
    let ibm = DomainId(1);
    // A day takes 24 min: 18:00 to 08:00 is 14 of them, and the run begins at 9.
    let table = scenario.grid.timetable(DomainId(0), ibm).unwrap().clone();
    let minute = |n: u64| SimTime::from_secs(n * 60);
    assert_eq!(table.day(), SimDuration::from_secs(24 * 60));
    assert_eq!(table.next_open(SimTime::ZERO), minute(9));
    assert!(table.is_open(minute(22)) && !table.is_open(minute(23)));
    assert_eq!(scenario.grid.timetable(ibm, DomainId(0)), None);
    let out = tempfile::tempdir().unwrap();
    let dir = out.path().join("runs").display().to_string();
    expect_code(&run(&["run", &file, "--json", "--out", &dir]), 0);
    for policy in ["round-robin", "free-node", "best-broker-rank"] {
        let dir = Path::new(&dir)
            .join("la-grid-p2p-1")
            .join(policy)
            .join("r000");
        let log = rundir::read(&dir).unwrap().log;
        let (mut open, mut own_on_shift) = (0, 0);
        for (at, event) in log.records() {
            match event.kind {
                EventKind::Forwarded if event.to == Some(ibm.into()) => {
                    assert!(table.is_open(at), "{policy}: a forward at {at}");
                    open += 1;
                }
                EventKind::Dispatched if event.by == ibm.into() && !table.is_open(at) => {
                    own_on_shift += 1;
                }
                _ => {}
            }
        }
        assert!(
            open > 10 && own_on_shift > 10,
            "{policy}: {open} {own_on_shift}"
        );
    }
}

/// Domain a is too small for the second job; b is closed at first.
const CLOSED: &str = r#"
[workload]
trace = "t.swf"
domain = "a"

[[domain]]
name = "a"
broker = { interval = "500ms", exchange = "500ms", phase = "0s" }
clusters = [ { name = "a1", processors = 1 } ]

[[domain]]
name = "b"
provides = ["00:00-12:00"]
broker = { interval = "500ms", exchange = "500ms", phase = "0s" }
clusters = [ { name = "b1", processors = 4 } ]

[[link]]
between = ["a", "b"]

[run]
name = "s"
day = "4s"
starts_at = "12:00"
lag_tolerance = "1h"
"#;

#[test]
fn a_job_waits_for_the_only_provider_on_both_clocks() {
    for clock in ["virtual", "real"] {
        let bench = Bench::new(CLOSED, &[(0, 1, 1), (0, 1, 3)]);
        let one = &json(&ok(bench.run(&["--clock", clock, "--json"])))["runs"][0];
        expect_audited(one, 2);
        let dir = bench.path("runs/s-1/round-robin/r000");
        let log = rundir::read(Path::new(&dir)).unwrap().log;
        let forwards = log.records();
        let forwards = forwards.filter(|(_, event)| event.kind == EventKind::Forwarded);
        let forwards: Vec<SimTime> = forwards.map(|(at, _)| at).collect();
        let opens = SimTime::from_secs(2);
        assert_eq!(forwards.len(), 1, "{clock}");
        match clock {
            "virtual" => assert_eq!(forwards[0], opens),
            _ => assert!(forwards[0] >= opens, "{}", forwards[0]),
        }
    }
}

fn refused(text: &str) -> String {
    parse_with(text, &[]).unwrap_err().to_string()
}

#[test]
fn hours_of_a_link_stand_for_those_of_the_domain() {
    let text = PAIR
        .replace("name = \"b\"", "name = \"b\"\nprovides = [\"18:00-08:00\"]")
        .replace(
            "[workload]",
            "[workload]\nscale = { arrival = 60, run_time = 60 }",
        );
    let of_domain = parse(&text);
    let table = |scenario: &Scenario, from: u16, to: u16| {
        let table = scenario.grid.timetable(DomainId(from), DomainId(to));
        table.map(|table| table.longest())
    };
    let minutes = |n: u64| Some(SimDuration::from_secs(n * 60));
    assert_eq!(table(&of_domain, 0, 1), minutes(14));
    assert_eq!(table(&of_domain, 1, 0), None);
    let text = text.replace(
        "latency = \"50ms\"",
        "latency = \"50ms\"\nprovides = [\"09:00-12:00\", \"11:30-13:00\"]",
    );
    let of_link = parse(&text);
    assert_eq!(table(&of_link, 0, 1), minutes(4));
    assert_eq!(table(&of_link, 1, 0), minutes(4));
    // What is resolved says the same.
    let resolved = of_link.to_resolved_toml();
    assert!(resolved.contains("day = \"1440s\""), "{resolved}");
    let again = Scenario::parse(&ScenarioText {
        file: Path::new("x.toml"),
        text: &resolved,
        sets: &[],
        directory: Path::new(""),
        traces_may_be_missing: true,
    });
    assert_eq!(again.unwrap().grid.hours, of_link.grid.hours);
}

#[test]
fn hours_that_cannot_be_are_refused() {
    let with = |hours: &str| {
        let hours = format!("name = \"b\"\nprovides = {hours}");
        PAIR.replace("name = \"b\"", &hours)
    };
    for (text, expected) in [
        (
            with("[\"8-18\"]"),
            "expected hours of a day such as \"18:00-08:00\"",
        ),
        (with("[\"24:00-18:00\"]"), "expected hours of a day"),
        (with("[\"08:00-24:01\"]"), "expected hours of a day"),
        (with("[]"), "expected at least one part of the day"),
        (
            with("[\"08:00-08:00:04\"]"),
            "expected hours that last, in the run, at least the interval of a's broker (5s)",
        ),
        (
            with("[\"08:00-18:00\"]").replace(
                "latency = \"50ms\"",
                "roles = { consumer = \"b\", provider = \"a\" }",
            ),
            "expected no provides, since no other domain forwards to this one",
        ),
        (
            PAIR.replace("[run]", "[run]\nstarts_at = \"08:00\""),
            "starts_at = \"08:00\": expected no such key",
        ),
        (
            with("[\"08:00-18:00\"]").replace("[run]", "[run]\nstarts_at = \"24:00\""),
            "expected a time of day such as \"06:30\"",
        ),
    ] {
        let message = refused(&text);
        assert!(message.contains(expected), "{message}\n{text}");
    }
}
