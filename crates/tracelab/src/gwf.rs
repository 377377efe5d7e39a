//! The Grid Workload Format: one job per line, 29 columns between tabs, `#`
//! comments. `docs/gwf.md` has it column by column.
//!
//! ```
//! use gridrig_tracelab::gwf::GwfReader;
//!
//! let rest = ["-1"; 12].join("\t");
//! let text = format!("# Processors: 64\n1\t1081771500\t-60\t90.5\t4\t-1\t-1\t4\t3600\t-1\t1\t\
//!                     U2004S1\tG1\tX1\tqueue0\t-1\tS1\t{rest}\n");
//! let mut reader = GwfReader::new(text.as_bytes(), "tiny.gwf");
//! let job = reader.next_record().unwrap().unwrap();
//! assert_eq!(job.column(12), Some(&b"U2004S1"[..]));
//! assert_eq!(job.wait_secs_f64(), Some(-60.0));
//! assert_eq!(reader.header().max_processors(), Some(64));
//! ```

mod names;
mod reader;
mod record;
mod write;

pub use names::{NAMED, NameTables, Names, NamesFull};
pub use reader::GwfReader;
pub use record::{COLUMN_NAMES, COLUMNS, Record, TEXTS};
pub use write::Writer;

pub(crate) use reader::is_job_line;
pub(crate) use record::canonical_number;
