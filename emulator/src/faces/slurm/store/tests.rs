use super::*;
use crate::faces::slurm::batch::{self, Order};
use gridrig_core::message::{EndState, JobEnd};
use gridrig_core::resource::Resources;

fn store() -> JobStore {
    let site = Site {
        cluster: "c".to_owned(),
        partition: "compute".to_owned(),
        host: "h".to_owned(),
        resources: Resources::homogeneous(4),
        epoch_unix_ns: 0,
        execute: false,
        discipline: "fcfs",
        max_jobs: 1000,
        down: BTreeMap::new(),
    };
    JobStore::new(site, 100)
}

fn order(args: &str) -> Order {
    let args: Vec<String> = args.split(' ').map(str::to_owned).collect();
    batch::read("sbatch", &args, &[], b"#!/bin/sh\nsleep 1\n").unwrap()
}

fn at(seconds: u64) -> SimTime {
    SimTime::from_secs(seconds)
}

fn submit(store: &mut JobStore, seconds: u64, args: &str) -> u32 {
    store.submit(at(seconds), order(args), None)
}

/// The names of the jobs that are sent into the cluster.
fn sent(store: &mut JobStore) -> Vec<u32> {
    let actions = store.take_actions();
    let submits = actions.iter().filter_map(|action| match action {
        Action::Submit(seq) => Some(*seq),
        _ => None,
    });
    submits.collect()
}

fn start(store: &mut JobStore, seconds: u64, seq: u32) {
    let name = store.job(seq).unwrap().machine.unwrap();
    store.started(at(seconds), name, Vec::new());
}

fn end(store: &mut JobStore, seconds: u64, seq: u32, state: EndState) {
    let name = store.job(seq).unwrap().machine.unwrap();
    end_as(store, seconds, name, state);
}

fn end_as(store: &mut JobStore, seconds: u64, job: JobId, state: EndState) {
    let end = JobEnd {
        job,
        state,
        cluster: None,
        start: None,
        finish: None,
    };
    store.over(at(seconds), &end);
}

/// The numbers of the jobs as they are shown.
fn shown(store: &JobStore, seconds: u64) -> Vec<String> {
    let records = store.records(at(seconds), None, false);
    records.iter().map(Record::id).collect()
}

fn reason(store: &JobStore, seq: u32) -> &'static str {
    store.reason(store.job(seq).unwrap(), at(0))
}

#[test]
fn a_job_whose_dependency_cannot_come_true_is_cancelled_where_it_asks_for_that() {
    let mut store = store();
    submit(&mut store, 0, "job");
    let dependent = [
        "-d afterok:1",
        "-d afterok:1?afternotok:1",
        "-d afterok:1,after:1",
    ];
    for wishes in dependent {
        let args = format!("{wishes} --kill-on-invalid-dep=yes job");
        submit(&mut store, 0, &args);
    }
    submit(&mut store, 0, "-d afterok:1 job");
    start(&mut store, 1, 0);
    let lost = EndState::Failed(gridrig_core::job::Reason::NodeFailed);
    end(&mut store, 2, 0, lost);
    let states: Vec<State> = (1..5).map(|seq| store.job(seq).unwrap().state).collect();
    // The second may start: its other wish has come true.
    let [kill, wait] = [State::Cancelled, State::Pending];
    assert_eq!(states, [kill, wait, kill, wait]);
    assert_eq!(reason(&store, 1), "DependencyNeverSatisfied");
    assert_eq!(reason(&store, 4), "DependencyNeverSatisfied");
}

#[test]
fn numbers_count_from_one_and_tasks_get_theirs_when_they_start() {
    let mut store = store();
    assert_eq!(submit(&mut store, 0, "job"), 1);
    assert_eq!(submit(&mut store, 0, "-a 0-2 job"), 2);
    assert_eq!(sent(&mut store), [0, 1, 2, 3]);
    for seq in [1, 2, 3] {
        start(&mut store, 1, seq);
    }
    let ids: Vec<u32> = (1..4).map(|seq| store.job(seq).unwrap().id).collect();
    // The last of the pending keeps the array's number.
    assert_eq!(ids, [3, 4, 2]);
    assert_eq!(store.find(Target { id: 2, task: None }), [1, 2, 3]);
    let task = Some(1);
    assert_eq!(store.find(Target { id: 2, task }), [2]);
    assert_eq!(store.find(Target { id: 4, task: None }), [2]);
}

