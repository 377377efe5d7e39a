//! Tables of a run column by column, for readers that want few columns of many
//! runs.

use super::batch::{guarded, open};
use super::reader::{Reader, Root, roots};
use super::values::{Kind, Values};
use super::{Result, RunDirError};
use parquet::data_type::ByteArray;
use parquet::file::metadata::ParquetMetaData;
use std::collections::BTreeMap;
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
    pub(super) metadata: Arc<ParquetMetaData>,
    pub(super) roots: Vec<Root>,
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
            let metadata = open(path)?;
            let rows = metadata.file_metadata().num_rows();
            Ok(TableColumns {
                dir: dir.to_owned(),
                name,
                path: path.to_owned(),
                roots: roots(&metadata),
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
        self.root(name).is_ok()
    }

    /// Numbers; a null is NaN.
    ///
    /// # Errors
    /// A column that is missing, of another type, or damaged.
    pub fn f64s(&self, name: &'static str) -> Result<Vec<f64>> {
        self.numbers(name, "float64", f64::NAN, |values| match values {
            Values::F64(values) => Some(values),
            _ => None,
        })
    }

    /// Nanoseconds; a null is `i64::MIN`.
    ///
    /// # Errors
    /// As [`f64s`](Self::f64s).
    pub fn i64s(&self, name: &'static str) -> Result<Vec<i64>> {
        self.numbers(name, "int64", i64::MIN, |values| match values {
            Values::I64(values) => Some(values),
            _ => None,
        })
    }

    /// Whole numbers; a null is `u32::MAX`.
    ///
    /// # Errors
    /// As [`f64s`](Self::f64s).
    pub fn u32s(&self, name: &'static str) -> Result<Vec<u32>> {
        self.numbers(name, "uint32", u32::MAX, |values| match values {
            Values::U32(values) => Some(values),
            _ => None,
        })
    }

    /// Longer ones; a null is `u64::MAX`.
    ///
    /// # Errors
    /// As [`f64s`](Self::f64s).
    pub fn u64s(&self, name: &'static str) -> Result<Vec<u64>> {
        self.numbers(name, "uint64", u64::MAX, |values| match values {
            Values::U64(values) => Some(values),
            _ => None,
        })
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
        let mut last: Option<(ByteArray, u16)> = None;
        self.for_each_values(name, |values| {
            let wrong = || self.wrong(name, "utf8");
            let Values::Text(texts) = values else {
                return Err(wrong());
            };
            for text in texts.iter() {
                let Some(text) = text else {
                    codes.rows.push(Codes::NONE);
                    continue;
                };
                let code = match &last {
                    Some((last, code)) if last == text => *code,
                    _ => {
                        let own = text.as_utf8().map_err(|_| wrong())?;
                        let code = match known.get(own) {
                            Some(code) => *code,
                            None => {
                                let next = codes.names.len();
                                let next = u16::try_from(next).ok();
                                let next = next.filter(|next| *next != Codes::NONE);
                                let next = next.ok_or_else(wrong)?;
                                known.insert(own.to_owned(), next);
                                codes.names.push(own.to_owned());
                                next
                            }
                        };
                        last = Some((text.clone(), code));
                        code
                    }
                };
                codes.rows.push(code);
            }
            Ok(())
        })?;
        Ok(codes)
    }

    /// Whether the file says that a column of text has no value at all, such as
    /// where jobs were forwarded to in a run in which none was: its reader
    /// would look at every null.
    fn is_all_null(&self, name: &'static str) -> bool {
        let groups = self.metadata.row_groups();
        self.root(name)
            .is_ok_and(|root| root.kind == Some(Kind::Text))
            && self.leaf(name).is_ok_and(|leaf| {
                groups.iter().all(|group| {
                    let statistics = group.column(leaf).statistics();
                    let nulls = statistics.and_then(|s| s.null_count_opt());
                    nulls.is_some_and(|nulls| i64::try_from(nulls) == Ok(group.num_rows()))
                })
            })
    }

    pub(super) fn root(&self, name: &'static str) -> Result<&Root> {
        let root = self.roots.iter().find(|root| root.name == name);
        root.ok_or_else(|| self.wrong(name, "any"))
    }

    /// The only leaf of a column.
    pub(super) fn leaf(&self, name: &'static str) -> Result<usize> {
        let leaf = self.root(name)?.leaves.first().copied();
        leaf.ok_or_else(|| self.wrong(name, "any"))
    }

    /// Reads these columns of these groups of rows.
    pub(super) fn reader(&self, roots: Vec<Root>, groups: Vec<usize>) -> Result<Reader> {
        Reader::new(&self.path, &self.metadata, roots, groups, BATCH)
    }

    fn numbers<T: Copy>(
        &self,
        name: &'static str,
        expected: &'static str,
        null: T,
        of: impl Fn(Values) -> Option<Vec<Option<T>>>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::with_capacity(self.rows);
        self.for_each_values(name, |values| {
            let values = of(values).ok_or_else(|| self.wrong(name, expected))?;
            all.extend(values.into_iter().map(|value| value.unwrap_or(null)));
            Ok(())
        })?;
        Ok(all)
    }

    /// Calls `take` with the values of one column, in order.
    pub(super) fn for_each_values(
        &self,
        name: &'static str,
        mut take: impl FnMut(Values) -> Result<()>,
    ) -> Result<()> {
        guarded(&self.dir, self.name, |path| {
            let groups = (0..self.metadata.num_row_groups()).collect();
            let root = self.root(name)?;
            if root.kind.is_none() {
                return take(Values::Other);
            }
            let mut reader = self.reader(vec![root.clone()], groups)?;
            let mut rows = 0;
            while let Some(records) = reader.next()? {
                rows += records.rows;
                if rows <= self.rows {
                    records
                        .columns
                        .into_iter()
                        .try_for_each(|(_, values)| take(values))?;
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

    pub(super) fn wrong(&self, column: &'static str, expected: &'static str) -> RunDirError {
        RunDirError::column(&self.path, column, expected)
    }
}
