//! Differences to the baseline: per policy, and per replication.

use super::choose::differences;
use super::number::key_words;
use crate::compare::{Comparison, Policy, Role};
use crate::plot::{Axis, Chart, Color, Mark, Page, Rows, Series, Unit};
use crate::threshold::Figure;
use crate::words::{self, noun};

/// Up to so many rows the differences of all policies are one forest each;
/// above, those of the policies that the verdict is not about are bars.
const MOST_ROWS: usize = 60;

pub(super) fn draw(page: &mut Page, comparison: &Comparison) {
    if comparison.policies.len() < 2 {
        return;
    }
    page.heading("Differences");
    for &figure in &comparison.primary {
        let plot = per_policy(comparison, figure, false);
        if comparison.policies.iter().all(|p| p.role != Role::Bound) {
            page.figure(&plot, &caption(comparison));
            continue;
        }
        // On an axis of their own: a bound may be a hundred times as far away
        // as the policies are from each other.
        let of_bounds = per_policy(comparison, figure, true);
        page.pair(
            (&plot.half(), &caption(comparison)),
            (
                &of_bounds.half(),
                "The same for the references, which show what more or less information would give and do not \
                 compete. Mind the axis.",
            ),
        );
    }
    let Some(&figure) = comparison.primary.first() else {
        return;
    };
    if comparison.pairs.n < 2 {
        return;
    }
    per_replication(page, comparison, figure);
}

fn unit(figure: Figure) -> Unit {
    match figure.unit() {
        "" => Unit::Plain,
        unit => Unit::Named(unit.into()),
    }
}

fn caption(comparison: &Comparison) -> String {
    let one = noun(&comparison.pairs.over);
    let interval = match (comparison.method.interval, &comparison.method.why_none) {
        (Some(method), _) => format!(
            "Lines: 95 % intervals ({method}) of the mean of {} paired differences{}. A line that \
             crosses 0 means that the {one}s do not tell the policies apart.",
            comparison.pairs.n,
            match comparison.method.comparisons {
                0 | 1 => String::new(),
                n => format!(
                    ", corrected for {n} comparisons where they are of policies that compete"
                ),
            }
        ),
        (None, Some(why)) => format!("No intervals: {why}."),
        (None, None) => String::new(),
    };
    format!(
        "Left of the dashed line is better than {}. {interval}",
        comparison.baseline
    )
}

