//! Which policies are called better, equivalent or open.

use crate::study::{Draft, Study, usual};
use gridrig_core::time::SimDuration;
use gridrig_results::compare::{self, Options, Outcome};
use gridrig_results::rundir::ScaleDoc;
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
    let study = Study::of(&names, MANY, waits);
    let document = study.compare();
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
    let said = "The best of 4 policies cannot be told apart: free-node, queue-length; with \
                free-node the mean delay is 0.980 s lower than with round-robin, the best of the \
                others (";
    assert!(verdict.text.starts_with(said), "{}", verdict.text);
    // Whatever the baseline is, unless it is one of the two.
    let against = |baseline: &str| {
        let options = Options {
            baseline: Some(baseline.to_owned()),
            ..Options::default()
        };
        study.try_compare(&options).unwrap().verdict.text
    };
    for baseline in ["random", "queue-length"] {
        let text = against(baseline);
        assert!(
            text.contains("with free-node the mean delay is 0.980 s lower than with round-robin,"),
            "{text}"
        );
    }
    let text = against("free-node");
    let said = "with round-robin, the best of the others, the mean delay is 0.980 s higher than \
                with free-node (";
    assert!(text.contains(said), "{text}");
}

#[test]
fn a_winner_is_held_against_the_closest_to_it() {
    let names = ["round-robin", "free-node", "queue-length"];
    let waits = |policy: &str, replication: u32| match policy {
        "queue-length" => usual("round-robin", replication),
        "round-robin" => usual("round-robin", replication).map(|wait| wait + 5_000),
        policy => usual(policy, replication),
    };
    let document = Study::of(&names, MANY, waits).compare();
    let verdict = &document.verdict;
    assert_eq!(document.baseline, "round-robin");
    assert_eq!(verdict.winner.as_deref(), Some("free-node"));
    assert_eq!(verdict.policy.as_deref(), Some("free-node"));
    assert_eq!(verdict.baseline, "queue-length");
    let said = "free-node is the best of 3 policies: its mean delay is 0.980 s lower than with \
                queue-length, the closest to it (";
    assert!(verdict.text.starts_with(said), "{}", verdict.text);
    assert_eq!(verdict.judgement, Some(Judgement::Better));
    let (low, high) = (verdict.low.unwrap(), verdict.high.unwrap());
    assert!(low < -0.98 && -0.98 < high && high < -0.5, "{verdict:?}");
    let (own, other) = (verdict.value.unwrap(), verdict.baseline_value.unwrap());
    assert!((own / other - verdict.ratio.unwrap()).abs() < 1e-9);
    // The pair says the same the other way round.
    let pair = verdict.pairs.last().unwrap();
    assert_eq!(
        (&*pair.policy, &*pair.against),
        ("queue-length", "free-node")
    );
    assert_eq!(verdict.difference, Some(-pair.paired.difference));
    assert_eq!(pair.judgement, Some(Judgement::Worse));
}

#[test]
fn without_a_verdict_the_two_with_the_best_figures_are_told() {
    let names = ["round-robin", "free-node", "queue-length"];
    let waits = |policy: &str, replication: u32| match policy {
        "queue-length" => usual("round-robin", replication),
        "round-robin" => usual("round-robin", replication).map(|wait| wait + 5_000),
        policy => usual(policy, replication),
    };
    let study = Study::of(&names, 1, waits);
    let document = study.compare();
    let verdict = &document.verdict;
    assert_eq!(verdict.outcome, Outcome::TooFewRepeats);
    assert_eq!(document.baseline, "round-robin");
    let told = |text: &str| text.split_once("): with ").unwrap().1.to_owned();
    let said = told(&verdict.text);
    assert!(said.starts_with("free-node the mean delay is"), "{said}");
    assert!(said.contains(" lower than with queue-length ("), "{said}");
    // The baseline is never the first of the two.
    let options = Options {
        baseline: Some("free-node".to_owned()),
        ..Options::default()
    };
    let said = told(&study.try_compare(&options).unwrap().verdict.text);
    assert!(said.starts_with("queue-length the mean delay is"), "{said}");
    assert!(said.contains(" higher than with free-node ("), "{said}");
}

