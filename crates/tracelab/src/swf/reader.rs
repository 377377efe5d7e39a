//! The streaming reader.

use super::fast::plain_line;
use super::header::Header;
use super::lines::{LineEnd, Lines, MAX_LINE_BYTES};
use super::number::Number;
use super::record::{FIELD_NAMES, FIELDS, Record};
use crate::error::{FieldName, TraceError, excerpt};
use crate::gwf;
use std::fmt;
use std::io::BufRead;

/// Columns of the reservation table that comes with GWA-T-2.
const RESERVATION_COLUMNS: usize = 3;

/// Reads job lines one by one. The header is complete once the first job has
/// been read, except for comments further down.
pub struct SwfReader<R> {
    lines: Lines<R>,
    records: u64,
    header: Header,
    truncated: u64,
    hash_comments: u64,
    cut_numbers: u64,
    dialect: Option<(u64, Dialect)>,
    /// Whether the current line has not been looked at yet.
    again: bool,
    done: bool,
}

/// An SWF of more than 18 fields. Those past the 18th are not read: nothing
/// says what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Fields on its lines, by the first line that has more than 18.
    pub columns: usize,
    /// The first field that is a list in braces, counted from 1.
    pub list: Option<usize>,
}

impl Dialect {
    /// The dialect by its common name, where it has one.
    #[must_use]
    pub fn name(&self) -> Option<&'static str> {
        // Seen in the logs that come with the Alea simulator: node numbers in
        // braces, a queue by name and a PBS request.
        (self.columns == 21 && self.list == Some(19)).then_some("extended SWF as of Alea")
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} fields", self.columns)?;
        if let Some(list) = self.list {
            write!(f, ", the {list}th a list in braces")?;
        }
        match self.name() {
            Some(name) => write!(f, " ({name})"),
            None => Ok(()),
        }
    }
}

impl<R: BufRead> SwfReader<R> {
    /// A reader of these bytes; `file` is the name used in messages.
    pub fn new(input: R, file: impl Into<String>) -> Self {
        Self::from_parts(Lines::new(input, file), Header::default(), 0, false)
    }

