//! Differences between pairs: how large, and how sure.

use super::{mean, sum};
use gridrig_core::rng;
use rand::RngExt;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Confidence level of every interval.
pub const LEVEL: f64 = 0.95;

/// Fewer pairs than this get no interval.
const FEWEST: usize = 5;

/// From so many pairs on the interval is a bootstrap's.
const BOOTSTRAP_FROM: usize = 20;

/// How an interval was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalMethod {
    /// Student's t on the differences of the pairs: 5 to 19 pairs.
    PairedT,
    /// Bias-corrected and accelerated bootstrap of the mean difference (B.
    /// Efron, 1987): from 20 pairs on.
    BcaBootstrap,
}

impl IntervalMethod {
    /// The method for so many pairs; `None` if they are too few for any.
    #[must_use]
    pub fn for_pairs(n: usize) -> Option<Self> {
        match n {
            0..FEWEST => None,
            FEWEST..BOOTSTRAP_FROM => Some(IntervalMethod::PairedT),
            _ => Some(IntervalMethod::BcaBootstrap),
        }
    }

    /// Its name in texts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            IntervalMethod::PairedT => "paired t",
            IntervalMethod::BcaBootstrap => "BCa bootstrap",
        }
    }

    /// Its name where one value is looked at, and no pairs.
    #[must_use]
    pub const fn name_alone(self) -> &'static str {
        match self {
            IntervalMethod::PairedT => "Student's t",
            IntervalMethod::BcaBootstrap => "BCa bootstrap",
        }
    }
}

/// An interval of the mean difference, and how likely one so far from 0 is
/// without any difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Two-sided p-value: of the t test, or the level at which the bootstrap
    /// interval would just reach 0.
    pub p: f64,
}

/// An interval of a mean, which is held against nothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Range {
    /// The 95 % interval of the mean of these values, by the methods and from
    /// as many values on as that of a difference; `None` under five.
    #[must_use]
    pub fn of_mean(values: &[f64], resamples: &mut Resamples) -> Option<Self> {
        let Interval { low, high, .. } = interval(values, resamples)?;
        Some(Range { low, high })
    }
}

/// Pairs and what they say of a difference: other - baseline, pair by pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Paired {
    /// Pairs.
    pub n: u64,
    /// Mean of the differences.
    pub difference: f64,
    /// Mean of the others over the mean of the baseline's; null where that is 0.
    pub ratio: Option<f64>,
    /// Null with too few pairs, or where the repeats carry none.
    pub interval: Option<Interval>,
    /// Pairs whose difference has the other sign than the mean.
    pub disagree: u64,
    /// Pairs without any difference.
    pub tied: u64,
}

impl Paired {
    /// What pairs `(baseline, other)` say; `None` without any. The interval
    /// is made from `resamples`; without them there is none.
    #[must_use]
    pub fn of(pairs: &[(f64, f64)], resamples: Option<&mut Resamples>) -> Option<Self> {
        let differences: Vec<f64> = pairs.iter().map(|(base, other)| other - base).collect();
        let difference = mean(&differences)?;
        let base = sum_of(pairs, |pair| pair.0);
        let other = sum_of(pairs, |pair| pair.1);
        let count = |which: &dyn Fn(f64) -> bool| {
            differences.iter().filter(|value| which(**value)).count() as u64
        };
        Some(Paired {
            n: pairs.len() as u64,
            difference,
            ratio: (base != 0.0).then(|| other / base),
            interval: resamples.and_then(|resamples| interval(&differences, resamples)),
            disagree: count(&|value| value * difference < 0.0),
            tied: count(&|value| value == 0.0),
        })
    }
}

fn sum_of(pairs: &[(f64, f64)], of: impl Fn(&(f64, f64)) -> f64) -> f64 {
    let values: Vec<f64> = pairs.iter().map(of).collect();
    sum(&values, |value| value)
}

