//! The streaming writer.

use super::record::{COLUMNS, NUMBERS, Record};
use crate::swf::{push_comment, push_count, push_decimal, push_quantity, push_time};
use gridrig_core::time::{NANOS_PER_SEC, SimDuration};
use std::io::{self, Write};

/// Bytes that are gathered before they are handed on.
const BUFFER_BYTES: usize = 1 << 16;

/// Writes a GWF trace line by line: the header first, then one job after the
/// other. Nothing is kept but the bytes not yet handed on.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    buffer: Vec<u8>,
    records: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a trace with these header comments, `# key: value`.
    ///
    /// # Errors
    /// What the output says.
    pub fn new(out: W, header: &[(String, String)]) -> io::Result<Self> {
        let mut writer = Writer {
            out,
            buffer: Vec::with_capacity(BUFFER_BYTES),
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
        push_comment(&mut self.buffer, b'#', key, value);
        self.hand_on()
    }

    /// Writes a job. Columns 12 to 16 are its text where there is one, else
    /// its number.
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

    /// Hands on what is left and gives the output back.
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

fn push_record(buffer: &mut Vec<u8>, record: &Record) {
    let common = &record.common;
    push_count(buffer, common.job);
    buffer.push(b'\t');
    push_time(buffer, common.submit_time);
    buffer.push(b'\t');
    push_wait(buffer, record);
    buffer.push(b'\t');
    push_time(buffer, common.run_time);
    buffer.push(b'\t');
    push_count(buffer, common.allocated_processors);
    buffer.push(b'\t');
    push_time(buffer, common.cpu_time);
    buffer.push(b'\t');
    push_quantity(buffer, common.used_memory);
    buffer.push(b'\t');
    push_count(buffer, common.requested_processors);
    buffer.push(b'\t');
    push_time(buffer, common.requested_time);
    buffer.push(b'\t');
    push_quantity(buffer, common.requested_memory);
    buffer.push(b'\t');
    push_count(buffer, common.status);
    let numbers = [
        common.user,
        common.group,
        common.executable,
        common.queue,
        common.partition,
    ];
    for column in NUMBERS..COLUMNS {
        buffer.push(b'\t');
        let at = column - NUMBERS;
        match record.text[at].as_slice() {
            [] => push_count(buffer, numbers.get(at).copied().flatten()),
            text => {
                let plain = |b: &u8| {
                    if matches!(b, b'\t' | b'\n') { b' ' } else { *b }
                };
                buffer.extend(text.iter().map(plain));
            }
        }
    }
    buffer.push(b'\n');
}

fn push_wait(buffer: &mut Vec<u8>, record: &Record) {
    match record.early.map(SimDuration::as_nanos) {
        Some(nanos) => {
            buffer.push(b'-');
            push_decimal(
                buffer,
                nanos / NANOS_PER_SEC,
                (nanos % NANOS_PER_SEC) as u32,
            );
        }
        None => push_time(buffer, record.common.wait_time),
    }
}
