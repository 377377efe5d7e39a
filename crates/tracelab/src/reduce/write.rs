//! A reduced trace as SWF that can be replayed anywhere.

use super::outcome::Reduced;
use super::provenance::{Provenance, REDUCTION_KEY};
use super::steps::divided;
use crate::error::TraceError;
use crate::format::{
    Format, Header, IDS, NAMED, PARTITION, Record, SITE, TraceReader, Writer, field, table_key,
};
use crate::load::TraceJob;
use crate::spec::{Keep, WorkloadSpec, ZeroRunTime};
use gridrig_core::time::SimDuration;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Write};

/// What was written, and what its reader should know.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// Jobs.
    pub jobs: u64,
    /// What the header says of its making.
    pub provenance: Provenance,
    /// `MaxProcs` of the header.
    pub max_procs: u64,
    /// Jobs whose predecessor (field 17) was left out: fields 17 and 18 were
    /// cleared.
    pub cut_dependencies: u64,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Why a reduced trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The source, read once more for the fields that a run does not need.
    #[error(transparent)]
    Source(#[from] TraceError),
    /// The source is not what it was when it was reduced.
    #[error(
        "{0}:{1}: this job is not the one that was read before: expected a file that does \
         not change"
    )]
    Changed(String, u64),
    /// The output.
    #[error("the reduced trace cannot be written")]
    Output(#[from] io::Error),
}

/// Writes a reduced trace as SWF; `source` reads its source again.
///
/// Kept as they are: job number, processors, used and requested memory,
/// status, user, group, executable, queue, partition. Times are those of the
/// run (`docs/reduction.md`): submit from time 0, run time and requested time
/// scaled, average CPU time and think time with them; the wait time belongs to
/// the machine of the source and is -1. Field 5 is the size that counts.
/// `processors` is the `MaxProcs` of the new log; without it that of the
/// source, or the widest job.
///
/// Read again without any step, the file gives the same jobs to the
/// nanosecond: by its [`Provenance`] a reader knows that it begins at its time
/// 0. Only run times of 0 need `zero_run_time = "keep"` once more, of which
/// [`Written::warnings`] tells.
///
/// # Errors
/// [`WriteError`]: the source cannot be read again, or the output not written.
pub fn write_reduced<W: Write>(
    reduced: &Reduced,
    spec: &WorkloadSpec,
    processors: Option<u64>,
    source: TraceReader<impl BufRead>,
    out: W,
) -> Result<(Written, W), WriteError> {
    let records = records_of(reduced, source)?;
    let provenance = Provenance::new(spec, reduced);
    let mut warnings = Vec::new();
    let max_procs = machine_size(reduced, processors, &mut warnings);
    let header = header(reduced, spec, &provenance, max_procs);
    let kept: BTreeSet<u64> = reduced.trace.jobs.iter().map(|job| job.trace_id).collect();
    warn_of_jobs(reduced, kept.len(), &mut warnings);
    let mut writer = Writer::new(out, Format::Swf, &header)?;
    let mut cut_dependencies = 0;
    let sites = sites_are_partitions(reduced);
    for job in &reduced.trace.jobs {
        let mut record = records[&job.line].clone();
        let follows = record.count(field::PRECEDING_JOB);
        settle(&mut record, job, spec);
        if sites {
            record.set(field::PARTITION, job.ids[SITE].map(u64::from));
        }
        if follows.is_some_and(|id| !kept.contains(&id)) {
            record.set(field::PRECEDING_JOB, NONE);
            record.set(field::THINK_TIME, NONE);
            cut_dependencies += 1;
        }
        writer.write(&record)?;
    }
    let written = Written {
        jobs: writer.records(),
        provenance,
        max_procs,
        cut_dependencies,
        warnings,
    };
    Ok((written, writer.finish()?))
}

/// Whether sites take the place of partitions: SWF has no field for the site
/// that a job was submitted to, and a grid trace often names sites only.
fn sites_are_partitions(reduced: &Reduced) -> bool {
    let mut jobs = reduced.trace.jobs.iter();
    jobs.all(|job| job.ids[PARTITION].is_none())
        && reduced.trace.jobs.iter().any(|job| job.ids[SITE].is_some())
}

