//! Speed of the SWF reader beside a bare scan for line feeds of the same
//! bytes, taken in the same run.
//!
//! Megabytes per second depend on the machine; the ratio to the bare scan is
//! what a change is judged by.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark"
)]

mod common;

use common::median;
use gridrig_core::rng;
use gridrig_core::time::SimDuration;
use gridrig_tracelab::format::{Format, Record, TraceReader, Writer, field};
use gridrig_tracelab::load::load_from;
use gridrig_tracelab::spec::SizeFrom;
use rand::RngExt;
use std::hint::black_box;
use std::io::{BufRead, BufReader};

const JOBS: u64 = 1_000_000;
const ROUNDS: usize = 5;
const BUFFER_BYTES: usize = 1 << 17;

fn main() {
    let records = records();
    let swf = write(&records);
    let gwf = write_gwf(&records);
    println!(
        "{:<34} {:>8} {:>9} {:>12}",
        "case", "MB", "MB/s", "times bare"
    );
    let bare = time(|| scan(&swf));
    report("bare line scan", swf.len(), bare, bare);
    report("SwfReader", swf.len(), time(|| read_swf(&swf)), bare);
    let padded = padded(&swf);
    let bare_padded = time(|| scan(&padded));
    report(
        "SwfReader, columns right-aligned",
        padded.len(),
        time(|| read_swf(&padded)),
        bare_padded,
    );
    report(
        "load (jobs in memory, sorted)",
        swf.len(),
        time(|| load(&swf)),
        bare,
    );
    let bare_gwf = time(|| scan(&gwf));
    report("bare line scan of GWF", gwf.len(), bare_gwf, bare_gwf);
    report("GwfReader", gwf.len(), time(|| read_gwf(&gwf)), bare_gwf);
    report(
        "swf::Writer",
        swf.len(),
        time(|| write(&records).len() as u64),
        bare,
    );
}

fn report(case: &str, bytes: usize, seconds: f64, bare: f64) {
    let megabytes = bytes as f64 / 1e6;
    println!(
        "{case:<34} {megabytes:>8.1} {:>9.0} {:>12.2}",
        megabytes / seconds,
        seconds / bare
    );
}

fn time(mut work: impl FnMut() -> u64) -> f64 {
    median(ROUNDS, || {
        black_box(work());
    })
}

/// Jobs whose numbers have as many digits as those of real logs.
fn records() -> Vec<Record> {
    let mut stream = rng::stream(1, "reader-bench");
    let mut submit = 0;
    (1..=JOBS)
        .map(|job| {
            submit += stream.random_range(0..180);
            let processors = 1u64 << stream.random_range(0..8);
            let run_time = stream.random_range(1..80_000);
            let user = stream.random_range(1..400);
            let wait = stream.random_range(0..50_000u64);
            Record::default()
                .with(field::JOB, job)
                .with(field::SUBMIT, submit)
                .with(field::WAIT, wait)
                .with(field::RUN_TIME, run_time)
                .with(field::ALLOCATED, processors)
                .with(field::CPU_TIME, SimDuration::from_millis(run_time * 990))
                .with(field::REQUESTED, processors)
                .with(field::REQUESTED_TIME, 86_400u64)
                .with(field::STATUS, 1u64)
                .with(field::USER, user)
                .with(field::GROUP, user % 9)
                .with(field::EXECUTABLE, user * 3)
                .with(field::QUEUE, user % 5)
                .with(field::PARTITION, 1u64)
        })
        .collect()
}

fn write(records: &[Record]) -> Vec<u8> {
    let header = [("MaxProcs".to_owned(), "128".to_owned())];
    let mut writer = Writer::new(Vec::new(), Format::Swf, &header).expect("memory");
    for record in records {
        writer.write(record).expect("memory");
    }
    writer.finish().expect("memory")
}

fn write_gwf(records: &[Record]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Format::Gwf, &[]).expect("memory");
    for record in records {
        let mut job = record.clone();
        job.text = vec![format!("U{}S1", record.count(field::USER).unwrap_or(0)).into_bytes()];
        writer.write(&job).expect("memory");
    }
    writer.finish().expect("memory")
}

/// As most logs of the archive have it: fields filled up with blanks.
fn padded(swf: &[u8]) -> Vec<u8> {
    let mut padded = Vec::with_capacity(swf.len() * 2);
    for line in swf.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
        for field in line.split(|b| *b == b' ') {
            padded.extend(std::iter::repeat_n(
                b' ',
                5usize.saturating_sub(field.len()),
            ));
            padded.extend_from_slice(field);
            padded.push(b' ');
        }
        padded.push(b'\n');
    }
    padded
}

fn scan(bytes: &[u8]) -> u64 {
    let mut input = BufReader::with_capacity(BUFFER_BYTES, bytes);
    let mut lines = 0;
    while input.skip_until(b'\n').expect("memory") > 0 {
        lines += 1;
    }
    lines
}

fn read_swf(bytes: &[u8]) -> u64 {
    let input = BufReader::with_capacity(BUFFER_BYTES, bytes);
    processors(TraceReader::new(Format::Swf, input, "bench.swf"))
}

fn read_gwf(bytes: &[u8]) -> u64 {
    let input = BufReader::with_capacity(BUFFER_BYTES, bytes);
    processors(TraceReader::detect(input, "bench.gwf").expect("a good trace"))
}

fn processors(mut reader: TraceReader<impl BufRead>) -> u64 {
    let mut processors = 0;
    while let Some(record) = reader.next_record().expect("a good trace") {
        processors += record.count(field::ALLOCATED).unwrap_or(0);
    }
    processors
}

fn load(bytes: &[u8]) -> u64 {
    let input = BufReader::with_capacity(BUFFER_BYTES, bytes);
    let mut reader = TraceReader::new(Format::Swf, input, "bench.swf");
    let loaded = load_from(&mut reader, SizeFrom::Allocated).expect("a good log");
    loaded.jobs.len() as u64
}
