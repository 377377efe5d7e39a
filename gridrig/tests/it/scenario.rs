//! Scenario files: what is read, what is refused and with which words.

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

/// The message for `PAIR` with the first occurrence of a text replaced.
fn refused(from: &str, to: &str) -> String {
    assert!(PAIR.contains(from), "{from}");
    parse_with(&PAIR.replacen(from, to, 1), &[])
        .unwrap_err()
        .to_string()
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
fn an_unknown_key_is_told_with_its_place_and_the_nearest_name() {
    assert_eq!(
        refused("policies", "polices"),
        "x.toml:19:1: unknown key `polices`, did you mean `policies`?"
    );
    assert_eq!(
        refused("processors", "procesors"),
        "x.toml:8:29: unknown key `procesors`, did you mean `processors`?"
    );
    assert_eq!(
        refused("domain = \"a\"", "scale = { arival = 60 }"),
        "x.toml:4:11: unknown key `arival`, did you mean `arrival`?"
    );
    assert_eq!(
        refused("[run]", "[faults]\n[run]"),
        "x.toml:18:2: unknown key `faults`: expected one of `workload`, `cluster`, `domain`, `link`, `mesh`, `run`, `measure`"
    );
    let external = refused(
        "name = \"a\"",
        "name = \"a\"\nbroker = { kind = \"externl\" }",
    );
    assert!(
        external.starts_with("x.toml:8:19: field domain.a.broker.kind = \"externl\""),
        "{external}"
    );
}

#[test]
fn a_wrong_value_is_told_with_its_path_and_what_was_expected() {
    assert_eq!(
        refused("\"50ms\"", "50"),
        "x.toml:16:11: field link.0.latency = 50: expected a duration above 0 such as \"5s\""
    );
    assert_eq!(
        refused("\"50ms\"", "\"0s\""),
        "x.toml:16:11: field link.0.latency = \"0s\": expected a duration above 0 such as \"5s\""
    );
    assert_eq!(
        refused("225", "0"),
        "x.toml:8:42: field domain.a.clusters.a1.processors = 0: expected a whole number from 1 to 4294967295"
    );
    assert_eq!(
        refused("free-node", "free-nodes"),
        "x.toml:19:28: field run.policies.1 = \"free-nodes\": expected a policy, did you mean `free-node`?"
    );
    assert_eq!(
        refused("domain = \"a\"", "keep = \"3/2\""),
        "x.toml:4:8: field workload.keep = \"3/2\": expected \"m/n\" with 1 <= m <= n, such as \"2/5\", or \"all\""
    );
    assert_eq!(
        refused("domain = \"a\"", "min_run_time = \"5\""),
        "x.toml:4:16: field workload.min_run_time = \"5\": expected a duration such as \"5s\" (it has no unit)"
    );
    assert_eq!(
        refused("domain = \"a\"", "domain = \"c\""),
        "x.toml:4:10: field workload.domain = \"c\": expected a domain, one of `a`, `b`"
    );
}

/// Each is one change to `PAIR` and a part of what it must be answered with.
const REFUSED: [(&str, &str, &str); 30] = [
    (
        "domain = \"a\"",
        "",
        "missing key `workload.domain`: expected one of \"a\", \"b\"",
    ),
    ("trace = \"t.swf\"", "", "missing key `workload.trace`"),
    (
        "domain = \"a\"",
        "domain = \"a\"\ncluster = \"a1\"",
        "either domain or cluster",
    ),
    (
        "domain = \"a\"",
        "cluster = \"c1\"",
        "expected a cluster, did you mean `a1`?",
    ),
    (
        "domain = \"a\"",
        "domain = \"a\"\nkeep = \"0/5\"",
        "\"m/n\"",
    ),
    (
        "domain = \"a\"",
        "domain = \"a\"\nkeep = \"1/0\"",
        "\"m/n\"",
    ),
    (
        "domain = \"a\"",
        "domain = \"a\"\nphase = 1",
        "expected keep",
    ),
    (
        "domain = \"a\"",
        "domain = \"a\"\nkeep = \"2/5\"\nphase = 5",
        "a phase below",
    ),
    (
        "domain = \"a\"",
        "domain = \"a\"\nkeep = \"2/5\"\nshare = 0.5",
        "only one of keep, share and load",
    ),
    ("domain = \"a\"", "domain = \"a\"\nshare = 1.5", "at most 1"),
    (
        "domain = \"a\"",
        "domain = \"a\"\nscale = { arrival = 0 }",
        "above 0",
    ),
    (
        "domain = \"a\"",
        "domain = \"a\"\nscale = { arrival = -1.5 }",
        "above 0",
    ),
    (
        "domain = \"a\"",
        "domain = \"a\"\nwindow = { start = \"1d\" }",
        "missing key `workload.window.length`",
    ),
    (
        "domain = \"a\"",
        "domain = \"a\"\nwindow = { length = \"0s\" }",
        "above 0",
    ),
    (
        "domain = \"a\"",
        "domain = \"a\"\nrequirements = [\"disk\"]",
        "a requirement",
    ),
    ("name = \"b\"", "name = \"a\"", "a name no other domain has"),
    (
        "name = \"b1\"",
        "name = \"a1\"",
        "a name no other cluster has",
    ),
    ("name = \"b\"", "name = \"b.c\"", "1 to 64 letters"),
    (
        "name = \"b1\", processors = 225",
        "name = \"b1\"",
        "missing key `domain.b.clusters.b1.processors`",
    ),
    (
        "name = \"b1\"",
        "name = \"b1\", resources = \"c.xml\"",
        "either processors or resources",
    ),
    ("[\"a\", \"b\"]", "[\"a\", \"a\"]", "two different domains"),
    ("[\"a\", \"b\"]", "[\"a\"]", "the names of two domains"),
    (
        "[\"a\", \"b\"]",
        "[\"a\", \"c\"]",
        "expected a domain, one of",
    ),
    (
        "[run]",
        "[[link]]\nbetween = [\"b\", \"a\"]\n[run]",
        "one link between two domains",
    ),
    ("[run]", "[cluster]\nprocessors = 1\n[run]", "not both"),
    (
        "[\"round-robin\", \"free-node\"]",
        "[]",
        "at least one policy",
    ),
    ("\"free-node\"]", "\"round-robin\"]", "each policy once"),
    ("[run]", "[run]\nclock = \"real\"\nspeed = 0", "above 0"),
    (
        "name = \"a\"",
        "name = \"a\"\nbroker = { interval = \"0s\" }",
        "above 0",
    ),
    (
        "[run]",
        "[measure]\nfrom = \"2h\"\nuntil = \"1h\"\n[run]",
        "an instant after",
    ),
];

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    for (from, to, expected) in REFUSED {
        let message = refused(from, to);
        assert!(message.contains(expected), "{to}: {message}");
        assert!(message.starts_with("x.toml:"), "{message}");
    }
}

