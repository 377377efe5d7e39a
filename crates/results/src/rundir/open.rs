//! Opening the files of a run directory, which somebody else may have made.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// Opens a file of a run directory to read it. It is a regular one, or a link to
/// one: a pipe could keep its reader waiting, a device never end.
///
/// # Errors
/// Those of the file system, and any other kind of file.
pub fn open_file(path: &Path) -> io::Result<File> {
    match fs::metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(io::Error::other("expected a regular file")),
    }
}

/// Most bytes of a document of a run directory: its manifest, labels or scenario.
const MOST_BYTES: u64 = 64 << 20;

/// Reads a document of a run directory.
///
/// # Errors
/// As [`open_file`], and one of more than 64 MiB.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = open_file(path)?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err(io::Error::other("expected at most 64 MiB")),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_a_bound() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("labels.json");
        let file = File::create(&path).unwrap();
        for (bytes, fits) in [(MOST_BYTES, true), (MOST_BYTES + 1, false)] {
            file.set_len(bytes).unwrap();
            assert_eq!(read_file(&path).is_ok(), fits, "{bytes}");
        }
    }
}
