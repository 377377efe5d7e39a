//! Logs of clusters as traces: a table in text, Parquet or JSON, and a map that says what its
//! columns mean.
//!
//! A log is read once, so that it may come through a pipe; its jobs are kept (some 350
//! bytes of each), sorted by submit time and written as a trace. `docs/import.md` describes maps and
//! those that ship. What is no job is counted under a reason, what a trace has no field for
//! in jobs that had it.

mod columns;
mod job;
mod json;
mod map;
mod names;
mod open;
mod parquet;
mod rows;
mod text;
mod value;
mod write;

pub use map::{Map, SHIPPED};
pub use names::Hidden;

use crate::error::{ConvertError, Result, TraceError};
use crate::format::{Format, field};
use csv::ByteRecord;
use jiff::fmt::temporal::DateTimeParser;
use job::{Job, Jobs, LOST};
use map::{Key, Unit};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use value::{ABSENT, Dates};

/// What is to be done.
pub struct Request {
    /// The log.
    pub input: PathBuf,
    /// What its columns mean.
    pub map: Map,
    /// The file to write.
    pub output: PathBuf,
    /// Its format; by default what its name says.
    pub to: Option<Format>,
    /// Processors of the machine, for the header.
    pub processors: Option<u32>,
    /// What replaces names.
    pub hidden: Option<Hidden>,
}

/// What was done. The order of the fields is that of `--json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The log.
    pub file: String,
    /// The map.
    pub map: String,
    /// Rows of the log.
    pub rows: u64,
    /// Rows that are no job, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// What the trace cannot hold, in jobs that had it.
    pub lost: BTreeMap<String, u64>,
    /// The trace.
    pub output: String,
    /// Its format.
    pub format: Format,
    /// Its jobs.
    pub jobs: u64,
    /// Unix second of its time 0; null of a log that has no dates.
    pub unix_start: Option<u64>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Does it.
///
/// # Errors
/// Any [`ConvertError`]; no trace is then there.
pub fn import(request: &Request) -> Result<Report, ConvertError> {
    let Request { input, map, .. } = request;
    let format = request.to.or_else(|| Format::of_name(&request.output));
    let format = format.ok_or_else(|| ConvertError::no_format(&request.output))?;
    let file = input.display().to_string();
    let mut log = open::open(input, map, &columns::wanted(map))?;
    let dates = dates(map)?;
    let mut jobs = Jobs::new(map, &log, &file, dates, request.hidden.as_ref())?;
    let mut kept = Vec::new();
    let mut cells = ByteRecord::new();
    let mut rows = 0;
    while let Some(line) = log.rows.next(&mut cells)? {
        rows += 1;
        kept.extend(jobs.job(line, &cells)?);
    }
    if kept.is_empty() {
        let reasons = jobs
            .skipped
            .iter()
            .map(|(why, count)| format!("{why}: {count}"));
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        let problem = format!("none of {rows} rows is a job ({reasons}): expected at least one");
        return Err(TraceError::file(&file, problem).into());
    }
    order(map, &mut kept, &mut jobs.skipped);
    let warnings = warnings(request, &jobs.dates, &kept);
    let mut report = Report {
        file: file.clone(),
        map: map.name.clone(),
        rows,
        skipped: std::mem::take(&mut jobs.skipped),
        lost: lost(&jobs, &kept),
        output: request.output.display().to_string(),
        format,
        jobs: kept.len() as u64,
        unix_start: log
            .rows
            .header()
            .and_then(|header| header.unix_start_time()),
        warnings,
    };
    write::write(request, &mut report, log.rows.header(), &jobs, &kept)?;
    Ok(report)
}

/// What the user should know.
fn warnings(request: &Request, dates: &Dates, jobs: &[Job]) -> Vec<String> {
    let mut warnings = Vec::new();
    let file = request.input.display();
    let size = |job: &Job| job[field::ALLOCATED].max(job[field::REQUESTED]);
    if !jobs.is_empty() && jobs.iter().all(|job| size(job) <= 0) {
        warnings.push(format!(
            "{file}: no job has a number of processors, and none is run (expected \
             allocated_processors or requested_processors in the map)"
        ));
    }
    if dates.local > 0 && request.map.zone.is_none() {
        warnings.push(format!(
            "{file}: {} times do not say their offset and were taken as UTC (expected --zone, or \
             Unix seconds)",
            dates.local
        ));
    }
    if dates.ambiguous > 0 {
        warnings.push(format!(
            "{file}: {} times lie in an hour that the clock showed twice or not at all; the \
             first was taken (expected dates with an offset, or Unix seconds)",
            dates.ambiguous
        ));
    }
    if request.processors.is_none() {
        let expected = "the log does not say how many processors the machine has; \
                        --processors N writes it";
        warnings.push(expected.to_owned());
    }
    warnings
}

/// Sorts jobs by their arrival, and numbers them if the log does not.
fn order(map: &Map, jobs: &mut Vec<Job>, skipped: &mut BTreeMap<String, u64>) {
    if !map.job.contains_key(&Key::JobNumber) {
        jobs.sort_by_key(|job| job[field::SUBMIT]);
        for (number, job) in (1..).zip(jobs) {
            job[field::JOB] = number;
        }
        return;
    }
    // What is there twice stands side by side then.
    jobs.sort_unstable_by_key(|job| (job[field::SUBMIT], job[field::JOB], *job));
    // Dumps of one month after the other have the jobs between them twice.
    let before = jobs.len();
    jobs.dedup_by(|a, b| a[field::JOB] != ABSENT && a == b);
    let repeated = (before - jobs.len()) as u64;
    if repeated > 0 {
        skipped.insert("repeated-row".to_owned(), repeated);
    }
}

/// What is lost, in jobs.
fn lost(jobs: &Jobs<'_>, kept: &[Job]) -> BTreeMap<String, u64> {
    let mut lost = BTreeMap::new();
    for (at, what) in jobs.losses.iter().enumerate() {
        let had = kept.iter().filter(|job| job[LOST] >> at & 1 == 1).count() as u64;
        if had > 0 {
            *lost.entry((*what).to_owned()).or_default() += had;
        }
    }
    lost
}

/// Whether submit times are dates.
fn has_dates(map: &Map) -> bool {
    let submit = map.job.get(&Key::SubmitTime);
    submit.is_some_and(|sources| sources.0.iter().any(|s| s.unit == Some(Unit::Date)))
}

fn dates(map: &Map) -> Result<Dates> {
    let zone = map.zone.as_deref().unwrap_or("UTC");
    let found = DateTimeParser::new().parse_time_zone(zone);
    let zone = found.map_err(|_| {
        let problem = format!(
            "zone = \"{zone}\": expected a name such as Europe/Paris, or an offset such as +08:00"
        );
        TraceError::file(&map.name, problem)
    })?;
    Ok(Dates {
        zone,
        local: 0,
        ambiguous: 0,
    })
}
