use crate::story::{A, A1, B, B1, arrived, events, grid, log, log_of, ms, submissions, table};
use gridrig_core::event::{Event, EventKind, Party};
use gridrig_core::ids::JobId;
use gridrig_core::job::Reason;
use gridrig_results::JobTable;
use gridrig_results::jobs::JobState;

#[test]
fn each_job_has_a_row_with_all_its_times() {
    let table = table();
    let row = &table.rows()[1];
    assert_eq!(row.state, JobState::Completed);
    assert_eq!((row.origin, row.exec_domain), (Some(A), Some(B)));
    assert_eq!((row.cluster, row.hops, row.forwards), (Some(B1), 1, 1));
    let times = [
        (Some(row.intended), 999),
        (row.submit, 1_000),
        (row.broker_arrival, 5_050),
        (row.dispatch, 7_500),
        (row.queued, 7_501),
        (row.start, 7_501),
        (row.finish, 11_501),
        (row.finish_seen, 11_552),
        (row.end, 11_501),
    ];
    for (got, expected) in times {
        assert_eq!(got, Some(ms(expected)));
    }
    assert_eq!(row.run_time().unwrap().as_secs_f64(), 4.0);
    assert_eq!(row.placement(&log()), crate::story::PLACE_1);
    assert_eq!(table.workload(row.label.workload), "day");
}

#[test]
fn a_prediction_counts_until_the_job_is_refused_where_it_was_about() {
    let predicted = |by| Event::new(EventKind::Predicted, JobId(0), by).at(ms(9_000));
    let refused = Event::new(EventKind::Refused, JobId(0), B)
        .to(A)
        .because(Reason::QueueFull);
    for (told, expected) in [
        (vec![predicted(A)], Some(ms(9_000))),
        (vec![predicted(A), predicted(B), refused], None),
    ] {
        let told = told.into_iter().map(|event| (100, event)).collect();
        let table = JobTable::build(&log_of(told), &submissions(), &grid(), &[]);
        assert_eq!(table.rows()[0].predicted, expected);
    }
}

#[test]
fn a_rejected_job_has_a_reason_and_no_metrics() {
    let table = table();
    let row = &table.rows()[3];
    assert_eq!(row.state, JobState::Rejected);
    assert_eq!(row.reason, Some(Reason::NoCandidate));
    assert_eq!((row.cluster, row.start, row.finish), (None, None, None));
    assert_eq!(row.end, Some(ms(10_000)));
    assert_eq!(
        (row.delay_s(), row.wait_s(), row.response_s()),
        (None, None, None)
    );
    assert!(row.placement(&log()).is_empty());
}

#[test]
fn every_visit_to_a_broker_is_a_hop() {
    let table = table();
    let hops: Vec<_> = table
        .hops()
        .iter()
        .map(|hop| (hop.job.0, hop.hop, hop.domain, hop.from_domain))
        .collect();
    let expected = [
        (0, 0, A, None),
        (1, 0, A, None),
        (1, 1, B, Some(A)),
        (2, 0, A, None),
        (3, 0, A, None),
    ];
    assert_eq!(hops, expected);
    let entry = &table.hops()[1];
    assert_eq!(
        (entry.arrival, entry.forwarded),
        (ms(1_000), Some(ms(5_000)))
    );
    assert_eq!(entry.forwarded_to, Some(B));
    assert_eq!(table.hops()[2].dispatched, Some(ms(7_500)));
}

