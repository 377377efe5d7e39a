//! From the lines of a trace to jobs that ran: what every reduction starts from.

use crate::error::{FieldName, TraceError};
use crate::spec::SizeFrom;
use crate::swf::{self, FIELD_NAMES, Header, Record};
use gridrig_core::time::SimDuration;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use std::path::Path;

/// Partial executions of a checkpointed job.
const PARTIAL_STATUS: std::ops::RangeInclusive<u64> = 2..=4;

/// A run names its jobs with 32 bits.
const MAX_JOBS: usize = u32::MAX as usize;

/// A job of a trace that ran, in the time of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceJob {
    /// Its line in the file.
    pub line: u64,
    /// Job number of the trace, or the line where it has none.
    pub trace_id: u64,
    /// From the log's time 0.
    pub submit: SimDuration,
    /// Wall clock.
    pub run_time: SimDuration,
    /// The user's estimate; `None` where it is absent or 0.
    pub requested_time: Option<SimDuration>,
    /// Its size, at least 1.
    pub processors: u32,
    /// Field 10 in KiB per processor; 0 where it is absent.
    pub requested_memory_kib: u64,
    /// Field 12.
    pub user: Option<u32>,
    /// Field 13.
    pub group: Option<u32>,
    /// Field 14.
    pub executable: Option<u32>,
    /// Field 15; 0 is interactive by convention.
    pub queue: Option<u32>,
    /// Field 16.
    pub partition: Option<u32>,
    /// The site that the job was submitted to; SWF has no such field.
    pub site: Option<u32>,
    /// Status 0, 4 or 5: failed or cancelled after it ran.
    pub failed: bool,
}

/// A trace in memory, sanitized and sorted, ready to be reduced any number of
/// times.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// Jobs by submit time, ties in file order.
    pub jobs: Vec<TraceJob>,
    /// Job lines that are no usable job, by reason: `partial-execution`,
    /// `never-ran`, `no-processors`, `no-submit-time`, `truncated-last-line`.
    pub skipped: BTreeMap<&'static str, u64>,
    /// What the user should know about the file.
    pub warnings: Vec<String>,
    /// Header comments.
    pub header: Header,
    /// SHA-256 of the file on disk, in hex; empty for a trace that came from
    /// no file.
    pub sha256: String,
    /// The name used in messages.
    pub file: String,
}

/// Reads and sanitizes a trace file.
///
/// # Errors
/// Any [`TraceError`] about the file.
pub fn load(path: &Path, size: SizeFrom) -> Result<Loaded, TraceError> {
    let mut reader = swf::open(path)?;
    let mut loaded = load_from(&mut reader, size)?;
    let line = reader.line();
    loaded.sha256 = reader
        .into_inner()
        .into_inner()
        .sha256()
        .map_err(|source| TraceError::Read {
            file: loaded.file.clone(),
            line,
            source,
        })?;
    Ok(loaded)
}

/// Sanitizes what a reader gives.
///
/// # Errors
/// Any [`TraceError`] about the file.
pub fn load_from<R: BufRead>(
    reader: &mut swf::SwfReader<R>,
    size: SizeFrom,
) -> Result<Loaded, TraceError> {
    let file = reader.file().to_owned();
    let mut sieve = Sieve::new(&file, size);
    while let Some(record) = reader.next_record()? {
        sieve.take(&record)?;
    }
    let mut loaded = sieve.finish()?;
    if reader.truncated_last_line() > 0 {
        loaded
            .skipped
            .insert("truncated-last-line", reader.truncated_last_line());
    }
    loaded.header = reader.header().clone();
    loaded.warnings.splice(0..0, reader.warnings());
    Ok(loaded)
}

/// Collects the jobs that can be used and counts the rest.
struct Sieve<'a> {
    file: &'a str,
    size: SizeFrom,
    jobs: Vec<TraceJob>,
    /// Lines with a partial status, kept until the whole file has told which
    /// of them a summary line stands for.
    partial: Vec<Record>,
    /// Job numbers of skipped lines, which may be summary lines as well.
    skipped_ids: Vec<u64>,
    unnumbered: u64,
    skipped: BTreeMap<&'static str, u64>,
}

impl<'a> Sieve<'a> {
    fn new(file: &'a str, size: SizeFrom) -> Self {
        Sieve {
            file,
            size,
            jobs: Vec::new(),
            partial: Vec::new(),
            skipped_ids: Vec::new(),
            unnumbered: 0,
            skipped: BTreeMap::new(),
        }
    }

    fn take(&mut self, record: &Record) -> Result<(), TraceError> {
        if record.status.is_some_and(|s| PARTIAL_STATUS.contains(&s)) {
            self.partial.push(*record);
            return Ok(());
        }
        self.sift(record)
    }