/// The lines of the kept jobs, by line number.
fn records_of(
    reduced: &Reduced,
    mut source: TraceReader<impl BufRead>,
) -> Result<BTreeMap<u64, Record>, WriteError> {
    let mut lines: Vec<u64> = reduced.trace.jobs.iter().map(|job| job.line).collect();
    lines.sort_unstable();
    let mut records = BTreeMap::new();
    let mut wanted = lines.iter().peekable();
    while let Some(record) = source.next_record()? {
        if wanted.next_if(|line| **line == record.line).is_some() {
            records.insert(record.line, record.clone());
        }
        if wanted.peek().is_none() {
            break;
        }
    }
    match wanted.peek() {
        None => Ok(records),
        Some(line) => Err(WriteError::Changed(reduced.trace.file.clone(), **line)),
    }
}

/// The times and the size of the reduced job, the rest as it was.
fn settle(record: &mut Record, job: &TraceJob, spec: &WorkloadSpec) {
    record.set(field::JOB, job.trace_id);
    // What was a name in the source is a number in SWF, as in a run.
    for (at, id) in job.ids[..IDS].iter().enumerate() {
        record.set(field::USER + at, id.map(u64::from));
    }
    record.set(field::SUBMIT, job.submit);
    record.set(field::WAIT, NONE);
    record.set(field::RUN_TIME, job.run_time);
    record.set(field::ALLOCATED, u64::from(job.processors));
    record.set(field::REQUESTED_TIME, job.requested_time);
    for (field, scale) in [
        (field::CPU_TIME, spec.scale_run_time),
        (field::THINK_TIME, spec.scale_arrival),
    ] {
        record.set(field, record.time(field).map(|t| divided(scale, t)));
    }
}

/// Not available.
const NONE: Option<u64> = None;

fn machine_size(reduced: &Reduced, wanted: Option<u64>, warnings: &mut Vec<String>) -> u64 {
    let widest = reduced.trace.jobs.iter().map(|job| job.processors).max();
    let widest = u64::from(widest.unwrap_or(1));
    if let Some(wanted) = wanted {
        if wanted < widest {
            warnings.push(format!(
                "{}: the widest job wants {widest} processors, MaxProcs says {wanted}",
                reduced.trace.file
            ));
        }
        return wanted;
    }
    reduced.trace.header.max_processors().unwrap_or_else(|| {
        warnings.push(format!(
            "{}: the header does not say how many processors there are; MaxProcs is the widest \
             job, {widest}",
            reduced.trace.file
        ));
        widest
    })
}

fn warn_of_jobs(reduced: &Reduced, different: usize, warnings: &mut Vec<String>) {
    let (file, jobs) = (&reduced.trace.file, &reduced.trace.jobs);
    let repeated = jobs.len() - different;
    if repeated > 0 {
        warnings.push(format!(
            "{file}: {repeated} jobs have a job number that came before; the numbers are kept as \
             they are, and cannot tell these jobs apart"
        ));
    }
    let zero = jobs.iter().filter(|job| job.run_time.is_zero()).count();
    if zero > 0 {
        warnings.push(format!(
            "{file}: {zero} jobs have a run time of 0: replay the reduced trace with \
             zero_run_time = \"keep\", or they run for a second"
        ));
    }
}

/// Keys that say something of the source as a whole and are told anew.
const TOLD_ANEW: [&str; 9] = [
    "Version",
    "MaxJobs",
    "MaxRecords",
    "MaxNodes",
    "MaxProcs",
    "UnixStartTime",
    "StartTime",
    "EndTime",
    REDUCTION_KEY,
];

