//! From the lines of a trace to jobs that ran: what every reduction starts from.

mod names;

use crate::error::{Result, TraceError, field_name};
use crate::format::{
    Format, Header, Ids, NameTables, Number, Progress, Record, TraceReader, USER, field,
    from_header, open_watched,
};
use crate::spec::SizeFrom;
use gridrig_core::time::{NANOS_PER_SEC, SimDuration};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use std::path::Path;

/// Partial executions of a checkpointed job.
const PARTIAL_STATUS: std::ops::RangeInclusive<u64> = 2..=4;

/// A run names its jobs with 32 bits.
const MAX_JOBS: usize = u32::MAX as usize;

/// A job of a trace that ran, in the time of the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceJob {
    /// Its line in the file.
    pub line: u64,
    /// Job number of the trace, or the line where it has none.
    pub trace_id: u64,
    /// From the log's time 0. A GWF trace begins with its first submit, in
    /// whole seconds, or with the `UnixStartTime` of its header.
    pub submit: SimDuration,
    /// Wall clock.
    pub run_time: SimDuration,
    /// Field 3, as the trace has it.
    pub wait_time: Option<SimDuration>,
    /// The user's estimate; `None` where it is absent or 0.
    pub requested_time: Option<SimDuration>,
    /// Its size, at least 1.
    pub processors: u32,
    /// Field 10 in KiB per processor; 0 where it is absent.
    pub requested_memory_kib: u64,
    /// User, group, executable, queue, partition and the site that the job was
    /// submitted to (OrigSiteID of GWF).
    pub ids: Ids,
    /// Field 11 as it stands; [`TraceJob::failed`] says what it means.
    pub status: Option<u64>,
    /// Fields below zero that are not -1, bit 0 for field 1.
    pub below_zero: u32,
    /// Status 0, 4 or 5: failed or cancelled after it ran.
    pub failed: bool,
    /// Fields 5 and 8 are both known and differ.
    pub resized: bool,
    /// Field 17 names a job that this one waits for.
    pub depends: bool,
}

impl TraceJob {
    /// Run time x processors in processor-nanoseconds.
    pub fn demand(&self) -> u128 {
        u128::from(self.processors) * u128::from(self.run_time.as_nanos())
    }

    /// Field 12.
    pub fn user(&self) -> Option<u32> {
        self.ids[USER]
    }

    /// Lifts its times to the shortest that a reduction leaves.
    pub(crate) fn lift(&mut self, shortest: SimDuration) {
        self.run_time = self.run_time.max(shortest);
        // An estimate of 0 is none, in a trace and here.
        let requested = self.requested_time.map(|time| time.max(shortest));
        self.requested_time = requested.filter(|time| !time.is_zero());
    }
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
    /// The names that stand behind the ids of a field where the trace has
    /// names: id n is entry n of the table of `user`, `group`, `executable`,
    /// `queue`, `partition` or `site`; entry 0 is empty. A field whose ids are
    /// numbers has none.
    pub names: BTreeMap<&'static str, Vec<String>>,
    /// SHA-256 of the file on disk, in hex; empty for a trace that came from
    /// no file.
    pub sha256: String,
    /// The name used in messages.
    pub file: String,
    /// What it was read as.
    pub format: Format,
}

impl Loaded {
    /// Processors of the machine by the header; `None` where it is silent and
    /// the user has to say (`--processors`).
    pub fn known_processors(&self) -> Option<u32> {
        let processors = self.header.max_processors()?;
        u32::try_from(processors).ok().filter(|p| *p > 0)
    }
}

/// Reads and sanitizes a trace file, SWF or GWF, plain or gzip: its content
/// tells, not its name.
///
/// # Errors
/// Any [`TraceError`] about the file.
pub fn load(path: &Path, size: SizeFrom) -> Result<Loaded> {
    let (mut reader, progress) = open_watched(path)?;
    let mut loaded = read(&mut reader, size, Some(progress))?;
    let line = reader.line();
    loaded.sha256 = reader
        .into_inner()
        .into_inner()
        .sha256()
        .map_err(|source| TraceError::Read(loaded.file.clone(), line, source))?;
    Ok(loaded)
}

/// Sanitizes what a reader gives. Times of GWF count from the first submit, and
/// ids that are names become numbers ([`Loaded::names`]).
///
/// # Errors
/// Any [`TraceError`] about the file.
pub fn load_from<R: BufRead>(reader: &mut TraceReader<R>, size: SizeFrom) -> Result<Loaded> {
    read(reader, size, None)
}

