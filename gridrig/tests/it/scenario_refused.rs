//! Scenario files that are refused, and with which words.

use crate::command::rows;
use crate::scenario::{ALONE, PAIR, parse, parse_with};
use gridrig::scenario::{Scenario, ScenarioText};
use gridrig_core::ids::ClusterId;
use gridrig_core::job::Entry;
use std::path::Path;

/// The message for `PAIR` with the first occurrence of a text replaced.
fn refused(from: &str, to: &str) -> String {
    assert!(PAIR.contains(from), "{from}");
    parse_with(&PAIR.replacen(from, to, 1), &[])
        .unwrap_err()
        .to_string()
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
        refused("[run]", "[broker]\n[run]"),
        "x.toml:18:2: unknown key `broker`: expected one of `workload`, `cluster`, `domain`, `link`, `mesh`, `faults`, `run`, `measure`"
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

/// A table is not taken from a list of its values, and a list has the length it has to have.
#[test]
fn a_value_of_another_kind_is_told_with_what_was_expected() {
    let broker = |value: &str| refused("name = \"a\"", &format!("name = \"a\"\nbroker = {value}"));
    for (value, expected) in [
        (
            "[\"5s\"]",
            ":10: field domain.a.broker = [\"5s\"]: expected a table",
        ),
        (
            "1979-05-27",
            ":10: field domain.a.broker = 1979-05-27: expected a table",
        ),
        (
            "{ files = 1 }",
            ":20: field domain.a.broker.files = 1: expected a table",
        ),
        (
            "{ serve = 1 }",
            ":20: field domain.a.broker.serve = 1: expected a list",
        ),
        (
            "{ drain = [[\"1s\", \"2s\", \"3s\"]] }",
            ":21: field domain.a.broker.drain.0 = [\"1s\", \"2s\", \"3s\"]: expected a list of length 2",
        ),
        (
            "{ max_hops = 99999999999999999999 }",
            ":23: field domain.a.broker.max_hops = 99999999999999999999: expected a whole number \
             from 0 to 4294967295",
        ),
    ] {
        assert_eq!(broker(value), format!("x.toml:8{expected}"));
    }
    assert_eq!(
        refused("[run]", "[[run]]"),
        "x.toml:18:1: field run = a list of tables: expected a table"
    );
    for (policy, expected) in [
        (
            "{ name = \"a\", b = 1979-05-27 }",
            "27: expected no date, and no number beyond 64 bits",
        ),
        (
            "{ name = \"a\", b = 18446744073709551615 }",
            "15: expected at most 9223372036854775807",
        ),
    ] {
        let error = refused("\"round-robin\"", policy);
        assert!(error.ends_with(expected), "{error}");
    }
}

#[test]
fn what_is_too_deep_is_refused() {
    let keys = "a.".repeat(78) + "a";
    let deep = format!("{{ {keys} = ").repeat(70) + "1" + &" }".repeat(70);
    let error = refused("\"round-robin\"", &deep);
    assert!(
        error.ends_with(": more than 100 tables and lists within each other"),
        "{error}"
    );
    let set = format!("run.{}a=1", "a.".repeat(20_000));
    let error = parse_with(PAIR, &[&set]).unwrap_err().to_string();
    assert!(
        error.ends_with(": expected at most 100 names with dots between"),
        "{:.80}",
        error
    );
}

/// In each form of TOML.
#[test]
fn numbers_are_what_is_written() {
    let numbers = "seed = 0xffff_ffff_ffff_ffff\nspeed = 6.0e+1\npolicies";
    let broker = "name = \"a\"\nbroker = { max_hops = +1_0, ttl = 0b101, origin_promotion = 0o17 }";
    let text = PAIR
        .replacen("policies", numbers, 1)
        .replacen("name = \"a\"", broker, 1);
    let scenario = parse_with(&text, &[]).unwrap();
    let own = &scenario.grid.domains[0].broker;
    assert_eq!(
        (scenario.seed, scenario.speed.to_string()),
        (u64::MAX, "60".to_owned())
    );
    assert_eq!(
        (own.max_hops, own.ttl, own.origin_promotion.to_string()),
        (10, 5, "15".to_owned())
    );
}

#[test]
fn what_would_take_all_memory_is_refused() {
    assert_eq!(
        refused("225", "4294967295"),
        "x.toml:8:42: field domain.a.clusters.a1.processors = 4294967295: expected at most \
         100000000 processors in a cluster"
    );
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("large.toml");
    std::fs::write(&file, "# as long as this\n".repeat(500_000)).unwrap();
    let error = Scenario::load(&file, &[]).unwrap_err();
    let why = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(why, "it has 9000000 bytes: expected at most 8388608");
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

/// Each is one change to `PAIR`, in which a `;` ends a line, and a part of what it must be
/// answered with.
const REFUSED: &str = r#"
domain = "a" -> # none => missing key `workload.domain`: expected one of "a", "b"
trace = "t.swf" -> # none => missing key `workload.trace`
domain = "a" -> domain = "a"; cluster = "a1" => either domain or cluster
domain = "a" -> cluster = "c1" => expected a cluster, did you mean `a1`?
domain = "a" -> domain = "a"; keep = "0/5" => "m/n"
domain = "a" -> domain = "a"; keep = "1/0" => "m/n"
domain = "a" -> domain = "a"; phase = 1 => expected keep
domain = "a" -> domain = "a"; keep = "2/5"; phase = 5 => a phase below
domain = "a" -> domain = "a"; keep = "2/5"; share = 0.5 => only one of keep, share and load
domain = "a" -> domain = "a"; share = 1.5 => at most 1
domain = "a" -> domain = "a"; scale = { arrival = 0 } => above 0
domain = "a" -> domain = "a"; scale = { arrival = -1.5 } => above 0
domain = "a" -> domain = "a"; window = { start = "1d" } => missing key `workload.window.length`
domain = "a" -> domain = "a"; window = { length = "0s" } => above 0
domain = "a" -> domain = "a"; requirements = ["disk"] => a requirement
name = "b" -> name = "a" => a name no other domain has
name = "b1" -> name = "a1" => a name no other cluster has
name = "b" -> name = "b.c" => 1 to 64 letters
name = "b1", processors = 225 -> name = "b1" => missing key `domain.b.clusters.b1.processors`
name = "b1" -> name = "b1", resources = "c.xml" => either processors or resources
["a", "b"] -> ["a", "a"] => two different domains
["a", "b"] -> ["a"] => the names of two domains
["a", "b"] -> ["a", "c"] => expected a domain, one of
[run] -> [[link]]; between = ["b", "a"]; [run] => one link between two domains
[run] -> [cluster]; processors = 1; [run] => not both
["round-robin", "free-node"] -> [] => at least one policy
"free-node"] -> "round-robin"] => each policy once
[run] -> [run]; clock = "real"; speed = 0 => above 0
name = "a" -> name = "a"; broker = { interval = "0s" } => above 0
name = "a" -> name = "a"; broker = { commit = "late" } => expected "early" with round-robin, which cannot tell whether there is room; late is possible with free-node, utilization, best-broker-rank, best-broker-rank-1.10, best-broker-rank-1.25, also for a single policy as "free-node(commit=late)"
"free-node"] -> "queue-length(commit=late)"] => `commit=late` to be a parameter of queue-length: window
[run] -> [measure]; from = "2h"; until = "1h"; [run] => an instant after
"#;

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    for (change, expected) in rows(REFUSED) {
        let (from, to) = change.split_once(" -> ").unwrap();
        let message = refused(from, &to.replace("; ", "\n"));
        assert!(message.contains(expected), "{to}: {message}");
        assert!(message.starts_with("x.toml:"), "{message}");
    }
}

#[test]
fn replications_that_vary_nothing_are_refused() {
    for (replicate, expected) in rows(
        r#"
            over = "window", step = "7d", count = 2 => to have a window
            over = "sample-phase", count = 2 => whose phase varies
            over = "shake", count = 2 => missing key `run.replicate.step`
            over = "seed" => missing key `run.replicate.count`
            over = "seed", count = 0 => from 1 to 100000
            over = "seed", step = "1s", count = 2 => no step
            over = "sample", count = 2 => did you mean `sample-phase`?
            "#,
    ) {
        let message = refused("[run]", &format!("[run]\nreplicate = {{ {replicate} }}"));
        assert!(message.contains(expected), "{message}");
    }
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
