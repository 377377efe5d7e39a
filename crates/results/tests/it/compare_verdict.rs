//! Which policies are called better, equivalent or open.

use crate::study::{Draft, Study, usual};
use gridrig_results::compare::{Options, Outcome};
use gridrig_results::stats::Judgement;
use gridrig_results::threshold::Figure;

const TWO: [&str; 2] = ["round-robin", "free-node"];

/// Pairs that are enough for a claim.
const MANY: u32 = 20;

#[test]
fn what_is_better_depends_on_what_matters() {
    let study = Study::of(&TWO, MANY, usual);
    let judged = |relevant: f64| {
        let options = Options {
            relevant: vec![(Figure::DEFAULT, relevant)],
            ..Options::default()
        };
        let verdict = study.try_compare(&options).unwrap().verdict;
        (
            verdict.outcome,
            verdict.judgement.unwrap(),
            verdict.best.len(),
        )
    };
    // About 0.98 s less, give or take 0.06.
    assert_eq!(judged(0.5), (Outcome::Winner, Judgement::Better, 1));
    assert_eq!(judged(1.0), (Outcome::Open, Judgement::Open, 2));
    assert_eq!(judged(1.5), (Outcome::Equivalent, Judgement::Equivalent, 2));
    // What the runs say comes before a tenth of the broker interval.
    let study = Study::new();
    for policy in TWO {
        for replication in 0..MANY {
            let mut draft = Draft::new(policy, replication, &usual(policy, replication));
            draft
                .info
                .study
                .relevant
                .insert("delay_s.mean".to_owned(), 1.5);
            study.write(draft);
        }
    }
    assert_eq!(study.compare().verdict.outcome, Outcome::Equivalent);
}

#[test]
fn the_best_are_a_set_where_no_pair_tells_them_apart() {
    let names = ["round-robin", "free-node", "queue-length", "random"];
    let waits = |policy: &str, replication: u32| match policy {
        "queue-length" => {
            let mut waits = usual("free-node", replication);
            waits[0] += 40 * u64::from(replication % 3);
            waits
        }
        "random" => usual("round-robin", replication).map(|wait| wait + 3_000),
        policy => usual(policy, replication),
    };
    let document = Study::of(&names, MANY, waits).compare();
    let verdict = &document.verdict;
    assert_eq!(verdict.outcome, Outcome::Several);
    assert_eq!(verdict.best, ["free-node", "queue-length"]);
    assert_eq!((verdict.pairs.len(), document.method.comparisons), (6, 6));
    let two = |policy: &str, against: &str| {
        let mut pairs = verdict.pairs.iter();
        let pair = pairs.find(|it| it.policy == policy && it.against == against);
        pair.unwrap().judgement.unwrap()
    };
    assert_eq!(two("queue-length", "free-node"), Judgement::Equivalent);
    assert_eq!(two("random", "round-robin"), Judgement::Worse);
    let said = "The best of 4 policies cannot be told apart: free-node, queue-length;";
    assert!(verdict.text.contains(said), "{}", verdict.text);
}

#[test]
fn a_figure_that_goes_the_other_way_is_named() {
    // Two jobs gain 3 s each, the last loses 4: less in the mean, more at the end.
    let waits = |policy: &str, replication: u32| {
        let more = 10 * u64::from(replication);
        match policy {
            "free-node" => [2_000 + more, 3_000 + more, 14_000],
            _ => [5_000, 6_000, 10_000],
        }
    };
    let verdict = Study::of(&TWO, MANY, waits).compare().verdict;
    assert_eq!(verdict.judgement, Some(Judgement::Better));
    assert!(
        verdict
            .against
            .iter()
            .any(|it| it.contains("95 % quantile of the delay is"))
    );
    assert!(verdict.text.contains("; but its 95 %"), "{}", verdict.text);
    assert!(!verdict.text.contains("but its median"), "{}", verdict.text);
}
