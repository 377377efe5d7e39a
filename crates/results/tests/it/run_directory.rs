use crate::auditing::{replace, shift};
use crate::foreign_files::in_manifest;
use crate::story::{
    A1, PLACE_0, PLACE_2, events, finished, grid, log, log_of, measure, ms, open_in, started,
    submissions, table,
};
use gridrig_core::event::{Event, EventKind, Party};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::{Components, Division, Requirements, Submission};
use gridrig_core::time::SimDuration;
use gridrig_results::audit::Rule;
use gridrig_results::rundir::{self, Manifest, RunDirError, RunFiles, names};
use gridrig_results::{EventLog, JobTable, RunSummary};
use parquet::basic::Encoding;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn info(table: &JobTable) -> Manifest {
    let known = RunSummary::default();
    let summary = RunSummary::compute(table, &measure(), SimDuration::ZERO, known);
    Manifest {
        policy: Some("round-robin".to_owned()),
        seed: 1,
        clock: "virtual".to_owned(),
        measure: measure().into(),
        warnings: vec!["half of it is made up".to_owned()],
        summary: serde_json::to_value(summary).unwrap(),
        ..Manifest::default()
    }
}

fn write(dir: &Path, force: bool, log: &EventLog, grid: &Grid) -> Result<(), RunDirError> {
    write_jobs(dir, force, log, grid, &submissions())
}

fn write_jobs(
    dir: &Path,
    force: bool,
    log: &EventLog,
    grid: &Grid,
    submissions: &[Submission],
) -> Result<(), RunDirError> {
    let table = JobTable::build(log, submissions, grid, &["day".to_owned()]);
    let run = RunFiles {
        document: None,
        info: &info(&table),
        scenario: "[run]\n",
        grid,
        submissions,
        log,
        table: &table,
    };
    rundir::write(dir, force, &run)
}

fn written() -> TempDir {
    let dir = TempDir::new().unwrap();
    write(dir.path(), false, &log(), &grid()).unwrap();
    dir
}

#[test]
fn values_that_hardly_ever_repeat_are_no_dictionary() {
    let dir = written();
    let file = fs::File::open(dir.path().join(names::JOBS)).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let group = reader.metadata().row_group(0);
    let encodings = |name: &str| -> Vec<Encoding> {
        let found = group.columns().iter();
        let mut found = found.filter(|column| column.column_path().string() == name);
        found.next().expect(name).encodings().collect()
    };
    let has = |name: &str, encoding: Encoding, expected: bool| {
        let found = encodings(name);
        assert_eq!(found.contains(&encoding), expected, "{name}: {found:?}");
    };
    for name in ["job_id", "trace_job", "start_ns", "run_time_ref_ns"] {
        has(name, Encoding::DELTA_BINARY_PACKED, true);
        has(name, Encoding::RLE_DICTIONARY, false);
    }
    for name in ["delay_s", "bounded_slowdown_ref"] {
        has(name, Encoding::RLE_DICTIONARY, false);
    }
    for name in ["cluster", "user", "processors"] {
        has(name, Encoding::RLE_DICTIONARY, true);
    }
}

#[test]
fn a_run_directory_is_complete_and_leaves_no_partial_file() {
    let dir = written();
    let mut found: Vec<String> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort_unstable();
    let expected = [
        names::EVENTS,
        names::HOPS,
        names::JOBS,
        names::MANIFEST,
        names::SCENARIO,
        names::SERIES,
    ];
    assert_eq!(found, expected);
}

/// A run of the version before `by` and `value` were columns.
const EARLIER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/run-before-flat-events"
);

#[test]
fn a_directory_of_the_earlier_format_is_read() {
    let outcome = rundir::audit_run_dir(Path::new(EARLIER)).unwrap();
    let report = outcome.unwrap();
    assert_eq!((report.events, report.jobs.submitted), (47, 6));
    assert_eq!((report.jobs.completed, report.jobs.rejected), (5, 1));
    let run = rundir::read(Path::new(EARLIER)).unwrap();
    assert_eq!(run.unreadable, []);
    let kinds = run.log.records().map(|(_, event)| event.kind);
    let arrivals = kinds.filter(|kind| *kind == EventKind::BrokerArrival);
    assert_eq!(arrivals.count(), 7);
    let forwarded = run.log.records().map(|(_, event)| event);
    let mut forwarded = forwarded.filter(|event| event.kind == EventKind::Forwarded);
    let job = forwarded.next().unwrap().job.unwrap();
    let one = rundir::read_job(Path::new(EARLIER), job).unwrap().unwrap();
    let own = one.events.log.records().map(|(_, event)| event);
    let arrivals = own.filter(|event| event.kind == EventKind::BrokerArrival);
    let hops: Vec<u32> = arrivals.map(|event| event.hop()).collect();
    assert_eq!(hops, [0, 1]);
    // Written again, it is the same.
    let dir = TempDir::new().unwrap();
    write_jobs(dir.path(), false, &run.log, &run.grid, &run.submissions).unwrap();
    let again = rundir::read(dir.path()).unwrap();
    assert!(again.log.records().eq(run.log.records()));
}

