//! Rows of a Parquet file.

use super::rows::{Log, Rows};
use crate::error::{Result, TraceError};
use csv::ByteRecord;
use gridrig_results::rundir::Pages;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use parquet::basic::{
    ConvertedType as Converted, LogicalType, Repetition, TimeUnit, Type as Physical,
};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType, Int96};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::schema::types::Type;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// How many rows are in memory.
const BATCH: usize = 1024;

/// Opens a file; of its columns only those that are wanted are read.
pub(super) fn open(path: &Path, wanted: &[&str]) -> Result<Log> {
    let file = path.display().to_string();
    let opened = File::open(path).map_err(|source| TraceError::Open(file.clone(), source))?;
    let reader = guarded(|| SerializedFileReader::new(opened));
    let reader = reader.map_err(|problem| TraceError::file(&file, problem))?;
    let schema = reader.metadata().file_metadata().schema_descr();
    // What is nested has several columns in the file: the first stands for it.
    let root = |leaf| schema.get_column_root_idx(leaf);
    let leaves = 0..schema.num_columns();
    let firsts = leaves.filter(|leaf| *leaf == 0 || root(*leaf) > root(leaf - 1));
    let all = firsts.map(|leaf| {
        let root = schema.get_column_root(leaf);
        let form = Form::of(root);
        (root.name().to_owned(), Column { leaf, form })
    });
    let all: Vec<(String, Column)> = all.collect();
    let names = all.iter().map(|(name, _)| name.clone()).collect();
    let kept = all.into_iter();
    let kept = kept.filter(|(name, _)| wanted.contains(&name.as_str()));
    let (read, columns) = kept.unzip();
    let rows = Box::new(Parquet {
        file,
        reader,
        columns,
        group: 0,
        readers: Vec::new(),
        left: 0,
        cells: Vec::new(),
        rows: 0,
        at: 0,
        number: 0,
    });
    Ok(Log {
        columns: names,
        read,
        rows,
    })
}

/// Reads, taking a panic of the Parquet reader for what it means: that crate trusts some
/// lengths in damaged files further than they go.
fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, String> {
    let failed = |_| Err(ParquetError::General("its reader failed".to_owned()));
    let done = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(failed);
    done.map_err(|error| damaged(&error))
}

fn damaged(error: &ParquetError) -> String {
    match error {
        // It may be whole.
        ParquetError::NYI(what) => what.clone(),
        _ => format!("the Parquet file is damaged: {error}"),
    }
}

fn refused(kind: &str) -> String {
    format!("a column of {kind}: expected numbers, texts or times")
}

/// A value as text, empty if there is none, or what is wrong with it. Texts stay in the
/// bytes of their page, however often it has them.
type Cell = Result<ByteArray, String>;

fn cell(text: String) -> Cell {
    Ok(ByteArray::from(text.into_bytes()))
}

/// A time with its offset if it is UTC.
fn time(nanos: i128, utc: bool) -> Cell {
    match Timestamp::from_nanosecond(nanos) {
        Ok(at) if utc => cell(at.to_string()),
        // A time on the clock of wherever the log was written.
        Ok(at) => cell(TimeZone::UTC.to_datetime(at).to_string()),
        Err(_) => Err(refused("times out of range")),
    }
}

struct Parquet {
    file: String,
    reader: SerializedFileReader<File>,
    columns: Vec<Column>,
    /// The next row group.
    group: usize,
    /// Those of the columns in the row group before it.
    readers: Vec<ColumnReader>,
    /// Rows of this group that were not read yet.
    left: usize,
    /// The rows that were read, by column.
    cells: Vec<Vec<Cell>>,
    /// How many they are; there may be no column.
    rows: usize,
    /// The next one of them.
    at: usize,
    /// Rows given so far.
    number: u64,
}

impl Rows for Parquet {
    fn next(&mut self, row: &mut ByteRecord) -> Result<Option<u64>> {
        if self.at == self.rows {
            let more = guarded(|| self.fill());
            let wrong = |problem| TraceError::line(&self.file, self.number + 1, problem);
            if !more.map_err(wrong)? {
                return Ok(None);
            }
        }
        self.number += 1;
        row.clear();
        for column in &self.cells {
            let cell = column[self.at].as_ref();
            let wrong =
                |problem: &String| TraceError::line(&self.file, self.number, problem.clone());
            row.push_field(cell.map_err(wrong)?.data());
        }
        self.at += 1;
        Ok(Some(self.number))
    }
}

impl Parquet {
    /// Reads the next rows; `false` after the last ones.
    fn fill(&mut self) -> Result<bool, ParquetError> {
        while self.left == 0 {
            if self.group == self.reader.num_row_groups() {
                return Ok(false);
            }
            let group = self.reader.get_row_group(self.group)?;
            let readers = self.columns.iter().map(|column| {
                let of = group.metadata().column(column.leaf).column_descr_ptr();
                let pages = group.get_column_page_reader(column.leaf)?;
                let pages = Box::new(Pages::new(pages, &of));
                Ok(get_column_reader(of, pages))
            });
            self.readers = readers.collect::<Result<_, ParquetError>>()?;
            self.left = usize::try_from(group.metadata().num_rows())?;
            self.group += 1;
        }
        let rows = self.left.min(BATCH);
        let columns = self.columns.iter().zip(&mut self.readers);
        let cells = columns.map(|(column, reader)| column.form.cells(reader, rows));
        self.cells = cells.collect::<Result<_, ParquetError>>()?;
        (self.left, self.rows, self.at) = (self.left - rows, rows, 0);
        Ok(true)
    }
}

