//! How tables in Parquet are changed: by values of their columns.
//!
//! libFuzzer changes bytes. In a table nearly every byte belongs to a header or to
//! compressed values, so that what a run *says* hardly ever changes. Here the table is read,
//! some values of some columns are other ones, and it is written again, with or without
//! dictionaries.

use crate::{Chance, words};
use gridrig_results::rundir::Pages;
use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader as _, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use std::panic::catch_unwind;
use std::sync::Arc;

/// Rows that are kept of a group.
const MOST_ROWS: usize = 4_096;

/// The table with other values; `None` if it is none that can be read.
pub(crate) fn changed(table: &[u8], seed: u64) -> Option<Vec<u8>> {
    // The reader of Parquet panics at some files.
    let made = catch_unwind(|| rewritten(table.to_vec(), &mut Chance(seed)));
    made.ok()?.ok()
}

fn rewritten(table: Vec<u8>, chance: &mut Chance) -> Result<Vec<u8>> {
    let reader = SerializedFileReader::new(bytes::Bytes::from(table))?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let properties = WriterProperties::builder().set_dictionary_enabled(chance.below(2) == 0);
    let root = schema.root_schema_ptr();
    let mut writer = SerializedFileWriter::new(Vec::new(), root, Arc::new(properties.build()))?;
    let columns = schema.num_columns().max(1);
    let most = match chance.below(8) {
        0 => chance.below(8),
        _ => MOST_ROWS,
    };
    // One to four columns are changed.
    let which: Vec<usize> = (0..=chance.below(4))
        .map(|_| chance.below(columns))
        .collect();
    for group in 0..reader.num_row_groups() {
        let from = reader.get_row_group(group)?;
        let mut into = writer.next_row_group()?;
        for leaf in 0..columns {
            let mut change = Change {
                chance,
                is_changed: which.contains(&leaf),
                most,
            };
            change.column(&*from, leaf, &mut into)?;
        }
        into.close()?;
    }
    writer.into_inner()
}

/// What becomes of a column.
struct Change<'a> {
    chance: &'a mut Chance,
    is_changed: bool,
    most: usize,
}

impl Change<'_> {
    fn column<W: std::io::Write + Send>(
        &mut self,
        from: &dyn RowGroupReader,
        leaf: usize,
        into: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        let Some(mut writer) = into.next_column()? else {
            return Ok(());
        };
        let column = from.metadata().column(leaf).column_descr_ptr();
        let pages = Pages::new(from.get_column_page_reader(leaf)?, &column);
        match get_column_reader(column, Box::new(pages)) {
            ColumnReader::BoolColumnReader(from) => {
                self.copy::<BoolType>(from, writer.typed(), |chance| chance.below(2) == 0)
            }
            ColumnReader::Int32ColumnReader(from) => {
                self.copy::<Int32Type>(from, writer.typed(), |chance| number(chance) as i32)
            }
            ColumnReader::Int64ColumnReader(from) => {
                self.copy::<Int64Type>(from, writer.typed(), number)
            }
            ColumnReader::DoubleColumnReader(from) => {
                self.copy::<DoubleType>(from, writer.typed(), |chance| number(chance) as f64)
            }
            ColumnReader::ByteArrayColumnReader(from) => {
                self.copy::<ByteArrayType>(from, writer.typed(), |chance| {
                    ByteArray::from(chance.one(words()))
                })
            }
            _ => Err(parquet::errors::ParquetError::NYI(Type::INT96.to_string())),
        }?;
        writer.close()
    }

    fn copy<T: DataType>(
        &mut self,
        mut from: ColumnReaderImpl<T>,
        into: &mut ColumnWriterImpl<'_, T>,
        other: impl Fn(&mut Chance) -> T::T,
    ) -> Result<()>
    where
        T::T: Clone,
    {
        let (mut values, mut present, mut begins) = (Vec::new(), Vec::new(), Vec::new());
        from.read_records(
            self.most,
            Some(&mut present),
            Some(&mut begins),
            &mut values,
        )?;
        if self.is_changed {
            self.change(&mut values, &mut present, other);
        }
        let levels = |levels: &[i16]| (!levels.is_empty()).then(|| levels.to_vec());
        let (present, begins) = (levels(&present), levels(&begins));
        into.write_batch(&values, present.as_deref(), begins.as_deref())?;
        Ok(())
    }

    /// One value is another one, that of another row, or none.
    fn change<V: Clone>(
        &mut self,
        values: &mut Vec<V>,
        present: &mut [i16],
        other: impl Fn(&mut Chance) -> V,
    ) {
        let chance = &mut *self.chance;
        if values.is_empty() {
            return;
        }
        for _ in 0..=chance.below(2) {
            let at = chance.below(values.len());
            match chance.below(6) {
                0 | 1 => values[at] = other(chance),
                2 => values[at] = values[chance.below(values.len())].clone(),
                3 => values.swap(at, 0),
                4 => {
                    let value = other(chance);
                    values.fill(value);
                }
                // The level of the value itself is the highest one of its column.
                _ => {
                    let highest = present.iter().max().copied().unwrap_or(0);
                    let places = (0..present.len()).filter(|row| present[*row] == highest);
                    if let Some(row) = places.collect::<Vec<_>>().get(at).filter(|_| highest > 0) {
                        present[*row] = highest - 1;
                        values.remove(at);
                    }
                    if values.is_empty() {
                        return;
                    }
                }
            }
        }
    }
}

/// A number that is at the end of some range, or a small or any one.
fn number(chance: &mut Chance) -> i64 {
    const ENDS: [i64; 8] = [
        0,
        1,
        -1,
        i32::MAX as i64,
        u32::MAX as i64,
        i64::MAX,
        i64::MIN,
        1_000_000_000,
    ];
    match chance.below(4) {
        0 | 1 => ENDS[chance.below(ENDS.len())],
        2 => chance.below(1 << 16) as i64 * [1, 1_000_000, 1_000_000_000][chance.below(3)],
        _ => chance.next() as i64,
    }
}
