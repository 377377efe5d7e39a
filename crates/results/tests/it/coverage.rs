//! How often intervals hold the true mean: simulated, and held against the table
//! of `docs/compare.md`.

use gridrig_core::rng;
use gridrig_results::stats::{IntervalMethod, Paired, Resamples};
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;
use std::path::Path;

/// Samples of each cell; `GRIDRIG_COVERAGE` asks for more.
const SAMPLES: u32 = 150;

/// A population by its name in the table: how to draw from it, and its mean.
type Population = (&'static str, fn(&mut ChaCha8Rng) -> f64, f64);

const POPULATIONS: [Population; 3] = [
    ("normal", normal, 0.0),
    ("exponential", exponential, 1.0),
    // The mean of e^x with x normal: e^(1/2).
    ("lognormal", |rng| normal(rng).exp(), 1.648_721_270_700_128),
];

fn exponential(rng: &mut ChaCha8Rng) -> f64 {
    -(1.0 - rng.random::<f64>()).ln()
}

/// Box and Muller's.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let angle = std::f64::consts::TAU * rng.random::<f64>();
    (2.0 * exponential(rng)).sqrt() * angle.cos()
}

/// The percentage of intervals from `n` differences that hold the mean.
fn coverage(n: usize, (name, draw, mean): Population, samples: u32) -> f64 {
    let mut rng = rng::stream(1, &format!("coverage.{name}.{n}"));
    let mut resamples = Resamples::new(1);
    let holds = (0..samples).filter(|_| {
        let pairs: Vec<(f64, f64)> = (0..n).map(|_| (0.0, draw(&mut rng))).collect();
        let paired = Paired::of(&pairs, Some(&mut resamples)).unwrap();
        let interval = paired.interval.unwrap();
        (interval.low..=interval.high).contains(&mean)
    });
    100.0 * holds.count() as f64 / f64::from(samples)
}

#[test]
fn intervals_hold_the_mean_as_often_as_the_page_says() {
    let asked = std::env::var("GRIDRIG_COVERAGE").ok();
    let samples = asked.map_or(SAMPLES, |count| count.parse().unwrap());
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compare.md");
    let page = std::fs::read_to_string(page).unwrap();
    for n in [5, 10, 19, 20, 47] {
        let method = IntervalMethod::for_pairs(n).unwrap();
        // A t interval costs next to nothing.
        let samples = match method {
            IntervalMethod::PairedT => 20 * samples,
            IntervalMethod::BcaBootstrap => samples,
        };
        let line = format!("| {n} | {} |", method.name());
        let line = page.lines().find(|it| it.starts_with(&line)).unwrap();
        let written = line.split('|').skip(3).zip(POPULATIONS);
        for (written, population) in written {
            let share = coverage(n, population, samples);
            println!("{n} {} {share:.1}", population.0);
            let written: f64 = written.trim().parse().unwrap();
            let spread = (written * (100.0 - written) / f64::from(samples)).sqrt();
            let apart = (share - written).abs();
            let name = population.0;
            assert!(
                apart < 3.5 * spread + 0.5,
                "{name}, {n} pairs: {share:.1} % hold the mean, written {written} %"
            );
        }
    }
}
