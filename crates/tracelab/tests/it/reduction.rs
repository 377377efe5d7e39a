//! The steps of the reduction, one by one.

use crate::{decimal, line, load_text, secs, systematic, whole, window};
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::job::Entry;
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use gridrig_tracelab::prepare::{Prepared, merge};
use gridrig_tracelab::reduce::STEPS;
use gridrig_tracelab::spec::{Keep, WorkloadSpec, ZeroRunTime};

/// Ten jobs at 100, 110, ... 190, of 1 to 10 processors, that run 0, 10, ... 90 s.
fn ten() -> String {
    (0..10)
        .map(|i| {
            let (at, run) = ((100 + 10 * i).to_string(), (10 * i).to_string());
            line(i + 1, &at, &run, i64::from(i) + 1, -1, 1)
        })
        .collect()
}

fn prepared(change: impl FnOnce(&mut WorkloadSpec)) -> Prepared {
    let mut spec = whole();
    change(&mut spec);
    load_text(ten()).unwrap().into_prepared(&spec, 3).unwrap()
}

fn ids(prepared: &Prepared) -> Vec<u64> {
    prepared.jobs.iter().map(|j| j.label.trace_id).collect()
}

#[test]
fn without_any_step_time_0_is_the_first_submit() {
    let prepared = prepared(|_| {});
    assert_eq!(prepared.jobs.len(), 10);
    assert_eq!(prepared.jobs[0].at, SimTime::ZERO);
    assert_eq!(prepared.jobs[9].at, SimTime::from_secs(90));
    assert_eq!(prepared.jobs[0].spec.run_time, secs(1));
    assert_eq!(prepared.jobs[4].label.workload, 3);
    assert_eq!(prepared.jobs[4].label.user, Some(3));
    assert_eq!(prepared.jobs[4].spec.requested_time, Some(secs(600)));
    let names: Vec<&str> = prepared.reduction.steps.iter().map(|s| s.name).collect();
    assert_eq!(names, STEPS);
}

#[test]
fn wide_jobs_are_left_out_and_their_demand_is_known() {
    let prepared = prepared(|spec| spec.max_processors = Some(8));
    assert_eq!(prepared.reduction.reduced["wider-than-limit"], 2);
    let step = prepared.reduction.steps[1];
    let lost = step.before.processor_seconds() - step.after.processor_seconds();
    assert_eq!(lost, 9.0 * 80.0 + 10.0 * 90.0);
    assert_eq!(step.before.span, secs(90));
}

#[test]
fn a_window_is_counted_from_the_logs_time_0_and_its_start_is_time_0_of_the_run() {
    let prepared = prepared(|spec| spec.window = Some(window(115, 25)));
    assert_eq!(ids(&prepared), [3, 4]);
    assert_eq!(prepared.jobs[0].at, SimTime::from_secs(5));
    assert_eq!(prepared.reduction.reduced["outside-window"], 8);
    assert_eq!(prepared.reduction.steps[2].after.span, secs(25));
}

#[test]
fn a_window_longer_than_the_log_does_not_change_the_load() {
    let long = prepared(|spec| spec.window = Some(window(100, 9_000)));
    let step = long.reduction.steps[2];
    assert_eq!(step.before, step.after);
    assert_eq!(long.reduction.steps[6].after.span, secs(90));
    // From the middle of the log to its end, and the empty time before its first job.
    for (start, span) in [(150, 40), (0, 190), (190, 0), (500, 0)] {
        let cut = prepared(|spec| spec.window = Some(window(start, 9_000)));
        assert_eq!(cut.reduction.steps[2].after.span, secs(span), "{start}");
    }
    // The load that is asked for is that of this time, too.
    let load = prepared(|spec| {
        spec.window = Some(window(100, 9_000));
        spec.keep = Keep::Load {
            offered: decimal("0.5"),
            processors: 40,
            seed: 1,
        };
    });
    let all = long.reduction.steps[6].after.offered(40).unwrap();
    let kept = load.reduction.steps[6].after.offered(40).unwrap();
    assert!(all > 0.8 && (kept - 0.5).abs() < 0.13, "{all} {kept}");
}

#[test]
fn a_window_holds_its_start_but_not_its_end() {
    let prepared = prepared(|spec| spec.window = Some(window(110, 20)));
    assert_eq!(ids(&prepared), [2, 3]);
}

