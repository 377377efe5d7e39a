//! The Lublin-Feitelson generator against the authors' own program, recorded
//! by `scripts/record-lublin`.

use gridrig_core::ids::DomainId;
use gridrig_core::job::Entry;
use gridrig_core::time::Decimal;
use gridrig_tracelab::format::{Record, field};
use gridrig_tracelab::prepare::prepare;
use gridrig_tracelab::spec::WorkloadSpec;
use gridrig_tracelab::synth::lublin::{Lublin, Preset};
use gridrig_tracelab::synth::{Extent, Model};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the issue asks for.
const GREATEST_DISTANCE: f64 = 0.02;

/// Jobs that are compared: five streams as long as the recorded ones, so that
/// as many days begin without ending.
const STREAMS: u64 = 5;
const JOBS: u64 = 20_000;

#[derive(Deserialize)]
struct Golden {
    modes: BTreeMap<String, Mode>,
}

#[derive(Deserialize)]
struct Mode {
    interarrival_s: Cdf,
    processors: Cdf,
    run_time_s: Cdf,
    arrivals_per_hour: [u64; 24],
}

/// How many of `n` recorded values are no larger than some of them.
#[derive(Deserialize)]
struct Cdf {
    n: u64,
    values: Vec<u64>,
    up_to: Vec<u64>,
}

impl Cdf {
    /// Greatest distance of the two distribution functions at the recorded
    /// values, and where it is.
    fn distance(&self, mut values: Vec<u64>) -> (f64, u64) {
        values.sort_unstable();
        let mut greatest = (0.0, 0);
        for (value, count) in self.values.iter().zip(&self.up_to) {
            let ours = values.partition_point(|v| v <= value) as f64 / values.len() as f64;
            let distance = (ours - *count as f64 / self.n as f64).abs();
            if distance > greatest.0 {
                greatest = (distance, *value);
            }
        }
        greatest
    }
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../golden/lublin.json")).unwrap()
}

fn seconds(time: Option<gridrig_core::time::SimDuration>) -> u64 {
    time.unwrap().as_nanos() / 1_000_000_000
}

/// A change of a model's parameters.
type Change = fn(&mut Lublin);

/// The marginals of a model, from streams that each begin at midnight.
#[derive(Default)]
struct Marginals {
    gaps: Vec<u64>,
    sizes: Vec<u64>,
    run_times: Vec<u64>,
    hours: [u64; 24],
}

impl Marginals {
    fn of(change: impl Fn(&mut Lublin), preset: Preset) -> Self {
        let mut marginals = Marginals::default();
        for seed in 1..=STREAMS {
            let mut model = preset.model(128, Extent::jobs(JOBS), seed);
            change(&mut model);
            let jobs: Vec<Record> = model.jobs().unwrap().collect();
            let times: Vec<u64> = jobs
                .iter()
                .map(|j| seconds(j.time(field::SUBMIT)))
                .collect();
            marginals.gaps.extend(times.windows(2).map(|w| w[1] - w[0]));
            for (job, at) in jobs.iter().zip(times) {
                marginals.sizes.push(job.count(field::ALLOCATED).unwrap());
                marginals.run_times.push(seconds(job.time(field::RUN_TIME)));
                marginals.hours[(at / 3_600 % 24) as usize] += 1;
            }
        }
        marginals
    }

    /// What is off, in words that name the parameters to look at.
    fn compare(&self, golden: &Mode) -> Vec<String> {
        let mut off = Vec::new();
        let mut check = |what: &str, parameters: &str, (distance, at): (f64, u64)| {
            println!("{what}: distance {distance:.4} at {at}");
            if distance > GREATEST_DISTANCE {
                off.push(format!(
                    "{what} is {distance:.4} off at {at}: look at {parameters}"
                ));
            }
        };
        check(
            "inter-arrival time",
            "arrival.aarr, barr, arar",
            golden.interarrival_s.distance(self.gaps.clone()),
        );
        check(
            "size",
            "size.serial, power2, low, med, high, prob",
            golden.processors.distance(self.sizes.clone()),
        );
        check(
            "run time",
            "run_time.a1, b1, a2, b2, pa, pb",
            golden.run_time_s.distance(self.run_times.clone()),
        );
        check(
            "hour of the day",
            "arrival.anum, bnum",
            hours_apart(&self.hours, &golden.arrivals_per_hour),
        );
        off
    }
}

