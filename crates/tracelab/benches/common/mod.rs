//! What the benchmarks measure by.

#![allow(dead_code, reason = "each takes what it needs")]

use std::time::Instant;

/// Seconds of this thread on a processor, or of the clock where the system
/// does not say.
pub struct Watch {
    begin: Instant,
    on_processor: Option<f64>,
}

impl Watch {
    pub fn start() -> Self {
        Watch {
            begin: Instant::now(),
            on_processor: on_processor(),
        }
    }

    /// Since the start.
    pub fn seconds(&self) -> f64 {
        match (self.on_processor, on_processor()) {
            (Some(before), Some(now)) => now - before,
            _ => self.begin.elapsed().as_secs_f64(),
        }
    }
}

/// What the kernel counted for this thread, brought up to date by yielding.
pub fn on_processor() -> Option<f64> {
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos: u64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanos as f64 / 1e9)
}

/// Median seconds of so many rounds.
pub fn median(rounds: usize, mut work: impl FnMut()) -> f64 {
    let mut seconds: Vec<f64> = (0..rounds)
        .map(|_| {
            let watch = Watch::start();
            work();
            watch.seconds()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds[rounds / 2]
}
