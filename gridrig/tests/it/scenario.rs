//! Scenario files: what is read from them.

use gridrig::scenario::{Clock, Over, Scenario, ScenarioError, ScenarioText, Stop};
use gridrig_core::broker::{LocalInfo, OwnDispatch};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::Entry;
use gridrig_core::load::Window;
use gridrig_core::policy::{PolicySpec, Tie};
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use gridrig_scenario::workload::{Keep, SizeFrom, ZeroRunTime};
use std::path::Path;

/// Two domains, one link, one workload.
pub const PAIR: &str = r#"
[workload]
trace = "t.swf"
domain = "a"

[[domain]]
name = "a"
clusters = [ { name = "a1", processors = 225 } ]

[[domain]]
name = "b"
clusters = [ { name = "b1", processors = 225 } ]

[[link]]
between = ["a", "b"]
latency = "50ms"

[run]
policies = ["round-robin", "free-node"]
bounds = false
"#;

/// A trace straight into a cluster.
pub const ALONE: &str = "[workload]\ntrace = \"t.swf\"\n[cluster]\nprocessors = 4\n";

pub fn parse_with(text: &str, sets: &[&str]) -> Result<Scenario, ScenarioError> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Scenario::parse(&ScenarioText {
        file: Path::new("x.toml"),
        text,
        sets: &sets,
        directory: Path::new(""),
        traces_may_be_missing: true,
    })
}

