//! `events.parquet`: the event log, and back.

use super::batch::{Batch, for_each_row};
use super::columns::Cell::{I64, Placement, Text, Time, U32};
use super::columns::{Column, GROUPS_AT_ONCE, GroupedFile};
use super::file::{PartialFile, make_dir};
use super::{FileDoc, Result, RunDirError, names};
use crate::log::{Chunk, EventLog};
use crate::names::Names;
use gridrig_core::event::{Event, EventKind, EventSink};
use gridrig_core::grid::Grid;
use gridrig_core::ids::JobId;
use gridrig_core::job::Reason;
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::SimTime;
use parquet::errors::ParquetError;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{fs, iter};

/// An event of the log, and the names of its grid.
type Logged<'a> = (&'a Names, SimTime, Event<'a>);

fn columns<'a>() -> [Column<'a, Logged<'a>>; 8] {
    [
        ("time_ns", Time(|(_, at, _)| Some(at))),
        ("event", Text(|(_, _, it)| Some(it.kind.name().into()))),
        ("job_id", U32(|(_, _, it)| Some(it.job?.0))),
        ("by", Text(|(of, _, it)| Some(of.party(it.by)))),
        ("to", Text(|(of, _, it)| Some(of.party(it.to?)))),
        ("reason", Text(|(_, _, it)| Some(it.reason?.name().into()))),
        ("value", I64(|(_, _, it)| it.own_value())),
        (
            "placement",
            Placement(|(of, _, it)| {
                let placed = it.kind.row().has_placement.then_some(it.placement)?;
                Some((of.cluster(it.by.cluster()?), placed))
            }),
        ),
    ]
}

/// Writes each of these chunks as a group of rows.
fn write_groups(
    file: &mut GroupedFile<PartialFile>,
    chunks: &[Arc<Chunk>],
    shown: &Names,
) -> Result<(), ParquetError> {
    let rows: Vec<_> = chunks.iter().map(|chunk| 0..chunk.len()).collect();
    file.write(&columns(), &rows, |group, rows, (_, cell)| {
        let events = chunks[group].events(rows);
        cell.values(events.map(|(at, event)| (shown, at, event)))
    })
}

/// Writes a log that nobody has followed.
pub(super) fn write(dir: &Path, log: &EventLog, grid: &Grid) -> Result<FileDoc> {
    let (mut told, chunks) = EventLog::followed();
    // The run is over, and may have been in real time.
    let writer = EventsWriter::begin(dir, grid, chunks, None)?;
    log.records().for_each(|(at, event)| told.emit(at, event));
    told.end_chunks();
    writer.finish(log)
}

/// Writes the event log of a run while the run goes on, under a name of its own until
/// the run is over.
#[derive(Debug)]
pub struct EventsWriter {
    thread: JoinHandle<Result<PartialFile>>,
    begun: Begun,
    /// After what was begun, so that nobody finds that unheld.
    held: Option<File>,
}

/// What a run has begun to write: removed with the directory, if that has nothing
/// else, where it is not wanted.
#[derive(Debug)]
struct Begun {
    partial: Option<PathBuf>,
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            // What cannot be removed stays, and no run takes it for its own.
            let _ = fs::remove_file(partial);
            let _ = partial.parent().map(fs::remove_dir);
        }
    }
}

/// The directory for this process alone until what is answered is dropped. Others know by it
/// that it is being run; the system gives it free when the process dies.
///
/// # Errors
/// When another process has it; when it cannot be opened, or the file system knows no locks.
pub fn hold(dir: &Path) -> Result<File, TryLockError> {
    let file = File::open(dir).map_err(TryLockError::Error)?;
    // Whoever only looks has it for an instant.
    for _ in 0..20 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(5)),
            held => return held.map(|()| file),
        }
    }
    file.try_lock().map(|()| file)
}

impl EventsWriter {
    /// Writes what comes into this directory, which is made if need be, while a run in
    /// virtual time goes on. Where another process has the directory, or the file system
    /// knows no locks, the run goes on without it.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn follow(dir: &Path, grid: &Grid, chunks: Receiver<Arc<Chunk>>) -> Result<Self> {
        make_dir(dir)?;
        Self::begin(dir, grid, chunks, hold(dir).ok())
    }

    fn begin(
        dir: &Path,
        grid: &Grid,
        chunks: Receiver<Arc<Chunk>>,
        held: Option<File>,
    ) -> Result<Self> {
        let own = format!(".{}", std::process::id());
        let file = PartialFile::create(dir, names::EVENTS, &own)?;
        let partial = Some(file.lies_at().to_owned());
        let shown = Names::of(grid);
        let follow = move || {
            let mut file = GroupedFile::new(file, &columns())?;
            while let Ok(first) = chunks.recv() {
                let more = chunks.try_iter().take(GROUPS_AT_ONCE - 1);
                let some: Vec<Arc<Chunk>> = iter::once(first).chain(more).collect();
                write_groups(&mut file, &some, &shown)?;
            }
            file.finish()
        };
        let failed = RunDirError::unwritten(&dir.join(names::EVENTS));
        Ok(EventsWriter {
            thread: thread::spawn(move || follow().map_err(failed)),
            begun: Begun { partial },
            held,
        })
    }

    /// What says that the directory is being run, until it is dropped; else it is until
    /// the log is over.
    pub fn take_hold(&mut self) -> Option<File> {
        self.held.take()
    }

    /// The log is over: gives the file its name.
    pub(super) fn finish(mut self, log: &EventLog) -> Result<FileDoc> {
        self.begun.partial = None;
        let file = self.thread.join();
        let file = file.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        file?.finish(Some(log.len() as u64))
    }
}