#[test]
fn repeats_are_asked_for_only_where_the_verdict_is_open() {
    let waits = |policy: &str, replication: u32| match (policy, replication % 2) {
        ("random", 0) => usual("round-robin", replication).map(|wait| wait + 3_000),
        ("random", _) => usual("round-robin", replication).map(|wait| wait - 3_000),
        _ => usual(policy, replication),
    };
    let document = Study::of(&["round-robin", "free-node", "random"], MANY, waits).compare();
    let report = compare::report(&document);
    let mut tables = report.tables.iter();
    let table = tables.find(|it| it.header.last().is_some_and(|it| it == "repeats needed"));
    let rows = table.unwrap().rows.iter();
    let told: Vec<(&str, bool)> = rows.map(|row| (&*row[4], row[6] != "-")).collect();
    assert_eq!(told, [("better", false), ("open", true), ("open", true)]);
}

#[test]
fn with_two_studies_each_policy_is_held_against_its_own_local_only() {
    let study = Study::new();
    for (folder, phase, wait, local) in [("one", 0, 8_000, 9_000), ("two", 3, 1_000, 7_000)] {
        for (policy, wait) in [
            ("free-node", wait),
            ("local-only", local),
            ("round-robin", 8_000),
        ] {
            let mut draft = Draft::new(policy, 0, &[wait; 3]);
            for domain in &mut draft.grid.domains {
                domain.broker.phase = SimDuration::from_secs(phase);
            }
            let dir = study.path().join(folder).join(policy).join("r000");
            Study::write_to(&dir, draft);
        }
    }
    let document = study.compare();
    assert_eq!(document.baseline, "one/round-robin");
    let said = "Federating: with two/free-node the mean delay is 1 s instead of 7 s under \
                two/local-only, 86 % less. ";
    assert!(
        document.sentence().starts_with(said),
        "{}",
        document.sentence()
    );
    let worse = |policy: &str| {
        let mut policies = document.policies.iter();
        let policy = policies.find(|it| it.name == policy).unwrap();
        policy.worse_off.and_then(|it| it.domains)
    };
    assert_eq!(worse("one/round-robin"), Some(0.0));
    assert_eq!(worse("two/round-robin"), Some(1.0));
    assert_eq!(worse("two/local-only"), None);
}

/// Runs that were started one by one have the same key: all were held against the first.
#[test]
fn federating_is_told_run_by_run_however_runs_were_started() {
    let study = Study::new();
    for (replication, waits) in [(0, [1_000, 7_000]), (1, [9_000, 8_000])] {
        for (policy, wait) in ["free-node", "local-only"].into_iter().zip(waits) {
            let mut draft = Draft::new(policy, replication, &[wait; 3]);
            draft.info.study.varies = None;
            draft.info.study.key = "single".to_owned();
            draft.info.replication = 0;
            draft.first_trace_job = 3 * u64::from(replication);
            Study::write_to(&study.run_dir(policy, replication), draft);
        }
    }
    let document = study.compare();
    let found = document.federation.as_ref().unwrap().paired.unwrap();
    assert_eq!((found.n, found.disagree, found.difference), (2, 1, -2.5));
    let said = document.sentence();
    assert!(said.contains(", in 1 of 2 workloads"), "{said}");
}

