//! A table of a run directory as plain CSV (RFC 4180), value for value.

use super::RunDirError;
use super::batch::{guarded, reader};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::DataType;
use serde_json::Value;
use std::io::{self, Write};
use std::path::Path;

/// Why a table could not be written as CSV.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// The table cannot be read.
    #[error(transparent)]
    Run(#[from] RunDirError),
    /// The output refused.
    #[error("the table cannot be written")]
    Out(#[source] io::Error),
}

/// Writes a table, such as [`names::JOBS`](super::names::JOBS): a header with
/// the names of the columns, then a line per row. Numbers are the shortest that read back as the same value, nulls are empty,
/// lists are JSON. Answers the rows.
///
/// # Errors
/// A table that is missing or damaged, an output that refuses.
pub fn write_csv(dir: &Path, name: &'static str, out: &mut impl Write) -> Result<u64, CsvError> {
    // What the output says is no damage of the table.
    let written = guarded(dir, name, |path| {
        let (reader, _) = reader(path)?;
        let schema = arrow_array::RecordBatchReader::schema(&reader);
        let mut csv = csv::Writer::from_writer(out);
        if let Err(error) = csv.write_record(schema.fields().iter().map(|field| field.name())) {
            return Ok(Err(error.into()));
        }
        let mut rows = 0;
        for batch in reader {
            let batch = batch.map_err(|error| RunDirError::parquet(path)(error.into()))?;
            for row in 0..batch.num_rows() {
                let cells = batch.columns().iter().map(|column| text(column, row));
                if let Err(error) = csv.write_record(cells) {
                    return Ok(Err(error.into()));
                }
            }
            rows += batch.num_rows() as u64;
        }
        Ok(csv.flush().map(|()| rows))
    })?;
    written.map_err(CsvError::Out)
}

/// A value as text; empty where there is none.
fn text(column: &ArrayRef, row: usize) -> String {
    match column.data_type() {
        _ if column.is_null(row) => String::new(),
        DataType::Utf8 => column.as_string::<i32>().value(row).to_owned(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        DataType::List(_) => {
            let items = column.as_list::<i32>().value(row);
            let items = items.as_struct_opt().map_or(Vec::new(), structs);
            Value::Array(items).to_string()
        }
        _ => String::new(),
    }
}

/// The structs of a list, such as the runs of a placement.
fn structs(items: &StructArray) -> Vec<Value> {
    let one = |item: usize| {
        let fields = items.column_names().into_iter().zip(items.columns());
        let field = |(name, column): (&str, &ArrayRef)| {
            let value = match (
                column.as_string_opt::<i32>(),
                column.as_primitive_opt::<UInt32Type>(),
            ) {
                (Some(text), _) => Value::from(text.value(item)),
                (_, Some(numbers)) => Value::from(numbers.value(item)),
                _ => Value::Null,
            };
            (name.to_owned(), value)
        };
        Value::Object(fields.map(field).collect())
    };
    (0..items.len()).map(one).collect()
}
