//! Speed of reading and characterizing SWF, beside a bare line scan in the
//! same run.
//!
//! The scan finds the line feeds one by one; nobody reads a trace with less.
//! Figures are megabytes of uncompressed text per second on one core, the
//! fastest of several rounds. Seconds are those that this thread had a
//! processor, where the system says so (Linux), since other work on the machine
//! is none of ours; else those of the clock. `read`, `figures` and `both` are of
//! a text in memory; `file` is `both` from a plain file, hashed on the way, which
//! is what `gridrig trace info` does but for printing. A made trace is always measured,
//! the largest logs of the archive where they are at hand.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark"
)]

mod common;

use common::{Watch, on_processor};
use gridrig_core::rng;
use gridrig_tracelab::characterize::{Options, characterize};
use gridrig_tracelab::format::{Format, TraceFile, TraceReader};
use gridrig_tracelab::load::{Loaded, load, load_from};
use gridrig_tracelab::spec::SizeFrom;
use rand::RngExt;
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

const ROUNDS: usize = 9;

/// The scan is over in a few ticks of the kernel's count, so it is repeated.
const SCANS: u32 = 10;

const LOGS: [&str; 4] = [
    "RICC-2010-2.swf.gz",
    "CEA-Curie-2011-2.1-cln.swf.gz",
    "LCG-2005-1.swf.gz",
    "CTC-SP2-1996-3.1-cln.swf.gz",
];

fn main() {
    println!(
        "per second of {}",
        match on_processor() {
            Some(_) => "processor time",
            None => "the clock",
        }
    );
    println!(
        "{:<32} {:>7} {:>9} {:>10} {:>10} {:>12} {:>10} {:>10} {:>11}",
        "trace",
        "MB",
        "jobs",
        "scan MB/s",
        "read MB/s",
        "figures MB/s",
        "both MB/s",
        "file MB/s",
        "times scan"
    );
    report("made, 300,000 jobs", made(300_000).as_bytes());
    let folder = std::env::var_os("GRIDRIG_ARCHIVE").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"),
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
    let mut files = vec![];
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("room for the trace");
    let mut jobs = 0;
    let watch = Watch::start();
    for _ in 0..ROUNDS {
        let begin = watch.seconds();
        for _ in 0..SCANS {
            assert!(black_box(scan(text)) > 0);
        }
        scans.push((watch.seconds() - begin) / f64::from(SCANS));
        let begin = watch.seconds();
        let loaded = read(text);
        let read = watch.seconds() - begin;
        let trace = characterize(&loaded, &Options::default());
        let all = watch.seconds() - begin;
        jobs = trace.jobs;
        assert_eq!(jobs, loaded.jobs.len() as u64);
        black_box(trace);
        reads.push(read);
        figures.push(all - read);
        both.push(all);
        let begin = watch.seconds();
        let loaded = load(file.path(), SizeFrom::Allocated).expect("a good trace");
        black_box(characterize(&loaded, &Options::default()));
        drop(loaded);
        files.push(watch.seconds() - begin);
    }
    let megabytes = text.len() as f64 / 1e6;
    let speed = |times: Vec<f64>| megabytes / least(&times);
    let (scan, both, file) = (speed(scans), speed(both), speed(files));
    println!(
        "{name:<32} {megabytes:>7.1} {jobs:>9} {scan:>10.0} {:>10.0} {:>12.0} {both:>10.0} {file:>10.0} {:>11.1}",
        speed(reads),
        speed(figures),
        scan / file
    );
}

fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
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
    load_from(
        &mut TraceReader::new(Format::Swf, text, "bench.swf"),
        SizeFrom::Allocated,
    )
    .expect("a good trace")
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
