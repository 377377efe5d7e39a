//! Trees of domains, as they are written, and what of them is refused.

use gridrig_core::broker::{MatchmakingKind, Relation};
use gridrig_core::ids::DomainId;
use gridrig_scenario::{Scenario, ScenarioError, ScenarioText};
use std::path::Path;

const TREE: &str = r#"
[workload]
trace = "t.swf"
domain = "a"

[[domain]]
name = "a"
parent = "top"
siblings = ["b"]
site = "s"
grid = "g"
clusters = [ { name = "a1", processors = 4 } ]

[[domain]]
name = "b"
parent = "top"
clusters = [ { name = "b1", processors = 8 } ]

[[domain]]
name = "top"
administrative = true
central = true

[run]
policies = ["free-node", "free-node(matchmaking=delegate)", "free-node(matchmaking=push)"]
bounds = false
"#;

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse(&ScenarioText {
        file: Path::new("x.toml"),
        text,
        sets: &[],
        directory: Path::new(""),
        traces_may_be_missing: true,
    })
}

#[test]
fn parents_and_siblings_are_linked_and_know_each_other() {
    let scenario = parse(TREE).unwrap();
    let [a, b, top] = [0, 1, 2].map(DomainId);
    let grid = &scenario.grid;
    let around = |id| grid.around(id).into_iter().collect::<Vec<_>>();
    assert_eq!(around(a), [(b, Relation::Sibling), (top, Relation::Parent)]);
    assert_eq!(around(b), [(a, Relation::Sibling), (top, Relation::Parent)]);
    assert_eq!(around(top), [(a, Relation::Child), (b, Relation::Child)]);
    assert_eq!(grid.links.len(), 6);
    assert_eq!(grid.central(), Some(top));
    assert_eq!(grid.domains[0].topology.site.as_deref(), Some("s"));
    let kinds = scenario.policies.iter().flatten().map(|policy| {
        let mut broker = grid.domains[0].broker.clone();
        broker.policy = policy.clone();
        broker.matchmaking()
    });
    let expected = [
        MatchmakingKind::Route,
        MatchmakingKind::Delegate,
        MatchmakingKind::Push,
    ];
    assert!(kinds.eq(expected));
}

#[test]
fn a_tree_that_is_none_is_refused_with_its_place() {
    let cases = [
        (
            "administrative = true",
            "parent = \"a\"",
            "x.toml:21:10: field domain.top.parent = \"a\": expected a domain that is neither this one nor below it",
        ),
        (
            "siblings = [\"b\"]",
            "siblings = [\"a\"]",
            "x.toml:9:13: field domain.a.siblings.0 = \"a\": expected another domain with the same parent",
        ),
        (
            "siblings = [\"b\"]",
            "siblings = [\"top\"]",
            "x.toml:9:13: field domain.a.siblings.0 = \"top\": expected another domain with the same parent",
        ),
        (
            "parent = \"top\"",
            "parent = \"nobody\"",
            "field domain.a.parent = \"nobody\": expected a domain",
        ),
        (
            "parent = \"top\"",
            "parent = [\"top\", \"b\"]",
            "x.toml:8:10: field domain.a.parent =",
        ),
        (
            "domain = \"a\"",
            "domain = \"top\"",
            "x.toml:4:10: field workload.domain = \"top\": expected a domain where jobs enter",
        ),
        (
            "site = \"s\"",
            "administrative = true",
            "field domain.a.administrative = true: expected false for a domain with clusters",
        ),
        (
            "site = \"s\"",
            "central = true",
            "field domain.top.central = true: expected one central domain at most",
        ),
    ];
    refuses(&cases);
}

#[test]
fn a_matchmaking_that_cannot_be_is_refused_with_its_place() {
    let cases = [
        (
            "central = true",
            "",
            "\"free-node(matchmaking=push)\": expected a domain with central = true, whose queue push needs",
        ),
        (
            "site = \"s\"",
            "broker = { delegation_threshold = -0.5 }",
            "field domain.a.broker.delegation_threshold = -0.5: expected a decimal number above 0",
        ),
        (
            "site = \"s\"",
            "broker = { lease_timeout = \"60s\" }",
            "field domain.a.broker.lease_timeout = \"60s\": expected more than the longest \
             delegation_interval, 60s",
        ),
        (
            "site = \"s\"",
            "broker = { max_hops = 2 }",
            "expected the same max_hops in every domain with matchmaking delegate",
        ),
        (
            "site = \"s\"",
            "broker = { matchmaking = \"independent\" }",
            "field domain.a.broker.matchmaking = \"independent\": expected",
        ),
        (
            "[run]",
            "[[faults.restarts]]\nbroker = \"a\"\nfrom = \"1s\"\nuntil = \"2s\"\nmemory = \"none\"\n[run]",
            "\"free-node(matchmaking=delegate)\": expected brokers that are restarted with memory",
        ),
    ];
    refuses(&cases);
}

/// What the tree says with something of it replaced.
fn refuses(cases: &[(&str, &str, &str)]) {
    for (from, to, expected) in cases {
        let text = TREE.replacen(from, to, 1);
        let said = parse(&text).unwrap_err().to_string();
        assert!(said.contains(expected), "{to}: {said}");
    }
}

#[test]
fn a_spread_leaves_administrative_domains_out() {
    let text = TREE.replacen("domain = \"a\"", "spread = \"round-robin\"", 1);
    let scenario = parse(&text).unwrap();
    assert_eq!(
        scenario.workloads[0].spread.map(|spread| spread.domains),
        Some(2)
    );
}
