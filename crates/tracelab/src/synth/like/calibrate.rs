//! Runs a model to see what suits its source: the form in which submissions
//! crowd, and how long users go on.
//!
//! The odds of [`turns`](super::turns) are measured one job at a time; sessions
//! that last for hours are more than a sequence of such odds, and show in how
//! many jobs of a thinned trace still stand in batches. One number moves all
//! odds so that a look-alike has as many of them as its source (simulated
//! moments: the model is run, compared and moved).

use super::week::Instants;
use super::{BATCH_WINDOW_S, LookAlike, gaps, tilting};
use crate::characterize::bins::{cumulate, quarter_octave};
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
fn thinned_gaps(submits: &[u64]) -> Vec<f64> {
    let mut random = rng::stream(1, "look-alike/thin");
    let mut counts = vec![0.0; BINS];
    for _ in 0..SAMPLES {
        let mut last: Option<u64> = None;
        for at in submits {
            if unit(&mut random) >= KEPT {
                continue;
            }
            if let Some(last) = last {
                counts[gap_bin(at - last)] += 1.0;
            }
            last = Some(*at);
        }
    }
    let total = counts.iter().sum::<f64>().max(1.0);
    counts.iter_mut().for_each(|count| *count /= total);
    cumulate(&mut counts);
    counts
}

fn gap_bin(gap: u64) -> usize {
    quarter_octave(gap).min(BINS - 1)
}

/// Of ways to tell when jobs are submitted, the one whose gaps between submissions
/// come nearest to the source's: by the greatest distance of the distribution
/// functions once thinned, mean of three seeds.
pub(super) fn nearest(ways: Vec<LookAlike>, submits: &[u64]) -> LookAlike {
    let wanted = thinned_gaps(submits);
    let missed = |way: &LookAlike| {
        let made = way.runs().map(|instants| instants.collect::<Vec<_>>());
        let apart = made.map(|made| gaps::apart(&thinned_gaps(&made), &wanted));
        apart.sum::<f64>()
    };
    let ways = ways.into_iter().map(|way| (missed(&way), way));
    let best = ways.min_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(_, way)| way).unwrap_or_default()
}

impl LookAlike {
    /// Submissions as long as those of the source, with a few seeds.
    fn runs(&self) -> impl Iterator<Item = Instants> {
        (self.seed..self.seed + SEEDS).map(|seed| {
            let model = LookAlike {
                seed,
                ..self.clone()
            };
            Instants::new(&model, self.source.jobs, self.source.days * 86_400.0)
        })
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
        let (mut hours, mut missed, mut mean) = (Vec::new(), 0.0, [0.0; gaps::BINS]);
        for instants in self.runs() {
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
