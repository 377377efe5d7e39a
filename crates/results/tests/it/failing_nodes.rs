//! The story with a node of `a1` that fails: what the audit finds, and what the
//! figures say.

use crate::auditing::{Told, audit_of, check};
use crate::story::{A1, PLACE_0, events, finished, grid, log_of, ms, nodes, started, submissions};
use gridrig_core::cluster::OnNodeFailure;
use gridrig_core::event::{Event, EventKind, Party};
use gridrig_core::ids::JobId;
use gridrig_core::job::Reason;
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::SimDuration;
use gridrig_results::audit::Rule;
use gridrig_results::{AuditFacts, JobTable, Measure, RunSummary, audit};

const SECOND: &[PlacementRun] = &[nodes(1, 1, 2)];

fn failed() -> Event<'static> {
    Event::new(EventKind::NodeFailed, None, A1).on(SECOND)
}

fn repaired() -> Event<'static> {
    Event::new(EventKind::NodeRepaired, None, A1).on(SECOND)
}

fn requeued(done_ms: u64) -> Event<'static> {
    Event::new(EventKind::Requeued, JobId(0), A1).at(ms(done_ms))
}

/// Job 0 has run for 2 s when node 1 fails for 3 s, and starts again then.
fn with_failure(told: &mut Told) {
    told.retain(|(_, event)| event.job != Some(JobId(2)));
    let of_job_0 = told
        .iter_mut()
        .filter(|(_, event)| event.job == Some(JobId(0)));
    for (at, _) in of_job_0.filter(|(at, _)| *at > 14_000) {
        *at += 5_000;
    }
    told.extend([
        (7_001, failed()),
        (7_001, requeued(0)),
        (10_001, repaired()),
        (10_001, started(0, A1, PLACE_0)),
    ]);
}

fn broken(more: impl FnOnce(&mut Told), rules: &[Rule]) {
    let corrupt = |told: &mut Told| {
        with_failure(told);
        more(told);
    };
    // Job 2 is not in this story.
    check(corrupt, &[rules, &[Rule::SubmittedInTime]].concat());
}

fn jobs() -> Vec<gridrig_core::job::Submission> {
    let mut jobs = submissions();
    jobs.remove(2);
    jobs
}

fn summary_of(table: &JobTable) -> RunSummary {
    let (measure, known) = (Measure::default(), RunSummary::default());
    RunSummary::compute(table, &measure, SimDuration::ZERO, known)
}

#[test]
fn a_job_waits_again_when_its_node_fails_and_its_lost_run_is_no_goodput() {
    let mut told = events();
    with_failure(&mut told);
    let log = log_of(told.clone());
    let report = audit_of(told, &jobs()).unwrap_or_else(|found| panic!("{found:?}"));
    assert_eq!(report.jobs.completed, 2);
    let table = JobTable::build(&log, &jobs(), &grid(), &[]);
    let row = &table.rows()[0];
    assert_eq!(
        (row.start, row.finish),
        (Some(ms(10_001)), Some(ms(20_001)))
    );
    assert_eq!(row.earlier.len(), 1);
    let summary = summary_of(&table);
    // Job 0 takes 30 processor-seconds, job 1 two processors for 4 s.
    assert_eq!(summary.goodput_processor_s, 38.0);
    let lost = summary.node_failures.expect("a node has failed");
    assert_eq!((lost.requeues, lost.failed_jobs), (1, 0));
    assert_eq!((lost.lost_processor_s, lost.down_processor_s), (6.0, 6.0));
    // 2 s and 10 s on 3 processors, and job 1's 8 processor-seconds, of 20.001 s on
    // 8 processors less 3 s on 2.
    let share = (36.0 + 8.0) / (8.0 * 20.001 - 6.0);
    assert!((summary.utilization.expect("some time") - share).abs() < 1e-9);
    // It waits for 3 s, until the node is back.
    assert_eq!(
        (summary.queue_s.max, summary.waited_share),
        (Some(3.0), Some(0.5))
    );
    let series = table.series();
    let idle = series
        .iter()
        .find(|row| row.at == ms(7_001))
        .expect("a change");
    assert_eq!((idle.queued, idle.busy), (1, 0));
}

