//! One job of a finished run, without reading the others: the statistics of
//! row groups say where it can be, and one column of these says where it is.

use super::batch::{Batch, guarded};
use super::manifest::read_manifest;
use super::read::read_grid;
use super::values::{Kind, Values};
use super::{Result, TableColumns, events, job_columns, names};
use crate::log::EventLog;
use crate::names::Names;
use gridrig_core::event::EventSink as _;
use gridrig_core::ids::JobId;
use gridrig_core::job::Submission;
use gridrig_core::time::SimTime;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;
use std::ops::Range;
use std::path::Path;

/// A job and everything that happened to it.
#[derive(Clone, Debug)]
pub struct OneJob {
    /// Names of the grid.
    pub names: Names,
    /// What it asked for.
    pub submission: Submission,
    /// Its events.
    pub events: SomeEvents,
}

/// Some events of a run.
#[derive(Clone, Debug, Default)]
pub struct SomeEvents {
    /// The events in order.
    pub log: EventLog,
    /// Where each of them stands in the event log of the run, from 0.
    pub rows: Vec<u64>,
}

/// Reads one job; `None` if the run has none of this number. Files are taken as
/// they are: their hashes would take longer than all the rest.
///
/// # Errors
/// A file that is missing, damaged, or holds what it may not.
pub fn read_job(dir: &Path, job: JobId) -> Result<Option<OneJob>> {
    let manifest = read_manifest(dir)?;
    let names = Names::of(&read_grid(dir, &manifest)?);
    let found = guarded(dir, names::JOBS, |_| {
        let table = TableColumns::open(dir, names::JOBS)?;
        let rows = table.rows_of(job, None)?;
        let mut found = None;
        table.read(&rows, |batch, index, row| {
            let submission = job_columns::read(batch, (index, row + 1), &manifest, &names)?;
            found = Some((submission, lifetime(batch, index)?));
            Ok(())
        })?;
        Ok(found)
    })?;
    let Some((submission, lifetime)) = found else {
        return Ok(None);
    };
    let events = guarded(dir, names::EVENTS, |_| {
        let table = TableColumns::open(dir, names::EVENTS)?;
        let rows = table.rows_of(job, Some(lifetime))?;
        table.events(&rows, &names)
    })?;
    Ok(Some(OneJob {
        names,
        submission,
        events,
    }))
}

/// Reads the newest events of a run, oldest first, at most so many.
///
/// # Errors
/// As [`read_job`].
pub fn read_newest(dir: &Path, most: usize) -> Result<SomeEvents> {
    let manifest = read_manifest(dir)?;
    let names = Names::of(&read_grid(dir, &manifest)?);
    guarded(dir, names::EVENTS, |_| {
        let table = TableColumns::open(dir, names::EVENTS)?;
        let end = table.ranges().last().map_or(0, |range| range.end);
        let rows: Vec<u64> = (end.saturating_sub(most as u64)..end).collect();
        table.events(&rows, &names)
    })
}

/// From when to when there can be events of a job; what has no end has none
/// here either. Clocks of services on several hosts may differ by the slack.
fn lifetime(batch: &Batch<'_>, index: usize) -> Result<(i64, i64)> {
    const SLACK: i64 = 60_000_000_000;
    let nanos = |at: SimTime| i64::try_from(at.as_nanos()).unwrap_or(i64::MAX);
    let from = batch.time("submit_ns", index)?.map_or(0, nanos);
    let seen = batch.time("finish_seen_ns", index)?.map_or(i64::MAX, nanos);
    Ok((from.saturating_sub(SLACK), seen.saturating_add(SLACK)))
}

/// Of which few rows are wanted.
impl TableColumns {
    fn groups(&self) -> &[RowGroupMetaData] {
        self.metadata.row_groups()
    }

    /// The rows that each group holds.
    fn ranges(&self) -> Vec<Range<u64>> {
        let mut end = 0;
        let mut ranges = Vec::new();
        for group in self.groups() {
            let begin = end;
            end += u64::try_from(group.num_rows()).unwrap_or(0);
            ranges.push(begin..end);
        }
        ranges
    }

