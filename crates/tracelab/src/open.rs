//! Opening a trace whatever its format.

use crate::error::TraceError;
use crate::gwf::{self, GwfReader};
use crate::swf::{Header, LineEnd, Lines, Progress, SwfReader, TraceFile};
use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Large enough that a line is rarely split.
const BUFFER_BYTES: usize = 1 << 17;

/// The format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Standard Workload Format 2.2.
    Swf,
    /// Grid Workload Format.
    Gwf,
}

impl Format {
    /// `swf` or `gwf`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Swf => "swf",
            Format::Gwf => "gwf",
        }
    }

    /// The format that a file name ends in, `.gz` left aside; `None` for any
    /// other ending.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Format> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        [Format::Swf, Format::Gwf].into_iter().find(|format| {
            name.rsplit_once('.')
                .is_some_and(|(_, end)| end == format.name())
        })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A reader of either format.
pub enum TraceReader<R> {
    /// Of SWF.
    Swf(SwfReader<R>),
    /// Of GWF.
    Gwf(GwfReader<R>),
}

/// Opens a trace file, gzip or plain, SWF or GWF: its first job line tells.
///
/// # Errors
/// Any [`TraceError`] about the file and its lines up to the first job.
pub fn open(path: &Path) -> Result<TraceReader<BufReader<TraceFile>>, TraceError> {
    open_watched(path).map(|(reader, _)| reader)
}

/// Opens a trace file, with how far it has been read.
pub(crate) fn open_watched(
    path: &Path,
) -> Result<(TraceReader<BufReader<TraceFile>>, Progress), TraceError> {
    let file = TraceFile::open(path)?;
    let progress = file.progress();
    let buffered = BufReader::with_capacity(BUFFER_BYTES, file);
    let reader = TraceReader::detect(buffered, path.display().to_string())?;
    Ok((reader, progress))
}

/// Opens a trace file that is said to be of this format.
///
/// # Errors
/// Any [`TraceError`] about the file and its lines up to the first job.
pub fn open_as(
    path: &Path,
    format: Format,
) -> Result<TraceReader<BufReader<TraceFile>>, TraceError> {
    let file = TraceFile::open(path)?;
    let buffered = BufReader::with_capacity(BUFFER_BYTES, file);
    TraceReader::begin(buffered, path.display().to_string(), Some(format))
}

impl<R: BufRead> TraceReader<R> {
    /// Reads up to the first job line, and the rest of the file as what that
    /// line is. What is no GWF is left to the SWF reader to judge.
    ///
    /// # Errors
    /// Any [`TraceError`] about the lines up to there.
    pub fn detect(input: R, file: impl Into<String>) -> Result<Self, TraceError> {
        Self::begin(input, file, None)
    }

    /// Reads up to the first job line.
    fn begin(input: R, file: impl Into<String>, said: Option<Format>) -> Result<Self, TraceError> {
        let mut lines = Lines::new(input, file);
        let mut swf_header = Header::default();
        let mut gwf_header = Header::default();
        let (mut semicolons, mut hashes) = (0, 0);
        while let Some(LineEnd::LineFeed | LineEnd::EndOfFile) = lines.advance()? {
            let line = lines.current()?;
            let text = line.trim_ascii();
            match text.first() {
                None => {}
                Some(b';') => {
                    semicolons += 1;
                    swf_header.add(text);
                }
                Some(b'#') => {
                    hashes += 1;
                    gwf_header.add(text);
                }
                Some(_) => {
                    let gwf = match said {
                        Some(format) => format == Format::Gwf,
                        None => gwf::is_job_line(line, hashes > 0),
                    };
                    return Ok(match gwf {
                        true => TraceReader::Gwf(GwfReader::from_parts(
                            lines, gwf_header, semicolons, true,
                        )),
                        false => {
                            TraceReader::Swf(SwfReader::from_parts(lines, swf_header, hashes, true))
                        }
                    });
                }
            }
        }
        let reader = SwfReader::from_parts(lines, swf_header, hashes, false);
        Ok(TraceReader::Swf(reader))
    }

    /// What the file is.
    #[must_use]
    pub fn format(&self) -> Format {
        match self {
            TraceReader::Swf(_) => Format::Swf,
            TraceReader::Gwf(_) => Format::Gwf,
        }
    }

    /// The header comments read so far.
    #[must_use]
    pub fn header(&self) -> &Header {
        match self {
            TraceReader::Swf(reader) => reader.header(),
            TraceReader::Gwf(reader) => reader.header(),
        }
    }

    /// The name used in messages.
    #[must_use]
    pub fn file(&self) -> &str {
        match self {
            TraceReader::Swf(reader) => reader.file(),
            TraceReader::Gwf(reader) => reader.file(),
        }
    }

    /// Lines read so far.
    #[must_use]
    pub fn line(&self) -> u64 {
        match self {
            TraceReader::Swf(reader) => reader.line(),
            TraceReader::Gwf(reader) => reader.line(),
        }
    }

    /// Job lines read so far, without a truncated one.
    #[must_use]
    pub fn records(&self) -> u64 {
        match self {
            TraceReader::Swf(reader) => reader.records(),
            TraceReader::Gwf(reader) => reader.records(),
        }
    }

    /// 1 when the last line was cut short and left out, else 0.
    #[must_use]
    pub fn truncated_last_line(&self) -> u64 {
        match self {
            TraceReader::Swf(reader) => reader.truncated_last_line(),
            TraceReader::Gwf(reader) => reader.truncated_last_line(),
        }
    }

    /// What was odd about the file but did no harm.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        match self {
            TraceReader::Swf(reader) => reader.warnings(),
            TraceReader::Gwf(reader) => reader.warnings(),
        }
    }

    /// What was read from, at the point reached.
    pub fn into_inner(self) -> R {
        match self {
            TraceReader::Swf(reader) => reader.into_inner(),
            TraceReader::Gwf(reader) => reader.into_inner(),
        }
    }

    /// Reads the next job into `record`; an SWF job has empty texts and a
    /// submit time that counts from the log's time 0. False after the last.
    ///
    /// # Errors
    /// Any [`TraceError`] about the file; reading ends with it.
    pub fn read_into(&mut self, record: &mut gwf::Record) -> Result<bool, TraceError> {
        match self {
            TraceReader::Swf(reader) => match reader.next_record()? {
                Some(common) => {
                    record.common = common;
                    record.early = None;
                    // The names may be those of another job.
                    record.text.iter_mut().for_each(Vec::clear);
                    Ok(true)
                }
                None => Ok(false),
            },
            TraceReader::Gwf(reader) => match reader.next_record()? {
                Some(next) => {
                    record.clone_from(next);
                    Ok(true)
                }
                None => Ok(false),
            },
        }
    }
}
