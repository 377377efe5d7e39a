//! What a comparison claims, and what it does not.

use crate::study::{Draft, Study, pooled, says, usual};
use gridrig_results::compare::{self, Options, Outcome, Role};
use gridrig_results::stats::{Judgement, METHOD};
use gridrig_results::threshold::{Figure, Threshold};

const TWO: [&str; 2] = ["round-robin", "free-node"];

/// Pairs that are enough for a claim.
const MANY: u32 = 20;

#[test]
fn under_five_pairs_there_is_a_difference_and_no_interval() {
    let document = Study::of(&TWO, 4, usual).compare();
    let verdict = &document.verdict;
    assert_eq!(verdict.outcome, Outcome::TooFewRepeats);
    assert_eq!(
        (verdict.low, verdict.p_corrected, verdict.n),
        (None, None, 4)
    );
    says(&verdict.text, "too few repeats: 4 pairs, five are needed");
    // Gains of 800, 890, 980 and 1070 ms.
    assert!((verdict.difference.unwrap() + 0.935).abs() < 1e-9);
}

#[test]
fn one_run_each_is_no_comparison_of_policies() {
    let document = Study::of(&TWO, 1, usual).compare();
    let text = &document.verdict.text;
    assert_eq!(document.verdict.outcome, Outcome::TooFewRepeats);
    says(text, "one run of each policy");
}

#[test]
fn five_pairs_have_an_interval_and_claim_nothing() {
    let document = Study::of(&TWO, 5, usual).compare();
    assert_eq!(document.method.interval, Some(METHOD));
    let verdict = &document.verdict;
    assert_eq!((verdict.outcome, &verdict.winner), (Outcome::Open, &None));
    assert_eq!(verdict.judgement, Some(Judgement::Open));
    // Gains of 800 to 1160 ms in steps of 90: mean 0.98, sd 0.1423025;
    // t(0.98125, 4) = 3.0643221, and no skewness.
    let reach = 3.064_322_1 * 0.142_302_5 / 5.0_f64.sqrt();
    assert!((verdict.difference.unwrap() + 0.98).abs() < 1e-9);
    assert!(
        (verdict.low.unwrap() + 0.98 + reach).abs() < 1e-6,
        "{verdict:?}"
    );
    assert!(
        (verdict.high.unwrap() + 0.98 - reach).abs() < 1e-6,
        "{verdict:?}"
    );
    assert_eq!((verdict.disagree, verdict.tied), (0, 0));
    // The coverage that was measured is told.
    let coverage = document.method.coverage.unwrap();
    assert!(coverage < 0.9, "{coverage}");
    let said = format!("in {:.0} % of samples", 100.0 * coverage);
    says(&verdict.text, &said);
    let printed = format!("{:.0} % of such intervals from 5 pairs", 100.0 * coverage);
    let text = compare::report(&document).markdown();
    says(&text, &printed);
}

#[test]
fn every_value_of_every_policy_has_an_interval_of_its_own() {
    let document = Study::of(&TWO, 5, usual).compare();
    for policy in &document.policies {
        for statistics in policy.metrics.values() {
            assert!(statistics.values().all(|own| own.value_interval.is_some()));
        }
    }
    // By hand: the five runs' own means, and t(0.98125, 4) = 3.0643221.
    let own = document.policies[1].metrics["delay_s"]["mean"];
    let runs = document.runs.iter().filter(|run| run.policy == "free-node");
    let means: Vec<f64> = runs
        .map(|run| run.metrics["delay_s"].mean.unwrap())
        .collect();
    assert_eq!(means.len(), 5);
    let mean = means.iter().sum::<f64>() / 5.0;
    let squares: f64 = means.iter().map(|value| (value - mean).powi(2)).sum();
    let reach = 3.064_322_1 * (squares / 4.0 / 5.0).sqrt();
    let range = own.value_interval.unwrap();
    assert!((range.low - (mean - reach)).abs() < 1e-6, "{range:?}");
    assert!((range.high - (mean + reach)).abs() < 1e-6, "{range:?}");
    let text = compare::report(&document).text();
    says(&text, "95 % ");

    // None where the differences have none.
    for few in [1, 4] {
        let document = Study::of(&TWO, few, usual).compare();
        let mut all = document.policies.iter().flat_map(|p| p.metrics.values());
        assert!(all.all(|own| own.values().all(|own| own.value_interval.is_none())));
    }
}

