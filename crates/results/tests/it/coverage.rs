//! How often intervals hold the true mean: simulated, and held against the table
//! of `docs/compare.md` and what comparisons print.

use gridrig_core::rng;
use gridrig_results::stats::{ENOUGH, Interval, LEVEL, coverage, fewest_for_a_claim};
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;
use std::path::Path;

/// Samples of each cell; `GRIDRIG_COVERAGE` asks for more.
const SAMPLES: u32 = 400;

/// Populations by their columns in the table.
const COLUMNS: [&str; 5] = ["normal", "t with 3", "exponential", "lognormal", "weeks"];

/// A population: how to draw from it, and its mean.
struct Population {
    draw: Box<dyn Fn(&mut ChaCha8Rng) -> f64>,
    mean: f64,
}

fn exponential(rng: &mut ChaCha8Rng) -> f64 {
    -(1.0 - rng.random::<f64>()).ln()
}

/// Box and Muller's.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let angle = std::f64::consts::TAU * rng.random::<f64>();
    (2.0 * exponential(rng)).sqrt() * angle.cos()
}

/// Mean delays of four policies in 47 weeks of the CTC SP2, a line for each; the file
/// says by which commands.
fn weeks() -> Vec<[f64; 4]> {
    let text = include_str!("../fixtures/ctc-weeks.csv");
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let numbers = lines.map(|line| {
        let numbers = line.split(',').map(|number| number.parse().unwrap());
        numbers.collect::<Vec<f64>>().try_into().unwrap()
    });
    numbers.collect()
}

/// The populations of a column: one, or the differences of each two policies.
fn populations(column: &str) -> Vec<Population> {
    let one = |draw: fn(&mut ChaCha8Rng) -> f64, mean| Population {
        draw: Box::new(draw),
        mean,
    };
    match column {
        "normal" => vec![one(normal, 0.0)],
        "t with 3" => vec![one(
            |rng| {
                let squares: f64 = (0..3).map(|_| normal(rng).powi(2)).sum();
                normal(rng) / (squares / 3.0).sqrt()
            },
            0.0,
        )],
        "exponential" => vec![one(exponential, 1.0)],
        // The mean of e^x with x normal: e^(1/2).
        "lognormal" => vec![one(|rng| normal(rng).exp(), 1.648_721_270_700_128)],
        _ => {
            let pairs = (0..4).flat_map(|a| (0..a).map(move |b| (a, b)));
            let of = |(a, b): (usize, usize)| {
                let all: Vec<f64> = weeks().iter().map(|week| week[a] - week[b]).collect();
                let mean = all.iter().sum::<f64>() / all.len() as f64;
                let draw =
                    Box::new(move |rng: &mut ChaCha8Rng| all[rng.random_range(0..all.len())]);
                Population { draw, mean }
            };
            pairs.map(of).collect()
        }
    }
}

/// The percentage of intervals from `n` differences that hold the mean; of several
/// populations the least.
fn held(n: usize, column: &str, samples: u32) -> f64 {
    let of = |(index, Population { draw, mean })| {
        let mut rng = rng::stream(1, &format!("coverage.{column}.{index}.{n}"));
        let holds = (0..samples).filter(|_| {
            let values: Vec<f64> = (0..n).map(|_| draw(&mut rng)).collect();
            let interval = Interval::of_mean(&values, LEVEL).unwrap();
            (interval.low..=interval.high).contains(&mean)
        });
        100.0 * holds.count() as f64 / f64::from(samples)
    };
    let all = populations(column).into_iter().enumerate().map(of);
    all.fold(f64::INFINITY, f64::min)
}

#[test]
fn intervals_hold_the_mean_as_often_as_the_page_and_comparisons_say() {
    let asked = std::env::var("GRIDRIG_COVERAGE").ok();
    let samples = asked.map_or(SAMPLES, |count| count.parse().unwrap());
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compare.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut least_with_enough = usize::MAX;
    for n in [5, 6, 8, 10, 12, 15, 20, 30, 47] {
        let line = format!("| {n} | ");
        let line = page.lines().find(|it| it.starts_with(&line)).unwrap();
        let written = line.split('|').skip(2);
        let written: Vec<f64> = written.filter_map(|it| it.trim().parse().ok()).collect();
        assert_eq!(written.len(), COLUMNS.len(), "{line}");
        for (written, column) in written.iter().zip(COLUMNS) {
            let share = held(n, column, samples);
            println!("{n} {column} {share:.1}");
            let spread = (written * (100.0 - written) / f64::from(samples)).sqrt();
            assert!(
                (share - written).abs() < 4.0 * spread + 0.5,
                "{column}, {n} pairs: {share:.1} % hold the mean, written {written} %"
            );
            // What is asked of the intervals: nominal within three points.
            assert!(n < 20 || *written >= 100.0 * LEVEL - 3.0, "{line}");
        }
        let least = written.into_iter().fold(f64::INFINITY, f64::min);
        let told = coverage(n).unwrap();
        assert!((told - least / 100.0).abs() < 1e-9, "{n}: {told}");
        if least >= 100.0 * ENOUGH {
            least_with_enough = least_with_enough.min(n);
        }
    }
    assert_eq!(fewest_for_a_claim(), least_with_enough);
}

/// Weeks are drawn whole, so that the six differences hang together as they do.
#[test]
fn simultaneous_intervals_hold_all_differences_of_the_weeks_at_once() {
    let weeks = weeks();
    let pairs: Vec<(usize, usize)> = (0..4).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
    let level = 1.0 - (1.0 - LEVEL) / pairs.len() as f64;
    let mean = |of: &[[f64; 4]], (a, b): (usize, usize)| {
        of.iter().map(|week| week[a] - week[b]).sum::<f64>() / of.len() as f64
    };
    let mut rng = rng::stream(1, "coverage.simultaneous");
    for n in [20, 47] {
        let holds = (0..SAMPLES).filter(|_| {
            let drawn: Vec<[f64; 4]> = (0..n)
                .map(|_| weeks[rng.random_range(0..weeks.len())])
                .collect();
            pairs.iter().all(|pair| {
                let values: Vec<f64> = drawn
                    .iter()
                    .map(|week| week[pair.0] - week[pair.1])
                    .collect();
                let interval = Interval::of_mean(&values, level).unwrap();
                (interval.low..=interval.high).contains(&mean(&weeks, *pair))
            })
        });
        let share = holds.count() as f64 / f64::from(SAMPLES);
        println!("{n}: {share}");
        assert!(share >= LEVEL - 0.03 - 0.03, "{n}: {share}");
    }
}
