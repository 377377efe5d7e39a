//! A table of figures of many runs.

use super::RunDirError;
use super::file::{PartialFile, make_dir, sync_dir};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
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
    /// Whole numbers.
    Whole(Vec<Option<i64>>),
    /// Numbers; null where they are not finite.
    Number(Vec<Option<f64>>),
}

/// Writes a table of these columns, in the same number of rows each, into a folder that
/// is made if need be. The bytes depend on nothing but the values.
///
/// # Errors
/// Errors of the file system.
pub fn write_figures(
    dir: &Path,
    name: &'static str,
    columns: Vec<(&str, Values)>,
) -> Result<(), RunDirError> {
    make_dir(dir)?;
    let array = |values| -> ArrayRef {
        match values {
            Values::Text(values) => Arc::new(StringArray::from(values)),
            Values::Whole(values) => Arc::new(Int64Array::from(values)),
            Values::Number(values) => {
                let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
                let values = values.into_iter().map(finite);
                Arc::new(values.collect::<Float64Array>())
            }
        }
    };
    let columns = columns
        .into_iter()
        .map(|(name, values)| (name, array(values), true));
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
    let file = write().map_err(RunDirError::parquet(&dir.join(name)))?;
    file.finish(None)?;
    sync_dir(dir)
}
