//! Which replication is shown up close. All of them would be a page per week.

use super::error::{ReportError, Result};
use super::material::Material;
use super::number::{key_words, signed};
use crate::compare::Comparison;
use crate::stats;
use crate::threshold::Figure;
use crate::words::{self, unit};

/// The replication that is shown up close, and why.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    /// Position among the replications.
    pub(super) index: usize,
    pub(super) key: String,
    /// A sentence; empty if there is only one.
    pub(super) why: String,
}

/// Differences of a policy to the baseline, replication by replication, with
/// their keys; `None` where a figure is undefined.
pub(super) fn differences(
    comparison: &Comparison,
    policy: &str,
    figure: Figure,
) -> Vec<(String, Option<f64>)> {
    between(comparison, &comparison.baseline, policy, figure)
}

/// The same to any other policy.
fn between(
    comparison: &Comparison,
    against: &str,
    policy: &str,
    figure: Figure,
) -> Vec<(String, Option<f64>)> {
    let value = |run: &crate::compare::RunDoc| {
        let metric = run.metrics.get(figure.metric())?;
        metric.statistic(figure.statistic())
    };
    let of = |name: &str| {
        let own = comparison.runs.iter().filter(|run| run.policy == name);
        own.map(|run| (run.replication.clone(), value(run)))
            .collect::<Vec<_>>()
    };
    let pairs = of(against).into_iter().zip(of(policy));
    pairs
        .map(|((key, base), (_, own))| {
            let both = base.zip(own);
            (key, both.map(|(base, own)| stats::difference(base, own)))
        })
        .collect()
}

pub(super) fn choose(material: &Material, wanted: Option<&str>) -> Result<Chosen> {
    let keys: Vec<&str> = material.columns.first().map_or(Vec::new(), |column| {
        column.runs.iter().map(|run| run.key.as_str()).collect()
    });
    let at = |index: usize, why: String| Chosen {
        index,
        key: keys.get(index).copied().unwrap_or_default().to_owned(),
        why,
    };
    if let Some(wanted) = wanted {
        let is_wanted = |key: &&str| *key == wanted || key_words(key) == wanted;
        let index = keys.iter().position(is_wanted);
        let index = index.ok_or_else(|| {
            ReportError::Replication(
                wanted.to_owned(),
                keys.iter()
                    .map(|key| key_words(key))
                    .collect::<Vec<_>>()
                    .join(", "),
            )
        })?;
        let why = format!("Shown in detail: {wanted}, as asked for.");
        return Ok(at(index, why));
    }
    if keys.len() < 2 {
        return Ok(at(0, String::new()));
    }
    let all = keys.len();
    let first = || {
        let key = key_words(keys.first().copied().unwrap_or_default());
        at(0, format!("Shown in detail: {key}, the first of {all}."))
    };
    let Some(comparison) = &material.comparison else {
        return Ok(first());
    };
    let (Some(&figure), Some(policy)) = (comparison.primary.first(), &comparison.verdict.policy)
    else {
        return Ok(first());
    };
    let mean = comparison.verdict.difference.unwrap_or_default();
    let against = &comparison.verdict.baseline;
    let found = between(comparison, against, policy, figure);
    let disagree = found.iter().enumerate().filter_map(|(index, (_, value))| {
        let value = (*value)?;
        (value * mean < 0.0).then_some((index, value))
    });
    let most = disagree.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    let Some((index, value)) = most else {
        return Ok(first());
    };
    let unit = unit(figure);
    let why = format!(
        "Shown in detail: {}, the one of {all} that disagrees most with the verdict: the {} of \
         {policy} differs from that of {against} by {}{unit} here, and by {}{unit} on average.",
        key_words(keys.get(index).copied().unwrap_or_default()),
        words::figure(figure),
        signed(value),
        signed(mean),
    );
    Ok(at(index, why))
}
