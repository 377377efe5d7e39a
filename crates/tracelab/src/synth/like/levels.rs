//! Ranges of a quantity and what lies inside them.

use crate::synth::error::{SynthError, entries, within};
use crate::synth::unit::holder;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// A range of values: all of them with their counts where they are few, else
/// quantiles with the values between them equally likely.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Pairs of a value and its count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<u64>,
    /// Rising quantiles, the smallest and the largest value included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<u64>,
}

/// How finely ranges are told apart and described.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grain {
    /// Ranges, about.
    pub(super) levels: usize,
    /// Values that are listed one by one.
    pub(super) values: usize,
    /// Steps between quantiles.
    pub(super) steps: usize,
    /// A value that has so large a part of an ordinary range has its own.
    pub(super) own: f64,
}

impl Level {
    /// Of values that are sorted; at least one.
    fn of(sorted: &[u64], grain: Grain) -> Self {
        let runs = runs(sorted);
        if runs.len() <= grain.values {
            let values = runs.into_iter().flat_map(|(value, count)| [value, count]);
            return Level {
                values: values.collect(),
                ..Level::default()
            };
        }
        let last = sorted.len() - 1;
        let at = |step: usize| sorted[(step * sorted.len() / grain.steps).min(last)];
        Level {
            quantiles: (0..=grain.steps).map(at).collect(),
            ..Level::default()
        }
    }

    /// The value at a part of the range, from 0 to below 1.
    pub(super) fn at(&self, part: f64) -> u64 {
        if self.quantiles.is_empty() {
            let counts = self.values.iter().skip(1).step_by(2).copied();
            let rank = (part * counts.clone().sum::<u64>() as f64) as u64;
            let place = 2 * holder(counts, rank).unwrap_or(0);
            return self.values.get(place).copied().unwrap_or(0);
        }
        let steps = self.quantiles.len() - 1;
        let place = part * steps as f64;
        let step = (place as usize).min(steps.saturating_sub(1));
        let low = self.quantiles[step];
        let high = self.quantiles.get(step + 1).copied().unwrap_or(low);
        // The largest value belongs to the last step only.
        let width = high - low + u64::from(step + 1 == steps);
        low + ((place - step as f64) * width as f64) as u64
    }

    fn smallest(&self) -> u64 {
        let first = self.values.first().or(self.quantiles.first());
        first.copied().unwrap_or(0)
    }
}

/// Distinct values with their counts.
fn runs(sorted: &[u64]) -> Vec<(u64, u64)> {
    let same = sorted.chunk_by(|a, b| a == b);
    same.map(|same| (same[0], same.len() as u64)).collect()
}

/// No range reaches further than from a value to so many times that value, or
/// the few largest ones, which carry most of the sum, would be told apart
/// least.
const REACH: u64 = 2;

/// Smaller values than this are told apart by how many there are only.
const SMALL: u64 = 16;

/// Ranges of about equal numbers of values; equal values stay together, and a
/// common value has a range of its own.
pub(super) fn divide(mut values: Vec<u64>, grain: Grain) -> Vec<Level> {
    values.sort_unstable();
    let target = (values.len() / grain.levels).max(1);
    let own = ((target as f64 * grain.own) as usize).max(1);
    let mut levels = Vec::new();
    let mut from = 0;
    let mut at = 0;
    for (value, count) in runs(&values) {
        let count = count as usize;
        let far = from < at && value > values[from].max(SMALL) * REACH;
        if (count >= own || far) && from < at {
            levels.push(Level::of(&values[from..at], grain));
            from = at;
        }
        at += count;
        if at - from >= target || count >= own {
            levels.push(Level::of(&values[from..at], grain));
            from = at;
        }
    }
    if from < at {
        levels.push(Level::of(&values[from..at], grain));
    }
    levels
}

/// The range that a value lies in.
pub(super) fn find(levels: &[Level], value: u64) -> usize {
    let above = levels.partition_point(|level| level.smallest() <= value);
    above.saturating_sub(1)
}

pub(super) fn check(
    field: &str,
    levels: &[Level],
    range: RangeInclusive<f64>,
) -> Result<(), SynthError> {
    entries(field, levels.len(), 1.0..=1e4)?;
    for (at, level) in levels.iter().enumerate() {
        let field = format!("{field}[{at}]");
        let refuse = |value: &[u64], expected: &str| {
            Err(SynthError::parameter(
                &field,
                format!("{value:?}"),
                expected,
            ))
        };
        let pairs = &level.values;
        let count: u64 = pairs
            .iter()
            .skip(1)
            .step_by(2)
            .map(|c| (*c).min(1 << 40))
            .sum();
        if level.quantiles.is_empty() && (count == 0 || !pairs.len().is_multiple_of(2)) {
            return refuse(pairs, "pairs of a value and its count, or quantiles");
        }
        let quantiles = &level.quantiles;
        if quantiles.len() == 1 || quantiles.windows(2).any(|q| q[0] > q[1]) {
            return refuse(quantiles, "two quantiles or more that rise");
        }
        for value in pairs.iter().step_by(2).chain(quantiles) {
            within(&field, *value as f64, range.clone())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAIN: Grain = Grain {
        levels: 10,
        values: 4,
        steps: 5,
        own: 1.0,
    };

    #[test]
    fn a_common_value_has_a_range_of_its_own_and_keeps_its_share() {
        let values: Vec<u64> = (0..1_000)
            .map(|i| if i < 400 { 50 } else { i / 4 })
            .collect();
        let levels = divide(values.clone(), GRAIN);
        let own = levels.iter().find(|l| l.values == [50, 400]);
        assert!(own.is_some(), "{levels:?}");
        for value in values {
            let level = &levels[find(&levels, value)];
            let (low, high) = (level.at(0.0), level.at(0.999_999));
            assert!((low..=high).contains(&value), "{value} in {level:?}");
        }
    }

    #[test]
    fn no_range_reaches_from_a_value_to_far_more_than_twice_it() {
        let mut values: Vec<u64> = (1..=900).map(|i| i % 20 + 1).collect();
        values.extend([40, 100, 250, 600, 1_500, 4_000, 10_000, 25_000, 79_808]);
        for level in divide(values, GRAIN) {
            let (low, high) = (level.at(0.0), level.at(0.999_999));
            assert!(high <= low.max(SMALL) * REACH, "{level:?}");
        }
    }

    #[test]
    fn parts_of_a_range_give_back_its_distribution() {
        let values: Vec<u64> = (0..1_000).map(|i| i * i / 100).collect();
        let levels = divide(values.clone(), GRAIN);
        let mut drawn: Vec<u64> = Vec::new();
        for (at, level) in levels.iter().enumerate() {
            // As many as the source has in this range.
            let count = values.iter().filter(|v| find(&levels, **v) == at).count();
            drawn.extend((0..count).map(|i| level.at((i as f64 + 0.5) / count as f64)));
        }
        assert_eq!(drawn.len(), values.len());
        for quantile in [0.1, 0.37, 0.5, 0.93] {
            let at = |v: &[u64]| v[(quantile * v.len() as f64) as usize] as f64;
            let (source, drawn) = (at(&values), at(&drawn));
            assert!(
                (source - drawn).abs() < 20.0 + 0.01 * source,
                "{source} {drawn}"
            );
        }
    }
}
