//! Tables of a run row by row.

use super::manifest::read_manifest;
use super::open::open_file;
use super::{Result, RunDirError};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, PrimitiveArray, RecordBatch};
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::SimTime;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::RowGroupMetaData;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Reads a file, taking a panic of the Parquet reader for what it means: that
/// crate trusts some lengths in damaged files further than they go.
pub(super) fn guarded<T>(
    dir: &Path,
    name: &str,
    read: impl FnOnce(&Path) -> Result<T>,
) -> Result<T> {
    let path = dir.join(name);
    match catch_unwind(AssertUnwindSafe(|| read(&path))) {
        Ok(result) => result,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            let message = text.unwrap_or_else(|| "its reader failed".to_owned());
            Err(RunDirError::Damaged(path, message))
        }
    }
}

/// The most rows of a table, and the most values of a column: a file of some
/// kilobytes can have billions.
pub const MOST_ROWS: u64 = 200_000_000;

/// Opens a table of a run and bounds it before a row is read: by
/// [`MOST_ROWS`], and by the rows that the manifest beside it names.
pub(super) fn open(path: &Path) -> Result<(File, ArrowReaderMetadata)> {
    let file = open_file(path).map_err(RunDirError::io("open", path))?;
    let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
        .map_err(RunDirError::parquet(path))?;
    let manifest = read_manifest(path.parent().unwrap_or(path))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let known = manifest.files.get(&*name).and_then(|doc| doc.rows);
    let groups = metadata.metadata().row_groups();
    let sum = |of: &dyn Fn(&RowGroupMetaData) -> i64| {
        let of_groups = groups.iter().map(of);
        of_groups.fold(0, i64::saturating_add)
    };
    let rows = sum(&|group| group.num_rows());
    let rows = rows.max(metadata.metadata().file_metadata().num_rows());
    // Columns of lists have more values than rows.
    let leaves = 0..metadata.parquet_schema().num_columns();
    let values = leaves.map(|leaf| sum(&|group| group.column(leaf).num_values()));
    let values = values.max().unwrap_or(0).max(rows);
    for (found, most, by) in [
        (
            rows,
            known.unwrap_or(MOST_ROWS),
            "the rows in manifest.json",
        ),
        (values, MOST_ROWS, "the most that a table may have"),
    ] {
        if !u64::try_from(found).is_ok_and(|found| found <= most) {
            return Err(too_long(path, found, most, by));
        }
    }
    Ok((file, metadata))
}

fn too_long(path: &Path, found: i64, most: u64, by: &'static str) -> RunDirError {
    RunDirError::TooLong {
        path: path.to_owned(),
        found,
        most,
        by,
    }
}

/// Reads a table, some thousand rows at a time; and how many it says it has.
pub(super) fn reader(path: &Path) -> Result<(ParquetRecordBatchReader, u64)> {
    let (file, metadata) = open(path)?;
    let rows = metadata.metadata().file_metadata().num_rows();
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
    let reader = builder.with_batch_size(8_192).build();
    let reader = reader.map_err(RunDirError::parquet(path))?;
    Ok((reader, u64::try_from(rows).unwrap_or(0)))
}

/// Calls `take` with a batch, the index in it and the number of the row from
/// 1, for every row of a file.
pub(super) fn for_each_row(
    path: &Path,
    mut take: impl FnMut(&Batch<'_>, usize, u64) -> Result<()>,
) -> Result<()> {
    let mut row = 0;
    let (reader, rows) = reader(path)?;
    for records in reader {
        let records = records.map_err(|error| RunDirError::parquet(path)(error.into()))?;
        let batch = Batch {
            path,
            records: &records,
        };
        for index in 0..records.num_rows() {
            row += 1;
            if row > rows {
                let found = i64::try_from(row).unwrap_or(i64::MAX);
                return Err(too_long(path, found, rows, "its own number of rows"));
            }
            take(&batch, index, row)?;
        }
    }
    Ok(())
}

/// Some rows of a file. The getters answer `None` for a null and an error for
/// a column that is missing or of another type.
pub(super) struct Batch<'a> {
    pub(super) path: &'a Path,
    records: &'a RecordBatch,
}

/// Records as a batch of the file at this path.
pub(super) fn in_batch<'a>(path: &'a Path, records: &'a RecordBatch) -> Batch<'a> {
    Batch { path, records }
}

