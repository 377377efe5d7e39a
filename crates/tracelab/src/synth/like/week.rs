//! When jobs are submitted: the days of the source in their order, the hours of
//! a week, and splits from there down to a second.

use super::LookAlike;
use super::choose::{self, Chooser};
use super::gaps::Bins;
use super::halved::Halved;
use super::halves;
use super::hours::{Hours, SourceDays, deal};
use super::residual::Residuals;
use super::rows::{self, Row, Rows};
use super::silences;
use super::splits::{self, CROWDS, DAY_HALVINGS, HOUR_HALVINGS, KINDS, SOMEHOW, Split, Within};
use super::stretch::{DAY, HOUR, MINUTES, Span, Stretch, WEEK};
use super::weights::{self, Weights};
use crate::characterize::calendar::Clock;
use gridrig_core::rng;
use gridrig_core::time::SimDuration;
use rand::rngs::ChaCha8Rng;

/// Unix time 0 was a Thursday; weeks begin on Monday.
const EPOCH_IN_WEEK: u64 = 3 * DAY;

/// Monday, 1 January 2024, 0:00.
const MADE_UP_MONDAY: u64 = 1_704_067_200;

/// Days that a model keeps; of a longer source the last ones.
const MOST_DAYS: usize = 4_000;

/// Hours from the Monday at or before time 0, counted so that hours of the log
/// are whole: they are what a log is compared by.
fn hour_shift(second_of_week: u64) -> u64 {
    second_of_week / HOUR
}

/// Rows that a model lists, those with most jobs: one of these.
const ROWS: [usize; 4] = [200, 400, 800, 1_600];

/// Rows have so large a part of the jobs at most: the others have to show what
/// hours and days are like.
const MOST_IN_ROWS: f64 = 0.8;

/// Measures submit times in seconds since time 0, in order, for a model: each way
/// in which it can tell when jobs are submitted; at least one. With rows, where
/// there are rows of jobs by the clock, and without.
pub(super) fn measure(model: &LookAlike, submits: &[u64], clock: &Clock) -> Vec<LookAlike> {
    let mut ways = measure_one(model, submits, submits, &[], clock);
    let enough = (1.0 - MOST_IN_ROWS) * submits.len() as f64;
    for most in ROWS {
        let (rows, rest) = rows::find(submits, most);
        if !rows.is_empty() && rest.len() as f64 >= enough.max(2.0) {
            ways.extend(measure_one(model, submits, &rest, &rows, clock));
        }
        if rows.len() < most {
            break;
        }
    }
    ways
}

