//! One sentence: which policy is better, by how much, and how sure that is.
//! Table, Markdown, JSON and pages show this text and no other.

use super::document::{Comparison, Estimate, Outcome, Policy, Role, Verdict};
use super::text::{noun, number, p_value};
use crate::stats::{Interval, Paired};
use crate::threshold::Figure;
use crate::words::{self, unit};

/// A claim needs a corrected p-value below this.
const LEVEL: f64 = 0.05;

/// A contender with all that a verdict needs.
#[derive(Clone, Copy)]
struct Entry<'a> {
    policy: &'a Policy,
    estimate: &'a Estimate,
    paired: &'a Paired,
}

impl Entry<'_> {
    fn claims(&self) -> bool {
        self.estimate.p_holm.is_some_and(|p| p < LEVEL)
    }

    fn is_better(&self) -> bool {
        self.claims() && self.paired.difference < 0.0
    }

    fn is_worse(&self) -> bool {
        self.claims() && self.paired.difference > 0.0
    }
}

/// The verdict on the first primary figure.
pub(super) fn of(document: &Comparison) -> Verdict {
    let Some(&figure) = document.primary.first() else {
        return Verdict::default();
    };
    let policies = document.policies.iter();
    let contenders = policies.filter(|p| p.role == Role::Contender);
    let entries: Vec<Entry<'_>> = contenders
        .filter_map(|policy| {
            let estimate = policy.estimate(figure)?;
            let paired = estimate.paired.as_ref()?;
            Some(Entry {
                policy,
                estimate,
                paired,
            })
        })
        .collect();
    let outcome = outcome(document, &entries);
    let shown = shown(&entries, outcome);
    let mut verdict = Verdict {
        outcome,
        baseline: document.baseline.clone(),
        figure: figure.to_string(),
        n: document.pairs.n,
        ..Verdict::default()
    };
    let Some(entry) = shown else {
        verdict.text = format!(
            "No verdict: no replication has a {} under every policy.",
            words::figure(figure)
        );
        return verdict;
    };
    verdict.fill(document, figure, entry);
    verdict.others = others(&entries, entry, outcome, &document.baseline);
    verdict.text = sentence(document, figure, &verdict, entry.paired.interval);
    verdict
}

fn outcome(document: &Comparison, entries: &[Entry<'_>]) -> Outcome {
    if !document.guard.comparable {
        Outcome::NotComparable
    } else if document.pairs.overlap.is_some() && document.pairs.n > 1 {
        Outcome::Descriptive
    } else if document.method.interval.is_none() {
        Outcome::TooFewRepeats
    } else if entries.iter().any(Entry::is_better) {
        Outcome::Winner
    } else if !entries.is_empty() && entries.iter().all(Entry::is_worse) {
        Outcome::BaselineWins
    } else {
        Outcome::None
    }
}

/// The winner where one is; else the best figure, or against a winning
/// baseline the closest one, which is the same.
fn shown<'a>(entries: &[Entry<'a>], outcome: Outcome) -> Option<Entry<'a>> {
    let may = entries
        .iter()
        .filter(|entry| outcome != Outcome::Winner || entry.is_better());
    may.copied()
        .min_by(|a, b| a.paired.difference.total_cmp(&b.paired.difference))
}

impl Verdict {
    fn fill(&mut self, document: &Comparison, figure: Figure, entry: Entry<'_>) {
        let name = entry.policy.name.clone();
        self.winner = match self.outcome {
            Outcome::Winner => Some(name.clone()),
            Outcome::BaselineWins => Some(document.baseline.clone()),
            _ => None,
        };
        self.policy = Some(name);
        self.value = entry.estimate.value;
        let baseline = document.policies.first().and_then(|p| p.estimate(figure));
        self.baseline_value = baseline.and_then(|estimate| estimate.value);
        self.difference = Some(entry.paired.difference);
        self.ratio = entry.paired.ratio;
        self.low = entry.paired.interval.map(|interval| interval.low);
        self.high = entry.paired.interval.map(|interval| interval.high);
        self.p_holm = entry.estimate.p_holm;
        self.n = entry.paired.n;
        self.disagree = entry.paired.disagree;
        self.tied = entry.paired.tied;
    }
}

