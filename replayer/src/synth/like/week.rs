//! The hours that are filled: a week of weights, and days that are busier or
//! quieter than others of their name.

use super::LookAlike;
use super::rhythm::{self, Rhythm};
use crate::characterize::calendar::Clock;
use crate::synth::unit::below;
use gridrig_core::rng;
use gridrig_core::time::SimDuration;

pub(super) const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;
pub(super) const WEEK: u64 = 7 * DAY;

/// Unix time 0 was a Thursday; weeks begin on Monday.
const EPOCH_IN_WEEK: u64 = 3 * DAY;

/// Monday, 1 January 2024, 0:00.
const MADE_UP_MONDAY: u64 = 1_704_067_200;

/// Levels of days that a model keeps.
const DAY_LEVELS: usize = 64;

/// Part of an hour to be filled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slot {
    /// Seconds since time 0.
    pub(super) from: u64,
    pub(super) until: u64,
    pub(super) hour_of_day: usize,
    /// Jobs of the batches that begin in it.
    pub(super) jobs: f64,
}

/// What a trace's arrivals are like over a week.
pub(super) struct Arrivals {
    pub(super) unix_start: Option<u64>,
    pub(super) hours_of_week: Vec<f64>,
    pub(super) day_levels: Vec<f64>,
    pub(super) rhythm: Rhythm,
}

/// Jobs by the hour in which their batch begins: (second since time 0, jobs) of
/// every batch, in order.
pub(super) fn measure(batches: &[(u64, u64)], clock: &Clock, until: u64) -> Arrivals {
    let start = clock.second_of_week(SimDuration::ZERO);
    let first = batches.first().map_or(0, |b| b.0);
    let mut jobs = vec![0.0; 168];
    let mut covered = vec![0.0; 168];
    for (from, to, hour) in hours(first, until.max(first + 1), start) {
        covered[hour] += (to - from) as f64 / HOUR as f64;
    }
    for (at, count) in batches {
        jobs[hour_of_week(*at, start)] += *count as f64;
    }
    let rates = rates(&jobs, &covered);
    let day_levels = day_levels(batches, &rates, start, until);
    let rhythm = rhythm::measure(batches, &rates, start, until);
    // Six digits tell hours apart well enough and keep the file readable.
    let rounded = |rate: f64| (rate * 1e3).round() / 1e3;
    Arrivals {
        unix_start: clock.unix_start.map(|_| MADE_UP_MONDAY + start),
        hours_of_week: rates.into_iter().map(rounded).collect(),
        day_levels,
        rhythm,
    }
}

/// Jobs per hour. Hours of the week that the trace does not cover take the mean
/// of their hour of the day, else the mean of all.
fn rates(jobs: &[f64], covered: &[f64]) -> Vec<f64> {
    let over = |hours: &mut dyn Iterator<Item = usize>| {
        let sums = hours.fold((0.0, 0.0), |sums, hour| {
            (sums.0 + jobs[hour], sums.1 + covered[hour])
        });
        (sums.1 > 0.0).then(|| sums.0 / sums.1)
    };
    let all = over(&mut (0..168)).unwrap_or(1.0);
    (0..168)
        .map(|hour| {
            over(&mut std::iter::once(hour))
                .or_else(|| over(&mut (hour % 24..168).step_by(24)))
                .unwrap_or(all)
        })
        .collect()
}

/// Quantiles of jobs over jobs expected of the whole days of a trace, 1 on
/// average.
fn day_levels(batches: &[(u64, u64)], rates: &[f64], start: u64, until: u64) -> Vec<f64> {
    let first = batches.first().map_or(0, |b| b.0);
    // Days are counted from a midnight at or before time 0.
    let day = |second: u64| (second + start % DAY) / DAY;
    let (from, to) = (day(first) + 1, day(until));
    let days = to.saturating_sub(from) as usize;
    let mut found = vec![0.0; days];
    for (at, count) in batches {
        if let Some(sum) = day(*at)
            .checked_sub(from)
            .and_then(|d| found.get_mut(d as usize))
        {
            *sum += *count as f64;
        }
    }
    let mut levels: Vec<f64> = Vec::new();
    for (at, jobs) in found.iter().enumerate() {
        let weekday = ((start / DAY + from + at as u64) % 7) as usize;
        let expected: f64 = rates[weekday * 24..weekday * 24 + 24].iter().sum();
        if expected > 0.0 {
            levels.push(jobs / expected);
        }
    }
    levels.sort_unstable_by(f64::total_cmp);
    let kept = middles(&levels, levels.len().min(DAY_LEVELS));
    let mean = kept.iter().sum::<f64>() / kept.len().max(1) as f64;
    if kept.len() < 2 || mean <= 0.0 {
        return vec![1.0];
    }
    let rounded = |level: &f64| (level / mean * 1e4).round() / 1e4;
    kept.iter().map(rounded).collect()
}