/// Sanitizes jobs that were made, as if they had been written as SWF and read.
pub(crate) fn load_made(
    file: &str,
    size: SizeFrom,
    records: impl Iterator<Item = Record>,
) -> Result<Loaded> {
    let mut sieve = Sieve::new(file, size, Format::Swf);
    for (line, mut record) in (1..).zip(records) {
        record.line = line;
        sieve.take(&record, None)?;
    }
    sieve.finish()
}

fn read<R: BufRead>(
    reader: &mut TraceReader<R>,
    size: SizeFrom,
    progress: Option<Progress>,
) -> Result<Loaded> {
    let (file, format) = (reader.file().to_owned(), reader.format());
    let mut sieve = Sieve::new(&file, size, format);
    sieve.progress = progress;
    let mut tables = NameTables::default();
    let mut first: Option<SimDuration> = None;
    let mut early = 0;
    while let Some(record) = reader.next_record()? {
        let names = match format {
            Format::Swf => None,
            Format::Gwf => Some(tables.take(record, &file)?),
        };
        early += u64::from(record.early.is_some());
        first = first.into_iter().chain(record.time(field::SUBMIT)).min();
        sieve.take(record, names)?;
    }
    let mut loaded = sieve.finish()?;
    if reader.truncated_last_line() > 0 {
        loaded
            .skipped
            .insert("truncated-last-line", reader.truncated_last_line());
    }
    if early > 0 {
        loaded.warnings.push(format!(
            "{file}: {early} jobs began before they were submitted (advance reservations); \
             their wait time is not kept"
        ));
    }
    loaded.header = reader.header().clone();
    loaded.warnings.splice(0..0, reader.warnings());
    match format {
        Format::Swf => loaded.names = from_header(&loaded.header),
        Format::Gwf => {
            let origin = time_zero(&loaded.header, first.unwrap_or_default());
            loaded.header.set_unix_start_time(origin);
            for job in &mut loaded.jobs {
                job.submit = job.submit - SimDuration::from_secs(origin);
            }
            names::settle(&tables, &mut loaded);
        }
    }
    Ok(loaded)
}

/// The Unix second that a GWF trace counts from in SWF: what its header says
/// if no job is earlier, else the second of the first submit.
pub(crate) fn time_zero(header: &Header, first: SimDuration) -> u64 {
    let first = first.as_nanos() / NANOS_PER_SEC;
    match header.number("UnixStartTime") {
        Some(start) if start <= first => start,
        _ => first,
    }
}

/// Collects the jobs that can be used and counts the rest.
#[derive(Default)]
struct Sieve<'a> {
    file: &'a str,
    size: SizeFrom,
    format: Format,
    jobs: Vec<TraceJob>,
    /// How far the file has been read, where there is one.
    progress: Option<Progress>,
    /// Lines with a partial status, kept until the whole file has told which
    /// of them a summary line stands for.
    partial: Vec<(Record, Option<Ids>)>,
    /// Job numbers of skipped lines, which may be summary lines as well.
    skipped_ids: Vec<u64>,
    unnumbered: u64,
    skipped: BTreeMap<&'static str, u64>,
}

impl<'a> Sieve<'a> {
    fn new(file: &'a str, size: SizeFrom, format: Format) -> Self {
        Sieve {
            file,
            size,
            format,
            ..Sieve::default()
        }
    }

    fn take(&mut self, record: &Record, names: Option<Ids>) -> Result<()> {
        let status = record.count(field::STATUS);
        if status.is_some_and(|s| PARTIAL_STATUS.contains(&s)) {
            self.partial.push((record.clone(), names));
            return Ok(());
        }
        self.sift(record, names)
    }

