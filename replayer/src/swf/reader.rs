//! The streaming reader.

use super::header::Header;
use super::number::Number;
use super::record::{FIELD_NAMES, FIELDS, Record};
use crate::error::{FieldName, TraceError, excerpt};
use std::io::{self, BufRead, Read};

/// No line of a trace is longer; a file that has one is no trace.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// Columns of the Grid Workload Format.
const GWF_COLUMNS: usize = 29;

/// Columns of the reservation table that comes with GWA-T-2.
const RESERVATION_COLUMNS: usize = 3;

/// Reads job lines one by one. The header is complete once the first job has
/// been read, except for comments further down.
pub struct SwfReader<R> {
    input: R,
    file: String,
    buffer: Vec<u8>,
    line: u64,
    records: u64,
    header: Header,
    truncated: u64,
    hash_comments: u64,
    extra_columns: Option<(u64, usize)>,
    done: bool,
}

/// How a line ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    LineFeed,
    EndOfFile,
}

impl<R: BufRead> SwfReader<R> {
    /// A reader of these bytes; `file` is the name used in messages.
    pub fn new(input: R, file: impl Into<String>) -> Self {
        SwfReader {
            input,
            file: file.into(),
            buffer: Vec::new(),
            line: 0,
            records: 0,
            header: Header::default(),
            truncated: 0,
            hash_comments: 0,
            extra_columns: None,
            done: false,
        }
    }

    /// The header comments read so far.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Lines read so far.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Job lines read so far, without a truncated one.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// 1 when the last line was cut short and left out, else 0.
    #[must_use]
    pub fn truncated_last_line(&self) -> u64 {
        self.truncated
    }

    /// The name used in messages.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// What was odd about the file but did no harm.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some((line, columns)) = self.extra_columns {
            warnings.push(format!(
                "{}:{line}: lines with {columns} fields; those past the 18th are not read",
                self.file
            ));
        }
        if self.hash_comments > 0 {
            warnings.push(format!(
                "{}: {} lines that begin with # were read as comments",
                self.file, self.hash_comments
            ));
        }
        for key in self.header.conflicts() {
            warnings.push(format!(
                "{}: header key {key} has conflicting values; the first counts",
                self.file
            ));
        }
        if self.header.dropped_lines() > 0 {
            warnings.push(format!(
                "{}: {} header lines beyond the first MiB were not kept",
                self.file,
                self.header.dropped_lines()
            ));
        }
        warnings
    }

    /// What was read from, at the point reached.
    pub fn into_inner(self) -> R {
        self.input
    }

    /// The next job line, `None` after the last.
    ///
    /// # Errors
    /// Any [`TraceError`] about the file; reading ends with it.
    pub fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        if self.done {
            return Ok(None);
        }
        let result = self.find_record();
        self.done = !matches!(result, Ok(Some(_)));
        result
    }

    fn find_record(&mut self) -> Result<Option<Record>, TraceError> {
        while let Some(end) = self.read_line()? {
            let text = self.buffer.trim_ascii();
            match text.first() {
                None => {}
                Some(b';') => self.header.add(text),
                Some(b'#') => self.hash_comments += 1,
                Some(_) => {
                    self.header.end_value();
                    match self.parse_line() {
                        Ok(record) => {
                            self.records += 1;
                            return Ok(Some(record));
                        }
                        Err(error) if self.records == 0 => return Err(self.classify(error)),
                        Err(_) if end == LineEnd::EndOfFile => self.truncated += 1,
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        if self.records == 0 {
            return Err(TraceError::NoJobs {
                file: self.file.clone(),
                lines: self.line,
            });
        }
        Ok(None)
    }

    /// Reads a line into the buffer, without its line feed.
    fn read_line(&mut self) -> Result<Option<LineEnd>, TraceError> {
        self.buffer.clear();
        let limit = MAX_LINE_BYTES as u64 + 1;
        let result = self
            .input
            .by_ref()
            .take(limit)
            .read_until(b'\n', &mut self.buffer);
        if let Err(source) = result {
            return Err(self.unreadable(source));
        }
        if self.buffer.is_empty() {
            return Ok(None);
        }
        self.line += 1;
        if self.line == 1 && self.buffer.starts_with(BYTE_ORDER_MARK) {
            self.buffer.drain(..BYTE_ORDER_MARK.len());
        }
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
            return Ok(Some(LineEnd::LineFeed));
        }
        if self.buffer.len() > MAX_LINE_BYTES {
            return Err(TraceError::LongLine {
                file: self.file.clone(),
                line: self.line,
                limit: MAX_LINE_BYTES,
            });
        }
        Ok(Some(LineEnd::EndOfFile))
    }

    fn unreadable(&self, source: io::Error) -> TraceError {
        let (file, line) = (self.file.clone(), self.line);
        match source.kind() {
            // No plain file answers with these; the gzip decoder does.
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::InvalidData
            | io::ErrorKind::InvalidInput => TraceError::DamagedGzip { file, line, source },
            _ => TraceError::Read { file, line, source },
        }
    }

    fn parse_line(&mut self) -> Result<Record, TraceError> {
        let mut numbers = [Number::default(); FIELDS];
        let mut columns = 0;
        for text in fields(&self.buffer) {
            if let Some(number) = numbers.get_mut(columns) {
                *number = Number::parse(text)
                    .ok_or_else(|| self.field_error(columns, text, "a number or -1"))?;
            }
            columns += 1;
        }
        if columns < FIELDS {
            return Err(TraceError::FieldCount {
                file: self.file.clone(),
                line: self.line,
                found: columns,
            });
        }
        if columns > FIELDS {
            if columns == GWF_COLUMNS && self.records == 0 && self.looks_like_gwf() {
                return Err(self.gwf());
            }
            self.extra_columns.get_or_insert((self.line, columns));
        }
        Record::from_numbers(self.line, &numbers).map_err(|(at, expected)| {
            let text = fields(&self.buffer).nth(at).unwrap_or_default();
            self.field_error(at, text, expected)
        })
    }

    fn field_error(&self, at: usize, text: &[u8], expected: &'static str) -> TraceError {
        TraceError::Field {
            file: self.file.clone(),
            line: self.line,
            field: FieldName {
                number: at + 1,
                name: FIELD_NAMES[at],
            },
            value: excerpt(text),
            expected,
        }
    }

    /// What the file is, given that its first data line is no job.
    fn classify(&self, error: TraceError) -> TraceError {
        let columns = fields(&self.buffer).count();
        let numeric = || fields(&self.buffer).all(|f| Number::parse(f).is_some());
        let (file, line) = (self.file.clone(), self.line);
        if columns == GWF_COLUMNS && self.looks_like_gwf() {
            return self.gwf();
        }
        if columns == RESERVATION_COLUMNS && numeric() {
            return TraceError::ReservationTable { file, line };
        }
        if columns >= FIELDS {
            return error;
        }
        TraceError::NotSwf {
            file,
            line,
            found: excerpt(self.buffer.trim_ascii()),
        }
    }

    fn looks_like_gwf(&self) -> bool {
        let tabs = self.buffer.iter().filter(|b| **b == b'\t').count();
        tabs + 1 >= GWF_COLUMNS || self.hash_comments > 0
    }

    fn gwf(&self) -> TraceError {
        TraceError::Gwf {
            file: self.file.clone(),
            line: self.line,
        }
    }
}

impl<R: BufRead> Iterator for SwfReader<R> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}

/// What some editors put in front of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|f| !f.is_empty())
}
