//! A log beside a model of its site.

use crate::{load_text, window};
use gridrig_core::discipline::DisciplineKind;
use gridrig_tracelab::TraceError;
use gridrig_tracelab::twin::{Grade, Options, Twin, twin};
use std::collections::BTreeMap;

/// A job: submit, wait and run time, processors; it asked for as long as it ran.
struct Job([i64; 18]);

fn job(submit: i64, wait: i64, run: i64, processors: i64) -> Job {
    let mut fields = [-1; 18];
    fields[1..5].copy_from_slice(&[submit, wait, run, processors]);
    (fields[7], fields[8], fields[10], fields[11]) = (processors, run, 1, 3);
    Job(fields)
}

impl Job {
    /// With another value of a field, by its number in SWF.
    fn with(mut self, field: usize, value: i64) -> Self {
        self.0[field - 1] = value;
        self
    }
}

/// The log of a machine of 4 processors.
fn log(jobs: Vec<Job>) -> String {
    let mut text = "; MaxProcs: 4\n".to_owned();
    for (number, mut job) in (1..).zip(jobs) {
        job.0[0] = number;
        let fields: Vec<String> = job.0.iter().map(i64::to_string).collect();
        text += &(fields.join(" ") + "\n");
    }
    text
}

fn of(text: &str, options: &Options) -> Result<Twin, TraceError> {
    twin(&load_text(text)?, options)
}

fn under(discipline: DisciplineKind) -> Options {
    Options {
        discipline: Some(discipline),
        ..Options::default()
    }
}

/// What the model lacks, and how often the log has it; what it has not is left out.
fn lacks(text: &str, options: &Options) -> BTreeMap<&'static str, u64> {
    let found = of(text, options).unwrap().not_modelled.into_iter();
    let found = found.map(|it| (it.name, it.count));
    found.filter(|(_, count)| *count > 0).collect()
}

/// Three jobs as FCFS runs them: the second waits for the first, the third for it.
fn in_order() -> Vec<Job> {
    vec![
        job(0, 0, 1_000, 4),
        job(10, 990, 500, 2),
        job(20, 980, 3_000, 2),
    ]
}

#[test]
fn a_log_that_the_model_reproduces_is_exact_and_lacks_nothing() {
    let twin = of(&log(in_order()), &Options::default()).unwrap();
    assert_eq!(twin.grade, Grade::Exact);
    assert_eq!((twin.processors, twin.processors_from), (4, "header"));
    let best = &twin.fits[0];
    assert_eq!((best.area_s, best.ks, best.misfit), (0.0, 0.0, 0.0));
    assert_eq!((best.spearman, best.same_share), (Some(1.0), 1.0));
    assert_eq!(twin.fits.len(), DisciplineKind::ALL.len());
    assert_eq!(
        lacks(&log(in_order()), &Options::default()),
        BTreeMap::new()
    );
}

