//! A bare read, loop and write, beside which `scripts/bench.d/million-jobs` holds the
//! command: the lines of an SWF file cut at their blanks, sorted arrivals and a heap
//! of completions, and the values of the columns that a run writes as they lie in
//! memory, without model, audit, compression or hash. Prints its wall and processor
//! seconds.
//!
//! ```sh
//! cargo bench -p gridrig --bench bare -- TRACE DIRECTORY
//! ```

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark"
)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;
use std::time::Instant;

/// As in the command.
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Submitted, queued, started, finished, notified, seen.
const KINDS: [u8; 6] = [0, 1, 2, 3, 4, 5];

fn main() {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [trace, out, ..] = &paths[..] else {
        return;
    };
    let begin = Instant::now();
    let jobs = read(Path::new(trace));
    let events = play(&jobs);
    write(Path::new(out), &jobs, &events);
    let wall = begin.elapsed().as_secs_f64();
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let ticks = stat.split(' ').skip(13).take(2);
    let ticks: u64 = ticks.map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    println!("{wall} {}", ticks as f64 / 100.0);
}

/// The numbers of each line.
fn read(trace: &Path) -> Vec<[i64; 18]> {
    let text = std::fs::read_to_string(trace).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with(';'));
    let numbers = |line: &str| {
        let mut job = [-1; 18];
        for (number, text) in job.iter_mut().zip(line.split_ascii_whitespace()) {
            *number = text.parse().unwrap();
        }
        job
    };
    lines.map(numbers).collect()
}

/// When what happens to which job, every job being started when it comes.
fn play(jobs: &[[i64; 18]]) -> Vec<(i64, u8, u32)> {
    let mut events = Vec::with_capacity(jobs.len() * KINDS.len());
    let mut ends = BinaryHeap::new();
    let end = |Reverse((at, job)): Reverse<(i64, u32)>, events: &mut Vec<_>| {
        events.extend(KINDS[3..].iter().map(|kind| (at, *kind, job)));
    };
    for (number, job) in (0..).zip(jobs) {
        let at = job[1] * 1_000_000_000;
        while ends.peek().is_some_and(|Reverse((end, _))| *end <= at) {
            ends.pop().into_iter().for_each(|it| end(it, &mut events));
        }
        events.extend(KINDS[..3].iter().map(|kind| (at, *kind, number)));
        ends.push(Reverse((at + job[3] * 1_000_000_000, number)));
    }
    while let Some(next) = ends.pop() {
        end(next, &mut events);
    }
    events
}

/// A file for each column: instants, lengths and figures of 8 bytes, numbers of 4, and
/// names of 1.
fn write(out: &Path, jobs: &[[i64; 18]], events: &[(i64, u8, u32)]) {
    let column = |name: String, bytes: Vec<u8>| std::fs::write(out.join(name), bytes).unwrap();
    let times = 0..9;
    for time in times {
        let values = jobs
            .iter()
            .flat_map(|job| (job[1] + job[3] * (time / 4)).to_le_bytes());
        column(format!("jobs-time-{time}"), values.collect());
    }
    for figure in 0..7 {
        let values = jobs
            .iter()
            .flat_map(|job| (job[3] as f64 + f64::from(figure)).to_le_bytes());
        column(format!("jobs-figure-{figure}"), values.collect());
    }
    for field in [0, 4, 8, 11, 12] {
        let values = jobs
            .iter()
            .flat_map(|job| (job[field] as u32).to_le_bytes());
        column(format!("jobs-number-{field}"), values.collect());
    }
    for name in 0..6 {
        column(format!("jobs-name-{name}"), vec![name; jobs.len()]);
    }
    column(
        "events-time".into(),
        events.iter().flat_map(|it| it.0.to_le_bytes()).collect(),
    );
    column("events-kind".into(), events.iter().map(|it| it.1).collect());
    column(
        "events-job".into(),
        events.iter().flat_map(|it| it.2.to_le_bytes()).collect(),
    );
    for name in ["by", "to", "value"] {
        column(
            format!("events-{name}"),
            events.iter().map(|it| it.1 / 2).collect(),
        );
    }
    for table in ["jobs", "events"] {
        let runs = jobs.iter().flat_map(|job| {
            let run = [0_u32, job[4] as u32, job[4] as u32, 1];
            run.into_iter().flat_map(u32::to_le_bytes)
        });
        column(format!("{table}-placement"), runs.collect());
    }
}
