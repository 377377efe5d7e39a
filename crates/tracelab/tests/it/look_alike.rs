//! Look-alikes of real logs: how like them they are, and that they hold no job
//! of them.
//!
//! The yardstick is an honest sample: of n values drawn from a source, the
//! greatest distance of the distribution functions is below 1.63 / sqrt(n) in
//! 99 of 100 cases (Kolmogorov), whatever the distribution is.

use crate::archive::{log, need};
use crate::read;
use gridrig_core::time::SimDuration;
use gridrig_tracelab::characterize::Columns;
use gridrig_tracelab::characterize::batches::{BATCH_WINDOW, batches};
use gridrig_tracelab::format::{Record, field};
use gridrig_tracelab::load::{Loaded, TraceJob};
use gridrig_tracelab::synth::like::{LookAlike, recurring_jobs};
use gridrig_tracelab::synth::{Extent, Model, output};
use gridrig_tracelab::validate::{Group, Options, validate};
use std::collections::BTreeMap;

/// Greatest distance of two distribution functions.
pub(crate) fn distance(mut a: Vec<u64>, mut b: Vec<u64>) -> f64 {
    a.sort_unstable();
    b.sort_unstable();
    let share =
        |of: &[u64], value: u64| of.partition_point(|v| *v <= value) as f64 / of.len() as f64;
    let all = a.iter().chain(&b);
    all.map(|value| (share(&a, *value) - share(&b, *value)).abs())
        .fold(0.0, f64::max)
}

/// What 99 of 100 honest samples of this size keep to.
fn honest(n: usize) -> f64 {
    1.63 / (n as f64).sqrt()
}

pub(crate) fn reread(model: &Model) -> Loaded {
    let (text, _) = output::write(model, "a test", Vec::new()).unwrap();
    read(text, "made.swf")
}

fn fitted(source: &Loaded) -> Model {
    Model::LookAlike(Box::new(LookAlike::fit(source, None).unwrap()))
}

fn user_shares(rows: &[TraceJob]) -> BTreeMap<Option<u32>, f64> {
    let mut shares = BTreeMap::new();
    for row in rows {
        *shares.entry(row.user()).or_insert(0.0) += 1.0 / rows.len() as f64;
    }
    shares
}

/// The distance of the sizes of batches that docs/synthesize.md grants.
const BATCHES_APART: f64 = 0.1;

/// Compares a look-alike with its source and says what is off by more than an
/// honest sample would be.
fn compare(source: &Loaded, made: &Loaded) -> Vec<String> {
    let (ours, theirs) = (&made.jobs, &source.jobs);
    let mut off = Vec::new();
    let mut check = |what: &str, found: f64, limit: f64| {
        println!("{what}: {found:.4}, honest samples {limit:.4}");
        if found > limit {
            off.push(format!("{what} {found:.4} above {limit:.4}"));
        }
    };
    let limit = honest(ours.len());
    let mut both = |what: &str, of: &dyn Fn(&TraceJob) -> u64| {
        let found = distance(
            ours.iter().map(of).collect(),
            theirs.iter().map(of).collect(),
        );
        check(what, found, limit);
    };
    both("run time", &|row| row.run_time.as_nanos() / 1_000_000_000);
    both("processors", &|row| u64::from(row.processors));
    both("run time x processors", &|row| {
        row.run_time.as_nanos() / 1_000_000_000 * u64::from(row.processors)
    });
    // As `trace validate` counts them, from the log's time 0; a look-alike
    // begins whole weeks after its source.
    both("hour of the day", &|row| {
        row.submit.as_nanos() / 3_600_000_000_000 % 24
    });
    let sizes = |jobs: &[TraceJob]| -> Vec<u64> {
        let all = batches(&Columns::of(jobs), BATCH_WINDOW, 1);
        all.iter().map(|batch| u64::from(batch.jobs)).collect()
    };
    // Batches come about by who goes on; they are not dealt like the rest.
    check(
        "jobs of a batch",
        distance(sizes(ours), sizes(theirs)),
        BATCHES_APART,
    );
    // The mean distance of an honest sample's shares is at most half the sum of
    // the standard errors.
    let shares = user_shares(theirs);
    let n = ours.len() as f64;
    let errors: f64 = shares.values().map(|p| (p * (1.0 - p) / n).sqrt()).sum();
    let mut apart = shares;
    for (user, share) in user_shares(ours) {
        *apart.entry(user).or_insert(0.0) -= share;
    }
    let apart: f64 = apart.values().map(|apart| apart.abs()).sum();
    check("users", apart / 2.0, errors / 2.0);
    off
}

