//! Tables of a run column by column, for readers that want few columns of many
//! runs.

use super::batch::{guarded, open};
use super::open::open_file;
use super::{Result, RunDirError};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows decoded at a time.
const BATCH: usize = 65_536;

/// A table of a run directory, opened for reading single columns.
#[derive(Clone, Debug)]
pub struct TableColumns {
    dir: PathBuf,
    name: &'static str,
    pub(super) path: PathBuf,
    pub(super) metadata: ArrowReaderMetadata,
    rows: usize,
}

/// A column of names: a number for each row, and what the numbers stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Codes {
    /// By row; [`Codes::NONE`] for a null.
    pub rows: Vec<u16>,
    /// The names.
    pub names: Vec<String>,
}

impl Codes {
    /// The number of a null.
    pub const NONE: u16 = u16::MAX;

    /// The name in a row.
    pub fn name(&self, row: usize) -> Option<&str> {
        let code = *self.rows.get(row)?;
        self.names.get(usize::from(code)).map(String::as_str)
    }
}

impl TableColumns {
    /// Opens a table, such as [`names::JOBS`](super::names::JOBS).
    ///
    /// # Errors
    /// When there is no file, or it is no whole Parquet file.
    pub fn open(dir: &Path, name: &'static str) -> Result<Self> {
        guarded(dir, name, |path| {
            let (_, metadata) = open(path)?;
            let rows = metadata.metadata().file_metadata().num_rows();
            Ok(TableColumns {
                dir: dir.to_owned(),
                name,
                path: path.to_owned(),
                metadata,
                rows: usize::try_from(rows).unwrap_or(0),
            })
        })
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether it has a column of this name.
    pub fn has(&self, name: &'static str) -> bool {
        self.leaf(name).is_ok()
    }

    /// Numbers; a null is NaN.
    ///
    /// # Errors
    /// A column that is missing, of another type, or damaged.
    pub fn f64s(&self, name: &'static str) -> Result<Vec<f64>> {
        self.numbers::<Float64Type>(name, "float64", f64::NAN)
    }

    /// Nanoseconds; a null is `i64::MIN`.
    ///
    /// # Errors
    /// As [`f64s`](Self::f64s).
    pub fn i64s(&self, name: &'static str) -> Result<Vec<i64>> {
        self.numbers::<Int64Type>(name, "int64", i64::MIN)
    }

    /// Whole numbers; a null is `u32::MAX`.
    ///
    /// # Errors
    /// As [`f64s`](Self::f64s).
    pub fn u32s(&self, name: &'static str) -> Result<Vec<u32>> {
        self.numbers::<UInt32Type>(name, "uint32", u32::MAX)
    }

    /// Longer ones; a null is `u64::MAX`.
    ///
    /// # Errors
    /// As [`f64s`](Self::f64s).
    pub fn u64s(&self, name: &'static str) -> Result<Vec<u64>> {
        self.numbers::<UInt64Type>(name, "uint64", u64::MAX)
    }

    /// Names.
    ///
    /// # Errors
    /// As [`f64s`](Self::f64s); also more than 65,534 names.
    pub fn codes(&self, name: &'static str) -> Result<Codes> {
        let mut codes = Codes::default();
        if self.is_all_null(name) {
            codes.rows = vec![Codes::NONE; self.rows];
            return Ok(codes);
        }
        codes.rows.reserve(self.rows);
        let mut known: BTreeMap<String, u16> = BTreeMap::new();
        self.for_each_array(name, true, |array| {
            let wrong = || self.wrong(name, "utf8");
            let column = array.as_dictionary_opt::<Int32Type>().ok_or_else(wrong)?;
            let values = column.values().as_string_opt::<i32>().ok_or_else(wrong)?;
            let mut of_value = Vec::with_capacity(values.len());
            for value in values {
                let text = value.unwrap_or_default();
                if !known.contains_key(text) {
                    let next = u16::try_from(codes.names.len()).map_err(|_| wrong())?;
                    known.insert(text.to_owned(), next);
                    codes.names.push(text.to_owned());
                }
                of_value.push(known[text]);
            }
            let code = |key: Option<i32>| {
                let position = key.and_then(|key| usize::try_from(key).ok());
                let code = position.and_then(|position| of_value.get(position));
                code.copied().unwrap_or(Codes::NONE)
            };
            match column.keys().null_count() {
                0 => codes
                    .rows
                    .extend(column.keys().values().iter().map(|key| code(Some(*key)))),
                _ => codes.rows.extend(column.keys().iter().map(code)),
            }
            Ok(())
        })?;
        Ok(codes)
    }

    /// Whether the file says that a column of text has no value at all, such as
    /// where jobs were forwarded to in a run in which none was: its reader
    /// would look at every null.
    fn is_all_null(&self, name: &'static str) -> bool {
        let field = self.metadata.schema().field_with_name(name);
        let groups = self.metadata.metadata().row_groups();
        field.is_ok_and(|field| field.data_type() == &DataType::Utf8)
            && self.leaf(name).is_ok_and(|leaf| {
                groups.iter().all(|group| {
                    let statistics = group.column(leaf).statistics();
                    let nulls = statistics.and_then(|s| s.null_count_opt());
                    nulls.is_some_and(|nulls| i64::try_from(nulls) == Ok(group.num_rows()))
                })
            })
    }

    /// The leaf column of this name.
    pub(super) fn leaf(&self, name: &'static str) -> Result<usize> {
        let columns = self.metadata.parquet_schema().columns();
        let leaf = columns.iter().position(|leaf| leaf.path().string() == name);
        leaf.ok_or_else(|| self.wrong(name, "any"))
    }

    /// Reads its rows by these metadata of it.
    pub(super) fn reader(
        &self,
        metadata: ArrowReaderMetadata,
    ) -> Result<ParquetRecordBatchReaderBuilder<File>> {
        let file = open_file(&self.path).map_err(RunDirError::io("open", &self.path))?;
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
        Ok(reader.with_batch_size(BATCH))
    }

    fn numbers<T: ArrowPrimitiveType>(
        &self,
        name: &'static str,
        expected: &'static str,
        null: T::Native,
    ) -> Result<Vec<T::Native>> {
        let mut all = Vec::with_capacity(self.rows);
        self.for_each_array(name, false, |array| {
            let column = array.as_primitive_opt::<T>();
            let column = column.ok_or_else(|| self.wrong(name, expected))?;
            match column.null_count() {
                0 => all.extend_from_slice(column.values()),
                _ => all.extend(column.iter().map(|value| value.unwrap_or(null))),
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// Calls `take` with the arrays of one column, in order.
    pub(super) fn for_each_array(
        &self,
        name: &'static str,
        as_dictionary: bool,
        mut take: impl FnMut(&ArrayRef) -> Result<()>,
    ) -> Result<()> {
        guarded(&self.dir, self.name, |path| {
            let index = self.metadata.schema().index_of(name);
            let index = index.map_err(|_| self.wrong(name, "any"))?;
            let metadata = match as_dictionary {
                true => self.with_dictionary(index, name)?,
                false => self.metadata.clone(),
            };
            let mask = ProjectionMask::roots(metadata.parquet_schema(), [index]);
            let reader = self.reader(metadata)?.with_projection(mask).build();
            let mut rows = 0;
            for batch in reader.map_err(RunDirError::parquet(path))? {
                let batch = batch.map_err(|error| RunDirError::parquet(path)(error.into()))?;
                rows += batch.num_rows();
                if rows <= self.rows {
                    take(batch.column(0))?;
                }
            }
            if rows != self.rows {
                return Err(RunDirError::Damaged(
                    path.to_owned(),
                    format!("column {name} has {rows} rows of {}", self.rows),
                ));
            }
            Ok(())
        })
    }

    /// The same file with one column of text read as numbers and names.
    fn with_dictionary(&self, index: usize, name: &'static str) -> Result<ArrowReaderMetadata> {
        let fields = self.metadata.schema().fields().iter().enumerate();
        let fields = fields.map(|(position, field)| match position == index {
            false => Ok(Arc::clone(field)),
            true if field.data_type() != &DataType::Utf8 => Err(self.wrong(name, "utf8")),
            true => {
                let kind =
                    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                Ok(Arc::new(Field::new(name, kind, field.is_nullable())))
            }
        });
        let schema = Schema::new(fields.collect::<Result<Vec<_>, _>>()?);
        let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
        let metadata = Arc::clone(self.metadata.metadata());
        ArrowReaderMetadata::try_new(metadata, options).map_err(RunDirError::parquet(&self.path))
    }

    pub(super) fn wrong(&self, column: &'static str, expected: &'static str) -> RunDirError {
        RunDirError::column(&self.path, column, expected)
    }
}