#[test]
fn what_was_written_is_read_back() {
    let dir = written();
    let run = rundir::read(dir.path()).unwrap();
    let log = log();
    assert!(run.log.records().eq(log.records()));
    assert_eq!(run.log.info_messages().count(), log.info_messages().count());
    // Job by job, the same as from the whole log.
    for submission in &run.submissions {
        let job = submission.spec.id;
        let alone = rundir::read_job(dir.path(), job)
            .unwrap()
            .expect("the job is there");
        assert_eq!(alone.submission, *submission);
        let own = run.log.records().zip(0_u64..);
        let own = own.filter(|((_, event), _)| event.job == Some(job));
        let (events, rows): (Vec<_>, Vec<u64>) = own.unzip();
        assert!(alone.events.log.records().eq(events));
        assert_eq!(alone.events.rows, rows);
    }
    for most in [3, 1_000] {
        let newest = rundir::read_newest(dir.path(), most).unwrap();
        let first = run.log.len().saturating_sub(most);
        assert!(newest.log.records().eq(run.log.records().skip(first)));
        assert_eq!(newest.rows.first(), Some(&(first as u64)));
    }
    let beyond = JobId(run.submissions.len() as u32);
    assert!(rundir::read_job(dir.path(), beyond).unwrap().is_none());
    assert_eq!(run.log.end(), log.end());
    assert_eq!(run.submissions, submissions());
    assert!(run.unreadable.is_empty());
    assert_eq!(run.manifest.measure.read(), measure());
    assert_eq!(run.manifest.summary["jobs"]["completed"], 3);
    assert_eq!(run.manifest.host.len(), 0);
    let same = |a: &Grid, b: &Grid| format!("{a:?}") == format!("{b:?}");
    assert!(same(&run.grid, &grid()));
    let again = JobTable::build(
        &run.log,
        &run.submissions,
        &run.grid,
        &run.manifest.workloads,
    );
    assert_eq!(again.rows(), table().rows());
    assert_eq!(again.hops(), table().hops());
}

#[test]
fn the_components_of_a_job_are_read_back_and_audited() {
    // The first job has two processors of one node and one of another.
    let divided = |sizes: [u32; 2]| {
        let mut jobs = submissions();
        let parts = sizes.map(|size| Components::one(size, Requirements::default()).first);
        jobs[0].spec.components = Components::new(parts).unwrap();
        jobs[0].spec.components.more[0].requirements.memory_kib = 7;
        let dir = TempDir::new().unwrap();
        write_jobs(dir.path(), false, &log(), &grid(), &jobs).unwrap();
        assert_eq!(rundir::read(dir.path()).unwrap().submissions, jobs);
        dir
    };
    let right = divided([2, 1]);
    assert!(rundir::audit_run_dir(right.path()).unwrap().is_ok());
    let wrong = divided([1, 2]);
    assert_eq!(rules(&wrong), [Rule::ProcessorCount; 2]);
    // Nothing of it where no job has several.
    let columns = rundir::TableColumns::open(written().path(), names::JOBS).unwrap();
    assert!(columns.codes("more_components").is_err());
}

#[test]
fn what_jobs_say_of_their_clusters_is_read_back() {
    let mut jobs = submissions();
    jobs[0].spec.components.first.cluster = Some(ClusterId(1));
    jobs[0].spec.components.first.requirements.most_per_node = 2;
    let whole = jobs[1].spec.processors();
    let splits = [Box::from([whole]), Box::from(vec![1; whole as usize])];
    jobs[1].spec.division = Some(Box::new(Division::Splits(splits.into())));
    jobs[2].spec.division = Some(Box::new(Division::Bounds {
        least_component: 2,
        most_components: 3,
    }));
    let dir = TempDir::new().unwrap();
    write_jobs(dir.path(), false, &log(), &grid(), &jobs).unwrap();
    assert_eq!(rundir::read(dir.path()).unwrap().submissions, jobs);
}

