//! Speed of choosing a window and a sample, on every log of the archive.
//!
//! Beside the ranking a bare loop over the same jobs is timed that sums up
//! what the ranking starts from: submit times, sizes and run times. Absolute
//! numbers depend on the machine; the ratio is what a change is judged by.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark"
)]

use gridrig_core::ids::DomainId;
use gridrig_core::job::Entry;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_tracelab::load::{Loaded, TraceJob, load};
use gridrig_tracelab::reduce::rank_windows;
use gridrig_tracelab::spec::{Keep, SizeFrom, WindowChoice, WorkloadSpec};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = std::env::var_os("GRIDRIG_ARCHIVE").unwrap_or("../shared/traces".into());
    let mut files: Vec<PathBuf> = match std::fs::read_dir(root.join(&folder)) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(error) => return println!("no trace archive: {error}"),
    };
    files.retain(|file| file.to_string_lossy().ends_with(".swf.gz"));
    files.sort();
    println!(
        "{:<26} {:>8} {:>8} {:>10} {:>10} {:>11} {:>10}",
        "windows of 7 d, every day",
        "jobs",
        "windows",
        "read s",
        "rank ms",
        "times bare",
        "load ms"
    );
    let mut sum = [0.0; 3];
    for file in &files {
        let times = report(file);
        sum.iter_mut()
            .zip(times)
            .for_each(|(sum, time)| *sum += time);
    }
    println!(
        "all {} logs: read {:.2} s, ranked {:.3} s, sampled to a load {:.3} s",
        files.len(),
        sum[0],
        sum[1],
        sum[2]
    );
}

fn report(file: &Path) -> [f64; 3] {
    let (loaded, read_s) = timed(|| load(file, SizeFrom::Allocated).unwrap());
    let length = SimDuration::from_secs(7 * 86_400);
    let mut choice = WindowChoice::of_length(length);
    if rank_windows(&loaded.jobs, &choice).is_err() {
        // A log of less than a week between warm-up and wrap-up.
        choice = WindowChoice::of_length(SimDuration::from_secs(86_400));
    }
    let rank = || rank_windows(&loaded.jobs, &choice).unwrap();
    let windows = rank().considered();
    let rank_s = best(|| timed(rank).1);
    let bare_s = best(|| timed(|| bare(&loaded.jobs)).1);
    let load_s = sample(&loaded);
    println!(
        "{:<26} {:>8} {windows:>8} {read_s:>10.3} {:>10.2} {:>11.1} {:>10.2}",
        file.file_name()
            .unwrap()
            .to_string_lossy()
            .replace(".swf.gz", ""),
        loaded.jobs.len(),
        rank_s * 1e3,
        rank_s / bare_s,
        load_s * 1e3
    );
    [read_s, rank_s, load_s]
}

/// The whole reduction to half the load, without reading.
fn sample(loaded: &Loaded) -> f64 {
    let mut spec = WorkloadSpec::whole(PathBuf::new(), Entry::Domain(DomainId(0)));
    spec.keep = Keep::Load {
        offered: Decimal::parse("0.1").unwrap(),
        processors: loaded.known_processors().unwrap_or(806).into(),
        seed: 1,
    };
    best(|| {
        let copy = loaded.clone();
        timed(|| copy.into_reduced(&spec).unwrap()).1
    })
}

fn bare(jobs: &[TraceJob]) -> u128 {
    jobs.iter()
        .map(|job| {
            u128::from(job.submit.as_nanos())
                + u128::from(job.processors) * u128::from(job.run_time.as_nanos())
        })
        .sum()
}

fn timed<T>(what: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = black_box(what());
    (result, start.elapsed().as_secs_f64())
}

fn best(what: impl FnMut() -> f64) -> f64 {
    std::iter::repeat_with(what)
        .take(3)
        .fold(f64::INFINITY, f64::min)
}
