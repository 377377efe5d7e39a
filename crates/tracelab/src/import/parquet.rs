//! Rows of a Parquet file.

use super::rows::{Log, Rows};
use crate::error::{Result, TraceError};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    ArrowPrimitiveType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, RecordBatch, downcast_primitive_array};
use arrow_schema::{DataType, TimeUnit};
use csv::ByteRecord;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use std::fs::File;
use std::path::Path;

/// Opens a file; of its columns only those that are wanted are read.
pub(super) fn open(path: &Path, wanted: &[&str]) -> Result<Log> {
    let file = path.display().to_string();
    let failed =
        |why: String| TraceError::file(&file, format!("the Parquet file is damaged: {why}"));
    let opened = File::open(path).map_err(|source| TraceError::Open(file.clone(), source))?;
    // What pandas says about its own types: the plain ones are read more easily.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(opened, options)
        .map_err(|error| failed(error.to_string()))?;
    let names = |schema: &arrow_schema::Schema| {
        let fields = schema.fields().iter();
        fields.map(|field| field.name().clone()).collect::<Vec<_>>()
    };
    let columns = names(builder.schema());
    let roots = columns.iter().enumerate();
    let roots = roots.filter(|(_, name)| wanted.contains(&name.as_str()));
    let roots: Vec<usize> = roots.map(|(at, _)| at).collect();
    let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
    let reader = builder.with_projection(mask).build();
    let reader = reader.map_err(|error| failed(error.to_string()))?;
    let read = names(&arrow_array::RecordBatchReader::schema(&reader));
    let rows = Box::new(Parquet {
        file: file.clone(),
        reader,
        batch: None,
        at: 0,
        number: 0,
    });
    Ok(Log {
        columns,
        read,
        rows,
    })
}

struct Parquet {
    file: String,
    reader: ParquetRecordBatchReader,
    batch: Option<RecordBatch>,
    /// The next row of the batch.
    at: usize,
    /// Rows given so far.
    number: u64,
}

impl Rows for Parquet {
    fn next(&mut self, row: &mut ByteRecord) -> Result<Option<u64>> {
        loop {
            if let Some(batch) = self.batch.as_ref().filter(|b| self.at < b.num_rows()) {
                row.clear();
                for column in batch.columns() {
                    let text = text(column.as_ref(), self.at).map_err(|kind| {
                        let problem =
                            format!("a column of {kind}: expected numbers, texts or times");
                        TraceError::line(&self.file, self.number + 1, problem)
                    })?;
                    row.push_field(text.as_bytes());
                }
                self.at += 1;
                self.number += 1;
                return Ok(Some(self.number));
            }
            let next = self.reader.next().transpose().map_err(|error| {
                let problem = format!("the Parquet file is damaged: {error}");
                TraceError::line(&self.file, self.number + 1, problem)
            })?;
            let Some(batch) = next else {
                return Ok(None);
            };
            (self.batch, self.at) = (Some(batch), 0);
        }
    }
}

fn time<T: ArrowPrimitiveType<Native = i64>>(array: &dyn Array, row: usize) -> i128 {
    array.as_primitive::<T>().value(row).into()
}

/// A value as text, empty if there is none; times with their offset if they are UTC.
fn text(array: &dyn Array, row: usize) -> Result<String, String> {
    if array.is_null(row) {
        return Ok(String::new());
    }
    let nanos = |unit: &TimeUnit| match unit {
        TimeUnit::Second => time::<TimestampSecondType>(array, row) * 1_000_000_000,
        TimeUnit::Millisecond => time::<TimestampMillisecondType>(array, row) * 1_000_000,
        TimeUnit::Microsecond => time::<TimestampMicrosecondType>(array, row) * 1_000,
        TimeUnit::Nanosecond => time::<TimestampNanosecondType>(array, row),
    };
    Ok(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).to_owned(),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Timestamp(unit, zone) => match Timestamp::from_nanosecond(nanos(unit)) {
            Ok(at) if zone.is_some() => at.to_string(),
            // A time on the clock of wherever the log was written.
            Ok(at) => TimeZone::UTC.to_datetime(at).to_string(),
            Err(_) => return Err("times out of range".to_owned()),
        },
        other if other.is_integer() || other.is_floating() => downcast_primitive_array!(
            array => format!("{:?}", array.value(row)),
            other => return Err(other.to_string()),
        ),
        other => return Err(other.to_string()),
    })
}
