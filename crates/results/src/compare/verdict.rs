//! One sentence: which policies are best, by how much, and how sure that is.
//! Table, Markdown, JSON and pages show this text and no other.

use super::answer::{Outcome, Verdict, Versus};
use super::document::{Comparison, Estimate, Policy, Role};
use super::text::{noun, number};
use crate::plot;
use crate::plot::{integer, percent};
use crate::stats::{self, Judgement};
use crate::threshold::Figure;
use crate::words::{self, unit};

/// So many of all jobs may be left out before a sentence says so.
const FEW_LEFT_OUT: f64 = 0.01;

/// The verdict on the first primary figure, by every two policies that compete.
pub(super) fn of(document: &Comparison, pairs: Vec<Versus>) -> Verdict {
    let Some(&figure) = document.primary.first() else {
        return Verdict::default();
    };
    let best = best(document, &pairs);
    let outcome = outcome(document, &best, &pairs);
    let mut verdict = Verdict {
        outcome,
        winner: best.first().filter(|_| outcome == Outcome::Winner).cloned(),
        baseline: document.baseline.clone(),
        figure: figure.to_string(),
        relevant: document.method.relevant_to(figure),
        n: document.pairs.n,
        best,
        ..Verdict::default()
    };
    let Some(told) = told(document, figure, &verdict.best, &pairs) else {
        verdict.text = format!(
            "No verdict: no replication has a {} under every policy.",
            words::figure(figure)
        );
        return verdict;
    };
    let paired = told.paired;
    let value = |policy: &str| estimate(document, policy, figure)?.value;
    verdict = Verdict {
        value: value(&told.policy),
        baseline_value: value(&told.against),
        against: against(document, &told),
        policy: Some(told.policy),
        baseline: told.against,
        judgement: told.judgement,
        difference: Some(paired.difference),
        ratio: paired.ratio,
        low: paired.interval.map(|interval| interval.low),
        high: paired.interval.map(|interval| interval.high),
        p_corrected: told.p_corrected,
        n: paired.n,
        disagree: paired.disagree,
        tied: paired.tied,
        pairs,
        ..verdict
    };
    verdict.text = sentence(document, figure, &verdict);
    verdict
}

fn competing(document: &Comparison) -> impl Iterator<Item = &Policy> {
    let policies = document.policies.iter();
    policies.filter(|policy| policy.role != Role::Bound)
}

/// The two policies that the numbers are of: the best one and the best of those that
/// it is better than; without intervals the two with the best figures; else the best of
/// all others and the baseline. The baseline comes second wherever it is one of them.
fn told(
    document: &Comparison,
    figure: Figure,
    best: &[String],
    pairs: &[Versus],
) -> Option<Versus> {
    let valued =
        competing(document).filter_map(|it| Some((it.name.as_str(), it.estimate(figure)?.value?)));
    let mut by_value: Vec<(&str, f64)> = valued.collect();
    by_value.sort_by(|a, b| a.1.total_cmp(&b.1));
    let names = || by_value.iter().map(|it| it.0);
    let unknown = document.method.interval.is_none();
    let is_best = |name: &str| best.iter().any(|it| it == name);
    let one = names().find(|name| unknown || is_best(name));
    let rival = names().find(|name| Some(*name) != one && !is_best(name));
    let found = one.zip(rival).and_then(|(one, rival)| {
        let mut pairs = pairs.iter();
        let pair = pairs.find(|it| {
            let both = [&*it.policy, &*it.against];
            both == [one, rival] || both == [rival, one]
        })?;
        // The baseline is second in every pair that it is in.
        Some(
            match pair.policy == one || pair.against == document.baseline {
                true => pair.clone(),
                false => pair.turned(),
            },
        )
    });
    let to_baseline = pairs.iter().filter(|it| it.against == document.baseline);
    let closest = to_baseline.min_by(|a, b| a.paired.difference.total_cmp(&b.paired.difference));
    found.or_else(|| closest.cloned())
}

/// How many jobs finish at all under each policy that competes, if more than a few
/// finish under some policies only, or under none: times are about the others.
pub(super) fn left_out(document: &Comparison) -> Option<String> {
    let measured = &document.measured;
    let others = measured.left_out + measured.never_completed;
    if others as f64 / (measured.jobs + others).max(1) as f64 <= FEW_LEFT_OUT {
        return None;
    }
    let share = |policy: &Policy| policy.unfinished?.finished_share.value;
    let shares = competing(document).filter_map(|it| Some((share(it)?, it.name.as_str())));
    let mut by_share: Vec<(f64, &str)> = shares.collect();
    by_share.sort_by(|a, b| a.0.total_cmp(&b.0));
    let alike = by_share.chunk_by(|a, b| percent(a.0) == percent(b.0));
    let told = alike.map(|some| {
        let names: Vec<&str> = some.iter().map(|(_, name)| *name).collect();
        format!("{} under {}", percent(some[0].0), names.join(", "))
    });
    Some(format!(
        "Not all jobs finish: {}. What follows is about the {} jobs that finish under every \
         policy; {} more finish under some, {} under none.",
        told.collect::<Vec<_>>().join("; "),
        integer(measured.jobs),
        integer(measured.left_out),
        integer(measured.never_completed)
    ))
}

