use crate::story::{grid, measure, submissions, table};
use gridrig_results::Measure;
use gridrig_results::regret::Regret;

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
