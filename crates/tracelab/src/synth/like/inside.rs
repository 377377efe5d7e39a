//! Where in its ranges the jobs of a cell lie: of the run times from 12 to 24
//! hours, those on 64 processors may be the short ones. Ranges alone would take
//! both for independent, and get the demand wrong.

use crate::synth::unit::unit;
use rand::rngs::ChaCha8Rng;
use std::collections::BTreeMap;

/// Fewer jobs of a cell say nothing.
const LEAST: u64 = 30;

/// Cells that are listed, those that are furthest from the middle of their
/// ranges by their jobs.
const MOST: usize = 160;

/// A part of a thousand that counts as the middle.
const MIDDLE: u64 = 500;

/// Nearer to the middle than this is the middle.
const NEAR: u64 = 20;

/// Values of a range that are at hand, to be chosen from.
const AT_HAND: usize = 64;

/// Where each of some values lies among those of its range, from 0 to 1: the
/// middle of its equals. Pairs of a range and a value.
pub(super) fn places(values: &[(usize, u64)], ranges: usize) -> Vec<f64> {
    let mut sorted: Vec<Vec<u64>> = vec![Vec::new(); ranges];
    for (range, value) in values {
        sorted[*range].push(*value);
    }
    sorted.iter_mut().for_each(|values| values.sort_unstable());
    let place = |(range, value): &(usize, u64)| {
        let all = &sorted[*range];
        let below = all.partition_point(|other| other < value);
        let up_to = all.partition_point(|other| other <= value);
        (below + up_to) as f64 / 2.0 / all.len() as f64
    };
    values.iter().map(place).collect()
}

/// In threes: a cell, and the mean places of its run times and of its sizes in
/// their ranges, in thousandths. Jobs: cell, place of the run time, of the size.
pub(super) fn measure(jobs: impl Iterator<Item = (u64, f64, f64)>) -> Vec<u64> {
    let mut cells: BTreeMap<u64, (u64, f64, f64)> = BTreeMap::new();
    for (cell, run, size) in jobs {
        let sums = cells.entry(cell).or_default();
        *sums = (sums.0 + 1, sums.1 + run, sums.2 + size);
    }
    let permille = |sum: f64, jobs: u64| (sum * 1e3 / jobs as f64).round() as u64;
    let mut found: Vec<(u64, [u64; 3])> = cells
        .into_iter()
        .filter(|(_, sums)| sums.0 >= LEAST)
        .map(|(cell, (jobs, run, size))| {
            let places = [permille(run, jobs), permille(size, jobs)];
            let far = places.map(|place| place.abs_diff(MIDDLE));
            let weight = jobs * far.into_iter().max().unwrap_or(0);
            (weight, [cell, places[0], places[1]])
        })
        .filter(|(_, [_, run, size])| [run, size].iter().any(|at| at.abs_diff(MIDDLE) >= NEAR))
        .collect();
    found.sort_by_key(|(weight, numbers)| (std::cmp::Reverse(*weight), *numbers));
    found.truncate(MOST);
    found.sort_by_key(|(_, numbers)| *numbers);
    found.into_iter().flat_map(|(_, numbers)| numbers).collect()
}

/// The mean places of a cell, from 0 to 1: of run times and of sizes.
pub(super) fn of_cell(numbers: &[u64], cell: u64) -> (f64, f64) {
    let (triples, _) = numbers.as_chunks::<3>();
    let found = triples.binary_search_by_key(&cell, |triple| triple[0]);
    found.map_or((0.5, 0.5), |at| {
        (triples[at][1] as f64 / 1e3, triples[at][2] as f64 / 1e3)
    })
}

/// For each of some ranges, parts from 0 to below 1 that spread evenly, of which
/// some are at hand.
#[derive(Debug)]
pub(super) struct Spread {
    next: Vec<f64>,
    at_hand: Vec<Vec<f64>>,
    step: f64,
}

impl Spread {
    pub(super) fn new(ranges: usize, step: f64, random: &mut ChaCha8Rng) -> Self {
        Spread {
            next: (0..ranges).map(|_| unit(random)).collect(),
            at_hand: vec![Vec::new(); ranges],
            step,
        }
    }

    /// A part of a range, from where jobs lie in it on average. What is wanted
    /// most is soon rare at hand, so extreme wishes are met in part only: all
    /// parts together keep spreading evenly.
    pub(super) fn take(&mut self, range: usize, mean: f64, random: &mut ChaCha8Rng) -> f64 {
        let at_hand = &mut self.at_hand[range];
        while at_hand.len() < AT_HAND {
            let next = &mut self.next[range];
            *next = (*next + self.step) % 1.0;
            let place = at_hand.partition_point(|part| part < next);
            at_hand.insert(place, *next);
        }
        // The mean of u^x is 1 / (x + 1).
        let exponent = 1.0 / mean.clamp(0.02, 0.98) - 1.0;
        let place = (unit(random).powf(exponent) * at_hand.len() as f64) as usize;
        at_hand.remove(place.min(at_hand.len() - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::rng;

    #[test]
    fn jobs_of_a_cell_lie_where_they_lay_and_all_together_spread_evenly() {
        // One range of run times: half of the jobs, of cell 1, are the longer ones.
        let values: Vec<(usize, u64)> = (0..200).map(|i| (0, i)).collect();
        let at = places(&values, 1);
        let cell = |i: usize| u64::from(i >= 100);
        let numbers = measure((0..200).map(|i| (cell(i), at[i], 0.5)));
        assert_eq!(numbers, [0, 250, 500, 1, 750, 500]);
        assert_eq!(of_cell(&numbers, 2), (0.5, 0.5));
        let mut random = rng::stream(1, "test");
        let mut spread = Spread::new(1, 0.754_877_666, &mut random);
        let mut taken: [Vec<f64>; 2] = Default::default();
        for i in 0..4_000 {
            let cell = i % 2;
            let mean = of_cell(&numbers, cell as u64).0;
            taken[cell].push(spread.take(0, mean, &mut random));
        }
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        let means = [mean(&taken[0]), mean(&taken[1])];
        assert!((means[0] - 0.25).abs() < 0.06, "{means:?}");
        assert!((means[1] - 0.75).abs() < 0.06, "{means:?}");
        let mut all = taken.concat();
        all.sort_unstable_by(f64::total_cmp);
        let apart = all
            .iter()
            .enumerate()
            .map(|(i, part)| (part - i as f64 / 4e3).abs());
        let most = apart.fold(0.0, f64::max);
        assert!(most < 0.02, "{most}");
    }
}