#[track_caller]
fn looks_like(name: &str) {
    let Some(archive) = need() else { return };
    let source = log(&archive, name);
    let mut model = fitted(&source);
    let json = model.to_json();
    assert!(json.len() < 300_000, "{name}: {} bytes", json.len());
    // The seed it is fitted with, and others.
    for seed in [None, Some(2), Some(3)] {
        seed.into_iter().for_each(|seed| model.set_seed(seed));
        let made = reread(&model);
        let short = made.jobs.len().abs_diff(source.jobs.len());
        assert!(short * 200 < source.jobs.len(), "{name}: {short} jobs off");
        assert_eq!(recurring_jobs(&source, model.jobs().unwrap()), 0, "{name}");
        let off = compare(&source, &made);
        assert!(off.is_empty(), "{name} by {seed:?}: {}", off.join("; "));
    }
}

#[test]
fn the_ctc_look_alike_is_as_like_it_as_an_honest_sample() {
    looks_like("CTC-SP2-1996-3.1-cln");
}

#[test]
fn the_kth_look_alike_is_as_like_it_as_an_honest_sample() {
    looks_like("KTH-SP2-1996-2.1-cln");
}

#[test]
fn the_look_alike_of_a_grid_log_is_as_like_it_as_an_honest_sample() {
    looks_like("DAS2-fs1-2003-1");
}

/// Judges a look-alike as `trace validate --generated` does, by these groups.
#[track_caller]
fn passes(name: &str, groups: &[Group]) {
    let Some(archive) = need() else { return };
    let source = log(&archive, name);
    let made = reread(&fitted(&source));
    let options = Options {
        groups: Some(groups.iter().copied().collect()),
        thin: Some(0.1),
        ..Options::default()
    };
    let found = validate(&source.jobs, &made.jobs, &options).unwrap();
    assert!(found.passed(), "{name}: {}", found.failures().join("; "));
}

const MARGINALS_AND_HOURS: [Group; 2] = [Group::Marginals, Group::Hours];

#[test]
fn the_kth_look_alike_passes_what_generated_traces_are_held_to() {
    passes("KTH-SP2-1996-2.1-cln", &Group::GENERATED);
}

#[test]
fn the_ctc_look_alike_passes_on_marginals_and_hours() {
    passes("CTC-SP2-1996-3.1-cln", &MARGINALS_AND_HOURS);
}

#[test]
fn the_nasa_look_alike_passes_on_marginals_and_hours() {
    passes("NASA-iPSC-1993-3.1-cln", &MARGINALS_AND_HOURS);
}

#[test]
fn the_das2_look_alike_passes_on_marginals_and_hours() {
    passes("DAS2-fs1-2003-1", &MARGINALS_AND_HOURS);
}

#[test]
fn the_osc_look_alike_passes_on_marginals_and_hours() {
    passes("OSC-Clust-2000-3.1-cln", &MARGINALS_AND_HOURS);
}

/// A small source without any file: two users, one of them in batches.
fn small() -> Loaded {
    let mut text = String::from("; MaxProcs: 64\n; UnixStartTime: 1704067200\n");
    for i in 0..600u64 {
        let (user, at) = match i % 3 {
            0 => (1, i / 3 * 3_000),
            _ => (2, i / 6 * 6_000 + i % 6 * 10),
        };
        let (run, size) = (60 + i * 37 % 900, 1 << (i % 5));
        text.push_str(&format!(
            "{} {at} -1 {run} {size} -1 -1 {size} 1800 -1 1 {user} 1 {user} 1 -1 -1 -1\n",
            i + 1
        ));
    }
    read(text, "small.swf")
}

#[test]
fn a_look_alike_needs_its_model_only_and_repeats_itself() {
    let model = fitted(&small());
    let read = Model::parse(&model.to_json(), "small.json").unwrap();
    assert_eq!(read, model);
    let text = |model: &Model| output::write(model, "a test", Vec::new()).unwrap().0;
    assert_eq!(text(&read), text(&model));
    let mut other = model.clone();
    other.set_seed(2);
    assert_ne!(text(&other), text(&model));
}

