//! Lines of a file, looked at where they lie.

use crate::error::{Result, TraceError};
use std::io::{self, BufRead};

/// No line of a trace is longer; a file that has one is no trace.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// What some editors put in front of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How a line ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnd {
    LineFeed,
    EndOfFile,
}

/// Steps through the lines of an input without copying them, except for those
/// that straddle two fillings of its buffer.
pub(crate) struct Lines<R> {
    input: R,
    file: String,
    /// The current line where it straddled.
    spill: Vec<u8>,
    /// Bytes of the input's buffer that belong to the current line, with its
    /// line feed; they are consumed by the next step.
    held: usize,
    /// Bytes at its beginning that are not shown: a byte order mark.
    hidden: usize,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R, file: impl Into<String>) -> Self {
        Lines {
            input,
            file: file.into(),
            spill: Vec::new(),
            held: 0,
            hidden: 0,
            number: 0,
        }
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// Number of the current line, 0 before the first.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn into_inner(mut self) -> R {
        self.input.consume(self.held);
        self.input
    }

    /// Goes on to the next line; `None` at the end of the file.
    pub(crate) fn advance(&mut self) -> Result<Option<LineEnd>> {
        self.input.consume(self.held);
        self.held = 0;
        self.hidden = 0;
        self.spill.clear();
        let end = self.find_end()?;
        if end.is_some() {
            self.number += 1;
        }
        if self.number == 1 && self.current()?.starts_with(BYTE_ORDER_MARK) {
            self.hidden = BYTE_ORDER_MARK.len();
        }
        Ok(end)
    }

    fn find_end(&mut self) -> Result<Option<LineEnd>> {
        let failed = |source| unreadable(&self.file, self.number, source);
        loop {
            let buffer = match self.input.fill_buf() {
                Err(source) if source.kind() == io::ErrorKind::Interrupted => &[][..],
                found => found.map_err(failed)?,
            };
            if buffer.is_empty() {
                return Ok((!self.spill.is_empty()).then_some(LineEnd::EndOfFile));
            }
            // Skipping looks for the byte many at a time, unlike an iterator.
            let mut rest = buffer;
            let length = rest.skip_until(b'\n').map_err(failed)?;
            let ended = buffer[length - 1] == b'\n';
            if self.spill.len() + length > MAX_LINE_BYTES + usize::from(ended) {
                let problem =
                    format!("the line is longer than {MAX_LINE_BYTES} bytes: expected one job");
                return Err(TraceError::line(&self.file, self.number + 1, problem));
            }
            if ended && self.spill.is_empty() {
                self.held = length;
                return Ok(Some(LineEnd::LineFeed));
            }
            self.spill.extend_from_slice(buffer);
            self.spill
                .truncate(self.spill.len() - (buffer.len() - length));
            self.input.consume(length);
            if ended {
                return Ok(Some(LineEnd::LineFeed));
            }
        }
    }

    /// The current line, with its line feed if it has one.
    pub(crate) fn current(&mut self) -> Result<&[u8]> {
        if self.held == 0 {
            return Ok(&self.spill[self.hidden.min(self.spill.len())..]);
        }
        // A buffer that holds bytes is given again without reading.
        match self.input.fill_buf() {
            Ok(buffer) => Ok(&buffer[self.hidden..self.held]),
            Err(source) => Err(unreadable(&self.file, self.number, source)),
        }
    }

    /// What the input has ready behind the current line, which is done with.
    pub(crate) fn ahead(&mut self) -> Result<&[u8]> {
        self.input.consume(self.held);
        self.held = 0;
        self.spill.clear();
        match self.input.fill_buf() {
            Ok(buffer) => Ok(buffer),
            Err(source) if source.kind() == io::ErrorKind::Interrupted => Ok(&[]),
            Err(source) => Err(unreadable(&self.file, self.number, source)),
        }
    }

    /// Takes so many bytes of what lies ahead as the current line.
    pub(crate) fn take_ahead(&mut self, length: usize) {
        self.held = length;
        self.hidden = 0;
        self.number += 1;
    }
}

fn unreadable(file: &str, line: u64, source: io::Error) -> TraceError {
    let file = file.to_owned();
    match source.kind() {
        // No plain file answers with these; decoders do.
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            TraceError::Damaged(file, line, source)
        }
        _ => TraceError::Read(file, line, source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn lines(text: &[u8], buffer: usize) -> Vec<(Vec<u8>, LineEnd)> {
        let mut lines = Lines::new(BufReader::with_capacity(buffer, text), "t");
        let mut found = Vec::new();
        while let Some(end) = lines.advance().unwrap() {
            found.push((lines.current().unwrap().to_vec(), end));
            assert_eq!(lines.number(), found.len() as u64);
        }
        assert_eq!(lines.advance().unwrap(), None);
        found
    }

    #[test]
    fn lines_are_the_same_however_small_the_buffer_is() {
        let text = b"\xef\xbb\xbfone\n\ntwo three\r\n\nlast";
        let whole = lines(text, 1024);
        assert_eq!(whole.len(), 5);
        assert_eq!(whole[0], (b"one\n".to_vec(), LineEnd::LineFeed));
        assert_eq!(whole[4], (b"last".to_vec(), LineEnd::EndOfFile));
        for buffer in 1..30 {
            assert_eq!(lines(text, buffer), whole, "{buffer}");
        }
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
        for buffer in [100, 1 << 20] {
            let check = |length: usize, end: &str| {
                let text = format!("a\n{}{end}", "x".repeat(length));
                let input = BufReader::with_capacity(buffer, text.as_bytes());
                let mut lines = Lines::new(input, "t");
                lines.advance().unwrap();
                lines.advance().map(|_| ()).map_err(|e| e.to_string())
            };
            for end in ["\n", ""] {
                assert_eq!(check(MAX_LINE_BYTES, end), Ok(()));
                assert_eq!(
                    check(MAX_LINE_BYTES + 1, end),
                    Err("t:2: the line is longer than 65536 bytes: expected one job".to_owned())
                );
            }
        }
    }
}
