//! Trace files: the Standard Workload Format 2.2 (18 numbers a line, `;`
//! comments) and the Grid Workload Format (29 columns between tabs, `#`
//! comments), read and written as one [`Record`].
//!
//! The reader streams, keeps every number exact and survives what real logs
//! hold; `docs/swf.md` and `docs/gwf.md` have the formats field by field. What
//! cannot be right (a line in the middle that is no job) is an error with its
//! line; what a download leaves behind (a last line cut short) is skipped and
//! counted.
//!
//! ```
//! use gridrig_tracelab::format::{Format, TraceReader, field};
//!
//! let text = "; MaxProcs: 64\n1 0 -1 90.5 4 -1 -1 4 300 -1 1 7 1 -1 0 -1 -1 -1\n";
//! let mut reader = TraceReader::new(Format::Swf, text.as_bytes(), "tiny.swf");
//! let job = reader.next_record().unwrap().unwrap();
//! assert_eq!(job.time(field::RUN_TIME).unwrap().to_string(), "90.5s");
//! assert_eq!(job.time(field::WAIT), None);
//! assert_eq!(reader.header().max_processors(), Some(64));
//!
//! let rest = ["-1"; 12].join("\t");
//! let text = format!("# Processors: 64\n1\t1081771500\t-60\t90.5\t4\t-1\t-1\t4\t3600\t-1\t1\t\
//!                     U2004S1\tG1\tX1\tqueue0\t-1\tS1\t{rest}\n");
//! let mut reader = TraceReader::detect(text.as_bytes(), "tiny.gwf").unwrap();
//! assert_eq!(reader.format(), Format::Gwf);
//! let job = reader.next_record().unwrap().unwrap();
//! assert_eq!(job.column(12), Some(&b"U2004S1"[..]));
//! assert_eq!(job.early.unwrap().to_string(), "60s");
//! assert_eq!(reader.header().max_processors(), Some(64));
//! ```

mod fast;
mod header;
mod lines;
mod names;
mod number;
mod reader;
mod record;
mod sink;
mod source;
mod write;

pub use header::Header;
pub use lines::MAX_LINE_BYTES;
pub use names::{
    ACCOUNT, EXECUTABLE, GROUP, Ids, NAMED, NameTables, Names, NamesFull, PARTITION, QUEUE, SITE,
    USER,
};
pub use number::Number;
pub use reader::{TraceReader, open, open_as};
pub use record::{COLUMN_NAMES, COLUMNS, FIELD_NAMES, FIELDS, Format, Record, TEXTS, field};
pub use sink::{OutFile, create, remove_partial};
pub use source::TraceFile;
pub use write::Writer;

pub(crate) use header::{JOB_COMPONENTS, JOB_DIVISION, JOB_INPUTS, TABLE_KEY_PREFIX};
pub(crate) use lines::Lines;
pub(crate) use names::{from_header, place, table_key};
pub(crate) use number::parsed;
pub(crate) use reader::open_watched;
pub(crate) use record::{IDS, TIMES, canonical_number};
pub(crate) use sink::gzip_writer;
pub(crate) use source::{Progress, hex};
pub(crate) use write::push_number;