/// Greatest distance of the distribution functions over the day.
fn hours_apart(ours: &[u64; 24], theirs: &[u64; 24]) -> (f64, u64) {
    let total = |hours: &[u64; 24]| hours.iter().sum::<u64>() as f64;
    let (n, m) = (total(ours), total(theirs));
    let mut sums = (0.0f64, 0.0f64);
    let mut greatest = (0.0, 0);
    for hour in 0..24 {
        sums.0 += ours[hour] as f64 / n;
        sums.1 += theirs[hour] as f64 / m;
        let distance: f64 = (sums.0 - sums.1).abs();
        if distance > greatest.0 {
            greatest = (distance, hour as u64);
        }
    }
    greatest
}

#[test]
fn jobs_of_every_type_are_those_of_the_reference_program() {
    let golden = golden();
    for (mode, preset) in [
        ("all", Preset::All),
        ("batch", Preset::Batch),
        ("interactive", Preset::Interactive),
        ("both", Preset::Both),
    ] {
        let off = Marginals::of(|_| {}, preset).compare(&golden.modes[mode]);
        assert!(off.is_empty(), "{mode}: {}", off.join("; "));
    }
}

#[test]
fn a_wrong_parameter_is_named() {
    let golden = golden();
    let off = |change: Change| Marginals::of(change, Preset::All).compare(&golden.modes["all"]);
    let cases: [(Change, &str); 4] = [
        (|m| class(m).size.serial += 0.05, "size"),
        (|m| class(m).run_time.a1 *= 1.05, "run time"),
        (|m| class(m).arrival.barr *= 1.03, "inter-arrival time"),
        (|m| class(m).arrival.bnum *= 1.05, "hour of the day"),
    ];
    for (change, what) in cases {
        let found = off(change);
        assert!(
            found.iter().any(|f| f.starts_with(what)),
            "{what}: {found:?}"
        );
    }
}

fn class(model: &mut Lublin) -> &mut gridrig_tracelab::synth::lublin::JobClass {
    model.classes.get_mut("all").unwrap()
}

#[test]
fn no_job_is_wider_than_a_machine_whose_size_is_no_power_of_two() {
    for processors in [1, 3, 100, 225] {
        let model = Preset::Both.model(processors, Extent::jobs(5_000), 1);
        let widest = model
            .jobs()
            .unwrap()
            .filter_map(|j| j.count(field::ALLOCATED))
            .max();
        assert!(widest.unwrap() <= u64::from(processors), "{widest:?}");
    }
}

#[test]
fn grids_have_95_percent_serial_jobs_and_the_rest_in_equal_parts() {
    let model = Preset::Dmm.model(128, Extent::jobs(100_000), 1);
    let sizes: Vec<u64> = model
        .jobs()
        .unwrap()
        .filter_map(|j| j.count(field::ALLOCATED))
        .collect();
    let share = |of: fn(&&u64) -> bool| sizes.iter().filter(of).count() as f64 / 100_000.0;
    let serial = share(|size| **size == 1);
    assert!((serial - 0.95).abs() < 0.005, "{serial}");
    let power2 = share(|size| **size > 1 && size.is_power_of_two());
    // Some of the other sizes are powers of two by chance.
    assert!((0.025..0.04).contains(&power2), "{power2}");
}

#[test]
fn a_scenario_may_ask_a_model_for_a_load_if_it_is_one_that_can_have_it() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../resources/workloads");
    let path = |model: &str| PathBuf::from(folder).join(model);
    let prepared = |model: &str, load, seed| {
        let spec = WorkloadSpec {
            is_model: true,
            model_load: Decimal::parse(load),
            seed,
            ..WorkloadSpec::whole(path(model), Entry::Domain(DomainId(0)))
        };
        prepare(&spec, 0)
    };
    for (load, wanted) in [("0.3", 0.3), ("0.9", 0.9)] {
        for seed in 1..4 {
            let jobs = prepared("dmm-256.json", load, seed).unwrap().jobs;
            let areas = jobs
                .iter()
                .map(|job| f64::from(job.spec.processors()) * job.spec.run_time.as_secs_f64());
            let offered = areas.sum::<f64>() / (256.0 * 86_400.0);
            let mut model = Model::read(&path("dmm-256.json")).unwrap();
            model.set_seed(seed);
            let Model::Lublin(model) = model else {
                panic!("{model:?}");
            };
            // As near as single jobs allow: the largest has more than the demand of a day.
            let (_, found) = model.with_load(wanted).unwrap();
            assert!(
                (offered / found.achieved_load - 1.0).abs() < 1e-3,
                "{offered}"
            );
        }
    }
    let refused = prepared("egee-3.json", "0.3", 1).unwrap_err().to_string();
    assert!(
        refused.contains("egee-3.json") && refused.contains("lublin"),
        "{refused}"
    );
}
