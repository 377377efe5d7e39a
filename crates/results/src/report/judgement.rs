//! The answer first: sentence, what it rests on, the table of policies, and
//! thresholds.

use super::material::Material;
use super::number::{cell, count, key_words, signed};
use crate::compare::{self, Comparison, Estimate, Outcome, Policy, Role};
use crate::plot::{Cell, Page, Table, Verdict};
use crate::threshold::Figure;
use crate::words::{self, short};
use gridrig_core::policy::PolicySpec;
use gridrig_scenario::each_once;

/// The sentence and the guard's warnings, and what was measured and how.
pub(super) fn open(page: &mut Page, material: &Material) {
    let sentence = material.sentence();
    let Some(comparison) = &material.comparison else {
        let badge = match material.unlike {
            true => Verdict::Warning,
            false => Verdict::Info,
        };
        page.verdict(badge, &sentence);
        left_out(page, &material.skipped);
        return;
    };
    let (badge, word) = match comparison.verdict.outcome {
        Outcome::Winner => (Verdict::Pass, "\u{2713} Better"),
        Outcome::Several => (Verdict::Pass, "\u{2713} Several are best"),
        Outcome::Equivalent => (Verdict::Pass, "\u{2713} Equivalent"),
        Outcome::Open => (Verdict::Info, "Open"),
        Outcome::TooFewRepeats => (Verdict::Warning, "Too few repeats"),
        Outcome::Descriptive => (Verdict::Warning, "Descriptive only"),
        Outcome::NotComparable => (Verdict::Fail, "\u{2717} Not comparable"),
    };
    page.badge(badge, word, &sentence);
    for objection in &comparison.guard.objections {
        page.verdict(Verdict::Warning, &objection.message);
    }
    left_out(page, &material.skipped);
    // Settings that differ are told line by line, below.
    let facts = compare::report(comparison).facts.into_iter();
    page.facts(facts.filter(|(name, _)| name != "differs"));
    if !comparison.guard.differences.is_empty() {
        page.paragraph(
            "Besides the policy, settings differ between these runs: see Scenarios, below.",
        );
    }
}

fn left_out(page: &mut Page, skipped: &[String]) {
    for run in skipped {
        page.verdict(Verdict::Warning, &format!("left out: {run}"));
    }
}

/// One table per primary metric.
pub(super) fn policies(page: &mut Page, comparison: &Comparison) {
    page.heading("Policies");
    page.paragraph(
        "Less is better. Every figure is the mean over the replications of that statistic of a \
         run, and differences are to the baseline, pair by pair, which is why they can be sure where the \
         intervals of two values overlap. Better and worse: the whole interval of the \
         difference lies beyond the smallest difference that matters; equivalent: within it. Only \
         primary figures of policies that compete are judged, their intervals and p corrected for \
         how many comparisons were made.",
    );
    for metric in each_once(comparison.primary.iter().map(|figure| figure.metric())) {
        page.table(&table(comparison, metric));
        page.paragraph(meaning(metric));
    }
    for further in compare::further(comparison) {
        let mut table = Table::new(further.header).caption(further.title);
        for row in further.rows {
            table.push(row.into_iter().map(Cell::Text));
        }
        page.table(&table);
        if let Some(note) = &further.note {
            page.paragraph(note);
        }
    }
    if comparison.policies.iter().any(|p| p.role == Role::Bound) {
        page.paragraph(
            "In parentheses: references. They show what more or less information would give and do not \
             compete.",
        );
    }
    explain(page, comparison);
    for policy in comparison.policies.iter().filter(|p| p.missing_jobs > 0) {
        page.paragraph(&format!(
            "Under {} {} did not complete: its figures and differences are over the others.",
            policy.name,
            count(policy.missing_jobs, "job")
        ));
    }
}

/// What the policies do, for who has only this page.
fn explain(page: &mut Page, comparison: &Comparison) {
    let told = comparison.policies.iter().filter_map(|policy| {
        // Policies under several settings are named FOLDER/POLICY.
        let name = policy.name.rsplit('/').next().unwrap_or(&policy.name);
        let summary = match (name.parse::<PolicySpec>(), policy.role) {
            (Ok(known), _) => known.entry().summary,
            (Err(_), Role::Bound) => "no brokers, all nodes are one cluster",
            (Err(_), _) => return None,
        };
        Some(format!("{}: {summary}", policy.name))
    });
    let told: Vec<String> = told.collect();
    if !told.is_empty() {
        page.paragraph("Where a broker sends a job, by its last information about the others:");
        page.list(told);
    }
}

