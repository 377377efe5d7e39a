//! Columns of a Parquet file: each is defined once, by its name and what it
//! holds in a row; schema and values follow.

use super::batch::{guarded, reader};
use super::file::PartialFile;
use super::reader::Rows;
use super::texts::Texts;
use super::values::{Kind, LeafWriter, Placed, Values};
use super::{FileDoc, Result, RunDirError};
use crate::log::CHUNK;
use bytes::Bytes;
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::{SimDuration, SimTime};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnPath, Type};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::mem::discriminant;
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
    Placement(fn(S) -> Option<Nodes<'a>>),
}

/// The name of a cluster, and the nodes there.
type Nodes<'a> = (Cow<'a, str>, &'a [PlacementRun]);

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
    pub(super) fn in_memory(&self) -> Rows {
        let column = |(name, cell): &Column<'_, S>| {
            let values = cell.values((0..self.rows).map(&self.at));
            ((*name).to_owned(), values)
        };
        Rows {
            columns: self.columns.iter().map(column).collect(),
            rows: self.rows,
        }
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
            let (mut reader, rows) = reader(path)?;
            if rows != self.rows as u64 {
                let (name, expected) = (self.name, self.rows);
                return Ok(Some(format!("{name} has {rows} rows: expected {expected}")));
            }
            let mut begin = 0;
            while let Some(records) = reader.next()? {
                let range = begin..self.rows.min(begin + records.rows);
                begin = range.end;
                for (name, cell) in &self.columns {
                    let Some(found) = records.column(name) else {
                        continue;
                    };
                    let expected = cell.values(range.clone().map(&self.at));
                    if discriminant(found) != discriminant(&expected) {
                        let table = self.name;
                        return Ok(Some(format!(
                            "{table}: column {name} has another type than it was written with"
                        )));
                    }
                    let differs = |row: &usize| !found.is_same(&expected, *row);
                    if let Some(at) = (0..records.rows).find(differs) {
                        let shown = |of: &Values| of.shown(at).unwrap_or("null".to_owned());
                        let (row, found) = (range.start + at + 1, shown(found));
                        let (table, expected) = (self.name, shown(&expected));
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
        file.write(columns, some, |_, rows, (_, cell)| {
            cell.values(rows.map(at))
        })?;
    }
    file.finish()
}

/// A Parquet file that is written some groups of rows at a time, each on a processor
/// of its own.
pub(super) struct GroupedFile<W: Write> {
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> GroupedFile<W> {
    pub(super) fn new<S>(file: W, columns: &[Column<'_, S>]) -> Result<Self, ParquetError> {
        let told = |properties, (name, cell): &Column<'_, S>| cell.encode(name, properties);
        let kinds = columns.iter().map(|(name, cell)| (*name, cell.kind()));
        Self::of(file, kinds, |properties| {
            columns.iter().fold(properties, told)
        })
    }

    /// A file with these columns, whose encodings `told` says.
    pub(super) fn of<'n>(
        file: W,
        columns: impl Iterator<Item = (&'n str, Kind)>,
        told: impl FnOnce(WriterPropertiesBuilder) -> WriterPropertiesBuilder,
    ) -> Result<Self, ParquetError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
            .set_created_by("gridrig".to_owned())
            .set_statistics_enabled(EnabledStatistics::Chunk)
            // Not all columns have pages that it would be about.
            .set_offset_index_disabled(true);
        let fields = columns.map(|(name, kind)| kind.column(name));
        let fields = fields.collect::<Result<_, ParquetError>>()?;
        let schema = Type::group_type_builder("schema")
            .with_fields(fields)
            .build()?;
        let properties = Arc::new(told(properties).build());
        let writer = SerializedFileWriter::new(file, Arc::new(schema), properties)?;
        Ok(GroupedFile { writer })
    }

    /// Writes groups of these rows, whose values of each column `of` answers, told which
    /// group it is.
    pub(super) fn write<C: Sync>(
        &mut self,
        columns: &[C],
        groups: &[Range<usize>],
        of: impl Fn(usize, Range<usize>, &C) -> Values + Sync,
    ) -> Result<(), ParquetError> {
        let leaves = self.writer.schema_descr().columns();
        let properties = self.writer.properties();
        let encoded = groups.par_iter().enumerate().map(|(group, rows)| {
            let sinks = leaves.iter().map(|_| TrackedWrite::new(Vec::new()));
            let mut sinks: Vec<TrackedWrite<Vec<u8>>> = sinks.collect();
            let writer = |(leaf, sink)| {
                let pages = Box::new(SerializedPageWriter::new(sink));
                LeafWriter::new(leaf, properties, pages)
            };
            let mut writers: Vec<LeafWriter<'_>> =
                leaves.iter().zip(&mut sinks).map(writer).collect();
            for begin in rows.clone().step_by(ROWS_AT_ONCE) {
                let some = begin..rows.end.min(begin + ROWS_AT_ONCE);
                let mut own = writers.iter_mut();
                for column in columns {
                    of(group, some.clone(), column).write(&mut own)?;
                }
            }
            let closed = writers.into_iter().map(LeafWriter::close);
            let closed = closed.collect::<Result<Vec<_>, _>>()?;
            let bytes = sinks.into_iter().map(TrackedWrite::into_inner);
            let bytes = bytes.collect::<Result<Vec<_>, _>>()?;
            Ok(bytes
                .into_iter()
                .map(Bytes::from)
                .zip(closed)
                .collect::<Vec<_>>())
        });
        for columns in encoded.collect::<Vec<Result<_, ParquetError>>>() {
            let mut group = self.writer.next_row_group()?;
            for (bytes, closed) in columns? {
                group.append_column(&bytes, closed)?;
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
    fn kind(&self) -> Kind {
        match self {
            Cell::Text(_) => Kind::Text,
            Cell::U32(_) => Kind::U32,
            Cell::U64(_) => Kind::U64,
            Cell::I64(_) | Cell::Time(_) | Cell::Length(_) => Kind::I64,
            Cell::F64(_) => Kind::F64,
            Cell::Bool(_) => Kind::Bool,
            Cell::Placement(_) => Kind::Placement,
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

    /// The values of some rows.
    pub(super) fn values(&self, rows: impl Iterator<Item = S>) -> Values {
        match self {
            Cell::Text(of) => {
                let mut known = Known::default();
                let texts = rows.map(|row| of(row).map(|text| known.of(text)));
                let rows = texts.collect();
                Values::Text(Texts::new(known.all, rows))
            }
            Cell::U32(of) => Values::U32(rows.map(of).collect()),
            Cell::U64(of) => Values::U64(rows.map(of).collect()),
            Cell::I64(of) => Values::I64(rows.map(of).collect()),
            Cell::F64(of) => {
                let finite = |row| of(row).filter(|value| value.is_finite());
                Values::F64(rows.map(finite).collect())
            }
            Cell::Time(of) => nanos(rows.map(|row| Some(of(row)?.as_nanos()))),
            Cell::Length(of) => nanos(rows.map(|row| Some(of(row)?.as_nanos()))),
            Cell::Bool(of) => Values::Bool(rows.map(of).collect()),
            Cell::Placement(of) => {
                let (mut known, mut all) = (Known::default(), Placed::default());
                let mut clusters = Vec::new();
                for row in rows.map(of) {
                    all.push(row.as_ref().map(|(_, runs)| *runs));
                    if let Some((cluster, runs)) = row
                        && !runs.is_empty()
                    {
                        let cluster = Some(known.of(cluster));
                        clusters.extend(runs.iter().map(|_| cluster));
                    }
                }
                Values::Placement(all.with_clusters(Texts::new(known.all, clusters)))
            }
        }
    }
}

/// Places of texts of which it is remembered what lay there.
const PLACES: usize = 64;

/// Texts, which are few, each held once. One that lies where an earlier one lay is the same.
struct Known<'a> {
    all: Vec<ByteArray>,
    known: BTreeMap<Cow<'a, str>, u32>,
    places: [Option<(&'a str, u32)>; PLACES],
}

impl Default for Known<'_> {
    fn default() -> Self {
        Known {
            all: Vec::new(),
            known: BTreeMap::new(),
            places: [None; PLACES],
        }
    }
}

impl<'a> Known<'a> {
    /// The number of a text.
    fn of(&mut self, text: Cow<'a, str>) -> u32 {
        let place = match text {
            Cow::Borrowed(text) => {
                let at = text.as_ptr().addr();
                let place = &mut self.places[(at ^ at >> 6) % PLACES];
                if let Some((own, number)) = *place
                    && std::ptr::eq(own, text)
                {
                    return number;
                }
                Some((place, text))
            }
            Cow::Owned(_) => None,
        };
        let all = &mut self.all;
        let number = *self.known.entry(text).or_insert_with_key(|text| {
            all.push(ByteArray::from(&**text));
            all.len() as u32 - 1
        });
        if let Some((place, text)) = place {
            *place = Some((text, number));
        }
        number
    }
}

/// Nanoseconds as the signed type that every reader of Parquet knows. Past
/// 292 years the greatest value stands.
fn nanos(rows: impl Iterator<Item = Option<u64>>) -> Values {
    let signed = |nanos| i64::try_from(nanos).unwrap_or(i64::MAX);
    Values::I64(rows.map(|nanos| nanos.map(signed)).collect())
}
