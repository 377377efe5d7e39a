//! Hours whose distances of jobs are more or less likely.
//!
//! Halvings know how a stretch falls on its two halves, not how it goes on: a
//! program that looks for jobs once a minute, a pace that is kept for an hour.
//! So each hour is drawn several times, also with its jobs submitted at the looks
//! of a program, and one of these is taken with a probability in proportion to
//! exp(-sum of its distances' weights). [`tilting`](super::tilting) finds weights.

use super::gaps::{BINS, Before, Bins};
use super::residual::Residuals;
use super::stretch::{HOUR, Stretch};
use crate::synth::unit::unit;
use rand::rngs::ChaCha8Rng;

/// Hours that are drawn for each hour.
pub(super) const DRAWN: usize = 6;

/// Programs look for jobs every so many seconds: each hour that is drawn is also
/// one of them with its jobs submitted at such looks.
const PERIODS: [u64; DRAWN] = [2, 3, 5, 10, 30, 60];

/// How likely hours with looks are taken, without weights, over hours
/// without.
const LOOKS: f64 = 0.02;

/// Chooses hours.
pub(super) struct Chooser {
    /// The weight of each bin; none is 0.
    weights: [f64; BINS],
    residuals: Residuals,
    /// Nothing is submitted before this second.
    from: u64,
    before: Before,
    random: ChaCha8Rng,
    /// The distances of all hours that could be chosen, if they are to be kept.
    seen: Option<Vec<Vec<Bins>>>,
}

impl Chooser {
    pub(super) fn new(
        weights: &[f64],
        residuals: Residuals,
        from: u64,
        random: ChaCha8Rng,
    ) -> Self {
        let of = |at: usize| weights.get(at).copied().unwrap_or(0.0);
        Chooser {
            weights: std::array::from_fn(of),
            residuals,
            from,
            before: Before::new(),
            random,
            seen: None,
        }
    }

    /// Keeps what hours could be chosen.
    pub(super) fn keep(&mut self) {
        self.seen = Some(Vec::new());
    }

    pub(super) fn seen(self) -> Vec<Vec<Bins>> {
        self.seen.unwrap_or_default()
    }

    /// Of several days with the same jobs in each hour, each hour from one of
    /// them.
    pub(super) fn of_day(&mut self, days: &[Vec<Stretch>]) -> Vec<Stretch> {
        let hour = |second: &Stretch| second.at / HOUR;
        let mut left: Vec<&[Stretch]> = days.iter().map(Vec::as_slice).collect();
        let mut chosen = Vec::new();
        while let Some(now) = left.first().and_then(|day| day.first()).map(hour) {
            let mut hours = Vec::with_capacity(2 * left.len());
            for day in &mut left {
                let (this, rest) = day.split_at(day.partition_point(|s| hour(s) <= now));
                hours.push(submits(this));
                *day = rest;
            }
            for (at, period) in PERIODS.iter().enumerate().take(left.len()) {
                let earliest = self.from.max(now * HOUR);
                let phase = (unit(&mut self.random) * *period as f64) as u64;
                let look = |submit: &u64| {
                    let look = (submit + phase) / period * period;
                    look.saturating_sub(phase).max(earliest)
                };
                hours.push(hours[at].iter().map(look).collect());
            }
            let taken = self.choose(&hours);
            chosen.extend(hours[taken].iter().copied().map(Stretch::second));
        }
        chosen
    }

    /// The place of the hour that is taken.
    fn choose(&mut self, hours: &[Vec<u64>]) -> usize {
        let bins: Vec<Bins> = hours.iter().map(|hour| self.before.bins(hour)).collect();
        let scores = |weights: &[f64; BINS]| -> Vec<f64> {
            bins.iter().map(|bins| score(bins, weights)).collect()
        };
        let expected = shares(&scores(&self.weights));
        let mut weights = self.residuals.weights();
        for (weight, fitted) in weights.iter_mut().zip(self.weights) {
            *weight += fitted;
        }
        let mut at = unit(&mut self.random);
        let place = shares(&scores(&weights)).iter().position(|share| {
            at -= share;
            at < 0.0
        });
        let place = place.unwrap_or(0);
        if let Some(hour) = hours.get(place) {
            self.before.add(hour);
        }
        if let Some(taken) = bins.get(place) {
            self.residuals.add(taken, &bins, &expected);
        }
        if let Some(seen) = &mut self.seen {
            seen.push(bins);
        }
        place
    }
}

/// The submissions of an hour one by one.
fn submits(seconds: &[Stretch]) -> Vec<u64> {
    let jobs = |second: &Stretch| std::iter::repeat_n(second.at, second.jobs as usize);
    seconds.iter().flat_map(jobs).collect()
}

fn score(bins: &Bins, weights: &[f64; BINS]) -> f64 {
    let pairs = bins.iter().zip(weights);
    pairs.map(|(bin, weight)| f64::from(*bin) * weight).sum()
}

/// What is in proportion to the probabilities of hours with such scores, for some
/// number as the least score; hours with looks are in the second half.
pub(super) fn odds(scores: &[f64], least: f64) -> Vec<f64> {
    let prior = |at: usize| if at < DRAWN { 1.0 } else { LOOKS };
    let odds = scores.iter().enumerate();
    odds.map(|(at, score)| prior(at) * (least - score).exp())
        .collect()
}

/// Probabilities of hours with such scores.
pub(super) fn shares(scores: &[f64]) -> Vec<f64> {
    let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let odds = odds(scores, least);
    let all: f64 = odds.iter().sum();
    odds.iter().map(|share| share / all).collect()
}
