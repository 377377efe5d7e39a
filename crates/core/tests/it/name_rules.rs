//! The names by which scenarios and results know policies, ties and
//! disciplines, and what is known of a policy beforehand.

use gridrig_core::discipline::DisciplineKind;
use gridrig_core::policy::{InformationNeed, POLICIES, PolicySpec, Tie};

#[test]
fn policies_go_by_these_names_and_are_found_by_them() {
    let names = [
        "round-robin",
        "random",
        "queue-length",
        "free-node",
        "utilization",
        "threshold",
        "best-broker-rank",
        "best-broker-rank-1.10",
        "best-broker-rank-1.25",
        "best-broker-rank-aggr",
        "best-broker-rank-aggr-1.10",
        "best-broker-rank-aggr-1.25",
        "inter-rr",
        "inter-random",
        "worst-fit",
        "close-to-files",
        "cluster-minimization",
        "flexible-cluster-minimization",
        "co-reservation",
        "earliest-start",
        "earliest-completion",
        "local-only",
        "full-information",
    ];
    assert!(POLICIES.iter().map(|entry| entry.name).eq(names));
    assert!(PolicySpec::all().map(|policy| policy.to_string()).eq(names));
    let found = names.iter().map(|name| PolicySpec::named(name).unwrap());
    assert!(found.eq(PolicySpec::all()));
    assert_eq!(PolicySpec::default().to_string(), "round-robin");
    assert_eq!(PolicySpec::named("Random"), None);
}

#[test]
fn ties_go_by_these_names_and_are_found_by_them() {
    let names = ["rotate", "local", "first", "random"];
    assert_eq!(Tie::ALL.map(Tie::name), names);
    assert_eq!(
        names.map(|name| name.parse::<Tie>().ok()),
        Tie::ALL.map(Some)
    );
    assert!("last".parse::<Tie>().is_err());
}

#[test]
fn disciplines_go_by_these_names_and_are_found_by_them() {
    let names = [
        "first-in-first-fit",
        "fcfs",
        "shortest-job-first",
        "easy-backfill",
        "conservative-backfill",
        "slurm-backfill",
    ];
    assert!(DisciplineKind::ALL.iter().map(|kind| kind.name()).eq(names));
    let found = names.map(DisciplineKind::from_name).into_iter();
    assert!(found.eq(DisciplineKind::ALL.iter().copied().map(Some)));
    assert_eq!(DisciplineKind::from_name("sjf"), None);
}

#[test]
fn all_policies_but_blind_ones_and_bounds_work_on_information_that_grows_stale() {
    let fresh = POLICIES.iter().filter(|entry| !entry.need.is_received());
    let fresh: Vec<&str> = fresh.map(|entry| entry.name).collect();
    assert_eq!(
        fresh,
        ["round-robin", "random", "local-only", "full-information"]
    );
}

#[test]
fn full_information_alone_has_to_be_told_the_truth() {
    for entry in POLICIES {
        let truth = entry.name == "full-information";
        assert_eq!(
            entry.need == InformationNeed::Truth,
            truth,
            "{}",
            entry.name
        );
    }
}

fn written(text: &str) -> Result<String, String> {
    text.parse::<PolicySpec>().map(|policy| policy.to_string())
}

#[test]
fn a_policy_is_written_with_what_is_given_of_its_parameters() {
    for (text, name) in [
        (
            "best-broker-rank(alpha=1.25)",
            "best-broker-rank(alpha=1.25)",
        ),
        (
            "best-broker-rank( tie=first, alpha=1.250 )",
            "best-broker-rank(alpha=1.25,tie=first)",
        ),
        ("utilization(window=0s)", "utilization(window=0s)"),
        ("inter-rr(ttl=0)", "inter-rr(ttl=0)"),
        (
            "inter-rr(revisit=false,reschedule_interval=0.25h)",
            "inter-rr(reschedule_interval=900s,revisit=false)",
        ),
    ] {
        assert_eq!(written(text).as_deref(), Ok(name));
    }
    // What is given is not the default, though it may be worth the same.
    assert_ne!(
        "best-broker-rank(alpha=1)".parse::<PolicySpec>(),
        "best-broker-rank".parse()
    );
}

#[test]
fn a_parameter_that_cannot_be_is_told_with_those_that_can() {
    let refused = |text: &str| written(text).unwrap_err();
    assert!(refused("fastest").starts_with("a policy, one of round-robin, random, queue-length,"));
    assert!(refused("free-node(tie=first").starts_with("a policy, one of"));
    let alphas = "a parameter of best-broker-rank: alpha (a number above 0 and up to 1000); \
                  local_first (one of false, true); tie (one of rotate, local, first, random); \
                  commit (one of early, late); \
         matchmaking (one of route, independent, push, pull, flock, delegate)";
    for alpha in ["0", "1000.1", "-1", "x", ""] {
        assert_eq!(
            refused(&format!("best-broker-rank(alpha={alpha})")),
            format!("`alpha={alpha}` to be {alphas}")
        );
    }
    let twice = refused("best-broker-rank(alpha=1, alpha=2)");
    assert_eq!(twice, "`alpha` to be given once");
    assert_eq!(
        refused("inter-rr(ttl=1.5)"),
        "`ttl=1.5` to be a parameter of inter-rr: ttl (a whole number from 0 to 4294967295); \
         ttl_end (one of reschedule, settle); reschedule_interval (a time above 0 such as 15min); \
         revisit (one of false, true); tie (one of rotate, local, first, random); \
         matchmaking (one of route, independent, push, pull, flock, delegate)"
    );
    assert_eq!(
        refused("free-node(window=30s)"),
        "`window=30s` to be a parameter of free-node: tie (one of rotate, local, \
         first, random); commit (one of early, late); \
         matchmaking (one of route, independent, push, pull, flock, delegate)"
    );
    assert_eq!(
        refused("random(tie=first)"),
        "`tie=first` to be a parameter of random: \
         matchmaking (one of route, independent, push, pull, flock, delegate)"
    );
}