    /// Goes on where somebody else has read the comments; `again` says that
    /// the current line is a job line.
    pub(crate) fn from_parts(
        lines: Lines<R>,
        header: Header,
        hash_comments: u64,
        again: bool,
    ) -> Self {
        SwfReader {
            lines,
            records: 0,
            header,
            truncated: 0,
            hash_comments,
            cut_numbers: 0,
            dialect: None,
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

    /// What kind of extended SWF this is; `None` for the 18 fields of SWF 2.2.
    #[must_use]
    pub fn dialect(&self) -> Option<Dialect> {
        self.dialect.map(|(_, dialect)| dialect)
    }

    /// What was odd about the file but did no harm.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let file = self.file();
        if let Some((line, dialect)) = self.dialect {
            warnings.push(format!(
                "{file}:{line}: lines with {dialect}; those past the 18th are not read"
            ));
        }
        if self.hash_comments > 0 {
            warnings.push(format!(
                "{file}: {} lines that begin with # were read as comments",
                self.hash_comments
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

    /// The next job line, `None` after the last.
    ///
    /// # Errors
    /// Any [`TraceError`] about the file; reading ends with it.
    pub fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        if self.done {
            return Ok(None);
        }
        let result = match self.next_plain() {
            Ok(None) => self.find_record(),
            found => found,
        };
        self.done = !matches!(result, Ok(Some(_)));
        result
    }

    /// The next line if it is one of 18 plain numbers, which is what nearly
    /// all lines of nearly all logs are.
    fn next_plain(&mut self) -> Result<Option<Record>, TraceError> {
        // The first job line is looked at with care: it tells what the file is.
        if self.records == 0 || self.again {
            return Ok(None);
        }
        let mut numbers = [Number::default(); FIELDS];
        let ahead = self.lines.ahead()?;
        let ahead = &ahead[..ahead.len().min(MAX_LINE_BYTES + 1)];
        let Some(length) = plain_line(ahead, &mut numbers) else {
            return Ok(None);
        };
        self.lines.take_ahead(length);
        self.header.end_value();
        let record = self.record(&numbers)?;
        self.records += 1;
        Ok(Some(record))
    }

    fn find_record(&mut self) -> Result<Option<Record>, TraceError> {
        loop {
            let end = match std::mem::take(&mut self.again) {
                true => Some(LineEnd::LineFeed),
                false => self.lines.advance()?,
            };
            let Some(end) = end else { break };
            let text = self.lines.current()?.trim_ascii();
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
                file: self.file().to_owned(),
                lines: self.line(),
            });
        }
        Ok(None)
    }

    fn parse_line(&mut self) -> Result<Record, TraceError> {
        let mut numbers = [Number::default(); FIELDS];
        let mut columns = 0;
        let mut list = None;
        let mut bad = None;
        for text in fields(self.lines.current()?) {
            match numbers.get_mut(columns) {
                Some(number) => match Number::parse(text) {
                    Some(parsed) => *number = parsed,
                    None => {
                        bad = Some((columns, excerpt(text)));
                        break;
                    }
                },
                None if text.starts_with(b"{") => list = list.or(Some(columns + 1)),
                None => {}
            }
            columns += 1;
        }
        if let Some((at, value)) = bad {
            return Err(self.field_error(at, value, "a number or -1"));
        }
        if columns < FIELDS {
            return Err(TraceError::FieldCount {
                file: self.file().to_owned(),
                line: self.line(),
                found: columns,
                expected: FIELDS,
            });
        }
        if columns > FIELDS {
            if self.records == 0 && self.looks_like_gwf()? {
                return Err(self.gwf());
            }
            let line = self.line();
            self.dialect
                .get_or_insert((line, Dialect { columns, list }));
        }
        self.cut_numbers += u64::from(numbers.iter().any(|n| n.cut));
        self.record(&numbers)
    }

    fn record(&mut self, numbers: &[Number; FIELDS]) -> Result<Record, TraceError> {
        match Record::from_numbers(self.lines.number(), numbers) {
            Ok(record) => Ok(record),
            Err((at, expected)) => {
                let line = self.lines.current()?;
                let value = excerpt(fields(line).nth(at).unwrap_or_default());
                Err(self.field_error(at, value, expected))
            }
        }
    }

    fn field_error(&self, at: usize, value: String, expected: &'static str) -> TraceError {
        TraceError::Field {
            file: self.file().to_owned(),
            line: self.line(),
            field: FieldName {
                number: at + 1,
                name: FIELD_NAMES[at],
            },
            value,
            expected,
        }
    }

    /// What the file is, given that its first data line is no job.
    fn classify(&mut self, error: TraceError) -> TraceError {
        let (file, line) = (self.file().to_owned(), self.line());
        let (Ok(gwf), Ok(text)) = (self.looks_like_gwf(), self.lines.current()) else {
            return error;
        };
        if gwf {
            return self.gwf();
        }
        let columns = fields(text).count();
        if columns == RESERVATION_COLUMNS && fields(text).all(|f| Number::parse(f).is_some()) {
            return TraceError::ReservationTable { file, line };
        }
        if columns >= FIELDS {
            return error;
        }
        TraceError::NotSwf {
            file,
            line,
            found: excerpt(text.trim_ascii()),
        }
    }

    fn looks_like_gwf(&mut self) -> Result<bool, TraceError> {
        let hashes = self.hash_comments > 0;
        Ok(gwf::is_job_line(self.lines.current()?, hashes))
    }

    fn gwf(&self) -> TraceError {
        TraceError::Gwf {
            file: self.file().to_owned(),
            line: self.line(),
        }
    }
}

/// What is odd about a header.
pub(crate) fn header_warnings(header: &Header, file: &str, warnings: &mut Vec<String>) {
    for key in header.conflicts() {
        warnings.push(format!(
            "{file}: header key {key} has conflicting values; the first counts"
        ));
    }
    if header.dropped_lines() > 0 {
        warnings.push(format!(
            "{file}: {} header lines beyond the first MiB were not kept",
            header.dropped_lines()
        ));
    }
}

impl<R: BufRead> Iterator for SwfReader<R> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}

pub(crate) fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|f| !f.is_empty())
}
