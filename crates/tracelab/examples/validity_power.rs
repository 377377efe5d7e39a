//! How often `validate` fails honest reductions, and what frauds it catches.
//!
//! `cargo run --release -p gridrig-tracelab --example validity_power -- SAMPLES
//! WEEKS TRACE...` takes `WEEKS` weeks of each trace, evenly spread (0: the
//! whole trace), and judges of each: the five phases of 2/5, `SAMPLES` random
//! samples of two fifths, and a 2/5 sample without the user with most jobs,
//! without the user with most demand, without nine of ten serial jobs, and with
//! shuffled and renumbered submit times.

#![allow(clippy::print_stdout, reason = "its purpose")]

use gridrig_core::rng;
use gridrig_core::time::SimDuration;
use gridrig_tracelab::load::{TraceJob, load};
use gridrig_tracelab::spec::{SizeFrom, TraceWindow};
use gridrig_tracelab::validate::{Options, ValidateError, validate};
use rand::RngExt;
use rand::seq::SliceRandom;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

const WEEK_S: u64 = 7 * 86_400;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [samples, weeks, traces @ ..] = words.as_slice() else {
        return Err("expected SAMPLES WEEKS TRACE...".into());
    };
    let (samples, weeks): (u64, u64) = (samples.parse()?, weeks.parse()?);
    println!(
        "{:<28} {:>8} {:>7} {:>11} {:>9} {:>6} {:>8} {:>8} {:>9}",
        "trace",
        "start d",
        "jobs",
        "systematic",
        "random",
        "-user",
        "-demand",
        "-serial",
        "shuffled"
    );
    let mut total = [(0, 0); 2];
    for trace in traces {
        let loaded = load(trace.as_ref(), SizeFrom::Allocated)?;
        let jobs: Vec<TraceJob> = loaded.jobs;
        for window in windows(&jobs, weeks) {
            let counts = judge(Path::new(trace), &jobs, window, samples)?;
            for (total, count) in total.iter_mut().zip(counts) {
                *total = (total.0 + count.0, total.1 + count.1);
            }
        }
    }
    println!(
        "failed: {} of {} systematic samples, {} of {} random ones",
        total[0].0, total[0].1, total[1].0, total[1].1
    );
    Ok(())
}

fn windows(jobs: &[TraceJob], weeks: u64) -> Vec<Option<TraceWindow>> {
    let (Some(first), Some(last)) = (jobs.first(), jobs.last()) else {
        return Vec::new();
    };
    if weeks == 0 {
        return vec![None];
    }
    let length = SimDuration::from_secs(WEEK_S);
    let free = (last.submit - first.submit - length).as_nanos();
    let window = |number: u64| TraceWindow {
        start: first.submit + SimDuration::from_nanos(free / (weeks + 1) * number),
        length,
    };
    (1..=weeks).map(|number| Some(window(number))).collect()
}

/// Prints a line; answers (failed, judged) of systematic and random samples.
fn judge(
    trace: &Path,
    all: &[TraceJob],
    window: Option<TraceWindow>,
    samples: u64,
) -> Result<[(u64, u64); 2], ValidateError> {
    let inside = |job: &&TraceJob| {
        let submit = job.submit;
        window.is_none_or(|w| w.start <= submit && submit < w.start + w.length)
    };
    let part: Vec<TraceJob> = all.iter().filter(inside).copied().collect();
    let mut options = Options::default();
    options.selection.window = window;
    let failed = |reduced: &[TraceJob]| -> Result<u64, ValidateError> {
        Ok(u64::from(!validate(all, reduced, &options)?.passed()))
    };
    let (mut systematic, mut random) = (0, 0);
    for phase in 0..5 {
        systematic += failed(&every(&part, phase))?;
    }
    for seed in 0..samples {
        let mut stream = rng::stream(seed, "validity-power");
        let kept = part.iter().filter(|_| stream.random::<f64>() < 0.4);
        let kept: Vec<TraceJob> = kept.copied().collect();
        random += failed(&kept)?;
    }
    let honest = every(&part, 1);
    let mut caught = Vec::new();
    for weight in [|_: &TraceJob| 1.0, demand] {
        let rest = without_user(&honest, busiest(&part, weight));
        caught.push(verdict(&honest, &rest, &failed)?);
    }
    let few = without_serial(&honest);
    caught.push(verdict(&honest, &few, &failed)?);
    let mixed = shuffled(&honest, "validity-power-shuffle", Some(1 << 40));
    caught.push(verdict(&honest, &mixed, &failed)?);
    println!(
        "{:<28} {:>8} {:>7} {:>11} {:>9} {:>6} {:>8} {:>8} {:>9}",
        trace
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .trim_end_matches(".swf.gz"),
        window.map_or("whole".to_owned(), |w| format!(
            "{:.1}",
            w.start.as_secs_f64() / 86_400.0
        )),
        part.len(),
        format!("{systematic} of 5"),
        format!("{random} of {samples}"),
        caught[0],
        caught[1],
        caught[2],
        caught[3]
    );
    Ok([(systematic, 5), (random, samples)])
}

