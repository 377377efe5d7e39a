//! Texts of a Parquet file: columns of few of them, each in many rows.

use super::runs;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, PageType, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::{
    ColumnCloseResult, ColumnWriter, get_column_writer, get_typed_column_writer_mut,
};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescPtr;
use std::collections::HashMap;

/// Texts of some rows.
#[derive(Debug, Default)]
pub(super) struct Texts {
    all: Vec<ByteArray>,
    /// Which of them a row has.
    rows: Vec<Option<u32>>,
}

impl Texts {
    /// These texts, and which of them a row has: their numbers are below their count.
    pub(super) fn new(all: Vec<ByteArray>, rows: Vec<Option<u32>>) -> Self {
        Texts { all, rows }
    }

    /// A text for each row that has one.
    pub(super) fn each(rows: impl Iterator<Item = Option<ByteArray>>) -> Self {
        let mut texts = Texts::default();
        for text in rows {
            let at = texts.all.len() as u32;
            texts.rows.push(text.is_some().then_some(at));
            texts.all.extend(text);
        }
        texts
    }

    /// Whether they are texts.
    pub(super) fn check(&self) -> Result<(), ParquetError> {
        self.all
            .iter()
            .try_for_each(|text| text.as_utf8().map(|_| ()))
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// What a row has.
    pub(super) fn get(&self, row: usize) -> Option<&ByteArray> {
        let at = self.rows.get(row).copied().flatten()?;
        self.all.get(at as usize)
    }

    /// What each row has.
    pub(super) fn iter(&self) -> impl Iterator<Item = Option<&ByteArray>> {
        (0..self.len()).map(|row| self.get(row))
    }
}

/// Dictionaries of more bytes are left to the writer of the crate `parquet`, which goes on
/// without one.
const LARGEST: usize = 1 << 20;

/// Texts at most so long stand in the statistics of a column.
const SHOWN: usize = 64;

/// A column of texts in a group of rows while it is being written, as a dictionary and a number
/// for each row. The writer of `parquet` would find the number of each row by its text.
pub(super) struct TextColumn<'w> {
    to: Target<'w>,
    held: Held,
}

