//! The pages of a Parquet file, which nobody may have looked at yet.

use parquet::basic::Type;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;

/// The pages of a column. The reader makes room for as many values of a dictionary as its
/// header says, which may be billions in a damaged file.
pub struct Pages {
    of: Box<dyn PageReader>,
    /// Bytes of a value at least.
    least: usize,
}

impl Pages {
    /// Those of a column of this type.
    pub fn new(of: Box<dyn PageReader>, kind: Type) -> Self {
        let least = match kind {
            Type::FIXED_LEN_BYTE_ARRAY => 1,
            _ => 4,
        };
        Pages { of, least }
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
