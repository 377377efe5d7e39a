//! How unevenly submissions are spread, from half a day down to a second.
//!
//! A stretch of time with n jobs is halved again and again; what counts is how
//! the jobs fall on the two halves. That depends on how long the stretch is, on
//! how many jobs it holds (a thousand jobs in an hour are a burst, two are not)
//! and on the stretches beside it, since silence borders on silence. This is a
//! random cascade as in the multifractal model of Riedi, Crouse, Ribeiro and
//! Baraniuk (IEEE Trans. Information Theory 45, 1999), with integer jobs and
//! with parameters that depend on how many there are.

use super::halved::{Halved, moved, pull, side, side_pull};
use super::halves;
use super::stretch::Stretch;
use crate::synth::unit::{below, holder, unit};
use rand::rngs::ChaCha8Rng;
use rand_distr::{Beta, Binomial, Distribution};
use statrs::function::gamma::ln_gamma;

/// Classes of stretches by their jobs: 1, 2, 3 and 4, 5 to 8, ... 129 to 512
/// and more.
pub(super) const CROWDS: usize = 10;

/// Halvings of a day into hours: 24, 12, 6, 3 and 2 hours.
pub(super) const DAY_HALVINGS: usize = 5;

/// Halvings of an hour into seconds.
pub(super) const HOUR_HALVINGS: usize = 12;

/// How a stretch was divided: evenly, somehow, or all but one-sidedly. Its
/// halves take after it: who submits once a second does so all the time.
pub(super) const KINDS: usize = 3;

/// The kind of stretches whose division is not known.
pub(super) const SOMEHOW: usize = 1;

/// Upper ends of the classes of the larger half's share, in thousandths, after
/// the first class (as even as can be) and before the last one (all).
const SHARES: [u64; 5] = [562, 625, 750, 875, 999];

/// Classes of the larger half's share.
pub(super) const CLASSES: usize = SHARES.len() + 2;

/// The class of a larger half.
fn share_class(jobs: u64, larger: u64) -> usize {
    if larger == jobs {
        return CLASSES - 1;
    }
    if larger <= jobs.div_ceil(2) {
        return 0;
    }
    let permille = larger * 1_000 / jobs;
    1 + SHARES
        .iter()
        .position(|end| permille <= *end)
        .unwrap_or(SHARES.len() - 1)
}

/// The kind of a division.
fn kind(jobs: u64, left: u64) -> usize {
    match share_class(jobs, left.max(jobs - left)) {
        0 | 1 => 0,
        2..=4 => SOMEHOW,
        _ => 2,
    }
}

/// How many of so many jobs of an hour or less fall on the left half, whose share
/// would be `p` if jobs were spread evenly: by the numbers of a fold, the pull as
/// that of a [`Split`], then how often, of a thousand, each class of the larger
/// half's share is.
fn draw_folded(fold: &[f64], jobs: u64, p: f64, slope: f64, random: &mut ChaCha8Rng) -> u64 {
    let (pull, shares) = fold.split_first().unwrap_or((&0.0, &[]));
    let larger = larger(shares, jobs, random);
    side(larger, jobs, moved(p, *pull, slope), random)
}

fn larger(shares: &[f64], jobs: u64, random: &mut ChaCha8Rng) -> u64 {
    let even = jobs.div_ceil(2);
    let shares = shares.iter().map(|share| *share as u64);
    let total = shares.clone().sum::<u64>();
    if jobs < 2 || total == 0 {
        return jobs;
    }
    let class = holder(shares, below(random, total)).unwrap_or(CLASSES - 1);
    if class == 0 || class >= CLASSES - 1 {
        return if class == 0 { even } else { jobs };
    }
    let from = if class == 1 { 500 } else { SHARES[class - 2] };
    let share = (from as f64 + unit(random) * (SHARES[class - 1] - from) as f64) / 1e3;
    ((share * jobs as f64).round() as u64).clamp((even + 1).min(jobs), jobs)
}

/// The folds of one halving by crowd and by so many kinds, from pairs of a
/// stretch and the kind it takes after.
pub(super) fn fit_folds(seen: &[(Halved, usize)], kinds: usize) -> Vec<Vec<f64>> {
    let mut by_class: Vec<Vec<Halved>> = vec![Vec::new(); CROWDS * kinds];
    for (halved, kind) in seen {
        by_class[crowd(halved.jobs) * kinds + kind % kinds].push(*halved);
    }
    let mut folds = Vec::with_capacity(by_class.len());
    for of_crowd in by_class.chunks(kinds) {
        let all = of_crowd.concat();
        for seen in of_crowd {
            // What was hardly ever seen is like the others of its crowd.
            let seen = if seen.len() >= LEAST { seen } else { &all };
            folds.push(fold(seen));
        }
    }
    folds
}

fn fold(seen: &[Halved]) -> Vec<f64> {
    let mut counts = [0u64; CLASSES];
    for h in seen {
        counts[share_class(h.jobs, h.left.max(h.jobs - h.left))] += 1;
    }
    let all = seen.len().max(1) as u64;
    let mut numbers = vec![(side_pull(seen) * 1e2).round() / 1e2];
    if seen.iter().any(|h| h.jobs > 1) {
        numbers.extend(counts.map(|n| ((n * 1_000 + all / 2) / all) as f64));
    }
    numbers
}