/// A row that says nothing that can be an event: its number from 1, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableRow {
    /// Counted from 1.
    pub row: u64,
    /// The job, if the row names one.
    pub job: Option<JobId>,
    /// Which field is out of place.
    pub message: String,
}

/// Reads the event log back. Rows that cannot be are left out and told.
pub(super) fn read(path: &Path, shown: &Names) -> Result<(EventLog, Vec<UnreadableRow>)> {
    let mut log = EventLog::default();
    let mut unreadable = Vec::new();
    let mut placement = Vec::new();
    for_each_row(path, |batch, index, row| {
        let job = batch.u32("job_id", index)?.map(JobId);
        match read_row(batch, index, job, shown, &mut placement)? {
            Ok((at, event)) => log.emit(at, event),
            Err(message) => unreadable.push(UnreadableRow { row, job, message }),
        }
        Ok(())
    })?;
    Ok((log, unreadable))
}

/// A row as an event, or why it is none.
pub(super) type ReadEvent<'p> = Result<(SimTime, Event<'p>), String>;

pub(super) fn read_row<'p>(
    batch: &Batch<'_>,
    index: usize,
    job: Option<JobId>,
    shown: &Names,
    placement: &'p mut Vec<PlacementRun>,
) -> Result<ReadEvent<'p>> {
    let (name, by, to, value) = fields(batch, index)?;
    let reason = batch.text("reason", index)?;
    let at = batch.time("time_ns", index)?;
    let placed = batch.placement("placement", index, placement)?;
    let Some(at) = at else {
        return Ok(Err("field time_ns: expected an instant from 0".to_owned()));
    };
    // Information is about no job, and counted elsewhere.
    let kind = EventKind::from_name(name).filter(|kind| *kind != EventKind::InfoSent);
    let Some(kind) = kind else {
        return Ok(Err(wrong("event", name, "a kind of event")));
    };
    let party = |text: Option<&str>| text.and_then(|text| shown.find_party(text));
    let row = kind.row();
    let (known_by, known_to) = (party(by), party(to));
    let event = Event {
        kind,
        job,
        by: match known_by {
            Some(by) => by,
            None => return Ok(Err(wrong("by", by.unwrap_or_default(), row.by.words()))),
        },
        to: known_to,
        reason: reason.and_then(Reason::from_name),
        value: row.value.or_missing(value),
        placement,
    };
    if row.has_placement && !placed {
        return Ok(Err(
            "field placement: expected resources below 65536, nodes and processors".to_owned(),
        ));
    }
    Ok(match event.check() {
        Ok(()) => Ok((at, event)),
        Err((field, expected)) => {
            let value = value.map(|value| value.to_string());
            let found = match field {
                "job" => return Ok(Err(format!("field job_id: expected {expected}"))),
                "by" => by,
                "to" => to,
                "reason" => reason,
                "value" => value.as_deref(),
                _ => None,
            };
            Err(wrong(field, found.unwrap_or_default(), expected))
        }
    })
}

fn wrong(field: &str, found: &str, expected: &str) -> String {
    format!("field {field} = \"{found}\": expected {expected}")
}

/// Kind, `by`, `to` and value of a row: columns that have had other names.
type Fields<'b> = (&'b str, Option<&'b str>, Option<&'b str>, Option<i64>);

/// Reads them; of a file of an earlier version from its columns `from`, `to`,
/// `hop` and `intended_ns`, where `by` is in `to` if `from` is null, and a
/// `broker-arrival` had another name.
fn fields<'b>(batch: &'b Batch<'_>, index: usize) -> Result<Fields<'b>> {
    let kind = batch.text("event", index)?.unwrap_or_default();
    let to = batch.text("to", index)?;
    if batch.has("by") {
        let (by, value) = (batch.text("by", index)?, batch.i64("value", index)?);
        return Ok((kind, by, to, value));
    }
    let from = batch.text("from", index)?;
    let intended = batch.i64("intended_ns", index)?;
    let hop = batch.u32("hop", index)?.map(i64::from);
    let kind = match kind {
        "arrived" => EventKind::BrokerArrival.name(),
        kind => kind,
    };
    Ok((kind, from.or(to), from.and(to), intended.or(hop)))
}
