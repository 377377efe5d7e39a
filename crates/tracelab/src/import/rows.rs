//! The rows of a log, whatever it is written in.

use crate::error::Result;
use crate::format::Header;
use csv::ByteRecord;

/// A log that is open.
pub(super) struct Log {
    /// All columns that it has.
    pub(super) columns: Vec<String>,
    /// Those that its rows have, in their order.
    pub(super) read: Vec<String>,
    pub(super) rows: Box<dyn Rows>,
}

/// Rows, one after the other.
pub(super) trait Rows {
    /// The next row and its number: of its line in text, else of the row.
    fn next(&mut self, row: &mut ByteRecord) -> Result<Option<u64>>;

    /// Comments of the log.
    fn header(&self) -> Option<&Header> {
        None
    }
}
