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

/// Reads a file of a run directory.
///
/// # Errors
/// As [`open_file`].
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}