#[test]
fn what_does_not_complete_under_a_bound_is_compared_all_the_same() {
    let write = |with_bound: bool| {
        let study = Study::of(&TWO, 5, usual);
        for replication in (0..5).filter(|_| with_bound) {
            let mut cut = Draft::new("local-only", replication, &[9_000, 8_000, 0]);
            cut.waits[2] = None;
            cut.info.partial = true;
            study.write(cut);
        }
        study.compare()
    };
    let (alone, bounded) = (write(false), write(true));
    assert_eq!(alone.verdict, bounded.verdict);
    assert_eq!(alone.policies[..], bounded.policies[..2]);
    assert_eq!(bounded.measured.jobs, 15);
    let bound = &bounded.policies[2];
    assert_eq!((bound.role, bound.missing_jobs), (Role::Bound, 5));
    // Over the first two jobs, those of the baseline too: (wait + 0 s of other
    // delays) / 2.
    let own = bound.metrics["wait_s"]["mean"];
    assert_eq!(own.value, Some(8.5));
    let base: Vec<f64> = (0..5)
        .map(|replication| {
            let waits = usual("round-robin", replication);
            (waits[0] + waits[1]) as f64 / 2_000.0
        })
        .collect();
    let base = base.iter().sum::<f64>() / 5.0;
    let difference = own.paired.unwrap().difference;
    assert!(
        (difference - (8.5 - base)).abs() < 1e-9,
        "{difference} {base}"
    );
    let text = compare::report(&bounded).markdown();
    says(&text, "Under local-only 5 of the jobs");
    // Means of other jobs are not held against each other.
    assert_eq!(alone.federation, None);
    let federation = bounded.federation.unwrap();
    assert_eq!((federation.missing_jobs, federation.value), (5, None));
    let text = federation.text;
    says(&text, "5 of the jobs that complete");
}

#[test]
fn what_federating_comes_to_is_said_first() {
    // The mean delay is the mean wait. Under the better policy it is a second in 19
    // replications and 12 in the last. No two replications are alike.
    let study = Study::of(
        &["round-robin", "free-node", "local-only"],
        MANY,
        |policy, replication| match (policy, replication) {
            ("local-only", _) => [
                9_000 + u64::from(replication),
                9_000 - u64::from(replication),
                9_000,
            ],
            ("free-node", 0..19) => [1_000, 1_000, 1_000],
            ("free-node", _) => [12_000, 12_000, 12_000],
            _ => [9_500, 9_500, 9_500 + u64::from(replication)],
        },
    );
    let document = study.compare();
    let federation = document.federation.as_ref().unwrap();
    assert_eq!(federation.policy, "free-node");
    let close = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
    assert!(close(federation.value.unwrap(), 1.55));
    assert!(close(federation.local_value.unwrap(), 9.0));
    let paired = federation.paired.unwrap();
    assert_eq!((paired.n, paired.disagree), (20, 1));
    assert!(close(paired.difference, -7.45));
    let domains: Vec<(&str, u64)> = federation
        .domains
        .iter()
        .map(|it| (it.domain.as_str(), it.jobs))
        .collect();
    assert_eq!(domains, [("a", 60)]);
    let said = "Federating: with free-node the mean delay is 1.6 s instead of 9 s under \
                local-only, 83 % less, in 19 of 20 windows. ";
    let report = compare::report(&document);
    assert_eq!(report.sentence, said.to_owned() + &document.verdict.text);
    assert!(document.answer().starts_with(&said[..60]));
}

#[test]
fn users_who_wait_longer_than_at_home_are_worse_off() {
    // Each job has a user of its own, and all enter at one domain.
    let study = Study::new();
    for (policy, waits) in [
        ("round-robin", [9_000, 9_000, 9_000]),
        ("free-node", [9_500, 9_000, 9_500]),
        ("local-only", [9_000, 8_000, 10_000]),
    ] {
        study.write(Draft::new(policy, 0, &waits));
    }
    let document = study.compare();
    let worse = |policy: &str| {
        let mut policies = document.policies.iter();
        let policy = policies.find(|it| it.name == policy).unwrap();
        policy.worse_off.map(|it| (it.domains, it.users))
    };
    assert_eq!(worse("round-robin"), Some((Some(0.0), Some(1.0 / 3.0))));
    assert_eq!(worse("free-node"), Some((Some(1.0), Some(2.0 / 3.0))));
    assert_eq!(worse("local-only"), None);
    let text = compare::report(&document).markdown();
    says(&text, "| free-node | 100.0 | 66.7 |");
}

