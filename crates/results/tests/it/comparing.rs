use crate::study::{Draft, Study};
use gridrig_results::compare::on_common_jobs;

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
}
