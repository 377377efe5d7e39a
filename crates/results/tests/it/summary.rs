use crate::story::{
    A, A1, B, B1, PLACE_0, events, finished, grid, log_of, measure, ms, seen, started, submissions,
    submitted, table,
};
use gridrig_core::cluster::RunTimes;
use gridrig_core::event::{Event, EventKind};
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::time::SimDuration;
use gridrig_results::stats::Distribution;
use gridrig_results::summary::JobCounts;
use gridrig_results::threshold::{FIGURES, FURTHER, METRICS, MORE_METRICS, SIZE_NAMES};
use gridrig_results::{JobTable, Measure, RunSummary, Stop};
use std::num::NonZeroU32;
use std::sync::Arc;

/// Bounded slowdowns at speed 1.0, sorted.
const SLOWDOWNS_REF: [f64; 3] = [10.501 / 8.0, 1.5001, 2.6002];

fn known() -> RunSummary {
    RunSummary {
        policy: Some("round-robin".to_owned()),
        seed: 1,
        clock: "virtual".to_owned(),
        audit: "ok".to_owned(),
        valid: true,
        ..RunSummary::default()
    }
}

fn until_last_arrival() -> Measure {
    Measure {
        stop: Stop::LastArrival,
        ..measure()
    }
}

fn close(got: Option<f64>, expected: f64) {
    let got = got.expect("a value");
    assert!((got - expected).abs() < 1e-9, "{got}, expected {expected}");
}

fn check(metric: &Distribution, sorted: [f64; 3]) {
    assert_eq!(metric.n, 3);
    close(metric.min, sorted[0]);
    close(metric.p50, sorted[1]);
    close(metric.max, sorted[2]);
    close(metric.mean, sorted.iter().sum::<f64>() / 3.0);
    close(metric.p90, sorted[1] + 0.8 * (sorted[2] - sorted[1]));
}

#[test]
fn every_metric_is_what_was_worked_out_by_hand() {
    let summary = RunSummary::compute(&table(), &measure(), SimDuration::ZERO, known());
    let metrics = &summary.metrics;
    check(&metrics.delay_s, [5.002, 6.552, 9.002]);
    check(&metrics.expansion, [1.5002, 10.552 / 4.0, 13.002 / 4.0]);
    check(&metrics.wait_s, [5.001, 6.501, 9.001]);
    check(&metrics.response_s, [10.501, 13.001, 15.001]);
    check(&metrics.bounded_slowdown, [1.5001, 2.1002, 2.6002]);
    check(&metrics.bounded_slowdown_ref, SLOWDOWNS_REF);
    close(summary.makespan_s, 19.001);
    close(summary.utilization, 46.0 / (8.0 * 19.001));
    close(summary.forwarding_ratio, 0.25);
    close(summary.forwards_per_job, 0.25);
    close(summary.waited_share, 1.0 / 3.0);
    close(summary.away_share, 1.0 / 3.0);
    close(summary.throughput_per_s, 3.0 / 19.001);
    close(summary.delay_s_unwaited_mean, (5.002 + 6.552) / 2.0);
    assert_eq!(summary.goodput_processor_s, 46.0);
    assert_eq!(summary.submission_lag_ns_max, Some(1_000_000));
    let domains: Vec<f64> = summary.domains.iter().map(|d| d.busy_processor_s).collect();
    assert_eq!(domains, [38.0, 8.0]);
    close(summary.clusters[0].utilization, 38.0 / (4.0 * 19.001));
    let messages: Vec<_> = summary.messages.iter().map(|(k, n)| (*k, *n)).collect();
    let expected = [
        ("dispatch", 3),
        ("forward", 1),
        ("info", 2),
        ("notify", 4),
        ("refuse", 0),
        ("submit", 4),
    ];
    assert_eq!(messages, expected);
}

