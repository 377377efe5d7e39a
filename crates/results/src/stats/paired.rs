//! Differences between pairs: how large, and how sure.

use super::{mean, sum};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Confidence level of every interval, and of all of a family together.
pub const LEVEL: f64 = 0.95;

/// The name of the intervals in documents.
pub const METHOD: &str = "skewness-adjusted t";

/// Fewer pairs than this get no interval.
const FEWEST: usize = 5;

/// Intervals that hold the mean less often than this claim nothing.
pub const ENOUGH: f64 = 0.90;

/// From so many pairs on, the least share of 95 % intervals that held the mean in
/// samples of any of the populations of `docs/compare.md`.
const COVERAGE: [(usize, f64); 9] = [
    (5, 0.887),
    (6, 0.888),
    (8, 0.897),
    (10, 0.917),
    (12, 0.931),
    (15, 0.921),
    (20, 0.921),
    (30, 0.929),
    (47, 0.944),
];

/// How often a 95 % interval from so many pairs holds the mean of a skewed
/// population, as it was measured for the next lower number in the table; `None`
/// for too few pairs to have an interval.
pub fn coverage(pairs: usize) -> Option<f64> {
    let measured = COVERAGE.iter().rev().find(|(from, _)| *from <= pairs);
    measured.map(|(_, share)| *share)
}

/// The fewest pairs whose intervals may claim something.
pub fn fewest_for_a_claim() -> usize {
    let enough = COVERAGE.iter().find(|(_, share)| *share >= ENOUGH);
    enough.map_or(usize::MAX, |(from, _)| *from)
}

/// Errors are allowed this part of their rate, so that intervals cover where samples
/// are few and skewed (`docs/compare.md` has the figures).
const CALIBRATION: f64 = 0.75;

/// A difference below this part of the values that it is of is nothing but rounding.
const ROUNDING: f64 = 1e-12;

/// From so many pairs on t is taken for normal.
const MANY: f64 = 1000.0;

/// An interval of a mean, and how likely one so far from 0 is if that is 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Two-sided p-value, not corrected.
    pub p: f64,
}

impl Interval {
    /// The interval of the mean of these values; `None` under five. It reaches as
    /// far as the farther of two: Student's t, and t after P. Hall's transformation,
    /// which takes the skewness out (*On the Removal of Skewness by Transformation*,
    /// J. R. Stat. Soc. B 54, 1992). The p-value is the larger one of both.
    pub fn of_mean(values: &[f64], level: f64) -> Option<Self> {
        let (first, n) = (*values.first()?, values.len() as f64);
        if values.len() < FEWEST {
            return None;
        }
        if values.iter().all(|value| *value == first) {
            let p = if first == 0.0 { 1.0 } else { 0.0 };
            let (low, high) = (first, first);
            return Some(Interval { low, high, p });
        }
        let centre = mean(values)?;
        let squares = sum(values, |value| (value - centre).powi(2));
        let cubes = sum(values, |value| (value - centre).powi(3));
        let skewness = cubes / n / (squares / n).powf(1.5) * (n * (n - 1.0)).sqrt() / (n - 2.0);
        let error = (squares / (n - 1.0) / n).sqrt();
        let (bend, shift) = (skewness / 3.0 / n.sqrt(), skewness / 6.0 / n.sqrt());
        let bent = |t: f64| t + bend * t * t + bend * bend * t.powi(3) / 3.0 + shift;
        let straight = |t: f64| match 3.0 * bend * (t - shift) {
            _ if bend == 0.0 => t,
            // As exact where the skewness is next to nothing.
            near if near > -0.5 => (near.ln_1p() / 3.0).exp_m1() / bend,
            far => ((1.0 + far).cbrt() - 1.0) / bend,
        };
        let student = StudentsT::new(0.0, 1.0, n - 1.0).ok()?;
        let reach = student.inverse_cdf(1.0 - CALIBRATION * (1.0 - level) / 2.0);
        let p = |t: f64| (2.0 * student.cdf(-t.abs()) / CALIBRATION).min(1.0);
        let t = centre / error;
        Some(Interval {
            low: centre - error * reach.max(straight(reach)),
            high: centre + error * reach.max(-straight(-reach)),
            p: p(t).max(p(bent(t))),
        })
    }
}

/// An interval of a mean, which is held against nothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Range {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Range {
    /// The 95 % interval of the mean of these values; `None` under five.
    pub fn of_mean(values: &[f64]) -> Option<Self> {
        let Interval { low, high, .. } = Interval::of_mean(values, LEVEL)?;
        Some(Range { low, high })
    }
}

/// other - base; 0 where that is nothing but rounding.
pub(crate) fn difference(base: f64, other: f64) -> f64 {
    beside(other - base, base.abs().max(other.abs()))
}

/// A difference of values of this size; 0 where it is nothing but rounding.
fn beside(difference: f64, size: f64) -> f64 {
    match difference.abs() < ROUNDING * size {
        true => 0.0,
        false => difference,
    }
}

