//! Which kind of file a log is.

use super::map::{Form, Map};
use super::rows::Log;
use super::text::{BUFFER_BYTES, Blanks, Text};
use super::{json, parquet};
use crate::error::{Result, TraceError};
use crate::format::TraceFile;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

/// What a file of Parquet begins with.
const PARQUET: [u8; 4] = *b"PAR1";

/// Opens a log; `wanted` are the columns that will be looked at.
pub(super) fn open(path: &Path, map: &Map, wanted: &[&str]) -> Result<Log> {
    let file = path.display().to_string();
    // A pipe can be read once only, and holds no Parquet.
    if path.is_file() {
        let failed = |source| TraceError::Open(file.clone(), source);
        let mut magic = Vec::new();
        let opened = File::open(path).map_err(failed)?;
        let taken = opened.take(PARQUET.len() as u64).read_to_end(&mut magic);
        taken.map_err(failed)?;
        if magic == PARQUET {
            return parquet::open(path, wanted);
        }
    }
    let input = BufReader::with_capacity(BUFFER_BYTES, TraceFile::open(path)?);
    match map.table.form {
        Form::Text => Text::open(input, file, map, wanted),
        Form::Json => json::open(input, file, map.table.records.as_deref(), wanted),
        Form::Blanks => Ok(Blanks::open(input, file, map)),
    }
}
