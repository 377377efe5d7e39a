//! Speed of reading and characterizing SWF, beside a bare line scan in the
//! same run.
//!
//! The scan looks at every byte once and finds the line feeds; nobody reads a
//! trace with less. Figures are megabytes of uncompressed text per second on
//! one core, medians of several rounds. A made trace is always measured, the
//! largest logs of the archive where they are at hand.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark"
)]

use gridrig_core::rng;
use gridrig_replayer::characterize::{Options, characterize};
use gridrig_replayer::load::{Loaded, load_from};
use gridrig_replayer::spec::SizeFrom;
use gridrig_replayer::swf::{SwfReader, TraceFile};
use rand::RngExt;
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

const ROUNDS: usize = 5;

const LOGS: [&str; 4] = [
    "RICC-2010-2.swf.gz",
    "CEA-Curie-2011-2.1-cln.swf.gz",
    "LCG-2005-1.swf.gz",
    "CTC-SP2-1996-3.1-cln.swf.gz",
];

fn main() {
    println!(
        "{:<32} {:>7} {:>9} {:>10} {:>10} {:>12} {:>10} {:>11}",
        "trace", "MB", "jobs", "scan MB/s", "read MB/s", "figures MB/s", "both MB/s", "times scan"
    );
    report("made, 300,000 jobs", made(300_000).as_bytes());
    let folder = std::env::var_os("GRIDRIG_ARCHIVE").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/traces"),
        PathBuf::from,
    );
    for log in LOGS {
        let mut text = Vec::new();
        let read =
            TraceFile::open(&folder.join(log)).map(|mut file| file.read_to_end(&mut text).is_ok());
        if read.is_ok_and(|whole| whole) {
            report(log, &text);
        } else {
            println!("{log:<32} not at hand");
        }
    }
}

/// Times the scan, the reader and the characterization in turn.
fn report(name: &str, text: &[u8]) {
    let (mut scans, mut reads, mut figures, mut both) = (vec![], vec![], vec![], vec![]);
    let mut jobs = 0;
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let lines = black_box(scan(text));
        scans.push(begin.elapsed().as_secs_f64());
        assert!(lines > 0);
        let begin = Instant::now();
        let loaded = read(text);
        let read = begin.elapsed().as_secs_f64();
        let trace = characterize(&loaded, &Options::default());
        let all = begin.elapsed().as_secs_f64();
        jobs = trace.jobs;
        assert_eq!(jobs, loaded.jobs.len() as u64);
        black_box(trace);
        reads.push(read);
        figures.push(all - read);
        both.push(all);
    }
    let megabytes = text.len() as f64 / 1e6;
    let speed = |times: Vec<f64>| megabytes / median(times);
    let (scan, both) = (speed(scans), speed(both));
    println!(
        "{name:<32} {megabytes:>7.1} {jobs:>9} {scan:>10.0} {:>10.0} {:>12.0} {both:>10.0} {:>11.1}",
        speed(reads),
        speed(figures),
        scan / both
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Lines, found one by one as a reader has to.
fn scan(mut text: &[u8]) -> usize {
    let mut lines = 0;
    let mut line = Vec::new();
    while text.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        lines += 1;
        line.clear();
    }
    lines
}

fn read(text: &[u8]) -> Loaded {
    load_from(&mut SwfReader::new(text, "bench.swf"), SizeFrom::Allocated).expect("a good trace")
}

/// A trace with the spread of sizes, run times and users that logs have.
fn made(jobs: u32) -> String {
    let mut rng = rng::stream(1, "bench");
    let mut text = String::from("; MaxProcs: 512\n; UnixStartTime: 1000000000\n");
    let mut submit = 0u64;
    for job in 1..=jobs {
        submit += rng.random_range(0..rng_scale(job));
        let run = 10f64.powf(rng.random_range(0.0..5.0)) as u64;
        let size = 1u32 << rng.random_range(0..8);
        let user = rng.random_range(1..400);
        let (wait, queue) = (rng.random_range(0..9_000), rng.random_range(0..9));
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{job:>7} {submit:>9} {wait:>6} {run:>7} {size:>5}  -1  -1 {size:>5} {:>7}  -1  1 \
             {user:>4}  {:>3}  -1 {queue:>2}  1  -1  -1",
            run * 2,
            user % 17
        );
    }
    text
}

/// Bursts and quiet times in turn.
fn rng_scale(job: u32) -> u64 {
    if job.is_multiple_of(20) { 2_000 } else { 40 }
}
