//! A table of figures of many runs.

use super::columns::GroupedFile;
use super::file::{PartialFile, make_dir, sync_dir};
use super::texts::Texts;
use super::values::{self, Kind};
use super::{Result, RunDirError};
use parquet::data_type::ByteArray;
use std::path::Path;

/// The values of a column.
#[derive(Clone, Debug)]
pub enum Values {
    /// Words.
    Text(Vec<Option<String>>),
    /// Numbers.
    Number(Vec<Option<f64>>),
}

/// Writes a table of these columns, in the same number of rows each, into a folder that
/// is made if need be. The bytes depend on nothing but the values.
///
/// # Errors
/// Errors of the file system.
pub fn write_figures(dir: &Path, name: &'static str, columns: Vec<(String, Values)>) -> Result<()> {
    make_dir(dir)?;
    let kind = |values: &Values| match values {
        Values::Text(_) => Kind::Text,
        Values::Number(_) => Kind::F64,
    };
    let len = |(_, values): &(String, Values)| match values {
        Values::Text(values) => values.len(),
        Values::Number(values) => values.len(),
    };
    let rows = columns.first().map_or(0, len);
    debug_assert!(columns.iter().all(|column| len(column) == rows));
    let file = PartialFile::create(dir, name, "")?;
    let write = || {
        let kinds = columns
            .iter()
            .map(|(name, values)| (name.as_str(), kind(values)));
        let mut file = GroupedFile::of(file, kinds, |properties| properties)?;
        file.write(
            &columns,
            std::slice::from_ref(&(0..rows)),
            |_, rows, (_, values)| match values {
                Values::Text(values) => {
                    let text = |text: &Option<String>| text.as_deref().map(ByteArray::from);
                    values::Values::Text(Texts::each(values[rows].iter().map(text)))
                }
                Values::Number(values) => values::Values::F64(values[rows].to_vec()),
            },
        )?;
        file.finish()
    };
    let file = write().map_err(RunDirError::unwritten(&dir.join(name)))?;
    file.finish(None)?;
    sync_dir(dir)
}
