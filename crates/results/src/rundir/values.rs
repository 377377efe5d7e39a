//! Values of a column of a Parquet file: some rows of it, each with a value or none.

use super::texts::{TextColumn, Texts};
use gridrig_core::placement::PlacementRun;
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::page::PageWriter;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::{
    ColumnCloseResult, ColumnWriter, get_column_writer, get_typed_column_writer_mut,
};
use parquet::data_type::{BoolType, ByteArray, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::schema::types::{ColumnDescPtr, Type, TypePtr};
use serde_json::{Value, json};
use std::ops::Range;
use std::sync::Arc;

/// Fields of a run of a placement, after the cluster: see `docs/run-directory.md`.
const NUMBERS: [&str; 4] = ["resource", "node", "nodes", "processors"];

/// What the columns of a run hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    U32,
    U64,
    I64,
    F64,
    Bool,
    Placement,
}

/// Values of some rows.
#[derive(Debug)]
pub(super) enum Values {
    Text(Texts),
    U32(Vec<Option<u32>>),
    U64(Vec<Option<u64>>),
    I64(Vec<Option<i64>>),
    F64(Vec<Option<f64>>),
    Bool(Vec<Option<bool>>),
    Placement(Placed),
    /// What no table of a run has: it is not read.
    Other,
}

/// Placements, each some runs of nodes of a cluster.
#[derive(Debug, Default)]
pub(super) struct Placed {
    /// Which of the runs are those of a row.
    pub(super) rows: Vec<Option<Range<usize>>>,
    clusters: Texts,
    /// By [`NUMBERS`].
    numbers: [Vec<Option<u32>>; 4],
}

impl Kind {
    /// The column of a file that holds it.
    pub(super) fn column(self, name: &str) -> Result<TypePtr, ParquetError> {
        let of = |name: &str, kind, holds, repetition| {
            Type::primitive_type_builder(name, kind)
                .with_logical_type(holds)
                .with_repetition(repetition)
                .build()
                .map(Arc::new)
        };
        let unsigned = |bits| Some(LogicalType::integer(bits, false));
        let (kind, holds) = match self {
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::U32 => (Physical::INT32, unsigned(32)),
            Kind::U64 => (Physical::INT64, unsigned(64)),
            Kind::I64 => (Physical::INT64, None),
            Kind::F64 => (Physical::DOUBLE, None),
            Kind::Bool => (Physical::BOOLEAN, None),
            Kind::Placement => {
                let field = |name: &str, (kind, holds)| of(name, kind, holds, Repetition::REQUIRED);
                let text = (Physical::BYTE_ARRAY, Some(LogicalType::String));
                let mut fields = vec![field("cluster", text)?];
                for name in NUMBERS {
                    fields.push(field(name, (Physical::INT32, unsigned(32)))?);
                }
                let group = |name: &str, repetition, holds, fields| {
                    Type::group_type_builder(name)
                        .with_repetition(repetition)
                        .with_logical_type(holds)
                        .with_fields(fields)
                        .build()
                        .map(Arc::new)
                };
                let item = group("item", Repetition::REQUIRED, None, fields)?;
                let list = group("list", Repetition::REPEATED, None, vec![item])?;
                let holds = Some(LogicalType::List);
                return group(name, Repetition::OPTIONAL, holds, vec![list]);
            }
        };
        of(name, kind, holds, Repetition::OPTIONAL)
    }

    /// What a column has whose leaves these are, and those of them that are read, in order;
    /// `None` for what no table of a run has.
    pub(super) fn of(leaves: &[(usize, ColumnDescPtr)]) -> Option<(Kind, Vec<usize>)> {
        let plain = |leaf: &ColumnDescPtr| {
            Some(match (leaf.physical_type(), leaf.converted_type()) {
                (Physical::BYTE_ARRAY, ConvertedType::UTF8) => Kind::Text,
                (Physical::INT32, ConvertedType::UINT_32) => Kind::U32,
                (Physical::INT64, ConvertedType::UINT_64) => Kind::U64,
                (Physical::INT64, ConvertedType::NONE | ConvertedType::INT_64) => Kind::I64,
                (Physical::DOUBLE, _) => Kind::F64,
                (Physical::BOOLEAN, _) => Kind::Bool,
                _ => return None,
            })
        };
        match leaves {
            [(at, leaf)] if leaf.max_rep_level() == 0 && leaf.max_def_level() <= 1 => {
                Some((plain(leaf)?, vec![*at]))
            }
            _ => {
                let fields = NUMBERS.map(|name| (name, Kind::U32)).into_iter();
                let fields = std::iter::once(("cluster", Kind::Text)).chain(fields);
                let field = |(name, kind): (&str, Kind)| {
                    let mut leaves = leaves.iter();
                    let (at, _) = leaves.find(|(_, leaf)| {
                        leaf.name() == name
                            && leaf.max_rep_level() == 1
                            && plain(leaf) == Some(kind)
                    })?;
                    Some(*at)
                };
                let fields: Option<Vec<usize>> = fields.map(field).collect();
                Some((Kind::Placement, fields?))
            }
        }
    }
}