fn per_policy(comparison: &Comparison, figure: Figure, bounds: bool) -> Rows {
    let words = match bounds {
        true => format!("References, {}", words::figure(figure)),
        false => capital(&words::figure(figure)),
    };
    let title = format!("{words}: difference to {}", comparison.baseline);
    let mut rows = Rows::new(title, axis(figure)).reference(0.0, "no difference");
    let others = comparison.policies.iter().skip(1);
    for policy in others.filter(|policy| (policy.role == Role::Bound) == bounds) {
        let Some(paired) = policy.estimate(figure).and_then(|e| e.paired) else {
            continue;
        };
        let color = match policy.role {
            Role::Bound => Color::Muted,
            _ => Color::Series(0),
        };
        let ends = paired
            .interval
            .map_or((f64::NAN, f64::NAN), |i| (i.low, i.high));
        rows = rows.row(&policy.name, ends.0, paired.difference, ends.1, color);
    }
    rows
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

fn per_replication(page: &mut Page, comparison: &Comparison, figure: Figure) {
    let one = noun(&comparison.pairs.over);
    let policies = comparison.policies.iter();
    let contenders = policies.filter(|p| p.role == Role::Contender);
    let mut contenders: Vec<&Policy> = contenders.collect();
    // The policy that the verdict is about comes first, and is drawn in full.
    let about = comparison.verdict.policy.as_deref();
    contenders.sort_by_key(|policy| Some(policy.name.as_str()) != about);
    page.subheading(&format!("Each {one} by itself"));
    let keys = &comparison.pairs.keys;
    let named = match (keys.first(), one) {
        (Some(first), "window") if first.starts_with("window+") => {
            " A window is named by how much later than the first it begins."
        }
        _ => "",
    };
    let small = keys.len() * contenders.len() <= MOST_ROWS;
    let forests = if small { contenders.len() } else { 1 };
    let bars_too = match contenders.len() > forests {
        true => {
            " In charts of bars, which have one colour, they are the bars above 0 where the \
             dashed mean is below 0, and the bars below 0 where it is above."
        }
        false => "",
    };
    page.paragraph(&format!(
        "The difference of each {one}. Orange ones disagree: the policy that is better on average \
         is the worse one in them.{bars_too}{named}"
    ));
    let plots: Vec<Rows> = contenders
        .iter()
        .take(forests)
        .map(|policy| forest(comparison, policy, figure, small && contenders.len() > 1))
        .collect();
    let text = format!("By {one}, from the best for the policy to the worst.");
    match plots.as_slice() {
        [one] => page.figure(one, &text),
        more => page.figures(more, &text),
    };
    let all = contenders.iter().skip(forests);
    let rest: Vec<Chart> = all.map(|policy| bars(comparison, policy, figure)).collect();
    let text =
        format!("A bar per {one}, in their order: below 0 the policy is better. Dashed: the mean.");
    page.figures(&rest, &text);
}

/// Whether a difference has another sign than the mean.
fn disagrees(policy: &Policy, figure: Figure, value: f64) -> bool {
    let mean = policy.estimate(figure).and_then(|e| e.paired);
    mean.is_some_and(|mean| mean.difference * value < 0.0)
}

fn title(policy: &Policy, comparison: &Comparison, figure: Figure) -> String {
    let paired = policy.estimate(figure).and_then(|e| e.paired);
    let told = paired.map_or(String::new(), |p| {
        let one = noun(&comparison.pairs.over);
        format!(": {} of {} {one}s disagree", p.disagree, p.n)
    });
    format!("{} against {}{told}", policy.name, comparison.baseline)
}

fn axis(figure: Figure) -> Axis {
    Axis::linear(
        format!("difference of the {}", words::figure(figure)),
        unit(figure),
    )
}

fn forest(comparison: &Comparison, policy: &Policy, figure: Figure, half: bool) -> Rows {
    let mut found = differences(comparison, &comparison.baseline, &policy.name, figure);
    let last = |value: Option<f64>| value.unwrap_or(f64::INFINITY);
    found.sort_by(|a, b| last(a.1).total_cmp(&last(b.1)));
    let mut rows =
        Rows::new(title(policy, comparison, figure), axis(figure)).reference(0.0, "no difference");
    if half {
        rows = rows.half();
    }
    let paired = policy.estimate(figure).and_then(|e| e.paired);
    if let Some(paired) = paired {
        let ends = paired
            .interval
            .map_or((f64::NAN, f64::NAN), |i| (i.low, i.high));
        rows = rows.row("mean", ends.0, paired.difference, ends.1, Color::Ink);
    }
    for (key, value) in found {
        let value = value.unwrap_or(f64::NAN);
        let color = match disagrees(policy, figure, value) {
            true => Color::Series(1),
            false => Color::Series(0),
        };
        rows = rows.row(key_words(&key), f64::NAN, value, f64::NAN, color);
    }
    rows
}

fn bars(comparison: &Comparison, policy: &Policy, figure: Figure) -> Chart {
    let found = differences(comparison, &comparison.baseline, &policy.name, figure);
    let names = found.iter().map(|(key, _)| key_words(key));
    let heights = found.iter().map(|(_, value)| value.unwrap_or(f64::NAN));
    let heights: Vec<f64> = heights.collect();
    let chart = Chart::new(title(policy, comparison, figure))
        .half()
        .x(Axis::categories(noun(&comparison.pairs.over), names))
        .y(axis(figure))
        .series(Series::bars("difference", heights));
    match policy.estimate(figure).and_then(|e| e.paired) {
        Some(paired) => chart.mark(Mark::y(paired.difference, "")),
        None => chart,
    }
}
