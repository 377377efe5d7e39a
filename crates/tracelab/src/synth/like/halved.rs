//! Stretches that were halved in the source, and how their neighbours pull.

use crate::synth::unit::unit;
use rand::rngs::ChaCha8Rng;

/// A stretch that was halved in the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Halved {
    pub(super) jobs: u64,
    pub(super) left: u64,
    /// Share of the left half if jobs were spread evenly, above 0 and below 1.
    pub(super) p: f64,
    pub(super) slope: f64,
}

/// Odds of the left half, moved by the neighbours.
pub(super) fn moved(p: f64, pull: f64, slope: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return p;
    }
    let odds = (p / (1.0 - p)) * (pull * slope).exp();
    (odds / (1.0 + odds)).clamp(1e-9, 1.0 - 1e-9)
}

/// The exponent of the neighbours that makes the observed shares most likely,
/// each stretch counting once (logistic regression without a constant).
pub(super) fn pull(seen: &[Halved]) -> f64 {
    let mut pull: f64 = 0.0;
    for _ in 0..12 {
        let (mut slope, mut curve) = (0.0, 1e-9);
        for h in seen.iter().filter(|h| h.slope != 0.0) {
            let p = moved(h.p, pull, h.slope);
            slope += (h.left as f64 / h.jobs as f64 - p) * h.slope;
            curve += p * (1.0 - p) * h.slope * h.slope;
        }
        let step = (slope / curve).clamp(-0.5, 0.5);
        pull = (pull + step).clamp(-3.0, 3.0);
        if step.abs() < 1e-4 {
            break;
        }
    }
    pull
}

/// The exponent of the neighbours where they decide only which half is the
/// larger one.
pub(super) fn side_pull(seen: &[Halved]) -> f64 {
    let sides: Vec<Halved> = seen
        .iter()
        .filter(|h| h.left * 2 != h.jobs)
        .map(|h| Halved {
            left: u64::from(h.left * 2 > h.jobs) * h.jobs,
            ..*h
        })
        .collect();
    pull(&sides)
}

/// The larger half's jobs as those on the left, with this probability, or on the
/// right.
pub(super) fn side(larger: u64, jobs: u64, p: f64, random: &mut ChaCha8Rng) -> u64 {
    match unit(random) < p {
        true => larger,
        false => jobs - larger,
    }
}
