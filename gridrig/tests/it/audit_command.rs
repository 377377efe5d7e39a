//! `gridrig audit`: a finished run is rebuilt from its files, and one that
//! contradicts itself ends with exit 1 and the job's history.

use crate::command::{Bench, PAIR, expect_code, expect_refused, run, split, stderr, stdout};
use gridrig_core::event::{Event, EventKind, EventSink};
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::job::Submission;
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::SimTime;
use gridrig_results::rundir::{self, Manifest, RunFiles};
use gridrig_results::{EventLog, JobTable};
use std::path::Path;

/// One event as it comes: what to keep of it, and what to say besides.
type Change = fn(SimTime, Event<'_>, &mut EventLog);

const JOBS: [(u64, i64, u32); 4] = [(0, 30, 2), (1, 20, 2), (2, 20, 1), (3, 40, 1)];

/// Runs the pair, writes the run again with its log changed, and audits that.
fn corrupted(change: Change, jobs: impl FnOnce(&mut Vec<Submission>)) -> String {
    let bench = Bench::ran(PAIR, &JOBS);
    let good = bench.path("runs/s-1/round-robin/r000");
    expect_code(&run(&["audit", &good]), 0);
    let mut read = rundir::read(Path::new(&good)).unwrap();
    jobs(&mut read.submissions);
    let mut log = EventLog::default();
    for (at, event) in read.log.records() {
        change(at, event, &mut log);
    }
    for (from, to, count, _) in read.log.info_messages() {
        log.add_info_messages(from, to, count);
    }
    let names = read.manifest.workloads.clone();
    let table = JobTable::build(&log, &read.submissions, &read.grid, &names);
    let info = Manifest {
        clock: "virtual".to_owned(),
        ..Manifest::default()
    };
    let files = RunFiles {
        document: None,
        info: &info,
        scenario: "",
        grid: &read.grid,
        submissions: &read.submissions,
        log: &log,
        table: &table,
    };
    let bad = bench.path("bad");
    rundir::write(Path::new(&bad), false, &files).unwrap();
    let output = run(&["audit", &bad]);
    expect_code(&output, 1);
    assert_eq!(stdout(&output), "");
    stderr(&output)
}

fn expect(rule: &str, message: &str) {
    assert!(message.contains(rule), "{rule} is not in: {message}");
    assert!(
        message.contains("submitted"),
        "the history is missing: {message}"
    );
}

/// A log that is changed so breaks this rule.
fn expect_found(rule: &str, change: Change) {
    expect(rule, &corrupted(change, |_| {}));
}

/// Keeps every event; `JobId(0)` is the one the changes are about.
fn is_first(event: &Event<'_>) -> bool {
    event.job == Some(JobId(0))
}

#[test]
fn a_job_that_is_there_twice_is_found() {
    expect_found("submitted-once", |at, event, log| {
        log.emit(at, event);
        if is_first(&event) && event.kind == EventKind::Submitted {
            log.emit(at, event);
        }
    });
}

#[test]
fn two_jobs_on_one_processor_are_found() {
    expect_found("no-overlap", |at, event, log| match event.placement {
        [run, ..] if run.nodes < 4 => {
            let everything = [PlacementRun { node: 0, ..*run }];
            log.emit(at, event.on(&everything));
        }
        _ => log.emit(at, event),
    });
}

#[test]
fn a_start_before_the_submission_is_found() {
    let message = corrupted(
        |at, event, log| match (event.kind, event.job) {
            (EventKind::Submitted, Some(JobId(3))) => {
                log.emit(at, event.at(SimTime::from_secs(100)));
            }
            (EventKind::Started, Some(JobId(3))) => log.emit(SimTime::ZERO, event),
            _ => log.emit(at, event),
        },
        |_| {},
    );
    expect("log-order: job 3", &message);
    expect("submitted-in-time: job 3", &message);
}

#[test]
fn a_job_without_an_end_is_found() {
    expect_found("ends", |at, event, log| {
        if !(is_first(&event) && event.kind.is_terminal()) {
            log.emit(at, event);
        }
    });
}

#[test]
fn a_job_on_the_wrong_architecture_is_found() {
    let message = corrupted(
        |at, event, log| log.emit(at, event),
        |jobs| jobs[0].spec.components.first.requirements.architecture = Some("powerpc".into()),
    );
    expect("requirements", &message);
}

#[test]
fn an_unknown_node_is_found() {
    expect_found("node-exists", |at, event, log| match event.placement {
        [run, ..] if is_first(&event) => {
            let nowhere = [PlacementRun { node: 77, ..*run }];
            log.emit(at, event.on(&nowhere));
        }
        _ => log.emit(at, event),
    });
}

#[test]
fn a_forward_that_arrives_nowhere_is_found() {
    expect_found("forward-arrives", |at, event, log| {
        let until_forwarded = match event.kind {
            EventKind::Submitted | EventKind::Forwarded => true,
            kind => kind == EventKind::BrokerArrival && event.by == DomainId(0).into(),
        };
        if event.job != Some(JobId(1)) || until_forwarded {
            log.emit(at, event);
        }
    });
}

#[test]
fn a_job_that_ends_twice_is_found() {
    expect_found("ends-once", |at, event, log| {
        log.emit(at, event);
        if is_first(&event) && event.kind.is_terminal() {
            log.emit(at, event);
        }
    });
}

#[test]
fn a_folder_that_is_no_run_is_bad_input() {
    let empty = tempfile::tempdir().unwrap();
    expect_refused(
        &run(&["audit", &empty.path().display().to_string()]),
        "manifest.json",
    );
}

#[test]
fn regret_is_built_again_under_every_discipline() {
    for discipline in split("fcfs easy-backfill conservative-backfill slurm-backfill") {
        let scenario = PAIR.replace(
            "processors = 4 }",
            &format!("processors = 4, discipline = \"{discipline}\" }}"),
        );
        let jobs: Vec<(u64, i64, u32)> = (0..60)
            .map(|id| (3 * id, 5 + (id as i64 * 37) % 90, 1 + (id as u32 % 4)))
            .collect();
        let bench = Bench::ran(&scenario, &jobs);
        let dir = bench.path("runs/s-1/round-robin/r000");
        expect_code(&run(&["audit", &dir]), 0);
        let file = format!("{dir}/manifest.json");
        let text = std::fs::read_to_string(&file).unwrap();
        let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        let regret = &mut manifest["summary"]["regret"]["mean_s"];
        let mean = regret.as_f64().unwrap();
        assert!(mean > 0.0, "{discipline}");
        *regret = serde_json::json!(mean + 1e-6);
        std::fs::write(&file, serde_json::to_string(&manifest).unwrap()).unwrap();
        let output = run(&["audit", &dir]);
        expect_code(&output, 1);
        let told = stderr(&output);
        let found = told.contains("summary.regret.mean_s");
        assert!(found, "{discipline}: {told}");
    }
}

/// Users of two logs with one name are still two.
#[test]
fn workloads_whose_files_have_one_name_are_told_apart() {
    let other = "trace = \"other/t.swf\"\ndomain = \"b\"\n\n[[workload]]\ntrace = \"t.swf\"";
    let scenario = PAIR.replace("[workload]", "[[workload]]");
    let scenario = scenario.replacen("trace = \"t.swf\"", other, 1);
    let bench = Bench::new(&scenario, &JOBS);
    std::fs::create_dir(bench.path("other")).unwrap();
    std::fs::copy(bench.path("t.swf"), bench.path("other/t.swf")).unwrap();
    expect_code(&bench.run(&[]), 0);
    let dir = bench.path("runs/s-1/round-robin/r000");
    expect_code(&run(&["audit", &dir]), 0);
    let read = rundir::read(Path::new(&dir)).unwrap();
    let names = ["t.swf", "t.swf#1"];
    assert_eq!(read.manifest.workloads, names);
    assert!(read.manifest.trace_sha256.keys().eq(names));
    let of = |workload: u16| {
        let jobs = read.submissions.iter();
        jobs.filter(|job| job.label.workload == workload).count()
    };
    assert_eq!((of(0), of(1)), (4, 4));
}

/// Who holds the directory runs the run: not even `--force` takes it away.
#[test]
fn a_run_that_goes_on_is_not_overwritten() {
    let bench = Bench::ran(PAIR, &JOBS);
    let dir = bench.path("runs/s-1/round-robin/r000");
    let held = std::fs::File::open(&dir).unwrap();
    held.lock().unwrap();
    let output = bench.run(&["--force"]);
    expect_refused(&output, "another process is running it");
    assert!(Path::new(&dir).join("manifest.json").exists());
    drop(held);
    expect_code(&bench.run(&["--force"]), 0);
}