impl Values {
    /// The next rows of a column, at most so many.
    pub(super) fn read(
        kind: Kind,
        leaves: &mut [Leaf],
        most: usize,
    ) -> Result<Values, ParquetError> {
        use ColumnReader as Of;
        let [first, others @ ..] = leaves else {
            return Err(ParquetError::General("a column without leaves".to_owned()));
        };
        let level = first.level;
        Ok(match (kind, &mut first.reader) {
            (Kind::Text, Of::ByteArrayColumnReader(of)) => {
                let texts = Texts::each(flat(of, level, most, |it| it)?.into_iter());
                texts.check()?;
                Values::Text(texts)
            }
            (Kind::U32, Of::Int32ColumnReader(of)) => {
                Values::U32(flat(of, level, most, i32::cast_unsigned)?)
            }
            (Kind::U64, Of::Int64ColumnReader(of)) => {
                Values::U64(flat(of, level, most, i64::cast_unsigned)?)
            }
            (Kind::I64, Of::Int64ColumnReader(of)) => Values::I64(flat(of, level, most, |it| it)?),
            (Kind::F64, Of::DoubleColumnReader(of)) => Values::F64(flat(of, level, most, |it| it)?),
            (Kind::Bool, Of::BoolColumnReader(of)) => Values::Bool(flat(of, level, most, |it| it)?),
            (Kind::Placement, Of::ByteArrayColumnReader(of)) => {
                let (rows, clusters) = lists(of, (level, first.entry), most, |it| it)?;
                let clusters = Texts::each(clusters.into_iter());
                clusters.check()?;
                let mut placed = Placed {
                    rows,
                    clusters,
                    ..Placed::default()
                };
                for (leaf, numbers) in others.iter_mut().zip(&mut placed.numbers) {
                    if let Of::Int32ColumnReader(of) = &mut leaf.reader {
                        let levels = (leaf.level, leaf.entry);
                        *numbers = lists(of, levels, most, i32::cast_unsigned)?.1;
                    }
                    if numbers.len() != placed.clusters.len() {
                        let said = "fields of placements of which some rows have more than others";
                        return Err(ParquetError::General(said.to_owned()));
                    }
                }
                Values::Placement(placed)
            }
            _ => return Err(other_type()),
        })
    }

