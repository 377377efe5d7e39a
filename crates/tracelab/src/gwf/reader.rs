//! The streaming reader.

use super::record::{COLUMN_NAMES, COLUMNS, NUMBERS, Record, TEXTS, canonical_number};
use crate::error::{FieldName, TraceError, excerpt};
use crate::swf::{self, Header, LineEnd, Lines, Number, fields, header_warnings};
use std::io::BufRead;

/// Reads job lines one by one. The header is complete once the first job has
/// been read, except for comments further down.
pub struct GwfReader<R> {
    lines: Lines<R>,
    header: Header,
    record: Box<Record>,
    records: u64,
    truncated: u64,
    semicolon_comments: u64,
    cut_numbers: u64,
    extra_columns: Option<(u64, usize)>,
    /// Whether the current line has not been looked at yet.
    again: bool,
    done: bool,
}

impl<R: BufRead> GwfReader<R> {
    /// A reader of these bytes; `file` is the name used in messages.
    pub fn new(input: R, file: impl Into<String>) -> Self {
        Self::from_parts(Lines::new(input, file), Header::default(), 0, false)
    }

    /// Goes on where somebody else has read the comments; `again` says that
    /// the current line is a job line.
    pub(crate) fn from_parts(
        lines: Lines<R>,
        header: Header,
        semicolon_comments: u64,
        again: bool,
    ) -> Self {
        GwfReader {
            lines,
            header,
            record: Box::default(),
            records: 0,
            truncated: 0,
            semicolon_comments,
            cut_numbers: 0,
            extra_columns: None,
            again,
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
        self.lines.number()
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
        self.lines.file()
    }

    /// What was odd about the file but did no harm.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let file = self.file();
        let mut warnings = Vec::new();
        if let Some((line, columns)) = self.extra_columns {
            warnings.push(format!(
                "{file}:{line}: lines with {columns} columns; those past the 29th are not read"
            ));
        }
        if self.semicolon_comments > 0 {
            warnings.push(format!(
                "{file}: {} lines that begin with ; were read as comments",
                self.semicolon_comments
            ));
        }
        if self.cut_numbers > 0 {
            warnings.push(format!(
                "{file}: {} lines have numbers of more than nine places, which were cut off",
                self.cut_numbers
            ));
        }
        header_warnings(&self.header, file, &mut warnings);
        warnings
    }

    /// What was read from, at the point reached.
    pub fn into_inner(self) -> R {
        self.lines.into_inner()
    }

    /// The next job line, `None` after the last. The record is overwritten by
    /// the next call.
    ///
    /// # Errors
    /// Any [`TraceError`] about the file; reading ends with it.
    pub fn next_record(&mut self) -> Result<Option<&Record>, TraceError> {
        if self.done {
            return Ok(None);
        }
        let result = self.find_record();
        self.done = !matches!(result, Ok(true));
        Ok(result?.then_some(&self.record))
    }

