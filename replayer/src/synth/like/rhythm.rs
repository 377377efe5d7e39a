//! How unevenly submissions come within days and within hours.
//!
//! Hours of the same name differ by more than their days do, a busy hour is
//! followed by another one, and inside an hour submissions crowd together. The
//! first two are levels of the hours and their correlation from hour to hour;
//! the third is a cascade that halves an hour again and again and gives each
//! half a share drawn from a beta distribution.

use super::LookAlike;
use super::week::HOUR;
use crate::synth::unit::unit;
use gridrig_core::rng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Beta, Distribution, StandardNormal};
use std::f64::consts::PI;

/// Levels of an hour of the day that a model keeps.
const LEVELS: usize = 20;

/// Batches are dealt whole, which makes hours uneven by itself: levels are
/// drawn this far from 1 only. Of 0.8, 0.9 and 1 the one with which the empty
/// hours and the gaps of the KTH-SP2 and CTC-SP2 logs come out best.
const DRAWN: f64 = 0.9;

/// Halvings of an hour: the parts are 112.5 s long, a batch's window.
const HALVINGS: usize = 5;

/// Rounds of fitting hours to the sums of days and of hours of the day.
const ROUNDS: usize = 8;

/// What a trace's arrivals are like from hour to hour and inside an hour.
pub(super) struct Rhythm {
    pub(super) hour_levels: Vec<Vec<f64>>,
    pub(super) persistence: f64,
    pub(super) bunching: Vec<f64>,
}

/// Jobs by the second in which their batch begins, in order; `start` is the
/// second of the week of time 0, `rates` are jobs by hour of the week.
pub(super) fn measure(batches: &[(u64, u64)], rates: &[f64], start: u64, until: u64) -> Rhythm {
    let first = batches.first().map_or(0, |b| b.0);
    // Whole hours, counted from the Monday at or before time 0.
    let from = ((first + start) / HOUR + 1) as usize;
    let to = ((until + start) / HOUR) as usize;
    let mut jobs = vec![0.0; to.saturating_sub(from)];
    for (at, count) in batches {
        let hour = ((at + start) / HOUR) as usize;
        if let Some(sum) = hour.checked_sub(from).and_then(|h| jobs.get_mut(h)) {
            *sum += *count as f64;
        }
    }
    let levels = levels(&jobs, from, rates);
    let by_hour = by_hour(&levels, from);
    Rhythm {
        hour_levels: by_hour.iter().map(|sorted| means(sorted)).collect(),
        persistence: persistence(&levels, &by_hour, from),
        bunching: bunching(batches, start),
    }
}

/// Of each hour: jobs over those expected from its hour of the week and the
/// jobs of its day; `None` where none are expected.
fn levels(jobs: &[f64], from: usize, rates: &[f64]) -> Vec<Option<f64>> {
    let rate = |hour: usize| rates.get(hour % 168).copied().unwrap_or(0.0);
    let mut levels = Vec::with_capacity(jobs.len());
    let mut at = 0;
    while at < jobs.len() {
        let end = (at + 24 - (from + at) % 24).min(jobs.len());
        let found: f64 = jobs[at..end].iter().sum();
        let expected: f64 = (at..end).map(|hour| rate(from + hour)).sum();
        for (hour, count) in (at..end).zip(&jobs[at..end]) {
            let share = rate(from + hour) * found / expected;
            levels.push((share > 0.0 && share.is_finite()).then(|| count / share));
        }
        at = end;
    }
    levels
}

/// The levels of each hour of the day, rising.
fn by_hour(levels: &[Option<f64>], from: usize) -> Vec<Vec<f64>> {
    let mut by_hour = vec![Vec::new(); 24];
    for (at, level) in levels.iter().enumerate() {
        by_hour[(from + at) % 24].extend(*level);
    }
    for sorted in &mut by_hour {
        sorted.sort_unstable_by(f64::total_cmp);
    }
    by_hour
}

