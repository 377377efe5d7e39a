use crate::study::{Draft, Study, pooled};
use gridrig_results::compare::on_common_jobs;
use gridrig_results::rundir;

#[test]
fn policies_are_compared_on_the_jobs_that_finished_in_all_runs() {
    let study = Study::new();
    let write = |policy: &str, lacking: Option<usize>| {
        let mut draft = Draft::new(policy, 0, &[4_000, 8_000, 12_000]);
        if let Some(job) = lacking {
            draft.waits[job] = None;
        }
        study.write(draft)
    };
    let dirs = [
        write("round-robin", None),
        write("random", Some(2)),
        write("local-only", Some(0)),
    ];
    let common = on_common_jobs(&dirs).unwrap();
    assert_eq!((common.jobs, common.left_out), (2, 1));
    let [all, cut, bound] = common.metrics[..] else {
        panic!("{common:?}");
    };
    assert_eq!(all.delay_s.n, 2);
    assert_eq!(all, cut);
    assert_eq!(bound.delay_s.n, 1, "a bound has no say in what is compared");
    // Beside one policy alone it has.
    let common = on_common_jobs(&dirs[1..]).unwrap();
    assert_eq!((common.jobs, common.left_out), (1, 2));
    // What completes nowhere is not among those left out.
    assert_eq!(common.never_completed, 0);
    let common = on_common_jobs(&dirs[1..2]).unwrap();
    assert_eq!((common.jobs, common.left_out), (2, 0));
    assert_eq!(common.never_completed, 1);
}

#[test]
fn jobs_that_enter_at_a_cluster_are_left_out_of_scratch_runs_too() {
    let study = Study::new();
    let write = |policy: &str, direct: bool| {
        let mut draft = Draft::new(policy, 0, &[4_000, 8_000, 12_000]);
        draft.grid = pooled(4);
        draft.info.measure.direct = direct;
        let dir = study.run_dir(policy, 0);
        Study::write_by(draft, |files| rundir::write_scratch(&dir, files));
        dir
    };
    let (with, without) = (write("round-robin", true), write("random", false));
    assert_eq!(on_common_jobs(&[with]).unwrap().jobs, 3);
    assert_eq!(on_common_jobs(&[without]).unwrap().jobs, 0);
}