pub fn parse(text: &str) -> Scenario {
    parse_with(text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn secs(seconds: u64) -> SimDuration {
    SimDuration::from_secs(seconds)
}

#[test]
fn defaults_are_those_of_the_design() {
    let scenario = parse(PAIR);
    assert_eq!(scenario.name, "x");
    assert_eq!(scenario.clock, Clock::Virtual);
    assert_eq!(scenario.seed, 1);
    assert_eq!(scenario.replicate, None);
    let workload = &scenario.workloads[0];
    assert_eq!(workload.zero_run_time, ZeroRunTime::As(secs(1)));
    assert_eq!(
        (workload.keep, workload.size),
        (Keep::All, SizeFrom::Allocated)
    );
    assert_eq!(workload.entry, Entry::Domain(DomainId(0)));
    let brokers: Vec<_> = scenario
        .grid
        .domains
        .iter()
        .map(|domain| &domain.broker)
        .collect();
    assert_eq!(
        (brokers[0].interval, brokers[0].exchange),
        (secs(5), secs(15))
    );
    assert_eq!(brokers[0].max_hops, 1);
    assert_eq!(brokers[0].own_dispatch, OwnDispatch::Ignored);
    assert_eq!(brokers[0].local_info, LocalInfo::Exchange);
    assert_eq!(brokers[0].tie, Tie::Rotate);
    assert_eq!(brokers[0].lrms_latency, SimDuration::from_millis(1));
    assert_eq!(brokers[1].queue_window, Window::Seconds30);
    assert_eq!(brokers[1].phase, SimDuration::from_millis(2500));
    assert_eq!(scenario.measure.tau, secs(10));
    assert_eq!(
        (scenario.measure.until, scenario.measure.stop),
        (None, Stop::Drained)
    );
    assert!(scenario.warnings.is_empty());
}

/// Every key there is.
const FULL: &str = r#"
[[workload]]
trace = "t.swf"
domain = "a"
offset = "1h"
size = "requested"
max_processors = 225
zero_run_time = "drop"
min_run_time = "1s"
window = { start = "87.08d", length = "7d" }
keep = "2/5"
phase = 2
scale = { arrival = 60, run_time = 2.5 }
requirements = ["memory"]

[[workload]]
trace = "t.swf"
cluster = "b1"
share = 0.4

[[domain]]
name = "a"
broker = { interval = "10s", exchange = "20s", phase = "1s", max_hops = 2, own_dispatch = "debited", local_info = "fresh", lrms_latency = "2ms", queue_window = "0s", utilization_window = "300s" }
clusters = [ { name = "a1", processors = 225, discipline = "fcfs", interval = "5ms" } ]

[[domain]]
name = "b"
clusters = [ { name = "b1", processors = 9 } ]

[[link]]
between = ["a", "b"]
roles = { consumer = "b", provider = "a" }

[run]
name = "mine"
clock = "real"
speed = 2.5
policies = ["utilization"]
tie = "random"
seed = 18446744073709551615
replicate = { over = "shake", step = "30s", count = 3 }
require = ["delay_s.p95 < 60", "jobs.rejected == 0"]
lag_tolerance = "1s"

[measure]
from = "1h"
until = "2h"
stop = "last-arrival"
tau = "1s"
"#;

#[test]
fn every_name_of_the_design_is_understood() {
    let scenario = parse(FULL);
    let [first, second] = scenario.workloads.as_slice() else {
        panic!("two workloads");
    };
    assert_eq!(
        first.window.unwrap().start,
        SimDuration::parse("87.08d").unwrap()
    );
    assert_eq!(
        first.keep,
        Keep::Systematic {
            m: 2,
            n: 5,
            phase: 2
        }
    );
    assert_eq!(first.scale_run_time, Decimal::parse("2.5").unwrap());
    assert_eq!(first.zero_run_time, ZeroRunTime::Drop);
    assert!(first.require_memory);
    assert_eq!(second.entry, Entry::Cluster(ClusterId(1)));
    let share = Decimal::parse("0.4").unwrap();
    assert_eq!(
        second.keep,
        Keep::Share {
            share,
            seed: u64::MAX
        }
    );
    let broker = &scenario.grid.domains[0].broker;
    assert_eq!((broker.max_hops, broker.phase), (2, secs(1)));
    assert_eq!(broker.queue_window, Window::Instant);
    assert_eq!(broker.utilization_window, Window::Seconds300);
    assert_eq!(broker.tie, Tie::Random);
    assert_eq!(broker.policy.to_string(), "utilization");
    let [link] = scenario.grid.links.as_slice() else {
        panic!("one direction");
    };
    assert_eq!((link.consumer, link.provider), (DomainId(1), DomainId(0)));
    assert_eq!(
        scenario.clock,
        Clock::Real {
            speed: Decimal::parse("2.5").unwrap()
        }
    );
    let varies = scenario.replicate.map(|it| (it.over, it.step, it.count));
    assert_eq!(varies, Some((Over::Shake, Some(secs(30)), 3)));
    assert_eq!(scenario.require[1].path, ["jobs", "rejected"]);
    assert_eq!(scenario.measure.until, Some(SimTime::from_secs(7200)));
    assert_eq!(scenario.warnings[0].code, "mixed-run-time-scales");
}

#[test]
fn files_are_found_from_the_working_directory_and_then_beside_the_scenario() {
    let directory = tempfile::tempdir().unwrap();
    let (work, beside) = (
        directory.path().join("work"),
        directory.path().join("scenarios"),
    );
    std::fs::create_dir_all(&work).unwrap();
    std::fs::create_dir_all(&beside).unwrap();
    std::fs::write(beside.join("t.swf"), "").unwrap();
    let file = beside.join("x.toml");
    let load = |text: &str| {
        let loaded = Scenario::parse(&ScenarioText {
            file: &file,
            text,
            sets: &[],
            directory: &work,
            traces_may_be_missing: false,
        });
        loaded.unwrap().workloads[0].trace.clone()
    };
    assert_eq!(load(PAIR), beside.join("t.swf"));
    assert_eq!(
        load(&PAIR.replace("t.swf", "../scenarios/t.swf")),
        beside.join("t.swf")
    );
    std::fs::write(work.join("t.swf"), "").unwrap();
    assert_eq!(load(PAIR), work.join("t.swf"));
}

#[test]
fn a_domain_that_can_reach_no_cluster_is_a_warning() {
    let text = PAIR
        .replace("clusters = [ { name = \"a1\", processors = 225 } ]", "")
        .replace(
            "latency = \"50ms\"",
            "roles = { consumer = \"b\", provider = \"a\" }",
        );
    let scenario = parse(&text);
    assert_eq!(scenario.warnings[0].code, "unreachable-clusters");
    let none = text.replace("clusters = [ { name = \"b1\", processors = 225 } ]", "");
    let message = parse_with(&none, &[]).unwrap_err().to_string();
    assert!(
        message.contains("at least one domain with a cluster"),
        "{message}"
    );
}

#[test]
fn the_grid_of_a_policy_has_it_at_every_broker() {
    let scenario = parse(PAIR);
    let policies = ["round-robin", "free-node"];
    assert_eq!(scenario.policies, policies.map(PolicySpec::named));
    let grid = scenario.grid_for(scenario.policies[1].as_ref());
    assert!(
        grid.domains
            .iter()
            .all(|domain| domain.broker.policy.to_string() == "free-node")
    );
    assert_eq!(parse(ALONE).grid_for(None).clusters.len(), 1);
}

#[test]
fn no_text_makes_the_reader_panic() {
    // Every prefix and every single deletion of a valid scenario.
    for (at, _) in PAIR.char_indices() {
        let _ = parse_with(&PAIR[..at], &[]);
        let _ = parse_with(&format!("{}{}", &PAIR[..at], &PAIR[at + 1..]), &[]);
        let _ = parse_with(&format!("{}é{}", &PAIR[..at], &PAIR[at..]), &[]);
    }
}
