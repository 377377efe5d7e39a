//! The Standard Workload Format 2.2: one job per line, 18 numbers, `;` comments.
//!
//! The reader streams, keeps every number exact and survives what real logs
//! hold; `docs/swf.md` has the format field by field. What cannot be right
//! (a line in the middle that is no job) is an error with its line; what a
//! download leaves behind (a last line cut short) is skipped and counted.
//!
//! ```
//! use gridrig_tracelab::swf::SwfReader;
//!
//! let text = "; MaxProcs: 64\n1 0 -1 90.5 4 -1 -1 4 300 -1 1 7 1 -1 0 -1 -1 -1\n";
//! let mut reader = SwfReader::new(text.as_bytes(), "tiny.swf");
//! let job = reader.next_record().unwrap().unwrap();
//! assert_eq!(job.run_time.unwrap().to_string(), "90.5s");
//! assert_eq!(job.wait_time, None);
//! assert_eq!(reader.header().max_processors(), Some(64));
//! ```

mod fast;
mod header;
mod lines;
mod number;
mod reader;
mod record;
mod sink;
mod source;
mod write;

pub use header::Header;
pub use lines::MAX_LINE_BYTES;
pub use number::{Number, Quantity};
pub use reader::{Dialect, SwfReader};
pub use record::{FIELD_NAMES, FIELDS, Record};
pub use sink::{OutFile, create};
pub use source::TraceFile;
pub use write::{Line, LineWriter, Writer};

pub(crate) use header::TABLE_KEY_PREFIX;
pub(crate) use lines::{LineEnd, Lines};
pub(crate) use reader::{fields, header_warnings};
pub(crate) use source::Progress;
pub(crate) use write::{push_count, push_numbers, push_time};

use crate::error::TraceError;
use std::io::BufReader;
use std::path::Path;

/// Opens a trace file, gzip or plain.
///
/// # Errors
/// [`TraceError::Open`] when the file cannot be opened.
pub fn open(path: &Path) -> Result<SwfReader<BufReader<TraceFile>>, TraceError> {
    /// Large enough that a line is rarely split.
    const BUFFER_BYTES: usize = 1 << 17;
    let file = TraceFile::open(path)?;
    let buffered = BufReader::with_capacity(BUFFER_BYTES, file);
    Ok(SwfReader::new(buffered, path.display().to_string()))
}