struct Column {
    /// Its place, or that of the first one in it, in the file.
    leaf: usize,
    form: Form,
}

/// What the values of a column mean.
#[derive(Clone, Copy)]
enum Form {
    /// What they are in the file.
    Plain,
    /// Integers without a sign, where the file has some with a sign.
    Unsigned,
    Time {
        /// Nanoseconds of its unit.
        unit: i128,
        utc: bool,
    },
    Refused(&'static str),
    /// A value may be of any length, so that none is read: refused from the first row.
    Nested(&'static str),
}

impl Form {
    fn of(root: &Type) -> Form {
        let info = root.get_basic_info();
        let converted = info.converted_type();
        if info.repetition() == Repetition::REPEATED {
            return Form::Nested("lists");
        }
        let Type::PrimitiveType { physical_type, .. } = root else {
            return Form::Nested(match converted {
                Converted::LIST => "lists",
                Converted::MAP | Converted::MAP_KEY_VALUE => "maps",
                _ => "structs",
            });
        };
        let time = |unit, utc| Form::Time { unit, utc };
        match (info.logical_type_ref(), converted) {
            // What was converted says nothing of local times and of nanoseconds.
            (Some(LogicalType::Timestamp(of)), _) => match of.unit {
                TimeUnit::MILLIS => time(1_000_000, of.is_adjusted_to_u_t_c),
                TimeUnit::MICROS => time(1_000, of.is_adjusted_to_u_t_c),
                TimeUnit::NANOS => time(1, of.is_adjusted_to_u_t_c),
            },
            (_, Converted::TIMESTAMP_MILLIS) => time(1_000_000, true),
            (_, Converted::TIMESTAMP_MICROS) => time(1_000, true),
            (Some(LogicalType::Time(_)), _)
            | (_, Converted::TIME_MILLIS | Converted::TIME_MICROS) => Form::Refused("times of day"),
            (_, Converted::DATE) => Form::Refused("dates"),
            (_, Converted::DECIMAL) => Form::Refused("decimals"),
            (Some(LogicalType::Float16), _) => Form::Refused("half-precision numbers"),
            (
                _,
                Converted::UINT_8 | Converted::UINT_16 | Converted::UINT_32 | Converted::UINT_64,
            ) => Form::Unsigned,
            (_, Converted::UTF8 | Converted::JSON) => Form::Plain,
            _ if *physical_type == Physical::BYTE_ARRAY => Form::Refused("bytes"),
            _ => Form::Plain,
        }
    }

    /// The next values of a column.
    fn cells(self, reader: &mut ColumnReader, rows: usize) -> Result<Vec<Cell>, ParquetError> {
        if let Form::Nested(kind) = self {
            return Ok(vec![Err(refused(kind)); rows]);
        }
        match reader {
            ColumnReader::BoolColumnReader(reader) => {
                self.read(reader, rows, |value: bool| cell(value.to_string()))
            }
            ColumnReader::Int32ColumnReader(reader) => {
                self.read(reader, rows, |value: i32| match self {
                    Form::Unsigned => cell(value.cast_unsigned().to_string()),
                    _ => cell(value.to_string()),
                })
            }
            ColumnReader::Int64ColumnReader(reader) => {
                self.read(reader, rows, |value: i64| match self {
                    Form::Unsigned => cell(value.cast_unsigned().to_string()),
                    Form::Time { unit, utc } => time(i128::from(value) * unit, utc),
                    _ => cell(value.to_string()),
                })
            }
            ColumnReader::Int96ColumnReader(reader) => self.read(reader, rows, |value: Int96| {
                // Nanoseconds of a day, and the day of the Julian calendar.
                let [low, high, day] = [0, 1, 2].map(|at| value.data()[at]);
                let day = i128::from(day.cast_signed()) - 2_440_588;
                let nanos = u64::from(high) << 32 | u64::from(low);
                time(day * 86_400_000_000_000 + i128::from(nanos), false)
            }),
            ColumnReader::FloatColumnReader(reader) => {
                self.read(reader, rows, |value: f32| cell(format!("{value:?}")))
            }
            ColumnReader::DoubleColumnReader(reader) => {
                self.read(reader, rows, |value: f64| cell(format!("{value:?}")))
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                self.read(reader, rows, |value: ByteArray| {
                    let wrong = value.as_utf8().err();
                    wrong.map_or(Ok(value), |error| Err(damaged(&error)))
                })
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                self.read(reader, rows, |_| Err(refused("bytes")))
            }
        }
    }

    fn read<T: DataType>(
        self,
        reader: &mut ColumnReaderImpl<T>,
        rows: usize,
        text: impl Fn(T::T) -> Cell,
    ) -> Result<Vec<Cell>, ParquetError> {
        // A level for each row, 0 if it has no value; none if all have one.
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let (read, ..) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
        if read < rows {
            return Err(ParquetError::EOF("a column ends too early".to_owned()));
        }
        let mut values = values.into_iter();
        let cells = (0..rows).map(|row| match (levels.get(row), self) {
            (Some(0), _) => cell(String::new()),
            (_, Form::Refused(kind)) => Err(refused(kind)),
            _ => values.next().map_or_else(|| cell(String::new()), &text),
        });
        Ok(cells.collect())
    }
}
