//! Tables of a run row by row.

use super::RunDirError;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, PrimitiveArray, RecordBatch};
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::SimTime;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Reads a file, taking a panic of the Parquet reader for what it means: that
/// crate trusts some lengths in damaged files further than they go.
pub(super) fn guarded<T>(
    dir: &Path,
    name: &str,
    read: impl FnOnce(&Path) -> Result<T, RunDirError>,
) -> Result<T, RunDirError> {
    let path = dir.join(name);
    match catch_unwind(AssertUnwindSafe(|| read(&path))) {
        Ok(result) => result,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            let message = text.unwrap_or_else(|| "its reader failed".to_owned());
            Err(RunDirError::Damaged { path, message })
        }
    }
}

/// Reads a table, some thousand rows at a time.
pub(super) fn reader(path: &Path) -> Result<ParquetRecordBatchReader, RunDirError> {
    let file = File::open(path).map_err(RunDirError::io("open", path))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file);
    let reader = builder.and_then(|builder| builder.with_batch_size(8_192).build());
    reader.map_err(RunDirError::parquet(path))
}

/// Calls `take` with a batch, the index in it and the number of the row from
/// 1, for every row of a file.
pub(super) fn for_each_row(
    path: &Path,
    mut take: impl FnMut(&Batch<'_>, usize, u64) -> Result<(), RunDirError>,
) -> Result<(), RunDirError> {
    let mut row = 0;
    for records in reader(path)? {
        let records = records.map_err(|error| RunDirError::parquet(path)(error.into()))?;
        let batch = Batch {
            path,
            records: &records,
        };
        for index in 0..records.num_rows() {
            row += 1;
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

    pub(super) fn text(
        &self,
        name: &'static str,
        index: usize,
    ) -> Result<Option<&str>, RunDirError> {
        let column = self.column(name).and_then(|c| c.as_string_opt::<i32>());
        let column = column.ok_or_else(|| self.wrong(name, "utf8"))?;
        Ok(column.is_valid(index).then(|| column.value(index)))
    }

    pub(super) fn u32(&self, name: &'static str, index: usize) -> Result<Option<u32>, RunDirError> {
        self.number::<UInt32Type>(name, index, "uint32")
    }

    pub(super) fn i64(&self, name: &'static str, index: usize) -> Result<Option<i64>, RunDirError> {
        self.number::<Int64Type>(name, index, "int64")
    }

    pub(super) fn u64(&self, name: &'static str, index: usize) -> Result<Option<u64>, RunDirError> {
        self.number::<UInt64Type>(name, index, "uint64")
    }

    pub(super) fn f64(&self, name: &'static str, index: usize) -> Result<Option<f64>, RunDirError> {
        self.number::<Float64Type>(name, index, "float64")
    }

    pub(super) fn bool(
        &self,
        name: &'static str,
        index: usize,
    ) -> Result<Option<bool>, RunDirError> {
        let column = self.column(name).and_then(|c| c.as_boolean_opt());
        let column = column.ok_or_else(|| self.wrong(name, "boolean"))?;
        Ok(column.is_valid(index).then(|| column.value(index)))
    }

    /// Nanoseconds; a number below 0 is no time of a run and reads as none.
    pub(super) fn time(
        &self,
        name: &'static str,
        index: usize,
    ) -> Result<Option<SimTime>, RunDirError> {
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
    ) -> Result<bool, RunDirError> {
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
    ) -> Result<Option<T::Native>, RunDirError> {
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
