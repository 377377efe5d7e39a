//! Finds the weights with which the distances of jobs are as wanted.
//!
//! Taking one of several hours with a probability in proportion to exp(-score)
//! gives the distribution nearest to that of the hours among those with the wanted
//! mean (exponential tilting: Csiszar, Annals of Probability 3, 1975). The scores
//! follow from its convex dual, by Newton's method.

use super::choose::{odds, shares};
use super::gaps::{BINS, Bins};
use crate::characterize::bins::cumulate;

/// What rounding can make of sums that are the same.
const ROUNDING: f64 = 1e-9;

/// Steps of Newton's method.
const STEPS: usize = 12;

/// Weights with which hours like these have a distribution function near the
/// wanted one; `ridge` is what weights cost, so that none is large for little.
pub(super) fn fit(hours: &[Vec<Bins>], wanted: &[f64; BINS], ridge: f64) -> Vec<f64> {
    let hours: Vec<Vec<[f64; BINS]>> = hours
        .iter()
        .map(|hour| hour.iter().map(below).collect())
        .collect();
    let all: f64 = hours.iter().map(|hour| mean(hour, BINS - 1)).sum();
    // At the ends of bins, as the hours' sums are: the weight of a bin is the sum
    // of those of the ends from it on.
    let mut ends = vec![0.0; BINS];
    let dual = Dual {
        hours: &hours,
        wanted,
        ridge,
        all: all.max(1e-9),
    };
    let mut value = dual.value(&ends);
    for _ in 0..STEPS {
        let (gradient, hessian) = dual.slope(&ends);
        let step = solve(hessian, gradient);
        let mut part = 1.0;
        let better = loop {
            let moved: Vec<f64> = ends.iter().zip(&step).map(|(e, s)| e + part * s).collect();
            let found = dual.value(&moved);
            if found < value {
                break Some((found, moved));
            }
            part /= 2.0;
            if part < 1e-3 {
                break None;
            }
        };
        let Some((found, moved)) = better else { break };
        let gained = value - found;
        (value, ends) = (found, moved);
        if gained < 1e-8 {
            break;
        }
    }
    let mut sum = 0.0;
    let mut weights: Vec<f64> = ends
        .iter()
        .rev()
        .map(|end| {
            sum += end;
            (sum * 1e4).round() / 1e4
        })
        .collect();
    weights.reverse();
    weights
}

fn below(bins: &Bins) -> [f64; BINS] {
    let mut sums = bins.map(f64::from);
    cumulate(&mut sums);
    sums
}

fn mean(hour: &[[f64; BINS]], at: usize) -> f64 {
    hour.iter().map(|sums| sums[at]).sum::<f64>() / hour.len().max(1) as f64
}

/// What weights minimize: the sum over hours of ln(sum of exp(-score)), plus the
/// wanted score, each for one distance, plus the cost of weights.
struct Dual<'a> {
    hours: &'a [Vec<[f64; BINS]>],
    wanted: &'a [f64; BINS],
    ridge: f64,
    all: f64,
}

