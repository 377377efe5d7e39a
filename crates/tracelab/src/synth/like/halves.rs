//! How the jobs of a stretch of an hour or less fall on its two halves, told by
//! the quantiles of the larger half's share: a form that sees a burst beside one
//! late job as well as an even row, and crowds up to thousands of jobs.

use super::halved::{Halved, moved, side, side_pull};
use crate::synth::unit::unit;
use rand::rngs::ChaCha8Rng;

/// Classes of stretches by their jobs: 1, 2, 3 and 4, 5 to 8, ... 2049 to 4096
/// and more.
pub(super) const OCTAVES: usize = 13;

/// Steps between quantiles.
const STEPS: usize = 12;

/// Fewer stretches of a class say nothing.
const LEAST: usize = 3;

/// Numbers of a class in a model file, without quantiles and with them.
pub(super) const NUMBERS: [usize; 2] = [3, 3 + STEPS + 1];

fn octave(jobs: u64) -> usize {
    (jobs.max(1).next_power_of_two().ilog2() as usize).min(OCTAVES - 1)
}

/// The larger half of stretches with about as many jobs, as a model file has it:
/// the exponent of the odds that it is on the side of the larger neighbour, as
/// that of a split; how many of a thousand stretches have halves as even as can
/// be, and how many have all jobs in one; else rising quantiles of its share, in
/// thousandths.
fn measure(seen: &[Halved]) -> Vec<f64> {
    let larger = |h: &Halved| h.left.max(h.jobs - h.left);
    let all = seen.iter().filter(|h| larger(h) == h.jobs).count();
    let even = |h: &&Halved| larger(h) < h.jobs && larger(h) <= h.jobs.div_ceil(2);
    let even = seen.iter().filter(even).count();
    let between = |h: &&Halved| larger(h) < h.jobs && larger(h) > h.jobs.div_ceil(2);
    let between = seen.iter().filter(between);
    let mut shares: Vec<f64> = between.map(|h| larger(h) as f64 / h.jobs as f64).collect();
    shares.sort_unstable_by(f64::total_cmp);
    let permille = |count: usize| (count as f64 * 1e3 / seen.len() as f64).round();
    let quantile = |step: usize| {
        let share = gridrig_results::stats::quantile(&shares, step as f64 / STEPS as f64);
        (share.unwrap_or(1.0) * 1e3).round()
    };
    let pull = (side_pull(seen) * 1e2).round() / 1e2;
    let mut numbers = vec![pull, permille(even), permille(all)];
    if !shares.is_empty() {
        numbers.extend((0..=STEPS).map(quantile));
    }
    numbers
}

/// Jobs of the larger half.
fn larger(numbers: &[f64], jobs: u64, random: &mut ChaCha8Rng) -> u64 {
    let (evenly, wholly, quantiles) = (numbers[1], numbers[2], &numbers[3..]);
    let even = jobs.div_ceil(2);
    if jobs < 2 {
        return jobs;
    }
    let drawn = unit(random) * 1e3;
    if drawn < evenly {
        return even;
    }
    // Two jobs have nothing between one each and both.
    if drawn < evenly + wholly || quantiles.len() < 2 || even + 1 >= jobs {
        return jobs;
    }
    let steps = quantiles.len() - 1;
    let place = unit(random) * steps as f64;
    let step = (place as usize).min(steps - 1);
    let (low, high) = (quantiles[step], quantiles[step + 1]);
    let share = (low + (place - step as f64) * (high - low)) / 1e3;
    ((share * jobs as f64).round() as u64).clamp(even + 1, jobs - 1)
}

/// One halving, by the octave of the jobs.
pub(super) fn fit(seen: &[Halved]) -> Vec<Vec<f64>> {
    let mut by_octave: Vec<Vec<Halved>> = vec![Vec::new(); OCTAVES];
    for halved in seen {
        by_octave[octave(halved.jobs)].push(*halved);
    }
    let mut last = vec![0.0; NUMBERS[0]];
    let most = by_octave.iter().rposition(|seen| seen.len() >= LEAST);
    let mut rows = Vec::with_capacity(OCTAVES);
    for seen in &by_octave[..most.map_or(0, |most| most + 1)] {
        // What was hardly ever seen is like what is a little smaller.
        if seen.len() >= LEAST {
            last = measure(seen);
        }
        rows.push(last.clone());
    }
    rows
}

/// How many of so many jobs fall on the left half, whose share would be `p` if
/// jobs were spread evenly.
pub(super) fn draw(
    rows: &[Vec<f64>],
    jobs: u64,
    p: f64,
    slope: f64,
    random: &mut ChaCha8Rng,
) -> u64 {
    let known = rows.len().saturating_sub(1);
    rows.get(octave(jobs).min(known)).map_or(0, |numbers| {
        let larger = larger(numbers, jobs, random);
        side(larger, jobs, moved(p, numbers[0], slope), random)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::rng;

    #[test]
    fn halves_are_measured_as_they_were_made() {
        // Of stretches of forty jobs half are even, a quarter one-sided, and the
        // others leave one or two jobs aside.
        let seen: Vec<Halved> = (0..4_000)
            .map(|i| Halved {
                jobs: 40,
                left: [20, 39, 40, 20, 38, 20, 0, 20][i % 8],
                p: 0.5,
                slope: 0.0,
            })
            .collect();
        let rows = fit(&seen);
        let mut random = rng::stream(1, "test");
        let mut counts = [0_u32; 41];
        for _ in 0..8_000 {
            let left = draw(&rows, 40, 0.5, 0.0, &mut random);
            counts[left.max(40 - left) as usize] += 1;
        }
        for (larger, expected) in [(20, 4_000), (38, 1_000), (39, 1_000), (40, 2_000)] {
            let found = counts[larger];
            assert!(found.abs_diff(expected) < 200, "{larger}: {found}");
        }
        assert_eq!(rows[6].len(), NUMBERS[1]);
    }
}