/// One halving of the stretches of an hour.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a model has twelve of them")]
pub(super) enum Within {
    /// By crowd, or by crowd and kind.
    Folds(Vec<Vec<f64>>),
    /// By octave.
    Halves(Vec<Vec<f64>>),
    /// By crowd.
    Splits([Split; CROWDS]),
}

impl Within {
    pub(super) fn draw(
        &self,
        jobs: u64,
        after: usize,
        p: f64,
        slope: f64,
        random: &mut ChaCha8Rng,
    ) -> u64 {
        match self {
            Within::Splits(splits) => splits[crowd(jobs)].draw(jobs, p, slope, random),
            Within::Halves(rows) => halves::draw(rows, jobs, p, slope, random),
            Within::Folds(folds) => {
                let kinds = (folds.len() / CROWDS).max(1);
                let fold = folds.get(crowd(jobs) * kinds + after % kinds);
                fold.map_or(0, |fold| draw_folded(fold, jobs, p, slope, random))
            }
        }
    }
}

/// Halves stretches of which each takes after a kind: told of a stretch, its kind,
/// the jobs before it and its slope, `left` says how many jobs are on its left.
pub(super) fn halve(
    stretches: &[(Stretch, usize)],
    mut left: impl FnMut(&Stretch, usize, u64, f64) -> u64,
) -> Vec<(Stretch, usize)> {
    let slopes = slopes(stretches.iter().map(|stretch| stretch.0));
    let mut halves = Vec::with_capacity(stretches.len() * 2);
    let mut before = 0;
    for ((stretch, after), slope) in stretches.iter().zip(slopes) {
        match stretch.length {
            0..=1 => halves.push((*stretch, *after)),
            _ => halves.extend(divided(stretch, left(stretch, *after, before, slope))),
        }
        before += stretch.jobs;
    }
    halves
}

/// The halves of a stretch that have jobs, and the kind they take after.
fn divided(stretch: &Stretch, left: u64) -> impl Iterator<Item = (Stretch, usize)> {
    let kind = kind(stretch.jobs, left);
    let halves = stretch.halves(left).into_iter();
    halves
        .filter(|half| half.jobs > 0)
        .map(move |half| (half, kind))
}

/// How the jobs of a stretch of hours fall on its two halves: numbers as the
/// model file has them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Split {
    /// Probability that one half has them all.
    pub(super) one_sided: f64,
    /// Else: correlation of the halves of two jobs (the intraclass correlation
    /// of a beta-binomial distribution).
    pub(super) spread: f64,
    /// How much the odds of the left half follow those of the neighbours: the
    /// exponent of (jobs on the left + 1) / (jobs on the right + 1).
    pub(super) pull: f64,
}

pub(super) fn crowd(jobs: u64) -> usize {
    match jobs {
        0..=1 => 0,
        2..=128 => jobs.next_power_of_two().ilog2() as usize,
        129..=512 => CROWDS - 2,
        _ => CROWDS - 1,
    }
}

/// Logarithm of (jobs of the stretch before + 1) / (jobs of the one after + 1),
/// for each of some stretches in order; a stretch that is not there has none.
pub(super) fn slopes(stretches: impl Iterator<Item = Stretch>) -> Vec<f64> {
    let stretches: Vec<Stretch> = stretches.collect();
    let beside = |a: Option<&Stretch>, b: &Stretch, other: Option<&Stretch>| {
        let adjoins = a.is_some_and(|a| a.at + a.length == b.at || b.at + b.length == a.at);
        other.filter(|_| adjoins).map_or(0.0, |o| o.jobs as f64)
    };
    (0..stretches.len())
        .map(|at| {
            let this = &stretches[at];
            let before = at.checked_sub(1).and_then(|i| stretches.get(i));
            let after = stretches.get(at + 1);
            let left = beside(before, this, before);
            let right = beside(after, this, after);
            ((left + 1.0) / (right + 1.0)).ln()
        })
        .collect()
}

impl Split {
    /// How many of so many jobs fall on the left half, whose share would be `p`
    /// if jobs were spread evenly.
    pub(super) fn draw(&self, jobs: u64, p: f64, slope: f64, random: &mut ChaCha8Rng) -> u64 {
        let p = moved(p, self.pull, slope);
        if p <= 0.0 {
            return 0;
        }
        if p >= 1.0 {
            return jobs;
        }
        if jobs <= 1 || unit(random) < self.one_sided {
            return if unit(random) < p { jobs } else { 0 };
        }
        let mut share = p;
        if self.spread > 1e-6 {
            let count = (1.0 / self.spread - 1.0).max(1e-3);
            if let Ok(beta) = Beta::new(p * count, (1.0 - p) * count) {
                let drawn = beta.sample(random);
                if drawn.is_finite() {
                    share = drawn.clamp(0.0, 1.0);
                }
            }
        }
        Binomial::new(jobs, share).map_or(0, |binomial| binomial.sample(random))
    }
}