    /// The rows of a job, rising; only such whose time can be in this span.
    pub(super) fn rows_of(&self, job: JobId, span: Option<(i64, i64)>) -> Result<Vec<u64>> {
        let id = self.leaf("job_id")?;
        let time = span.map(|_| self.leaf("time_ns")).transpose()?;
        let may_hold = |group: &RowGroupMetaData| {
            let ids = numbers(group.column(id).statistics());
            let times = time.and_then(|leaf| numbers(group.column(leaf).statistics()));
            let (from, to) = span.unwrap_or((i64::MIN, i64::MAX));
            ids.is_none_or(|(low, high)| (low..=high).contains(&i64::from(job.0)))
                && times.is_none_or(|(low, high)| low <= to && from <= high)
        };
        let ranges = self.ranges();
        let chosen = (0..ranges.len()).filter(|group| may_hold(&self.groups()[*group]));
        let chosen: Vec<usize> = chosen.collect();
        let mut places = chosen.iter().flat_map(|group| ranges[*group].clone());
        let ids = self.root("job_id")?.clone();
        if ids.kind != Some(Kind::U32) {
            return Err(self.wrong("job_id", "uint32"));
        }
        let mut reader = self.reader(vec![ids], chosen.clone())?;
        let mut rows = Vec::new();
        while let Some(records) = reader.next()? {
            let Some(Values::U32(ids)) = records.column("job_id") else {
                return Err(self.wrong("job_id", "uint32"));
            };
            for (value, row) in ids.iter().zip(places.by_ref()) {
                if *value == Some(job.0) {
                    rows.push(row);
                }
            }
        }
        Ok(rows)
    }

    /// The events in these rows, which rise. A row that can be none is for the
    /// audit to tell.
    fn events(&self, rows: &[u64], names: &Names) -> Result<SomeEvents> {
        let mut found = SomeEvents::default();
        let mut placement = Vec::new();
        self.read(rows, |batch, index, row| {
            let job = batch.u32("job_id", index)?.map(JobId);
            let event = events::read_row(batch, index, job, names, &mut placement)?;
            if let Ok((at, event)) = event {
                found.log.emit(at, event);
                found.rows.push(row);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Calls `take` with a batch, the index in it and the number of the row
    /// from 0, for each of these rows, which rise.
    pub(super) fn read(
        &self,
        rows: &[u64],
        mut take: impl FnMut(&Batch<'_>, usize, u64) -> Result<()>,
    ) -> Result<()> {
        let mut rest = rows;
        for (group, range) in self.ranges().into_iter().enumerate() {
            let (own, later) = rest.split_at(rest.partition_point(|row| *row < range.end));
            rest = later;
            if own.is_empty() {
                continue;
            }
            let mut reader = self.reader(self.roots.clone(), vec![group])?;
            reader.open_next()?;
            let mut passed = range.start;
            // Rows that follow each other are read at once.
            for rows in own.chunk_by(|one, next| one + 1 == *next) {
                let gap = usize::try_from(rows[0] - passed).unwrap_or(usize::MAX);
                reader.skip(gap)?;
                let records = reader.take(rows.len())?;
                passed = rows[0] + rows.len() as u64;
                let batch = Batch {
                    path: &self.path,
                    records: &records,
                };
                for (index, row) in (0..batch.rows()).zip(rows) {
                    take(&batch, index, *row)?;
                }
            }
        }
        Ok(())
    }
}

/// The least and the greatest value by the statistics of a column.
fn numbers(statistics: Option<&Statistics>) -> Option<(i64, i64)> {
    match statistics? {
        // The column is unsigned, its storage is not.
        Statistics::Int32(own) => Some((
            i64::from(own.min_opt()?.cast_unsigned()),
            i64::from(own.max_opt()?.cast_unsigned()),
        )),
        Statistics::Int64(own) => Some((*own.min_opt()?, *own.max_opt()?)),
        _ => None,
    }
}
