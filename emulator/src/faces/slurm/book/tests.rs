use super::*;
use crate::faces::slurm::batch::{self, Order};
use gridrig_core::message::{EndState, JobEnd};
use gridrig_core::resource::Resources;

fn book() -> Book {
    let site = Site {
        cluster: "c".to_owned(),
        partition: "compute".to_owned(),
        host: "h".to_owned(),
        resources: Resources::homogeneous(4),
        epoch_unix_ns: 0,
        execute: false,
        discipline: "fcfs",
        max_jobs: 1000,
    };
    Book::new(site, 100)
}

fn order(args: &str) -> Order {
    let args: Vec<String> = args.split(' ').map(str::to_owned).collect();
    batch::read("sbatch", &args, &[], b"#!/bin/sh\nsleep 1\n").unwrap()
}

fn at(seconds: u64) -> SimTime {
    SimTime::from_secs(seconds)
}

fn submit(book: &mut Book, seconds: u64, args: &str) -> u32 {
    book.submit(at(seconds), order(args), None)
}

/// The names of the jobs that are sent into the cluster.
fn sent(book: &mut Book) -> Vec<u32> {
    let errands = book.take_errands();
    let submits = errands.iter().filter_map(|errand| match errand {
        Errand::Submit(seq) => Some(*seq),
        _ => None,
    });
    submits.collect()
}

fn start(book: &mut Book, seconds: u64, seq: u32) {
    let name = book.job(seq).unwrap().machine.unwrap();
    book.started(at(seconds), name, Vec::new());
}

fn end(book: &mut Book, seconds: u64, seq: u32, state: EndState) {
    let name = book.job(seq).unwrap().machine.unwrap();
    end_as(book, seconds, name, state);
}

fn end_as(book: &mut Book, seconds: u64, job: JobId, state: EndState) {
    let end = JobEnd {
        job,
        state,
        cluster: None,
        start: None,
        finish: None,
    };
    book.over(at(seconds), &end);
}

fn reason(book: &Book, seq: u32) -> &'static str {
    book.reason(book.job(seq).unwrap(), at(0))
}

#[test]
fn numbers_count_from_one_and_tasks_get_theirs_when_they_start() {
    let mut book = book();
    assert_eq!(submit(&mut book, 0, "job"), 1);
    assert_eq!(submit(&mut book, 0, "-a 0-2 job"), 2);
    assert_eq!(sent(&mut book), [0, 1, 2, 3]);
    for seq in [1, 2, 3] {
        start(&mut book, 1, seq);
    }
    let ids: Vec<u32> = (1..4).map(|seq| book.job(seq).unwrap().id).collect();
    // The last of the pending keeps the array's number.
    assert_eq!(ids, [3, 4, 2]);
    assert_eq!(book.find(Target { id: 2, task: None }), [1, 2, 3]);
    assert_eq!(
        book.find(Target {
            id: 2,
            task: Some(1)
        }),
        [2]
    );
    assert_eq!(book.find(Target { id: 4, task: None }), [2]);
}

#[test]
fn an_array_lets_so_many_tasks_in_at_a_time() {
    let mut book = book();
    submit(&mut book, 0, "-a 1-4%2 job");
    assert_eq!(sent(&mut book), [0, 1]);
    let shown: Vec<String> = book
        .records(at(0), None, false)
        .iter()
        .map(Record::id)
        .collect();
    assert_eq!(shown, ["1_[1-4%2]"]);
    start(&mut book, 0, 0);
    start(&mut book, 0, 1);
    assert_eq!(reason(&book, 2), "JobArrayTaskLimit");
    end(&mut book, 1, 0, EndState::Completed);
    assert_eq!(sent(&mut book), [2]);
    let shown: Vec<String> = book
        .records(at(1), None, false)
        .iter()
        .map(Record::id)
        .collect();
    assert_eq!(shown, ["1_1", "1_2", "1_[3-4%2]"]);
}

#[test]
fn dependencies_are_fulfilled_or_never() {
    let mut book = book();
    submit(&mut book, 0, "job");
    submit(&mut book, 0, "-d afterok:1 job");
    submit(&mut book, 0, "-d afternotok:1 job");
    submit(&mut book, 0, "-d afterany:1 job");
    submit(&mut book, 0, "-d after:1 job");
    submit(&mut book, 0, "-d afterok:99 job");
    assert_eq!(sent(&mut book), [0, 5], "an unknown job holds nobody back");
    assert_eq!(reason(&book, 1), "Dependency");
    start(&mut book, 1, 0);
    assert_eq!(sent(&mut book), [4]);
    end(&mut book, 2, 0, EndState::Cancelled);
    assert_eq!(sent(&mut book), [2, 3]);
    assert_eq!(reason(&book, 1), "DependencyNeverSatisfied");
    assert_eq!(
        super::super::depend::show(&book.job(1).unwrap().wishes),
        "afterok:1(failed)"
    );
}

