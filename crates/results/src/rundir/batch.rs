//! Tables of a run row by row.

use super::manifest::read_rows;
use super::open::open_file;
use super::reader::{Reader, Rows, roots};
use super::values::Values;
use super::{Result, RunDirError};
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::SimTime;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

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
pub(super) fn open(path: &Path) -> Result<Arc<ParquetMetaData>> {
    let file = open_file(path).map_err(RunDirError::io("open", path))?;
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file);
    let metadata = metadata.map_err(RunDirError::parquet(path))?;
    let known = read_rows(path)?;
    let groups = metadata.row_groups();
    let sum = |of: &dyn Fn(&RowGroupMetaData) -> i64| {
        let of_groups = groups.iter().map(of);
        of_groups.fold(0, i64::saturating_add)
    };
    let rows = sum(&|group| group.num_rows());
    let rows = rows.max(metadata.file_metadata().num_rows());
    // Columns of lists have more values than rows.
    let leaves = 0..metadata.file_metadata().schema_descr().num_columns();
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
    Ok(Arc::new(metadata))
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
pub(super) fn reader(path: &Path) -> Result<(Reader, u64)> {
    let metadata = open(path)?;
    let rows = metadata.file_metadata().num_rows();
    let groups = (0..metadata.num_row_groups()).collect();
    let reader = Reader::new(path, &metadata, roots(&metadata), groups, 8_192)?;
    Ok((reader, u64::try_from(rows).unwrap_or(0)))
}

/// Calls `take` with a batch, the index in it and the number of the row from
/// 1, for every row of a file.
pub(super) fn for_each_row(
    path: &Path,
    mut take: impl FnMut(&Batch<'_>, usize, u64) -> Result<()>,
) -> Result<()> {
    let mut row = 0;
    let (mut reader, rows) = reader(path)?;
    while let Some(records) = reader.next()? {
        let batch = Batch {
            path,
            records: &records,
        };
        for index in 0..records.rows {
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
    pub(super) records: &'a Rows,
}

/// A getter of one kind of columns.
macro_rules! getter {
    ($name:ident, $values:ident, $of:ty, $expected:literal) => {
        pub(super) fn $name(&self, name: &'static str, index: usize) -> Result<Option<$of>> {
            match self.column(name) {
                Some(Values::$values(values)) => Ok(values.get(index).copied().flatten()),
                _ => Err(self.wrong(name, $expected)),
            }
        }
    };
}

impl Batch<'_> {
    /// How many rows it has.
    pub(super) fn rows(&self) -> usize {
        self.records.rows
    }

    /// Whether there is such a column.
    pub(super) fn has(&self, name: &str) -> bool {
        self.column(name).is_some()
    }

    pub(super) fn text(&self, name: &'static str, index: usize) -> Result<Option<&str>> {
        let Some(Values::Text(values)) = self.column(name) else {
            return Err(self.wrong(name, "utf8"));
        };
        let text = values.get(index);
        let text = text.map(|text| std::str::from_utf8(text.data()));
        text.transpose().map_err(|_| self.wrong(name, "utf8"))
    }

    getter!(u32, U32, u32, "uint32");
    getter!(i64, I64, i64, "int64");
    getter!(u64, U64, u64, "uint64");
    getter!(f64, F64, f64, "float64");
    getter!(bool, Bool, bool, "boolean");

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
        runs.clear();
        let Some(Values::Placement(placed)) = self.column(name) else {
            return Err(self.wrong(name, "list of structs"));
        };
        let Some(items) = placed.rows.get(index).cloned().flatten() else {
            return Ok(false);
        };
        for item in items {
            let Some(run) = placed.run(item) else {
                return Ok(false);
            };
            runs.push(run);
        }
        Ok(true)
    }

    fn column(&self, name: &str) -> Option<&Values> {
        self.records.column(name)
    }

    fn wrong(&self, column: &'static str, expected: &'static str) -> RunDirError {
        RunDirError::column(self.path, column, expected)
    }
}
