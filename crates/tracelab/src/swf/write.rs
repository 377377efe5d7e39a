//! The streaming writer.

use super::number::Quantity;
use super::record::Record;
use gridrig_core::time::{NANOS_PER_SEC, SimDuration};
use std::io::{self, Write};

/// Bytes that are gathered before they are handed on.
const BUFFER_BYTES: usize = 1 << 16;

/// Longest line of a job: 18 numbers of at most 20 digits, a point and 9 places.
const LINE_BYTES: usize = 18 * 32;

/// Writes an SWF log line by line: the header first, then one job after the
/// other. Nothing is kept but the bytes not yet handed on.
///
/// Numbers are written as the shortest exact decimal, what is *not available*
/// as -1, and fields are separated by one blank: the same jobs give the same
/// bytes.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    buffer: Vec<u8>,
    records: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a log with these header comments, `; key: value`.
    ///
    /// A line feed in a value goes on in a comment line of its own. An entry
    /// with an empty key is a comment without one.
    ///
    /// # Errors
    /// What the output says.
    pub fn new(out: W, header: &[(String, String)]) -> io::Result<Self> {
        let mut writer = Writer {
            out,
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
        push_comment(&mut self.buffer, b';', key, value);
        self.hand_on()
    }

    /// Writes a job.
    ///
    /// # Errors
    /// What the output says.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        push_record(&mut self.buffer, record);
        self.records += 1;
        self.hand_on()
    }

    /// Jobs written so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Hands on what is left and gives the output back. A file made by
    /// [`create`](super::create) still has to be committed.
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
pub(crate) fn push_comment(buffer: &mut Vec<u8>, mark: u8, key: &str, value: &str) {
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

/// One line of 18 fields.
fn push_record(buffer: &mut Vec<u8>, record: &Record) {
    let count = |buffer: &mut Vec<u8>, value| {
        push_count(buffer, value);
        buffer.push(b' ');
    };
    let time = |buffer: &mut Vec<u8>, value| {
        push_time(buffer, value);
        buffer.push(b' ');
    };
    let amount = |buffer: &mut Vec<u8>, value| {
        push_quantity(buffer, value);
        buffer.push(b' ');
    };
    count(buffer, record.job);
    time(buffer, record.submit_time);
    time(buffer, record.wait_time);
    time(buffer, record.run_time);
    count(buffer, record.allocated_processors);
    time(buffer, record.cpu_time);
    amount(buffer, record.used_memory);
    count(buffer, record.requested_processors);
    time(buffer, record.requested_time);
    amount(buffer, record.requested_memory);
    count(buffer, record.status);
    count(buffer, record.user);
    count(buffer, record.group);
    count(buffer, record.executable);
    count(buffer, record.queue);
    count(buffer, record.partition);
    count(buffer, record.preceding_job);
    push_time(buffer, record.think_time);
    buffer.push(b'\n');
}

/// A whole number, or -1.
pub(crate) fn push_count(buffer: &mut Vec<u8>, value: Option<u64>) {
    match value {
        Some(value) => push_digits(buffer, value),
        None => buffer.extend_from_slice(b"-1"),
    }
}

/// Seconds as the shortest exact decimal, or -1.
pub(crate) fn push_time(buffer: &mut Vec<u8>, value: Option<SimDuration>) {
    match value.map(SimDuration::as_nanos) {
        Some(nanos) => push_decimal(
            buffer,
            nanos / NANOS_PER_SEC,
            (nanos % NANOS_PER_SEC) as u32,
        ),
        None => buffer.extend_from_slice(b"-1"),
    }
}

/// An amount as the shortest exact decimal, or -1.
pub(crate) fn push_quantity(buffer: &mut Vec<u8>, value: Option<Quantity>) {
    match value {
        Some(value) => push_decimal(buffer, value.whole, value.billionths),
        None => buffer.extend_from_slice(b"-1"),
    }
}

/// Whole part, point and billionths without zeros at the end.
pub(crate) fn push_decimal(buffer: &mut Vec<u8>, whole: u64, billionths: u32) {
    push_digits(buffer, whole);
    if billionths == 0 {
        return;
    }
    let mut places = *b".000000000";
    let mut rest = billionths;
    for place in places[1..].iter_mut().rev() {
        *place += (rest % 10) as u8;
        rest /= 10;
    }
    let last = places.iter().rposition(|b| *b != b'0').unwrap_or(0);
    buffer.extend_from_slice(&places[..=last]);
}

fn push_digits(buffer: &mut Vec<u8>, mut value: u64) {
    /// 2^64 - 1 has so many.
    const MOST: usize = 20;
    let mut digits = [0u8; MOST];
    let mut at = MOST;
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    buffer.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swf::SwfReader;

    fn written(header: &[(String, String)], records: &[Record]) -> String {
        let mut writer = Writer::new(Vec::new(), header).unwrap();
        for record in records {
            writer.write(record).unwrap();
        }
        assert_eq!(writer.records(), records.len() as u64);
        String::from_utf8(writer.finish().unwrap()).unwrap()
    }

    #[test]
    fn a_record_is_written_as_it_was_read() {
        let line = "7 0 1.5 90.25 4 0.000000001 2048.5 8 18446744073 -1 1 3 4 5 0 6 2 30\n";
        let record = SwfReader::new(line.as_bytes(), "t.swf")
            .next_record()
            .unwrap()
            .unwrap();
        assert_eq!(written(&[], &[record]), line);
        let nothing = format!("{}\n", ["-1"; 18].join(" "));
        assert_eq!(written(&[], &[Record::default()]), nothing);
    }

    #[test]
    fn the_largest_numbers_are_written_whole() {
        let record = Record {
            job: Some(u64::MAX),
            run_time: Some(SimDuration::from_nanos(u64::MAX)),
            ..Record::default()
        };
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
        let mut reader = SwfReader::new(text.as_bytes(), "t.swf");
        reader.next_record().unwrap();
        assert_eq!(reader.header().values("Note"), ["two\nlines", ""]);
        assert_eq!(reader.header().max_processors(), Some(64));
        assert_eq!(reader.header().lines(), header);
    }
}