#[test]
fn an_array_lets_so_many_tasks_in_at_a_time() {
    let mut store = store();
    submit(&mut store, 0, "-a 1-4%2 job");
    assert_eq!(sent(&mut store), [0, 1]);
    assert_eq!(shown(&store, 0), ["1_[1-4%2]"]);
    start(&mut store, 0, 0);
    start(&mut store, 0, 1);
    assert_eq!(reason(&store, 2), "JobArrayTaskLimit");
    end(&mut store, 1, 0, EndState::Completed);
    assert_eq!(sent(&mut store), [2]);
    assert_eq!(shown(&store, 1), ["1_1", "1_2", "1_[3-4%2]"]);
}

#[test]
fn dependencies_are_fulfilled_or_never() {
    let mut store = store();
    submit(&mut store, 0, "job");
    submit(&mut store, 0, "-d afterok:1 job");
    submit(&mut store, 0, "-d afternotok:1 job");
    submit(&mut store, 0, "-d afterany:1 job");
    submit(&mut store, 0, "-d after:1 job");
    submit(&mut store, 0, "-d afterok:99 job");
    assert_eq!(sent(&mut store), [0, 5], "an unknown job holds nobody back");
    assert_eq!(reason(&store, 1), "Dependency");
    start(&mut store, 1, 0);
    assert_eq!(sent(&mut store), [4]);
    end(&mut store, 2, 0, EndState::Cancelled);
    assert_eq!(sent(&mut store), [2, 3]);
    assert_eq!(reason(&store, 1), "DependencyNeverSatisfied");
    assert_eq!(
        super::super::depend::show(&store.job(1).unwrap().wishes),
        "afterok:1(failed)"
    );
}

#[test]
fn a_singleton_waits_for_its_namesake() {
    let mut store = store();
    submit(&mut store, 0, "-J x job");
    submit(&mut store, 0, "-J x -d singleton job");
    submit(&mut store, 0, "-J y -d singleton job");
    assert_eq!(sent(&mut store), [0, 2]);
    start(&mut store, 1, 0);
    end(&mut store, 2, 0, EndState::Completed);
    assert_eq!(sent(&mut store), [1]);
}

#[test]
fn a_held_job_leaves_the_queue_and_comes_back_under_another_name() {
    let mut store = store();
    submit(&mut store, 0, "job");
    submit(&mut store, 0, "-H job");
    assert_eq!(sent(&mut store), [0]);
    let first = store.job(0).unwrap().machine.unwrap();
    assert!(store.hold(at(1), 0, Hold::User));
    assert_eq!(store.take_actions(), [Action::Cancel(first)]);
    assert_eq!(
        (reason(&store, 0), reason(&store, 1)),
        ("JobHeldUser", "JobHeldUser")
    );
    assert!(store.release(at(2), 0) && store.release(at(2), 1));
    assert_eq!(sent(&mut store), [0, 1]);
    assert_ne!(store.job(0).unwrap().machine, Some(first));
    start(&mut store, 3, 0);
    assert!(
        store.hold(at(3), 0, Hold::User),
        "a running job stays as it is"
    );
    end(&mut store, 4, 0, EndState::Completed);
    assert!(!store.hold(at(4), 0, Hold::User));
}

#[test]
fn a_limit_ends_a_job_and_says_so() {
    let mut store = store();
    let mut order = order("-t 1 job");
    order.batch.script = b"#!/bin/sh\nsleep 300\n".to_vec();
    store.submit(at(0), order, None);
    sent(&mut store);
    start(&mut store, 5, 0);
    assert_eq!(store.next_timer(), Some(at(65)));
    store.handle_timers(at(65));
    let name = store.job(0).unwrap().machine.unwrap();
    assert_eq!(store.take_actions(), [Action::Finish(name)]);
    end(&mut store, 65, 0, EndState::Completed);
    let job = store.job(0).unwrap();
    assert_eq!(
        (job.state, job.why, job.exit),
        (State::Timeout, "TimeLimit", (0, 0))
    );
    assert_eq!(store.next_timer(), None);
}

#[test]
fn a_begin_time_is_waited_for() {
    let mut store = store();
    store.submit(at(0), order("job"), Some(at(60)));
    assert!(sent(&mut store).is_empty());
    assert_eq!(
        (reason(&store, 0), store.next_timer()),
        ("BeginTime", Some(at(60)))
    );
    store.handle_timers(at(60));
    assert_eq!(sent(&mut store), [0]);
}

#[test]
fn a_job_of_another_interface_is_listed_and_keeps_its_name() {
    let mut store = store();
    let mut spec = gridrig_core::job::JobSpec::rigid(JobId(7), 2, SimDuration::from_secs(3));
    (spec.account, spec.executable) = ("31".parse().ok(), "4".parse().ok());
    store.take_in(at(1), &spec, 0, &"root".into());
    assert!(store.take_actions().is_empty());
    store.started(at(2), JobId(7), Vec::new());
    let record = &store.records(at(2), None, false)[0];
    assert_eq!(
        (record.id(), record.job.batch.name.as_str()),
        ("1".to_owned(), "job-7")
    );
    assert_eq!(record.job.batch.account.as_deref(), Some("31"));
    assert_eq!(record.job.batch.wckey.as_deref(), Some("4"));
    end(&mut store, 3, 0, EndState::Completed);
    assert_eq!(store.job(0).unwrap().state, State::Completed);
}

