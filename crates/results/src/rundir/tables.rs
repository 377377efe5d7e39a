//! `hops.parquet` and `series.parquet`.

use super::columns::Cell::{F64, Text, Time, U32, U64};
use super::columns::{Column, Table};
use super::names;
use crate::jobs::{HopRow, JobTable, SeriesRow};
use crate::names::Names;

/// A row and the names of its grid.
type Named<'a, R> = (&'a R, &'a Names);

pub(super) fn hops<'a>(
    table: &'a JobTable,
) -> Table<'a, Named<'a, HopRow>, impl Fn(usize) -> Named<'a, HopRow>> {
    let columns: Vec<Column<'_, Named<'_, HopRow>>> = vec![
        ("job_id", U32(|(row, _)| Some(row.job.0))),
        ("hop", U32(|(row, _)| Some(row.hop))),
        ("domain", Text(|(row, of)| Some(of.domain(row.domain)))),
        (
            "from_domain",
            Text(|(row, of)| Some(of.domain(row.from_domain?))),
        ),
        ("arrival_ns", Time(|(row, _)| Some(row.arrival))),
        ("forwarded_ns", Time(|(row, _)| row.forwarded)),
        (
            "forwarded_to",
            Text(|(row, of)| Some(of.domain(row.forwarded_to?))),
        ),
        ("dispatched_ns", Time(|(row, _)| row.dispatched)),
        ("refused_ns", Time(|(row, _)| row.refused)),
        ("reason", Text(|(row, _)| Some(row.reason?.name().into()))),
    ];
    Table {
        name: names::HOPS,
        columns,
        rows: table.hops().len(),
        at: |index| (&table.hops()[index], table.names()),
    }
}

pub(super) fn series<'a>(
    table: &'a JobTable,
    rows: &'a [SeriesRow],
) -> Table<'a, Named<'a, SeriesRow>, impl Fn(usize) -> Named<'a, SeriesRow>> {
    let columns: Vec<Column<'_, Named<'_, SeriesRow>>> = vec![
        ("cluster", Text(|(row, of)| Some(of.cluster(row.cluster)))),
        ("time_ns", Time(|(row, _)| Some(row.at))),
        ("queued", U64(|(row, _)| Some(row.queued))),
        ("busy", U64(|(row, _)| Some(row.busy))),
        ("utilization", F64(|(row, _)| Some(row.utilization))),
        ("queued_max", U64(|(row, _)| Some(row.queued_max))),
        ("busy_max", U64(|(row, _)| Some(row.busy_max))),
    ];
    Table {
        name: names::SERIES,
        columns,
        rows: rows.len(),
        at: |index| (&rows[index], table.names()),
    }
}