fn meaning(metric: &str) -> &'static str {
    match metric {
        "delay_s" => {
            "Delay: end seen by the submitter - submit - run time: what the job lost to brokers, \
             messages and queues."
        }
        "expansion" => "Expansion ratio: (end seen - submit) / run time; 1 is no loss.",
        "wait_s" => "Wait time: start - submit.",
        "response_s" => "Response time: finish - submit.",
        "bounded_slowdown" | "bounded_slowdown_ref" => {
            "Bounded slowdown: response time / run time, for short jobs as if they ran for tau; 1 \
             is no loss."
        }
        _ => "",
    }
}

fn table(comparison: &Comparison, metric: &str) -> Table {
    let unit = words::unit_of(metric);
    let one = words::noun(&comparison.pairs.over);
    let mut table = Table::new("statistic | policy | value | 95 % interval | difference | its 95 % interval | ratio | verdict | p | disagree | n".split(" | "))
    .caption(format!(
        "{}{unit}; n: {one}s; disagree: {one}s in which the policy of the two that is better on average is the worse one",
        words::metric(metric)
    ));
    let figures = Figure::all().filter(|figure| figure.metric() == metric);
    for figure in figures {
        let mut first = true;
        for policy in &comparison.policies {
            let Some(estimate) = policy.estimate(figure) else {
                continue;
            };
            let statistic = match (first, comparison.primary.contains(&figure)) {
                (false, _) => String::new(),
                (true, true) => format!("{} (primary)", words::statistic(figure.statistic())),
                (true, false) => words::statistic(figure.statistic()).to_owned(),
            };
            first = false;
            table.push(row(statistic, policy, estimate, comparison.pairs.n));
        }
    }
    table
}

fn row(statistic: String, policy: &Policy, estimate: &Estimate, n: u64) -> Vec<Cell> {
    let name = match policy.role {
        Role::Baseline => format!("{} (baseline)", policy.name),
        _ => policy.shown(),
    };
    let mut cells = vec![
        Cell::Text(statistic),
        Cell::Text(name),
        cell(estimate.value),
        estimate.value_interval.map_or(Cell::Missing, |range| {
            Cell::Number(format!("{} to {}", short(range.low), short(range.high)))
        }),
    ];
    let Some(paired) = &estimate.paired else {
        let empty = || Cell::Number(String::new());
        cells.extend(std::iter::repeat_with(empty).take(6));
        cells.push(Cell::from(n));
        return cells;
    };
    let interval = paired.interval.map_or(Cell::Missing, |interval| {
        Cell::Number(format!(
            "{} to {}",
            signed(interval.low),
            signed(interval.high)
        ))
    });
    let p = estimate.p_corrected.map_or(String::new(), words::p_value);
    let verdict: &str = estimate.judgement.map_or("", Into::into);
    let sign = match paired.tied {
        0 => paired.disagree.to_string(),
        tied => format!("{}, {tied} tied", paired.disagree),
    };
    cells.extend([
        Cell::Number(signed(paired.difference)),
        interval,
        paired
            .ratio
            .map_or(Cell::Missing, |r| Cell::Number(short(r))),
        Cell::Text(verdict.to_owned()),
        Cell::Number(p),
        Cell::Number(sign),
        Cell::from(paired.n),
    ]);
    cells
}

/// Bounds that the runs had to keep, with check marks.
pub(super) fn thresholds(page: &mut Page, comparison: &Comparison) {
    if comparison.thresholds.is_empty() {
        return;
    }
    page.heading("Thresholds");
    let mut table = Table::new(["require", "policy", "kept", "worst run", "in"])
        .caption("Over all measured jobs of each run");
    for threshold in &comparison.thresholds {
        let kept = threshold.runs - threshold.missed;
        let text = format!("{kept} of {} runs", threshold.runs);
        table.push([
            Cell::Text(threshold.require.clone()),
            Cell::Text(threshold.policy.clone()),
            match threshold.held {
                true => Cell::Pass(text),
                false => Cell::Fail(text),
            },
            cell(threshold.worst),
            Cell::Text(key_words(&threshold.worst_run)),
        ]);
    }
    page.table(&table);
}
