//! What a trace says of its reduction before the scenario: the scale of its run times.

use crate::value::Positive;
use flate2::read::MultiGzDecoder;
use gridrig_core::time::Decimal;
use serde::Deserialize as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// The header key of the line that a reduced trace has.
pub const REDUCTION_KEY: &str = "Gridrig-Reduction";

/// A header is looked for in so many bytes of a trace.
const LONGEST_HEADER: u64 = 1 << 20;

/// By what the run times of a trace have been divided; `None` where its header says
/// nothing that can be read. What is wrong with a file is told when its jobs are read.
pub(crate) fn run_time_scale(trace: &Path) -> Option<Decimal> {
    let line = reduction(trace).ok()??;
    let note: serde_json::Value = serde_json::from_str(&line).ok()?;
    let scale = note.get("scale")?.get("run_time")?;
    Some(Positive::deserialize(scale).ok()?.0)
}

fn reduction(trace: &Path) -> io::Result<Option<String>> {
    // What is no regular file may never end.
    if !trace.metadata()?.is_file() {
        return Ok(None);
    }
    let mut file = BufReader::new(File::open(trace)?);
    let text: Box<dyn Read> = match file.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        true => Box::new(MultiGzDecoder::new(file)),
        false => Box::new(file),
    };
    for line in BufReader::new(text.take(LONGEST_HEADER)).lines() {
        let line = line?;
        let Some(comment) = line.strip_prefix(';') else {
            break;
        };
        let value = comment.trim_start().strip_prefix(REDUCTION_KEY);
        if let Some(value) = value.and_then(|it| it.trim_start().strip_prefix(':')) {
            return Ok(Some(value.trim().to_owned()));
        }
    }
    Ok(None)
}
