//! A table of a run directory as plain CSV (RFC 4180), value for value.

use super::RunDirError;
use super::batch::{guarded, reader};
use super::values::Values;
use std::io::{self, Write};
use std::path::Path;

/// Why a table could not be written as CSV.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// The table cannot be read.
    #[error(transparent)]
    Run(#[from] RunDirError),
    /// The output refused.
    #[error("the table cannot be written")]
    Out(#[source] io::Error),
}

/// Writes a table, such as [`names::JOBS`](super::names::JOBS): a header with
/// the names of the columns, then a line per row. Numbers are the shortest that read back as
/// the same value; nulls, and columns of a type that no run has, are empty; lists are JSON.
/// Answers the rows.
///
/// # Errors
/// A table that is missing or damaged, an output that refuses.
pub fn write_csv(dir: &Path, name: &'static str, out: &mut impl Write) -> Result<u64, CsvError> {
    // What the output says is no damage of the table.
    let written = guarded(dir, name, |path| {
        let (mut reader, _) = reader(path)?;
        let mut csv = csv::Writer::from_writer(out);
        if let Err(error) = csv.write_record(reader.names()) {
            return Ok(Err(error.into()));
        }
        let mut rows = 0;
        while let Some(records) = reader.next()? {
            let text = |values: &Values, row| values.shown(row).unwrap_or_default();
            for row in 0..records.rows {
                let cells = records.columns.iter().map(|(_, values)| text(values, row));
                if let Err(error) = csv.write_record(cells) {
                    return Ok(Err(error.into()));
                }
            }
            rows += records.rows as u64;
        }
        Ok(csv.flush().map(|()| rows))
    })?;
    written.map_err(CsvError::Out)
}