/// The policies that compete and that no other is better than.
fn best(document: &Comparison, pairs: &[Versus]) -> Vec<String> {
    if document.method.interval.is_none() {
        return Vec::new();
    }
    let beaten = |name: &str| {
        pairs.iter().any(|pair| match pair.judgement {
            Some(Judgement::Better) => pair.against == name,
            Some(Judgement::Worse) => pair.policy == name,
            _ => false,
        })
    };
    let names = competing(document).map(|policy| policy.name.clone());
    names.filter(|name| !beaten(name)).collect()
}

fn outcome(document: &Comparison, best: &[String], pairs: &[Versus]) -> Outcome {
    let all = competing(document).count();
    let equivalent = |pair: &Versus| pair.judgement == Some(Judgement::Equivalent);
    if !document.guard.comparable {
        Outcome::NotComparable
    } else if document.pairs.overlap.is_some() && document.pairs.n > 1 {
        Outcome::Descriptive
    } else if document.method.interval.is_none() {
        Outcome::TooFewRepeats
    } else if best.len() == 1 && all > 1 {
        Outcome::Winner
    } else if best.len() < all {
        Outcome::Several
    } else if !pairs.is_empty() && pairs.iter().all(equivalent) {
        Outcome::Equivalent
    } else {
        Outcome::Open
    }
}

fn estimate<'a>(document: &'a Comparison, policy: &str, figure: Figure) -> Option<&'a Estimate> {
    let mut policies = document.policies.iter();
    policies.find(|it| it.name == policy)?.estimate(figure)
}

/// Figures that go the other way than the first primary one: the other primary
/// ones, and the other statistics of the same metric.
fn against(document: &Comparison, told: &Versus) -> Vec<String> {
    let first = document.primary[0];
    let usual = document.method.relevant_to(first);
    let looked_at = Figure::all().filter(|figure| {
        *figure != first && (figure.metric() == first.metric() || document.primary.contains(figure))
    });
    let told = looked_at.filter_map(|figure| {
        let own = estimate(document, &told.policy, figure)?;
        let by = match told.against == document.baseline {
            true => own.paired?.difference,
            false => {
                let other = estimate(document, &told.against, figure)?;
                stats::difference(other.value?, own.value?)
            }
        };
        let primary = document.primary.contains(&figure);
        let relevant = match primary {
            true => document.method.relevant_to(figure),
            false => usual,
        };
        let other_way = by * told.paired.difference < 0.0 && by.abs() > relevant;
        other_way.then(|| {
            let word = if by < 0.0 { "lower" } else { "higher" };
            let (what, by) = (words::figure(figure), shown(figure, by.abs()));
            format!("its {what} is {by} {word}")
        })
    });
    told.collect()
}

fn sentence(document: &Comparison, figure: Figure, verdict: &Verdict) -> String {
    let mut text = format!(
        "{} {} {}",
        head(document, verdict),
        words::figure(figure),
        difference(document, figure, verdict)
    );
    let over = noun(&document.pairs.over, verdict.n);
    if let (Some(low), Some(high)) = (verdict.low, verdict.high) {
        let simultaneous = match document.method.comparisons {
            0 | 1 => String::new(),
            n => format!(", corrected for {n} comparisons"),
        };
        text.push_str(&format!(
            ", 95 % interval {} (n = {} {over}{simultaneous})",
            both(figure, low, "to", high),
            verdict.n,
        ));
        if verdict.relevant > 0.0 {
            let least = shown(figure, verdict.relevant);
            text.push_str(&format!("; differences below {least} do not matter"));
        }
    } else if verdict.n > 1 {
        text.push_str(&format!(" (n = {} {over}, no interval)", verdict.n));
    }
    text.push_str(&signs(document, verdict));
    for against in &verdict.against {
        text.push_str(&format!("; but {against}"));
    }
    text.push('.');
    text
}