/// Fewer stretches of a class say nothing.
const LEAST: usize = 8;

/// One-sidedness is computed over so many stretches.
const LOOKED_AT: usize = 400;

/// The splits of one halving by crowd.
pub(super) fn fit(seen: &[Halved]) -> [Split; CROWDS] {
    let mut by_crowd: Vec<Vec<Halved>> = vec![Vec::new(); CROWDS];
    for halved in seen {
        by_crowd[crowd(halved.jobs)].push(*halved);
    }
    let mut splits = [None; CROWDS];
    for (split, seen) in splits.iter_mut().zip(&by_crowd) {
        *split = (seen.len() >= LEAST).then(|| fit_one(seen));
    }
    // What was hardly ever seen is like what is a little smaller, else larger.
    let mut known = splits.iter().flatten().next().copied().unwrap_or_default();
    splits.map(|split| {
        known = split.unwrap_or(known);
        known
    })
}

fn fit_one(seen: &[Halved]) -> Split {
    let pull = pull(seen);
    let moved = |h: &Halved| moved(h.p, pull, h.slope);
    let (mut beyond, mut pairs) = (0.0, 0.0);
    for h in seen {
        let (n, p) = (h.jobs as f64, moved(h));
        let variance = p * (1.0 - p);
        beyond += (h.left as f64 - n * p).powi(2) - n * variance;
        pairs += n * (n - 1.0) * variance;
    }
    let rounded = |share: f64| (share * 1e3).round() / 1e3;
    if pairs <= 0.0 {
        return Split {
            pull: rounded(pull),
            ..Split::default()
        };
    }
    let all = (beyond / pairs).clamp(0.0, 0.999);
    // Some stretches are one-sided by chance, the more so the more they spread.
    let step = seen.len().div_ceil(LOOKED_AT);
    let looked: Vec<(f64, f64)> = seen
        .iter()
        .step_by(step)
        .map(|h| (h.jobs as f64, moved(h)))
        .collect();
    let found = seen.iter().filter(|h| h.left == 0 || h.left == h.jobs);
    let found = found.count() as f64 / seen.len() as f64;
    let one_sided = |spread: f64| ((all - spread) / (1.0 - spread)).clamp(0.0, 1.0);
    let expected = |spread: f64| {
        let by_chance: f64 = looked.iter().map(|(n, p)| all_in_one(*n, *p, spread)).sum();
        let q = one_sided(spread);
        q + (1.0 - q) * by_chance / looked.len() as f64
    };
    let (mut low, mut high) = (0.0, all);
    for _ in 0..20 {
        let middle = f64::midpoint(low, high);
        if expected(middle) > found {
            low = middle;
        } else {
            high = middle;
        }
    }
    Split {
        one_sided: rounded(one_sided(high)),
        spread: rounded(high),
        pull: rounded(pull),
    }
}

/// Probability that a beta-binomial split leaves one half empty.
fn all_in_one(n: f64, p: f64, spread: f64) -> f64 {
    if spread < 1e-6 {
        return p.powf(n) + (1.0 - p).powf(n);
    }
    let count = 1.0 / spread - 1.0;
    let all = |p: f64| {
        let a = p * count;
        (ln_gamma(a + n) + ln_gamma(count) - ln_gamma(a) - ln_gamma(count + n)).exp()
    };
    all(p) + all(1.0 - p)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::rng;

    #[test]
    fn splits_are_measured_as_they_were_made() {
        let mut random = rng::stream(3, "test");
        for made in [
            Split {
                one_sided: 0.3,
                spread: 0.1,
                pull: 0.0,
            },
            Split {
                one_sided: 0.0,
                spread: 0.3,
                pull: 0.2,
            },
            Split {
                one_sided: 0.6,
                spread: 0.05,
                pull: -0.1,
            },
        ] {
            let seen: Vec<Halved> = (0..20_000)
                .map(|i| {
                    let (jobs, p) = (9 + i % 8, 0.4);
                    let slope = (i % 5) as f64 - 2.0;
                    let left = made.draw(jobs, p, slope, &mut random);
                    Halved {
                        jobs,
                        left,
                        p,
                        slope,
                    }
                })
                .collect();
            let found = fit(&seen)[crowd(10)];
            assert!(
                (found.one_sided - made.one_sided).abs() < 0.03,
                "{found:?} for {made:?}"
            );
            assert!(
                (found.spread - made.spread).abs() < 0.03,
                "{found:?} for {made:?}"
            );
            assert!(
                (found.pull - made.pull).abs() < 0.03,
                "{found:?} for {made:?}"
            );
        }
    }

    #[test]
    fn a_stretch_knows_only_the_neighbours_that_touch_it() {
        let stretch = |at, jobs| Stretch {
            at,
            length: 10,
            jobs,
        };
        let found = slopes([stretch(0, 3), stretch(10, 1), stretch(30, 5)].into_iter());
        assert_eq!(found, [-(2.0f64.ln()), 4.0f64.ln(), 0.0]);
    }
}
