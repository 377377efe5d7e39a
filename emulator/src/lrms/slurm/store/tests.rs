use super::*;
use gridrig_core::time::SimDuration;

fn at(secs: u64) -> SimTime {
    SimTime::from_secs(secs)
}

fn site() -> Site {
    Site::of_nodes(&[("n1", 2), ("n2", 2)])
}

/// A store with these jobs, which are not submitted.
fn waiting(jobs: u32) -> JobStore {
    let mut store = JobStore::new("g-".to_owned());
    for job in 0..jobs {
        let spec = JobSpec::rigid(JobId(job), 1, SimDuration::from_secs(5));
        store.arrive(spec, at(1));
    }
    store
}

/// The same, submitted under the numbers 11, 12, ...
fn store(jobs: u32) -> JobStore {
    let mut store = waiting(jobs);
    (0..jobs).for_each(|job| store.submitted(JobId(job), Some(11 + job)));
    store
}

/// News of the first job.
fn told(seconds: u64, what: What) -> [News; 1] {
    let (at, job) = (at(seconds), JobId(0));
    [News { at, job, what }]
}

fn listed(id: u32, job: u32, state: State, [start, end]: [u64; 2]) -> Listed {
    let known = |second: u64| Some(second).filter(|second| *second > 0);
    Listed {
        id,
        name: format!("g-{job}"),
        state,
        start: known(start),
        end: known(end),
        processor_ids: Vec::new(),
        nodes: known(start).map(|_| "n2".to_owned()).into_iter().collect(),
    }
}

fn look(store: &mut JobStore, list: &[Listed], looked: u64) -> Vec<News> {
    store.look(list, at(looked), &site(), at)
}

#[test]
fn seconds_are_made_finer_by_the_look_before() {
    let mut store = store(1);
    let pending = listed(11, 0, State::Pending, [0, 0]);
    assert_eq!(look(&mut store, &[pending], 4), []);
    let mut running = listed(11, 0, State::Running, [3, 90]);
    running.processor_ids = vec![("n2".to_owned(), vec![1])];
    let news = look(&mut store, &[running.clone()], 5);
    let started = What::Started(ProcessorIds::Exactly(vec![3]));
    // Slurm says 3 s, but at 4 s it still waited.
    assert_eq!(news, told(4, started));
    store.told_start(JobId(0));
    assert_eq!(look(&mut store, &[running], 6), []);
    let news = look(&mut store, &[listed(11, 0, State::Completed, [3, 9])], 10);
    assert_eq!(news, told(9, What::Finished));
    store.told_end(JobId(0));
    assert!(store.is_idle());
}

#[test]
fn a_job_that_came_and_went_between_two_looks_is_told_whole_and_ends_come_first() {
    let mut store = store(2);
    let both = [
        listed(12, 1, State::Running, [6, 90]),
        listed(11, 0, State::Failed, [2, 6]),
    ];
    let news = look(&mut store, &both, 7);
    let seen: Vec<_> = news.iter().map(|one| (one.at, one.job.0)).collect();
    assert_eq!(seen, [(at(2), 0), (at(6), 0), (at(6), 1)]);
    assert_eq!(news[0].what, What::Started(ProcessorIds::Among(vec![2, 3])));
    assert_eq!(news[1].what, What::Failed(Reason::LrmsFailed));
}

#[test]
fn a_job_that_starts_and_ends_in_one_second_starts_before_it_ends() {
    let mut store = store(2);
    let both = [
        listed(12, 1, State::Completed, [2, 6]),
        listed(11, 0, State::Failed, [6, 6]),
    ];
    let news = look(&mut store, &both, 7);
    let seen: Vec<_> = news.iter().map(|one| (one.at, one.job.0)).collect();
    assert_eq!(seen, [(at(2), 1), (at(6), 1), (at(6), 0), (at(6), 0)]);
    assert!(matches!(news[2].what, What::Started(_)), "{news:?}");
    assert_eq!(news[3].what, What::Failed(Reason::LrmsFailed));
}

#[test]
fn an_unanswered_submission_is_found_by_its_name_and_its_double_is_cancelled() {
    let mut store = waiting(1);
    store.submitted(JobId(0), None);
    let list = [
        listed(20, 0, State::Pending, [0, 0]),
        listed(21, 0, State::Pending, [0, 0]),
    ];
    assert_eq!(look(&mut store, &list, 2), []);
    assert_eq!(store.unwanted(), [21]);
    assert_eq!(store.with_slurm(), [20, 21]);
    // Cancelled here, both are to go.
    store.end(JobId(0));
    assert_eq!(look(&mut store, &list, 3), []);
    assert_eq!(store.unwanted(), [20, 21]);
    let gone = list.map(|one| Listed {
        state: State::Cancelled,
        ..one
    });
    assert_eq!(look(&mut store, &gone, 4), []);
    assert!(store.is_idle());
}

#[test]
fn an_unanswered_submission_is_tried_again_a_few_times_and_then_lost() {
    let mut store = waiting(1);
    let mut lost = Vec::new();
    for second in 0..u64::from(TRIES * MISSED) {
        if store.next().is_some() {
            store.submitted(JobId(0), None);
        }
        lost = look(&mut store, &[], second);
    }
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0].what, What::Failed(Reason::ServiceLost));
}

#[test]
fn a_job_that_is_no_longer_listed_is_lost_after_some_looks() {
    let mut store = store(1);
    for second in 1..u64::from(MISSED) {
        assert_eq!(look(&mut store, &[], second), []);
    }
    let news = look(&mut store, &[], 9);
    assert_eq!(news[0].what, What::Failed(Reason::ServiceLost));
    assert_eq!(store.alive(), [JobId(0)]);
    store.end(JobId(0));
    look(&mut store, &[], 10);
    assert!(store.is_idle());
}