#[test]
fn a_look_alike_of_another_length_keeps_the_rate_and_the_mix() {
    let source = small();
    let Model::LookAlike(mut like) = fitted(&source) else {
        panic!("a look-alike");
    };
    like.extent = Extent::days(like.source.days * 4.0);
    let made = reread(&Model::LookAlike(like));
    let jobs = made.jobs.len() as f64;
    assert!((jobs / 2_400.0 - 1.0).abs() < 0.02, "{jobs}");
    let off = compare(&source, &made);
    // The hours of a source of seven days are not those of four weeks, and two
    // users who submit by the clock in turn are not told by who goes on.
    let off: Vec<_> = off
        .iter()
        .filter(|o| !o.starts_with("hour") && !o.starts_with("jobs of a batch"))
        .collect();
    assert!(off.is_empty(), "{off:?}");
}

/// Jobs and processor-seconds of each day.
fn days(trace: &Loaded) -> Vec<(u64, u128)> {
    let day = |job: &TraceJob| job.submit.as_nanos() / 86_400_000_000_000;
    let first = day(&trace.jobs[0]);
    let last = day(&trace.jobs[trace.jobs.len() - 1]);
    let mut days = vec![(0, 0); (last - first + 1) as usize];
    for job in &trace.jobs {
        let day = &mut days[(day(job) - first) as usize];
        *day = (day.0 + 1, day.1 + job.demand() / 1_000_000_000);
    }
    days
}

/// Every day has its jobs, and all days together are off by little of their demand.
fn keeps_its_days(source: &Loaded) {
    let model = fitted(source);
    let (theirs, ours) = (days(source), days(&reread(&model)));
    assert_eq!(theirs.len(), ours.len());
    let jobs = |days: &[(u64, u128)]| days.iter().map(|day| day.0).collect::<Vec<u64>>();
    assert_eq!(jobs(&theirs), jobs(&ours));
    let all: u128 = theirs.iter().map(|day| day.1).sum();
    let off: u128 = theirs
        .iter()
        .zip(&ours)
        .map(|(a, b)| a.1.abs_diff(b.1))
        .sum();
    assert!(
        off * 50 < all,
        "{off} of {all} processor-seconds are on other days"
    );
}

#[test]
fn each_day_has_its_jobs_and_its_demand() {
    keeps_its_days(&small());
    if let Some(archive) = need() {
        keeps_its_days(&log(&archive, "KTH-SP2-1996-2.1-cln"));
    }
}

#[test]
fn a_model_of_an_earlier_version_is_refused_with_what_to_do() {
    let text = r#"{"schema": "gridrig-workload-model/1", "kind": "look-alike", "profiles": []}"#;
    let error = Model::parse(text, "old.json").unwrap_err().to_string();
    assert!(error.starts_with("old.json:1: field profiles: "), "{error}");
    assert!(
        error.contains("gridrig trace synthesize like TRACE"),
        "{error}"
    );
}

#[test]
fn a_value_that_makes_no_workload_is_refused_with_the_name_of_the_file() {
    let text = fitted(&small())
        .to_json()
        .replace("\"processors\": 64", "\"processors\": 0");
    let error = Model::parse(&text, "none.json").unwrap_err().to_string();
    assert_eq!(
        error,
        "none.json: field processors = \"0\": expected 1 to 1000000000"
    );
}

#[test]
fn a_job_that_recurs_is_counted() {
    let source = small();
    let copy = source.jobs.iter().map(|job| {
        Record::default()
            .with(field::SUBMIT, job.submit)
            .with(field::RUN_TIME, job.run_time)
            .with(field::ALLOCATED, u64::from(job.processors))
            .with(field::USER, job.user().map(u64::from))
    });
    assert_eq!(recurring_jobs(&source, copy.clone()), 600);
    let moved = copy.map(|job| {
        let later = job.time(field::SUBMIT).unwrap() + SimDuration::from_secs(1);
        job.with(field::SUBMIT, later)
    });
    assert!(recurring_jobs(&source, moved) < 600);
}

#[test]
fn what_no_model_can_be_fitted_to_is_refused() {
    let text = "; MaxProcs: 4\n1 0 -1 9 1 -1 -1 1 -1 -1 1 1 1 1 1 1 -1 -1\n";
    let error = LookAlike::fit(&read(text, "one.swf"), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "one.swf: 1 usable jobs: expected at least 2"
    );
}