#[test]
fn a_systematic_sample_takes_m_of_n_and_phase_shifts_it() {
    let check = |m, n, phase, expected: &[u64]| {
        let prepared = prepared(|spec| spec.keep = systematic(m, n, phase));
        assert_eq!(ids(&prepared), expected, "{m}/{n} phase {phase}");
    };
    check(2, 5, 0, &[3, 5, 8, 10]);
    check(2, 5, 2, &[1, 3, 6, 8]);
    check(1, 3, 0, &[3, 6, 9]);
    check(3, 3, 7, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
}

#[test]
fn a_sample_does_not_move_time_0() {
    let prepared = prepared(|spec| spec.keep = systematic(1, 2, 0));
    assert_eq!(prepared.jobs[0].at, SimTime::from_secs(10));
}

#[test]
fn a_share_is_drawn_from_the_seed() {
    let draw = |seed, share: &str| {
        let share = decimal(share);
        ids(&prepared(|spec| spec.keep = Keep::Share { share, seed }))
    };
    assert_eq!(draw(1, "0.5"), draw(1, "0.5"));
    assert!((2..20).any(|seed| draw(seed, "0.5") != draw(1, "0.5")));
    assert_eq!(draw(1, "1").len(), 10);
}

#[test]
fn run_times_of_zero_become_one_second_or_go_or_stay() {
    assert_eq!(prepared(|_| {}).jobs[0].spec.run_time, secs(1));
    let dropped = prepared(|spec| spec.zero_run_time = ZeroRunTime::Drop);
    assert_eq!(dropped.reduction.reduced["zero-run-time"], 1);
    assert_eq!(dropped.jobs.len(), 9);
    let kept = prepared(|spec| spec.zero_run_time = ZeroRunTime::Keep);
    assert_eq!(kept.jobs[0].spec.run_time, SimDuration::ZERO);
}

#[test]
fn scaling_divides_and_rounds_down_and_the_shortest_run_is_lifted_after_it() {
    let prepared = prepared(|spec| {
        spec.scale_arrival = decimal("3");
        spec.scale_run_time = decimal("60");
        spec.min_run_time = secs(1);
        spec.offset = secs(1000);
    });
    let job = &prepared.jobs[1];
    assert_eq!(
        job.at,
        SimTime::from_secs(1000) + SimDuration::from_nanos(3_333_333_333)
    );
    assert_eq!(job.spec.run_time, secs(1));
    assert_eq!(job.spec.requested_time, Some(secs(10)));
    assert_eq!(
        prepared.jobs[7].spec.run_time,
        SimDuration::from_nanos(1_166_666_666)
    );
    assert_eq!(prepared.reduction.steps[5].after.span, secs(30));
    let [scaled, lifted] = [5, 6].map(|step| prepared.reduction.steps[step].after);
    assert!(lifted.processor_nanos > scaled.processor_nanos);
}

#[test]
fn the_offered_load_is_demand_over_capacity() {
    let prepared = prepared(|spec| spec.zero_run_time = ZeroRunTime::Keep);
    let demand: u64 = (0..10).map(|i| (i + 1) * 10 * i).sum();
    let offered = prepared.reduction.steps[0].before.offered(10).unwrap();
    assert!((offered - demand as f64 / 900.0).abs() < 1e-12);
    assert_eq!(prepared.reduction.steps[0].before.offered(0), None);
}

#[test]
fn memory_is_a_requirement_only_when_asked_for_and_only_the_requested_one() {
    let text = "1 0 -1 5 1 -1 4096 1 -1 2048 1 1 1 1 1 1 -1 -1\n\
                2 0 -1 5 1 -1 4096 1 -1 -1 1 1 1 1 1 1 -1 -1\n";
    let memory = |asked| {
        let mut spec = whole();
        spec.require_memory = asked;
        let prepared = load_text(text).unwrap().into_prepared(&spec, 0).unwrap();
        let kib = prepared
            .jobs
            .iter()
            .map(|j| j.spec.components.first.requirements.memory_kib);
        kib.collect::<Vec<_>>()
    };
    assert_eq!(memory(true), [2048, 0]);
    assert_eq!(memory(false), [0, 0]);
}

#[test]
fn steps_that_make_no_sense_are_refused() {
    let check = |message: &str, change: &dyn Fn(&mut WorkloadSpec)| {
        let mut spec = whole();
        change(&mut spec);
        let error = load_text(ten())
            .unwrap()
            .into_prepared(&spec, 0)
            .unwrap_err();
        assert_eq!(error.to_string(), message);
    };
    let zero = Decimal::from_whole(0);
    check(
        "t.swf: field scale.arrival = \"0\": expected a factor above 0",
        &|spec| spec.scale_arrival = zero,
    );
    check(
        "t.swf: field keep = \"3/2\": expected m/n with 0 < m <= n",
        &|spec| spec.keep = systematic(3, 2, 0),
    );
    check(
        "t.swf: field keep = \"1.5\": expected a share above 0 and at most 1",
        &|spec| {
            spec.keep = Keep::Share {
                share: decimal("1.5"),
                seed: 1,
            };
        },
    );
    check(
        "t.swf: job 1: its requested time does not fit 584 years after scaling and offset",
        &|spec| spec.scale_run_time = decimal("0.000000001"),
    );
}

#[test]
fn a_reduction_that_leaves_nothing_says_so() {
    let prepared = prepared(|spec| spec.window = Some(window(5000, 1)));
    assert!(prepared.jobs.is_empty());
    assert_eq!(
        prepared.reduction.trace.warnings,
        [
            "t.swf: no job is submitted in the window from day 0.06 to 0.06, counted from the \
             log's time 0: the first is submitted on day 0.00, the last on day 0.00",
            "t.swf: the reduction leaves no job"
        ]
    );
}

#[test]
fn workloads_are_merged_by_time_then_workload_then_trace_order() {
    let text = [(7, "0"), (8, "5"), (9, "5")].map(|(n, at)| line(n, at, "1", 1, 1, 1));
    let mut spec = whole();
    let loaded = load_text(text.concat()).unwrap();
    let first = loaded.clone().into_prepared(&spec, 0).unwrap();
    spec.entry = Entry::Domain(DomainId(1));
    let second = loaded.clone().into_prepared(&spec, 1).unwrap();
    let merged = merge(vec![first, second]).unwrap();
    let order: Vec<_> = merged
        .iter()
        .map(|s| (s.label.workload, s.label.trace_id, s.entry))
        .collect();
    let (a, b) = (Entry::Domain(DomainId(0)), Entry::Domain(DomainId(1)));
    let expected = [
        (0, 7, a),
        (1, 7, b),
        (0, 8, a),
        (0, 9, a),
        (1, 8, b),
        (1, 9, b),
    ];
    assert_eq!(order, expected);
    assert!(merged.iter().zip(0..).all(|(s, id)| s.spec.id == JobId(id)));
}