#[test]
fn replications_that_vary_nothing_are_refused() {
    let check = |replicate: &str, expected: &str| {
        let message = refused("[run]", &format!("[run]\nreplicate = {{ {replicate} }}"));
        assert!(message.contains(expected), "{message}");
    };
    check(
        "over = \"window\", step = \"7d\", count = 2",
        "to have a window",
    );
    check("over = \"sample-phase\", count = 2", "whose phase varies");
    check(
        "over = \"shake\", count = 2",
        "missing key `run.replicate.step`",
    );
    check("over = \"seed\"", "missing key `run.replicate.count`");
    check("over = \"seed\", count = 0", "from 1 to 100000");
    check("over = \"seed\", step = \"1s\", count = 2", "no step");
    check(
        "over = \"sample\", count = 2",
        "did you mean `sample-phase`?",
    );
    let five = PAIR.replace("domain = \"a\"", "domain = \"a\"\nkeep = \"2/5\"");
    let text = format!("{five}replicate = {{ over = \"sample-phase\", count = 6 }}");
    let message = parse_with(&text, &[]).unwrap_err().to_string();
    assert!(message.contains("at most 5"), "{message}");
}

#[test]
fn a_run_without_brokers_takes_none_of_their_keys() {
    assert_eq!(parse(ALONE).policies, [None]);
    assert_eq!(
        parse(ALONE).workloads[0].entry,
        Entry::Cluster(ClusterId(0))
    );
    let refused = |text: &str| {
        parse_with(&format!("{ALONE}{text}"), &[])
            .unwrap_err()
            .to_string()
    };
    assert!(refused("[run]\npolicies = [\"random\"]").contains("no policies"));
    assert!(refused("[run]\ntie = \"first\"").contains("without brokers"));
    assert!(
        refused("[run]\nreplicate = { over = \"broker-phase\", count = 2 }").contains("brokers")
    );
    let message = parse_with("[workload]\ntrace = \"t.swf\"\n", &[])
        .unwrap_err()
        .to_string();
    assert!(message.contains("missing key `cluster`"), "{message}");
}

#[test]
fn what_is_no_toml_is_told_with_its_line() {
    let message = parse_with("[workload]\ntrace = t.swf\n", &[])
        .unwrap_err()
        .to_string();
    assert!(message.starts_with("x.toml:2:"), "{message}");
    let message = parse_with("[run]\nseed = 1\nseed = 2\n", &[])
        .unwrap_err()
        .to_string();
    assert!(
        message.starts_with("x.toml:3:1: duplicate key"),
        "{message}"
    );
}

#[test]
fn a_missing_trace_tells_what_to_do() {
    let text = ScenarioText {
        file: Path::new("somewhere/x.toml"),
        text: PAIR,
        sets: &[],
        directory: Path::new(""),
        traces_may_be_missing: false,
    };
    assert_eq!(
        Scenario::parse(&text).unwrap_err().to_string(),
        "somewhere/x.toml:3:9: field workload.trace = \"t.swf\": expected a file, looked for in . \
         and somewhere; name the trace you have with --set workload.trace=PATH \
         (traces/README.md says where to get those of the archives)"
    );
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
fn a_cluster_file_that_is_wrong_is_told_with_both_places() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("c.xml"), "<x/>").unwrap();
    let text = PAIR.replacen("processors = 225", "resources = \"c.xml\"", 1);
    let error = Scenario::parse(&ScenarioText {
        file: Path::new("x.toml"),
        text: &text,
        sets: &[],
        directory: directory.path(),
        traces_may_be_missing: true,
    });
    let error = error.unwrap_err();
    assert_eq!(
        error.to_string(),
        "x.toml:8:41: field domain.a.clusters.a1.resources = \"c.xml\": expected a cluster file"
    );
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("c.xml:1: element x"), "{cause}");
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
