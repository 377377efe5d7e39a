//! Jobs with which touch was lost, and brokers that were restarted.

use crate::auditing::{audit_of, check};
use crate::story::{A, A1, B, B1, events, forwarded, grid, log_of, notified, seen, submissions};
use gridrig_core::event::{Event, EventKind, Party};
use gridrig_core::ids::JobId;
use gridrig_core::job::Reason;
use gridrig_results::JobTable;
use gridrig_results::audit::Rule;

/// The client, or broker a, has lost touch with job 1, which it sent there.
fn lost(by: Party, there: Party) -> Event<'static> {
    let lost = Event::new(EventKind::LostTouch, JobId(1), by);
    lost.to(there).because(Reason::Lost)
}

#[test]
fn a_job_with_which_touch_was_lost_may_have_no_end_and_is_counted() {
    let (a, b) = (Party::Broker(A), Party::Broker(B));
    let ended = |kind: EventKind| kind.is_terminal() || kind.row().is_news;
    let mut told = events();
    told.retain(|(_, event)| event.job != Some(JobId(1)) || !ended(event.kind));
    assert!(audit_of(told.clone(), &submissions()).is_err());
    // It is told back along the way that the job came.
    told.push((9_000, lost(b, Party::Lrms(B1))));
    told.push((9_000, notified(1, b, a)));
    told.push((9_050, lost(a, b)));
    let report = audit_of(told, &submissions()).expect("it may be lost");
    let counted = (
        report.lost_touch,
        report.found_again,
        report.jobs.unfinished,
    );
    assert_eq!((counted, report.jobs.completed), ((1, 0, 1), 2));
    assert!(report.note().unwrap().contains("1 jobs, of which 0"));
}

#[test]
fn the_end_of_a_job_counts_whoever_had_lost_touch_with_it() {
    let (a, b) = (Party::Broker(A), Party::Broker(B));
    let mut told = events();
    // It has not even arrived when its sender loses touch.
    told.push((5_020, lost(a, b)));
    // Nobody may have heard of its end.
    told.retain(|(_, event)| *event != seen(1));
    let report = audit_of(told, &submissions()).expect("it ended");
    assert_eq!((report.lost_touch, report.found_again), (1, 1));
    assert_eq!((report.jobs.completed, report.jobs.unfinished), (3, 0));
}

#[test]
fn touch_is_lost_only_with_a_job_that_was_sent_there() {
    let (a, b) = (Party::Broker(A), Party::Broker(B));
    let wrong = [
        (900, lost(Party::Client, a)),
        (2_000, lost(Party::Client, b)),
        (5_020, lost(a, Party::Lrms(A1))),
    ];
    for (at, event) in wrong {
        check(|told| told.push((at, event)), &[Rule::RightPlace]);
    }
}

/// Broker a, which was restarted, has found job 1 there.
fn found(to: impl Into<Party>) -> Event<'static> {
    let found = Event::new(EventKind::Recovered, JobId(1), Party::Broker(A));
    found.to(to).with(0)
}

#[test]
fn a_broker_that_was_started_anew_may_see_an_end_again() {
    let mut told = events();
    // Found where it was sent, at any time; and never sent, so sent again.
    told.extend([(2_000, found(A)), (5_010, found(B)), (9_000, found(B))]);
    told.push((17_000, found(B)));
    told.push((17_500, seen(1)));
    assert!(audit_of(told, &submissions()).is_ok());
    let mut told = events();
    told.push((5_010, found(A)));
    told.push((5_020, forwarded(1)));
    assert!(audit_of(told, &submissions()).is_ok());
    // What is elsewhere is not here.
    check(|told| told.push((9_000, found(A))), &[Rule::RightPlace]);
    check(|told| told.push((9_000, found(A1))), &[Rule::RightPlace]);
    check(|told| told.push((17_500, seen(1))), &[Rule::News]);
}

#[test]
fn a_rejection_that_its_broker_has_forgotten_is_no_end() {
    let rejected = Event::new(EventKind::Rejected, JobId(1), Party::Broker(A));
    let rejected = rejected.because(Reason::NoCandidate);
    let turn_away = |told: &mut Vec<_>| told.extend([(2_000, rejected), (2_000, seen(1))]);
    let mut told = events();
    turn_away(&mut told);
    told.push((3_000, found(A)));
    let report = audit_of(told.clone(), &submissions()).expect("it ended later");
    assert_eq!(report.jobs.completed, 3);
    let table = JobTable::build(&log_of(told), &submissions(), &grid(), &[]);
    let whole = JobTable::build(&log_of(events()), &submissions(), &grid(), &[]);
    let known = |table: &JobTable| {
        let row = &table.rows()[1];
        (row.state, row.reason, row.end, row.finish, row.finish_seen)
    };
    assert_eq!(known(&table), known(&whole));
    // Found with somebody else, or not at all, it has ended all the same.
    let mut told = events();
    turn_away(&mut told);
    told.push((3_000, found(A1)));
    assert!(audit_of(told, &submissions()).is_err());
}
