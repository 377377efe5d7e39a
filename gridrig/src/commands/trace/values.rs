//! Values of the command line, read as a scenario reads them, and names of files.

use crate::cli::values::text;
use gridrig_core::time::SimDuration;
use gridrig_scenario::value::{KeepText, Name, Text as _};
use gridrig_tracelab::spec::{SizeFrom, TraceWindow};
use std::path::Path;

/// `87.08d,7d`
pub(in crate::commands) fn window(text: &str) -> Result<TraceWindow, String> {
    let expected = "expected START,LENGTH such as 87.08d,7d";
    let (start, length) = text.split_once(',').ok_or(expected)?;
    let part =
        |part: &str| SimDuration::parse(part.trim()).map_err(|why| format!("{expected} ({why})"));
    let window = TraceWindow {
        start: part(start)?,
        length: part(length)?,
    };
    match window.length.is_zero() {
        true => Err(format!("{expected}, with a length above 0")),
        false => Ok(window),
    }
}

/// `2/5`
pub(super) fn keep(given: &str) -> Result<(u64, u64), String> {
    match KeepText::read(given) {
        Ok(KeepText::Of { m, n }) => Ok((m, n)),
        _ => Err("expected m/n with 1 <= m <= n, such as 2/5".to_owned()),
    }
}

/// `allocated` or `requested`
pub(super) fn size(given: &str) -> Result<SizeFrom, String> {
    text(given).map(|Name(size)| size)
}

/// The name of a file without its folder.
pub(super) fn name(file: &Path) -> String {
    let name = file.file_name().unwrap_or(file.as_os_str());
    name.to_string_lossy().into_owned()
}