/// The interval for so many differences.
fn interval(differences: &[f64], resamples: &mut Resamples) -> Option<Interval> {
    let method = IntervalMethod::for_pairs(differences.len())?;
    let first = *differences.first()?;
    if differences.iter().all(|value| *value == first) {
        // Nothing varies: every resample is the sample.
        let p = if first == 0.0 { 1.0 } else { 0.0 };
        let (low, high) = (first, first);
        return Some(Interval { low, high, p });
    }
    match method {
        IntervalMethod::PairedT => paired_t(differences),
        IntervalMethod::BcaBootstrap => bca(differences, &resamples.means(differences)),
    }
}

/// mean +- t sd / sqrt(n), and the paired t test.
fn paired_t(differences: &[f64]) -> Option<Interval> {
    let n = differences.len() as f64;
    let mean = mean(differences)?;
    let squares = sum(differences, |value| (value - mean).powi(2));
    let error = (squares / (n - 1.0) / n).sqrt();
    let student = StudentsT::new(0.0, 1.0, n - 1.0).ok()?;
    let reach = student.inverse_cdf(0.5 + LEVEL / 2.0) * error;
    Some(Interval {
        low: mean - reach,
        high: mean + reach,
        p: (2.0 * student.cdf(-(mean / error).abs())).min(1.0),
    })
}

/// The BCa interval of the mean (Efron and Tibshirani, *An Introduction to
/// the Bootstrap*, 1993, 14.3) from sorted means of resamples.
fn bca(values: &[f64], means: &[f64]) -> Option<Interval> {
    let normal = Normal::new(0.0, 1.0).ok()?;
    let centre = mean(values)?;
    let bias = normal.inverse_cdf(inner(share_below(means, centre), means.len()));
    let acceleration = acceleration(values, centre);
    let end = |level: f64| {
        let z = bias + normal.inverse_cdf(level);
        let share = normal.cdf(bias + z / (1.0 - acceleration * z));
        super::quantile(means, share)
    };
    // The level at which an end of the interval lies at 0: the formula of
    // `end`, solved for the level.
    let reach = normal.inverse_cdf(inner(share_below(means, 0.0), means.len())) - bias;
    let tail = normal.cdf(reach / (1.0 + acceleration * reach) - bias);
    Some(Interval {
        low: end((1.0 - LEVEL) / 2.0)?,
        high: end((1.0 + LEVEL) / 2.0)?,
        p: (2.0 * tail.min(1.0 - tail)).clamp(2.0 / (means.len() + 1) as f64, 1.0),
    })
}

/// The share of sorted values below a value, those equal to it by half.
fn share_below(sorted: &[f64], value: f64) -> f64 {
    let below = sorted.partition_point(|other| *other < value);
    let up_to = sorted.partition_point(|other| *other <= value);
    (below + up_to) as f64 / (2 * sorted.len()) as f64
}

/// A share that none or all of n values have, moved inward by what n values
/// can tell.
fn inner(share: f64, n: usize) -> f64 {
    let least = 1.0 / (n + 1) as f64;
    share.clamp(least, 1.0 - least)
}

/// A sixth of the skewness of the jackknife means: with one value left out,
/// the mean moves by (mean - value) / (n - 1).
fn acceleration(values: &[f64], mean: f64) -> f64 {
    let cubes = sum(values, |value| (value - mean).powi(3));
    let squares = sum(values, |value| (value - mean).powi(2));
    cubes / (6.0 * squares.powf(1.5))
}

/// The resamples of a bootstrap. One set serves all figures of as many pairs:
/// a resample draws whole pairs, whatever is looked at in them.
#[derive(Clone, Debug)]
pub struct Resamples {
    seed: u64,
    pairs: usize,
    draws: Vec<u32>,
}

impl Resamples {
    /// How many are drawn.
    pub const COUNT: usize = 9_999;