#[test]
fn account_and_wckey_go_into_the_cluster_by_their_numbers() {
    let store = store();
    let numbers = |args: &str, env: &[(String, String)]| {
        let args: Vec<String> = args.split(' ').map(str::to_owned).collect();
        let order = batch::read("sbatch", &args, env, b"#!/bin/sh\nsleep 1\n");
        let batch = order.unwrap().batch;
        let plan = crate::faces::slurm::length::plan(&batch);
        let spec = store.spec(&batch, plan);
        (spec.account.map(u32::from), spec.executable.map(u32::from))
    };
    // A name means nothing there.
    for (args, account, executable) in [
        ("-A 31 job", Some(31), None),
        ("--account=31 job", Some(31), None),
        ("-A physics job", None, None),
        ("--wckey=4 job", None, Some(4)),
        ("--wckey=cp2k job", None, None),
        ("job", None, None),
    ] {
        assert_eq!(numbers(args, &[]), (account, executable), "{args}");
    }
    let env = [("SBATCH_WCKEY".to_owned(), "5".to_owned())];
    assert_eq!(numbers("job", &env).1, Some(5));
    assert_eq!(numbers("--wckey=4 job", &env).1, Some(4));
}

#[test]
fn ended_jobs_age_and_the_oldest_are_forgotten() {
    let mut store = store();
    store.keep_ended = 2;
    for seq in 0..3 {
        submit(&mut store, 0, "job");
        start(&mut store, 0, seq);
        end(&mut store, u64::from(seq), seq, EndState::Completed);
    }
    assert!(store.job(0).is_none() && store.find(Target { id: 1, task: None }).is_empty());
    assert_eq!(store.records(at(300), None, false).len(), 2);
    assert_eq!(store.records(at(302), None, false).len(), 1);
    store.age(at(310));
    assert_eq!((store.present(), store.all().count()), (0, 2));
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
        let mut store = store();
        for second in 0..150 {
            store.handle_timers(at(second));
            something_happens(&mut store, second, &mut roll);
            for action in store.take_actions() {
                // The cluster ends what it is told to.
                if let Action::Cancel(name) | Action::Finish(name) = action {
                    end_as(&mut store, second, name, EndState::Cancelled);
                }
            }
            let _ = store.take_actions();
            let all: Vec<u32> = store.all().map(|job| job.seq).collect();
            for seq in all {
                let (counted, inside) = tasks_inside(&store, seq);
                assert_eq!(counted, inside, "seed {seed}, second {second}, job {seq}");
                let job = store.job(seq).unwrap();
                let waits = !is_free(&store, job, at(second), inside.0);
                assert!(waits, "seed {seed}, second {second}: {job:?}");
            }
        }
    }
}

fn something_happens(store: &mut JobStore, second: u64, roll: &mut impl FnMut(u32) -> u32) {
    let (now, jobs) = (at(second), store.next_seq);
    let seq = if jobs == 0 { 0 } else { roll(jobs) };
    let other = roll(jobs + 2) + 1;
    match roll(13) {
        0 => drop(submit(store, second, "-a 0-5%2 job")),
        1 => drop(submit(store, second, "-d singleton -J one job")),
        2 => {
            let kinds = ["after", "afterany", "afterok", "afternotok", "aftercorr"];
            let kind = kinds[roll(5) as usize];
            submit(store, second, &format!("-d {kind}:{other} job"));
        }
        3 => {
            let more = roll(9) + 1;
            let text = format!("-a 1-3%1 -d afterany:{other}?afterok:{more} job");
            submit(store, second, &text);
        }
        4 => {
            let begin = Some(at(second + 1 + u64::from(roll(30))));
            store.submit(now, order("-H job"), begin);
            store.submit(now, order("job"), begin);
        }
        5 => drop(store.hold(now, seq, Hold::User)),
        6 => drop(store.release(now, seq)),
        7 => store.cancel(now, seq, 0),
        8 => drop(store.requeue(now, seq, None)),
        _ => match store.job(seq).map(|job| (job.state, job.machine)) {
            Some((State::Pending, Some(_))) => start(store, second, seq),
            Some((State::Running, Some(name))) => {
                let how = match roll(3) {
                    0 => EndState::Cancelled,
                    _ => EndState::Completed,
                };
                end_as(store, second, name, how);
            }
            _ => {}
        },
    }
}