/// What the claims about the other policies are.
fn others(
    entries: &[Entry<'_>],
    shown: Entry<'_>,
    outcome: Outcome,
    baseline: &str,
) -> Vec<String> {
    if !matches!(outcome, Outcome::Winner | Outcome::None) {
        return Vec::new();
    }
    let rest = entries
        .iter()
        .filter(|e| e.policy.name != shown.policy.name);
    let rest: Vec<&Entry<'_>> = rest.collect();
    let names = |which: &dyn Fn(&Entry<'_>) -> bool| {
        let names = rest.iter().filter(|entry| which(entry));
        names
            .map(|entry| entry.policy.name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let kinds = [
        (
            names(&|e| e.is_better()),
            format!(
                "also better than {baseline}, but not compared with {}",
                shown.policy.name
            ),
        ),
        (
            names(&|e| !e.claims()),
            format!("not told apart from {baseline}"),
        ),
        (names(&|e| e.is_worse()), format!("worse than {baseline}")),
    ];
    let told = kinds.into_iter().filter(|(names, _)| !names.is_empty());
    told.map(|(names, what)| format!("{what}: {names}"))
        .collect()
}

fn sentence(
    document: &Comparison,
    figure: Figure,
    verdict: &Verdict,
    interval: Option<Interval>,
) -> String {
    let policy = verdict.policy.as_deref().unwrap_or_default();
    let baseline = &verdict.baseline;
    let head = match verdict.outcome {
        Outcome::Winner => format!("{policy} wins against {baseline}: its"),
        Outcome::BaselineWins => {
            format!("{baseline} wins: even with {policy}, the closest to it, the")
        }
        Outcome::None => {
            format!("No policy wins against {baseline}: with {policy}, the best of the others, the")
        }
        Outcome::TooFewRepeats => {
            let why = document.method.why_none.as_deref().unwrap_or_default();
            format!("No verdict ({why}): with {policy} the")
        }
        Outcome::Descriptive => {
            let why = document.pairs.overlap.as_deref().unwrap_or_default();
            format!("Descriptive only ({why}): with {policy} the")
        }
        Outcome::NotComparable => {
            format!("Not comparable, see below; as they are, with {policy} the")
        }
    };
    let mut text = format!(
        "{head} {} {}",
        words::figure(figure),
        difference(figure, verdict)
    );
    if let Some(interval) = interval {
        let method = document.method.interval.map_or("", |method| method.name());
        text.push_str(&format!(
            ", 95 % interval {} to {}{} ({method}, n = {} {}, p {})",
            number(interval.low),
            number(interval.high),
            unit(figure),
            verdict.n,
            noun(&document.pairs.over, verdict.n),
            p_text(verdict.p_holm)
        ));
    } else {
        let over = noun(&document.pairs.over, verdict.n);
        match verdict.n {
            1 => {}
            n => text.push_str(&format!(" (n = {n} {over}, no interval)")),
        }
    }
    text.push_str(&signs(document, verdict));
    for other in &verdict.others {
        text.push_str("; ");
        text.push_str(other);
    }
    text.push('.');
    text
}

/// `= 0.049 after Holm` or `< 0.001 after Holm`.
fn p_text(p: Option<f64>) -> String {
    let text = p_value(p);
    match text.strip_prefix('<') {
        Some(bound) => format!("< {bound} after Holm"),
        None => format!("= {text} after Holm"),
    }
}

fn difference(figure: Figure, verdict: &Verdict) -> String {
    let by = verdict.difference.unwrap_or_default();
    let unit = unit(figure);
    let of = |value: Option<f64>| value.map_or("-".to_owned(), number);
    let values = format!(
        "{} against {}{unit}",
        of(verdict.value),
        of(verdict.baseline_value)
    );
    let ratio = verdict
        .ratio
        .map_or(String::new(), |r| format!(", ratio {}", number(r)));
    let against = match verdict.outcome {
        Outcome::Winner | Outcome::None => String::new(),
        _ => format!(" than with {}", verdict.baseline),
    };
    if by == 0.0 {
        return format!("is the same ({values})");
    }
    let word = if by < 0.0 { "lower" } else { "higher" };
    format!(
        "is {}{unit} {word}{against} ({values}{ratio})",
        number(by.abs())
    )
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
