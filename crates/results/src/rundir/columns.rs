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
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Rows per group: what is held in memory at once.
const ROWS_PER_GROUP: usize = 65_536;

/// Numbers of jobs, which mostly rise from row to row.
const NUMBERINGS: [&str; 2] = ["job_id", "trace_job"];

type Of<'a, T> = Box<dyn Fn(usize) -> Option<T> + 'a>;

/// What a column holds in the row of that number.
enum Cell<'a> {
    Text(Of<'a, Cow<'a, str>>),
    U32(Of<'a, u32>),
    U64(Of<'a, u64>),
    I64(Of<'a, i64>),
    F64(Of<'a, f64>),
    Bool(Of<'a, bool>),
    Placement(Of<'a, (String, &'a [PlacementRun])>),
}

/// The columns of a file.
#[derive(Default)]
pub(super) struct Columns<'a>(Vec<(&'static str, Cell<'a>)>);

impl<'a> Columns<'a> {
    pub(super) fn text<T: Into<Cow<'a, str>>>(
        &mut self,
        name: &'static str,
        of: impl Fn(usize) -> Option<T> + 'a,
    ) {
        self.add(name, Cell::Text(Box::new(move |row| of(row).map(T::into))));
    }

    pub(super) fn u32(&mut self, name: &'static str, of: impl Fn(usize) -> Option<u32> + 'a) {
        self.add(name, Cell::U32(Box::new(of)));
    }

    pub(super) fn i64(&mut self, name: &'static str, of: impl Fn(usize) -> Option<i64> + 'a) {
        self.add(name, Cell::I64(Box::new(of)));
    }

    pub(super) fn u64(&mut self, name: &'static str, of: impl Fn(usize) -> Option<u64> + 'a) {
        self.add(name, Cell::U64(Box::new(of)));
    }

    pub(super) fn bool(&mut self, name: &'static str, of: impl Fn(usize) -> Option<bool> + 'a) {
        self.add(name, Cell::Bool(Box::new(of)));
    }

    /// Null where the value is none or not finite.
    pub(super) fn f64(&mut self, name: &'static str, of: impl Fn(usize) -> Option<f64> + 'a) {
        let finite = move |row| of(row).filter(|value| value.is_finite());
        self.add(name, Cell::F64(Box::new(finite)));
    }

    /// An instant in nanoseconds since the run's start.
    pub(super) fn time(&mut self, name: &'static str, of: impl Fn(usize) -> Option<SimTime> + 'a) {
        let nanos = move |row| of(row).map(|at| signed(at.as_nanos()));
        self.add(name, Cell::I64(Box::new(nanos)));
    }

    /// A length of time in nanoseconds.
    pub(super) fn duration(
        &mut self,
        name: &'static str,
        of: impl Fn(usize) -> Option<SimDuration> + 'a,
    ) {
        let nanos = move |row| of(row).map(|length| signed(length.as_nanos()));
        self.add(name, Cell::I64(Box::new(nanos)));
    }

    /// A placement with the name of its cluster.
    pub(super) fn placement(
        &mut self,
        name: &'static str,
        of: impl Fn(usize) -> Option<(String, &'a [PlacementRun])> + 'a,
    ) {
        self.add(name, Cell::Placement(Box::new(of)));
    }

    fn add(&mut self, name: &'static str, cell: Cell<'a>) {
        self.0.push((name, cell));
    }

    /// Writes so many rows. The bytes depend on nothing but the values.
    pub(super) fn write(
        &self,
        dir: &Path,
        name: &str,
        rows: usize,
    ) -> Result<FileDoc, RunDirError> {
        let path = dir.join(name);
        let file = PartialFile::create(dir, name)?;
        let file = self
            .write_to(file, rows)
            .map_err(RunDirError::parquet(&path))?;
        file.finish(Some(rows as u64))
    }

    /// Only those of these names.
    pub(super) fn only(mut self, names: &[&str]) -> Self {
        self.0.retain(|(name, _)| names.contains(name));
        self
    }

    /// Writes so many rows into a file of any kind.
    pub(super) fn write_to<W: Write + Send>(
        &self,
        file: W,
        rows: usize,
    ) -> Result<W, ParquetError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_created_by("gridrig".to_owned())
            .set_max_row_group_row_count(Some(ROWS_PER_GROUP));
        let columns = self.0.iter();
        let properties = columns.fold(properties, |properties, (name, cell)| {
            cell.encode(name, properties)
        });
        let properties = properties.build();
        let schema = Arc::new(self.schema());
        let mut writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties))?;
        for begin in (0..rows).step_by(ROWS_PER_GROUP) {
            let range = begin..rows.min(begin + ROWS_PER_GROUP);
            let arrays = self.0.iter().map(|(_, cell)| cell.array(range.clone()));
            let batch = RecordBatch::try_new(Arc::clone(&schema), arrays.collect())?;
            writer.write(&batch)?;
        }
        writer.into_inner()
    }

    fn schema(&self) -> Schema {
        let field =
            |(name, cell): &(&'static str, Cell<'a>)| Field::new(*name, cell.data_type(), true);
        Schema::new(self.0.iter().map(field).collect::<Vec<_>>())
    }
}

impl Cell<'_> {
    fn data_type(&self) -> DataType {
        match self {
            Cell::Text(_) => DataType::Utf8,
            Cell::U32(_) => DataType::UInt32,
            Cell::U64(_) => DataType::UInt64,
            Cell::I64(_) => DataType::Int64,
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
            Cell::I64(_) | Cell::U32(_) | Cell::U64(_) => properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED),
            Cell::Text(_) | Cell::Bool(_) | Cell::Placement(_) => properties,
        }
    }

    fn array(&self, rows: Range<usize>) -> ArrayRef {
        match self {
            Cell::Text(of) => Arc::new(rows.map(of).collect::<StringArray>()),
            Cell::U32(of) => Arc::new(rows.map(of).collect::<UInt32Array>()),
            Cell::U64(of) => Arc::new(rows.map(of).collect::<UInt64Array>()),
            Cell::I64(of) => Arc::new(rows.map(of).collect::<Int64Array>()),
            Cell::F64(of) => Arc::new(rows.map(of).collect::<Float64Array>()),
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

fn placements<'a>(rows: impl Iterator<Item = Option<(String, &'a [PlacementRun])>>) -> ArrayRef {
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
fn signed(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}
