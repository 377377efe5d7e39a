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

/// Differences of a policy to another one, replication by replication, with
/// their keys; `None` where a figure is undefined.
pub(super) fn differences(
    comparison: &Comparison,
    against: &str,
    policy: &str,
    figure: Figure,
) -> Vec<(String, Option<f64>)> {
    let pairs = comparison.both(against, policy, figure).map(|(key, both)| {
        let difference = both.map(|(base, own)| stats::difference(base, own));
        (key.to_owned(), difference)
    });
    pairs.collect()
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
    let words_of = |index: usize| key_words(keys.get(index).copied().unwrap_or_default());
    Ok(match disagreeing(material) {
        Some((index, told)) => {
            let key = words_of(index);
            let why = format!("Shown in detail: {key}, the one of {all} that {told}");
            at(index, why)
        }
        None => {
            let key = words_of(0);
            at(0, format!("Shown in detail: {key}, the first of {all}."))
        }
    })
}

/// The replication that disagrees most with the verdict, and that it does.
fn disagreeing(material: &Material) -> Option<(usize, String)> {
    let comparison = material.comparison.as_ref()?;
    let figure = *comparison.primary.first()?;
    let policy = comparison.verdict.policy.as_ref()?;
    let mean = comparison.verdict.difference.unwrap_or_default();
    let against = &comparison.verdict.baseline;
    let found = differences(comparison, against, policy, figure);
    let disagree = found.iter().enumerate().filter_map(|(index, (_, value))| {
        let value = (*value)?;
        (value * mean < 0.0).then_some((index, value))
    });
    let (index, value) = disagree.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let unit = unit(figure);
    let told = format!(
        "disagrees most with the verdict: the {} of {policy} differs from that of {against} by \
         {}{unit} here, and by {}{unit} on average.",
        words::figure(figure),
        signed(value),
        signed(mean),
    );
    Some((index, told))
}