#[test]
fn a_job_that_starts_again_at_once_has_never_waited() {
    let mut told = events();
    with_failure(&mut told);
    for (at, _) in told.iter_mut().filter(|(at, _)| *at == 10_001) {
        *at = 7_001;
    }
    let table = JobTable::build(&log_of(told), &jobs(), &grid(), &[]);
    assert_eq!(table.rows()[0].earlier.len(), 1);
    let summary = summary_of(&table);
    assert_eq!(
        (summary.queue_s.max, summary.waited_share),
        (Some(0.0), Some(0.0))
    );
    // Its delay has the run in it that was lost: that of job 1 is what brokers cost, and
    // overheads are 6.552 s and 5.002 s.
    let close = |value: Option<f64>, to: f64| (value.expect("a value") - to).abs() < 1e-9;
    assert!(close(summary.delay_s_unwaited_mean, 6.552));
    assert!(close(
        summary.further["overhead_s_mean"],
        (6.552 + 5.002) / 2.0
    ));
}

#[test]
fn a_job_that_stays_on_a_node_that_fails_is_found() {
    broken(
        |told| {
            told.retain(|(at, event)| {
                *event != requeued(0) && (*at, event.kind) != (10_001, EventKind::Started)
            })
        },
        &[Rule::NodesUp, Rule::RunTime],
    );
}

#[test]
fn a_start_on_a_node_that_is_down_is_found() {
    broken(
        |told| told.retain(|(_, event)| *event != repaired()),
        &[Rule::NodesUp],
    );
    broken(|told| told.push((8_000, failed())), &[Rule::NodesUp]);
}

#[test]
fn a_second_start_without_a_requeue_is_found() {
    broken(
        |told| told.retain(|(_, event)| *event != requeued(0)),
        &[Rule::NodesUp, Rule::StartAfterQueue, Rule::RunTime],
    );
}

#[test]
fn a_requeue_without_a_failure_or_with_work_that_does_not_count_is_found() {
    broken(
        |told| told.retain(|(_, event)| *event != failed() && *event != repaired()),
        &[Rule::Requeued],
    );
    let counted = |told: &mut Told| {
        let event = told.iter_mut().find(|(_, event)| *event == requeued(0));
        event.expect("it is requeued").1 = requeued(2_000);
    };
    broken(counted, &[Rule::Requeued, Rule::RunTime]);
}

#[test]
fn what_was_run_counts_where_jobs_resume_and_a_job_may_fail_instead() {
    let mut told = events();
    with_failure(&mut told);
    for (at, event) in &mut told {
        match event.kind {
            EventKind::Requeued => *event = requeued(2_000),
            _ if event.job == Some(JobId(0)) && *at > 15_000 => *at -= 2_000,
            _ => {}
        }
    }
    let mut grid = grid();
    grid.clusters[0].config.on_node_failure = OnNodeFailure::Resume;
    let log = log_of(told);
    audit(&log, &AuditFacts::new(&grid, &jobs())).unwrap_or_else(|found| panic!("{found:?}"));
    let table = JobTable::build(&log, &jobs(), &grid, &[]);
    // It ran no longer than without the failure, and its work is no part of its delay.
    let row = &table.rows()[0];
    assert_eq!(row.kept(), SimDuration::from_millis(2_000));
    assert_eq!(row.run_time(), Some(row.run_time_ref));

    let mut told = events();
    with_failure(&mut told);
    told.retain(|(at, event)| event.job != Some(JobId(0)) || *at < 7_001);
    let lost = Event::new(EventKind::Failed, JobId(0), Party::Lrms(A1));
    told.push((7_001, lost.because(Reason::NodeFailed)));
    let report = audit_of(told, &jobs()).unwrap_or_else(|found| panic!("{found:?}"));
    assert_eq!((report.jobs.failed, report.jobs.completed), (1, 1));
}

#[test]
fn the_end_frees_the_nodes_of_the_last_start() {
    broken(
        |told| told.push((21_000, finished(0, A1))),
        &[Rule::EndsOnce],
    );
}
