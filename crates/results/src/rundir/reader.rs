//! A Parquet file of a run, some rows of some of its columns at a time.

use super::open::open_file;
use super::pages::Pages;
use super::values::{Kind, Leaf, Values};
use super::{Result, RunDirError};
use parquet::column::reader::get_column_reader;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::TypePtr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A column of a file.
#[derive(Clone, Debug)]
pub(super) struct Root {
    pub(super) name: String,
    /// `None` for what no table of a run has: it is not read.
    pub(super) kind: Option<Kind>,
    pub(super) leaves: Vec<usize>,
}

/// The columns of a file in their order.
pub(super) fn roots(metadata: &ParquetMetaData) -> Vec<Root> {
    let schema = metadata.file_metadata().schema_descr();
    let fields = schema.root_schema().get_fields();
    let mut leaves = vec![Vec::new(); fields.len()];
    for (leaf, column) in schema.columns().iter().enumerate() {
        leaves[schema.get_column_root_idx(leaf)].push((leaf, Arc::clone(column)));
    }
    let root = |(field, leaves): (&TypePtr, Vec<_>)| {
        let (kind, leaves) = Kind::of(&leaves).unzip();
        Root {
            name: field.name().to_owned(),
            kind,
            leaves: leaves.unwrap_or_default(),
        }
    };
    fields.iter().zip(leaves).map(root).collect()
}

/// Some rows.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// By the name of the column.
    pub(super) columns: Vec<(String, Values)>,
    pub(super) rows: usize,
}

impl Rows {
    pub(super) fn column(&self, name: &str) -> Option<&Values> {
        let own = self.columns.iter().find(|(own, _)| own == name);
        own.map(|(_, values)| values)
    }
}

/// Reads groups of rows one after the other.
pub(super) struct Reader {
    path: PathBuf,
    file: Arc<File>,
    metadata: Arc<ParquetMetaData>,
    roots: Vec<Root>,
    groups: std::vec::IntoIter<usize>,
    /// The columns of the group that is being read.
    open: Vec<Vec<Leaf>>,
    most: usize,
}

impl Reader {
    /// Reads these columns of these groups, at most so many rows at a time.
    pub(super) fn new(
        path: &Path,
        metadata: &Arc<ParquetMetaData>,
        roots: Vec<Root>,
        groups: Vec<usize>,
        most: usize,
    ) -> Result<Self> {
        let file = open_file(path).map_err(RunDirError::io("open", path))?;
        if roots.iter().all(|root| root.kind.is_none()) {
            let said = "no column has a type that columns of runs have".to_owned();
            return Err(RunDirError::Damaged(path.to_owned(), said));
        }
        Ok(Reader {
            path: path.to_owned(),
            file: Arc::new(file),
            metadata: Arc::clone(metadata),
            roots,
            groups: groups.into_iter(),
            open: Vec::new(),
            most,
        })
    }

    /// The names of the columns that are read.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.roots.iter().map(|root| root.name.as_str())
    }

    /// The next rows; `None` after the last ones.
    pub(super) fn next(&mut self) -> Result<Option<Rows>> {
        loop {
            if self.open.is_empty() {
                let Some(group) = self.groups.next() else {
                    return Ok(None);
                };
                self.open_group(group)?;
            }
            let rows = self.take(self.most)?;
            if rows.rows > 0 {
                return Ok(Some(rows));
            }
            self.open.clear();
        }
    }

    /// The first group of those that are left, and its rows in this place.
    pub(super) fn open_next(&mut self) -> Result<()> {
        let group = self.groups.next();
        group.map_or(Ok(()), |group| self.open_group(group))
    }

    fn open_group(&mut self, group: usize) -> Result<()> {
        let schema = self.metadata.file_metadata().schema_descr();
        let group = self.metadata.row_group(group);
        let open = |leaf: &usize| {
            let column = schema.column(*leaf);
            let (level, entry) = (column.max_def_level(), column.repeated_ancestor_def_level());
            let pages =
                SerializedPageReader::new(Arc::clone(&self.file), group.column(*leaf), 0, None)?;
            Ok(Leaf {
                reader: get_column_reader(
                    Arc::clone(&column),
                    Box::new(Pages::new(Box::new(pages), &column)),
                ),
                level,
                entry,
            })
        };
        let columns = self.roots.iter();
        let columns = columns.map(|root| root.leaves.iter().map(open).collect());
        let open: Result<_, ParquetError> = columns.collect();
        self.open = open.map_err(RunDirError::parquet(&self.path))?;
        Ok(())
    }

    /// Passes over so many rows of the group.
    pub(super) fn skip(&mut self, rows: usize) -> Result<()> {
        for leaf in self.open.iter_mut().flatten() {
            leaf.skip(rows).map_err(RunDirError::parquet(&self.path))?;
        }
        Ok(())
    }

    /// The next rows of the group, at most so many; none after the last one.
    pub(super) fn take(&mut self, most: usize) -> Result<Rows> {
        let mut all = Rows::default();
        let mut rows = None;
        for (root, leaves) in self.roots.iter().zip(&mut self.open) {
            let values = match root.kind {
                None => Values::Other,
                Some(kind) => {
                    let values = Values::read(kind, leaves, most);
                    let values = values.map_err(RunDirError::parquet(&self.path))?;
                    let (own, rows) = (values.len(), *rows.get_or_insert(values.len()));
                    if own != rows {
                        let said = format!("column {} has {own} rows of {rows}", root.name);
                        return Err(RunDirError::Damaged(self.path.clone(), said));
                    }
                    values
                }
            };
            all.columns.push((root.name.clone(), values));
        }
        all.rows = rows.unwrap_or(0);
        Ok(all)
    }
}