/// Measures the submissions `submits` of a trace that are in none of its rows.
fn measure_one(
    model: &LookAlike,
    all: &[u64],
    submits: &[u64],
    rows: &[Row],
    clock: &Clock,
) -> Vec<LookAlike> {
    let start = clock.second_of_week(SimDuration::ZERO);
    let shift = hour_shift(start);
    let first = all.first().copied().unwrap_or(0);
    let last = all.last().copied().unwrap_or(0);
    let span = Span::new(first, last + 1, shift);
    let silences = silences::longest(all, shift);
    let submits = &match silences::have_ends(&silences, all.len() as u64) {
        true => silences::without_ends(submits, &silences, shift),
        false => submits.to_vec(),
    };
    let mut by_week = vec![0.0; 168];
    let mut covered = vec![0.0; 168];
    for hour in span.hours() {
        covered[(hour % 168) as usize] += span.covered(hour);
    }
    let mut hours_of_day = vec![0; 24];
    let mut days = vec![0u64; span.days()];
    for at in submits {
        let hour = at / HOUR + shift;
        by_week[(hour % 168) as usize] += 1.0;
        hours_of_day[(hour % 24) as usize] += 1;
        days[(hour / 24 - span.first_day()) as usize] += 1;
    }
    let rates = rates(&by_week, &covered);
    let weights = Weights::new(span, &rates, silences);
    let mut ways = measure_forms(model, submits, &weights, shift, &days);
    whole(&mut days, span, &rates);
    let from = days.len().saturating_sub(MOST_DAYS).next_multiple_of(7);
    let days = days.split_off(from.min(days.len() - 1));
    let begin = (span.first_day() + from as u64) * 24;
    let shifted: Vec<Row> = rows
        .iter()
        .map(|row| Row {
            at: row.at + shift * HOUR,
            ..*row
        })
        .collect();
    let silences = weights.silences.iter();
    let kept = silences.filter(|silence| silence.0 >= begin * MINUTES);
    let kept = kept.flat_map(|(at, until)| [at - begin * MINUTES, until - at]);
    let rounded = |rate: &f64| (rate * 1e3).round() / 1e3;
    for way in &mut ways {
        way.unix_start = clock.unix_start.map(|_| MADE_UP_MONDAY + start);
        way.hours_of_week = rates.iter().map(rounded).collect();
        way.hours_of_day.clone_from(&hours_of_day);
        way.days.clone_from(&days);
        way.silences_min = kept.clone().collect();
        way.rows = rows::numbers(&shifted, begin * HOUR);
    }
    ways
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

/// Brings the first and the last day to what they would have if the trace
/// covered them: what is missing is as busy as the rest, unless there is too
/// little to tell.
fn whole(days: &mut [u64], span: Span, rates: &[f64]) {
    let mean = days.iter().sum::<u64>() / days.len() as u64;
    let full = Weights::new(Span::ALL, rates, Vec::new());
    let seen = Weights::new(span, rates, Vec::new());
    for at in [0, days.len() - 1] {
        let hours = (span.first_day() + at as u64) * 24..(span.first_day() + at as u64 + 1) * 24;
        days[at] = match seen.sum(hours.clone()) / full.sum(hours) {
            part if part >= 0.25 => (days[at] as f64 / part).round() as u64,
            _ => mean,
        };
        if days.len() == 1 {
            break;
        }
    }
}

/// Measures every halving of days and of hours. An hour is spread by splits, by
/// folds that take after the halving before or not, or by quantiles of halves:
/// which form suits a trace shows when it is made again.
fn measure_forms(
    model: &LookAlike,
    submits: &[u64],
    weights: &Weights<'_>,
    shift: u64,
    days: &[u64],
) -> Vec<LookAlike> {
    let span = &weights.span;
    let hours: Vec<u64> = submits.iter().map(|at| at / HOUR + shift).collect();
    let days = days.iter().enumerate();
    let mut stretches: Vec<(Stretch, usize)> = days
        .map(|(at, jobs)| (span.day(at, *jobs), SOMEHOW))
        .collect();
    stretches.retain(|stretch| stretch.0.jobs > 0);
    let mut splits = Vec::new();
    for _ in 0..DAY_HALVINGS {
        let share = |stretch: &Stretch| weights.left_share(stretch);
        let seen = halve(&mut stretches, &hours, &share);
        splits.push(split_row(&seen));
    }
    for (stretch, kind) in &mut stretches {
        let (from, until) = weights::open(*span, &weights.silences, stretch.at);
        stretch.at = from - shift * HOUR;
        stretch.length = until.saturating_sub(from);
        *kind = SOMEHOW;
    }
    let (mut within, mut after, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    let mut by_quantiles = Vec::new();
    for _ in 0..HOUR_HALVINGS {
        let seen = halve(&mut stretches, submits, &Stretch::even);
        within.push(split_row(&seen));
        after.push(splits::fit_folds(&seen, KINDS));
        alone.push(splits::fit_folds(&seen, 1));
        let seen: Vec<Halved> = seen.iter().map(|seen| seen.0).collect();
        by_quantiles.push(halves::fit(&seen));
    }
    let form = |splits: Vec<Vec<f64>>, folds, halves| LookAlike {
        splits,
        folds,
        halves,
        ..model.clone()
    };
    let in_all = [splits.clone(), within].concat();
    vec![
        form(splits.clone(), after, Vec::new()),
        form(splits.clone(), alone, Vec::new()),
        form(in_all, Vec::new(), Vec::new()),
        form(splits, Vec::new(), by_quantiles),
    ]
}

fn split_row(seen: &[(Halved, usize)]) -> Vec<f64> {
    let seen: Vec<Halved> = seen.iter().map(|seen| seen.0).collect();
    let row = splits::fit(&seen);
    row.iter()
        .flat_map(|split| [split.one_sided, split.spread, split.pull])
        .collect()
}

/// Measures one halving of stretches, each with the kind it takes after, and
/// goes on to their halves.
fn halve(
    stretches: &mut Vec<(Stretch, usize)>,
    times: &[u64],
    share: &dyn Fn(&Stretch) -> f64,
) -> Vec<(Halved, usize)> {
    let mut seen = Vec::new();
    *stretches = splits::halve(stretches, |stretch, kind, before, slope| {
        let inside = &times[before as usize..(before + stretch.jobs) as usize];
        let middle = stretch.at + stretch.length / 2;
        let left = inside.partition_point(|time| *time < middle) as u64;
        let p = share(stretch);
        if p > 0.0 && p < 1.0 {
            let halved = Halved {
                jobs: stretch.jobs,
                left,
                p,
                slope,
            };
            seen.push((halved, kind));
        }
        left
    });
    seen
}

/// The splits of a model by halving and crowd.
fn splits_of(model: &LookAlike) -> Vec<[Split; CROWDS]> {
    let row = |row: &Vec<f64>| {
        std::array::from_fn(|crowd| {
            let at = |number: usize| row.get(3 * crowd + number).copied().unwrap_or(0.0);
            Split {
                one_sided: at(0),
                spread: at(1),
                pull: at(2),
            }
        })
    };
    model.splits.iter().map(row).collect()
}

/// How the jobs of an hour are halved, halving by halving.
fn within_of(model: &LookAlike) -> Vec<Within> {
    if !model.halves.is_empty() {
        let rows = model.halves.iter().cloned();
        return rows.map(Within::Halves).collect();
    }
    if model.folds.is_empty() {
        let splits = splits_of(model).into_iter().skip(DAY_HALVINGS);
        return splits.map(Within::Splits).collect();
    }
    let rows = model.folds.iter().cloned();
    rows.map(Within::Folds).collect()
}

/// The instants of submission of a look-alike, in order.
pub(super) struct Instants {
    within: Vec<Within>,
    /// Hours with jobs, from the Monday at or before time 0.
    hours: std::vec::IntoIter<Stretch>,
    next: Option<Stretch>,
    rows: Rows,
    chooser: Option<Chooser>,
    shift: u64,
    span: Span,
    silences: Vec<(u64, u64)>,
    /// The jobs at the ends of silences, by seconds of the span.
    ends: std::iter::Peekable<std::vec::IntoIter<u64>>,
    random: ChaCha8Rng,
    ready: std::vec::IntoIter<Stretch>,
    /// Jobs of the current second that are still to be submitted.
    together: (u64, u64),
}

impl Instants {
    /// So many jobs in so many seconds from the beginning of the submissions.
    pub(super) fn new(model: &LookAlike, jobs: u64, length: f64) -> Self {
        let start = model
            .unix_start
            .map_or(0, |unix| (unix + EPOCH_IN_WEEK) % WEEK);
        let shift = hour_shift(start);
        let from = model.first_submit_s;
        let span = Span::new(from, from + (length as u64).max(1), shift);
        let splits = splits_of(model);
        let mut random = rng::stream(model.seed, "look-alike/arrivals");
        let source = SourceDays::new(model, &span, length, &mut random);
        let weights = Weights::new(span, &model.hours_of_week, source.silences());
        let mut row_random = rng::stream(model.seed, "look-alike/rows");
        let shift_s = shift * HOUR;
        let mut rows = Rows::new(&model.rows, source.places(), span, shift_s, &mut row_random);
        let of_source = source.of_source(&weights);
        let others: f64 = of_source.iter().sum();
        rows.scale(jobs as f64 / (others + rows.jobs() as f64).max(1.0));
        let ends = silences::ends(&weights, jobs);
        let set = rows.jobs() + ends.len() as u64;
        let days = deal(&of_source, jobs.saturating_sub(set));
        let silences = weights.silences.clone();
        let hours = Hours {
            model,
            weights,
            splits: &splits[..DAY_HALVINGS.min(splits.len())],
        };
        let mut hours = hours.of_days(days, &mut random).into_iter();
        Instants {
            within: within_of(model),
            next: hours.next(),
            hours,
            rows,
            chooser: (!model.gap_weights.is_empty()).then(|| {
                let random = rng::stream(model.seed, "look-alike/gaps");
                Chooser::new(&model.gap_weights, Residuals::new(jobs), from, random)
            }),
            shift,
            span,
            silences,
            ends: ends.into_iter().peekable(),
            random,
            ready: Vec::new().into_iter(),
            together: (0, 0),
        }
    }

    /// Hours that time 0 is after a Monday 0:00.
    pub(super) fn shift(&self) -> u64 {
        self.shift
    }

    /// The distances of all hours that could be chosen, and the submissions of
    /// those that are.
    pub(super) fn drawn_gaps(mut self) -> (Vec<Vec<Bins>>, Vec<u64>) {
        if let Some(chooser) = &mut self.chooser {
            chooser.keep();
        }
        let submits = self.by_ref().collect();
        (self.chooser.map(Chooser::seen).unwrap_or_default(), submits)
    }

    /// The seconds with jobs of the next day that has any, in order.
    fn day(&mut self) -> Option<Vec<Stretch>> {
        let of_hours = self.next.map(|hour| hour.at / 24);
        let of_ends = self.ends.peek().map(|at| at / DAY);
        let others = self.rows.next_day().into_iter().chain(of_ends);
        let day = of_hours.into_iter().chain(others).min()?;
        let mut stretches = Vec::new();
        while let Some(hour) = self.next.filter(|hour| hour.at / 24 == day) {
            // An hour at an edge of the trace or of a silence is shorter.
            let (from, until) = weights::open(self.span, &self.silences, hour.at);
            let stretch = Stretch {
                at: from - self.shift * HOUR,
                length: until.saturating_sub(from).max(1),
                jobs: hour.jobs,
            };
            stretches.push((stretch, SOMEHOW));
            self.next = self.hours.next();
        }
        let mut set = self.rows.of_day(day);
        while let Some(at) = self.ends.next_if(|at| at / DAY == day) {
            set.push(at - self.shift * HOUR);
        }
        let set: Vec<Stretch> = set.into_iter().map(Stretch::second).collect();
        let drawn = if self.chooser.is_some() {
            choose::DRAWN
        } else {
            1
        };
        let days: Vec<Vec<Stretch>> = (0..drawn)
            .map(|_| self.seconds(stretches.clone(), &set))
            .collect();
        Some(match &mut self.chooser {
            Some(chooser) => chooser.of_day(&days),
            None => days.into_iter().next().unwrap_or_default(),
        })
    }

    /// Draws the seconds of a day's hours, with those that are set.
    fn seconds(&mut self, mut hours: Vec<(Stretch, usize)>, set: &[Stretch]) -> Vec<Stretch> {
        for row in &self.within {
            hours = splits::halve(&hours, |stretch, after, _, slope| {
                row.draw(stretch.jobs, after, stretch.even(), slope, &mut self.random)
            });
        }
        let seconds = hours.into_iter().map(|stretch| stretch.0);
        let mut seconds: Vec<Stretch> = seconds.chain(set.iter().copied()).collect();
        seconds.sort_by_key(|second| second.at);
        seconds
    }
}

impl Iterator for Instants {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        while self.together.1 == 0 {
            match self.ready.next() {
                Some(second) => self.together = (second.at, second.jobs),
                None => self.ready = self.day()?.into_iter(),
            }
        }
        self.together.1 -= 1;
        Some(self.together.0)
    }
}
