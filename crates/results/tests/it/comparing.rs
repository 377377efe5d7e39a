use crate::story::{events, grid, log_of, measure, submissions, table};
use gridrig_core::ids::JobId;
use gridrig_results::JobTable;
use gridrig_results::summary::CommonJobs;

#[test]
fn policies_are_compared_on_the_jobs_that_finished_in_all_runs() {
    let all = table();
    let mut told = events();
    told.retain(|(at, _)| *at < 19_000);
    let cut = JobTable::build(&log_of(told), &submissions(), &grid(), &[]);
    let measure = measure();
    let common = CommonJobs::of(&[(&all, &measure), (&cut, &measure)]);
    assert_eq!(common.jobs, [JobId(0), JobId(1)]);
    assert_eq!(common.left_out, 1);
    let metrics = common.metrics(&all, measure.tau);
    assert_eq!(metrics.delay_s.n, 2);
    assert_eq!(metrics, common.metrics(&cut, measure.tau));
}