    /// Keeps a line as a job or counts the reason why not.
    fn sift(&mut self, record: &Record) -> Result<(), TraceError> {
        let allocated = record.allocated_processors.filter(|p| *p > 0);
        let requested = record.requested_processors.filter(|p| *p > 0);
        let (size, number) = match self.size {
            SizeFrom::Allocated if allocated.is_some() => (allocated, 5),
            SizeFrom::Requested if requested.is_none() => (allocated, 5),
            _ => (requested, 8),
        };
        let ran = |run: &SimDuration| !run.is_zero() || allocated.is_some();
        let Some(run_time) = record.run_time.filter(ran) else {
            return self.skip(record, "never-ran");
        };
        let Some(processors) = size else {
            return self.skip(record, "no-processors");
        };
        let Some(submit) = record.submit_time else {
            return self.skip(record, "no-submit-time");
        };
        if self.jobs.len() >= MAX_JOBS {
            return Err(TraceError::TooManyJobs {
                file: self.file.to_owned(),
                limit: MAX_JOBS as u64,
            });
        }
        if record.job.is_none() {
            self.unnumbered += 1;
        }
        let small = |number, value: Option<u64>| {
            value
                .map(|value| self.small(record.line, number, value))
                .transpose()
        };
        self.jobs.push(TraceJob {
            line: record.line,
            trace_id: record.job.unwrap_or(record.line),
            submit,
            run_time,
            requested_time: record.requested_time.filter(|t| !t.is_zero()),
            processors: self.small(record.line, number, processors)?,
            requested_memory_kib: record.requested_memory_kib.unwrap_or(0),
            user: small(12, record.user)?,
            group: small(13, record.group)?,
            executable: small(14, record.executable)?,
            queue: small(15, record.queue)?,
            partition: small(16, record.partition)?,
            site: None,
            failed: matches!(record.status, Some(0 | 4 | 5)),
        });
        Ok(())
    }

    fn skip(&mut self, record: &Record, reason: &'static str) -> Result<(), TraceError> {
        *self.skipped.entry(reason).or_default() += 1;
        self.skipped_ids.extend(record.job);
        Ok(())
    }

    fn small(&self, line: u64, number: usize, value: u64) -> Result<u32, TraceError> {
        u32::try_from(value).map_err(|_| TraceError::Field {
            file: self.file.to_owned(),
            line,
            field: FieldName {
                number,
                name: FIELD_NAMES[number - 1],
            },
            value: value.to_string(),
            expected: "at most 4294967295",
        })
    }

    /// Partial executions give way to the line that sums them up. Without
    /// such a line the status is a raw exit code, or the log has nothing but
    /// the parts: they are jobs like any other.
    fn settle_partial(&mut self) -> Result<u64, TraceError> {
        let partial = std::mem::take(&mut self.partial);
        let numbers: BTreeSet<u64> = partial.iter().filter_map(|r| r.job).collect();
        let whole = self.jobs.iter().map(|j| j.trace_id);
        let summed: BTreeSet<u64> = whole
            .chain(self.skipped_ids.iter().copied())
            .filter(|id| numbers.contains(id))
            .collect();
        let mut kept = 0;
        for record in &partial {
            if record.job.is_some_and(|job| summed.contains(&job)) {
                *self.skipped.entry("partial-execution").or_default() += 1;
            } else {
                self.sift(record)?;
                kept += 1;
            }
        }
        Ok(kept)
    }

    fn finish(mut self) -> Result<Loaded, TraceError> {
        let file = self.file;
        let mut warnings = Vec::new();
        let mut warn = |count: u64, what: &str| {
            if count > 0 {
                warnings.push(format!("{file}: {count} {what}"));
            }
        };
        if !self.partial.is_empty() {
            let kept = self.settle_partial()?;
            warn(
                kept,
                "lines with status 2, 3 or 4 have no summary line and count as jobs",
            );
        }
        warn(
            self.unnumbered,
            "jobs have no job number; the line number stands in",
        );
        self.jobs.sort_by_key(|job| job.line);
        let steps = self.jobs.windows(2);
        let backward = steps.filter(|w| w[1].submit < w[0].submit).count();
        warn(
            backward as u64,
            "submit times step backwards; the jobs were sorted",
        );
        self.jobs.sort_by_key(|job| job.submit);
        if self.jobs.is_empty() {
            warnings.push(format!("{}: no line is a job that ran", self.file));
        }
        Ok(Loaded {
            jobs: self.jobs,
            skipped: self.skipped,
            warnings,
            header: Header::default(),
            sha256: String::new(),
            file: self.file.to_owned(),
        })
    }
}
