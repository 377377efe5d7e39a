//! Runs a model to see what suits its source: the form in which submissions
//! crowd, and how long users go on.
//!
//! The odds of [`turns`](super::turns) are measured one job at a time; sessions
//! that last for hours are more than a sequence of such odds, and show in how
//! many jobs of a thinned trace still stand in batches. One number moves all
//! odds so that a look-alike has as many of them as its source (simulated
//! moments: the model is run, compared and moved).

use super::week::{Arrivals, Form, Instants};
use super::{BATCH_WINDOW_S, LookAlike, gaps, tilting};
use crate::characterize::bins::quarter_octave;
use crate::format::field;
use crate::synth::error::SynthError;
use crate::synth::unit::unit;
use gridrig_core::rng;
use std::collections::BTreeMap;

/// The share of the jobs that is kept, as `trace validate --generated` does.
const KEPT: f64 = 0.1;

/// Samples that a share is the mean of.
const SAMPLES: usize = 8;

/// Fewer jobs say nothing of batches once they are thinned.
const LEAST: usize = 2_000;

/// Seeds that a way to tell arrivals is judged by.
const SEEDS: u64 = 3;

/// What weights may cost, so that none is large for little: each is tried.
const RIDGES: [f64; 3] = [0.000_5, 0.003, 0.03];

/// The mean of Kolmogorov's distribution: how far a sample of n is from its
/// source, times the root of n.
const MEAN_DISTANCE: f64 = 0.868_7;

/// How often weights are corrected by what the model then does.
const CORRECTIONS: usize = 2;

/// Runs of the model, at most.
const RUNS: usize = 6;

/// How near is near enough.
const NEAR: f64 = 0.0015;

/// How far the logarithm of the odds may move.
const FARTHEST: f64 = 2.0;

/// Share of the jobs in batches of two or more (DMM 5.1) once jobs are thinned;
/// jobs in order: submit time in seconds and user.
pub(super) fn thinned_batches(jobs: &[(u64, i64)]) -> f64 {
    let mut random = rng::stream(1, "look-alike/thin");
    let mut sum = 0.0;
    for _ in 0..SAMPLES {
        let mut open: BTreeMap<i64, (u64, u64)> = BTreeMap::new();
        let (mut kept, mut batched) = (0u64, 0u64);
        for (at, user) in jobs {
            if unit(&mut random) >= KEPT {
                continue;
            }
            kept += 1;
            let batch = open.entry(*user).or_insert((*at, 0));
            if batch.1 > 0 && at - batch.0 > BATCH_WINDOW_S {
                *batch = (*at, 0);
            }
            batch.1 += 1;
            batched += match batch.1 {
                1 => 0,
                2 => 2,
                _ => 1,
            };
        }
        sum += batched as f64 / kept.max(1) as f64;
    }
    sum / SAMPLES as f64
}

/// Bins of gaps: 0 s, then four to an octave of seconds.
const BINS: usize = 1 + 4 * 32;

/// The mean distribution function of the gaps of a thinned trace; submit times
/// in seconds, in order.
pub(super) fn thinned_gaps(submits: impl Iterator<Item = u64> + Clone) -> Vec<f64> {
    let mut random = rng::stream(1, "look-alike/thin");
    let mut counts = vec![0.0; BINS];
    for _ in 0..SAMPLES {
        let mut last: Option<u64> = None;
        for at in submits.clone() {
            if unit(&mut random) >= KEPT {
                continue;
            }
            if let Some(last) = last {
                counts[gap_bin(at - last)] += 1.0;
            }
            last = Some(at);
        }
    }
    let total = counts.iter().sum::<f64>().max(1.0);
    let mut below = 0.0;
    for count in &mut counts {
        below += *count / total;
        *count = below;
    }
    counts
}

fn gap_bin(gap: u64) -> usize {
    quarter_octave(gap).min(BINS - 1)
}

impl LookAlike {
    /// Takes the way to tell arrivals whose gaps between submissions come nearest
    /// to the source's (greatest distance of the distribution functions once
    /// thinned, mean of three seeds): its place in the list, and its form.
    pub(super) fn choose_arrivals(&self, ways: &[Arrivals], submits: &[u64]) -> (usize, Form) {
        let wanted = thinned_gaps(submits.iter().copied());
        let missed = |arrivals: &Arrivals, form: &Form| {
            let mut model = self.clone();
            model.set_arrivals(arrivals, form);
            let mut sum = 0.0;
            for seed in self.seed..self.seed + SEEDS {
                model.seed = seed;
                let length = self.source.days * 86_400.0;
                let made: Vec<u64> = Instants::new(&model, self.source.jobs, length).collect();
                let found = thinned_gaps(made.iter().copied());
                let apart = found.iter().zip(&wanted).map(|(a, b)| (a - b).abs());
                sum += apart.fold(0.0, f64::max);
            }
            sum
        };
        let ways = ways.iter().enumerate();
        let forms = ways.flat_map(|(at, way)| way.forms.iter().map(move |form| (at, way, form)));
        let best = forms
            .map(|(at, way, form)| (missed(way, form), at, form))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        best.map_or_else(Default::default, |(_, at, form)| (at, form.clone()))
    }