    /// Resamples of this seed, from the stream `bootstrap-N` for N pairs.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Resamples {
            seed,
            pairs: 0,
            draws: Vec::new(),
        }
    }

    /// The means of all resamples of these values, rising.
    #[must_use]
    pub fn means(&mut self, values: &[f64]) -> Vec<f64> {
        self.draw(values.len());
        let of = |draws: &[u32]| {
            let total: f64 = draws.iter().map(|&index| values[index as usize]).sum();
            total / values.len() as f64
        };
        let mut means: Vec<f64> = self.draws.chunks_exact(self.pairs.max(1)).map(of).collect();
        means.sort_by(f64::total_cmp);
        means
    }

    fn draw(&mut self, pairs: usize) {
        if self.pairs == pairs {
            return;
        }
        let mut stream = rng::stream(self.seed, &format!("bootstrap-{pairs}"));
        let below = u32::try_from(pairs).unwrap_or(u32::MAX);
        let draws = (0..Self::COUNT * pairs).map(|_| stream.random_range(0..below));
        self.draws = draws.collect();
        self.pairs = pairs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(differences: &[f64]) -> Paired {
        let pairs: Vec<(f64, f64)> = differences.iter().map(|d| (10.0, 10.0 + d)).collect();
        Paired::of(&pairs, Some(&mut Resamples::new(1))).expect("pairs")
    }

    #[test]
    fn under_five_pairs_there_is_no_interval() {
        assert_eq!(of(&[1.0, 2.0, 3.0, 4.0]).interval, None);
        assert!(of(&[1.0, 2.0, 3.0, 4.0, 5.0]).interval.is_some());
        assert!(Paired::of(&[], None).is_none());
    }

    /// `scipy.stats.ttest_1samp([1, 2, 3, 4, 5], 0)`: p = 0.0132356, interval
    /// 1.0367568 to 4.9632432.
    #[test]
    fn a_t_interval_is_that_of_the_textbook() {
        let interval = of(&[1.0, 2.0, 3.0, 4.0, 5.0]).interval.expect("one");
        assert!((interval.low - 1.036_756_8).abs() < 1e-6, "{interval:?}");
        assert!((interval.high - 4.963_243_2).abs() < 1e-6, "{interval:?}");
        assert!((interval.p - 0.013_235_6).abs() < 1e-6, "{interval:?}");
    }

    #[test]
    fn signs_and_ties_are_counted_against_the_mean() {
        let paired = of(&[-1.0, 0.0, 3.0, 0.0]);
        assert_eq!((paired.disagree, paired.tied, paired.n), (1, 2, 4));
        assert_eq!(paired.difference, 0.5);
        assert_eq!(paired.ratio, Some(42.0 / 40.0));
    }

    #[test]
    fn where_nothing_varies_the_interval_is_the_difference() {
        let same = of(&[0.0; 6]).interval.expect("one");
        assert_eq!((same.low, same.high, same.p), (0.0, 0.0, 1.0));
        let moved = of(&[2.0; 30]).interval.expect("one");
        assert_eq!((moved.low, moved.high, moved.p), (2.0, 2.0, 0.0));
    }

    #[test]
    fn the_p_value_of_a_bootstrap_agrees_with_its_interval() {
        let shifted = |by: f64| (0..30).map(|k| by + f64::from(k * k % 17) - 5.0).collect();
        for step in -8..=8 {
            let values: Vec<f64> = shifted(f64::from(step) * 0.5);
            let interval = of(&values).interval.expect("one");
            let covers = interval.low <= 0.0 && 0.0 <= interval.high;
            // At the very end of the interval both are a matter of one resample.
            let at_end = interval.low.abs().min(interval.high.abs()) < 0.02;
            assert!(
                at_end || covers == (interval.p > 0.05),
                "{step} {interval:?}"
            );
        }
    }

    #[test]
    fn one_seed_gives_one_interval() {
        let values: Vec<f64> = (0..25).map(|k| f64::from(k % 7) - 2.0).collect();
        assert_eq!(of(&values), of(&values));
    }
}
