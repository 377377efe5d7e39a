//! A scenario to start from.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

/// The commented scenario that [`write_starter`] writes. Keys with a comment
/// sign in front have their default.
pub const STARTER: &str = include_str!("../../resources/starter.toml");

/// Writes [`STARTER`] to a new file.
///
/// # Errors
/// When the file exists already, unless `force` is set, or cannot be written.
pub fn write_starter(path: &Path, force: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).truncate(true);
    if force {
        options.create(true);
    } else {
        options.create_new(true);
    }
    options.open(path)?.write_all(STARTER.as_bytes())
}
