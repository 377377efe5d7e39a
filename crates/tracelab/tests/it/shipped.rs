//! The generated traces that ship: what they are, and that they are.

use crate::paper_tables::example::{Reduced, columns, spec};
use crate::ref_first_fit::delays;
use flate2::read::GzDecoder;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_results::stats::{Distribution, mean};
use gridrig_tracelab::characterize::demand::Demand;
use gridrig_tracelab::prepare::{Prepared, prepare};
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
    prepare(&spec(&path(file)), 0).unwrap()
}

/// Within two percent of the published figure.
fn near(what: &str, value: f64, published: f64) {
    let off = (value - published).abs() / published;
    assert!(off < 0.02, "{what}: {value} is not near {published}");
}

fn check_moments(what: &str, moments: Distribution, max: f64, mean: f64, sd: f64) {
    assert_eq!(moments.max, Some(max), "{what}");
    near(&format!("{what} mean"), moments.mean.unwrap(), mean);
    near(&format!("{what} sd"), moments.sd.unwrap(), sd);
}

/// Bursts: at least three jobs of more than 100 processors, each within five
/// (scaled) minutes of the one before.
fn bursts(prepared: &Prepared) -> Vec<usize> {
    let wide = prepared.jobs.iter().filter(|j| j.spec.processors() > 100);
    let wide: Vec<SimTime> = wide.map(|job| job.at).collect();
    let bursts = wide.chunk_by(|a, b| b.since(*a) < SimDuration::from_secs(300));
    bursts.map(<[_]>::len).filter(|jobs| *jobs >= 3).collect()
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
fn the_ctc_like_week_has_the_moments_of_lsap_tables_1_and_2() {
    let prepared = reduced("ctc-like.swf.gz");
    assert_eq!(prepared.jobs.len(), 480);
    let week = Reduced::of(&prepared);
    check_moments("run time", week.run_time, 1081.0, 223.9, 332.7);
    check_moments("processors", week.processors, 162.0, 14.0, 29.4);
}

#[test]
fn the_ctc_like_week_wants_400_processors_mostly_and_1400_near_9000_s() {
    let prepared = reduced("ctc-like.swf.gz");
    let demand = Demand::of(&columns(&prepared), 1, Some(400));
    let peak = demand.peak_processors.unwrap();
    assert!((1300..=1500).contains(&peak), "{peak}");
    let at = demand.peak_processors_at_s.unwrap();
    assert!((8_900.0..9_300.0).contains(&at), "{at}");
    // Of 10,357 s.
    assert!(demand.above_machine_share.unwrap() < 0.09, "{demand:?}");
    let burst = bursts(&prepared);
    assert!(burst.len() >= 3, "{burst:?}");
    assert!(burst.contains(&9), "{burst:?}");
    for processors in [450, 225] {
        let delays = delays(&prepared.jobs, processors);
        assert_eq!(delays.len(), prepared.jobs.len());
        println!("{processors}: mean delay {:.2}", mean(&delays).unwrap());
    }
}

#[test]
fn the_grid5000_like_week_has_the_moments_of_lsap_tables_1_and_2() {
    let prepared = reduced("grid5000-like.swf.gz");
    let week = Reduced::of(&prepared);
    check_moments("run time", week.run_time, 10_000.0, 476.8, 1190.3);
    assert_eq!(week.run_time.min, Some(1.0));
    check_moments("processors", week.processors, 204.0, 18.7, 39.4);
    let mut runs = prepared.jobs.iter().map(|job| job.spec.run_time.as_nanos());
    assert!(runs.all(|run| run.is_multiple_of(1_000_000_000)));
}

#[test]
fn the_grid5000_like_week_is_easy_on_450_processors_and_hard_on_225() {
    let prepared = reduced("grid5000-like.swf.gz");
    let peak = Reduced::of(&prepared).demand.peak_processors.unwrap();
    let [easy, hard] = [450, 225].map(|size| mean(&delays(&prepared.jobs, size)).unwrap());
    println!("mean delays {easy:.2} and {hard:.2}");
    // The paper's is "around 700".
    assert!((650..=760).contains(&peak), "{peak}");
    assert!(bursts(&prepared).len() >= 3);
    assert!((7.0..=10.0).contains(&easy), "{easy}");
    assert!((360.0..=480.0).contains(&hard), "{hard}");
}
