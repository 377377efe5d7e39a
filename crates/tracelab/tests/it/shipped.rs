//! The generated traces that ship: what they are, and that they are.

use crate::compare::{Demand, Moments};
use crate::ref_first_fit::{delays, delays_by_size};
use flate2::read::GzDecoder;
use gridrig_core::ids::DomainId;
use gridrig_core::job::Entry;
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use gridrig_tracelab::prepare::{Prepared, prepare};
use gridrig_tracelab::spec::WorkloadSpec;
use gridrig_tracelab::synth::{SHIPPED, gzip};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../traces")
        .join(file)
}

/// As the LSAP scenarios play it.
fn reduced(file: &str) -> Prepared {
    let mut spec = WorkloadSpec::whole(path(file), Entry::Domain(DomainId(0)));
    spec.scale_arrival = Decimal::from_whole(60);
    spec.scale_run_time = Decimal::from_whole(60);
    spec.min_run_time = SimDuration::from_secs(1);
    prepare(&spec, 0).unwrap()
}

/// Within two percent of the published figure.
fn near(what: &str, value: f64, published: f64) {
    let off = (value - published).abs() / published;
    assert!(off < 0.02, "{what}: {value} is not near {published}");
}

fn check_moments(what: &str, moments: Moments, max: f64, mean: f64, sd: f64) {
    assert_eq!(moments.max, max, "{what}");
    near(&format!("{what} mean"), moments.mean, mean);
    near(&format!("{what} sd"), moments.sd.unwrap(), sd);
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Bursts: at least three jobs of more than 100 processors, each within five
/// (scaled) minutes of the one before.
fn bursts(prepared: &Prepared) -> Vec<(SimTime, usize)> {
    let mut bursts: Vec<(SimTime, SimTime, usize)> = Vec::new();
    for job in prepared.jobs.iter().filter(|j| j.spec.processors() > 100) {
        match bursts.last_mut() {
            Some(last) if job.at.since(last.1) < SimDuration::from_secs(300) => {
                last.1 = job.at;
                last.2 += 1;
            }
            _ => bursts.push((job.at, job.at, 1)),
        }
    }
    let large = bursts.iter().filter(|b| b.2 >= 3);
    large.map(|b| (b.0, b.2)).collect()
}

#[test]
fn the_files_are_what_the_generator_writes() {
    for shipped in SHIPPED {
        let file = fs::read(path(shipped.file)).unwrap();
        let mut text = String::new();
        GzDecoder::new(&file[..]).read_to_string(&mut text).unwrap();
        let hint = "run: cargo run -p gridrig-tracelab --example shipped_traces";
        assert!(text == shipped.text().unwrap(), "{}: {hint}", shipped.file);
        assert!(file == gzip(&text).unwrap(), "{}: {hint}", shipped.file);
    }
}

#[test]
fn the_files_say_that_they_are_generated() {
    for shipped in SHIPPED {
        let prepared = reduced(shipped.file);
        let header = &prepared.reduction.trace.header;
        assert!(header.values("Computer")[0].contains("generated"));
        assert!(header.values("Conversion")[0].contains(", seed "));
        assert_eq!(header.number("MaxJobs"), Some(prepared.jobs.len() as u64));
        assert_eq!(header.max_processors(), Some(450));
        assert!(
            prepared.reduction.trace.warnings.is_empty()
                && prepared.reduction.trace.skipped.is_empty()
        );
    }
}

#[test]
fn the_ctc_like_week_has_the_moments_of_lsap_tables_1_and_2() {
    let prepared = reduced("ctc-like.swf.gz");
    assert_eq!(prepared.jobs.len(), 480);
    let runs = Moments::of_run_times(&prepared.jobs).unwrap();
    check_moments("run time", runs, 1081.0, 223.9, 332.7);
    let sizes = Moments::of_processors(&prepared.jobs).unwrap();
    check_moments("processors", sizes, 162.0, 14.0, 29.4);
}

#[test]
fn the_ctc_like_week_wants_400_processors_mostly_and_1400_near_9000_s() {
    let prepared = reduced("ctc-like.swf.gz");
    let demand = Demand::of(&prepared.jobs);
    let (at, peak) = demand.peak().unwrap();
    println!("peak {peak} at {at}, {} above 400", demand.time_above(400));
    assert!((1300..=1500).contains(&peak), "{peak}");
    assert!((8_900.0..9_300.0).contains(&at.as_secs_f64()), "{at}");
    assert!(demand.time_above(400) < SimDuration::from_secs(1000));
    let burst = bursts(&prepared);
    assert!(burst.len() >= 3, "{burst:?}");
    assert!(burst.iter().any(|b| b.1 == 9), "{burst:?}");
    for processors in [450, 225] {
        let delays = delays(&prepared.jobs, processors);
        assert_eq!(delays.len(), prepared.jobs.len());
        println!("{processors}: mean delay {:.2}", mean(&delays));
    }
}

#[test]
fn the_grid5000_like_week_has_the_moments_of_lsap_tables_1_and_2() {
    let prepared = reduced("grid5000-like.swf.gz");
    let runs = Moments::of_run_times(&prepared.jobs).unwrap();
    check_moments("run time", runs, 10_000.0, 476.8, 1190.3);
    assert_eq!(runs.min, 1.0);
    let sizes = Moments::of_processors(&prepared.jobs).unwrap();
    check_moments("processors", sizes, 204.0, 18.7, 39.4);
    let whole = |j: &&_| prepared_run(j).is_multiple_of(1_000_000_000);
    assert!(prepared.jobs.iter().all(|j| whole(&j)));
}

fn prepared_run(job: &gridrig_core::job::Submission) -> u64 {
    job.spec.run_time.as_nanos()
}

#[test]
fn the_grid5000_like_week_is_easy_on_450_processors_and_hard_on_225() {
    let prepared = reduced("grid5000-like.swf.gz");
    let demand = Demand::of(&prepared.jobs);
    let (at, peak) = demand.peak().unwrap();
    println!("peak {peak} at {at}, {} above 450", demand.time_above(450));
    for processors in [450, 225] {
        let delays = delays_by_size(&prepared.jobs, processors);
        let wide: Vec<f64> = delays.iter().filter(|d| d.0 > 100).map(|d| d.1).collect();
        println!("{processors}: wide jobs wait {:.0} s", mean(&wide));
    }
    let easy = mean(&delays(&prepared.jobs, 450));
    let hard = mean(&delays(&prepared.jobs, 225));
    println!("mean delays {easy:.2} and {hard:.2}");
    // The paper's is "around 700".
    assert!((650..=760).contains(&peak), "{peak}");
    assert!(bursts(&prepared).len() >= 3);
    assert!((7.0..=10.0).contains(&easy), "{easy}");
    assert!((360.0..=480.0).contains(&hard), "{hard}");
}