#[test]
fn the_further_figures_are_what_was_worked_out_by_hand() {
    let mut jobs = submissions();
    for (job, user) in jobs.iter_mut().zip([1, 2, 1, 2]) {
        job.label.user = Some(user);
    }
    let table = JobTable::build(&crate::story::log(), &jobs, &grid(), &[]);
    let summary = RunSummary::compute(&table, &measure(), SimDuration::ZERO, known());
    check(&summary.slowdown, [1.5001, 10.501 / 4.0, 13.001 / 4.0]);
    check(&summary.queue_s, [0.0, 0.0, 5.0]);
    // Jobs of 3, 2 and 2 processors and 10, 8 and 4 s at speed 1.0.
    let work = 54.0;
    assert_eq!(summary.goodput_by_size["2-4"], work);
    let of_user_1 = f64::midpoint(1.5001, 2.6002);
    let of_user_2 = 10.501 / 8.0;
    let squares = of_user_1 * of_user_1 + of_user_2 * of_user_2;
    for (name, expected) in [
        ("finished_share", 0.75),
        ("goodput_ref_processor_s", work),
        ("utilization_ref", work / ((4.0 + 8.0) * 19.001)),
        ("utilization_arrivals", 3.0 * 1.999 / (8.0 * 7.0)),
        (
            "response_s_weighted",
            (30.0 * 15.001 + 16.0 * 10.501 + 8.0 * 13.001) / work,
        ),
        (
            "slowdown_weighted",
            (3.0 * 15.001 + 2.0 * 10.501 + 2.0 * 13.001) / work,
        ),
        ("overhead_s_mean", (5.002 + 6.552 + 4.002) / 3.0),
        ("messages_per_job", 14.0 / 4.0),
        ("jain_domains", 1.0),
        ("max_min_domains", 1.0),
        (
            "jain_users",
            (of_user_1 + of_user_2).powi(2) / (2.0 * squares),
        ),
        ("max_min_users", of_user_1 / of_user_2),
    ] {
        close(summary.further[name], expected);
    }
}

#[test]
fn a_program_whose_run_time_its_cluster_knows_has_that_at_speed_one_too() {
    // The trace says a second; the cluster of speed 2 says 4 s, which are 8 s at speed 1.0.
    let mut jobs = submissions();
    jobs[1].spec.run_time = SimDuration::from_secs(1);
    let one = NonZeroU32::MIN;
    let times = [(one, SimDuration::from_secs(4))].into();
    let mut grid = grid();
    grid.clusters[B1.index()].config.run_times = Arc::new(RunTimes([(one, times)].into()));
    let table = JobTable::build(&crate::story::log(), &jobs, &grid, &[]);
    let summary = RunSummary::compute(&table, &measure(), SimDuration::ZERO, known());
    let metrics = &summary.metrics;
    check(&metrics.bounded_slowdown_ref, SLOWDOWNS_REF);
    close(summary.further["goodput_ref_processor_s"], 54.0);
    close(summary.further["utilization_ref"], 54.0 / (12.0 * 19.001));
}

#[test]
fn every_figure_that_can_be_a_threshold_is_in_the_summary() {
    let summary = RunSummary::compute(&table(), &measure(), SimDuration::ZERO, known());
    let summary = serde_json::to_value(&summary).unwrap();
    // No job ran on several clusters, or asked for a reservation, and no broker predicted.
    let absent = [
        "clusters_mean",
        "placement_s_mean",
        "startup_s_mean",
        "moved_mib_mean",
        "reservations_granted_share",
        "prediction_error_s_mean",
        "prediction_error_s_abs_mean",
        "prediction_kept_share",
        "prediction_interval_coverage",
        "prediction_interval_s_mean",
    ];
    for name in FIGURES.iter().chain(&FURTHER) {
        assert_eq!(summary[name].is_number(), !absent.contains(name), "{name}");
        assert!(summary.get(name).is_some(), "{name}");
    }
    for name in METRICS.iter().chain(&MORE_METRICS) {
        assert!(summary[name]["mean"].is_number(), "{name}");
    }
    for name in SIZE_NAMES {
        assert!(summary["goodput_by_size"][name].is_number(), "{name}");
    }
}

/// Each job ends before the next one comes, and starts a tenth of a second later after its
/// predicted start than the one before.
#[test]
fn the_interval_of_a_prediction_is_from_the_errors_before_it() {
    let figures = |count: u32| {
        let jobs = (0..count).map(|job| {
            let mut one = submissions().remove(0);
            one.spec.id = JobId(job);
            one
        });
        let jobs: Vec<_> = jobs.collect();
        let told = (0..count).flat_map(|job| {
            let at = u64::from(job) * 20_000;
            let start = at + 1_000 + u64::from(job) * 100;
            let predicted = Event::new(EventKind::Predicted, JobId(job), A).at(ms(at + 1_000));
            [
                (at, submitted(job, at)),
                (at, predicted),
                (start, started(job, A1, PLACE_0)),
                (start + 10_000, finished(job, A1)),
                (start + 10_000, seen(job)),
            ]
        });
        let table = JobTable::build(&log_of(told.collect()), &jobs, &grid(), &[]);
        let further = RunSummary::compute(&table, &measure(), SimDuration::ZERO, known()).further;
        ["coverage", "s_mean"].map(|of| further[format!("prediction_interval_{of}").as_str()])
    };
    assert_eq!(figures(19), [None, None]);
    // The 20th is not within those of the first 19, 0 to 1.8 s.
    let [coverage, width_s] = figures(20);
    close(coverage, 0.0);
    close(width_s, 1.8);
}

