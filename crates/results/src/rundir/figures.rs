//! A table of figures of many runs.

use super::file::{PartialFile, make_dir, sync_dir};
use super::{Result, RunDirError};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::path::Path;
use std::sync::Arc;

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
    let columns = columns.into_iter().map(|(name, values)| {
        let array: ArrayRef = match values {
            Values::Text(values) => Arc::new(StringArray::from(values)),
            Values::Number(values) => Arc::new(Float64Array::from(values)),
        };
        (name, array, true)
    });
    let file = PartialFile::create(dir, name, "")?;
    let write = || {
        let records = RecordBatch::try_from_iter_with_nullable(columns)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
            .set_created_by("gridrig".to_owned());
        let mut writer = ArrowWriter::try_new(file, records.schema(), Some(properties.build()))?;
        writer.write(&records)?;
        writer.into_inner()
    };
    let file = write().map_err(RunDirError::unwritten(&dir.join(name)))?;
    file.finish(None)?;
    sync_dir(dir)
}
