//! What a trace is said to be like, against slow counts and real logs.

use crate::archive::{log, need};
use crate::{line, load_text, secs};
use gridrig_core::rng;
use gridrig_tracelab::characterize::batches::{BATCH_WINDOW, batches};
use gridrig_tracelab::characterize::calendar::ClockSource;
use gridrig_tracelab::characterize::demand::Demand;
use gridrig_tracelab::characterize::sheet::sheet;
use gridrig_tracelab::characterize::{Characterization, Columns, Options, characterize};
use gridrig_tracelab::format::USER;
use gridrig_tracelab::load::{TraceJob, load};
use gridrig_tracelab::spec::SizeFrom;
use proptest::prelude::*;
use rand::RngExt;
use std::collections::BTreeMap;
use std::path::Path;

fn shipped(file: &str) -> Characterization {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces");
    let trace = load(&folder.join(file), SizeFrom::Allocated).unwrap();
    characterize(&trace, &Options::default())
}

fn told(trace: &Characterization, what: &str) -> bool {
    trace.warnings.iter().any(|warning| warning.contains(what))
}

/// Random jobs with many ties, in order of submission.
fn random_jobs(seed: u64, count: usize) -> Vec<TraceJob> {
    let mut rng = rng::stream(seed, "characterizing");
    let mut jobs: Vec<TraceJob> = (0..count)
        .map(|_| {
            let mut job = TraceJob {
                submit: secs(rng.random_range(0..400)),
                run_time: secs(rng.random_range(0..60)),
                processors: rng.random_range(1..9),
                ..TraceJob::default()
            };
            job.ids[USER] = rng.random_bool(0.9).then(|| rng.random_range(0..4));
            job
        })
        .collect();
    jobs.sort_by_key(|job| job.submit);
    jobs
}

#[test]
fn the_demand_is_that_of_counting_second_by_second() {
    for seed in 0..40 {
        let jobs = random_jobs(seed, 1 + seed as usize * 3);
        let busy = |second: u64| {
            let at = secs(second);
            let now = jobs
                .iter()
                .filter(|j| j.submit <= at && at < j.submit + j.run_time);
            let (count, processors) = (now.clone().count() as u64, now.map(|j| j.processors));
            (processors.map(u64::from).sum::<u64>(), count)
        };
        let levels: Vec<(u64, u64)> = (0..500).map(busy).collect();
        let demand = Demand::of(&Columns::of(&jobs), 50, Some(20));
        let peak = levels.iter().map(|level| level.0).max().unwrap();
        let when = levels.iter().position(|level| level.0 == peak).unwrap();
        assert_eq!(demand.peak_processors.unwrap_or(0), peak, "seed {seed}");
        if peak > 0 {
            assert_eq!(
                demand.peak_processors_at_s,
                Some(when as f64),
                "seed {seed}"
            );
        }
        let most = levels.iter().map(|level| level.1).max().unwrap();
        assert_eq!(demand.peak_jobs.unwrap_or(0), most);
        let when = levels.iter().position(|level| level.1 == most).unwrap();
        assert!(demand.peak_jobs_at_s.is_none_or(|at| at == when as f64));
        let above = levels.iter().filter(|level| level.0 > 20).count();
        let first = levels.iter().position(|level| level.1 > 0);
        let last = levels.iter().rposition(|level| level.1 > 0);
        if let (Some(first), Some(last)) = (first, last) {
            let span = (last + 1 - first) as f64;
            let sum: u64 = levels.iter().map(|level| level.0).sum();
            assert!((demand.mean_processors.unwrap() - sum as f64 / span).abs() < 1e-9);
            let sum: u64 = levels.iter().map(|level| level.1).sum();
            assert!((demand.mean_jobs.unwrap() - sum as f64 / span).abs() < 1e-9);
            assert!((demand.above_machine_share.unwrap() - above as f64 / span).abs() < 1e-9);
        }
        let width = demand.bin_s.map_or(1, |bin| bin as usize);
        for (bin, at) in demand.series.at_s.iter().enumerate() {
            let from = *at as usize;
            let inside = &levels[from.min(500)..(from + width).min(500)];
            let check = |largest: u64, mean: f64, of: fn(&(u64, u64)) -> u64| {
                let expected = inside.iter().map(of).max().unwrap_or(0);
                assert_eq!(largest, expected, "seed {seed}");
                let sum: u64 = inside.iter().map(of).sum();
                assert!((mean - sum as f64 / width as f64).abs() < 1e-9);
            };
            let series = &demand.series;
            let (largest, mean) = (&series.processors_max, &series.processors_mean);
            check(largest[bin], mean[bin], |level| level.0);
            let (largest, mean) = (&series.jobs_max, &series.jobs_mean);
            check(largest[bin], mean[bin], |level| level.1);
        }
    }
}

