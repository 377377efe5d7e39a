//! The comparison as text for people: a terminal of 100 columns, or Markdown.

mod tables;

use super::document::{Comparison, Role};
use super::text::{noun, number};
use crate::plot::integer;
use crate::text::folded;
use crate::words;
pub(crate) use tables::further;

/// Everything that a report shows, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The verdict.
    pub sentence: String,
    /// What was measured and how, each with a word for it.
    pub facts: Vec<(String, String)>,
    /// The tables.
    pub tables: Vec<Table>,
    /// What else must be known.
    pub warnings: Vec<String>,
}

/// A table: the first column is text, the others are numbers unless one of
/// them is too long for that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// As many cells as the header has.
    pub rows: Vec<Vec<String>>,
    /// What is to be said about it.
    pub note: Option<String>,
}

/// The report of a comparison.
pub fn report(document: &Comparison) -> Report {
    let objections = document.guard.objections.iter();
    let mut warnings: Vec<String> = objections
        .map(|objection| format!("not comparable: {}", objection.message))
        .collect();
    warnings.extend(
        document
            .skipped
            .iter()
            .map(|run| format!("left out: {run}")),
    );
    warnings.extend(folded(document.warnings.iter()));
    Report {
        sentence: document.sentence(),
        facts: facts(document),
        tables: tables::all(document),
        warnings,
    }
}

impl Comparison {
    /// What decides, first: whether jobs finish, what federating comes to, and which
    /// policy is the best.
    pub fn sentence(&self) -> String {
        let finished = self.measured.text.as_deref();
        let federation = self.federation.iter().map(|it| it.text.as_str());
        let all = finished.into_iter().chain(federation);
        let all = all.chain([self.verdict.text.as_str()]);
        all.collect::<Vec<_>>().join(" ")
    }
}

fn facts(document: &Comparison) -> Vec<(String, String)> {
    let (measured, pairs) = (&document.measured, &document.pairs);
    let mut facts = Vec::new();
    let mut fact = |name: &str, text: String| facts.push((name.to_owned(), text));
    fact(
        "measured",
        format!(
            "{} jobs that completed under every policy that competes, over {} {}; {}{}",
            integer(measured.jobs),
            pairs.n,
            noun(&pairs.over, pairs.n),
            match measured.left_out {
                0 => "none completed under some policies only".to_owned(),
                n => format!(
                    "{} others completed under some policies only and are left out",
                    integer(n)
                ),
            },
            match measured.never_completed {
                0 => String::new(),
                n => format!("; {} completed under no policy", integer(n)),
            }
        ),
    );
    fact("trace", measured.traces.clone());
    let mut paired = format!("{} {}", pairs.n, noun(&pairs.over, pairs.n));
    if let (Some(step), "window", 2..) = (&pairs.step, pairs.over.as_str(), pairs.n) {
        let step = in_days(step);
        paired.push_str(&format!(", each {step} of the trace after the one before"));
    }
    paired.push_str(", runs paired by workload, replication and seed");
    if pairs.n > 1 && pairs.workloads == 1 {
        paired.push_str("; all of one workload, so that nothing here is said of other workloads");
    } else if pairs.n > 1 {
        paired.push_str("; each counts alike, and nothing here is said of other logs or systems");
    }
    if !pairs.identical.is_empty() {
        let listed = words::listed(&pairs.identical, 4);
        paired.push_str(&format!("; identical, counted once: {listed}"));
    }
    if !pairs.unpaired.is_empty() {
        paired.push_str(&format!(
            "; left out: {}",
            words::listed(&pairs.unpaired, 4)
        ));
    }
    fact("pairs", paired);
    fact("baseline", document.baseline.clone());
    if let Some(bounds) = bounds_text(document) {
        fact("references", bounds);
    }
    fact("interval", interval_text(document));
    if let Some(scale) = measured.run_time_scale {
        let divided = match scale == 1.0 {
            true => String::new(),
            false => format!(" divided by {scale}"),
        };
        fact(
            "time",
            format!(
                "seconds of the run; its run times are those of the trace{divided}; tau of the \
                 bounded slowdown is {}",
                measured.tau
            ),
        );
    }
    for difference in &document.guard.differences {
        fact("differs", difference.clone());
    }
    facts
}

/// A duration of whole days as days: `604800s` is `7 d`.
fn in_days(text: &str) -> String {
    let seconds = text.strip_suffix('s').and_then(|text| text.parse().ok());
    match seconds {
        Some(seconds @ 86_400_u64..) if seconds.is_multiple_of(86_400) => {
            format!("{} d", seconds / 86_400)
        }
        _ => text.to_owned(),
    }
}

/// What the policies can be held against; `None` without brokers.
fn bounds_text(document: &Comparison) -> Option<String> {
    let policies = document.policies.iter();
    let bounds = policies.filter(|policy| policy.role == Role::Bound);
    let bounds: Vec<&str> = bounds.map(|policy| policy.name.as_str()).collect();
    let brokered = document.policies.iter().any(|p| !p.forwarding.is_empty());
    brokered.then(|| match bounds.is_empty() {
        false => bounds.join(", "),
        true => "none among these runs; run.bounds = true in the scenario adds local-only, \
                 full-information and one pooled cluster, where no broker is external"
            .to_owned(),
    })
}

fn interval_text(document: &Comparison) -> String {
    let method = &document.method;
    let (Some(interval), Some(coverage)) = (method.interval, method.coverage) else {
        let why = method.why_none.as_deref().unwrap_or("no repeats");
        return format!("none: {why}");
    };
    let relevant = method.relevant.iter().map(|(figure, least)| match *least {
        0.0 => format!("any difference of {figure} matters"),
        least => format!(
            "differences of {figure} below {} do not matter",
            number(least)
        ),
    });
    let relevant: Vec<String> = relevant.collect();
    format!(
        "95 % {interval} of each value and of the paired differences to the baseline{}; {}. \
         Measured: {:.0} % of such intervals from {} pairs held the mean of skewed populations",
        match method.comparisons {
            0 | 1 => String::new(),
            n => {
                let figures: Vec<&str> = method.relevant.keys().map(String::as_str).collect();
                let figures = figures.join(", ");
                format!(", those of {figures} corrected by Bonferroni for {n} comparisons")
            }
        },
        relevant.join(", "),
        100.0 * coverage,
        document.pairs.n
    )
}