#[test]
fn a_singleton_waits_for_its_namesake() {
    let mut book = book();
    submit(&mut book, 0, "-J x job");
    submit(&mut book, 0, "-J x -d singleton job");
    submit(&mut book, 0, "-J y -d singleton job");
    assert_eq!(sent(&mut book), [0, 2]);
    start(&mut book, 1, 0);
    end(&mut book, 2, 0, EndState::Completed);
    assert_eq!(sent(&mut book), [1]);
}

#[test]
fn a_held_job_leaves_the_queue_and_comes_back_under_another_name() {
    let mut book = book();
    submit(&mut book, 0, "job");
    submit(&mut book, 0, "-H job");
    assert_eq!(sent(&mut book), [0]);
    let first = book.job(0).unwrap().machine.unwrap();
    assert!(book.hold(at(1), 0, Hold::User));
    assert_eq!(book.take_errands(), [Errand::Cancel(first)]);
    assert_eq!(
        (reason(&book, 0), reason(&book, 1)),
        ("JobHeldUser", "JobHeldUser")
    );
    assert!(book.release(at(2), 0) && book.release(at(2), 1));
    assert_eq!(sent(&mut book), [0, 1]);
    assert_ne!(book.job(0).unwrap().machine, Some(first));
    start(&mut book, 3, 0);
    assert!(
        book.hold(at(3), 0, Hold::User),
        "a running job stays as it is"
    );
    end(&mut book, 4, 0, EndState::Completed);
    assert!(!book.hold(at(4), 0, Hold::User));
}

#[test]
fn a_limit_ends_a_job_and_says_so() {
    let mut book = book();
    let mut order = order("-t 1 job");
    order.batch.script = b"#!/bin/sh\nsleep 300\n".to_vec();
    book.submit(at(0), order, None);
    sent(&mut book);
    start(&mut book, 5, 0);
    assert_eq!(book.next_timer(), Some(at(65)));
    book.handle_timers(at(65));
    let name = book.job(0).unwrap().machine.unwrap();
    assert_eq!(book.take_errands(), [Errand::Finish(name)]);
    end(&mut book, 65, 0, EndState::Completed);
    let job = book.job(0).unwrap();
    assert_eq!(
        (job.state, job.why, job.exit),
        (State::Timeout, "TimeLimit", (0, 0))
    );
    assert_eq!(book.next_timer(), None);
}

#[test]
fn a_begin_time_is_waited_for() {
    let mut book = book();
    book.submit(at(0), order("job"), Some(at(60)));
    assert!(sent(&mut book).is_empty());
    assert_eq!(
        (reason(&book, 0), book.next_timer()),
        ("BeginTime", Some(at(60)))
    );
    book.handle_timers(at(60));
    assert_eq!(sent(&mut book), [0]);
}

#[test]
fn a_job_of_another_interface_is_listed_and_keeps_its_name() {
    let mut book = book();
    let spec = gridrig_core::job::JobSpec::rigid(JobId(7), 2, SimDuration::from_secs(3));
    book.take_in(at(1), &spec, 0, &"root".into());
    assert!(book.take_errands().is_empty());
    book.started(at(2), JobId(7), Vec::new());
    let record = &book.records(at(2), None, false)[0];
    assert_eq!(
        (record.id(), record.job.batch.name.as_str()),
        ("1".to_owned(), "job-7")
    );
    end(&mut book, 3, 0, EndState::Completed);
    assert_eq!(book.job(0).unwrap().state, State::Completed);
}

#[test]
fn ended_jobs_age_and_the_oldest_are_forgotten() {
    let mut book = book();
    book.keep_ended = 2;
    for seq in 0..3 {
        submit(&mut book, 0, "job");
        start(&mut book, 0, seq);
        end(&mut book, u64::from(seq), seq, EndState::Completed);
    }
    assert!(book.job(0).is_none() && book.find(Target { id: 1, task: None }).is_empty());
    assert_eq!(book.records(at(300), None, false).len(), 2);
    assert_eq!(book.records(at(302), None, false).len(), 1);
    book.age(at(310));
    assert_eq!((book.present(), book.all().count()), (0, 2));
}

