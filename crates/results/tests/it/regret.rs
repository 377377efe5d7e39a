use crate::story::{grid, log, measure, open_in, submissions, table};
use gridrig_results::regret::Regret;
use gridrig_results::{JobTable, Measure};

#[test]
fn in_the_story_every_job_went_where_it_would_start_first() {
    // Job 0 to an idle a1; job 1, decided at the same instant, to b1, since a1
    // has one processor left for 10 s; job 2 wants x86, which only a1 has; job
    // 3 was rejected, which is no decision about a cluster.
    let regret = Regret::of(&table(), &grid(), &submissions(), &measure()).unwrap();
    assert_eq!((regret.decisions, regret.weighed), (3, 3));
    assert_eq!(regret.best_share, Some(1.0));
    assert_eq!(regret.max_s, Some(0.0));
}

#[test]
fn only_measured_jobs_are_weighed() {
    let late = Measure {
        from: crate::story::ms(6_000),
        ..measure()
    };
    let regret = Regret::of(&table(), &grid(), &submissions(), &late).unwrap();
    assert_eq!(regret.decisions, 1);
    let never = Measure {
        from: crate::story::ms(60_000),
        ..measure()
    };
    assert_eq!(Regret::of(&table(), &grid(), &submissions(), &never), None);
}

#[test]
fn who_is_closed_is_no_candidate() {
    // Job 2 without its wish for x86: at 10 s b1 has two processors free, and
    // on a1 it waits until 15.001 s.
    let mut jobs = submissions();
    jobs[2].spec.components.first.requirements.architecture = None;
    let table = JobTable::build(&log(), &jobs, &grid(), &["day".to_owned()]);
    let open = Regret::of(&table, &grid(), &jobs, &measure()).unwrap();
    assert_eq!(open.max_s, Some(5.001));
    let closed = open_in(86_400, 0, [0, 8]);
    let closed = Regret::of(&table, &closed, &jobs, &measure()).unwrap();
    assert_eq!((closed.decisions, closed.max_s), (3, Some(0.0)));
}