#[test]
fn distances_are_those_of_a_sum_by_hand() {
    // The model starts all three at once: waits 0, 0, 0 beside 0, 100, 200.
    let jobs = vec![job(0, 0, 9, 1), job(100, 100, 9, 1), job(300, 200, 9, 1)];
    let twin = of(&log(jobs), &under(DisciplineKind::Fcfs)).unwrap();
    let fit = &twin.fits[0];
    assert_eq!((fit.area_s, fit.job_error_s), (100.0, 100.0));
    assert_eq!(fit.largest_job_error_s, 200.0);
    assert!((fit.ks - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!(fit.spearman, None, "all simulated waits are alike");
    assert_eq!(fit.less_share, 2.0 / 3.0);
    assert_eq!((fit.same_share, fit.more_share), (1.0 / 3.0, 0.0));
    // 0.25 of the mean wait, 100 s, are allowed, and a KS distance of 0.1.
    assert!((fit.misfit - 20.0 / 3.0).abs() < 1e-12);
    assert_eq!(twin.grade, Grade::Poor);
    let jobs = vec![
        job(0, 0, 1_000, 4),
        job(10, 990, 500, 4),
        job(1_000, 990, 600, 4),
        job(1_000, 2_000, 600, 4),
    ];
    let twin = of(&log(jobs), &under(DisciplineKind::Fcfs)).unwrap();
    let waits: Vec<f64> = twin.waits.iter().map(|it| it.simulated_s).collect();
    assert_eq!(waits, [0.0, 990.0, 500.0, 1_100.0]);
    let spearman = twin.fits[0].spearman.unwrap();
    // Ranks 1, 2.5, 2.5, 4 beside 1, 3, 2, 4.
    let expected = 4.5 / (4.5_f64 * 5.0).sqrt();
    assert!((spearman - expected).abs() < 1e-12, "{spearman}");
}

#[test]
fn orders_that_the_discipline_does_not_have_are_counted() {
    // The last is wider and longer than the one before it, and starts first.
    let passed = |queue| {
        let mut jobs = in_order();
        jobs[1] = job(10, 3_990, 500, 2).with(15, 1);
        jobs[2] = job(20, 980, 3_000, 4).with(15, queue);
        jobs[0].0[14] = 1;
        log(jobs)
    };
    let easy = under(DisciplineKind::EasyBackfill);
    let alike = BTreeMap::from([("start-order", 1), ("priorities", 1)]);
    assert_eq!(lacks(&passed(1), &easy), alike);
    let apart = BTreeMap::from([("start-order", 1), ("queues", 1)]);
    assert_eq!(lacks(&passed(2), &easy), apart);
    // A narrow, short one that passes is backfilling, and nothing that FCFS does.
    let mut jobs = vec![job(0, 0, 2_000, 3), job(10, 1_990, 500, 4)];
    jobs.push(job(20, 0, 100, 1));
    let backfilled = log(jobs);
    assert_eq!(lacks(&backfilled, &easy), BTreeMap::new());
    let fcfs = lacks(&backfilled, &under(DisciplineKind::Fcfs));
    assert_eq!(fcfs, BTreeMap::from([("start-order", 1)]));
    // Under first fit a narrow one does not wait behind one that is wider.
    let mut jobs = vec![job(0, 0, 2_000, 3), job(10, 1_990, 500, 1)];
    jobs.push(job(20, 0, 100, 1));
    let first_fit = lacks(&log(jobs), &under(DisciplineKind::FirstInFirstFit));
    assert_eq!(first_fit["start-order"], 1);
}

#[test]
fn times_when_nothing_starts_are_counted_where_something_could() {
    let jobs = |wait| log(vec![job(0, 0, 100, 4), job(10, wait, 100, 2)]);
    let outages = |wait| {
        let found = lacks(&jobs(wait), &under(DisciplineKind::Fcfs));
        found.get("outages").copied()
    };
    // The first job ends at 100.
    assert_eq!(outages(90), None);
    assert_eq!(outages(90 + 3_599), None);
    assert_eq!(outages(90 + 3_600), Some(1));
    let twin = of(&jobs(90 + 7_200), &Options::default()).unwrap();
    let found = twin.not_modelled.iter().find(|it| it.name == "outages");
    let text = &found.unwrap().text;
    assert!(text.contains("2 h in all, the longest 2 h"), "{text}");
}

#[test]
fn what_jobs_have_and_the_model_has_not_is_counted_from_the_log() {
    let with = |change: fn(Job) -> Job| {
        let mut jobs = in_order();
        jobs.push(change(job(50_000, 0, 100, 2)));
        lacks(&log(jobs), &under(DisciplineKind::Fcfs))
    };
    let only = |name: &'static str| BTreeMap::from([(name, 1)]);
    assert_eq!(
        with(|it| it.with(17, 1).with(18, 5)),
        only("dependent-jobs")
    );
    assert_eq!(with(|it| it.with(10, 2_048)), only("memory"));
    assert_eq!(with(|it| it.with(8, 1)), only("resized"));
    assert_eq!(with(|it| it.with(5, -1).with(8, -1)), only("no-size"));
    assert_eq!(with(|it| it.with(4, -1)), only("never-ran"));
    assert_eq!(with(|it| it.with(9, -1)), only("no-estimate"));
    assert_eq!(with(|it| it.with(3, -1)), only("no-wait"));
    let wide = with(|it| it.with(5, 5).with(8, 5));
    assert_eq!(
        wide,
        BTreeMap::from([("too-wide", 1), ("above-machine", 1)])
    );
    // Two that run at once, beyond the machine.
    let both = log(vec![job(0, 0, 100, 4), job(10, 0, 100, 3)]);
    assert_eq!(
        lacks(&both, &under(DisciplineKind::Fcfs))["above-machine"],
        3
    );
    let mut parts = in_order();
    parts.push(job(50_000, 0, 100, 2).with(16, 2));
    parts.iter_mut().take(3).for_each(|job| job.0[15] = 1);
    assert_eq!(
        lacks(&log(parts), &under(DisciplineKind::Fcfs)),
        only("partitions")
    );
    let held = "; Note: lost: time held before it was eligible, of 7 jobs\n";
    let text = held.to_owned() + &log(in_order());
    assert_eq!(
        lacks(&text, &under(DisciplineKind::Fcfs)),
        BTreeMap::from([("held", 7)])
    );
}

#[test]
fn without_a_header_the_machine_is_as_large_as_the_log_was_busy() {
    let text = log(in_order());
    let (_, jobs) = text.split_once('\n').unwrap();
    let twin = of(jobs, &Options::default()).unwrap();
    assert_eq!((twin.processors, twin.processors_from), (4, "occupancy"));
    let eight = Options {
        processors: Some(8),
        ..Options::default()
    };
    let twin = of(&text, &eight).unwrap();
    assert_eq!((twin.processors, twin.processors_from), (8, "option"));
    assert_eq!(twin.fits[0].simulated_s.max, Some(0.0));
}

#[test]
fn a_window_is_compared_with_what_came_before_it_on_the_machine() {
    let mut jobs = in_order();
    jobs.push(job(400_000, 0, 100, 2));
    let text = log(jobs);
    let part = |start, length| Options {
        window: Some(window(start, length)),
        ..under(DisciplineKind::Fcfs)
    };
    let twin = of(&text, &part(15, 1_000)).unwrap();
    assert_eq!((twin.jobs, twin.compared), (4, 1));
    assert_eq!(twin.waits[0].simulated_s, 980.0);
    for (start, length) in [(0, 600_000), (100_000, 1_000), (500_000, 10)] {
        let why = of(&text, &part(start, length)).unwrap_err().to_string();
        assert!(
            why.contains("expected a part of the log with jobs"),
            "{why}"
        );
    }
}

/// The second job is compared; the third, shorter and submitted after the window, goes first.
#[test]
fn jobs_from_after_a_window_may_pass_those_in_it() {
    let jobs = vec![
        job(0, 0, 1_000, 4),
        job(10, 1_090, 500, 4),
        job(20, 980, 100, 4),
        job(9_000, 0, 10, 4),
    ];
    let options = Options {
        window: Some(window(5, 10)),
        ..under(DisciplineKind::ShortestJobFirst)
    };
    let twin = of(&log(jobs), &options).unwrap();
    assert_eq!((twin.jobs, twin.compared), (4, 1));
    assert_eq!(twin.waits[0].simulated_s, 1_090.0);
    assert_eq!(twin.grade, Grade::Exact);
}

#[test]
fn a_log_without_waits_is_refused() {
    let jobs = in_order().into_iter().map(|job| job.with(3, -1)).collect();
    let why = of(&log(jobs), &Options::default()).unwrap_err().to_string();
    let expected = "t.swf: none of the 3 jobs that fit the machine has a recorded wait time";
    assert!(why.starts_with(expected), "{why}");
}
