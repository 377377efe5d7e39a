//! What federating comes to: the best policy held against domains that keep their jobs.

use super::answer::{Domain, Federation};
use super::document::{Breakdown, Comparison, Policy, Role};
use super::group::Study;
use super::text::{noun, number};
use crate::plot;
use crate::stats::{LEVEL, Paired};
use crate::threshold::Figure;
use crate::words;

/// So many domains are named that are worse off, and as many that gain.
const NAMED: usize = 3;

/// A domain's mean that moves by less than this share is as it was.
const AS_IT_WAS: f64 = 0.01;

/// The best policy held against the `local-only` that goes with it, by the first primary
/// figure; `None` where there is none, or nothing beside it. Policies are in the order of
/// the study's variants.
pub(super) fn of(document: &Comparison, study: &Study<'_>) -> Option<Federation> {
    let figure = *document.primary.first()?;
    let value = |policy: &Policy| policy.estimate(figure)?.value;
    let others = document.policies.iter().enumerate();
    let others =
        others.filter(|(at, other)| other.role != Role::Bound && !study.is_local_only(*at));
    let valued = others.filter_map(|(at, policy)| Some((at, policy, value(policy)?)));
    let (at, best, _) = valued.min_by(|a, b| a.2.total_cmp(&b.2))?;
    let local_at = study.local_only(at)?;
    let local = document.policies.get(local_at)?;
    let mut found = Federation {
        policy: best.name.clone(),
        figure: figure.to_string(),
        missing_jobs: local.missing_jobs,
        ..Federation::default()
    };
    if local.missing_jobs > 0 {
        found.text = format!(
            "Federating: {} of the jobs that complete under {} have no end under {}, so that \
             its {} is of other jobs.",
            local.missing_jobs,
            found.policy,
            local.name,
            words::figure(figure)
        );
        return Some(found);
    }
    let level = document.method.interval.map(|_| LEVEL);
    let both = document.both(&local.name, &best.name, figure);
    let both = both.zip(study.distinct_pairs(local_at, at));
    let both: Vec<_> = both
        .filter_map(|((_, pair), is_new)| pair.filter(|_| is_new))
        .collect();
    found.paired = Paired::of(&both, level);
    found.value = value(best);
    found.local_value = value(local);
    let mut breakdowns = document.breakdown.iter();
    let by_domain = breakdowns.find(|one| one.by == "origin-domain");
    found.domains = by_domain.map_or(Vec::new(), |by| domains(by, local, best));
    found.text = sentence(document, figure, &found, &local.name)?;
    Some(found)
}

/// Who is how much worse off, first of all; then who gains.
fn domains(by: &Breakdown, local: &Policy, best: &Policy) -> Vec<Domain> {
    let groups = by.groups.iter().filter_map(|group| {
        let of = |policy: &Policy| group.cells.iter().find(|cell| cell.policy == policy.name);
        let (own, stays) = (of(best)?, of(local)?);
        let (value, local_value) = (own.estimate.value?, stays.estimate.value?);
        Some(Domain {
            domain: group.group.clone(),
            jobs: own.jobs,
            value,
            local_value,
        })
    });
    let mut domains: Vec<Domain> = groups.collect();
    domains.sort_by(|a, b| b.change().total_cmp(&a.change()));
    domains
}

impl Domain {
    /// Its mean with federation over that without; above 1 it is worse off.
    fn change(&self) -> f64 {
        match (self.value == self.local_value, self.local_value) {
            (true, _) => 1.0,
            (_, 0.0) => f64::INFINITY,
            (_, local) => self.value / local,
        }
    }
}

fn sentence(
    document: &Comparison,
    figure: Figure,
    found: &Federation,
    under: &str,
) -> Option<String> {
    let (value, local) = found.value.zip(found.local_value)?;
    let mut text = format!(
        "Federating: with {} the {} is {} instead of {} under {under}",
        found.policy,
        words::figure(figure),
        shown(figure, value),
        shown(figure, local),
    );
    if local > 0.0 {
        text.push_str(&change(value / local));
    }
    if let Some(paired) = found.paired.filter(|paired| paired.n > 1) {
        let over = noun(&document.pairs.over, paired.n);
        let (n, agree) = (paired.n, paired.n - paired.disagree - paired.tied);
        text.push_str(&match (agree == n, n) {
            (true, 2) => format!(", in both {over}"),
            (true, _) => format!(", in all {n} {over}"),
            (false, _) => format!(", in {agree} of {n} {over}"),
        });
        if paired
            .interval
            .is_some_and(|it| it.low <= 0.0 && it.high >= 0.0)
        {
            text.push_str(", and the interval of the difference holds 0");
        }
    }
    let worse = found.domains.iter();
    let worse: Vec<&Domain> = worse.filter(|it| it.change() > 1.0 + AS_IT_WAS).collect();
    let gains = found.domains.iter().rev();
    let gains: Vec<&Domain> = gains.filter(|it| it.change() < 1.0 - AS_IT_WAS).collect();
    if found.domains.len() > 1 {
        let mean = words::metric(figure.metric());
        text.push_str(&named(figure, &worse, &format!("Worse off in mean {mean}")));
        text.push_str(&named(
            figure,
            &gains,
            &format!("Better off in mean {mean}"),
        ));
    }
    text.push('.');
    Some(text)
}

/// `. Worse off in mean delay: beta (19.2 s instead of 4.1 s, 4.7 times as much)`.
fn named(figure: Figure, domains: &[&Domain], who: &str) -> String {
    let one = |domain: &&Domain| {
        let (value, local) = (domain.value, domain.local_value);
        let by = match local > 0.0 {
            true => change(value / local),
            false => String::new(),
        };
        let (value, local) = (shown(figure, value), shown(figure, local));
        format!("{} ({value} instead of {local}{by})", domain.domain)
    };
    let all: Vec<String> = domains.iter().map(one).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!(". {who}: {}", words::listed(&all, NAMED)),
    }
}

/// How much less, or how many times as much.
fn change(ratio: f64) -> String {
    match ratio {
        r if (r - 1.0).abs() < AS_IT_WAS => ", about the same".to_owned(),
        0.0 => ", 100 % less".to_owned(),
        r if r < 0.001 => ", less than a thousandth".to_owned(),
        // What rounds to 100 % is not all.
        r if r <= 0.005 => format!(", {:.1} % less", 100.0 * (1.0 - r)),
        r if r < 1.0 => format!(", {:.0} % less", 100.0 * (1.0 - r)),
        r if r < 2.0 => format!(", {:.0} % more", 100.0 * (r - 1.0)),
        r => format!(", {} times as much", number(r)),
    }
}

/// A value in the unit that a person would use.
fn shown(figure: Figure, value: f64) -> String {
    match figure.unit() {
        "s" => plot::seconds(value),
        _ => number(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_with_what_is_left() {
        let told = [0.0, 0.000_75, 0.001, 0.005, 0.0051, 0.17, 1.0, 1.5, 4.7].map(change);
        let expected = [
            "100 % less",
            "less than a thousandth",
            "99.9 % less",
            "99.5 % less",
            "99 % less",
            "83 % less",
            "about the same",
            "50 % more",
            "4.70 times as much",
        ];
        assert_eq!(told, expected.map(|text| format!(", {text}")));
    }
}
