//! KOALA's workloads W1 and W2 as files, against the paper: Sonmez et al.,
//! e-Science 2006, section 5.4.

use crate::look_alike::reread;
use crate::submits;
use gridrig_tracelab::format::{EXECUTABLE, QUEUE};
use gridrig_tracelab::load::Loaded;
use gridrig_tracelab::synth::poisson::Koala;
use gridrig_tracelab::synth::{Extent, Model};
use std::collections::BTreeMap;

/// What the paper prints: workload, jobs, mean seconds between two of them.
const PAPER: [(Koala, usize, f64); 2] = [(Koala::W1, 200, 80.0), (Koala::W2, 200, 40.0)];

/// Seeds, which are fixed, and jobs of the long workload.
const SEEDS: u64 = 25;
const MANY: u64 = 20_000;

/// A workload written and read back.
fn read_back(workload: Koala, jobs: Option<u64>, seed: u64) -> Loaded {
    let mut model = workload.model(seed);
    if let Some(jobs) = jobs {
        model.extent = Extent::jobs(jobs);
    }
    reread(&Model::Poisson(model))
}

#[test]
fn the_rates_are_those_of_the_paper() {
    for (workload, jobs, apart) in PAPER {
        let mut sum = 0.0;
        for seed in 1..=SEEDS {
            let submits = submits(&read_back(workload, None, seed));
            assert_eq!(submits.len(), jobs);
            sum += submits[jobs - 1];
        }
        // The last of 200 submissions is 200 gaps after time 0; the mean of 5,000
        // gaps has a standard error of 1.4 %.
        let mean = sum / (SEEDS as f64 * jobs as f64);
        assert!((mean / apart - 1.0).abs() < 0.05, "{workload:?}: {mean}");
    }
}

/// Applications, sizes and numbers of components are drawn uniformly, each in
/// turn; no component has more than 24 processors.
#[test]
fn the_mix_is_that_of_the_paper() {
    let half = 1.0 / 2.0;
    let third = 1.0 / 3.0;
    // Application (1 Laplace, 2 2D-heat), processors, components: probability.
    let expected = BTreeMap::from([
        ((1, 36, 2), half * half * third),
        ((1, 36, 3), half * half * third),
        ((1, 36, 4), half * half * third),
        ((1, 64, 4), half * half),
        ((2, 36, 2), half * third * third),
        ((2, 36, 3), half * third * third),
        ((2, 36, 4), half * third * third),
        ((2, 64, 4), half * third),
        ((2, 72, 3), half * third * half),
        ((2, 72, 4), half * third * half),
    ]);
    for (workload, _, _) in PAPER {
        let loaded = read_back(workload, Some(MANY), 1);
        let mut counts: BTreeMap<(u32, u32, u32), f64> = BTreeMap::new();
        for job in &loaded.jobs {
            let components = job.ids[QUEUE].unwrap();
            assert!(job.processors / components <= 24);
            let kind = (job.ids[EXECUTABLE].unwrap(), job.processors, components);
            *counts.entry(kind).or_default() += 1.0;
        }
        assert!(
            counts.keys().eq(expected.keys()),
            "{workload:?}: {counts:?}"
        );
        let of_kind = |(kind, share): (&(u32, u32, u32), &f64)| {
            let wanted = share * MANY as f64;
            (counts[kind] - wanted).powi(2) / wanted
        };
        let chi_square: f64 = expected.iter().map(of_kind).sum();
        // The 99.9 % quantile with nine degrees of freedom.
        assert!(chi_square < 27.88, "{workload:?}: {chi_square}");
    }
}

#[test]
fn arrivals_are_poisson() {
    for (workload, _, apart) in PAPER {
        let submits = submits(&read_back(workload, Some(MANY), 1));
        // Jobs in stretches of 20 mean gaps: as much variance as mean (index of
        // dispersion); of a thousand stretches it is within 0.15 of 1 in more
        // than 99.9 of 100 cases.
        let mut counts = vec![0.0; 900];
        for at in &submits {
            if let Some(count) = counts.get_mut((at / (20.0 * apart)) as usize) {
                *count += 1.0;
            }
        }
        let n = counts.len() as f64;
        let mean = counts.iter().sum::<f64>() / n;
        let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let dispersion = variance / mean;
        assert!(
            (dispersion - 1.0).abs() < 0.16,
            "{workload:?}: {dispersion}"
        );
        // Gaps are exponential: greatest distance of the distribution functions,
        // at the end of whole seconds, which the file has, less half a second.
        let mut gaps: Vec<f64> = submits.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_unstable_by(f64::total_cmp);
        let count = gaps.len() as f64;
        let off = (0..600u32).map(|second| {
            let second = f64::from(second);
            let ours = gaps.partition_point(|gap| *gap <= second) as f64 / count;
            // A gap of whole seconds is at most s where the true one, moved by the
            // difference of two fractions, is below about s + 1/2.
            let theirs = 1.0 - (-(second + 0.5) / apart).exp();
            (ours - theirs).abs()
        });
        let off = off.fold(0.0, f64::max);
        let honest = 1.95 / count.sqrt();
        assert!(off < honest + 0.002, "{workload:?}: {off} above {honest}");
        // And no gap tells the next one.
        let mean = submits[submits.len() - 1] / submits.len() as f64;
        let raw: Vec<f64> = submits
            .windows(2)
            .map(|pair| pair[1] - pair[0] - mean)
            .collect();
        let square: f64 = raw.iter().map(|gap| gap * gap).sum();
        let product: f64 = raw.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let lag1 = product / square;
        assert!(lag1.abs() < 3.3 / count.sqrt(), "{workload:?}: {lag1}");
    }
}