/// Whether nothing keeps a job out of the cluster that is not there.
fn is_free(store: &JobStore, job: &Job, now: SimTime, tasks_inside: u32) -> bool {
    let outside = job.state == State::Pending && job.machine.is_none();
    let early = job.begin.is_some_and(|begin| begin > now);
    let most = job.task.as_ref().and_then(|task| task.at_a_time);
    let full = most.is_some_and(|most| tasks_inside >= most);
    let come_true = |wish: &Wish| store.verdict(job, wish) == Verdict::Fulfilled;
    let any = job.wishes.iter().any(|wish| wish.any && come_true(wish));
    let waits = !any && !job.wishes.iter().all(come_true);
    outside && job.hold.is_none() && !early && !full && !waits
}

/// Tasks of the job's array in the cluster and running: as counted, as found.
fn tasks_inside(store: &JobStore, seq: u32) -> ((u32, u32), (u32, u32)) {
    let Some(task) = store.job(seq).and_then(|job| job.task.clone()) else {
        return ((0, 0), (0, 0));
    };
    let counted = store.inside.get(&task.array).copied().unwrap_or_default();
    let of_array = |job: &&Job| job.task.as_ref().is_some_and(|t| t.array == task.array);
    let there = |job: &&Job| job.machine.is_some() && !job.state.is_ended();
    let tasks = store.all().filter(of_array).filter(there);
    let (mut all, mut running) = (0, 0);
    for task in tasks {
        all += 1;
        running += u32::from(task.state == State::Running);
    }
    ((counted.all, counted.running), (all, running))
}

#[test]
fn a_script_runs_again_only_when_its_process_on_the_failed_node_has_ended() {
    let mut store = store();
    store.site.execute = true;
    submit(&mut store, 0, "-t 10 job");
    let name = store.job(0).unwrap().machine.unwrap();
    start(&mut store, 1, 0);
    store.take_actions();
    store.requeued(name);
    assert_eq!(store.take_actions(), [Action::Kill(0)]);
    let job = store.job(0).unwrap();
    assert_eq!(
        (job.state, job.start, job.restarts),
        (State::Pending, None, 1)
    );
    assert_eq!(
        store.next_timer(),
        None,
        "its limit counts from its next start"
    );
    start(&mut store, 2, 0);
    assert_eq!(store.take_actions(), []);
    store.exited(0, (0, 15), None);
    assert_eq!(store.take_actions(), [Action::Launch(0)]);
    // One that is to end on a node that fails does not run again.
    store.cancel(at(3), 0, 0);
    store.take_actions();
    store.requeued(name);
    assert_eq!(store.take_actions(), [Action::Cancel(name)]);
    end_as(&mut store, 4, name, EndState::Cancelled);
    assert_eq!(store.job(0).unwrap().state, State::Cancelled);
}

#[test]
fn a_job_that_is_requeued_leaves_the_cluster_and_comes_again_after_two_minutes() {
    let mut store = store();
    submit(&mut store, 0, "-t 10 job");
    submit(&mut store, 0, "--no-requeue job");
    assert_eq!(
        store.requeue(at(0), 0, None),
        Err("Job is pending execution")
    );
    for seq in [0, 1] {
        start(&mut store, 1, seq);
    }
    let name = store.job(0).unwrap().machine.unwrap();
    store.take_actions();
    assert_eq!(
        store.requeue(at(5), 1, None),
        Err("Requested operation is presently disabled")
    );
    assert_eq!(store.requeue(at(5), 0, None), Ok(()));
    assert_eq!(store.take_actions(), [Action::Cancel(name)]);
    // What the cluster says of the first run is no news of the job.
    end_as(&mut store, 5, name, EndState::Cancelled);
    let job = store.job(0).unwrap();
    assert_eq!(
        (job.state, job.restarts, job.submit),
        (State::Pending, 1, at(5))
    );
    assert_eq!(store.reason(job, at(6)), "BeginTime");
    assert_eq!(store.next_timer(), Some(at(126)), "its limit is no timer");
    store.handle_timers(at(126));
    assert_eq!(sent(&mut store), [0]);
    start(&mut store, 127, 0);
    end(&mut store, 130, 0, EndState::Completed);
    assert_eq!(store.requeue(at(131), 0, Some(Hold::Requeued)), Ok(()));
    let job = store.job(0).unwrap();
    assert_eq!(store.reason(job, at(132)), "job requeued in held state");
    store.handle_timers(at(300));
    assert!(sent(&mut store).is_empty());
    assert!(store.release(at(301), 0));
    assert_eq!(sent(&mut store), [0]);
    assert_eq!(
        store.requeue(at(9), 7, None),
        Err("Invalid job id specified")
    );
}
