//! Lines of JSON, each behind the CRC-32 of its document in hexadecimal: what a file has
//! that grows as things happen, and that is read after a death.

use flate2::Crc;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::Path;

/// No line is longer, in bytes: requests are not.
const LONGEST: u64 = 1 << 26;

/// Characters before the document: the checksum and a space.
const SUM: usize = 9;

fn checksum(document: &[u8]) -> String {
    let mut crc = Crc::new();
    crc.update(document);
    format!("{:08x} ", crc.sum())
}

/// Reads a line, which ends with its newline.
pub fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    let (sum, document) = line.split_at_checked(SUM).unwrap_or_default();
    if !document.ends_with(b"\n") || !sum.ends_with(b" ") {
        return Err("it has no checksum, as in journals of earlier versions".to_owned());
    }
    let document = &document[..document.len() - 1];
    if sum != checksum(document).as_bytes() {
        return Err("it is damaged: its checksum is wrong".to_owned());
    }
    serde_json::from_slice(document).map_err(|error| error.to_string())
}

/// Hands over the lines of a file with their numbers, as far as they are whole; answers how
/// many bytes these have, and whether another one was begun behind them.
pub fn read<T: DeserializeOwned>(
    file: impl Read,
    expected: &str,
    mut each: impl FnMut(u64, T) -> io::Result<()>,
) -> io::Result<(u64, bool)> {
    let (mut reader, mut line) = (BufReader::new(file), Vec::new());
    let (mut number, mut whole) = (0, 0);
    loop {
        line.clear();
        number += 1;
        let length = (&mut reader).take(LONGEST).read_until(b'\n', &mut line)? as u64;
        if line.last() != Some(&b'\n') {
            return match length {
                LONGEST => Err(wrong(number, "it is too long", expected)),
                _ => Ok((whole, length > 0)),
            };
        }
        whole += length;
        let read = parse(&line).map_err(|why| wrong(number, why, expected))?;
        each(number, read)?;
    }
}

/// Adds a line to a file of this length; of one that does not get in whole, nothing
/// stays.
pub fn write(mut file: &File, whole: &mut u64, line: &impl Serialize) -> io::Result<()> {
    let mut text = vec![b' '; SUM];
    serde_json::to_writer(&mut text, line)?;
    let sum = checksum(&text[SUM..]);
    text[..SUM].copy_from_slice(sum.as_bytes());
    text.push(b'\n');
    let written = file.write_all(&text);
    match written {
        Ok(()) => *whole += text.len() as u64,
        Err(_) => file.set_len(*whole)?,
    }
    written
}

pub fn named(path: &Path, error: impl Display) -> io::Error {
    io::Error::other(format!("journal {}: {error}", path.display()))
}

pub fn wrong(line: u64, why: impl Display, expected: impl Display) -> io::Error {
    io::Error::other(format!("line {line}: {why} (expected {expected})"))
}
