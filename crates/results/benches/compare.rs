//! `compare::compare` and `report::report` over 10 runs of 1,000,000 jobs each:
//! five replications of two policies, written to a temporary directory first.
//! Each runs in a process of its own, whose time and peak memory are printed
//! beside those of a bare scan: the same files hashed, and the columns that a
//! comparison needs decoded, on as many threads and with nothing computed. The
//! processor time tells what a busy machine hides in the wall time; the ratios
//! at the end are of the best of three.
//!
//! `cargo bench -p gridrig-results --bench compare [-- JOBS]`
//! `GRIDRIG_BENCH_RUNS=DIR` keeps the runs there, and takes those it finds.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench reads the clock, stops at what it did not expect and prints"
)]

use gridrig_core::discipline::DisciplineKind;
use gridrig_core::event::{Event, EventKind, EventSink, Party};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, JobLabel, JobSpec, Submission};
use gridrig_core::placement::PlacementRun;
use gridrig_core::rng;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_results::compare::{self, Options, Outcome};
use gridrig_results::report;
use gridrig_results::rundir::{self, Manifest, RunFiles, StudyDoc};
use gridrig_results::{EventLog, JobTable};
use rand::RngExt;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

#[path = "../tests/it/study.rs"]
#[allow(dead_code, reason = "only its grid is wanted here")]
mod study;

const POLICIES: [&str; 2] = ["round-robin", "free-node"];
const REPLICATIONS: u32 = 5;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [step, dir] = words.as_slice()
        && ["compare", "report", "scan"].contains(&step.as_str())
    {
        return measure(step, Path::new(dir));
    }
    let jobs = words.iter().find_map(|word| word.parse().ok());
    let jobs: u32 = jobs.unwrap_or(1_000_000);
    let own = tempfile::tempdir().unwrap();
    let kept = std::env::var_os("GRIDRIG_BENCH_RUNS").map(PathBuf::from);
    let dir = kept.unwrap_or_else(|| own.path().to_owned());
    for replication in 0..REPLICATIONS {
        for policy in POLICIES {
            let there = run_dir(&dir, policy, replication).join(rundir::names::MANIFEST);
            if !there.exists() {
                write(&dir, policy, replication, jobs);
            }
        }
    }
    println!("10 runs of {jobs} jobs each");
    let steps = ["scan", "compare", "report"];
    let mut best = [(f64::INFINITY, f64::INFINITY); 3];
    // Alternating, so that what else the machine does falls on all.
    for _ in 0..3 {
        for (step, best) in steps.iter().zip(&mut best) {
            let exe = std::env::current_exe().unwrap();
            let done = Command::new(exe).arg(step).arg(&dir).output().unwrap();
            assert!(done.status.success());
            let said = String::from_utf8(done.stdout).unwrap();
            print!("{said}");
            let numbers = said.split_whitespace().filter_map(|word| word.parse().ok());
            let numbers: Vec<f64> = numbers.collect();
            best.0 = best.0.min(numbers[0]);
            best.1 = best.1.min(numbers[1]);
        }
    }
    for (step, own) in steps.iter().zip(best).skip(1) {
        println!(
            "{step} / scan: wall {:.2}, processor time {:.2}",
            own.0 / best[0].0,
            own.1 / best[0].1
        );
    }
}

/// User and system time of this process so far, in seconds.
fn processor_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let behind = stat.rsplit(')').next().unwrap();
    let ticks = behind.split_whitespace().skip(11).take(2);
    // USER_HZ is 100 on every Linux.
    ticks.map(|word| word.parse::<f64>().unwrap() / 100.0).sum()
}

fn measure(step: &str, dir: &Path) {
    let begin = Instant::now();
    let said = match step {
        "compare" => {
            let options = Options::default();
            let document = compare::compare(&[dir.to_owned()], &options).unwrap();
            assert_ne!(document.verdict.outcome, Outcome::TooFewRepeats);
            serde_json::to_string(&document).unwrap().len()
        }
        "report" => {
            let page = report::report(&[dir.to_owned()], &report::Options::default());
            page.unwrap().html.len()
        }
        _ => scan_all(dir),
    };
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    let peak = peak.and_then(|line| line.split_whitespace().nth(1));
    let mib = peak.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024;
    let seconds = begin.elapsed().as_secs_f64();
    let busy = processor_s();
    println!(
        "{step:<8} {seconds:6.2} s wall, {busy:6.2} s processor, peak {mib:5} MiB ({said} bytes)"
    );
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for replication in 0..REPLICATIONS {
        for policy in POLICIES {
            files.push(run_dir(dir, policy, replication).join(rundir::names::JOBS));
        }
    }
    files
}

/// All files on as many threads as there are processors.
fn scan_all(dir: &Path) -> usize {
    let files = files(dir);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        let parts = files.chunks(files.len().div_ceil(threads));
        let started: Vec<_> = parts
            .map(|part| scope.spawn(|| part.iter().map(|path| scan(path)).sum::<usize>()))
            .collect();
        started
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    })
}