    /// Keeps a line as a job or counts the reason why not.
    fn sift(&mut self, record: &Record, names: Option<Ids>) -> Result<()> {
        let above_zero = |field| record.count(field).filter(|p| *p > 0);
        let (allocated, requested) = (above_zero(field::ALLOCATED), above_zero(field::REQUESTED));
        let (size, from) = match self.size {
            SizeFrom::Allocated if allocated.is_some() => (allocated, field::ALLOCATED),
            SizeFrom::Requested if requested.is_none() => (allocated, field::ALLOCATED),
            _ => (requested, field::REQUESTED),
        };
        let ran = |run: &SimDuration| !run.is_zero() || allocated.is_some();
        let Some(run_time) = record.time(field::RUN_TIME).filter(ran) else {
            return self.skip(record, "never-ran");
        };
        let Some(processors) = size else {
            return self.skip(record, "no-processors");
        };
        let Some(submit) = record.time(field::SUBMIT) else {
            return self.skip(record, "no-submit-time");
        };
        if self.jobs.len() >= MAX_JOBS {
            return Err(TraceError::too_many_jobs(self.file));
        }
        let (job, status) = (record.count(field::JOB), record.count(field::STATUS));
        self.unnumbered += u64::from(job.is_none());
        if self.jobs.len() == self.jobs.capacity() {
            self.make_room();
        }
        let ids = match names {
            Some(names) => names,
            None => self.small_ids(record)?,
        };
        let requested_time = record.time(field::REQUESTED_TIME);
        let memory = record.number(field::REQUESTED_MEMORY);
        self.jobs.push(TraceJob {
            line: record.line,
            trace_id: job.unwrap_or(record.line),
            submit,
            run_time,
            wait_time: record.time(field::WAIT),
            requested_time: requested_time.filter(|t| !t.is_zero()),
            processors: self.small(record.line, from, processors)?,
            requested_memory_kib: memory.map_or(0, Number::rounded_up),
            ids,
            status,
            below_zero: record.below_zero(),
            failed: matches!(status, Some(0 | 4 | 5)),
            resized: allocated
                .zip(requested)
                .is_some_and(|(had, asked)| had != asked),
            depends: record
                .count(field::PRECEDING_JOB)
                .is_some_and(|job| job > 0),
        });
        Ok(())
    }

    /// Room for as many jobs as the file is likely to have: growing by doubling
    /// moves them all again and again, a fifth of the time that a large log takes.
    /// What is never written to costs no memory.
    fn make_room(&mut self) {
        /// Fewer say too little about the rest, and are soon moved.
        const ENOUGH: usize = 1 << 14;
        let seen = self.jobs.len();
        if let Some(progress) = self.progress.as_ref().filter(|_| seen >= ENOUGH) {
            let more = progress.expected(seen).saturating_sub(seen);
            // Where there is not as much room, the next push says so.
            let _ = self.jobs.try_reserve_exact(more);
        }
    }

    fn skip(&mut self, record: &Record, reason: &'static str) -> Result<()> {
        *self.skipped.entry(reason).or_default() += 1;
        self.skipped_ids.extend(record.count(field::JOB));
        Ok(())
    }

    /// The ids that are numbers of SWF, fields 12 to 16; it has no site.
    fn small_ids(&self, record: &Record) -> Result<Ids> {
        let mut ids = Ids::default();
        for ((field, id), value) in (field::USER..).zip(&mut ids).zip(record.ids()) {
            *id = value
                .map(|value| self.small(record.line, field, value))
                .transpose()?;
        }
        Ok(ids)
    }

    fn small(&self, line: u64, field: usize, value: u64) -> Result<u32> {
        u32::try_from(value).map_err(|_| {
            let field = field_name(field + 1, self.format.column_names());
            let problem = format!("field {field} = \"{value}\": expected at most 4294967295");
            TraceError::line(self.file, line, problem)
        })
    }

    /// Partial executions give way to the line that sums them up. Without
    /// such a line the status is a raw exit code, or the log has nothing but
    /// the parts: they are jobs like any other.
    fn settle_partial(&mut self) -> Result<u64> {
        let partial = std::mem::take(&mut self.partial);
        let numbers: BTreeSet<u64> = partial
            .iter()
            .filter_map(|(r, _)| r.count(field::JOB))
            .collect();
        let whole = self.jobs.iter().map(|j| j.trace_id);
        let summed: BTreeSet<u64> = whole
            .chain(self.skipped_ids.iter().copied())
            .filter(|id| numbers.contains(id))
            .collect();
        let mut kept = 0;
        for (record, names) in &partial {
            let job = record.count(field::JOB);
            if job.is_some_and(|job| summed.contains(&job)) {
                *self.skipped.entry("partial-execution").or_default() += 1;
            } else {
                self.sift(record, *names)?;
                kept += 1;
            }
        }
        Ok(kept)
    }

    fn finish(mut self) -> Result<Loaded> {
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
            "jobs have no job number; the line number is used instead",
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
            names: BTreeMap::new(),
            sha256: String::new(),
            file: self.file.to_owned(),
            format: self.format,
        })
    }
}
