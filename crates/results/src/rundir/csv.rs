//! A table of a run directory as plain CSV (RFC 4180), value for value.

use super::RunDirError;
use super::batch::{guarded, reader};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, ListArray, PrimitiveArray, StringArray, StructArray,
};
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
        let reader = reader(path)?;
        let schema = arrow_array::RecordBatchReader::schema(&reader);
        let mut csv = csv::Writer::from_writer(out);
        if let Err(error) = csv.write_record(schema.fields().iter().map(|field| field.name())) {
            return Ok(Err(error.into()));
        }
        let mut rows = 0;
        for batch in reader {
            let batch = batch.map_err(|error| RunDirError::parquet(path)(error.into()))?;
            let columns: Vec<Cells<'_>> = batch.columns().iter().map(Cells::of).collect();
            for row in 0..batch.num_rows() {
                if let Err(error) = csv.write_record(columns.iter().map(|column| column.text(row)))
                {
                    return Ok(Err(error.into()));
                }
            }
            rows += batch.num_rows() as u64;
        }
        Ok(csv.flush().map(|()| rows))
    })?;
    written.map_err(CsvError::Out)
}

/// A column of some rows.
enum Cells<'a> {
    Text(&'a StringArray),
    U32(&'a PrimitiveArray<UInt32Type>),
    U64(&'a PrimitiveArray<UInt64Type>),
    I64(&'a PrimitiveArray<Int64Type>),
    F64(&'a PrimitiveArray<Float64Type>),
    Bool(&'a BooleanArray),
    List(&'a ListArray),
    /// Of a type that no table has.
    Unknown,
}

impl<'a> Cells<'a> {
    fn of(column: &'a ArrayRef) -> Self {
        None.or_else(|| column.as_string_opt().map(Cells::Text))
            .or_else(|| column.as_primitive_opt().map(Cells::U32))
            .or_else(|| column.as_primitive_opt().map(Cells::U64))
            .or_else(|| column.as_primitive_opt().map(Cells::I64))
            .or_else(|| column.as_primitive_opt().map(Cells::F64))
            .or_else(|| column.as_boolean_opt().map(Cells::Bool))
            .or_else(|| column.as_list_opt().map(Cells::List))
            .unwrap_or(Cells::Unknown)
    }

    fn text(&self, row: usize) -> String {
        match self {
            Cells::Text(column) if column.is_valid(row) => column.value(row).to_owned(),
            Cells::U32(column) if column.is_valid(row) => column.value(row).to_string(),
            Cells::U64(column) if column.is_valid(row) => column.value(row).to_string(),
            Cells::I64(column) if column.is_valid(row) => column.value(row).to_string(),
            Cells::F64(column) if column.is_valid(row) => column.value(row).to_string(),
            Cells::Bool(column) if column.is_valid(row) => column.value(row).to_string(),
            Cells::List(column) if column.is_valid(row) => {
                let items = column.value(row);
                let items = items.as_struct_opt().map_or(Vec::new(), structs);
                Value::Array(items).to_string()
            }
            _ => String::new(),
        }
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