#[test]
fn batches_are_those_of_a_search_through_every_user() {
    for seed in 0..40 {
        let jobs = random_jobs(seed, 5 + seed as usize * 4);
        let mut slow = Vec::new();
        for user in 0..4u32 {
            let mut own = jobs.iter().filter(|j| j.user() == Some(user)).peekable();
            while let Some(first) = own.next() {
                let mut size = 1;
                while own
                    .next_if(|job| job.submit <= first.submit + BATCH_WINDOW)
                    .is_some()
                {
                    size += 1;
                }
                slow.push((first.submit, user, size));
            }
        }
        slow.sort_unstable();
        let mut fast: Vec<_> = batches(&Columns::of(&jobs), BATCH_WINDOW, 1)
            .iter()
            .map(|batch| (batch.first_submit, batch.user, batch.jobs))
            .collect();
        fast.sort_unstable();
        assert_eq!(fast, slow, "seed {seed}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_trace_that_loads_can_be_characterized(
        jobs in prop::collection::vec(
            (time(), time(), count(), count(), count(), time()),
            1..12,
        ),
        start in prop::option::of(count()),
    ) {
        let mut text = start.map_or(String::new(), |start| {
            format!("; UnixStartTime: {start}\n; TimeZone: {start}\n; MaxProcs: {start}\n")
        });
        for (number, (submit, run, size, user, partition, wait)) in jobs.iter().enumerate() {
            text += &format!(
                "{number} {submit} {wait} {run} {size} -1 -1 1 -1 -1 1 {user} 1 1 1 {partition} -1 -1\n"
            );
        }
        let loaded = load_text(&text).unwrap();
        let trace = characterize(&loaded, &Options::default());
        prop_assert_eq!(trace.jobs as usize, loaded.jobs.len());
        prop_assert_eq!(trace.arrivals.hourly.iter().sum::<u64>(), trace.jobs);
        let document = serde_json::to_string(&trace).unwrap();
        prop_assert!(!document.contains("inf") && !document.contains("NaN"));
        let page = sheet(&loaded, &trace).to_html();
        prop_assert!(page.len() < 2_000_000, "{}", page.len());
    }
}

/// Times that a trace can hold, with those at the ends of the range.
fn time() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("0".to_owned()),
        Just("-1".to_owned()),
        Just("0.000000001".to_owned()),
        Just("18446744073.709551615".to_owned()),
        (0u64..18_446_744_073).prop_map(|seconds| seconds.to_string()),
        (0u64..100_000).prop_map(|seconds| seconds.to_string()),
    ]
}

/// Counts and ids that a trace can hold.
fn count() -> impl Strategy<Value = i64> {
    prop_oneof![
        Just(-1),
        Just(0),
        Just(1),
        Just(4_294_967_295),
        0i64..5_000_000
    ]
}

#[test]
fn the_shipped_weeks_are_as_their_page_says() {
    let ctc = shipped("ctc-like.swf.gz");
    assert_eq!((ctc.jobs, ctc.max_processors), (480, Some(450)));
    assert_eq!(ctc.demand.peak_processors, Some(1_392));
    let grid5000 = shipped("grid5000-like.swf.gz");
    assert_eq!(grid5000.max_processors, Some(450));
    assert_eq!(grid5000.demand.peak_processors, Some(751));
    assert_eq!(grid5000.processors.max, Some(204.0));
    for trace in [ctc, grid5000] {
        assert_eq!(trace.arrivals.hourly.iter().sum::<u64>(), trace.jobs);
        assert_eq!(trace.arrivals.daily.iter().sum::<u64>(), trace.jobs);
        assert_eq!(trace.profile.jobs.iter().sum::<u64>(), trace.jobs);
        assert_eq!(trace.processors_cdf.share.last(), Some(&1.0));
        assert_eq!(
            trace.run_time_percentiles_s.first().copied(),
            trace.run_time_s.min
        );
        assert_eq!(
            trace.run_time_percentiles_s.last().copied(),
            trace.run_time_s.max
        );
        assert_eq!(trace.interarrival_s.n, trace.jobs - 1);
        let days: f64 = trace.arrivals.daily_days.iter().sum();
        assert!((days * 86_400.0 - trace.span_s).abs() < 1e-3);
        assert!(trace.warnings.is_empty() && trace.skipped.is_empty());
    }
}

