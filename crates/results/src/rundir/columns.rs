//! Columns of a Parquet file: each is defined once, by its name and what it
//! holds in a row; schema and arrays follow.

use super::batch::{guarded, reader};
use super::file::PartialFile;
use super::{FileDoc, Result, RunDirError};
use crate::log::CHUNK;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array as _, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array,
    ListArray, RecordBatch, StringArray, StructArray, UInt32Array, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::{SimDuration, SimTime};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Groups of rows that are held in memory at once.
pub(super) const GROUPS_AT_ONCE: usize = 4;

/// Rows of which all columns are encoded before those of the next ones: so many
/// stay in the cache of a processor.
const ROWS_AT_ONCE: usize = 4_096;

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
    /// Its rows in memory.
    pub(super) fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let column = |(name, cell): &Column<'_, S>| {
            let array = cell.array((0..self.rows).map(&self.at));
            (*name, array)
        };
        RecordBatch::try_from_iter(self.columns.iter().map(column))
    }

    /// Writes its file. The bytes depend on nothing but the values.
    pub(super) fn write(&self, dir: &Path) -> Result<FileDoc> {
        let file = PartialFile::create(dir, self.name, "")?;
        let file = write_to(file, &self.columns, self.rows, &self.at);
        let file = file.map_err(RunDirError::unwritten(&dir.join(self.name)))?;
        file.finish(Some(self.rows as u64))
    }

    /// Where the file of a run directory has other values than this table, in
    /// words; `None` if it has them all. A column that the file does not have is of
    /// a later version.
    pub(super) fn difference(&self, dir: &Path) -> Result<Option<String>> {
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

/// Writes so many rows into a file of any kind.
pub(super) fn write_to<W: Write + Send, S: Copy>(
    file: W,
    columns: &[Column<'_, S>],
    rows: usize,
    at: &(impl Fn(usize) -> S + Sync),
) -> Result<W, ParquetError> {
    let mut file = GroupedFile::new(file, columns)?;
    let groups = (0..rows)
        .step_by(CHUNK)
        .map(|begin| begin..rows.min(begin + CHUNK));
    let groups: Vec<Range<usize>> = groups.collect();
    for some in groups.chunks(GROUPS_AT_ONCE) {
        file.write(columns, some, |_, rows, cell| {
            cell.keyed_array(rows.map(at))
        })?;
    }
    file.finish()
}

/// A Parquet file that is written some groups of rows at a time, each on a processor
/// of its own.
pub(super) struct GroupedFile<W: Write> {
    writer: SerializedFileWriter<W>,
    encoders: ArrowRowGroupWriterFactory,
    schema: Schema,
    groups: usize,
}

impl<W: Write + Send> GroupedFile<W> {
    pub(super) fn new<S>(file: W, columns: &[Column<'_, S>]) -> Result<Self, ParquetError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
            .set_created_by("gridrig".to_owned())
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_max_row_group_row_count(Some(CHUNK));
        let told = |properties, (name, cell): &Column<'_, S>| cell.encode(name, properties);
        let properties = columns.iter().fold(properties, told).build();
        let field = |(name, cell): &Column<'_, S>| Field::new(*name, cell.data_type(), true);
        let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
        let writer = ArrowWriter::try_new(file, Arc::new(schema.clone()), Some(properties))?;
        let (writer, encoders) = writer.into_serialized_writer()?;
        Ok(GroupedFile {
            writer,
            encoders,
            schema,
            groups: 0,
        })
    }

    /// Writes groups of these rows, whose values `of` answers, told which group it is.
    pub(super) fn write<'a, S>(
        &mut self,
        columns: &[Column<'a, S>],
        groups: &[Range<usize>],
        of: impl Fn(usize, Range<usize>, &Cell<'a, S>) -> ArrayRef + Sync,
    ) -> Result<(), ParquetError> {
        let with_encoders = |(index, rows): (usize, &Range<usize>)| {
            let encoders = self.encoders.create_column_writers(self.groups + index)?;
            Ok((index, rows.clone(), encoders))
        };
        let groups = groups.iter().enumerate().map(with_encoders);
        let groups = groups.collect::<Result<Vec<_>, ParquetError>>()?;
        self.groups += groups.len();
        let schema = &self.schema;
        let encoded = groups.into_par_iter().map(|(index, rows, mut encoders)| {
            for begin in rows.clone().step_by(ROWS_AT_ONCE) {
                let some = begin..rows.end.min(begin + ROWS_AT_ONCE);
                let mut leaves = encoders.iter_mut();
                for ((_, cell), field) in columns.iter().zip(schema.fields()) {
                    let values = of(index, some.clone(), cell);
                    for (leaf, encoder) in compute_leaves(field, &values)?.iter().zip(&mut leaves) {
                        encoder.write(leaf)?;
                    }
                }
            }
            let encoders = encoders.into_iter();
            encoders
                .map(ArrowColumnWriter::close)
                .collect::<Result<Vec<_>, _>>()
        });
        for columns in encoded.collect::<Vec<Result<_, ParquetError>>>() {
            let mut group = self.writer.next_row_group()?;
            for leaf in columns? {
                leaf.append_to_row_group(&mut group)?;
            }
            group.close()?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<W, ParquetError> {
        self.writer.into_inner()
    }
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

    /// The values as their encoder takes them quickest: of texts, which are few, the
    /// number of each.
    pub(super) fn keyed_array(&self, rows: impl Iterator<Item = S>) -> ArrayRef {
        match self {
            Cell::Text(of) => keyed(rows.map(of)),
            _ => self.array(rows),
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

/// Texts as numbers and what these stand for. A text that lies where an earlier one
/// lay is the same.
fn keyed<'a>(rows: impl Iterator<Item = Option<Cow<'a, str>>>) -> ArrayRef {
    const PLACES: usize = 64;
    let mut known: BTreeMap<Cow<'a, str>, i32> = BTreeMap::new();
    let mut texts = Vec::new();
    let mut places: [(&str, i32); PLACES] = [("", -1); PLACES];
    let mut key = |text: Cow<'a, str>| {
        let place = match text {
            Cow::Borrowed(text) => {
                let at = text.as_ptr().addr();
                let place = &mut places[(at ^ at >> 6) % PLACES];
                if place.1 >= 0 && std::ptr::eq(place.0, text) {
                    return place.1;
                }
                Some((place, text))
            }
            Cow::Owned(_) => None,
        };
        let next = known.len() as i32;
        let key = *known.entry(text).or_insert_with_key(|text| {
            texts.push(text.clone());
            next
        });
        if let Some((place, text)) = place {
            *place = (text, key);
        }
        key
    };
    let keys: Int32Array = rows.map(|text| text.map(&mut key)).collect();
    let texts: StringArray = texts.into_iter().map(Some).collect();
    Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::new(texts)))
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
    let rows: Vec<Option<Placed<'a>>> = rows.collect();
    let runs = || {
        let placed = rows.iter().flatten();
        placed.flat_map(|(cluster, runs)| runs.iter().map(move |run| (cluster, run)))
    };
    let number = |of: fn(&PlacementRun) -> u32| -> ArrayRef {
        Arc::new(UInt32Array::from_iter_values(
            runs().map(|(_, run)| of(run)),
        ))
    };
    let clusters = runs().map(|(cluster, _)| cluster.as_ref());
    let columns = vec![
        Arc::new(StringArray::from_iter_values(clusters)) as ArrayRef,
        number(|run| run.resource.into()),
        number(|run| run.node),
        number(|run| run.nodes),
        number(|run| run.processors),
    ];
    let fields = placement_fields();
    let lengths = rows
        .iter()
        .map(|row| row.as_ref().map_or(0, |(_, runs)| runs.len()));
    let nulls = NullBuffer::from_iter(rows.iter().map(Option::is_some));
    let item = Arc::new(Field::new("item", DataType::Struct(fields.clone()), false));
    Arc::new(ListArray::new(
        item,
        OffsetBuffer::from_lengths(lengths),
        Arc::new(StructArray::new(fields, columns, None)),
        Some(nulls),
    ))
}

/// Nanoseconds as the signed type that every reader of Parquet knows. Past
/// 292 years the greatest value stands.
fn nanos(rows: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    let signed = |nanos| i64::try_from(nanos).unwrap_or(i64::MAX);
    Arc::new(rows.map(|nanos| nanos.map(signed)).collect::<Int64Array>())
}