/// Pairs and what they say of a difference: other - baseline, pair by pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// What pairs `(baseline, other)` say; `None` without any. Without a level there
    /// is no interval.
    pub fn of(pairs: &[(f64, f64)], level: Option<f64>) -> Option<Self> {
        let differences: Vec<f64> = pairs.iter().map(|it| difference(it.0, it.1)).collect();
        let base = sum(pairs, |pair| pair.0);
        let other = sum(pairs, |pair| pair.1);
        let size = base.abs().max(other.abs()) / pairs.len() as f64;
        let difference = beside(mean(&differences)?, size);
        let count = |which: &dyn Fn(f64) -> bool| {
            differences.iter().filter(|value| which(**value)).count() as u64
        };
        Some(Paired {
            n: pairs.len() as u64,
            difference,
            ratio: (base != 0.0).then(|| other / base),
            interval: level.and_then(|level| Interval::of_mean(&differences, level)),
            disagree: count(&|value| value * difference < 0.0),
            tied: count(&|value| value == 0.0),
        })
    }

    /// What the pairs say where differences below `relevant` do not matter.
    pub fn judge(&self, relevant: f64) -> Judgement {
        let claims = coverage(self.n as usize).is_some_and(|share| share >= ENOUGH);
        match self.interval.filter(|_| claims) {
            Some(it) if it.low >= -relevant && it.high <= relevant => Judgement::Equivalent,
            Some(it) if it.high < -relevant => Judgement::Better,
            Some(it) if it.low > relevant => Judgement::Worse,
            _ => Judgement::Open,
        }
    }
}

/// What a difference to another policy comes to; less is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Judgement {
    /// The whole interval lies below minus the smallest relevant difference.
    Better,
    /// The whole interval lies above the smallest relevant difference.
    Worse,
    /// The whole interval lies between them.
    Equivalent,
    /// Anything else, and wherever intervals do not cover.
    #[default]
    Open,
}

