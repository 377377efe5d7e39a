//! Columns of a Parquet file: each is defined once, by its name and what it
//! holds in a row; schema and arrays follow.

use super::batch::{guarded, reader};
use super::file::PartialFile;
use super::{FileDoc, RunDirError};
use arrow_array::builder::{ListBuilder, StringBuilder, StructBuilder, UInt32Builder};
use arrow_array::{
    Array as _, ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::{SimDuration, SimTime};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, compute_leaves};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;
use rayon::prelude::*;
use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Rows per group.
const ROWS_PER_GROUP: usize = 65_536;

/// Groups of rows that are held in memory at once, so that no processor waits for the
/// dearest column of one.
const GROUPS_AT_ONCE: usize = 4;

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
type Placed<'a> = (Cow<'a, str>, &'a [PlacementRun]);

/// A column by its name.
pub(super) type Column<'a, S> = (&'static str, Cell<'a, S>);

/// A table of a run, made from `rows` rows that `at` answers.
pub(super) struct Table<'a, S, F> {
    pub(super) name: &'static str,
    pub(super) columns: Vec<Column<'a, S>>,
    pub(super) rows: usize,
    pub(super) at: F,
}

impl<S: Copy, F: Fn(usize) -> S + Sync> Table<'_, S, F> {
    /// Writes its file. The bytes depend on nothing but the values.
    pub(super) fn write(&self, dir: &Path) -> Result<FileDoc, RunDirError> {
        let file = PartialFile::create(dir, self.name)?;
        let file = write_to(file, &self.columns, self.rows, &self.at);
        let file = file.map_err(RunDirError::parquet(&dir.join(self.name)))?;
        file.finish(Some(self.rows as u64))
    }

    /// Where the file of a run directory has other values than this table, in
    /// words; `None` if it has them all. A column that the file does not have is of
    /// a later version.
    pub(super) fn difference(&self, dir: &Path) -> Result<Option<String>, RunDirError> {
        guarded(dir, self.name, |path| {
            let (reader, rows) = reader(path)?;
            if rows != self.rows as u64 {
                let (name, expected) = (self.name, self.rows);
                return Ok(Some(format!("{name} has {rows} rows: expected {expected}")));
            }
            let mut begin = 0;
            for records in reader {
                let records = records.map_err(|error| RunDirError::parquet(path)(error.into()))?;
                let range = begin..self.rows.min(begin + records.num_rows());
                begin = range.end;
                for (name, cell) in &self.columns {
                    let Some(found) = records.column_by_name(name) else {
                        continue;
                    };
                    let expected = cell.array(range.clone().map(&self.at));
                    if **found != *expected {
                        let at = first_difference(found, &expected);
                        let (row, found) = (range.start + at + 1, shown(found, at));
                        let (table, expected) = (self.name, shown(&expected, at));
                        return Ok(Some(format!(
                            "{table}:{row}: field {name} = {found}: expected {expected}"
                        )));
                    }
                }
            }
            Ok(None)
        })
    }
}

fn first_difference(one: &ArrayRef, other: &ArrayRef) -> usize {
    let rows = one.len().min(other.len());
    let differs = |row: &usize| one.slice(*row, 1) != other.slice(*row, 1);
    (0..rows).find(differs).unwrap_or(rows)
}

/// A value as text: `null` for none.
fn shown(values: &ArrayRef, row: usize) -> String {
    let text = format!("{:?}", values.slice(row.min(values.len()), 1));
    let lines = text.lines().skip(2).map(str::trim).collect::<Vec<_>>();
    let value = lines.join(" ");
    value
        .trim_end_matches(']')
        .trim_end_matches([',', ' '])
        .to_owned()
}

/// Writes so many rows into a file of any kind. Columns are encoded on all
/// processors.
pub(super) fn write_to<W: Write + Send, S: Copy>(
    file: W,
    columns: &[Column<'_, S>],
    rows: usize,
    at: &(impl Fn(usize) -> S + Sync),
) -> Result<W, ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by("gridrig".to_owned())
        .set_max_row_group_row_count(Some(ROWS_PER_GROUP));
    let told = |properties, (name, cell): &Column<'_, S>| cell.encode(name, properties);
    let properties = columns.iter().fold(properties, told).build();
    let field = |(name, cell): &Column<'_, S>| Field::new(*name, cell.data_type(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let writer = ArrowWriter::try_new(file, Arc::new(schema.clone()), Some(properties))?;
    let (mut writer, groups) = writer.into_serialized_writer()?;
    let begins: Vec<usize> = (0..rows).step_by(ROWS_PER_GROUP).collect();
    let begins = (0..).zip(begins).collect::<Vec<(usize, usize)>>();
    for some in begins.chunks(GROUPS_AT_ONCE) {
        let mut parts = Vec::new();
        for (number, begin) in some {
            let range = *begin..rows.min(begin + ROWS_PER_GROUP);
            let mut encoders = groups.create_column_writers(*number)?.into_iter();
            for ((_, cell), field) in columns.iter().zip(schema.fields()) {
                let own = encoders.by_ref().take(cell.leaves()).collect();
                parts.push((cell, field, range.clone(), own));
            }
        }
        let part = |(cell, field, range, own): (&Cell<'_, S>, &FieldRef, Range<usize>, _)| {
            encode(own, field, &cell.array(range.map(at)))
        };
        let encoded: Vec<Result<_, _>> = parts.into_par_iter().map(part).collect();
        let mut encoded = encoded.into_iter();
        for _ in some {
            let mut group = writer.next_row_group()?;
            for column in encoded.by_ref().take(columns.len()) {
                for leaf in column? {
                    leaf.append_to_row_group(&mut group)?;
                }
            }
            group.close()?;
        }
    }
    writer.into_inner()
}

/// The values of a column in a group of rows, in the order of its leaves.
fn encode(
    encoders: Vec<ArrowColumnWriter>,
    field: &Field,
    values: &ArrayRef,
) -> Result<Vec<ArrowColumnChunk>, ParquetError> {
    let leaves = compute_leaves(field, values)?;
    let encode = |(mut encoder, leaf): (ArrowColumnWriter, _)| {
        encoder.write(&leaf)?;
        encoder.close()
    };
    encoders.into_iter().zip(leaves).map(encode).collect()
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

    /// Columns of Parquet that this one is.
    fn leaves(&self) -> usize {
        match self {
            Cell::Placement(_) => placement_fields().len(),
            _ => 1,
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