    fn find_record(&mut self) -> Result<bool, TraceError> {
        loop {
            let end = match std::mem::take(&mut self.again) {
                true => Some(LineEnd::LineFeed),
                false => self.lines.advance()?,
            };
            let Some(end) = end else { break };
            let line = self.lines.current()?;
            match line.trim_ascii().first() {
                None => {}
                Some(b'#') => self.header.add(line.trim_ascii()),
                Some(b';') => self.semicolon_comments += 1,
                Some(_) => {
                    self.header.end_value();
                    match self.parse_line() {
                        Ok(()) => {
                            self.records += 1;
                            return Ok(true);
                        }
                        Err(_) if end == LineEnd::EndOfFile && self.records > 0 => {
                            self.truncated += 1;
                        }
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        if self.records == 0 {
            return Err(TraceError::NoJobs {
                file: self.file().to_owned(),
                lines: self.line(),
            });
        }
        Ok(false)
    }

    fn parse_line(&mut self) -> Result<(), TraceError> {
        let number = self.lines.number();
        let mut numbers = [Number::default(); swf::FIELDS];
        let mut columns = 0;
        let mut bad = None;
        for text in split(self.lines.current()?) {
            if columns < NUMBERS {
                match Number::parse(text) {
                    Some(parsed) => numbers[columns] = parsed,
                    None => bad = bad.or(Some((columns, excerpt(text)))),
                }
            } else if columns < COLUMNS {
                let kept = &mut self.record.text[columns - NUMBERS];
                kept.clear();
                kept.extend_from_slice(text);
            }
            columns += 1;
        }
        if columns < COLUMNS {
            return Err(TraceError::FieldCount {
                file: self.file().to_owned(),
                line: number,
                found: columns,
                expected: COLUMNS,
            });
        }
        if let Some((at, value)) = bad {
            return Err(self.field_error(at, value, "a number or -1"));
        }
        if columns > COLUMNS {
            self.extra_columns.get_or_insert((number, columns));
        }
        self.cut_numbers += u64::from(numbers.iter().any(|n| n.cut));
        // What SWF has and GWF has not is not available.
        for absent in &mut numbers[NUMBERS..] {
            *absent = MINUS_ONE;
        }
        for (text, id) in self.record.text.iter().zip(&mut numbers[NUMBERS..16]) {
            if let Some(whole) = canonical_number(text) {
                *id = Number {
                    whole,
                    ..Number::default()
                };
            }
        }
        self.keep(&numbers)
    }

    fn keep(&mut self, numbers: &[Number; swf::FIELDS]) -> Result<(), TraceError> {
        match swf::Record::from_numbers(self.lines.number(), numbers) {
            Ok(common) => self.record.common = common,
            Err((at, expected)) => {
                let line = self.lines.current()?;
                let value = excerpt(split(line).nth(at).unwrap_or_default());
                return Err(self.field_error(at, value, expected));
            }
        }
        let wait = numbers[WAIT];
        self.record.early = None;
        if self.record.common.below_zero & 1 << WAIT != 0 {
            self.record.early = wait.seconds();
            if self.record.early.is_none() {
                let line = self.lines.current()?;
                let value = excerpt(split(line).nth(WAIT).unwrap_or_default());
                return Err(self.field_error(WAIT, value, "a time below 584 years"));
            }
        }
        Ok(())
    }

    fn field_error(&self, at: usize, value: String, expected: &'static str) -> TraceError {
        TraceError::Field {
            file: self.file().to_owned(),
            line: self.line(),
            field: FieldName {
                number: at + 1,
                name: COLUMN_NAMES[at],
            },
            value,
            expected,
        }
    }
}

/// Place of the wait time among the columns.
const WAIT: usize = 2;

const MINUS_ONE: Number = Number {
    negative: true,
    whole: 1,
    billionths: 0,
    cut: false,
};

/// The columns of a line: between tabs, where there are enough of them, else
/// between blanks. A tab at the end begins no column.
fn split(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let tabs = line.iter().filter(|b| **b == b'\t').count();
    let by_tabs = tabs + 1 >= COLUMNS;
    let line = match tabs + 1 > COLUMNS {
        true => line.strip_suffix(b"\t").unwrap_or(line),
        false => line,
    };
    let tabbed = by_tabs.then(|| line.split(|b| *b == b'\t').map(<[u8]>::trim_ascii));
    let blank = (!by_tabs).then(|| fields(line));
    tabbed
        .into_iter()
        .flatten()
        .chain(blank.into_iter().flatten())
}

/// Whether a line has the 29 columns of GWF: between tabs, or between blanks
/// in a file whose comments begin with `#`.
pub(crate) fn is_job_line(line: &[u8], hash_comments: bool) -> bool {
    let columns = split(line).count();
    let tabs = line.iter().filter(|b| **b == b'\t').count();
    columns >= COLUMNS && (tabs + 1 >= COLUMNS || hash_comments)
}

const _: () = assert!(NUMBERS + TEXTS == COLUMNS);