/// Pairs that it takes, if differences vary as these do, for a chance of 0.8 to find
/// policies equivalent that do not differ, and one better than another from which it
/// differs by twice what is relevant: the least number for which an interval at `level`
/// and the 90 % quantile of the error together stay within `relevant`. `None` for fewer
/// than two pairs, or where nothing is too small to matter.
pub fn pairs_needed(differences: &[f64], relevant: f64, level: f64) -> Option<u64> {
    let (centre, n) = (mean(differences)?, differences.len() as f64);
    if n < 2.0 || relevant <= 0.0 {
        return None;
    }
    let sd = (sum(differences, |value| (value - centre).powi(2)) / (n - 1.0)).sqrt();
    let normal = Normal::standard();
    let needed = |reach: f64| (reach * sd / relevant).powi(2).ceil();
    let tail = 1.0 - CALIBRATION * (1.0 - level) / 2.0;
    // t of many pairs is normal; of few it takes some pairs more.
    let mut n = needed(normal.inverse_cdf(tail) + normal.inverse_cdf(0.9));
    n = n.max(fewest_for_a_claim() as f64);
    while n < MANY {
        let student = StudentsT::new(0.0, 1.0, n - 1.0).ok()?;
        if needed(student.inverse_cdf(tail) + student.inverse_cdf(0.9)) <= n {
            break;
        }
        n += 1.0;
    }
    Some(n as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(differences: &[f64]) -> Paired {
        let pairs: Vec<(f64, f64)> = differences.iter().map(|d| (10.0, 10.0 + d)).collect();
        Paired::of(&pairs, Some(LEVEL)).expect("pairs")
    }

    #[test]
    fn under_five_pairs_there_is_no_interval() {
        assert_eq!(of(&[1.0, 2.0, 3.0, 4.0]).interval, None);
        assert!(of(&[1.0, 2.0, 3.0, 4.0, 5.0]).interval.is_some());
        assert!(Paired::of(&[], None).is_none());
        assert_eq!(coverage(4), None);
    }

    /// Differences in tenths are symmetric but for their last bits.
    #[test]
    fn an_interval_of_symmetric_differences_is_symmetric() {
        for offset in [-0.5, 0.1, 0.7, 12.3] {
            for step in [0.1, 0.3, 0.5] {
                let shape = [-2.0, -1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 2.0];
                let values = shape.map(|at| offset + at * step);
                let all = Interval::of_mean(&values, LEVEL).expect("one");
                let centre = mean(&values).expect("a mean");
                let beside = (all.low + all.high) / 2.0 - centre;
                assert!(beside.abs() < 1e-9, "{offset} {step}: {all:?}");
            }
        }
    }

    /// `scipy.stats.t(4)`: 3 -+ t(0.98125) sqrt(0.5), and 2 sf(3 / sqrt(0.5)) / 0.75.
    #[test]
    fn an_interval_without_skewness_is_that_of_the_textbook() {
        let interval = of(&[1.0, 2.0, 3.0, 4.0, 5.0]).interval.expect("one");
        assert!((interval.low - 0.833_197_1).abs() < 1e-6, "{interval:?}");
        assert!((interval.high - 5.166_802_9).abs() < 1e-6, "{interval:?}");
        assert!((interval.p - 0.017_647_5).abs() < 1e-6, "{interval:?}");
    }

    #[test]
    fn an_interval_reaches_further_where_the_tail_is() {
        let right = of(&[0.0, 0.1, 0.2, 0.3, 0.4, 8.0]).interval.expect("one");
        let left = of(&[0.0, -0.1, -0.2, -0.3, -0.4, -8.0])
            .interval
            .expect("one");
        assert!(right.high - 1.5 > 1.2 * (1.5 - right.low), "{right:?}");
        assert!((right.high + left.low).abs() < 1e-12, "{right:?} {left:?}");
    }

    #[test]
    fn signs_and_ties_are_counted_against_the_mean() {
        let paired = of(&[-1.0, 0.0, 3.0, 0.0]);
        assert_eq!((paired.disagree, paired.tied, paired.n), (1, 2, 4));
        assert_eq!(paired.difference, 0.5);
        assert_eq!(paired.ratio, Some(42.0 / 40.0));
    }

    #[test]
    fn what_is_nothing_but_rounding_is_no_difference() {
        let paired = Paired::of(&[(0.3, 0.1 + 0.2); 20], Some(LEVEL)).expect("pairs");
        assert_eq!((paired.difference, paired.tied), (0.0, 20));
        assert_eq!(paired.judge(0.0), Judgement::Equivalent);
        let undone = [(1.0, 1.1), (1.0, 1.2), (1.0, 0.7)];
        let undone = Paired::of(&undone, None).expect("pairs");
        assert_eq!((undone.difference, undone.disagree), (0.0, 0));
        assert_eq!(difference(1e6, 1e6 + 1e-3), 1e6 + 1e-3 - 1e6);
    }

    #[test]
    fn where_nothing_varies_the_interval_is_the_difference() {
        let same = of(&[0.0; 6]).interval.expect("one");
        assert_eq!((same.low, same.high, same.p), (0.0, 0.0, 1.0));
        let moved = of(&[2.0; 30]).interval.expect("one");
        assert_eq!((moved.low, moved.high, moved.p), (2.0, 2.0, 0.0));
    }

    #[test]
    fn the_p_value_agrees_with_the_interval_at_any_level() {
        for step in -24..=24 {
            let by = f64::from(step) * 0.25;
            let values = (0..30).map(|k| by + f64::from(k * k % 17) - 5.0);
            let values: Vec<f64> = values.collect();
            for level in [0.95, 0.99, 1.0 - 0.05 / 6.0] {
                let interval = Interval::of_mean(&values, level).expect("one");
                let covers = interval.low <= 0.0 && 0.0 <= interval.high;
                assert_eq!(covers, interval.p >= 1.0 - level, "{step} {interval:?}");
            }
        }
    }

    #[test]
    fn a_judgement_needs_the_whole_interval_on_one_side_of_what_matters() {
        let judged = |low: f64, high: f64, relevant| {
            let interval = Some(Interval { low, high, p: 0.5 });
            let n = 47;
            Paired {
                n,
                interval,
                ..Paired::default()
            }
            .judge(relevant)
        };
        assert_eq!(judged(-3.0, -1.1, 1.0), Judgement::Better);
        assert_eq!(judged(-3.0, -0.9, 1.0), Judgement::Open);
        assert_eq!(judged(-0.9, 1.0, 1.0), Judgement::Equivalent);
        assert_eq!(judged(1.1, 9.0, 1.0), Judgement::Worse);
        // Where any difference matters, only the same is equivalent.
        assert_eq!(judged(-0.1, 0.1, 0.0), Judgement::Open);
        assert_eq!(judged(0.0, 0.0, 0.0), Judgement::Equivalent);
        // Too few pairs say nothing, however clear they are.
        assert_eq!(
            of(&[-5.0, -5.1, -5.2, -4.9, -4.8]).judge(1.0),
            Judgement::Open
        );
    }

    /// `scipy.stats.t`: (t(0.98125, 128) + t(0.9, 128)) / sqrt(129) is the first below 0.3.
    #[test]
    fn the_pairs_needed_are_those_whose_interval_is_short_enough() {
        let unit: Vec<f64> = (0..200).map(|k| f64::from(k % 2) * 2.0 - 1.0).collect();
        let needed = pairs_needed(&unit, 0.3, LEVEL).expect("a number");
        assert!((128..=130).contains(&needed), "{needed}");
        assert_eq!(
            pairs_needed(&[3.0; 5], 0.1, LEVEL),
            Some(fewest_for_a_claim() as u64)
        );
        assert_eq!(pairs_needed(&unit, 0.0, LEVEL), None);
        assert_eq!(pairs_needed(&[1.0], 0.3, LEVEL), None);
    }
}