/// So many values in the middle of equal parts of a sorted list.
fn middles(sorted: &[f64], count: usize) -> Vec<f64> {
    let middle = |i: usize| sorted[(2 * i + 1) * sorted.len() / (2 * count)];
    (0..count).map(middle).collect()
}

fn hour_of_week(second: u64, start: u64) -> usize {
    ((second + start) % WEEK / HOUR) as usize
}

/// The hours between two instants: from, until, hour of the week.
fn hours(from: u64, until: u64, start: u64) -> impl Iterator<Item = (u64, u64, usize)> {
    let mut at = from;
    std::iter::from_fn(move || {
        if at >= until {
            return None;
        }
        let end = (at + HOUR - (at + start) % HOUR).min(until);
        let hour = (at, end, hour_of_week(at, start));
        at = end;
        Some(hour)
    })
}

/// The hours of a look-alike, so that all their jobs together are `jobs`.
///
/// The levels of the days are dealt by weekday, so that every weekday keeps its
/// share and every hour of the day its own.
pub(super) fn slots(model: &LookAlike, jobs: u64, length: f64) -> impl Iterator<Item = Slot> {
    let start = model
        .unix_start
        .map_or(0, |unix| (unix + EPOCH_IN_WEEK) % WEEK);
    let from = model.first_submit_s;
    let until = from + (length as u64).max(1);
    let day_of =
        move |second: u64| ((second + start % DAY) / DAY - (from + start % DAY) / DAY) as usize;
    let days = day_factors(model, day_of(until) + 1);
    let weekday = ((from + start) / DAY % 7) as usize;
    let levels = rhythm::hour_factors(model, &days, weekday);
    let midnight = from + start - (from + start) % DAY;
    let weights = model.hours_of_week.clone();
    let weigh = move |(at, end, hour): (u64, u64, usize)| {
        let part = (end - at) as f64 / HOUR as f64;
        let place = ((at + start).saturating_sub(midnight) / HOUR) as usize;
        let level = levels.get(place).copied().unwrap_or(1.0);
        let factor = days.get(day_of(at)).copied().unwrap_or(1.0) * level;
        (at, end, hour % 24, weights[hour] * factor * part)
    };
    let total: f64 = hours(from, until, start).map(|h| weigh(h).3).sum();
    let seconds = (until - from) as f64;
    hours(from, until, start).map(move |hour| {
        let (from, until, hour_of_day, weight) = weigh(hour);
        // A stretch without any weight is filled evenly.
        let share = match total > 0.0 {
            true => weight / total,
            false => (until - from) as f64 / seconds,
        };
        Slot {
            from,
            until,
            hour_of_day,
            jobs: jobs as f64 * share,
        }
    })
}

/// How busy each day is.
fn day_factors(model: &LookAlike, days: usize) -> Vec<f64> {
    let mut random = rng::stream(model.seed, "look-alike/days");
    let mut sorted = model.day_levels.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut factors = vec![1.0; days];
    for weekday in 0..days.min(7) {
        let weeks = (days - weekday).div_ceil(7);
        let mut dealt: Vec<f64> = Vec::with_capacity(weeks);
        while dealt.len() < weeks {
            let round = (weeks - dealt.len()).min(sorted.len());
            let mut hand = middles(&sorted, round);
            let mean = hand.iter().sum::<f64>() / round as f64;
            if mean > 0.0 {
                hand.iter_mut().for_each(|level| *level /= mean);
            }
            for i in (1..hand.len()).rev() {
                hand.swap(i, below(&mut random, i as u64 + 1) as usize);
            }
            dealt.extend(hand);
        }
        for (week, factor) in dealt.into_iter().enumerate() {
            factors[weekday + 7 * week] = factor;
        }
    }
    factors
}
