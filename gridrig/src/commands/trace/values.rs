//! Values of the command line, read as a scenario reads them, and names of files.

use gridrig_core::time::{Decimal, SimDuration};
use gridrig_tracelab::spec::{SizeFrom, TraceWindow, ZeroRunTime};
use std::path::Path;

/// `7d`
pub(super) fn duration(text: &str) -> Result<SimDuration, String> {
    SimDuration::parse(text).map_err(|why| format!("expected a duration such as 7d ({why})"))
}

/// `87.08d,7d`
pub(super) fn window(text: &str) -> Result<TraceWindow, String> {
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
pub(super) fn keep(text: &str) -> Result<(u64, u64), String> {
    /// The index of a job times m has to fit its arithmetic.
    const LARGEST: u64 = 1_000_000;
    let parts = text.split_once('/');
    let parsed = parts.and_then(|(m, n)| Some((m.trim().parse().ok()?, n.trim().parse().ok()?)));
    match parsed {
        Some((m, n)) if 0 < m && m <= n && n <= LARGEST => Ok((m, n)),
        _ => Err("expected m/n with 1 <= m <= n, such as 2/5".to_owned()),
    }
}

/// `60` or `2.5`
pub(super) fn factor(text: &str) -> Result<Decimal, String> {
    Decimal::parse(text)
        .filter(|decimal| !decimal.is_zero())
        .ok_or_else(|| "expected a decimal number above 0 such as 60 or 0.8".to_owned())
}

/// `1s`, `drop` or `keep`
pub(super) fn zero_run_time(text: &str) -> Result<ZeroRunTime, String> {
    match text {
        "drop" => Ok(ZeroRunTime::Drop),
        "keep" => Ok(ZeroRunTime::Keep),
        _ => match SimDuration::parse(text) {
            Ok(length) if !length.is_zero() => Ok(ZeroRunTime::As(length)),
            _ => Err("expected a duration above 0, drop or keep".to_owned()),
        },
    }
}

/// `allocated` or `requested`
pub(super) fn size(text: &str) -> Result<SizeFrom, String> {
    match text {
        "allocated" => Ok(SizeFrom::Allocated),
        "requested" => Ok(SizeFrom::Requested),
        _ => Err("expected allocated or requested".to_owned()),
    }
}

/// The name of a file without its folder.
pub(super) fn name(file: &Path) -> String {
    let name = file.file_name().unwrap_or(file.as_os_str());
    name.to_string_lossy().into_owned()
}
