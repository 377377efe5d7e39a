//! `hops.parquet` and `series.parquet`.

use super::columns::Cell::{F64, Text, Time, U32, U64};
use super::columns::{self, Column};
use super::{FileDoc, RunDirError, names};
use crate::jobs::{HopRow, JobTable, SeriesRow};
use crate::names::Names;
use std::path::Path;

pub(super) fn write_hops(dir: &Path, table: &JobTable) -> Result<FileDoc, RunDirError> {
    let columns: [Column<'_, (&HopRow, &Names)>; 10] = [
        ("job_id", U32(|(row, _)| Some(row.job.0))),
        ("hop", U32(|(row, _)| Some(row.hop))),
        (
            "domain",
            Text(|(row, of)| Some(of.domain(row.domain).into())),
        ),
        (
            "from_domain",
            Text(|(row, of)| Some(of.domain(row.from_domain?).into())),
        ),
        ("arrival_ns", Time(|(row, _)| Some(row.arrival))),
        ("forwarded_ns", Time(|(row, _)| row.forwarded)),
        (
            "forwarded_to",
            Text(|(row, of)| Some(of.domain(row.forwarded_to?).into())),
        ),
        ("dispatched_ns", Time(|(row, _)| row.dispatched)),
        ("refused_ns", Time(|(row, _)| row.refused)),
        ("reason", Text(|(row, _)| Some(row.reason?.name().into()))),
    ];
    let (rows, shown) = (table.hops(), table.names());
    let row = |index: usize| (&rows[index], shown);
    columns::write(dir, names::HOPS, &columns, rows.len(), row)
}

pub(super) fn write_series(
    dir: &Path,
    table: &JobTable,
    rows: &[SeriesRow],
) -> Result<FileDoc, RunDirError> {
    let columns: [Column<'_, (&SeriesRow, &Names)>; 7] = [
        (
            "cluster",
            Text(|(row, of)| Some(of.cluster(row.cluster).into())),
        ),
        ("time_ns", Time(|(row, _)| Some(row.at))),
        ("queued", U64(|(row, _)| Some(row.queued))),
        ("busy", U64(|(row, _)| Some(row.busy))),
        ("utilization", F64(|(row, _)| Some(row.utilization))),
        ("queued_max", U64(|(row, _)| Some(row.queued_max))),
        ("busy_max", U64(|(row, _)| Some(row.busy_max))),
    ];
    let row = |index: usize| (&rows[index], table.names());
    columns::write(dir, names::SERIES, &columns, rows.len(), row)
}