#[test]
fn a_job_that_came_back_is_where_it_came_back_to() {
    let job = JobId(0);
    let (by, to) = (Party::Broker(B), Party::Broker(A));
    let reason = Reason::AllRefused;
    let mut told = events();
    told.retain(|(at, event)| event.job != Some(job) || *at <= 1_000);
    told.extend([
        (2_000, Event::new(EventKind::Forwarded, job, A).to(B)),
        (2_050, arrived(0, B, 1)),
        (
            2_100,
            Event::new(EventKind::Refused, job, by)
                .to(to)
                .because(reason),
        ),
        (5_000, crate::story::dispatched(0, A, A1)),
    ]);
    let table = JobTable::build(&log_of(told), &submissions(), &grid(), &[]);
    let row = &table.rows()[0];
    assert_eq!((row.hops, row.forwards), (0, 1));
    assert_eq!(row.broker_arrival, Some(ms(0)));
    let hops: Vec<_> = table.hops().iter().take(2).collect();
    assert_eq!(
        (hops[1].refused, hops[1].reason),
        (Some(ms(2_100)), Some(reason))
    );
    assert_eq!(hops[0].dispatched, Some(ms(5_000)));
}

#[test]
fn a_job_that_was_never_submitted_has_a_row_without_instants() {
    let mut told = events();
    told.retain(|(at, _)| *at < 7_000);
    let table = JobTable::build(&log_of(told), &submissions(), &grid(), &[]);
    let row = &table.rows()[3];
    assert_eq!((row.state, row.submit), (JobState::Unfinished, None));
    assert_eq!(row.intended, ms(7_000));
    assert_eq!(table.rows()[0].state, JobState::Unfinished);
    assert_eq!(table.rows()[0].start, Some(ms(5_001)));
}

#[test]
fn events_of_unknown_jobs_change_no_row() {
    let mut told = events();
    told.push((60_000, arrived(99, A, 0)));
    let strange = JobTable::build(&log_of(told), &submissions(), &grid(), &[]);
    assert_eq!(strange.rows(), table().rows());
}

#[test]
fn the_series_of_a_cluster_is_its_history() {
    let series = table().series();
    let of_a1: Vec<_> = series
        .iter()
        .filter(|row| row.cluster == A1)
        .map(|row| (row.at, row.queued, row.busy))
        .collect();
    let expected = [
        (ms(0), 0, 0),
        (ms(5_001), 0, 3),
        (ms(10_001), 1, 3),
        (ms(15_001), 0, 2),
        (ms(19_001), 0, 0),
    ];
    assert_eq!(of_a1, expected);
}

#[test]
fn a_job_that_is_lost_says_why_and_its_end_outweighs_that() {
    let lost = Event::new(EventKind::LostTouch, JobId(1), A).to(B);
    let mut told = events();
    told.push((6_000, lost.because(Reason::Lost)));
    let table = JobTable::build(&log_of(told.clone()), &submissions(), &grid(), &[]);
    let row = &table.rows()[1];
    assert_eq!((row.state, row.reason), (JobState::Completed, None));
    told.retain(|(_, event)| event.job != Some(JobId(1)) || !event.kind.is_terminal());
    let table = JobTable::build(&log_of(told), &submissions(), &grid(), &[]);
    let row = &table.rows()[1];
    let expected = (JobState::Unfinished, Some(Reason::Lost));
    assert_eq!(
        (row.state, row.reason, row.end),
        (expected.0, expected.1, None)
    );
}

#[test]
fn a_broker_that_finds_a_job_again_is_not_visited_twice() {
    let found = |to: Party| Event::new(EventKind::Recovered, JobId(1), A).to(to).with(0);
    let whole = JobTable::build(&log_of(events()), &submissions(), &grid(), &[]);
    let mut told = events();
    told.extend([(2_000, found(A.into())), (9_000, found(B.into()))]);
    let table = JobTable::build(&log_of(told.clone()), &submissions(), &grid(), &[]);
    assert_eq!(table.hops(), whole.hops());
    let shown = |table: &JobTable| {
        let row = &table.rows()[1];
        (row.hops, row.forwards, row.broker_arrival, row.dispatch)
    };
    assert_eq!(shown(&table), shown(&whole));
    // One that had not come before has come now.
    told.retain(|(_, event)| *event != arrived(1, A, 0));
    let table = JobTable::build(&log_of(told), &submissions(), &grid(), &[]);
    assert_eq!(
        table.rows()[1].broker_arrival,
        whole.rows()[1].broker_arrival
    );
    assert_eq!(table.hops().len(), whole.hops().len());
}