#[test]
fn a_trace_of_one_job_has_null_where_nothing_is_defined() {
    let loaded = load_text(line(1, "5", "10", 2, 2, 1)).unwrap();
    let trace = characterize(&loaded, &Options::default());
    assert_eq!((trace.jobs, trace.span_s), (1, 0.0));
    assert_eq!(trace.offered_load, None);
    assert_eq!(trace.interarrival_s.n, 0);
    assert!(trace.autocorrelation.iter().all(|at| at.r.is_none()));
    assert_eq!(trace.arrivals.clock, ClockSource::Trace);
    assert_eq!(trace.batches.count, 0);
    assert_eq!(trace.demand.mean_processors, Some(2.0));
    for what in ["no header", "--processors", "UnixStartTime"] {
        assert!(told(&trace, what), "{:?}", trace.warnings);
    }
}

#[test]
fn a_trace_without_a_job_that_ran_is_characterized_as_empty() {
    let loaded = load_text(line(1, "5", "-1", 2, 2, 0)).unwrap();
    let trace = characterize(&loaded, &Options::default());
    assert_eq!((trace.jobs, trace.skipped["never-ran"]), (0, 1));
    assert_eq!(trace.demand, Demand::default());
    assert!(trace.clusters.is_none());
    assert!(told(&trace, "no line is a job that ran"));
}

#[test]
fn processors_given_by_the_user_count_before_the_header() {
    let text = "; MaxNodes: 8\n".to_owned()
        + &line(1, "0", "10", 2, 2, 1)
        + &line(2, "10", "10", 12, 2, 1);
    let loaded = load_text(text).unwrap();
    let silent = characterize(&loaded, &Options::default());
    assert_eq!(silent.offered_load, Some((20.0 + 120.0) / 80.0));
    assert!(told(&silent, "MaxNodes = 8") && told(&silent, "widest job has 12"));
    let options = Options {
        processors: Some(14),
        cluster_processors: BTreeMap::from([(77, 4)]),
    };
    let given = characterize(&loaded, &options);
    assert_eq!(given.offered_load, Some(1.0));
    assert!(!told(&given, "MaxNodes") && !told(&given, "widest"));
    assert!(told(&given, "no cluster 77"));
}

/// Name, peak of the demand and when, jobs and how many of them have one
/// processor: counted with sort and awk, a line per start and per end.
const SMALL_LOGS: [(&str, u64, u64, u64, u64); 11] = [
    ("CTC-SP2-1996-3.1-cln", 3_944, 8_060_577, 77_222, 32_413),
    ("DAS2-fs1-2003-1", 4_590, 11_021_151, 39_356, 946),
    ("KTH-SP2-1996-2.1-cln", 943, 4_928_184, 28_475, 9_370),
    ("LANL-CM5-1994-4.1-cln", 17_824, 3_199_504, 122_057, 0),
    ("LLNL-Atlas-2006-2.1-cln", 30_096, 8_127_660, 39_190, 0),
    ("METACENTRUM-2009-2", 2_495, 9_942_141, 103_656, 89_078),
    ("NASA-iPSC-1993-3", 176, 3_010_441, 42_264, 28_960),
    ("NASA-iPSC-1993-3.1-cln", 176, 3_010_441, 18_239, 4_935),
    ("OSC-Clust-2000-3.1-cln", 257, 851_837, 36_097, 26_913),
    ("SDSC-Par-1996-3.1-cln", 1_613, 8_914_782, 32_135, 2_680),
    ("SDSC-SP2-1998-4.2-cln", 1_282, 32_909_107, 54_044, 12_524),
];