fn scan(path: &Path) -> usize {
    let mut file = std::fs::File::open(path).unwrap();
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    while let Ok(read @ 1..) = std::io::Read::read(&mut file, &mut buffer) {
        hash.update(&buffer[..read]);
        bytes += read;
    }
    assert_eq!(hash.finalize().len(), 32);
    let dir = path.parent().unwrap();
    let table = rundir::TableColumns::open(dir, rundir::names::JOBS).unwrap();
    for name in gridrig_results::threshold::METRICS {
        assert_eq!(table.f64s(name).unwrap().len(), table.rows());
    }
    for name in ["run_time_ref_ns", "queued_ns", "start_ns"] {
        assert_eq!(table.i64s(name).unwrap().len(), table.rows());
    }
    for name in ["job_id", "processors", "user"] {
        assert_eq!(table.u32s(name).unwrap().len(), table.rows());
    }
    for name in ["origin_domain", "exec_domain", "cluster"] {
        assert_eq!(table.codes(name).unwrap().rows.len(), table.rows());
    }
    bytes
}

fn run_dir(dir: &Path, policy: &str, replication: u32) -> PathBuf {
    dir.join(policy).join(format!("r{replication:03}"))
}

/// Jobs whose times are drawn: the figures mean nothing, but they are as many
/// and as unlike as those of a real run.
fn write(dir: &Path, policy: &str, replication: u32, jobs: u32) {
    let mut grid = study::two_sites(512);
    for cluster in &mut grid.clusters {
        cluster.config.discipline = DisciplineKind::Fcfs;
    }
    let mut load = rng::stream(u64::from(replication), "jobs");
    let submissions: Vec<Submission> = (0..jobs)
        .map(|id| Submission {
            spec: JobSpec::rigid(
                JobId(id),
                1 << load.random_range(0..8),
                SimDuration::from_millis(load.random_range(1_000..10_000_000)),
            ),
            at: SimTime::from_nanos(u64::from(id) * 3_000_000_000),
            entry: Entry::Domain(DomainId(0)),
            label: JobLabel {
                trace_id: u64::from(id),
                workload: 0,
                user: Some(load.random_range(0..500)),
                failed_in_trace: false,
            },
        })
        .collect();
    let mut waits = rng::stream(u64::from(replication), policy);
    let mut events: Vec<(SimTime, u32, Event<'static>)> = Vec::new();
    for submission in &submissions {
        let wait = waits.random_range(0_u64..100_000_000_000);
        push(&mut events, submission, wait, waits.random_range(0..2));
    }
    events.sort_by_key(|(at, job, _)| (*at, *job));
    let mut log = EventLog::default();
    for (at, _, event) in &events {
        log.emit(*at, *event);
    }
    let table = JobTable::build(&log, &submissions, &grid, &["drawn".to_owned()]);
    let info = Manifest {
        policy: Some(policy.to_owned()),
        seed: 1,
        replication,
        clock: "virtual".to_owned(),
        workload_hashes: BTreeMap::from([("jobs".to_owned(), replication.to_string())]),
        study: StudyDoc {
            key: format!("shake={replication}"),
            ..StudyDoc::default()
        },
        ..Manifest::default()
    };
    let files = RunFiles {
        document: None,
        info: &info,
        scenario: "",
        grid: &grid,
        submissions: &submissions,
        log: &log,
        table: &table,
    };
    rundir::write(&run_dir(dir, policy, replication), false, &files).unwrap();
}

const PLACE: &[PlacementRun] = &[PlacementRun {
    resource: 0,
    node: 0,
    nodes: 1,
    processors: 1,
}];

fn push(
    events: &mut Vec<(SimTime, u32, Event<'static>)>,
    submission: &Submission,
    wait: u64,
    site: u16,
) {
    let job = submission.spec.id;
    let (cluster, home) = (ClusterId(site), DomainId(0));
    let queued = submission.at + SimDuration::from_millis(1);
    let start = queued + SimDuration::from_nanos(wait);
    let finish = start + submission.spec.run_time;
    let seen = finish + SimDuration::from_millis(1);
    let intended = submission.at;
    let submitted = Event::new(EventKind::Submitted, job, Party::Client);
    let told = [
        (intended, submitted.to(Entry::Domain(home)).at(intended)),
        (
            intended,
            Event::new(EventKind::BrokerArrival, job, home).with(0),
        ),
        (
            intended,
            Event::new(EventKind::Dispatched, job, home).to(cluster),
        ),
        (queued, Event::new(EventKind::Queued, job, cluster)),
        (
            start,
            Event::new(EventKind::Started, job, cluster).on(PLACE),
        ),
        (finish, Event::new(EventKind::Finished, job, cluster)),
        (seen, Event::new(EventKind::FinishSeen, job, home)),
    ];
    events.extend(told.map(|(at, event)| (at, job.0, event)));
}