    /// Writes them behind those that the leaves of the column have.
    pub(super) fn write<'a, 'w: 'a>(
        self,
        leaves: &mut impl Iterator<Item = &'a mut LeafWriter<'w>>,
    ) -> Result<(), ParquetError> {
        let mut leaf = || {
            let missing = || ParquetError::General("a column without leaves".to_owned());
            leaves.next().ok_or_else(missing)
        };
        match self {
            Values::Text(values) => leaf()?.texts()?.put(&values),
            Values::U32(values) => put::<Int32Type, _>(leaf()?, values, u32::cast_signed),
            Values::U64(values) => put::<Int64Type, _>(leaf()?, values, u64::cast_signed),
            Values::I64(values) => put::<Int64Type, _>(leaf()?, values, |it| it),
            Values::F64(values) => put::<DoubleType, _>(leaf()?, values, |it| it),
            Values::Bool(values) => put::<BoolType, _>(leaf()?, values, |it| it),
            Values::Placement(placed) => {
                // A row without, one without runs, its first run and its others.
                let levels = placed.rows.iter().flat_map(|row| {
                    let runs = row.as_ref().map_or(0, ExactSizeIterator::len);
                    let others = (1..runs).map(|_| (2, 1));
                    let first = (i16::from(row.is_some()) + i16::from(runs > 0), 0);
                    std::iter::once(first).chain(others)
                });
                let (defined, repeated): (Vec<i16>, Vec<i16>) = levels.unzip();
                let texts = leaf()?.texts()?;
                texts.put_lists(&placed.clusters, &defined, &repeated)?;
                let levels = (defined.as_slice(), Some(repeated.as_slice()));
                for numbers in placed.numbers {
                    let numbers = numbers.into_iter().flatten().map(u32::cast_signed);
                    put_dense::<Int32Type>(leaf()?, &numbers.collect::<Vec<_>>(), levels)?;
                }
                Ok(())
            }
            Values::Other => Ok(()),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Values::Text(values) => values.len(),
            Values::U32(values) => values.len(),
            Values::U64(values) => values.len(),
            Values::I64(values) => values.len(),
            Values::F64(values) => values.len(),
            Values::Bool(values) => values.len(),
            Values::Placement(placed) => placed.rows.len(),
            Values::Other => 0,
        }
    }

    /// Whether two columns have the same in a row.
    pub(super) fn is_same(&self, other: &Values, row: usize) -> bool {
        match (self, other) {
            (Values::Text(own), Values::Text(other)) => own.get(row) == other.get(row),
            (Values::U32(own), Values::U32(other)) => own.get(row) == other.get(row),
            (Values::U64(own), Values::U64(other)) => own.get(row) == other.get(row),
            (Values::I64(own), Values::I64(other)) => own.get(row) == other.get(row),
            (Values::F64(own), Values::F64(other)) => {
                let bits = |of: &[Option<f64>]| of.get(row).map(|it| it.map(f64::to_bits));
                bits(own) == bits(other)
            }
            (Values::Bool(own), Values::Bool(other)) => own.get(row) == other.get(row),
            (Values::Placement(own), Values::Placement(other)) => own.is_same(other, row),
            _ => false,
        }
    }

    /// A value as text, lists as JSON; `None` if there is none.
    pub(super) fn shown(&self, row: usize) -> Option<String> {
        match self {
            Values::Text(values) => {
                let text = values.get(row)?;
                Some(String::from_utf8_lossy(text.data()).into_owned())
            }
            Values::U32(values) => values.get(row)?.map(|it| it.to_string()),
            Values::U64(values) => values.get(row)?.map(|it| it.to_string()),
            Values::I64(values) => values.get(row)?.map(|it| it.to_string()),
            Values::F64(values) => values.get(row)?.map(|it| it.to_string()),
            Values::Bool(values) => values.get(row)?.map(|it| it.to_string()),
            Values::Placement(placed) => {
                let items = placed.rows.get(row)?.clone()?.map(|item| placed.json(item));
                Some(Value::Array(items.collect()).to_string())
            }
            Values::Other => None,
        }
    }
}

impl Placed {
    /// Adds a row.
    pub(super) fn push(&mut self, row: Option<&[PlacementRun]>) {
        let begin = self.numbers[0].len();
        if let Some(runs) = row {
            for run in runs {
                let of = [run.resource.into(), run.node, run.nodes, run.processors];
                let numbers = self.numbers.iter_mut().zip(of);
                numbers.for_each(|(numbers, of)| numbers.push(Some(of)));
            }
        }
        self.rows.push(row.map(|runs| begin..begin + runs.len()));
    }

    /// The clusters of all the runs.
    pub(super) fn with_clusters(self, clusters: Texts) -> Self {
        Placed { clusters, ..self }
    }

    fn is_same(&self, other: &Placed, row: usize) -> bool {
        let runs = |of: &Placed| of.rows.get(row).cloned().flatten();
        match (runs(self), runs(other)) {
            (Some(own), Some(others)) => {
                let mut both = own.clone().zip(others.clone());
                own.len() == others.len()
                    && both.all(|(own, one)| self.item(own) == other.item(one))
            }
            (own, others) => own == others,
        }
    }

    fn item(&self, item: usize) -> (Option<&ByteArray>, [Option<u32>; 4]) {
        let cluster = self.clusters.get(item);
        let number = |of: &Vec<Option<u32>>| of.get(item).copied().flatten();
        (cluster, self.numbers.each_ref().map(number))
    }

    /// One of the runs; none for numbers that no placement has.
    pub(super) fn run(&self, item: usize) -> Option<PlacementRun> {
        let [resource, node, nodes, processors] = self.item(item).1;
        Some(PlacementRun {
            resource: u16::try_from(resource?).ok()?,
            node: node?,
            nodes: nodes?,
            processors: processors?,
        })
    }

    fn json(&self, item: usize) -> Value {
        let (cluster, [resource, node, nodes, processors]) = self.item(item);
        json!({
            "cluster": cluster.map(|it| String::from_utf8_lossy(it.data())),
            "resource": resource,
            "node": node,
            "nodes": nodes,
            "processors": processors,
        })
    }
}

/// One of the leaves of a column, being read.
pub(super) struct Leaf {
    pub(super) reader: ColumnReader,
    /// The level at which a value is there.
    pub(super) level: i16,
    /// That at which there is an entry of a list.
    pub(super) entry: i16,
}