#[test]
fn twenty_pairs_are_enough_for_a_claim() {
    let document = Study::of(&TWO, MANY, usual).compare();
    let verdict = &document.verdict;
    assert_eq!(verdict.outcome, Outcome::Winner);
    assert_eq!(verdict.winner.as_deref(), Some("free-node"));
    assert_eq!(
        (document.method.why_open.as_ref(), verdict.relevant),
        (None, 0.5)
    );
    let (low, high) = (verdict.low.unwrap(), verdict.high.unwrap());
    assert!(low < -0.98 && -0.98 < high && high < -0.9, "{verdict:?}");
    // Differences of 0.36 s at most, sd 0.13: nobody needs more than twenty.
    assert!(verdict.pairs[0].pairs_needed.unwrap() <= 20, "{verdict:?}");
}

#[test]
fn a_difference_that_changes_its_sign_wins_nothing_and_says_so() {
    let waits = |policy: &str, replication: u32| match (policy, replication % 2) {
        ("free-node", 0) => [1_000, 1_000, 1_000],
        ("free-node", _) => [3_200, 3_000, 3_000],
        _ => [2_000, 2_000, 2_000 + u64::from(replication)],
    };
    let document = Study::of(&TWO, MANY, waits).compare();
    let verdict = &document.verdict;
    assert_eq!(verdict.outcome, Outcome::Open);
    assert_eq!(verdict.winner, None);
    assert_eq!(verdict.disagree, 10);
    assert!(
        verdict.text.starts_with("Open whether free-node is better"),
        "{}",
        verdict.text
    );
    says(&verdict.text, "; 10 of 20 windows disagree: there it is ");
}

#[test]
fn a_baseline_that_beats_all_others_wins() {
    let study = Study::of(&TWO, MANY, usual);
    let document = study.compare_with("free-node").unwrap();
    assert_eq!(document.verdict.outcome, Outcome::Winner);
    let text = &document.verdict.text;
    says(text, "with round-robin, the closest to it, the");
    assert_eq!(document.verdict.winner.as_deref(), Some("free-node"));
    assert_eq!(document.policies[0].role, Role::Baseline);
}

#[test]
fn identical_replications_count_once_and_get_no_interval() {
    let document = Study::of(&TWO, 6, |policy, _| usual(policy, 0)).compare();
    assert_eq!(document.pairs.n, 1);
    assert_eq!(document.pairs.identical.len(), 5);
    assert_eq!(document.method.interval, None);
    let text = &document.verdict.text;
    says(text, "counts once");
}

#[test]
fn overlapping_samples_are_descriptive() {
    let study = Study::changed(&TWO, 6, |draft| {
        if let Some(varies) = &mut draft.info.study.varies {
            varies.overlap = Some("windows of 7d begin 1d apart and share jobs".to_owned());
        }
    });
    let document = study.compare();
    assert_eq!(document.verdict.outcome, Outcome::Descriptive);
    assert_eq!(document.verdict.low, None);
    assert_eq!(document.verdict.n, 6);
    says(&document.verdict.text, "begin 1d apart");
}

#[test]
fn jobs_that_did_not_complete_everywhere_are_left_out_and_counted() {
    let study = Study::new();
    study.write(Draft::new("round-robin", 0, &[1_000, 2_000, 9_000]));
    let mut cut = Draft::new("free-node", 0, &[3_000, 5_000, 0]);
    cut.waits[2] = None;
    cut.info.partial = true;
    study.write(cut);
    let document = study.compare();
    assert_eq!((document.measured.jobs, document.measured.left_out), (2, 1));
    let delay = |index: usize| document.policies[index].metrics["delay_s"]["mean"].value;
    assert_eq!((delay(0), delay(1)), (Some(1.5), Some(4.0)));
    assert_eq!(document.runs[0].metrics["delay_s"].n, 2);
    // Of all jobs: two of three finished. The third came 1 s before the run ended, so
    // that both waits that are known are longer.
    let all = |index: usize| document.policies[index].unfinished.unwrap();
    assert_eq!(all(0).finished_share.value, Some(1.0));
    assert_eq!(all(1).finished_share.value, Some(2.0 / 3.0));
    assert_eq!(all(0).wait_s_p95.value, Some(9.0));
    assert_eq!(all(1).wait_s_p50.value, Some(3.0));
    assert_eq!(all(1).wait_s_p95.value, Some(5.0));
    let text = document.sentence();
    let first = "Not all jobs finish: 66.7 % under free-node; 100 % under round-robin. What \
                 follows is about the 2 jobs that finish under every policy; 1 more finish under \
                 some, 0 under none. ";
    assert!(text.starts_with(first), "{text}");
    let text = compare::report(&document).markdown();
    says(&text, "unfinished ones too");
    // The third job is in no list of jobs that starved, and the table says why.
    for policy in &document.policies {
        let jobs = policy.starvation.iter().map(|job| job.row["job"].as_u64());
        assert!(jobs.flatten().all(|job| job < 2), "{policy:?}");
    }
    says(&text, "Only jobs that finish under every policy");
}