#[test]
fn two_writes_give_the_same_bytes() {
    let (one, two) = (written(), written());
    for entry in fs::read_dir(one.path()).unwrap() {
        let name = entry.unwrap().file_name();
        let read = |dir: &TempDir| fs::read(dir.path().join(&name)).unwrap();
        assert!(read(&one) == read(&two), "{name:?} differs");
    }
}

#[test]
fn a_directory_that_exists_is_refused_unless_forced() {
    let dir = written();
    let refused = write(dir.path(), false, &log(), &grid());
    assert!(matches!(refused, Err(RunDirError::Exists { .. })));
    fs::write(dir.path().join(names::BATSIM), "old").unwrap();
    write(dir.path(), true, &log(), &grid()).unwrap();
    assert!(!dir.path().join(names::BATSIM).exists());
    assert!(rundir::audit_run_dir(dir.path()).unwrap().is_ok());
}

#[test]
fn an_export_stands_beside_the_other_files() {
    let dir = written();
    rundir::write_batsim_csv(dir.path(), &log(), &table(), &submissions(), &grid()).unwrap();
    let text = fs::read_to_string(dir.path().join(names::BATSIM)).unwrap();
    assert_eq!(text.lines().count(), 5);
}

/// Writes the run with another event log, keeping the facts.
fn rewritten(corrupt: impl FnOnce(&mut Vec<(u64, Event<'static>)>)) -> TempDir {
    let dir = TempDir::new().unwrap();
    let mut told = events();
    corrupt(&mut told);
    write(dir.path(), false, &log_of(told), &grid()).unwrap();
    dir
}

fn rules(dir: &TempDir) -> Vec<Rule> {
    let outcome = rundir::audit_run_dir(dir.path()).unwrap();
    let violations = outcome.expect_err("something is wrong");
    violations.iter().map(|violation| violation.rule).collect()
}

#[test]
fn a_corrupted_event_file_breaks_rules() {
    let no_end = rewritten(|told| told.retain(|(_, event)| *event != finished(2, A1)));
    assert!(rules(&no_end).contains(&Rule::Ends));
    let overlap = rewritten(|told| shift(told, started(2, A1, PLACE_2), 14_000));
    assert!(rules(&overlap).contains(&Rule::NoOverlap));
    let twice = rewritten(|told| told.push((5_001, started(0, A1, PLACE_0))));
    assert!(rules(&twice).contains(&Rule::StartAfterQueue));
}

#[test]
fn a_file_that_was_exchanged_is_found() {
    let dir = written();
    let other = rewritten(|told| {
        let cancelled = Event::new(EventKind::Cancelled, JobId(0), Party::Lrms(A1));
        replace(told, finished(0, A1), cancelled);
    });
    let [from, to] = [&other, &dir].map(|dir| dir.path().join(names::EVENTS));
    fs::copy(from, to).unwrap();
    let found = rules(&dir);
    assert_eq!(found[..2], [Rule::Unchanged, Rule::Rebuilt], "{found:?}");
}

/// What the audit says, without what it says of hashes.
fn rebuilt(dir: &TempDir) -> Vec<String> {
    let outcome = rundir::audit_run_dir(dir.path()).unwrap();
    let violations = outcome.expect_err("something is wrong").into_iter();
    let violations = violations.filter(|it| it.rule != Rule::Unchanged);
    violations.map(|violation| violation.to_string()).collect()
}

#[test]
fn numbers_that_the_events_do_not_give_are_violations() {
    let late = |job, to| rewritten(|told| shift(told, finished(job, A1), to));
    let finish = "jobs.parquet:1: field finish_ns = 20001000000: expected 15001000000";
    // The last end leaves the series as long as it was.
    let places = [
        (late(0, 20_001), names::JOBS, finish),
        (late(2, 24_001), names::SERIES, "series.parquet:"),
    ];
    for (late, name, said) in places {
        let dir = written();
        fs::copy(late.path().join(name), dir.path().join(name)).unwrap();
        let found = rebuilt(&dir);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with(&format!("rebuilt: {said}")),
            "{found:?}"
        );
    }
}

/// A run directory with another manifest.
fn with_manifest(change: impl FnOnce(&mut serde_json::Value)) -> TempDir {
    let dir = written();
    in_manifest(dir.path(), change);
    dir
}

#[test]
fn a_summary_that_the_events_do_not_give_is_a_violation() {
    let mut truth = serde_json::Value::Null;
    let found = rebuilt(&with_manifest(|manifest| {
        let mean = &mut manifest["summary"]["delay_s"]["mean"];
        truth = std::mem::replace(mean, 0.25.into());
        manifest["summary"]["clusters"][0]["processors"] = 77.into();
    }));
    let mean = format!("field summary.delay_s.mean = 0.25: expected {truth}");
    assert_eq!(found[0], format!("rebuilt: manifest.json: {mean}"));
    let processors = "field summary.clusters[0].processors = 77";
    assert!(found[1].contains(processors), "{found:?}");
    assert_eq!(found.len(), 2);
    // More messages than can be counted.
    let most = |it: &mut serde_json::Value| it["info_messages"][0]["count"] = u64::MAX.into();
    let found = rebuilt(&with_manifest(most));
    assert!(found.iter().any(|it| it.contains("messages")), "{found:?}");
}

#[test]
fn rows_that_are_no_events_are_violations() {
    let mut small = grid();
    small.clusters[1].name = "renamed".to_owned();
    let dir = written();
    let other = TempDir::new().unwrap();
    write(other.path(), false, &log(), &small).unwrap();
    let [from, to] = [&other, &dir].map(|dir| dir.path().join(names::EVENTS));
    fs::copy(from, to).unwrap();
    let found = rules(&dir);
    assert!(found.contains(&Rule::Readable), "{found:?}");
    assert!(found.contains(&Rule::Unchanged));
}

#[test]
fn a_damaged_file_is_an_error_and_no_crash() {
    let dir = written();
    let path = dir.path().join(names::EVENTS);
    let whole = fs::read(&path).unwrap();
    for at in (0..whole.len()).step_by(61) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xff;
        fs::write(&path, &damaged).unwrap();
        if let Ok(outcome) = rundir::audit_run_dir(dir.path()) {
            assert!(outcome.is_err(), "a flipped byte at {at} went unnoticed");
        }
    }
    for length in [0, 3, 100, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        let error = rundir::audit_run_dir(dir.path()).expect_err("it is cut");
        assert!(error.to_string().contains("events.parquet"), "{error}");
    }
}