/// Means of equal parts of a sorted list: they keep its mean, however long the
/// tail is.
fn means(sorted: &[f64]) -> Vec<f64> {
    let count = sorted.len().min(LEVELS);
    let mean = |i: usize| {
        let part = &sorted[i * sorted.len() / count..(i + 1) * sorted.len() / count];
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        (mean * 1e2).round() / 1e2
    };
    (0..count).map(mean).collect()
}

/// Correlation of neighbouring hours, as that of the normal variables behind
/// their ranks (from Spearman's, Pearson 1907).
fn persistence(levels: &[Option<f64>], by_hour: &[Vec<f64>], from: usize) -> f64 {
    let rank = |at: usize| {
        let level = levels[at]?;
        let sorted = &by_hour[(from + at) % 24];
        let below = sorted.partition_point(|l| *l < level);
        let until = sorted.partition_point(|l| *l <= level);
        Some((below + until) as f64 / (2 * sorted.len()) as f64 - 0.5)
    };
    let ranks: Vec<Option<f64>> = (0..levels.len()).map(rank).collect();
    let (mut product, mut squares) = (0.0, 0.0);
    for pair in ranks.windows(2) {
        if let (Some(a), Some(b)) = (pair[0], pair[1]) {
            product += a * b;
            squares += (a * a + b * b) / 2.0;
        }
    }
    if squares <= 0.0 {
        return 0.0;
    }
    let normal = 2.0 * (PI * (product / squares) / 6.0).sin();
    (normal.clamp(0.0, 0.99) * 1e3).round() / 1e3
}

/// For each halving of an hour, how much more the batches that begin in its
/// parts differ than by chance: the intraclass correlation of a beta-binomial
/// split.
fn bunching(batches: &[(u64, u64)], start: u64) -> Vec<f64> {
    let correlation = |halving: u32| {
        let parts = 1u64 << halving;
        let part = |at: u64| (at + start) * parts / HOUR;
        let (mut beyond, mut pairs) = (0.0, 0.0);
        for parent in batches.chunk_by(|a, b| part(a.0) / 2 == part(b.0) / 2) {
            let all = parent.len() as f64;
            let left = parent.iter().filter(|b| part(b.0) % 2 == 0).count() as f64;
            beyond += (2.0 * left - all).powi(2) - all;
            pairs += all * (all - 1.0);
        }
        match pairs > 0.0 {
            true => ((beyond / pairs).clamp(0.0, 0.95) * 1e4).round() / 1e4,
            false => 0.0,
        }
    };
    (1..=HALVINGS as u32).map(correlation).collect()
}

/// How busy each hour is, from the midnight at or before the first slot on:
/// days are the factors of the days, `weekday` is that of the first one.
///
/// Levels are dealt by hour of the day in the order of a normal process with
/// the persistence of the source; then hours are fitted to the sums that days
/// and hours of the day have without them.
pub(super) fn hour_factors(model: &LookAlike, days: &[f64], weekday: usize) -> Vec<f64> {
    let hours = days.len() * 24;
    if model.hour_levels.len() != 24 {
        return vec![1.0; hours];
    }
    let mut random = rng::stream(model.seed, "look-alike/hours");
    let kept = model.hour_persistence;
    let fresh = (1.0 - kept * kept).max(0.0).sqrt();
    let mut state: f64 = StandardNormal.sample(&mut random);
    let process: Vec<f64> = (0..hours)
        .map(|_| {
            let now = state;
            let drawn: f64 = StandardNormal.sample(&mut random);
            state = kept * state + fresh * drawn;
            now
        })
        .collect();
    let mut factors = vec![1.0; hours];
    for (hour, levels) in model.hour_levels.iter().enumerate() {
        if levels.is_empty() {
            continue;
        }
        let mut order: Vec<usize> = (hour..hours).step_by(24).collect();
        order.sort_by(|a, b| process[*a].total_cmp(&process[*b]));
        for (rank, at) in order.iter().enumerate() {
            let level = levels[rank * levels.len() / order.len()];
            factors[*at] = 1.0 + DRAWN * (level - 1.0);
        }
    }
    let even = |at: usize| {
        let hour = (weekday * 24 + at) % 168;
        model.hours_of_week[hour] * days[at / 24]
    };
    let even: Vec<f64> = (0..hours).map(even).collect();
    for _ in 0..ROUNDS {
        for day in 0..days.len() {
            fit(&mut factors, &even, || day * 24..day * 24 + 24);
        }
        for hour in 0..24 {
            fit(&mut factors, &even, || (hour..hours).step_by(24));
        }
    }
    factors
}