/// What the new log says of itself, then what the source said.
fn header(
    reduced: &Reduced,
    spec: &WorkloadSpec,
    provenance: &Provenance,
    max_procs: u64,
) -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut add = |key: &str, value: String| lines.push((key.to_owned(), value));
    add("Version", "2.2".to_owned());
    let jobs = reduced.trace.jobs.len();
    add("MaxJobs", jobs.to_string());
    add("MaxRecords", jobs.to_string());
    if let Some(start) = unix_start(&reduced.trace.header, reduced.origin) {
        add("UnixStartTime", start.to_string());
    }
    // A machine of another size has nodes of its own.
    let known = reduced.trace.header.max_processors() == Some(max_procs);
    let nodes = reduced.trace.header.number("MaxNodes").filter(|_| known);
    add("MaxNodes", nodes.unwrap_or(max_procs).to_string());
    add("MaxProcs", max_procs.to_string());
    for note in notes(reduced, spec, provenance) {
        add("Note", note);
    }
    add(REDUCTION_KEY, provenance.to_line());
    let source = reduced.trace.header.lines().iter();
    let told = |key: &str| TOLD_ANEW.iter().any(|k| k.eq_ignore_ascii_case(key));
    lines.extend(source.filter(|(key, _)| !told(key)).cloned());
    lines.extend(name_lines(reduced));
    lines
}

/// The tables of names, as a conversion writes them, where the header of the
/// source does not have them already.
fn name_lines(reduced: &Reduced) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for (field, column) in NAMED {
        let key = table_key(column);
        let names = reduced.trace.names.get(field);
        let names = names.filter(|_| reduced.trace.header.values(&key).is_empty());
        let numbered = names.into_iter().flatten().enumerate();
        // Entry 0 stands for no name.
        let line = |(id, name): (usize, &String)| (key.clone(), format!("{id} {name}"));
        lines.extend(numbered.skip(1).map(line));
    }
    lines
}

/// Unix seconds of the new log's time 0.
fn unix_start(header: &Header, origin: SimDuration) -> Option<u64> {
    let seconds = origin.as_nanos() / gridrig_core::time::NANOS_PER_SEC;
    header.unix_start_time()?.checked_add(seconds)
}

/// Seconds, and the days that they are.
fn days(time: SimDuration) -> String {
    let days = format!("{:.4}", time.as_secs_f64() / 86_400.0);
    let days = days.trim_end_matches('0').trim_end_matches('.');
    format!("{time} ({days} d)")
}

/// How it was made, for people.
fn notes(reduced: &Reduced, spec: &WorkloadSpec, provenance: &Provenance) -> Vec<String> {
    let first = reduced.steps.first().map_or(0, |step| step.before.jobs);
    let mut notes = vec![format!(
        "reduced by gridrig {} from {} (SHA-256 {}): {} of its {first} jobs",
        provenance.version, provenance.source, provenance.sha256, provenance.jobs
    )];
    let sanitized = spec.sanitize.rules().iter();
    notes.extend(sanitized.map(|rule| format!("sanitized: {}", rule.reason())));
    if let Some(limit) = spec.max_processors {
        notes.push(format!("jobs of more than {limit} processors are left out"));
    }
    if let Some(window) = provenance.window {
        let chosen = window.chosen_of.map_or_else(String::new, |of| {
            format!(", the most representative of {of} windows")
        });
        notes.push(format!(
            "window of {} from {} after the source's time 0{chosen}",
            days(window.length_s),
            days(window.start_s)
        ));
    }
    match (reduced.keep, provenance.load) {
        (Keep::Systematic { m, n, phase }, _) => {
            notes.push(format!("{m} of every {n} jobs are kept, phase {phase}"));
        }
        (Keep::Share { share, seed }, load) => {
            let why = load.map_or_else(String::new, |load| {
                format!(
                    ", chosen for a load of {} on {} processors",
                    load.offered.0, load.processors
                )
            });
            notes.push(format!(
                "each job is kept with probability {share}, seed {seed}{why}"
            ));
        }
        (Keep::All | Keep::Load { .. }, _) => {}
    }
    if sites_are_partitions(reduced) {
        notes.push("partition numbers (field 16) are the source's sites (OrigSiteID)".to_owned());
    }
    notes.push(format!(
        "submit times are divided by {}, run times and requested times by {}; wait times are not \
         those of this trace and left out",
        spec.scale_arrival, spec.scale_run_time
    ));
    if !spec.min_run_time.is_zero() {
        notes.push(format!("no run is shorter than {}", spec.min_run_time));
    }
    if spec.zero_run_time == ZeroRunTime::Keep {
        notes.push("run times of 0 are kept".to_owned());
    }
    notes
}
