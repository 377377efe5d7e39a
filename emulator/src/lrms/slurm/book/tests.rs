use super::*;
use gridrig_core::time::SimDuration;

fn at(secs: u64) -> SimTime {
    SimTime::from_secs(secs)
}

fn site() -> Site {
    Site::of_nodes(&[("n1", 2), ("n2", 2)])
}

/// A book with these jobs, submitted under the numbers 11, 12, ...
fn book(jobs: u32) -> Book {
    let mut book = Book::new("g-".to_owned());
    for job in 0..jobs {
        let spec = JobSpec::rigid(JobId(job), 1, SimDuration::from_secs(5));
        book.arrive(spec, at(1));
        book.submitted(JobId(job), Some(11 + job));
    }
    book
}

fn listed(id: u32, job: u32, state: State, [start, end]: [u64; 2]) -> Listed {
    let known = |second: u64| Some(second).filter(|second| *second > 0);
    Listed {
        id,
        name: format!("g-{job}"),
        state,
        start: known(start),
        end: known(end),
        seats: Vec::new(),
        nodes: known(start).map(|_| "n2".to_owned()).into_iter().collect(),
    }
}

fn look(book: &mut Book, list: &[Listed], looked: u64) -> Vec<News> {
    book.look(list, at(looked), &site(), at)
}

#[test]
fn seconds_are_made_finer_by_the_look_before() {
    let mut book = book(1);
    assert_eq!(
        look(&mut book, &[listed(11, 0, State::Pending, [0, 0])], 4),
        []
    );
    let mut running = listed(11, 0, State::Running, [3, 90]);
    running.seats = vec![("n2".to_owned(), vec![1])];
    let news = look(&mut book, &[running.clone()], 5);
    let what = What::Started(ProcessorIds::Exactly(vec![3]));
    let job = JobId(0);
    // Slurm says 3 s, but at 4 s it still waited.
    assert_eq!(
        news,
        [News {
            at: at(4),
            job,
            what
        }]
    );
    book.told_start(job);
    assert_eq!(look(&mut book, &[running], 6), []);
    let news = look(&mut book, &[listed(11, 0, State::Completed, [3, 9])], 10);
    let what = What::Finished;
    assert_eq!(
        news,
        [News {
            at: at(9),
            job,
            what
        }]
    );
    book.told_end(job);
    assert!(book.is_idle());
}

#[test]
fn a_job_that_came_and_went_between_two_looks_is_told_whole_and_ends_come_first() {
    let mut book = book(2);
    let both = [
        listed(12, 1, State::Running, [6, 90]),
        listed(11, 0, State::Failed, [2, 6]),
    ];
    let news = look(&mut book, &both, 7);
    let told: Vec<_> = news.iter().map(|one| (one.at, one.job.0)).collect();
    assert_eq!(told, [(at(2), 0), (at(6), 0), (at(6), 1)]);
    assert_eq!(news[0].what, What::Started(ProcessorIds::Among(vec![2, 3])));
    assert_eq!(news[1].what, What::Failed(Reason::LrmsFailed));
}

#[test]
fn a_job_that_starts_and_ends_in_one_second_starts_before_it_ends() {
    let mut book = book(2);
    let both = [
        listed(12, 1, State::Completed, [2, 6]),
        listed(11, 0, State::Failed, [6, 6]),
    ];
    let news = look(&mut book, &both, 7);
    let told: Vec<_> = news.iter().map(|one| (one.at, one.job.0)).collect();
    assert_eq!(told, [(at(2), 1), (at(6), 1), (at(6), 0), (at(6), 0)]);
    assert!(matches!(news[2].what, What::Started(_)), "{news:?}");
    assert_eq!(news[3].what, What::Failed(Reason::LrmsFailed));
}

#[test]
fn an_unanswered_submission_is_found_by_its_name_and_its_double_is_cancelled() {
    let mut book = Book::new("g-".to_owned());
    book.arrive(
        JobSpec::rigid(JobId(0), 1, SimDuration::from_secs(5)),
        at(1),
    );
    book.submitted(JobId(0), None);
    let list = [
        listed(20, 0, State::Pending, [0, 0]),
        listed(21, 0, State::Pending, [0, 0]),
    ];
    assert_eq!(look(&mut book, &list, 2), []);
    assert_eq!(book.unwanted(), [21]);
    assert_eq!(book.with_slurm(), [20, 21]);
    // Cancelled here, both are to go.
    book.end(JobId(0));
    assert_eq!(look(&mut book, &list, 3), []);
    assert_eq!(book.unwanted(), [20, 21]);
    let gone = list.map(|one| Listed {
        state: State::Cancelled,
        ..one
    });
    assert_eq!(look(&mut book, &gone, 4), []);
    assert!(book.is_idle());
}

#[test]
fn an_unanswered_submission_is_tried_again_a_few_times_and_then_lost() {
    let mut book = Book::new("g-".to_owned());
    book.arrive(
        JobSpec::rigid(JobId(0), 1, SimDuration::from_secs(5)),
        at(1),
    );
    let mut lost = Vec::new();
    for second in 0..u64::from(TRIES * MISSED) {
        if book.next().is_some() {
            book.submitted(JobId(0), None);
        }
        lost = look(&mut book, &[], second);
    }
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0].what, What::Failed(Reason::ServiceLost));
}

#[test]
fn a_job_that_is_no_longer_listed_is_lost_after_some_looks() {
    let mut book = book(1);
    for second in 1..u64::from(MISSED) {
        assert_eq!(look(&mut book, &[], second), []);
    }
    let news = look(&mut book, &[], 9);
    assert_eq!(news[0].what, What::Failed(Reason::ServiceLost));
    assert_eq!(book.alive(), [JobId(0)]);
    book.end(JobId(0));
    look(&mut book, &[], 10);
    assert!(book.is_idle());
}
