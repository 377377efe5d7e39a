//! Rows of text.

use super::map::Map;
use super::rows::{Log, Rows};
use crate::error::{Result, TraceError, excerpt};
use crate::format::{Header, Lines, TraceFile};
use csv::ByteRecord;
use std::io::{self, BufReader, Read};

/// No row of a log is longer: one that is comes from a quotation mark without its other.
const MAX_ROW_BYTES: usize = 1 << 20;

/// Rows are read from blocks of so many bytes.
pub(super) const BUFFER_BYTES: usize = 1 << 16;

/// Rows of as many columns, with a separator between them.
pub(super) struct Text {
    file: String,
    csv: csv::Reader<Bounded>,
    columns: Vec<String>,
    /// The first row, if it is one of a job.
    first: Option<(u64, ByteRecord)>,
    separator: char,
}

impl Text {
    pub(super) fn open(
        input: BufReader<TraceFile>,
        file: String,
        map: &Map,
        wanted: &[&str],
    ) -> Result<Log> {
        let table = &map.table;
        let csv = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(table.separator as u8)
            .quoting(table.quotes)
            .buffer_capacity(BUFFER_BYTES)
            .from_reader(Bounded {
                input,
                left: MAX_ROW_BYTES,
            });
        let mut text = Text {
            file,
            csv,
            columns: table.columns.clone(),
            first: None,
            separator: table.separator,
        };
        let mut row = ByteRecord::new();
        let Some(line) = text.read(&mut row)? else {
            let problem = "the log is empty: expected rows of jobs".to_owned();
            return Err(TraceError::file(&text.file, problem));
        };
        let cell = |cell: &[u8]| String::from_utf8_lossy(cell.trim_ascii()).into_owned();
        let cells: Vec<String> = row.iter().map(cell).collect();
        let named = cells.iter().any(|cell| wanted.contains(&cell.as_str()));
        if named {
            text.columns = cells;
            text.columns.pop_if(|last| last.is_empty());
        } else if text.columns.is_empty() {
            let problem = format!(
                "the first row ({}) names no column that the map reads: expected one of {}, or \
                 --columns",
                excerpt(cells.join(", ").as_bytes()),
                wanted.join(", ")
            );
            return Err(TraceError::line(&text.file, line, problem));
        } else {
            text.check(line, &mut row)?;
            text.first = Some((line, row));
        }
        Ok(Log {
            columns: text.columns.clone(),
            read: text.columns.clone(),
            rows: Box::new(text),
        })
    }

    fn read(&mut self, row: &mut ByteRecord) -> Result<Option<u64>> {
        let before = self.csv.position().line();
        self.csv.get_mut().left = MAX_ROW_BYTES;
        match self.csv.read_byte_record(row) {
            Ok(true) => Ok(Some(row.position().map_or(before, csv::Position::line))),
            Ok(false) => Ok(None),
            Err(error) => Err(self.broken(before, error)),
        }
    }

    fn broken(&self, line: u64, error: csv::Error) -> TraceError {
        let file = self.file.clone();
        match error.into_kind() {
            csv::ErrorKind::Io(source) if source.kind() == io::ErrorKind::InvalidData => {
                TraceError::Damaged(file, line - 1, source)
            }
            csv::ErrorKind::Io(source) if source.kind() == io::ErrorKind::FileTooLarge => {
                let problem = format!("the row is longer than {MAX_ROW_BYTES} bytes: {source}");
                TraceError::line(&file, line, problem)
            }
            csv::ErrorKind::Io(source) => TraceError::Read(file, line - 1, source),
            // Rows of any length and any bytes are read.
            other => TraceError::line(&file, line, format!("{other:?}: expected a row")),
        }
    }

    /// Whether a row has as many columns as there are; `sacct -p` ends each with a
    /// separator.
    fn check(&self, line: u64, row: &mut ByteRecord) -> Result<()> {
        let expected = self.columns.len();
        if row.len() == expected + 1 && row.get(expected).is_some_and(<[u8]>::is_empty) {
            row.truncate(expected);
        }
        if row.len() == expected {
            return Ok(());
        }
        let (columns, separator) = (row.len(), self.separator);
        let first = excerpt(row.get(0).unwrap_or_default());
        let problem = format!(
            "{columns} columns with \"{separator}\" between them, the first = \"{first}\": \
             expected {expected} ({})",
            self.columns.join(", ")
        );
        Err(TraceError::line(&self.file, line, problem))
    }
}

impl Rows for Text {
    fn next(&mut self, row: &mut ByteRecord) -> Result<Option<u64>> {
        if let Some((line, first)) = self.first.take() {
            *row = first;
            return Ok(Some(line));
        }
        let found = self.read(row)?;
        if let Some(line) = found {
            self.check(line, row)?;
        }
        Ok(found)
    }
}

/// Gives no more than so many bytes for a row.
struct Bounded {
    input: BufReader<TraceFile>,
    left: usize,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let expected = "expected a line feed (is a quotation mark missing?)";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, expected));
        }
        let most = buffer.len().min(self.left);
        let count = self.input.read(&mut buffer[..most])?;
        self.left -= count;
        Ok(count)
    }
}

/// Rows with runs of blanks between the columns.
pub(super) struct Blanks {
    lines: Lines<BufReader<TraceFile>>,
    header: Header,
    columns: Vec<String>,
}

impl Blanks {
    pub(super) fn open(input: BufReader<TraceFile>, file: String, map: &Map) -> Log {
        let columns = map.table.columns.clone();
        Log {
            columns: columns.clone(),
            read: columns.clone(),
            rows: Box::new(Blanks {
                lines: Lines::new(input, file),
                header: Header::default(),
                columns,
            }),
        }
    }
}

impl Rows for Blanks {
    fn next(&mut self, row: &mut ByteRecord) -> Result<Option<u64>> {
        row.clear();
        while self.lines.advance()?.is_some() {
            let number = self.lines.number();
            let line = self.lines.current()?.trim_ascii();
            match line.first() {
                None => {}
                Some(b';' | b'#') => self.header.add(number, line),
                Some(_) => {
                    let cells = line.split(u8::is_ascii_whitespace);
                    cells
                        .filter(|cell| !cell.is_empty())
                        .for_each(|cell| row.push_field(cell));
                    break;
                }
            }
        }
        let (number, expected) = (self.lines.number(), self.columns.len());
        match row.len() {
            0 => Ok(None),
            columns if columns == expected => Ok(Some(number)),
            columns => {
                let problem = format!(
                    "{columns} columns between blanks: expected {expected} ({})",
                    self.columns.join(", ")
                );
                Err(TraceError::line(self.lines.file(), number, problem))
            }
        }
    }

    fn header(&self) -> Option<&Header> {
        Some(&self.header)
    }
}
