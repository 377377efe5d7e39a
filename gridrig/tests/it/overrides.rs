//! `--set path.to.key=value`.

use super::scenario::{ALONE, PAIR, parse, parse_with};
use crate::command::rows;
use gridrig::scenario::{Clock, Scenario};
use gridrig_core::policy::{POLICIES, PolicySpec};
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_tracelab::spec::Keep;
use std::path::PathBuf;

fn set(sets: &[&str]) -> Scenario {
    parse_with(PAIR, sets).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(sets: &[&str]) -> String {
    parse_with(PAIR, sets).unwrap_err().to_string()
}

#[test]
fn list_elements_are_named_by_name_or_index_and_a_lone_one_needs_neither() {
    let interval = |sets: &[&str], domain: usize| set(sets).grid.domains[domain].broker.interval;
    let ten = SimDuration::from_secs(10);
    assert_eq!(interval(&["domain.b.broker.interval=10s"], 1), ten);
    assert_eq!(interval(&["domain.1.broker.interval=10s"], 1), ten);
    assert_eq!(
        interval(&["domain.1.broker.interval=10s"], 0),
        SimDuration::from_secs(5)
    );
    let all = set(&[
        "domain.*.broker.interval=10s",
        "domain.a.broker.interval=5s",
    ]);
    let all = all.grid.domains.iter().map(|it| it.broker.interval);
    assert_eq!(all.collect::<Vec<_>>(), [SimDuration::from_secs(5), ten]);
    let processors = set(&["domain.a.clusters.a1.processors=7"]).grid.clusters[0]
        .config
        .resources
        .processors();
    assert_eq!(processors, 7);
    assert_eq!(
        set(&["link.latency=70ms"]).grid.links[1].latency,
        SimDuration::from_millis(70)
    );
    let many = PAIR.replace("[workload]", "[[workload]]");
    let scenario = parse_with(&many, &["workload.trace=other.swf"]).unwrap();
    assert_eq!(scenario.workloads[0].trace, PathBuf::from("other.swf"));
}

#[test]
fn values_are_toml_where_they_can_be_and_text_elsewhere() {
    let scenario = set(&[
        "workload.trace=a b/1996.swf",
        "workload.keep=2/5",
        "workload.scale.arrival=2.5",
        "workload.window={ start = \"1d\", length = \"7d\" }",
        "workload.window.start=92.5d",
        "run.policies=[\"random\"]",
        "run.clock=real",
        "run.speed=10",
        "run.require=[\"wait_s.mean < 5\"]",
    ]);
    let workload = &scenario.workloads[0];
    assert_eq!(workload.trace, PathBuf::from("a b/1996.swf"));
    assert_eq!(
        workload.keep,
        Keep::Systematic {
            m: 2,
            n: 5,
            phase: 0
        }
    );
    assert_eq!(workload.scale_arrival, Decimal::parse("2.5").unwrap());
    assert_eq!(
        workload.window.unwrap().start,
        SimDuration::parse("92.5d").unwrap()
    );
    assert_eq!(
        scenario.clock,
        Clock::Real {
            speed: Decimal::from_whole(10)
        }
    );
    assert_eq!(scenario.require.len(), 1);
}

#[test]
fn a_path_that_looks_like_a_number_stays_a_path() {
    assert_eq!(
        set(&["workload.trace=1996"]).workloads[0].trace,
        PathBuf::from("1996")
    );
}

#[test]
fn later_overrides_win() {
    assert_eq!(set(&["run.seed=2", "run.seed=3"]).seed, 3);
}

#[test]
fn mistakes_are_told_with_the_override_that_made_them() {
    assert_eq!(
        refused(&["run.seed=2", "run.polices=[\"random\"]"]),
        "--set run.polices=[\"random\"]: unknown key `polices`, did you mean `policies`?"
    );
    for (set, told) in rows(
        r#"
            domain.a.broker.interval=5x => field domain.a.broker.interval = "5x": expected a duration above 0 such as "5s" (its unit is not one of ns, us, ms, s, min, h, d, w)
            domain.c.broker.interval=5s => unknown element `c` of `domain`: expected one of `a`, `b`
            workload.window.start=5d => missing key `workload.window.length`: expected a duration above 0 such as "7d"
            worklaod.trace=t => unknown key `worklaod`, did you mean `workload`?
            run.seed => expected KEY=VALUE
            run..seed=1 => path "run..seed": expected at most 100 names with dots between
            workload.trace.name=1 => `trace` is a string: expected a table to set `name` in
            "#,
    ) {
        assert_eq!(refused(&[set]), format!("--set {set}: {told}"));
    }
    let names = POLICIES.iter().map(|entry| format!("`{}`", entry.name));
    let names: Vec<String> = names.collect();
    assert_eq!(
        refused(&["run.policies=[\"random\", \"fastest\"]"]),
        format!(
            "--set run.policies=[\"random\", \"fastest\"]: field run.policies.1 = \"fastest\": \
             expected a policy, one of {}",
            names.join(", ")
        )
    );
}

#[test]
fn a_policy_may_have_parameters_in_a_table_or_in_brackets() {
    let with = |policies: &str| {
        let set = format!("run.policies=[{policies}]");
        let whole = |text: &str| text.replace("\"round-robin\", \"free-node\"", policies);
        [parse(&whole(PAIR)), parse_with(PAIR, &[&set]).unwrap()]
    };
    let scenarios = with(
        "\"queue-length\", { name = \"best-broker-rank\", alpha = 1.250, tie = \"first\" }, \
         { name = \"inter-rr\", ttl = 3, revisit = false }, \"utilization(window=0s)\"",
    );
    let names = [
        "queue-length",
        "best-broker-rank(alpha=1.25,tie=first)",
        "inter-rr(revisit=false,ttl=3)",
        "utilization(window=0s)",
    ];
    for scenario in scenarios {
        let found = scenario.policies.iter().flatten();
        let found: Vec<String> = found.map(PolicySpec::to_string).collect();
        assert_eq!(found[..4], names);
        // What is written says the same.
        let again = parse(&scenario.to_resolved_toml());
        assert_eq!(again.policies, scenario.policies);
    }
}

#[test]
fn a_parameter_of_a_policy_that_cannot_be_is_told_with_those_that_can() {
    let refused_policy = |policy: &str| {
        let set = format!("run.policies=[{policy}]");
        let told = refused(&[&set]);
        told.replace(&format!("--set {set}: field run.policies."), "")
    };
    for (policy, told) in [
        (
            "{ name = \"best-broker-rank\", alpha = 0 }",
            "best-broker-rank = a table: expected `alpha=0` to be a parameter of \
             best-broker-rank: alpha (a number above 0 and up to 1000); local_first (one of \
             false, true); tie (one of rotate, local, first, random); commit (one of early, late); \
             matchmaking (one of route, independent, push, pull, flock, delegate)",
        ),
        (
            "{ name = \"best-broker-rank\", alhpa = 1.25 }",
            "best-broker-rank = a table: expected `alhpa=1.25` to be a parameter of \
             best-broker-rank: alpha (a number above 0 and up to 1000); local_first (one of \
             false, true); tie (one of rotate, local, first, random); commit (one of early, late); \
             matchmaking (one of route, independent, push, pull, flock, delegate)",
        ),
        (
            "{ name = \"inter-rr\", ttl = -1 }",
            "inter-rr = a table: expected `ttl=-1` to be a parameter of inter-rr: ttl (a whole number \
             from 0 to 4294967295); ttl_end (one of reschedule, settle); reschedule_interval (a \
             time above 0 such as 15min); revisit (one of false, true); tie (one of rotate, local, \
             first, random); matchmaking (one of route, independent, push, pull, flock, delegate)",
        ),
        (
            "{ name = \"free-nodes\", tie = \"first\" }",
            "free-nodes = a table: expected a policy, did you mean `free-node`?",
        ),
        (
            "\"free-node(tie=last)\"",
            "0 = \"free-node(tie=last)\": expected `tie=last` to be a parameter of \
             free-node: tie (one of rotate, local, first, random); commit (one of early, late); \
             matchmaking (one of route, independent, push, pull, flock, delegate)",
        ),
    ] {
        assert_eq!(refused_policy(policy), told);
    }
}

#[test]
fn a_cluster_without_a_broker_can_be_set() {
    let sets = ["cluster.discipline=fcfs", "cluster.processors=9"];
    let scenario = parse_with(ALONE, &sets).unwrap();
    assert_eq!(scenario.grid.clusters[0].config.resources.processors(), 9);
    assert_eq!(scenario.grid.clusters[0].config.discipline.name(), "fcfs");
}