/// What was found, before the difference of the two that are told.
fn head(document: &Comparison, verdict: &Verdict) -> String {
    let policy = verdict.policy.as_deref().unwrap_or_default();
    let baseline = &verdict.baseline;
    let all = competing(document).count();
    let two = all == 2;
    let method = &document.method;
    match verdict.outcome {
        Outcome::Winner => {
            let winner = verdict.winner.as_deref().unwrap_or_default();
            let than = if winner == policy { baseline } else { policy };
            let found = match two {
                true => format!("{winner} is better than {than}"),
                false => format!("{winner} is the best of {all} policies"),
            };
            match (winner == policy, winner == *baseline) {
                (true, _) => format!("{found}: its"),
                (_, true) => format!("{found}: with {policy}, the closest to it, the"),
                _ => format!("{found}; with {policy} the"),
            }
        }
        Outcome::Several => {
            let best = verdict.best.join(", ");
            let what = rival(document, verdict, policy);
            let comma = if what.is_empty() { "" } else { "," };
            format!(
                "The best of {all} policies cannot be told apart: {best}; with \
                 {policy}{what}{comma} the"
            )
        }
        Outcome::Equivalent if two => {
            format!("{policy} and {baseline} are equivalent: with {policy} the")
        }
        Outcome::Equivalent => format!("All {all} policies are equivalent: with {policy} the"),
        Outcome::Open => {
            let why = method.why_open.as_ref();
            let why = why.map_or(String::new(), |why| format!(" ({why})"));
            let which = match two {
                true => format!("Open whether {policy} is better than {baseline}"),
                false => "Open which policy is better".to_owned(),
            };
            format!("{which}{why}: with {policy} the")
        }
        Outcome::TooFewRepeats => {
            let why = method.why_none.as_deref().unwrap_or_default();
            format!("No verdict ({why}): with {policy} the")
        }
        Outcome::Descriptive => {
            let why = document.pairs.overlap.as_deref().unwrap_or_default();
            format!("Descriptive only ({why}): with {policy} the")
        }
        Outcome::NotComparable => {
            format!("Not comparable, see below; as they are, with {policy} the")
        }
    }
}

/// What stands behind the name of a policy that a best one is held against: nothing
/// where there is no other.
fn rival(document: &Comparison, verdict: &Verdict, name: &str) -> &'static str {
    let best = &verdict.best;
    let others = competing(document).count() - best.len();
    match best.len() {
        0 => "",
        _ if others < 2 || best.iter().any(|it| it == name) => "",
        1 => ", the closest to it",
        _ => ", the best of the others",
    }
}

fn difference(document: &Comparison, figure: Figure, verdict: &Verdict) -> String {
    let by = verdict.difference.unwrap_or_default();
    let values = verdict.value.zip(verdict.baseline_value);
    let values = values.map_or("not known".to_owned(), |(value, baseline)| {
        both(figure, value, "against", baseline)
    });
    let ratio = verdict
        .ratio
        .map_or(String::new(), |r| format!(", ratio {}", number(r)));
    if by == 0.0 {
        return format!("is the same ({values})");
    }
    let word = if by < 0.0 { "lower" } else { "higher" };
    let baseline = &verdict.baseline;
    let what = rival(document, verdict, baseline);
    let by = shown(figure, by.abs());
    format!("is {by} {word} than with {baseline}{what} ({values}{ratio})")
}

/// So many seconds and more are told in minutes, hours or days.
const MINUTE_S: f64 = 60.0;

/// A value in the unit that a person would use.
fn shown(figure: Figure, value: f64) -> String {
    match figure.unit() {
        "s" if value.abs() >= MINUTE_S => plot::seconds(value),
        _ => format!("{}{}", number(value), unit(figure)),
    }
}

/// Two of them, with the unit behind the second where it is the same.
fn both(figure: Figure, one: f64, between: &str, other: f64) -> String {
    match one.abs().max(other.abs()) >= MINUTE_S {
        true => format!("{} {between} {}", shown(figure, one), shown(figure, other)),
        false => format!("{} {between} {}", number(one), shown(figure, other)),
    }
}

/// How many single replications say otherwise.
fn signs(document: &Comparison, verdict: &Verdict) -> String {
    if verdict.n < 2 {
        return String::new();
    }
    let over = noun(&document.pairs.over, verdict.n);
    let verb = if verdict.disagree == 1 {
        "disagrees"
    } else {
        "disagree"
    };
    let tied = match verdict.tied {
        0 => String::new(),
        tied => format!(
            ", and {tied} {} no difference",
            if tied == 1 { "shows" } else { "show" }
        ),
    };
    let there = match verdict.difference {
        Some(by) if by < 0.0 => "higher",
        _ => "lower",
    };
    match verdict.disagree {
        0 => format!(", and no {} disagrees{tied}", noun(&document.pairs.over, 1)),
        count => format!(
            "; {count} of {} {over} {verb}: there it is {there}{tied}",
            verdict.n
        ),
    }
}