/// The same for logs that take longer.
const LARGE_LOGS: [(&str, u64, u64, u64, u64); 6] = [
    (
        "CEA-Curie-2011-2.1-cln",
        1_254_913,
        33_159_371,
        301_914,
        54_996,
    ),
    ("HPC2N-2002-2.2-cln", 1_569, 45_483_424, 202_871, 85_353),
    ("LCG-2005-1", 3_359, 754_021, 188_041, 188_041),
    ("LPC-EGEE-2004-1.2-cln", 930, 10_182_169, 220_695, 220_695),
    ("RICC-2010-2", 217_848, 3_526_320, 447_794, 346_268),
    ("SDSC-BLUE-2000-4.2-cln", 18_928, 1_464_793, 232_562, 0),
];

#[track_caller]
fn check_logs(logs: &[(&str, u64, u64, u64, u64)]) {
    let Some(folder) = need() else { return };
    for (name, peak, at, jobs, serial) in logs {
        let given = Options {
            processors: name.starts_with("METACENTRUM").then_some(806),
            ..Options::default()
        };
        let trace = characterize(&log(&folder, name), &given);
        assert_eq!(trace.jobs, *jobs, "{name}");
        assert_eq!(trace.demand.peak_processors, Some(*peak), "{name}");
        assert_eq!(
            trace.demand.peak_processors_at_s,
            Some(*at as f64),
            "{name}"
        );
        let share = *serial as f64 / *jobs as f64;
        assert_eq!(trace.sizes.serial_share, Some(share), "{name}");
        assert!(trace.offered_load.is_some_and(|load| load > 0.0), "{name}");
        assert!(trace.demand.series.at_s.len() <= 201, "{name}");
        assert_eq!(trace.arrivals.hourly.iter().sum::<u64>(), *jobs, "{name}");
    }
}

#[test]
fn the_smaller_logs_have_the_peaks_that_awk_counts() {
    check_logs(&SMALL_LOGS);
}

#[test]
fn the_larger_logs_have_the_peaks_that_awk_counts() {
    check_logs(&LARGE_LOGS[..3]);
}

#[test]
fn the_other_larger_logs_have_the_peaks_that_awk_counts() {
    check_logs(&LARGE_LOGS[3..]);
}

#[test]
fn the_logs_are_placed_in_the_week_by_their_start_time() {
    let Some(folder) = need() else { return };
    // Offered load as PROVENANCE.md has it, and the first submission.
    for (name, load, first) in [
        ("CTC-SP2-1996-3.1-cln", 0.842, "Wed 1996-06-26 17:06 UTC-4"),
        ("SDSC-Par-1996-3.1-cln", 0.747, "Wed 1995-12-27 10:53 UTC-8"),
        ("KTH-SP2-1996-2.1-cln", 0.701, "Mon 1996-09-30 12:38 UTC+2"),
    ] {
        let trace = characterize(&log(&folder, name), &Options::default());
        assert!(
            (trace.offered_load.unwrap() - load).abs() < 0.0006,
            "{name}"
        );
        assert_eq!(trace.first_submit.as_deref(), Some(first), "{name}");
        // Users sleep at night and rest on Sundays.
        let hourly = trace.arrivals.hourly;
        assert!(hourly[14] > 2 * hourly[5], "{name}: {hourly:?}");
        let daily = trace.arrivals.daily;
        assert!(daily[2] > daily[6], "{name}: {daily:?}");
    }
}

#[test]
fn the_clusters_of_the_grid_logs_are_told_apart() {
    let Some(folder) = need() else { return };
    let trace = characterize(&log(&folder, "METACENTRUM-2009-2"), &Options::default());
    let clusters = trace.clusters.unwrap();
    assert_eq!((clusters.count, clusters.jobs_without), (14, 0));
    let sum: u64 = clusters.loads.iter().map(|load| load.jobs).sum();
    assert_eq!(sum, trace.jobs);
    // What ran at once cannot exceed what the archive's page says there is.
    let observed: u64 = clusters
        .loads
        .iter()
        .filter_map(|load| load.processors)
        .sum();
    assert!((600..=870).contains(&observed), "{observed}");
    assert!(clusters.temporary_imbalance.unwrap().between.ratio > 1_000.0);
}
