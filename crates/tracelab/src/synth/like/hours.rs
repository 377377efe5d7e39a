//! The jobs of each day and of its hours.

use super::LookAlike;
use super::splits::{self, CROWDS, Split};
use super::stretch::{DAY, MINUTE, Span, Stretch};
use super::weights::Weights;
use crate::synth::unit::below;
use rand::rngs::ChaCha8Rng;

/// Minutes of a day.
const MINUTES: u64 = DAY / MINUTE;

/// Which day of the source each day of a span is like: those of the source from
/// a week on that the seed says, from the first one if the span is as long as
/// the source's.
pub(super) struct SourceDays<'a> {
    model: &'a LookAlike,
    span: &'a Span,
    /// For each day of the span its day of the source.
    places: Vec<usize>,
}

impl<'a> SourceDays<'a> {
    pub(super) fn new(
        model: &'a LookAlike,
        span: &'a Span,
        length: f64,
        random: &mut ChaCha8Rng,
    ) -> Self {
        let known = model.days.len();
        let weeks = known.div_ceil(7);
        let as_long = (length / DAY as f64 - model.source.days).abs() < 1.0;
        let drawn = below(random, weeks as u64) as usize;
        let offset = if as_long { 0 } else { drawn * 7 };
        let place = |day: usize| match (day + offset) % (7 * weeks) {
            place if place < known => place,
            // A week that the source ends in goes on like the one before.
            place => place.saturating_sub(7) % known,
        };
        SourceDays {
            model,
            span,
            places: (0..span.days()).map(place).collect(),
        }
    }

    /// The minutes of the span in which the source is silent.
    pub(super) fn silences(&self) -> Vec<(u64, u64)> {
        let mut silences: Vec<(u64, u64)> = Vec::new();
        let of_source: Vec<(u64, u64)> = self
            .model
            .silences_min
            .chunks_exact(2)
            .map(|pair| (pair[0], pair[0].saturating_add(pair[1])))
            .collect();
        for (day, place) in self.places.iter().enumerate() {
            let (from, until) = (*place as u64 * MINUTES, (*place as u64 + 1) * MINUTES);
            let first = of_source.partition_point(|silence| silence.1 <= from);
            let inside = of_source[first..]
                .iter()
                .take_while(|silence| silence.0 < until);
            let base = (self.span.first_day() + day as u64) * MINUTES;
            for silence in inside {
                let (from, until) = (silence.0.max(from) - from, silence.1.min(until) - from);
                match silences.last_mut() {
                    Some(last) if last.1 == base + from => last.1 = base + until,
                    _ => silences.push((base + from, base + until)),
                }
            }
        }
        silences
    }

    /// For each day of the span its day of the source.
    pub(super) fn places(&self) -> &[usize] {
        &self.places
    }

    /// The jobs of each day of the span as the source has them.
    pub(super) fn of_source(&self, weights: &Weights<'_>) -> Vec<f64> {
        let whole = Weights::new(Span::ALL, weights.rates, weights.silences.clone());
        let weigh = |(day, place): (usize, &usize)| {
            let first = (self.span.first_day() + day as u64) * 24;
            let (part, all) = (weights.sum(first..first + 24), whole.sum(first..first + 24));
            let part = if all > 0.0 {
                (part / all).min(1.0)
            } else {
                0.0
            };
            self.model.days[*place] as f64 * part
        };
        self.places.iter().enumerate().map(weigh).collect()
    }
}

/// Deals jobs to days in proportion to those that the source has.
pub(super) fn deal(of_source: &[f64], jobs: u64) -> Vec<u64> {
    let total: f64 = of_source.iter().sum();
    let even = 1.0 / of_source.len() as f64;
    let (mut sum, mut dealt) = (0.0, 0);
    of_source
        .iter()
        .map(|share| {
            sum += if total > 0.0 { share / total } else { even };
            let here = ((sum * jobs as f64).round() as u64).min(jobs) - dealt;
            dealt += here;
            here
        })
        .collect()
}

/// Spreads the jobs of days over their hours.
pub(super) struct Hours<'a> {
    pub(super) model: &'a LookAlike,
    pub(super) weights: Weights<'a>,
    pub(super) splits: &'a [[Split; CROWDS]],
}

/// A stretch that is being halved.
struct Halving {
    stretch: Stretch,
    left: u64,
    p: f64,
    slope: f64,
}

impl Hours<'_> {
    pub(super) fn of_days(&self, days: Vec<u64>, random: &mut ChaCha8Rng) -> Vec<Stretch> {
        let day = |(at, jobs)| self.weights.span.day(at, jobs);
        let mut stretches: Vec<Stretch> = days.into_iter().enumerate().map(day).collect();
        stretches.retain(|stretch| stretch.jobs > 0);
        for row in self.splits {
            let slopes = splits::slopes(stretches.iter().copied());
            let mut halvings: Vec<Halving> = stretches
                .iter()
                .zip(slopes)
                .map(|(stretch, slope)| {
                    let p = match stretch.length {
                        0..=1 => 1.0,
                        _ => self.weights.left_share(stretch),
                    };
                    let split = row[splits::crowd(stretch.jobs)];
                    let left = split.draw(stretch.jobs, p, slope, random);
                    Halving {
                        stretch: *stretch,
                        left,
                        p,
                        slope,
                    }
                })
                .collect();
            for hour in 0..24 {
                self.settle(&mut halvings, hour, row, random);
            }
            stretches = halvings
                .iter()
                .flat_map(|halving| match halving.stretch.length {
                    0..=1 => vec![halving.stretch],
                    _ => halving.stretch.halves(halving.left).to_vec(),
                })
                .filter(|stretch| stretch.jobs > 0)
                .collect();
        }
        stretches
    }

    /// Draws stretches of one time of the day again until all of them together
    /// have the share on the left that the source has: single bursts must not
    /// change the hours of the day.
    fn settle(
        &self,
        halvings: &mut [Halving],
        hour: u64,
        row: &[Split; CROWDS],
        random: &mut ChaCha8Rng,
    ) {
        /// Draws for each stretch, at most.
        const ROUNDS: usize = 40;
        let places: Vec<usize> = (0..halvings.len())
            .filter(|at| {
                let halving = &halvings[*at];
                halving.stretch.at % 24 == hour && halving.stretch.length > 1
            })
            .collect();
        let Some(first) = places.first() else {
            return;
        };
        let length = halvings[*first].stretch.length;
        let jobs = |from: u64, until: u64| -> f64 {
            let hours = &self.model.hours_of_day[from as usize..until as usize];
            hours.iter().sum::<u64>() as f64
        };
        let left = jobs(hour, hour + length / 2);
        let all = left + jobs(hour + length / 2, hour + length);
        let total: u64 = places.iter().map(|at| halvings[*at].stretch.jobs).sum();
        if all <= 0.0 {
            return;
        }
        let wanted = left / all * total as f64;
        let mut found: f64 = places.iter().map(|at| halvings[*at].left as f64).sum();
        let near = (0.001 * total as f64).max(0.5);
        for _ in 0..ROUNDS * places.len() {
            if (found - wanted).abs() <= near {
                break;
            }
            let halving = &mut halvings[places[below(random, places.len() as u64) as usize]];
            if halving.p <= 0.0 || halving.p >= 1.0 {
                continue;
            }
            let split = row[splits::crowd(halving.stretch.jobs)];
            let again = split.draw(halving.stretch.jobs, halving.p, halving.slope, random);
            let moved = found + again as f64 - halving.left as f64;
            if (moved - wanted).abs() < (found - wanted).abs() {
                found = moved;
                halving.left = again;
            }
        }
    }
}