fn verdict(
    honest: &[TraceJob],
    fraud: &[TraceJob],
    failed: &impl Fn(&[TraceJob]) -> Result<u64, ValidateError>,
) -> Result<String, ValidateError> {
    let gone = honest.len() - fraud.len();
    if fraud.is_empty() {
        return Ok("all gone".to_owned());
    }
    let caught = if failed(fraud)? == 1 { "yes" } else { "NO" };
    Ok(match gone {
        0 if fraud == honest => "none".to_owned(),
        0 => caught.to_owned(),
        _ => format!("{caught} {gone}"),
    })
}

fn every(jobs: &[TraceJob], phase: usize) -> Vec<TraceJob> {
    let kept = |i: usize| (i + 1 + phase) * 2 / 5 > (i + phase) * 2 / 5;
    let jobs = jobs.iter().enumerate();
    jobs.filter(|(i, _)| kept(*i))
        .map(|(_, job)| *job)
        .collect()
}

pub(crate) fn demand(job: &TraceJob) -> f64 {
    job.run_time.as_nanos() as f64 * f64::from(job.processors)
}

/// The user with most of this weight.
pub(crate) fn busiest(jobs: &[TraceJob], weight: fn(&TraceJob) -> f64) -> Option<u32> {
    let mut weights: BTreeMap<Option<u32>, f64> = BTreeMap::new();
    for job in jobs {
        *weights.entry(job.user()).or_default() += weight(job);
    }
    let most = weights.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    most.and_then(|(user, _)| user)
}

pub(crate) fn without_user(jobs: &[TraceJob], user: Option<u32>) -> Vec<TraceJob> {
    let others = jobs.iter().filter(|job| job.user() != user);
    others.copied().collect()
}

/// Nine of ten serial jobs are gone.
pub(crate) fn without_serial(jobs: &[TraceJob]) -> Vec<TraceJob> {
    let mut serial = 0;
    let kept = |job: &&TraceJob| {
        serial += u32::from(job.processors == 1);
        job.processors > 1 || serial % 10 == 0
    };
    jobs.iter().filter(kept).copied().collect()
}

/// Jobs exchange their submit times. Whether each keeps its number is another
/// matter: with new numbers only the statistics can tell.
pub(crate) fn shuffled(jobs: &[TraceJob], stream: &str, numbers: Option<u64>) -> Vec<TraceJob> {
    let mut times: Vec<SimDuration> = jobs.iter().map(|job| job.submit).collect();
    times.shuffle(&mut rng::stream(4, stream));
    let mut jobs = jobs.to_vec();
    for (job, time) in jobs.iter_mut().zip(times) {
        job.submit = time;
    }
    jobs.sort_by_key(|job| job.submit);
    if let Some(first) = numbers {
        for (id, job) in (first..).zip(&mut jobs) {
            job.trace_id = id;
        }
    }
    jobs
}