impl Dual<'_> {
    fn value(&self, ends: &[f64]) -> f64 {
        let dot = |sums: &[f64; BINS]| sums.iter().zip(ends).map(|(a, b)| a * b).sum::<f64>();
        let of_hour = |hour: &Vec<[f64; BINS]>| {
            let scores: Vec<f64> = hour.iter().map(dot).collect();
            let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
            let sum: f64 = odds(&scores, least).iter().sum();
            sum.ln() - least
        };
        let hours: f64 = self.hours.iter().map(of_hour).sum();
        let cost: f64 = ends.iter().map(|end| end * end).sum();
        hours / self.all + dot(self.wanted) + self.ridge / 2.0 * cost
    }

    /// Down the slope, and how it bends.
    fn slope(&self, ends: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
        let mut down = vec![0.0; BINS];
        let mut bends = vec![vec![0.0; BINS]; BINS];
        for hour in self.hours {
            let dot = |sums: &[f64; BINS]| sums.iter().zip(ends).map(|(a, b)| a * b).sum::<f64>();
            let shares = shares(&hour.iter().map(dot).collect::<Vec<f64>>());
            let mut mean = [0.0; BINS];
            for (sums, share) in hour.iter().zip(&shares) {
                for (mean, sum) in mean.iter_mut().zip(sums) {
                    *mean += share * sum;
                }
            }
            for (down, mean) in down.iter_mut().zip(mean) {
                *down += mean / self.all;
            }
            for (sums, share) in hour.iter().zip(&shares) {
                let off: [f64; BINS] = std::array::from_fn(|at| sums[at] - mean[at]);
                // A few jobs differ at a few distances only.
                let apart = |off: &f64| off.abs() > ROUNDING;
                let from = off.iter().position(apart).unwrap_or(BINS);
                let until = off.iter().rposition(apart).map_or(from, |at| at + 1);
                for at in from..until {
                    let here = off[at] * share / self.all;
                    let row = &mut bends[at][from..=at];
                    for (bend, off) in row.iter_mut().zip(&off[from..=at]) {
                        *bend += here * off;
                    }
                }
            }
        }
        for at in 0..BINS {
            down[at] -= self.wanted[at] + self.ridge * ends[at];
            bends[at][at] += self.ridge;
        }
        (down, bends)
    }
}

/// Solves a positive definite system of which the lower triangle is given, by
/// Cholesky's decomposition.
fn solve(mut rows: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let size = right.len();
    for at in 0..size {
        for column in 0..=at {
            let dot: f64 = (0..column).map(|k| rows[at][k] * rows[column][k]).sum();
            let rest = rows[at][column] - dot;
            rows[at][column] = match at == column {
                true => rest.max(1e-12).sqrt(),
                false => rest / rows[column][column],
            };
        }
    }
    for at in 0..size {
        let dot: f64 = (0..at).map(|k| rows[at][k] * right[k]).sum();
        right[at] = (right[at] - dot) / rows[at][at];
    }
    for at in (0..size).rev() {
        let dot: f64 = (at + 1..size).map(|k| rows[k][at] * right[k]).sum();
        right[at] = (right[at] - dot) / rows[at][at];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::super::choose::DRAWN;
    use super::*;

    #[test]
    fn weights_bring_the_mean_to_what_is_wanted() {
        // Hours of ten distances, of which up to half are in bin 30 and the rest
        // in bin 50: a quarter of them on the mean.
        let hour = |at: usize| {
            let near = (at % DRAWN) as f32;
            let mut bins = [0.0; BINS];
            (bins[30], bins[50]) = (near, 10.0 - near);
            bins
        };
        let hours = vec![(0..DRAWN).map(hour).collect::<Vec<Bins>>(); 40];
        for share in [0.1, 0.25, 0.4] {
            let mut wanted = [0.0; BINS];
            wanted[30..50].fill(share);
            wanted[50..].fill(1.0);
            let weights = fit(&hours, &wanted, 1e-6);
            let scores: Vec<f64> = hours[0]
                .iter()
                .map(|bins| f64::from(bins[30]) * weights[30] + f64::from(bins[50]) * weights[50])
                .collect();
            let shares = shares(&scores);
            let found: f64 = hours[0]
                .iter()
                .zip(&shares)
                .map(|(b, s)| f64::from(b[30]) * s)
                .sum();
            assert!((found / 10.0 - share).abs() < 0.002, "{share}: {found}");
        }
    }

    #[test]
    fn what_no_hour_has_costs_no_more_than_it_may() {
        let mut bins = [0.0; BINS];
        bins[7] = 3.0;
        let mut wanted = [0.0; BINS];
        wanted[40..].fill(1.0);
        let weights = fit(&vec![vec![bins; DRAWN]; 9], &wanted, 0.003);
        assert!(weights.iter().all(|l| l.is_finite()), "{weights:?}");
    }

    #[test]
    fn a_positive_definite_system_is_solved_by_its_lower_triangle() {
        let rows = vec![vec![4.0, 9.9], vec![2.0, 3.0]];
        let found = solve(rows, vec![10.0, 9.0]);
        assert!((found[0] - 1.5).abs() < 1e-12 && (found[1] - 2.0).abs() < 1e-12);
    }
}