#[test]
fn a_manifest_that_is_none_says_where() {
    let dir = written();
    let path = dir.path().join(names::MANIFEST);
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("\"interval\": \"5s\"", "\"interval\": \"5\"");
    fs::write(&path, text).unwrap();
    let error = rundir::read(dir.path()).expect_err("no unit");
    let why = std::error::Error::source(&error).expect("the field");
    let message = format!("{error}: {why}");
    let place = message.split(": ").next().unwrap_or_default();
    let line = place.rsplit_once("manifest.json:").map(|(_, line)| line);
    assert!(
        line.is_some_and(|line| line.parse::<u32>().is_ok()),
        "{message}"
    );
    let said = "field grid.domains[0].interval = \"5\": expected a duration above 0 such as \"5s\"";
    assert!(message.contains(said), "{message}");
    fs::write(&path, "{").unwrap();
    let error = rundir::read(dir.path()).expect_err("cut");
    assert!(error.to_string().contains("manifest.json:1: "), "{error}");
    fs::remove_file(&path).unwrap();
    let error = rundir::read(dir.path()).expect_err("gone");
    assert!(matches!(error, RunDirError::Io { .. }));
}

#[test]
fn clusters_of_one_name_are_told_apart_in_the_files() {
    let mut twins = grid();
    for cluster in &mut twins.clusters {
        cluster.name = "x".to_owned();
    }
    let dir = TempDir::new().unwrap();
    write(dir.path(), false, &log(), &twins).unwrap();
    let run = rundir::read(dir.path()).unwrap();
    let found: Vec<&str> = run.grid.clusters.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(found, ["a/x", "b/x"]);
    assert!(run.log.records().eq(log().records()));
    assert_eq!(run.log.end(), ms(19_002));
}

#[test]
fn the_hours_of_a_provider_are_read_back() {
    let grid = open_in(24, 3, [18, 8]);
    let dir = TempDir::new().unwrap();
    write(dir.path(), true, &log(), &grid).unwrap();
    let run = rundir::read(dir.path()).unwrap();
    assert_eq!(run.grid.hours, grid.hours);
    // And nothing is said of them where there are none.
    let plain = fs::read_to_string(written().path().join(names::MANIFEST)).unwrap();
    assert!(!plain.contains("\"hours\""));
}