    /// Finds the weights with which the gaps between submissions come
    /// near to the source's; none where they are as near as a sample's anyway.
    pub(super) fn fit_gap_weights(&self, submits: &[u64]) -> Vec<f64> {
        let wanted = gaps::measure(submits);
        let mut model = self.clone();
        model.gap_weights.clear();
        let (_, missed, _) = model.run_gaps(&wanted);
        if missed <= MEAN_DISTANCE / (KEPT * submits.len() as f64).sqrt() {
            return Vec::new();
        }
        model.gap_weights = vec![0.0; gaps::BINS];
        let (hours, _, _) = model.run_gaps(&wanted);
        let mut best = (missed, Vec::new());
        for ridge in RIDGES {
            // What a run has too much of is asked for less in the next one.
            let mut asked = wanted;
            for _ in 0..CORRECTIONS {
                model.gap_weights = tilting::fit(&hours, &asked, ridge);
                let (_, missed, mean) = model.run_gaps(&wanted);
                if missed < best.0 {
                    best = (missed, model.gap_weights.clone());
                }
                for ((asked, mean), wanted) in asked.iter_mut().zip(mean).zip(wanted) {
                    *asked += wanted - mean;
                }
            }
        }
        best.1
    }

    /// The hours that this model draws with a few seeds, how far its gaps are
    /// from those wanted, on the mean, and their mean distribution function.
    fn run_gaps(
        &self,
        wanted: &[f64; gaps::BINS],
    ) -> (Vec<Vec<gaps::Bins>>, f64, [f64; gaps::BINS]) {
        let mut model = self.clone();
        let (mut hours, mut missed, mut mean) = (Vec::new(), 0.0, [0.0; gaps::BINS]);
        for seed in self.seed..self.seed + SEEDS {
            model.seed = seed;
            let length = self.source.days * 86_400.0;
            let instants = Instants::new(&model, self.source.jobs, length);
            let (drawn, made) = instants.drawn_gaps();
            hours.extend(drawn);
            let found = gaps::measure(&made);
            missed += gaps::apart(&found, wanted) / SEEDS as f64;
            for (mean, found) in mean.iter_mut().zip(found) {
                *mean += found / SEEDS as f64;
            }
        }
        (hours, missed, mean)
    }

    pub(super) fn set_arrivals(&mut self, arrivals: &Arrivals, form: &Form) {
        self.hours_of_week.clone_from(&arrivals.hours_of_week);
        self.hours_of_day.clone_from(&arrivals.hours_of_day);
        self.days.clone_from(&arrivals.days);
        self.silences_min.clone_from(&arrivals.silences);
        self.rows.clone_from(&arrivals.rows);
        self.splits.clone_from(&form.splits);
        self.folds.clone_from(&form.folds);
        self.halves.clone_from(&form.halves);
    }

    /// Moves the odds to go on until the model has the share of jobs in batches
    /// that its source has.
    pub(super) fn calibrate(&mut self, source: &[(u64, i64)]) -> Result<(), SynthError> {
        if source.len() < LEAST {
            return Ok(());
        }
        let wanted = thinned_batches(source);
        let own: Vec<f64> = self.profiles.iter().map(|profile| profile.stays).collect();
        let mut moved = 0.0;
        let mut tried: Vec<(f64, f64)> = Vec::new();
        for _ in 0..RUNS {
            self.move_odds(&own, moved);
            let missed = self.batched()? - wanted;
            tried.push((moved, missed));
            if missed.abs() < NEAR {
                break;
            }
            moved = next(&tried).clamp(-FARTHEST, FARTHEST);
        }
        let best = tried.iter().min_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        self.move_odds(&own, best.map_or(0.0, |best| best.0));
        Ok(())
    }

    fn move_odds(&mut self, own: &[f64], moved: f64) {
        for (profile, own) in self.profiles.iter_mut().zip(own) {
            profile.stays = ((own + moved) * 1e3).round() / 1e3;
        }
    }

    fn batched(&self) -> Result<f64, SynthError> {
        let jobs: Vec<(u64, i64)> = self
            .jobs()?
            .map(|job| {
                let user = job.count(field::USER);
                let user = user.and_then(|user| i64::try_from(user).ok());
                (job.count(field::SUBMIT).unwrap_or(0), user.unwrap_or(-1))
            })
            .collect();
        Ok(thinned_batches(&jobs))
    }
}

/// Where to look next: along the line through the last two tries.
fn next(tried: &[(f64, f64)]) -> f64 {
    /// Shares move by about so much for each unit of the odds' logarithm.
    const STEEPNESS: f64 = 0.1;
    let (at, missed) = tried[tried.len() - 1];
    let before = tried.len().checked_sub(2).map(|before| tried[before]);
    let steepness = before
        .filter(|before| (before.0 - at).abs() > 1e-6)
        .map(|before| (missed - before.1) / (at - before.0))
        .filter(|steepness| *steepness > STEEPNESS / 10.0)
        .unwrap_or(STEEPNESS);
    at - (missed / steepness).clamp(-0.7, 0.7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_of_a_thinned_trace_are_those_that_are_left_of_it() {
        // One user every second: of any ten seconds one is left, within 120 s of
        // the next. Many users: never two of one.
        let alone: Vec<(u64, i64)> = (0..5_000u64).map(|i| (i, i.cast_signed())).collect();
        assert!(thinned_batches(&alone).abs() < 1e-9);
        let one: Vec<(u64, i64)> = (0..5_000).map(|i| (i, 1)).collect();
        assert!(thinned_batches(&one) > 0.99);
    }
}
