//! Columns of a Parquet file: each is defined once, by its name and what it
//! holds in a row; schema and arrays follow.

use super::file::PartialFile;
use super::{FileDoc, RunDirError};
use arrow_array::builder::{ListBuilder, StringBuilder, StructBuilder, UInt32Builder};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Fields, Schema};
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::{SimDuration, SimTime};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;
use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Rows per group: what is held in memory at once.
const ROWS_PER_GROUP: usize = 65_536;

/// Numbers of jobs, which mostly rise from row to row.
const NUMBERINGS: [&str; 2] = ["job_id", "trace_job"];

/// What a column holds in a row, of which `S` has all that there is to know.
pub(super) enum Cell<'a, S> {
    Text(fn(S) -> Option<Cow<'a, str>>),
    U32(fn(S) -> Option<u32>),
    U64(fn(S) -> Option<u64>),
    I64(fn(S) -> Option<i64>),
    /// Null where the value is none or not finite.
    F64(fn(S) -> Option<f64>),
    Bool(fn(S) -> Option<bool>),
    /// An instant in nanoseconds since the run's start.
    Time(fn(S) -> Option<SimTime>),
    /// A length of time in nanoseconds.
    Length(fn(S) -> Option<SimDuration>),
    Placement(fn(S) -> Option<Placed<'a>>),
}

/// The name of a cluster, and the nodes there.
type Placed<'a> = (String, &'a [PlacementRun]);

/// A column by its name.
pub(super) type Column<'a, S> = (&'static str, Cell<'a, S>);

/// Writes so many rows of a table. The bytes depend on nothing but the values.
pub(super) fn write<S: Copy>(
    dir: &Path,
    name: &str,
    columns: &[Column<'_, S>],
    rows: usize,
    at: impl Fn(usize) -> S,
) -> Result<FileDoc, RunDirError> {
    let file = PartialFile::create(dir, name)?;
    let file = write_to(file, columns, rows, at);
    let file = file.map_err(RunDirError::parquet(&dir.join(name)))?;
    file.finish(Some(rows as u64))
}

/// Writes so many rows into a file of any kind.
pub(super) fn write_to<W: Write + Send, S: Copy>(
    file: W,
    columns: &[Column<'_, S>],
    rows: usize,
    at: impl Fn(usize) -> S,
) -> Result<W, ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by("gridrig".to_owned())
        .set_max_row_group_row_count(Some(ROWS_PER_GROUP));
    let encode = |properties, (name, cell): &Column<'_, S>| cell.encode(name, properties);
    let properties = columns.iter().fold(properties, encode).build();
    let field = |(name, cell): &Column<'_, S>| Field::new(*name, cell.data_type(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let schema = Arc::new(schema);
    let mut writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties))?;
    for begin in (0..rows).step_by(ROWS_PER_GROUP) {
        let range = begin..rows.min(begin + ROWS_PER_GROUP);
        let arrays = columns
            .iter()
            .map(|(_, cell)| cell.array(range.clone().map(&at)));
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays.collect())?;
        writer.write(&batch)?;
    }
    writer.into_inner()
}

impl<S> Cell<'_, S> {
    fn data_type(&self) -> DataType {
        match self {
            Cell::Text(_) => DataType::Utf8,
            Cell::U32(_) => DataType::UInt32,
            Cell::U64(_) => DataType::UInt64,
            Cell::I64(_) | Cell::Time(_) | Cell::Length(_) => DataType::Int64,
            Cell::F64(_) => DataType::Float64,
            Cell::Bool(_) => DataType::Boolean,
            Cell::Placement(_) => {
                let item = DataType::Struct(placement_fields());
                DataType::List(Arc::new(Field::new("item", item, false)))
            }
        }
    }

    /// Values that hardly ever repeat are no dictionary: it would hold them all
    /// once, and the rows a number for each. Files are smaller by a quarter to
    /// a half, and quicker to write, hash and read.
    fn encode(&self, name: &str, properties: WriterPropertiesBuilder) -> WriterPropertiesBuilder {
        let column = ColumnPath::from(name);
        match self {
            Cell::F64(_) => properties.set_column_dictionary_enabled(column, false),
            // Differences between neighbours are small.
            Cell::U32(_) | Cell::U64(_) if !NUMBERINGS.contains(&name) => properties,
            Cell::Text(_) | Cell::Bool(_) | Cell::Placement(_) => properties,
            _ => properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED),
        }
    }

    fn array(&self, rows: impl Iterator<Item = S>) -> ArrayRef {
        match self {
            Cell::Text(of) => Arc::new(rows.map(of).collect::<StringArray>()),
            Cell::U32(of) => Arc::new(rows.map(of).collect::<UInt32Array>()),
            Cell::U64(of) => Arc::new(rows.map(of).collect::<UInt64Array>()),
            Cell::I64(of) => Arc::new(rows.map(of).collect::<Int64Array>()),
            Cell::F64(of) => {
                let finite = |row| of(row).filter(|value| value.is_finite());
                Arc::new(rows.map(finite).collect::<Float64Array>())
            }
            Cell::Time(of) => nanos(rows.map(|row| Some(of(row)?.as_nanos()))),
            Cell::Length(of) => nanos(rows.map(|row| Some(of(row)?.as_nanos()))),
            Cell::Bool(of) => Arc::new(rows.map(of).collect::<BooleanArray>()),
            Cell::Placement(of) => placements(rows.map(of)),
        }
    }
}

/// One run of a placement: see `docs/run-directory.md`.
fn placement_fields() -> Fields {
    let number = |name| Field::new(name, DataType::UInt32, false);
    Fields::from(vec![
        Field::new("cluster", DataType::Utf8, false),
        number("resource"),
        number("node"),
        number("nodes"),
        number("processors"),
    ])
}

fn placements<'a>(rows: impl Iterator<Item = Option<Placed<'a>>>) -> ArrayRef {
    let fields = placement_fields();
    let number = || Box::new(UInt32Builder::new());
    let runs = StructBuilder::new(
        fields.clone(),
        vec![
            Box::new(StringBuilder::new()),
            number(),
            number(),
            number(),
            number(),
        ],
    );
    let item = Arc::new(Field::new("item", DataType::Struct(fields), false));
    let mut list = ListBuilder::new(runs).with_field(item);
    for row in rows {
        let Some((cluster, placement)) = row else {
            list.append_null();
            continue;
        };
        for run in placement {
            append_run(list.values(), &cluster, run);
        }
        list.append(true);
    }
    Arc::new(list.finish())
}

fn append_run(runs: &mut StructBuilder, cluster: &str, run: &PlacementRun) {
    if let Some(text) = runs.field_builder::<StringBuilder>(0) {
        text.append_value(cluster);
    }
    let numbers = [u32::from(run.resource), run.node, run.nodes, run.processors];
    for (index, value) in (1..).zip(numbers) {
        if let Some(number) = runs.field_builder::<UInt32Builder>(index) {
            number.append_value(value);
        }
    }
    runs.append(true);
}

/// Nanoseconds as the signed type that every reader of Parquet knows. Past
/// 292 years the greatest value stands.
fn nanos(rows: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    let signed = |nanos| i64::try_from(nanos).unwrap_or(i64::MAX);
    Arc::new(rows.map(|nanos| nanos.map(signed)).collect::<Int64Array>())
}
