//! The event log, written while it grows.

use crate::story::{grid, log, submissions};
use gridrig_core::event::EventSink as _;
use gridrig_results::rundir::{self, EventsWriter, Manifest, RunDirError, RunFiles, names};
use gridrig_results::{EventLog, JobTable};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Two logs of some groups of rows with the same events.
fn tell_at_length(logs: [&mut EventLog; 2]) {
    let told = log();
    for log in logs {
        let rounds = 0..1 + 140_000 / told.len();
        rounds.for_each(|_| told.records().for_each(|(at, event)| log.emit(at, event)));
    }
}

fn write_tables(
    dir: &Path,
    log: &EventLog,
    writer: Option<EventsWriter>,
) -> Result<(), RunDirError> {
    let (grid, jobs) = (grid(), submissions());
    let table = JobTable::build(log, &jobs, &grid, &["day".to_owned()]);
    let run = RunFiles {
        document: None,
        info: &Manifest::default(),
        scenario: "",
        grid: &grid,
        submissions: &jobs,
        log,
        table: &table,
    };
    rundir::write_tables(dir, false, &run, writer).map(drop)
}

#[test]
fn a_log_written_while_it_grows_has_the_bytes_of_one_written_at_the_end() {
    let dirs = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let (mut growing, chunks) = EventLog::followed();
    let writer = EventsWriter::follow(dirs[0].path(), &grid(), chunks).unwrap();
    let mut whole = EventLog::default();
    tell_at_length([&mut growing, &mut whole]);
    growing.end_chunks();
    assert!(growing.records().eq(whole.records()));
    assert_eq!(growing.get(100_000), whole.get(100_000));
    assert_eq!(growing.get(growing.len()), None);
    for ((log, writer), dir) in [(&growing, Some(writer)), (&whole, None)]
        .into_iter()
        .zip(&dirs)
    {
        write_tables(dir.path(), log, writer).unwrap();
    }
    for name in [names::EVENTS, names::JOBS, names::HOPS, names::SERIES] {
        let [growing, whole] = dirs
            .each_ref()
            .map(|dir| fs::read(dir.path().join(name)).unwrap());
        assert!(growing == whole, "{name}");
    }
}

#[test]
fn what_a_run_that_fails_has_begun_to_write_is_removed() {
    let parent = TempDir::new().unwrap();
    let dir = parent.path().join("r000");
    let (_log, chunks) = EventLog::followed();
    let writer = EventsWriter::follow(&dir, &grid(), chunks).unwrap();
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    // Another run may begin there.
    assert!(rundir::is_vacant(&dir).unwrap());
    drop(writer);
    assert!(!dir.exists());
}

#[test]
fn what_is_said_of_a_run_stays_with_it_and_goes_to_no_other() {
    let dir = TempDir::new().unwrap();
    let (mut growing, chunks) = EventLog::followed();
    let writer = EventsWriter::follow(dir.path(), &grid(), chunks).unwrap();
    let told = log();
    told.records()
        .for_each(|(at, event)| growing.emit(at, event));
    growing.end_chunks();
    let labels = dir.path().join(names::LABELS);
    fs::write(&labels, "{}").unwrap();
    // Another run does not begin here, even when this one is killed.
    assert!(!rundir::is_vacant(dir.path()).unwrap());
    let refused = write_tables(dir.path(), &growing, None);
    assert!(matches!(refused, Err(RunDirError::Exists(_))));
    write_tables(dir.path(), &growing, Some(writer)).unwrap();
    assert!(labels.exists() && dir.path().join(names::EVENTS).exists());
}