enum Target<'w> {
    Pages(Box<dyn PageWriter + 'w>, ColumnDescPtr, WriterPropertiesPtr),
    /// What has more texts than a dictionary holds.
    Writer(Box<ColumnWriter<'w>>),
    /// In between.
    None,
}

/// Rows that have not been written.
#[derive(Default)]
struct Held {
    known: HashMap<Vec<u8>, u32>,
    all: Vec<ByteArray>,
    /// What they take in a dictionary.
    bytes: usize,
    rows: Vec<u32>,
    levels: Vec<u8>,
    /// Empty where a row is no list.
    repeated: Vec<u8>,
}

impl<'w> TextColumn<'w> {
    pub(super) fn new(
        leaf: ColumnDescPtr,
        properties: WriterPropertiesPtr,
        pages: Box<dyn PageWriter + 'w>,
    ) -> Self {
        TextColumn {
            to: Target::Pages(pages, leaf, properties),
            held: Held::default(),
        }
    }

    /// The texts of the next rows.
    pub(super) fn put(&mut self, texts: &Texts) -> Result<(), ParquetError> {
        let levels = texts.rows.iter().map(|row| u8::from(row.is_some()));
        self.held.levels.extend(levels);
        self.put_texts(texts)
    }

    /// The same for rows that are lists of texts, with the levels of definition and repetition of
    /// all their texts.
    pub(super) fn put_lists(
        &mut self,
        texts: &Texts,
        levels: &[i16],
        repeated: &[i16],
    ) -> Result<(), ParquetError> {
        let narrow = |level: &i16| u8::try_from(*level).unwrap_or_default();
        self.held.levels.extend(levels.iter().map(narrow));
        self.held.repeated.extend(repeated.iter().map(narrow));
        self.put_texts(texts)
    }

    fn put_texts(&mut self, texts: &Texts) -> Result<(), ParquetError> {
        self.held.take(texts);
        if self.held.bytes > LARGEST {
            self.to = match std::mem::replace(&mut self.to, Target::None) {
                Target::Pages(pages, leaf, properties) => {
                    Target::Writer(Box::new(get_column_writer(leaf, properties, pages)))
                }
                other => other,
            };
        }
        match &mut self.to {
            Target::Writer(writer) => std::mem::take(&mut self.held).write_to(writer),
            Target::Pages(..) | Target::None => Ok(()),
        }
    }

    /// Writes what is left.
    pub(super) fn close(self) -> Result<ColumnCloseResult, ParquetError> {
        match self.to {
            Target::Pages(pages, leaf, _) => self.held.into_pages(pages, leaf),
            Target::Writer(writer) => writer.close(),
            Target::None => Err(ParquetError::General("a column without writer".to_owned())),
        }
    }
}

impl Held {
    fn take(&mut self, texts: &Texts) {
        let number = |text: &ByteArray| {
            if let Some(known) = self.known.get(text.data()) {
                return *known;
            }
            let next = self.all.len() as u32;
            self.known.insert(text.data().to_vec(), next);
            self.all.push(text.clone());
            self.bytes += 4 + text.len();
            next
        };
        let numbers: Vec<u32> = texts.all.iter().map(number).collect();
        let rows = texts.rows.iter().flatten();
        self.rows.extend(rows.map(|row| numbers[*row as usize]));
    }

    fn write_to(self, writer: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
        let texts = self.rows.iter().map(|row| self.all[*row as usize].clone());
        let texts: Vec<ByteArray> = texts.collect();
        let wide = |levels: &[u8]| levels.iter().map(|level| i16::from(*level)).collect();
        let (levels, repeated): (Vec<i16>, Vec<i16>) = (wide(&self.levels), wide(&self.repeated));
        let repeated = (!repeated.is_empty()).then_some(repeated.as_slice());
        let of = get_typed_column_writer_mut::<ByteArrayType>(writer);
        of.write_batch(&texts, Some(&levels), repeated).map(|_| ())
    }

    /// As a page with the dictionary and one with the numbers.
    fn into_pages(
        self,
        mut pages: Box<dyn PageWriter + '_>,
        leaf: ColumnDescPtr,
    ) -> Result<ColumnCloseResult, ParquetError> {
        let (dictionary, data) = (self.dictionary(), self.data(&leaf));
        let mut zstd = zstd::bulk::Compressor::new(1)?;
        let mut compress = |page: &[u8]| zstd.compress(page).map(Bytes::from);
        let first = Page::DictionaryPage {
            buf: compress(&dictionary)?,
            num_values: self.all.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let second = Page::DataPage {
            buf: compress(&data)?,
            num_values: self.levels.len() as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let first = pages.write_page(CompressedPage::new(first, dictionary.len()))?;
        let second = pages.write_page(CompressedPage::new(second, data.len()))?;
        pages.close()?;
        let stats = |page_type, encoding| PageEncodingStats {
            page_type,
            encoding,
            count: 1,
        };
        let metadata = ColumnChunkMetaData::builder(leaf)
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
            .set_encodings(vec![
                Encoding::PLAIN,
                Encoding::RLE,
                Encoding::RLE_DICTIONARY,
            ])
            .set_page_encoding_stats(vec![
                stats(PageType::DICTIONARY_PAGE, Encoding::PLAIN),
                stats(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY),
            ])
            .set_num_values(self.levels.len() as i64)
            .set_total_compressed_size((first.compressed_size + second.compressed_size) as i64)
            .set_total_uncompressed_size(
                (first.uncompressed_size + second.uncompressed_size) as i64,
            )
            .set_dictionary_page_offset(Some(first.offset as i64))
            .set_data_page_offset(second.offset as i64)
            .set_statistics(self.statistics())
            .build()?;
        let rows = match self.repeated.is_empty() {
            true => self.levels.len(),
            false => self.repeated.iter().filter(|level| **level == 0).count(),
        };
        Ok(ColumnCloseResult {
            bytes_written: first.bytes_written + second.bytes_written,
            rows_written: rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        })
    }

    fn dictionary(&self) -> Vec<u8> {
        let mut page = Vec::with_capacity(self.bytes);
        for text in &self.all {
            page.extend_from_slice(&(text.len() as u32).to_le_bytes());
            page.extend_from_slice(text.data());
        }
        page
    }

    fn data(&self, leaf: &ColumnDescPtr) -> Vec<u8> {
        let mut page = Vec::new();
        let levels = [
            (&self.repeated, leaf.max_rep_level()),
            (&self.levels, leaf.max_def_level()),
        ];
        for (levels, most) in levels.into_iter().filter(|(_, most)| *most > 0) {
            let begin = page.len();
            page.extend_from_slice(&[0; 4]);
            runs::encode(levels, runs::width(most.unsigned_abs().into()), &mut page);
            let length = (page.len() - begin - 4) as u32;
            page[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
        }
        let width = runs::width(self.all.len().saturating_sub(1) as u32);
        page.push(width as u8);
        runs::encode(&self.rows, width, &mut page);
        page
    }

    /// The least and the greatest text, or neither: some readers take one that is missing for
    /// an empty text.
    fn statistics(&self) -> Statistics {
        let short = |text: &&ByteArray| text.len() <= SHOWN;
        let least = self.all.iter().min_by_key(|text| text.data()).filter(short);
        let most = self.all.iter().max_by_key(|text| text.data()).filter(short);
        let (least, most) = least.cloned().zip(most.cloned()).unzip();
        let nulls = (self.levels.len() - self.rows.len()) as u64;
        Statistics::byte_array(least, most, None, Some(nulls), false)
    }
}

#[cfg(test)]
mod tests;
