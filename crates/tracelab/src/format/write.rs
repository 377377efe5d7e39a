//! The streaming writer.

use super::number::Number;
use super::record::{FIELDS, Format, IDS, NUMBERS, Record, TEXTS, field};
use std::io::{self, Write};

/// Bytes that are gathered before they are handed on.
const BUFFER_BYTES: usize = 1 << 16;

/// Longest line of an SWF job: 18 numbers of at most 20 digits, a point and 9
/// places.
const LINE_BYTES: usize = 18 * 32;

/// Writes a trace line by line: the header first, then one job after the
/// other. Nothing is kept but the bytes not yet handed on.
///
/// Numbers are written as the shortest exact decimal and what is *not
/// available* as -1; fields are separated by one blank in SWF, by one tab in
/// GWF: the same jobs give the same bytes. Columns 12 to 16 of GWF are a job's
/// text where there is one, else its number.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    format: Format,
    buffer: Vec<u8>,
    records: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a trace with these header comments, `key: value` behind its mark.
    ///
    /// A line feed in a value goes on in a comment line of its own. An entry
    /// with an empty key is a comment without one.
    ///
    /// # Errors
    /// What the output says.
    pub fn new(out: W, format: Format, header: &[(String, String)]) -> io::Result<Self> {
        let mut writer = Writer {
            out,
            format,
            buffer: Vec::with_capacity(BUFFER_BYTES + LINE_BYTES),
            records: 0,
        };
        for (key, value) in header {
            writer.comment(key, value)?;
        }
        Ok(writer)
    }

    /// Writes a comment, in the header or further down.
    ///
    /// # Errors
    /// What the output says.
    pub fn comment(&mut self, key: &str, value: &str) -> io::Result<()> {
        push_comment(&mut self.buffer, self.format.mark(), key, value);
        self.hand_on()
    }

    /// Writes a job.
    ///
    /// # Errors
    /// What the output says.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        push_record(&mut self.buffer, self.format, record);
        self.records += 1;
        self.hand_on()
    }

    /// Jobs written so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Hands on what is left and gives the output back. A file made by
    /// [`create`](crate::format::create) still has to be committed.
    ///
    /// # Errors
    /// What the output says.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn hand_on(&mut self) -> io::Result<()> {
        if self.buffer.len() >= BUFFER_BYTES {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

/// `; key: value`, with further lines of the value in comments of their own.
///
/// A comment without a key is parted from what stands before it by an empty
/// one, or it would be read as the next line of that value.
fn push_comment(buffer: &mut Vec<u8>, mark: u8, key: &str, value: &str) {
    if key.is_empty() {
        buffer.extend([mark, b'\n']);
    }
    let mut lines = value.split('\n');
    buffer.push(mark);
    if !key.is_empty() {
        buffer.push(b' ');
        buffer.extend_from_slice(key.as_bytes());
        buffer.push(b':');
    }
    let first = lines.next().unwrap_or_default();
    for (number, line) in std::iter::once(first).chain(lines).enumerate() {
        if number > 0 {
            buffer.extend([b'\n', mark, b' ', b' ', b' ']);
        }
        let line = line.trim();
        if !line.is_empty() {
            buffer.push(b' ');
            // A carriage return would end the line for some readers.
            buffer.extend(line.bytes().map(|b| if b == b'\r' { b' ' } else { b }));
        }
    }
    buffer.push(b'\n');
}

/// A job as a line.
fn push_record(buffer: &mut Vec<u8>, format: Format, record: &Record) {
    let (end, fields) = match format {
        Format::Swf => (b' ', FIELDS),
        Format::Gwf => (b'\t', NUMBERS),
    };
    // SWF has no wait times below zero.
    let early = record.early.filter(|_| format == Format::Gwf);
    for at in 0..fields {
        if at > 0 {
            buffer.push(end);
        }
        match early {
            Some(early) if at == field::WAIT => {
                buffer.push(b'-');
                push_number(buffer, Some(early.into()));
            }
            _ => push_number(buffer, record.number(at)),
        }
    }
    if format == Format::Gwf {
        for at in 0..TEXTS {
            buffer.push(end);
            match record.text.get(at).map_or(&[][..], Vec::as_slice) {
                [] => {
                    let id = record.number(NUMBERS + at).filter(|_| at < IDS);
                    push_number(buffer, id);
                }
                text => {
                    let plain = |b: &u8| if matches!(b, b'\t' | b'\n') { b' ' } else { *b };
                    buffer.extend(text.iter().map(plain));
                }
            }
        }
    }
    buffer.push(b'\n');
}

/// The shortest exact decimal, or -1.
pub(crate) fn push_number(buffer: &mut Vec<u8>, value: Option<Number>) {
    let Some(value) = value else {
        return buffer.extend_from_slice(b"-1");
    };
    buffer.extend_from_slice(itoa::Buffer::new().format(value.whole).as_bytes());
    if value.billionths > 0 {
        let _ = write!(buffer, ".{:09}", value.billionths);
        while buffer.pop_if(|byte| *byte == b'0').is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::TraceReader;
    use gridrig_core::time::SimDuration;

    fn written(header: &[(String, String)], records: &[Record]) -> String {
        let mut writer = Writer::new(Vec::new(), Format::Swf, header).unwrap();
        for record in records {
            writer.write(record).unwrap();
        }
        assert_eq!(writer.records(), records.len() as u64);
        String::from_utf8(writer.finish().unwrap()).unwrap()
    }

    #[test]
    fn a_record_is_written_as_it_was_read() {
        let line = "7 0 1.5 90.25 4 0.000000001 2048.5 8 18446744073 -1 1 3 4 5 0 6 2 30\n";
        let mut reader = TraceReader::new(Format::Swf, line.as_bytes(), "t.swf");
        let record = reader.next_record().unwrap().unwrap();
        assert_eq!(written(&[], std::slice::from_ref(record)), line);
        let nothing = format!("{}\n", ["-1"; 18].join(" "));
        assert_eq!(written(&[], &[Record::default()]), nothing);
    }

    #[test]
    fn the_largest_numbers_are_written_whole() {
        let longest = SimDuration::from_nanos(u64::MAX);
        let record = Record::default()
            .with(field::JOB, u64::MAX)
            .with(field::RUN_TIME, longest);
        let text = written(&[], &[record]);
        assert!(text.starts_with("18446744073709551615 -1 -1 18446744073.709551615 "));
    }

    #[test]
    fn a_header_is_read_back_as_it_was_given() {
        let header = [
            ("Version", "2.2"),
            ("Note", "two\nlines"),
            ("", "a banner"),
            ("Note", ""),
            ("MaxProcs", "64"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let text = written(
            &header,
            &[Record {
                line: 1,
                ..Record::default()
            }],
        );
        let mut reader = TraceReader::new(Format::Swf, text.as_bytes(), "t.swf");
        reader.next_record().unwrap();
        assert_eq!(reader.header().values("Note"), ["two\nlines", ""]);
        assert_eq!(reader.header().max_processors(), Some(64));
        assert_eq!(reader.header().lines(), header);
    }
}
