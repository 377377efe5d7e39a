//! The pages of a Parquet file, which nobody may have looked at yet.

use parquet::basic::Encoding::{DELTA_BYTE_ARRAY, DELTA_LENGTH_BYTE_ARRAY};
use parquet::basic::Type;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;

/// The pages of a column. The reader makes room for as many values of a dictionary as its
/// header says, and for as many lengths of texts, which may be billions in a damaged file.
pub struct Pages {
    of: Box<dyn PageReader>,
    /// The name of the column.
    column: String,
    /// Bytes of a value at least.
    least: usize,
}

impl Pages {
    /// Those of this column.
    pub fn new(of: Box<dyn PageReader>, column: &ColumnDescriptor) -> Self {
        let least = match column.physical_type() {
            Type::FIXED_LEN_BYTE_ARRAY => 1,
            _ => 4,
        };
        let column = column.path().string();
        Pages { of, column, least }
    }
}

impl Iterator for Pages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let page = self.of.get_next_page()?;
        // How many lengths there are is not bounded by the bytes that hold them. No run has
        // been written so, and common writers do so only if they are told to.
        let encoding = page.as_ref().map(Page::encoding);
        if let Some(encoding @ (DELTA_LENGTH_BYTE_ARRAY | DELTA_BYTE_ARRAY)) = encoding {
            let column = &self.column;
            return Err(ParquetError::NYI(format!(
                "column {column}: encoding {encoding}: expected PLAIN, RLE_DICTIONARY or \
                 DELTA_BINARY_PACKED"
            )));
        }
        if let Some(Page::DictionaryPage {
            buf, num_values, ..
        }) = &page
            && *num_values as usize > buf.len() / self.least
        {
            let problem = format!("{num_values} values in {} bytes", buf.len());
            return Err(ParquetError::General(problem));
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.of.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.of.skip_next_page()
    }
}