/// Whatever happens, no job is left behind that nothing holds back, and none
/// is let in that something does.
#[test]
fn nobody_is_forgotten_whatever_happens() {
    for seed in 0..12_u64 {
        let mut dice = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut roll = |below: u32| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            u32::try_from((dice >> 20) % u64::from(below)).unwrap()
        };
        let mut book = book();
        for second in 0..150 {
            book.handle_timers(at(second));
            something_happens(&mut book, second, &mut roll);
            for errand in book.take_errands() {
                // The cluster ends what it is told to.
                if let Errand::Cancel(name) | Errand::Finish(name) = errand {
                    end_as(&mut book, second, name, EndState::Cancelled);
                }
            }
            let _ = book.take_errands();
            let all: Vec<u32> = book.all().map(|job| job.seq).collect();
            for seq in all {
                let (counted, inside) = tasks_inside(&book, seq);
                assert_eq!(counted, inside, "seed {seed}, second {second}, job {seq}");
                let job = book.job(seq).unwrap();
                let waits = !is_free(&book, job, at(second), inside.0);
                assert!(waits, "seed {seed}, second {second}: {job:?}");
            }
        }
    }
}

fn something_happens(book: &mut Book, second: u64, roll: &mut impl FnMut(u32) -> u32) {
    let (now, jobs) = (at(second), book.next_seq);
    let seq = if jobs == 0 { 0 } else { roll(jobs) };
    let other = roll(jobs + 2) + 1;
    match roll(12) {
        0 => drop(submit(book, second, "-a 0-5%2 job")),
        1 => drop(submit(book, second, "-d singleton -J one job")),
        2 => {
            let kinds = ["after", "afterany", "afterok", "afternotok", "aftercorr"];
            let kind = kinds[roll(5) as usize];
            submit(book, second, &format!("-d {kind}:{other} job"));
        }
        3 => {
            let more = roll(9) + 1;
            let text = format!("-a 1-3%1 -d afterany:{other}?afterok:{more} job");
            submit(book, second, &text);
        }
        4 => {
            let begin = Some(at(second + 1 + u64::from(roll(30))));
            book.submit(now, order("-H job"), begin);
            book.submit(now, order("job"), begin);
        }
        5 => drop(book.hold(now, seq, Hold::User)),
        6 => drop(book.release(now, seq)),
        7 => drop(book.cancel(now, seq, 0)),
        _ => match book.job(seq).map(|job| (job.state, job.machine)) {
            Some((State::Pending, Some(_))) => start(book, second, seq),
            Some((State::Running, Some(name))) => {
                let how = match roll(3) {
                    0 => EndState::Cancelled,
                    _ => EndState::Completed,
                };
                end_as(book, second, name, how);
            }
            _ => {}
        },
    }
}

/// Whether nothing keeps a job out of the cluster that is not there.
fn is_free(book: &Book, job: &Job, now: SimTime, tasks_inside: u32) -> bool {
    let outside = job.state == State::Pending && job.machine.is_none();
    let early = job.begin.is_some_and(|begin| begin > now);
    let most = job.task.as_ref().and_then(|task| task.at_a_time);
    let full = most.is_some_and(|most| tasks_inside >= most);
    let come_true = |wish: &Wish| book.verdict(job, wish) == Verdict::Fulfilled;
    let any = job.wishes.iter().any(|wish| wish.any && come_true(wish));
    let waits = !any && !job.wishes.iter().all(come_true);
    outside && job.hold.is_none() && !early && !full && !waits
}

/// Tasks of the job's array in the cluster and running: as counted, as found.
fn tasks_inside(book: &Book, seq: u32) -> ((u32, u32), (u32, u32)) {
    let Some(task) = book.job(seq).and_then(|job| job.task.clone()) else {
        return ((0, 0), (0, 0));
    };
    let counted = book.inside.get(&task.array).copied().unwrap_or_default();
    let of_array = |job: &&Job| job.task.as_ref().is_some_and(|t| t.array == task.array);
    let there = |job: &&Job| job.machine.is_some() && !job.state.is_ended();
    let tasks = book.all().filter(of_array).filter(there);
    let (mut all, mut running) = (0, 0);
    for task in tasks {
        all += 1;
        running += u32::from(task.state == State::Running);
    }
    ((counted.all, counted.running), (all, running))
}
