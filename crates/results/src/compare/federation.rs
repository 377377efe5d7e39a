//! What federating comes to: the best policy held against domains that keep their jobs.

use super::answer::{Domain, Federation};
use super::document::{Breakdown, Comparison, Policy, Role};
use super::text::{noun, number};
use crate::plot;
use crate::stats::{LEVEL, Paired};
use crate::threshold::Figure;
use crate::words;

/// The policy under which every domain keeps its jobs.
const LOCAL_ONLY: &str = "local-only";

/// So many domains are named that are worse off, and as many that gain.
const NAMED: usize = 3;

/// A domain's mean that moves by less than this share is as it was.
const AS_IT_WAS: f64 = 0.01;

/// The best policy held against `local-only`, by the first primary figure; `None` where
/// there is no such policy, or nothing beside it.
pub(super) fn of(document: &Comparison) -> Option<Federation> {
    let figure = *document.primary.first()?;
    let mut policies = document.policies.iter();
    let local = policies.find(|policy| policy.name == LOCAL_ONLY)?;
    let value = |policy: &Policy| policy.estimate(figure)?.value;
    let others = document.policies.iter();
    let others = others.filter(|other| other.role != Role::Bound && other.name != local.name);
    let valued = others.filter_map(|policy| Some((policy, value(policy)?)));
    let (best, _) = valued.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let mut found = Federation {
        policy: best.name.clone(),
        figure: figure.to_string(),
        missing_jobs: local.missing_jobs,
        ..Federation::default()
    };
    if local.missing_jobs > 0 {
        found.text = format!(
            "Federating: {} of the jobs that complete under {} have no end under {LOCAL_ONLY}, \
             so that its {} is of other jobs.",
            local.missing_jobs,
            found.policy,
            words::figure(figure)
        );
        return Some(found);
    }
    let level = document.method.interval.map(|_| LEVEL);
    found.paired = Paired::of(&pairs(document, figure, local, best), level);
    found.value = value(best);
    found.local_value = value(local);
    let mut breakdowns = document.breakdown.iter();
    let by_domain = breakdowns.find(|one| one.by == "origin-domain");
    found.domains = by_domain.map_or(Vec::new(), |by| domains(by, local, best));
    found.text = sentence(document, figure, &found)?;
    Some(found)
}

/// The figure under `local-only` and under the policy, replication by replication.
fn pairs(document: &Comparison, figure: Figure, local: &Policy, best: &Policy) -> Vec<(f64, f64)> {
    let of = |policy: &Policy, replication: &str| {
        let mut runs = document.runs.iter();
        let run = runs.find(|run| run.policy == policy.name && run.replication == replication)?;
        let metric = run.metrics.get(figure.metric())?;
        metric.statistic(figure.statistic())
    };
    let keys = document.pairs.keys.iter();
    keys.filter_map(|key| Some((of(local, key)?, of(best, key)?)))
        .collect()
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

fn sentence(document: &Comparison, figure: Figure, found: &Federation) -> Option<String> {
    let (value, local) = found.value.zip(found.local_value)?;
    let mut text = format!(
        "Federating: with {} the {} is {} instead of {} under {LOCAL_ONLY}",
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
    let listed: Vec<String> = domains.iter().take(NAMED).map(one).collect();
    match (listed.join(", "), domains.len() - listed.len()) {
        (some, _) if some.is_empty() => String::new(),
        (some, 0) => format!(". {who}: {some}"),
        (some, more) => format!(". {who}: {some} and {more} more"),
    }
}

/// How much less, or how many times as much.
fn change(ratio: f64) -> String {
    match ratio {
        r if (r - 1.0).abs() < AS_IT_WAS => ", about the same".to_owned(),
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
