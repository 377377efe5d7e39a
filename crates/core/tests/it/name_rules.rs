//! The names by which scenarios and results know policies, ties and
//! disciplines, and what is known of a policy beforehand.

use gridrig_core::discipline::DisciplineKind;
use gridrig_core::load::Window;
use gridrig_core::policy::{InformationNeed, PolicyKind, PolicySettings, Tie};
use gridrig_core::time::Decimal;

#[test]
fn policies_go_by_these_names_and_are_found_by_them() {
    let names = [
        "round-robin",
        "random",
        "queue-length",
        "free-node",
        "utilization",
        "best-broker-rank",
        "best-broker-rank-1.10",
        "best-broker-rank-1.25",
        "best-broker-rank-aggr",
        "best-broker-rank-aggr-1.10",
        "best-broker-rank-aggr-1.25",
        "inter-rr",
        "inter-random",
        "local-only",
        "full-information",
    ];
    assert_eq!(PolicyKind::ALL.map(PolicyKind::name), names);
    assert_eq!(names.map(PolicyKind::from_name), PolicyKind::ALL.map(Some));
    assert_eq!(PolicyKind::from_name("Random"), None);
}

#[test]
fn ties_go_by_these_names_and_are_found_by_them() {
    let names = ["rotate", "local", "first", "random"];
    assert_eq!(Tie::ALL.map(Tie::name), names);
    assert_eq!(names.map(Tie::from_name), Tie::ALL.map(Some));
    assert_eq!(Tie::from_name("last"), None);
}

#[test]
fn disciplines_go_by_these_names_and_are_found_by_them() {
    let names = [
        "first-in-first-fit",
        "fcfs",
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
    let fresh = PolicyKind::ALL.into_iter();
    let fresh: Vec<_> = fresh
        .filter(|policy| !policy.uses_received_information())
        .collect();
    assert_eq!(
        fresh,
        [
            PolicyKind::RoundRobin,
            PolicyKind::Random,
            PolicyKind::LocalOnly,
            PolicyKind::FullInformation
        ]
    );
}

#[test]
fn full_information_alone_has_to_be_told_the_truth() {
    let settings = PolicySettings {
        queue_window: Window::Instant,
        utilization_window: Window::Instant,
        origin_promotion: Decimal::ONE,
        hops: 1,
    };
    for policy in PolicyKind::ALL {
        let need = policy.build(&settings).need();
        let truth = policy == PolicyKind::FullInformation;
        assert_eq!(need == InformationNeed::Truth, truth, "{policy:?}");
    }
}