#[test]
fn jobs_that_complete_under_no_policy_are_counted_and_told() {
    let study = Study::new();
    for policy in ["round-robin", "free-node"] {
        let mut draft = Draft::new(policy, 0, &[1_000, 2_000, 0]);
        draft.waits[2] = None;
        draft.info.partial = true;
        study.write(draft);
    }
    let document = study.compare();
    let measured = &document.measured;
    assert_eq!((measured.jobs, measured.left_out), (2, 0));
    assert_eq!(measured.never_completed, 1);
    says(&document.sentence(), "Not all jobs finish: 66.7 % under ");
    says(
        &document.sentence(),
        "0 more finish under some, 1 under none.",
    );
    let text = compare::report(&document).markdown();
    says(
        &text,
        "none completed under some policies only; 1 completed under no policy",
    );
}

#[test]
fn bounds_are_shown_and_do_not_compete() {
    let study = Study::of(
        &["round-robin", "free-node", "local-only", "full-information"],
        MANY,
        |policy, replication| match policy {
            "full-information" => [0, 0, u64::from(replication)],
            "local-only" => [9_000, 9_000, 9_000],
            _ => usual(policy, replication),
        },
    );
    for replication in 0..MANY {
        let mut draft = Draft::new("", replication, &[10, 20, 30 + u64::from(replication)]);
        draft.info.policy = None;
        draft
            .info
            .workload_hashes
            .insert("all".to_owned(), "entered elsewhere".to_owned());
        draft.grid = pooled(8);
        study.write(draft);
    }
    let document = study.compare();
    let bounds = document.policies.iter().filter(|p| p.role == Role::Bound);
    let mut names: Vec<&str> = bounds.map(|p| p.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["full-information", "local-only", "pooled"]);
    assert_eq!(document.verdict.winner.as_deref(), Some("free-node"));
    assert_eq!(document.method.comparisons, 1);
}

#[test]
fn p_values_and_intervals_are_corrected_over_pairs_times_primary_figures() {
    let study = Study::of(&["round-robin", "free-node", "queue-length"], 6, usual);
    let figures = ["delay_s.mean", "wait_s.p95"].map(|text| Figure::parse(text).unwrap());
    let options = Options {
        primary: figures.to_vec(),
        ..Options::default()
    };
    let document = study.try_compare(&options).unwrap();
    assert_eq!(document.method.comparisons, 6);
    let level = document.method.simultaneous_level;
    assert!((level - (1.0 - 0.05 / 6.0)).abs() < 1e-12, "{level}");
    for policy in &document.policies[1..] {
        for figure in figures {
            let estimate = policy.estimate(figure).unwrap();
            let interval = estimate.paired.unwrap().interval.unwrap();
            let corrected = estimate.p_corrected.unwrap();
            assert!(
                (corrected - (6.0 * interval.p).min(1.0)).abs() < 1e-12,
                "{estimate:?}"
            );
            // One answer: p is below 0.05 where the interval leaves 0 out.
            let covers = interval.low <= 0.0 && 0.0 <= interval.high;
            assert_eq!(covers, corrected >= 0.05, "{estimate:?}");
        }
        assert_eq!(policy.metrics["expansion"]["mean"].p_corrected, None);
    }
}