impl Batch<'_> {
    /// How many rows it has.
    pub(super) fn rows(&self) -> usize {
        self.records.num_rows()
    }

    /// Whether there is such a column.
    pub(super) fn has(&self, name: &str) -> bool {
        self.column(name).is_some()
    }

    pub(super) fn text(&self, name: &'static str, index: usize) -> Result<Option<&str>> {
        let column = self.column(name).and_then(|c| c.as_string_opt::<i32>());
        let column = column.ok_or_else(|| self.wrong(name, "utf8"))?;
        Ok(column.is_valid(index).then(|| column.value(index)))
    }

    pub(super) fn u32(&self, name: &'static str, index: usize) -> Result<Option<u32>> {
        self.number::<UInt32Type>(name, index, "uint32")
    }

    pub(super) fn i64(&self, name: &'static str, index: usize) -> Result<Option<i64>> {
        self.number::<Int64Type>(name, index, "int64")
    }

    pub(super) fn u64(&self, name: &'static str, index: usize) -> Result<Option<u64>> {
        self.number::<UInt64Type>(name, index, "uint64")
    }

    pub(super) fn f64(&self, name: &'static str, index: usize) -> Result<Option<f64>> {
        self.number::<Float64Type>(name, index, "float64")
    }

    pub(super) fn bool(&self, name: &'static str, index: usize) -> Result<Option<bool>> {
        let column = self.column(name).and_then(|c| c.as_boolean_opt());
        let column = column.ok_or_else(|| self.wrong(name, "boolean"))?;
        Ok(column.is_valid(index).then(|| column.value(index)))
    }

    /// Nanoseconds; a number below 0 is no time of a run and reads as none.
    pub(super) fn time(&self, name: &'static str, index: usize) -> Result<Option<SimTime>> {
        let nanos = self.i64(name, index)?;
        let nanos = nanos.and_then(|nanos| u64::try_from(nanos).ok());
        Ok(nanos.map(SimTime::from_nanos))
    }

    /// Reads a placement into `runs`; `false` if it is null or has a number
    /// that no placement has.
    pub(super) fn placement(
        &self,
        name: &'static str,
        index: usize,
        runs: &mut Vec<PlacementRun>,
    ) -> Result<bool> {
        let wrong = || self.wrong(name, "list of structs");
        runs.clear();
        let list = self.column(name).and_then(|c| c.as_list_opt::<i32>());
        let list = list.ok_or_else(wrong)?;
        if list.is_null(index) {
            return Ok(false);
        }
        let items = list.value(index);
        let read = runs_of(&items).ok_or_else(wrong)?;
        for run in (0..items.len()).map(read) {
            let Some(run) = run else {
                return Ok(false);
            };
            runs.push(run);
        }
        Ok(true)
    }

    fn number<T: ArrowPrimitiveType>(
        &self,
        name: &'static str,
        index: usize,
        expected: &'static str,
    ) -> Result<Option<T::Native>> {
        let column: Option<&PrimitiveArray<T>> =
            self.column(name).and_then(|c| c.as_primitive_opt::<T>());
        let column = column.ok_or_else(|| self.wrong(name, expected))?;
        Ok(column.is_valid(index).then(|| column.value(index)))
    }

    fn column(&self, name: &str) -> Option<&dyn Array> {
        self.records.column_by_name(name).map(AsRef::as_ref)
    }

    fn wrong(&self, column: &'static str, expected: &'static str) -> RunDirError {
        RunDirError::column(self.path, column, expected)
    }
}

/// What reads the items of placements; none for items of another kind. It
/// answers none for a number that no placement has.
pub(super) fn runs_of(items: &dyn Array) -> Option<impl Fn(usize) -> Option<PlacementRun>> {
    let items = items.as_struct_opt()?;
    let number = |field: &str| {
        let column = items.column_by_name(field)?;
        Some(column.as_primitive_opt::<UInt32Type>()?.clone())
    };
    let (resource, node) = (number("resource")?, number("node")?);
    let (nodes, processors) = (number("nodes")?, number("processors")?);
    Some(move |item| {
        Some(PlacementRun {
            resource: u16::try_from(resource.value(item)).ok()?,
            node: node.value(item),
            nodes: nodes.value(item),
            processors: processors.value(item),
        })
    })
}