#[test]
fn times_of_the_trace_are_said_to_be_divided_where_they_are() {
    let fact = |run_time: f64| {
        let study = Study::new();
        for policy in TWO {
            let mut draft = Draft::new(policy, 0, &usual(policy, 0));
            let arrival = run_time;
            draft.info.study.scale = Some(ScaleDoc { arrival, run_time });
            study.write(draft);
        }
        let facts = compare::report(&study.compare()).facts;
        let mut facts = facts.into_iter();
        facts.find(|(name, _)| name == "time").unwrap().1
    };
    assert!(fact(1.0).contains("those of the trace; tau"));
    assert!(fact(60.0).contains("those of the trace divided by 60; tau"));
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

#[test]
fn two_runs_that_are_alike_count_once_beside_a_policy_that_draws() {
    let policies = ["round-robin", "queue-length", "random"];
    let waits = |policy: &str, replication: u32| match policy {
        "random" => usual("round-robin", replication),
        "queue-length" => [3_000, 7_000, 11_000],
        _ => [4_000, 8_000, 12_000],
    };
    let study = Study::new();
    for policy in policies {
        for replication in 0..MANY {
            let mut draft = Draft::new(policy, replication, &waits(policy, replication));
            draft.info.seed = u64::from(replication);
            study.write(draft);
        }
    }
    let document = study.compare();
    assert_eq!(document.pairs.n, u64::from(MANY));
    let of = |policy: &str| {
        let mut policies = document.policies.iter();
        let policy = policies.find(|it| it.name == policy).unwrap();
        *policy.estimate(Figure::DEFAULT).unwrap()
    };
    let alike = of("queue-length");
    let paired = alike.paired.unwrap();
    assert_eq!((paired.n, paired.difference), (1, -1.0));
    assert_eq!((paired.interval, alike.value_interval), (None, None));
    assert_eq!((alike.judgement, alike.p_corrected), (None, None));
    assert_eq!(
        (alike.value, of("round-robin").value),
        (Some(7.0), Some(8.0))
    );
    let drawn = of("random");
    assert_eq!(drawn.paired.unwrap().n, u64::from(MANY));
    assert!(drawn.value_interval.is_some() && drawn.judgement.is_some());
    let mut pairs = document.verdict.pairs.iter();
    let pair = pairs.find(|it| it.policy == "queue-length" && it.against == "round-robin");
    let pair = pair.unwrap();
    assert_eq!((pair.paired.n, pair.judgement), (1, None));
}

#[test]
fn windows_that_overlap_are_descriptive_however_they_were_started() {
    let outcome = |apart: u64| {
        let study = Study::new();
        for policy in TWO {
            for replication in 0..MANY {
                let mut draft = Draft::new(policy, replication, &usual(policy, replication));
                draft.info.study.varies = None;
                draft.info.study.key = "single".to_owned();
                draft.info.replication = 0;
                draft.first_trace_job = apart * u64::from(replication);
                Study::write_to(&study.run_dir(policy, replication), draft);
            }
        }
        let document = study.compare();
        assert_eq!(document.pairs.over, "workload");
        (document.verdict.outcome, document.pairs.overlap)
    };
    // Each has three jobs.
    assert_eq!(outcome(3), (Outcome::Winner, None));
    let text = "windows of the same trace overlap and share jobs";
    assert_eq!(outcome(2), (Outcome::Descriptive, Some(text.to_owned())));
    // The same jobs under other circumstances are no windows.
    assert_eq!(outcome(0), (Outcome::Winner, None));
}

#[test]
fn a_job_that_ended_before_it_started_has_waited_until_then() {
    let study = Study::new();
    study.write(Draft::new("round-robin", 0, &[1_000, 2_000, 9_000]));
    let mut cut = Draft::new("free-node", 0, &[3_000, 5_000, 0]);
    cut.waits[2] = None;
    cut.cancelled = Some(4_000);
    study.write(cut);
    let document = study.compare();
    let unfinished = document.policies[1].unfinished.unwrap();
    assert_eq!(unfinished.finished_share.value, Some(2.0 / 3.0));
    // Two thirds wait longer than 3 s. One of these jobs is gone at 4 s, and the other one
    // starts at 5 s.
    assert_eq!(unfinished.wait_s_p50.value, Some(5.0));
}
