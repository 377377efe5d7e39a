//! Corruptions of a good log, each found by its rule.

use crate::story::{
    A, A1, B, B1, PLACE_0, PLACE_1, PLACE_2, arrived, dispatched, events, finished, forwarded,
    grid, log, log_of, ms, nodes, notified, open_in, queued, rejected, seen, started, submissions,
    submitted,
};
use gridrig_core::event::{Event, EventKind, Party};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Reason, Submission};
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::SimDuration;
use gridrig_results::audit::{AuditReport, Rule, Violation};
use gridrig_results::summary::JobCounts;
use gridrig_results::{AuditFacts, audit};

pub type Told = Vec<(u64, Event<'static>)>;

pub fn audit_of(told: Told, jobs: &[Submission]) -> Result<AuditReport, Vec<Violation>> {
    audit(&log_of(told), &AuditFacts::new(&grid(), jobs))
}

/// Corrupts the good log and expects these rules to be broken, no others.
pub fn check(corrupt: impl FnOnce(&mut Told), broken: &[Rule]) -> Vec<Violation> {
    check_jobs(submissions(), corrupt, broken)
}

fn check_jobs(
    jobs: Vec<Submission>,
    corrupt: impl FnOnce(&mut Told),
    broken: &[Rule],
) -> Vec<Violation> {
    let mut told = events();
    corrupt(&mut told);
    let violations = audit_of(told, &jobs).expect_err("the log is corrupt");
    let mut rules: Vec<Rule> = violations.iter().map(|violation| violation.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    let mut expected = broken.to_vec();
    expected.sort_unstable();
    let shown: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert_eq!(rules, expected, "{}", shown.join("\n"));
    violations
}

fn remove(told: &mut Told, event: Event<'_>) {
    let before = told.len();
    told.retain(|(_, other)| *other != event);
    assert_eq!(told.len() + 1, before);
}

pub fn shift(told: &mut Told, event: Event<'_>, to: u64) {
    let found = told.iter_mut().find(|(_, other)| *other == event);
    found.expect("an event of the story").0 = to;
}

pub fn replace(told: &mut Told, event: Event<'_>, by: Event<'static>) {
    let found = told.iter_mut().find(|(_, other)| *other == event);
    found.expect("an event of the story").1 = by;
}

fn restart(told: &mut Told, placement: &'static [PlacementRun]) {
    replace(told, started(0, A1, PLACE_0), started(0, A1, placement));
}

#[test]
fn a_good_log_is_in_order() {
    let report = audit(&log(), &AuditFacts::new(&grid(), &submissions()));
    let expected = AuditReport {
        events: 31,
        jobs: JobCounts {
            submitted: 4,
            completed: 3,
            rejected: 1,
            ..JobCounts::default()
        },
        ..AuditReport::default()
    };
    assert_eq!(report, Ok(expected));
}

#[test]
fn a_violation_tells_the_whole_history_of_its_job() {
    let violations = check(
        |told| remove(told, finished(2, A1)),
        &[Rule::Ends, Rule::News],
    );
    let missing = violations.last().unwrap();
    assert_eq!((missing.rule, missing.job), (Rule::Ends, Some(JobId(2))));
    let shown = missing.to_string();
    let expected = "ends: job 2: it has no end: it was last running at lrms:a1\n    \
                    6s: submitted to broker:a (intended at 6s)\n    \
                    6s: arrived at broker:a after 0 forwards\n    \
                    10s: dispatched by broker:a to lrms:a1\n    \
                    10.001s: queued at lrms:a1\n    \
                    15.001s: started at lrms:a1 on resource 0 node 0 x 2\n    \
                    19.001s: news of its end sent by lrms:a1 to broker:a\n    \
                    19.002s: its end was seen by broker:a";
    assert_eq!(shown, expected);
}

/// A corruption in words, itself, and the rules that it breaks.
type Corruption = (&'static str, fn(&mut Told), &'static [Rule]);

fn check_each(corruptions: &[Corruption]) {
    for (what, corrupt, broken) in corruptions {
        println!("{what}");
        check(corrupt, broken);
    }
}

#[test]
fn submissions_and_ends_out_of_order_are_found() {
    check_each(&[
        (
            "a job submitted twice",
            |told| told.push((3_000, submitted(0, 0))),
            &[Rule::SubmittedOnce],
        ),
        (
            "a job never submitted",
            |told| told.retain(|(_, event)| event.job != Some(JobId(3))),
            &[Rule::SubmittedInTime],
        ),
        (
            "a job submitted before its time",
            |told| replace(told, submitted(1, 999), submitted(1, 1_001)),
            &[Rule::SubmittedInTime],
        ),
        (
            "events of an unknown job",
            |told| told.push((16_000, finished(44, A1))),
            &[Rule::KnownJob],
        ),
        (
            "two ends",
            |told| told.push((16_000, finished(1, B1))),
            &[Rule::EndsOnce],
        ),
        (
            "an end, and a rejection",
            |told| told.push((16_000, rejected(1))),
            &[Rule::EndsOnce],
        ),
        (
            "a rejection, and an end",
            |told| told.push((16_000, Event::new(EventKind::Cancelled, JobId(3), A))),
            &[Rule::EndsOnce],
        ),
        (
            "an end elsewhere than the start",
            |told| replace(told, finished(1, B1), finished(1, A1)),
            &[Rule::RightPlace],
        ),
        (
            "a run faster than its nodes",
            |told| shift(told, finished(1, B1), 11_500),
            &[Rule::RunTime],
        ),
        (
            "no news of an end",
            |told| remove(told, seen(0)),
            &[Rule::News],
        ),
        (
            "news before the end",
            |told| told.push((14_000, seen(0))),
            &[Rule::News],
        ),
    ]);
}

#[test]
fn starts_on_nodes_that_are_not_there_or_not_its_own_are_found() {
    const TWICE: &[PlacementRun] = &[nodes(0, 1, 2), nodes(0, 1, 1)];
    const NODE: &[PlacementRun] = &[nodes(0, 1, 2), nodes(2, 1, 1)];
    const RESOURCE: &[PlacementRun] = &[PlacementRun {
        resource: 1,
        ..nodes(0, 1, 3)
    }];
    const HUGE: &[PlacementRun] = &[nodes(u32::MAX, u32::MAX, u32::MAX)];
    const TOO_MANY_CPUS: &[PlacementRun] = &[nodes(0, 1, 3)];
    const TWO: &[PlacementRun] = &[nodes(0, 1, 2)];
    let starts: [(&[PlacementRun], &[Rule]); 7] = [
        (TWICE, &[Rule::NoOverlap]),
        (NODE, &[Rule::NodeExists]),
        (RESOURCE, &[Rule::NodeExists]),
        (HUGE, &[Rule::NodeExists, Rule::ProcessorCount]),
        (TOO_MANY_CPUS, &[Rule::NodeExists]),
        (TWO, &[Rule::ProcessorCount]),
        (&[], &[Rule::ProcessorCount]),
    ];
    for (placement, broken) in starts {
        check(|told| restart(told, placement), broken);
    }
    check(|told| remove(told, queued(1, B1)), &[Rule::StartAfterQueue]);
}

#[test]
fn jobs_that_are_sent_astray_are_found() {
    check_each(&[
        (
            "a lost forward",
            |told| told.retain(|(at, event)| event.job != Some(JobId(1)) || *at <= 5_000),
            &[Rule::ForwardArrives],
        ),
        (
            "a lost dispatch",
            |told| told.retain(|(at, event)| event.job != Some(JobId(2)) || *at <= 10_000),
            &[Rule::DispatchArrives],
        ),
        (
            "a dispatch to somebody else's cluster",
            |told| replace(told, dispatched(0, A, A1), dispatched(0, A, B1)),
            &[Rule::RightPlace],
        ),
        (
            "a forward to an unknown broker",
            |told| {
                let wrong = Event::new(EventKind::Forwarded, JobId(1), A).to(DomainId(7));
                replace(told, forwarded(1), wrong);
            },
            &[Rule::Hops, Rule::RightPlace],
        ),
        (
            "an unknown cluster",
            |told| {
                let nowhere = ClusterId(9);
                replace(told, queued(1, B1), queued(1, nowhere));
                replace(told, started(1, B1, PLACE_1), started(1, nowhere, PLACE_1));
                replace(told, finished(1, B1), finished(1, nowhere));
            },
            &[Rule::RightPlace, Rule::NodeExists],
        ),
        (
            "a hop that is not counted",
            |told| replace(told, arrived(1, B, 1), arrived(1, B, 2)),
            &[Rule::Hops],
        ),
        (
            "too many hops",
            |told| {
                told.retain(|(at, event)| event.job != Some(JobId(1)) || *at <= 7_000);
                told.extend([
                    (7_500, Event::new(EventKind::Forwarded, JobId(1), B).to(A)),
                    (7_550, arrived(1, A, 2)),
                    (10_000, rejected(1)),
                    (10_000, seen(1)),
                ]);
            },
            &[Rule::Hops],
        ),
    ]);
}

#[test]
fn a_job_may_be_left_over_by_a_partial_run_only() {
    let mut told = events();
    told.retain(|(at, _)| *at < 7_000);
    let (log, grid, jobs) = (log_of(told), grid(), submissions());
    let whole = AuditFacts::new(&grid, &jobs);
    let violations = audit(&log, &whole).expect_err("jobs are left over");
    assert_eq!(violations.len(), 4);
    let partial = AuditFacts {
        partial: true,
        ..whole
    };
    let report = audit(&log, &partial).expect("a partial run may stop");
    assert_eq!((report.jobs.unfinished, report.not_submitted), (3, 1));
}

#[test]
fn a_processor_used_twice_is_found() {
    let violations = check(
        |told| {
            shift(told, started(2, A1, PLACE_2), 14_000);
            shift(told, finished(2, A1), 18_000);
        },
        &[Rule::NoOverlap],
    );
    let message = &violations[0].message;
    assert!(
        message.contains("the last to start there was job 0"),
        "{message}"
    );
}

#[test]
fn memory_used_twice_is_found() {
    let mut jobs = submissions();
    jobs[0].spec.components.first.requirements.memory_kib = 600 * 1024;
    check_jobs(jobs, |_| (), &[Rule::NoOverlap]);
}

#[test]
fn more_processors_of_a_node_than_a_job_takes_are_found() {
    let limited = |most| {
        let mut jobs = submissions();
        jobs[0].spec.components.first.requirements.most_per_node = most;
        jobs
    };
    assert!(audit_of(events(), &limited(2)).is_ok());
    let found = check_jobs(limited(1), |_| (), &[Rule::Requirements]);
    let message = &found[0].message;
    assert!(
        message.ends_with("expected at most 1 of each node"),
        "{message}"
    );
}

#[test]
fn generic_resources_used_twice_or_not_there_are_found() {
    const TWICE: &[PlacementRun] = &[nodes(0, 1, 1), nodes(0, 1, 1), nodes(1, 1, 1)];
    let wanting = |generic: &str| {
        let mut jobs = submissions();
        jobs[0].spec.components.first.requirements.generic = generic.parse().unwrap();
        jobs
    };
    let audited = audit_of(events(), &wanting("gpu:2"));
    assert!(audited.is_ok(), "{audited:?}");
    let found = check_jobs(
        wanting("gpu:2"),
        |told| restart(told, TWICE),
        &[Rule::NoOverlap],
    );
    let message = &found[0].message;
    assert!(
        message.contains("took 2 of 3 gpu of resource 0 node 0, where 2"),
        "{message}"
    );
    for generic in ["gpu:4", "gpu:a100:1", "fpga:1"] {
        check_jobs(wanting(generic), |_| (), &[Rule::Requirements]);
    }
}

#[test]
fn a_start_before_the_submission_is_found() {
    // What happens to the job afterwards is out of place, too.
    let violations = check(
        |told| {
            shift(told, started(1, B1, PLACE_1), 500);
            shift(told, finished(1, B1), 4_500);
        },
        &[Rule::StartAfterQueue, Rule::RightPlace],
    );
    let first = &violations[0];
    assert_eq!(
        (first.rule, first.at),
        (Rule::StartAfterQueue, Some(ms(500)))
    );
    assert!(
        first.message.ends_with("it was not submitted"),
        "{}",
        first.message
    );
}

#[test]
fn the_wrong_kind_of_node_is_found() {
    for (field, value) in [("architecture", "arm"), ("operating system", "AIX")] {
        let mut jobs = submissions();
        let wanted = &mut jobs[0].spec.components.first.requirements;
        match field {
            "architecture" => wanted.architecture = Some(value.into()),
            _ => wanted.os = Some(value.into()),
        }
        let violations = check_jobs(jobs, |_| (), &[Rule::Requirements]);
        assert!(violations[0].message.contains(field));
    }
    let mut jobs = submissions();
    jobs[0].spec.components.first.requirements.disk_mib = 101;
    check_jobs(jobs, |_| (), &[Rule::Requirements]);
}

#[test]
fn a_run_of_the_wrong_length_is_found_past_the_tolerance() {
    let longer = |told: &mut Told| shift(told, finished(2, A1), 19_002);
    check(
        |told| {
            longer(told);
            let news = notified(2, Party::Lrms(A1), Party::Broker(A));
            shift(told, news, 19_002);
        },
        &[Rule::RunTime],
    );
    let mut told = events();
    longer(&mut told);
    told.retain(|(_, event)| event.kind != EventKind::Notified);
    let (grid, jobs) = (grid(), submissions());
    let facts = AuditFacts {
        tolerance: SimDuration::from_millis(1),
        ..AuditFacts::new(&grid, &jobs)
    };
    // The end and its being seen share an instant; the log tells the end first.
    let order = |event: &Event<'_>| event.kind == EventKind::FinishSeen;
    told.sort_by_key(|(at, event)| (*at, order(event)));
    assert!(audit(&log_of(told), &facts).is_ok());
}

#[test]
fn a_workload_with_one_id_twice_is_found() {
    let mut jobs = submissions();
    jobs.push(jobs[3].clone());
    check_jobs(jobs, |_| (), &[Rule::KnownJob, Rule::SubmittedInTime]);
}

#[test]
fn a_log_out_of_order_is_found() {
    let mut log = gridrig_results::EventLog::default();
    for (at, event) in events() {
        use gridrig_core::event::EventSink;
        let at = if event == queued(1, B1) { 7_499 } else { at };
        log.emit(ms(at), event);
    }
    let (grid, jobs) = (grid(), submissions());
    let violations = audit(&log, &AuditFacts::new(&grid, &jobs)).expect_err("out of order");
    assert!(violations.iter().all(|found| found.rule == Rule::LogOrder));
    assert_eq!(violations.len(), 2, "once for the log, once for the job");
}

#[test]
fn a_refused_job_goes_on_where_it_came_back_to() {
    let job = JobId(1);
    let reason = Reason::AllRefused;
    let (by, to) = (Party::Broker(B), Party::Broker(A));
    let refused = Event::new(EventKind::Refused, job, by)
        .to(to)
        .because(reason);
    let mut told = events();
    told.retain(|(at, event)| event.job != Some(job) || *at <= 7_000);
    told.extend([(7_500, refused), (10_000, rejected(1)), (10_000, seen(1))]);
    let report = audit_of(told, &submissions()).expect("in order");
    assert_eq!((report.jobs.completed, report.jobs.rejected), (2, 2));
}

#[test]
fn a_cancelled_job_gives_its_processors_back() {
    let job = JobId(0);
    let by = Party::Lrms(A1);
    let mut told = events();
    remove(&mut told, finished(0, A1));
    told.push((12_000, Event::new(EventKind::Cancelled, job, by)));
    let report = audit_of(told, &submissions()).expect("in order");
    assert_eq!((report.jobs.completed, report.jobs.cancelled), (2, 1));
}

#[test]
fn a_job_that_is_sent_to_a_closed_provider_is_found() {
    let audit_open = |from: u64, until: u64| {
        let grid = open_in(86_400, 0, [from, until]);
        audit(&log(), &AuditFacts::new(&grid, &submissions()))
    };
    // Job 1 is sent at 5 s, and b1 runs it after that.
    assert!(audit_open(5, 6).is_ok());
    for (from, until) in [(6, 20), (0, 5)] {
        let violations = audit_open(from, until).expect_err("b is closed at 5 s");
        let [one] = violations.as_slice() else {
            panic!("{violations:?}");
        };
        assert_eq!((one.rule, one.job), (Rule::OpenHours, Some(JobId(1))));
        assert_eq!(one.at, Some(ms(5_000)));
    }
}