/// Scales some factors so that together they leave the sum as it is.
fn fit<I: Iterator<Item = usize>>(factors: &mut [f64], even: &[f64], places: impl Fn() -> I) {
    let wanted: f64 = places().map(|at| even[at]).sum();
    let found: f64 = places().map(|at| even[at] * factors[at]).sum();
    if wanted <= 0.0 {
        return;
    }
    for at in places() {
        // A day that has levels of 0 only goes without them.
        factors[at] = match found > 0.0 {
            true => factors[at] * wanted / found,
            false => 1.0,
        };
    }
}

/// Where in a stretch of time submissions crowd together.
pub(super) struct Cascade {
    /// Cumulated shares of the parts, beginning with 0.
    shares: Vec<f64>,
}

impl Cascade {
    pub(super) fn new(bunching: &[f64], random: &mut ChaCha8Rng) -> Self {
        let mut parts = vec![1.0];
        for correlation in bunching {
            let halves = parts.iter().flat_map(|part| {
                let left = half(*correlation, random);
                [part * left, part * (1.0 - left)]
            });
            parts = halves.collect();
        }
        let mut shares = vec![0.0];
        let mut sum = 0.0;
        for part in parts {
            sum += part;
            shares.push(sum);
        }
        Cascade { shares }
    }

    /// A place in the stretch, from 0 to below 1.
    pub(super) fn place(&self, random: &mut ChaCha8Rng) -> f64 {
        let parts = self.shares.len() - 1;
        let wanted = unit(random) * self.shares[parts];
        let above = self.shares.partition_point(|share| *share <= wanted);
        let part = above.clamp(1, parts) - 1;
        let width = self.shares[part + 1] - self.shares[part];
        let inside = match width > 0.0 {
            true => ((wanted - self.shares[part]) / width).clamp(0.0, 1.0 - 1e-9),
            false => 0.5,
        };
        (part as f64 + inside) / parts as f64
    }
}

/// The share of the left one of two halves.
fn half(correlation: f64, random: &mut ChaCha8Rng) -> f64 {
    let shape = (1.0 / correlation.max(1e-6) - 1.0) / 2.0;
    match Beta::new(shape, shape) {
        Ok(beta) if correlation > 0.0 => beta.sample(random),
        _ => 0.5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bunching_is_measured_as_it_was_made() {
        let mut random = rng::stream(3, "test");
        let bunching = [0.3, 0.1, 0.0, 0.2, 0.0];
        let mut batches: Vec<(u64, u64)> = Vec::new();
        for hour in 0..3_000u64 {
            let cascade = Cascade::new(&bunching, &mut random);
            let at = |_| hour * HOUR + (cascade.place(&mut random) * HOUR as f64) as u64;
            batches.extend((0..12).map(at).map(|at| (at, 1)));
        }
        batches.sort_unstable();
        for (found, made) in super::bunching(&batches, 0).iter().zip(bunching) {
            assert!((found - made).abs() < 0.03, "{found} for {made}");
        }
    }

    #[test]
    fn hours_that_are_even_have_levels_of_one_and_no_persistence() {
        let batches: Vec<(u64, u64)> = (0..24 * 60).map(|hour| (hour * HOUR + 7, 2)).collect();
        let rhythm = measure(&batches, &[2.0; 168], 0, 24 * 60 * HOUR);
        assert!(rhythm.hour_levels.iter().flatten().all(|l| *l == 1.0));
        assert!(rhythm.persistence.abs() < 1e-9);
    }
}