#[test]
fn jobs_are_counted_by_state() {
    let summary = RunSummary::compute(&table(), &measure(), SimDuration::ZERO, known());
    let expected = JobCounts {
        submitted: 4,
        completed: 3,
        rejected: 1,
        ..JobCounts::default()
    };
    assert_eq!((summary.jobs, summary.measured), (expected, expected));
}

#[test]
fn only_jobs_submitted_in_the_interval_are_measured() {
    let measure = Measure {
        from: ms(1_000),
        until: Some(ms(6_000)),
        ..measure()
    };
    let summary = RunSummary::compute(&table(), &measure, SimDuration::ZERO, known());
    assert_eq!((summary.jobs.submitted, summary.measured.submitted), (4, 2));
    assert_eq!(summary.metrics.delay_s.n, 2);
    close(summary.metrics.delay_s.min, 6.552);
    // Job 0 keeps 3 processors busy from 5.001 s on, whoever is measured.
    close(summary.utilization, 3.0 * 0.999 / (8.0 * 5.0));
    close(summary.makespan_s, 18.001);
}

/// Processors are not idle because nobody looked any more.
#[test]
fn load_ends_with_the_run_where_jobs_are_measured_for_longer() {
    let until = |until| Measure { until, ..measure() };
    let of = |until_ms: Option<u64>| {
        let measure = until(until_ms.map(ms));
        RunSummary::compute(&table(), &measure, SimDuration::ZERO, known())
    };
    let end_ms = table().end().as_nanos() / 1_000_000;
    let (end, far) = (of(Some(end_ms)), of(Some(1_000_000)));
    assert_eq!(far.utilization, end.utilization);
    assert_eq!(far.measured_until_s, end.measured_until_s);
    assert_eq!(far.clusters, end.clusters);
    assert!(far.utilization > Some(0.0));
}

#[test]
fn a_run_of_which_no_job_is_measured_says_so() {
    let measure = Measure {
        from: ms(900_000),
        ..measure()
    };
    let summary = RunSummary::compute(&table(), &measure, SimDuration::ZERO, known());
    let expected = "none of the 4 jobs is measured: expected some that are submitted from 900s to \
                    the end";
    let told = &summary.warnings;
    assert!(told.iter().any(|it| it.starts_with(expected)), "{told:?}");
}

#[test]
fn a_run_that_stops_early_warns_of_its_bias() {
    let mut told = events();
    told.retain(|(at, _)| *at <= 7_000);
    let table = JobTable::build(&log_of(told), &submissions(), &grid(), &[]);
    let measure = until_last_arrival();
    let summary = RunSummary::compute(&table, &measure, SimDuration::ZERO, known());
    assert_eq!(summary.jobs.unfinished, 4);
    assert_eq!(summary.warnings.len(), 1, "{:?}", summary.warnings);
    assert_eq!(summary.metrics.delay_s, Distribution::default());
    assert_eq!((summary.utilization, summary.makespan_s), (None, None));
    assert_eq!(summary.metrics.wait_s.n, 1);
}

#[test]
fn a_tau_below_the_shortest_run_is_warned_of() {
    for (millis, warnings) in [(3_999, 1), (4_000, 0)] {
        let tau = SimDuration::from_millis(millis);
        let measure = Measure { tau, ..measure() };
        let summary = RunSummary::compute(&table(), &measure, SimDuration::ZERO, known());
        assert_eq!(summary.warnings.len(), warnings, "{:?}", summary.warnings);
    }
}

#[test]
fn a_run_time_of_zero_has_no_expansion() {
    let told = events()
        .into_iter()
        .filter(|(_, event)| event.job.is_some_and(|job| job.0 == 0))
        .map(|(at, event)| (if at >= 15_001 { at - 10_000 } else { at }, event));
    let mut jobs = submissions();
    jobs.truncate(1);
    jobs[0].spec.run_time = SimDuration::ZERO;
    let table = JobTable::build(&log_of(told.collect()), &jobs, &grid(), &[]);
    let measure = Measure {
        tau: SimDuration::ZERO,
        ..measure()
    };
    let summary = RunSummary::compute(&table, &measure, SimDuration::ZERO, known());
    assert_eq!(summary.metrics.expansion.n, 0);
    assert_eq!(summary.metrics.bounded_slowdown.n, 0);
    close(summary.metrics.delay_s.mean, 5.002);
}

#[test]
fn a_pass_interval_is_no_waiting() {
    let mut grid = grid();
    grid.clusters[A1.index()].config.interval = SimDuration::from_secs(5);
    let table = JobTable::build(&crate::story::log(), &submissions(), &grid, &[]);
    let summary = RunSummary::compute(&table, &measure(), SimDuration::ZERO, known());
    assert_eq!(summary.waited_share, Some(0.0));
}