impl Leaf {
    /// Passes over some rows.
    pub(super) fn skip(&mut self, rows: usize) -> Result<usize, ParquetError> {
        use ColumnReader as Of;
        match &mut self.reader {
            Of::BoolColumnReader(of) => of.skip_records(rows),
            Of::Int32ColumnReader(of) => of.skip_records(rows),
            Of::Int64ColumnReader(of) => of.skip_records(rows),
            Of::DoubleColumnReader(of) => of.skip_records(rows),
            Of::ByteArrayColumnReader(of) => of.skip_records(rows),
            _ => Ok(rows),
        }
    }
}

fn flat<T: DataType, V>(
    reader: &mut ColumnReaderImpl<T>,
    level: i16,
    most: usize,
    of: impl Fn(T::T) -> V,
) -> Result<Vec<Option<V>>, ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    reader.read_records(most, Some(&mut levels), None, &mut values)?;
    let mut values = values.into_iter().map(of);
    if level == 0 {
        return Ok(values.map(Some).collect());
    }
    let value = |at: i16| if at == level { values.next() } else { None };
    Ok(levels.into_iter().map(value).collect())
}

/// Which entries are those of a row, and the values of the entries.
type Lists<V> = (Vec<Option<Range<usize>>>, Vec<Option<V>>);

fn lists<T: DataType, V>(
    reader: &mut ColumnReaderImpl<T>,
    (level, entry): (i16, i16),
    most: usize,
    of: impl Fn(T::T) -> V,
) -> Result<Lists<V>, ParquetError> {
    let (mut levels, mut repeated, mut values) = (Vec::new(), Vec::new(), Vec::new());
    reader.read_records(most, Some(&mut levels), Some(&mut repeated), &mut values)?;
    let mut values = values.into_iter().map(of);
    let (mut rows, mut items) = (Vec::new(), Vec::new());
    for (at, repeated) in levels.into_iter().zip(repeated) {
        if repeated == 0 {
            rows.push((at + 1 >= entry).then_some(items.len()..items.len()));
        }
        if at >= entry {
            items.push(if at == level { values.next() } else { None });
            if let Some(Some(own)) = rows.last_mut() {
                own.end = items.len();
            }
        }
    }
    Ok((rows, items))
}

/// One of the leaves of a column, being written.
pub(super) enum LeafWriter<'w> {
    Texts(TextColumn<'w>),
    Numbers(Box<ColumnWriter<'w>>),
}

impl<'w> LeafWriter<'w> {
    pub(super) fn new(
        leaf: &ColumnDescPtr,
        properties: &WriterPropertiesPtr,
        pages: Box<dyn PageWriter + 'w>,
    ) -> Self {
        let (leaf, properties) = (Arc::clone(leaf), Arc::clone(properties));
        match leaf.physical_type() {
            Physical::BYTE_ARRAY => LeafWriter::Texts(TextColumn::new(leaf, properties, pages)),
            _ => LeafWriter::Numbers(Box::new(get_column_writer(leaf, properties, pages))),
        }
    }

    pub(super) fn close(self) -> Result<ColumnCloseResult, ParquetError> {
        match self {
            LeafWriter::Texts(of) => of.close(),
            LeafWriter::Numbers(of) => of.close(),
        }
    }

    fn texts(&mut self) -> Result<&mut TextColumn<'w>, ParquetError> {
        match self {
            LeafWriter::Texts(of) => Ok(of),
            LeafWriter::Numbers(_) => Err(other_type()),
        }
    }

    fn numbers(&mut self) -> Result<&mut ColumnWriter<'w>, ParquetError> {
        match self {
            LeafWriter::Texts(_) => Err(other_type()),
            LeafWriter::Numbers(of) => Ok(of),
        }
    }
}

fn other_type() -> ParquetError {
    ParquetError::General("a column of another type".to_owned())
}

fn put<T: DataType, V>(
    leaf: &mut LeafWriter<'_>,
    values: Vec<Option<V>>,
    of: impl Fn(V) -> T::T,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.iter().map(|it| i16::from(it.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().map(of).collect();
    put_dense::<T>(leaf, &values, (&levels, None))
}

fn put_dense<T: DataType>(
    leaf: &mut LeafWriter<'_>,
    values: &[T::T],
    (levels, repeated): (&[i16], Option<&[i16]>),
) -> Result<(), ParquetError> {
    let leaf = get_typed_column_writer_mut::<T>(leaf.numbers()?);
    leaf.write_batch(values, Some(levels), repeated).map(|_| ())
}
