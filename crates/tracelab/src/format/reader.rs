//! The streaming reader of both formats.

use super::fast::plain_line;
use super::header::Header;
use super::lines::{LineEnd, Lines, MAX_LINE_BYTES};
use super::number::Number;
use super::record::{
    COLUMNS, FIELDS, Format, NUMBERS, Record, TEXTS, canonical_number, field, unfit,
};
use super::source::{Progress, TraceFile};
use crate::error::{Result, TraceError, excerpt, field_name};
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Large enough that a line is rarely split.
const BUFFER_BYTES: usize = 1 << 17;

/// Columns of the reservation table that comes with GWA-T-2.
const RESERVATION_COLUMNS: usize = 3;

/// Reads job lines one by one. The header is complete once the first job has
/// been read, except for comments further down.
pub struct TraceReader<R> {
    format: Format,
    lines: Lines<R>,
    header: Header,
    record: Box<Record>,
    records: u64,
    truncated: u64,
    /// Lines that begin with the comment mark of the other format.
    foreign_comments: u64,
    cut_numbers: u64,
    /// Line and columns of the first line with more columns than the format has,
    /// and the first of those, counted from 1, that is a list in braces. They are
    /// not read: nothing says what they mean.
    wide: Option<(u64, usize, Option<usize>)>,
    /// Whether the current line has not been looked at yet.
    again: bool,
    done: bool,
}

/// Opens a trace file, gzip or plain, SWF or GWF: its first job line tells.
///
/// # Errors
/// Any [`TraceError`] about the file and its lines up to the first job.
pub fn open(path: &Path) -> Result<TraceReader<BufReader<TraceFile>>> {
    open_watched(path).map(|(reader, _)| reader)
}

/// Opens a trace file, with how far it has been read.
pub(crate) fn open_watched(path: &Path) -> Result<(TraceReader<BufReader<TraceFile>>, Progress)> {
    let file = TraceFile::open(path)?;
    let progress = file.progress();
    let buffered = BufReader::with_capacity(BUFFER_BYTES, file);
    let reader = TraceReader::detect(buffered, path.display().to_string())?;
    Ok((reader, progress))
}

/// Opens a trace file that is said to be of this format.
///
/// # Errors
/// Any [`TraceError`] about the file and its lines up to the first job.
pub fn open_as(path: &Path, format: Format) -> Result<TraceReader<BufReader<TraceFile>>> {
    let buffered = BufReader::with_capacity(BUFFER_BYTES, TraceFile::open(path)?);
    TraceReader::begin(Some(format), buffered, path.display().to_string())
}

impl<R: BufRead> TraceReader<R> {
    /// A reader of these bytes; `file` is the name used in messages.
    pub fn new(format: Format, input: R, file: impl Into<String>) -> Self {
        TraceReader {
            format,
            lines: Lines::new(input, file),
            header: Header::default(),
            record: Box::default(),
            records: 0,
            truncated: 0,
            foreign_comments: 0,
            cut_numbers: 0,
            wide: None,
            again: false,
            done: false,
        }
    }

    /// Reads up to the first job line, and the rest of the file as what that
    /// line is: what is no GWF is judged as SWF.
    ///
    /// # Errors
    /// Any [`TraceError`] about the lines up to there.
    pub fn detect(input: R, file: impl Into<String>) -> Result<Self> {
        Self::begin(None, input, file)
    }

    /// Reads up to the first job line of a file that may be said to be of a
    /// format.
    fn begin(said: Option<Format>, input: R, file: impl Into<String>) -> Result<Self> {
        let mut reader = Self::new(said.unwrap_or(Format::Swf), input, file);
        let mut other_header = Header::default();
        let mut own_comments = 0;
        while reader.lines.advance()?.is_some() {
            let number = reader.lines.number();
            let line = reader.lines.current()?;
            let text = line.trim_ascii();
            match text.first() {
                None => {}
                Some(mark) if *mark == reader.format.mark() => {
                    own_comments += 1;
                    reader.header.add(number, text);
                }
                Some(b';' | b'#') => {
                    reader.foreign_comments += 1;
                    other_header.add(number, text);
                }
                Some(_) => {
                    reader.again = true;
                    if said.is_none() && is_gwf_line(line, reader.foreign_comments > 0) {
                        reader.format = Format::Gwf;
                        reader.header = other_header;
                        reader.foreign_comments = own_comments;
                    }
                    break;
                }
            }
        }
        Ok(reader)
    }

    /// What the file is.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The header comments read so far.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The name used in messages.
    pub fn file(&self) -> &str {
        self.lines.file()
    }

    /// Lines read so far.
    pub fn line(&self) -> u64 {
        self.lines.number()
    }

    /// 1 when the last line was cut short and left out, else 0.
    pub fn truncated_last_line(&self) -> u64 {
        self.truncated
    }