#[test]
fn what_the_runs_declare_is_what_they_are_judged_by() {
    let study = Study::changed(&TWO, 5, |draft| {
        draft.info.study.primary = vec!["wait_s.p95".to_owned()];
        draft.info.study.require = vec!["wait_s.max < 12.5".to_owned()];
    });
    let document = study.compare();
    assert_eq!(document.verdict.figure, "wait_s.p95");
    // The longest wait of round-robin is 3 (4 + 0.1 k) s: 12.6 s from k = 2 on.
    let kept: Vec<(bool, u64)> = document
        .thresholds
        .iter()
        .map(|t| (t.held, t.missed))
        .collect();
    assert_eq!(kept, [(false, 3), (true, 0)]);
    assert_eq!(document.thresholds[0].worst, Some(13.2));
    assert_eq!(document.thresholds[0].worst_run, "window+4w");
    let options = Options {
        primary: vec![Figure::DEFAULT],
        require: vec![Threshold::parse("jobs.completed == 3").unwrap()],
        ..Options::default()
    };
    let document = study.try_compare(&options).unwrap();
    assert_eq!(document.verdict.figure, "delay_s.mean");
    assert_eq!(document.thresholds.len(), 4);
}

#[test]
fn groups_of_jobs_are_held_against_the_same_groups_of_the_baseline() {
    let study = Study::of(&TWO, 5, usual);
    let document = study.compare();
    let by = |name: &str| document.breakdown.iter().find(|b| b.by == name).unwrap();
    let names =
        |name: &str| -> Vec<&str> { by(name).groups.iter().map(|g| g.group.as_str()).collect() };
    assert_eq!(names("origin-domain"), ["a"]);
    assert_eq!(names("executing-domain"), ["a", "b"]);
    assert_eq!(names("size"), ["1", "2-4"]);
    // Users 2, 1, 0 by 3 x 7, 2 x 6 and 1 x 5 processor-seconds.
    assert_eq!(names("user"), ["2", "1", "0"]);
    assert_eq!(names("account"), ["2", "1", "unknown"]);
    assert_eq!(names("executable"), ["unknown", "1"]);
    let narrow = &by("size").groups[0];
    assert_eq!(narrow.cells[0].jobs, 5);
    let paired = narrow.cells[1].estimate.paired.unwrap();
    assert!((paired.difference + 0.98).abs() < 1e-9, "{paired:?}");
    assert!(
        by("executing-domain").groups[0].cells[1]
            .estimate
            .paired
            .is_none()
    );
}

#[test]
fn forwarding_and_starvation_are_told_by_job() {
    let study = Study::new();
    // Jobs 0 and 2 are queued at a1 at 0 and 20 s; job 0 starts at 30 s, job 2
    // at 21 s and so overtakes it.
    study.write(Draft::new("round-robin", 0, &[30_000, 0, 1_000]));
    study.write(Draft::new("free-node", 0, &[0, 0, 0]));
    let document = study.compare();
    let matrix: Vec<(&str, &str, u64)> = document.policies[0]
        .forwarding
        .iter()
        .map(|cell| (cell.from.as_str(), cell.to.as_str(), cell.jobs))
        .collect();
    assert_eq!(matrix, [("a", "a", 2), ("a", "b", 1)]);
    let worst = &document.policies[0].starvation;
    assert_eq!(worst.len(), 2);
    // 30 s of wait over tau = 10 s, which is longer than its run time.
    assert_eq!(worst[0].row["job"].as_u64(), Some(0));
    assert_eq!(worst[0].relative_wait, 3.0);
    assert_eq!((worst[0].overtaken_by, worst[1].overtaken_by), (1, 0));
    assert!(document.policies[1].starvation.is_empty());
}

#[test]
fn one_sentence_opens_every_form_of_the_report() {
    let document = Study::of(&TWO, MANY, usual).compare();
    let report = compare::report(&document);
    assert_eq!(report.sentence, document.verdict.text);
    let unwrapped = report.text().replace('\n', " ");
    assert!(unwrapped.starts_with(&document.verdict.text), "{unwrapped}");
    let markdown = report.markdown();
    assert!(
        markdown.starts_with("**free-node is better than round-robin"),
        "{markdown}"
    );
    let json = serde_json::to_value(&document).unwrap();
    assert_eq!(json["verdict"]["text"], document.verdict.text);
    assert_eq!(json["verdict"]["outcome"], "winner");
    let mean = &json["policies"][1]["metrics"]["delay_s"]["mean"];
    assert_eq!(mean["interval"]["low"], json["verdict"]["low"]);
    assert!(
        report
            .text()
            .lines()
            .all(|line| line.chars().count() <= 100)
    );
}
