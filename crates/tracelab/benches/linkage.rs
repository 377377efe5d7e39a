//! Speed and memory of exact average linkage on a line.
//!
//! Beside it, in the same run: sorting the same arrival times, which is the
//! least that any clustering of them does, and kodama's average linkage on as
//! many points as its matrix of distances allows. Memory is what the peak of
//! the process grew by, so kodama comes last; time is processor time, which
//! other programs on the machine disturb least.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark"
)]

mod common;

use common::{Watch, median};
use gridrig_core::rng;
use gridrig_tracelab::linkage::average_linkage;
use rand::RngExt;

const ARRIVALS: usize = 1_000_000;
const KODAMA: usize = 20_000;
const ROUNDS: usize = 3;

fn main() {
    println!(
        "{:<44} {:>9} {:>9} {:>9} {:>11}",
        "case", "points", "seconds", "sorts", "peak MB"
    );
    let times = arrivals(ARRIVALS);
    let sort = median(ROUNDS, || {
        let mut sorted = times.clone();
        sorted.sort_unstable();
        std::hint::black_box(&sorted);
    });
    line("sorting them (bare)", ARRIVALS, sort, sort, None);
    for (name, points) in [
        ("exact linkage, all merges, WCSS for k = 1..30", &times),
        ("the same, many at one time", &coarse(&times)),
    ] {
        let before = peak_megabytes();
        let begin = Watch::start();
        std::hint::black_box(cluster(points));
        let first = begin.seconds();
        let grown = before.zip(peak_megabytes()).map(|(b, a)| a - b);
        let again = median(ROUNDS, || {
            std::hint::black_box(cluster(points));
        });
        line(name, ARRIVALS, again.min(first), sort, grown);
    }
    let few = arrivals(KODAMA);
    let ours = median(ROUNDS, || {
        std::hint::black_box(cluster(&few));
    });
    line("exact linkage", KODAMA, ours, sort, None);
    let before = peak_megabytes();
    let begin = Watch::start();
    std::hint::black_box(kodama(&few));
    let theirs = begin.seconds();
    let grown = before.zip(peak_megabytes()).map(|(b, a)| a - b);
    line("kodama, Method::Average", KODAMA, theirs, sort, grown);
    println!(
        "kodama / exact, time on {KODAMA} points: {:.0}",
        theirs / ours
    );
}

/// Arrivals of a year in milliseconds: a daily cycle, and bursts.
fn arrivals(count: usize) -> Vec<u64> {
    let mut stream = rng::stream(1, "bench-linkage");
    let mut now = 0.0;
    let mut times = Vec::with_capacity(count);
    let mean = 365.0 * 86_400_000.0 / count as f64;
    for _ in 0..count {
        let hour = (now / 3_600_000.0) % 24.0;
        let busy = if (8.0..20.0).contains(&hour) {
            0.5
        } else {
            3.0
        };
        let burst = if stream.random::<f64>() < 0.3 {
            0.01
        } else {
            1.4
        };
        now += -stream.random::<f64>().ln() * mean * busy * burst;
        times.push(now as u64);
    }
    times
}

/// The same in whole minutes: equal times collapse.
fn coarse(times: &[u64]) -> Vec<u64> {
    times.iter().map(|time| time / 60_000).collect()
}

fn cluster(points: &[u64]) -> Vec<f64> {
    match average_linkage(points) {
        Ok(tree) => tree.wcss(30),
        Err(error) => {
            println!("{error}");
            Vec::new()
        }
    }
}

fn kodama(points: &[u64]) -> f32 {
    let mut distances = Vec::with_capacity(points.len() * (points.len() - 1) / 2);
    for (at, left) in points.iter().enumerate() {
        distances.extend(
            points[at + 1..]
                .iter()
                .map(|right| left.abs_diff(*right) as f32),
        );
    }
    let tree = kodama::linkage(&mut distances, points.len(), kodama::Method::Average);
    tree.steps().last().map_or(0.0, |step| step.dissimilarity)
}

/// Peak resident memory of this process; `None` where the system does not say.
fn peak_megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

fn line(name: &str, points: usize, seconds: f64, sort: f64, grown: Option<f64>) {
    let grown = grown.map_or("-".to_owned(), |mb| format!("+{mb:.0}"));
    println!(
        "{name:<44} {points:>9} {seconds:>9.3} {:>9.1} {grown:>11}",
        seconds / sort
    );
}