/// The fields of a document, in order.
fn keys(json: &serde_json::Value) -> String {
    let keys = json.as_object().unwrap().keys().map(String::as_str);
    keys.collect::<Vec<_>>().join(" ")
}

/// The order of design 7, which readers of `--json` rely on.
#[test]
fn the_json_has_the_fields_of_the_design_in_its_order() {
    let summary = RunSummary::compute(&table(), &measure(), SimDuration::ZERO, known());
    let json = serde_json::to_value(&summary).unwrap();
    let design = "policy seed replication clock audit jobs skipped valid warnings \
                  forwarding_ratio makespan_s utilization waited_share delay_s expansion wait_s \
                  response_s bounded_slowdown bounded_slowdown_ref ";
    assert!(keys(&json).starts_with(design), "{json}");
    let metric = "n mean sd cv min max p50 p90 p95 p99 mean_trimmed";
    assert_eq!(keys(&json["delay_s"]), metric);
    assert_eq!(json["jobs"]["submitted"], 4);
}

#[test]
fn an_empty_run_is_null_all_over() {
    let table = JobTable::build(&log_of(Vec::new()), &[], &grid(), &[]);
    let summary = RunSummary::compute(&table, &measure(), SimDuration::ZERO, RunSummary::default());
    let json = serde_json::to_value(&summary).unwrap();
    assert!(json["policy"].is_null());
    assert!(json["delay_s"]["mean"].is_null());
    assert!(json["forwarding_ratio"].is_null());
    assert!(json["waited_share"].is_null());
}

#[test]
fn what_processors_were_lent_and_charged_is_what_was_worked_out_by_hand() {
    let lease = |kind, job, by: DomainId, to: DomainId| Event::new(kind, JobId(job), by).to(to);
    let released = [(12_000, lease(EventKind::Released, 1, A, B))];
    is_charged_by_hand(&released);
    // The lender takes them back, of which the borrower hears later.
    let expired = (12_000, lease(EventKind::LeaseExpired, 1, B, A));
    let late = (13_000, lease(EventKind::Released, 1, A, B));
    is_charged_by_hand(&[expired, late]);
}

fn is_charged_by_hand(ends: &[(u64, Event<'static>)]) {
    let lease = |kind, job, by: DomainId, to: DomainId| Event::new(kind, JobId(job), by).to(to);
    let mut told = events();
    told.push((6_000, lease(EventKind::Delegated, 1, B, A)));
    told.extend_from_slice(ends);
    // Nothing had been delegated for this one.
    told.push((7_000, lease(EventKind::Released, 2, A, B)));
    let mut grid = grid();
    for domain in &mut grid.domains {
        domain.topology.grid = Some("g".into());
    }
    let table = JobTable::build(&log_of(told), &submissions(), &grid, &[]);
    let measure = until_last_arrival();
    let summary = RunSummary::compute(&table, &measure, SimDuration::ZERO, known());
    let lending = summary.lending.unwrap();
    assert_eq!(
        (lending.local_processor_s, lending.intra_grid_processor_s),
        (38.0, 8.0)
    );
    assert_eq!(lending.delegated_processor_s, 8.0);
    close(lending.inter_grid_share, 0.0);
    assert_eq!(
        (lending.charged_processor_s, lending.cancelled_requests),
        (12.0, 1)
    );
    let [loan] = &lending.pairs[..] else {
        panic!("{:?}", lending.pairs);
    };
    assert_eq!((loan.borrower.as_str(), loan.lender.as_str()), ("a", "b"));
    assert_eq!((loan.jobs, loan.charged_processor_s), (1, 12.0));
    let [a, b] = &lending.domains[..] else {
        panic!("{:?}", lending.domains);
    };
    assert_eq!((a.submitted, a.goodput_processor_s), (4, 46.0));
    assert_eq!((a.borrowed_processor_s, b.lent_processor_s), (8.0, 8.0));
    close(a.finished_share, 0.75);
    close(a.wait_s_mean, (5.001 + 6.501 + 9.001) / 3.0);
    let messages = lending.messages;
    assert_eq!((messages.notify_broker, messages.negotiate), (4, 3));
    assert_eq!(
        (messages.job_data_exchange, messages.match_claim_release),
        (3, 6)
    );
    assert_eq!((messages.dmm, messages.keep_alive), (3, 0));
    close(messages.dmm_overhead, 3.0 / 16.0);
    // The job that is rejected after 3 s had not started until then: of the other three a
    // third starts each time.
    let waits = summary.censored_waits.unwrap();
    assert_eq!((waits.n, waits.cut), (4, 1));
    close(waits.mean, 5.001 + 1.5 * (2.0 / 3.0) + 2.5 / 3.0);
    close(waits.p50, 6.501);
    assert_eq!(waits, a.waits);
}