    /// What was odd about the file but did no harm.
    pub fn warnings(&self) -> Vec<String> {
        let file = self.file();
        let mut warnings = Vec::new();
        if let Some((line, columns, list)) = self.wide {
            let (told, last) = (self.told(columns, list), self.format.columns());
            warnings.push(format!(
                "{file}:{line}: lines with {told}; those past the {last}th are not read"
            ));
        }
        let mark = match self.format {
            Format::Swf => Format::Gwf.mark(),
            Format::Gwf => Format::Swf.mark(),
        };
        let mark = char::from(mark);
        let mut warn = |count: u64, what: &str| {
            if count > 0 {
                warnings.push(format!("{file}: {count} {what}"));
            }
        };
        warn(
            self.foreign_comments,
            &format!("lines that begin with {mark} were read as comments"),
        );
        warn(
            self.cut_numbers,
            "lines have numbers of more than nine places, which were cut off",
        );
        for key in self.header.conflicts() {
            warnings.push(format!(
                "{file}: header key {key} has conflicting values; the first is used"
            ));
        }
        let dropped = self.header.dropped_lines();
        if dropped > 0 {
            warnings.push(format!(
                "{file}: {dropped} header lines beyond the first MiB were not kept"
            ));
        }
        warnings
    }

    /// The columns of lines that are too wide, in words.
    fn told(&self, columns: usize, list: Option<usize>) -> String {
        match (self.format, list) {
            (Format::Gwf, _) => format!("{columns} columns"),
            (Format::Swf, None) => format!("{columns} fields"),
            (Format::Swf, Some(list)) => {
                // Seen in the logs that come with the Alea simulator: node
                // numbers in braces, a queue by name and a PBS request.
                let alea = match (columns, list) {
                    (21, 19) => " (extended SWF as of Alea)",
                    _ => "",
                };
                format!("{columns} fields, the {list}th a list in braces{alea}")
            }
        }
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
    pub fn next_record(&mut self) -> Result<Option<&Record>> {
        if self.done {
            return Ok(None);
        }
        let found = self.find_record();
        self.done = !matches!(found, Ok(true));
        Ok(found?.then_some(&self.record))
    }

    fn find_record(&mut self) -> Result<bool> {
        if self.take_plain()? {
            return Ok(true);
        }
        loop {
            let end = match std::mem::take(&mut self.again) {
                true => Some(LineEnd::LineFeed),
                false => self.lines.advance()?,
            };
            let Some(end) = end else { break };
            let number = self.lines.number();
            let text = self.lines.current()?.trim_ascii();
            match text.first() {
                None => {}
                Some(mark) if *mark == self.format.mark() => self.header.add(number, text),
                Some(b';' | b'#') => self.foreign_comments += 1,
                Some(_) => {
                    self.header.end_value();
                    match self.parse_line() {
                        Ok(()) => {
                            self.records += 1;
                            return Ok(true);
                        }
                        Err(error) if self.records == 0 => return Err(self.classify(error)),
                        Err(_) if end == LineEnd::EndOfFile => self.truncated += 1,
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        if self.records == 0 {
            let lines = self.line();
            let problem =
                format!("the trace has no job line ({lines} lines of comments and blanks)");
            return Err(TraceError::file(self.file(), problem));
        }
        Ok(false)
    }

    /// Takes the next line if it is one of 18 plain numbers, which is what
    /// nearly all lines of nearly all SWF logs are.
    fn take_plain(&mut self) -> Result<bool> {
        // The first job line is looked at with care: it tells what the file is.
        if self.format != Format::Swf || self.records == 0 || self.again {
            return Ok(false);
        }
        let ahead = self.lines.ahead()?;
        let ahead = &ahead[..ahead.len().min(MAX_LINE_BYTES + 1)];
        let Some(length) = plain_line(ahead, &mut self.record.numbers) else {
            return Ok(false);
        };
        self.lines.take_ahead(length);
        self.header.end_value();
        self.settle()?;
        self.records += 1;
        Ok(true)
    }

    fn parse_line(&mut self) -> Result<()> {
        let (format, line) = (self.format, self.lines.number());
        let mut numbers = [Number::default(); FIELDS];
        let (plain, expected) = match format {
            Format::Swf => (FIELDS, FIELDS),
            Format::Gwf => (NUMBERS, COLUMNS),
        };
        if format == Format::Gwf {
            self.record.text.resize(TEXTS, Vec::new());
        }
        let mut columns = 0;
        let (mut list, mut bad) = (None, None);
        for text in split(self.lines.current()?, format) {
            if columns < plain {
                match Number::parse(text) {
                    Some(parsed) => numbers[columns] = parsed,
                    None => bad = bad.or(Some((columns, excerpt(text)))),
                }
            } else if columns < expected {
                let kept = &mut self.record.text[columns - NUMBERS];
                kept.clear();
                kept.extend_from_slice(text);
            } else if text.starts_with(b"{") {
                list = list.or(Some(columns + 1));
            }
            columns += 1;
        }
        let short = columns < expected;
        if let Some((at, value)) = bad
            && (format == Format::Swf || !short)
        {
            return Err(self.field_error(at, &value, "a number or -1"));
        }
        if short {
            let problem = format!("field count = \"{columns}\": expected {expected}");
            return Err(TraceError::line(self.file(), line, problem));
        }
        if columns > expected {
            if format == Format::Swf && self.records == 0 && self.looks_like_gwf()? {
                return Err(self.gwf());
            }
            self.wide.get_or_insert((line, columns, list));
        }
        self.cut_numbers += u64::from(numbers.iter().any(|n| n.cut));
        if format == Format::Gwf {
            // What SWF has and GWF has not is not available.
            numbers[NUMBERS..].fill(Number::default());
            for (text, id) in self.record.text.iter().zip(&mut numbers[NUMBERS..16]) {
                *id = canonical_number(text).map_or(*id, Number::from);
            }
        }
        self.record.numbers = numbers.map(|number| Number {
            cut: false,
            ..number
        });
        self.settle()
    }

    /// Makes the numbers of a line a record.
    fn settle(&mut self) -> Result<()> {
        let record = &mut *self.record;
        record.line = self.lines.number();
        if let Some((at, expected)) = unfit(&record.numbers) {
            return Err(self.unfit(at, expected));
        }
        if self.format == Format::Gwf {
            let early = record.below_zero() & 1 << field::WAIT != 0;
            record.early = None;
            if early {
                record.early = record.numbers[field::WAIT].seconds();
                if record.early.is_none() {
                    return Err(self.unfit(field::WAIT, "a time below 584 years"));
                }
            }
        }
        Ok(())
    }

    /// A number that its field cannot be.
    fn unfit(&mut self, at: usize, expected: &str) -> TraceError {
        let format = self.format;
        let value = match self.lines.current() {
            Ok(line) => excerpt(split(line, format).nth(at).unwrap_or_default()),
            Err(error) => return error,
        };
        self.field_error(at, &value, expected)
    }

    fn field_error(&self, at: usize, value: &str, expected: &str) -> TraceError {
        let field = field_name(at + 1, self.format.column_names());
        let problem = format!("field {field} = \"{value}\": expected {expected}");
        TraceError::line(self.file(), self.line(), problem)
    }

    /// What a file is that is read as SWF, given that its first data line is no
    /// job.
    fn classify(&mut self, error: TraceError) -> TraceError {
        let (file, line) = (self.file().to_owned(), self.line());
        if self.format == Format::Gwf {
            return error;
        }
        let (Ok(gwf), Ok(text)) = (self.looks_like_gwf(), self.lines.current()) else {
            return error;
        };
        if gwf {
            return self.gwf();
        }
        let columns = blank_separated(text).count();
        let numbers = blank_separated(text).all(|f| Number::parse(f).is_some());
        let problem = if columns == RESERVATION_COLUMNS && numbers {
            "this is a GWA reservation table (JobID, StartTime, StopTime), not a job trace: \
             expected the 18 fields of SWF"
                .to_owned()
        } else if columns >= FIELDS {
            return error;
        } else {
            let found = excerpt(text.trim_ascii());
            format!(
                "not an SWF trace: line = \"{found}\": expected 18 numbers separated by blanks \
                 (gridrig trace import makes a trace of other logs)"
            )
        };
        TraceError::line(&file, line, problem)
    }

    fn looks_like_gwf(&mut self) -> Result<bool> {
        let hashes = self.foreign_comments > 0;
        Ok(is_gwf_line(self.lines.current()?, hashes))
    }

    fn gwf(&self) -> TraceError {
        let problem = "this is GWF (29 columns): expected the 18 fields of SWF";
        TraceError::line(self.file(), self.line(), problem.to_owned())
    }
}

/// The columns of a line. Those of GWF are between tabs, where there are enough
/// of them, else between blanks; a tab at the end begins no column.
fn split(line: &[u8], format: Format) -> impl Iterator<Item = &[u8]> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let tabs = match format {
        Format::Swf => 0,
        Format::Gwf => tabs(line),
    };
    let by_tabs = tabs + 1 >= COLUMNS;
    let line = match tabs + 1 > COLUMNS {
        true => line.strip_suffix(b"\t").unwrap_or(line),
        false => line,
    };
    let tabbed = by_tabs.then(|| line.split(|b| *b == b'\t').map(<[u8]>::trim_ascii));
    let blank = (!by_tabs).then(|| blank_separated(line));
    let tabbed = tabbed.into_iter().flatten();
    tabbed.chain(blank.into_iter().flatten())
}

fn tabs(line: &[u8]) -> usize {
    line.iter().filter(|b| **b == b'\t').count()
}

fn blank_separated(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|field| !field.is_empty())
}

/// Whether a line has the 29 columns of GWF: between tabs, or between blanks
/// in a file whose comments begin with `#`.
fn is_gwf_line(line: &[u8], hash_comments: bool) -> bool {
    let columns = split(line, Format::Gwf).count();
    columns >= COLUMNS && (tabs(line) + 1 >= COLUMNS || hash_comments)
}
