//! The trace that a log becomes.

use super::job::{Job, Jobs, named};
use super::value::ABSENT;
use super::{Report, Request, has_dates};
use crate::error::ConvertError;
use crate::format::{
    COLUMN_NAMES, FIELDS, Format, Header, NAMED, NameTables, Number, Record, SITE, TIMES, Writer,
    create, field, parsed, table_key,
};
use gridrig_core::time::{NANOS_PER_SEC, SimDuration};
use jiff::Timestamp;
use std::io;

/// Writes the jobs and completes the report. `comments` are those of the log, `read` is what
/// has read it.
pub(super) fn write(
    request: &Request,
    report: &mut Report,
    comments: Option<&Header>,
    read: &Jobs<'_>,
    jobs: &[Job],
) -> Result<(), ConvertError> {
    // Time 0 of a log with dates is the second of its first submit.
    let mut zero = 0;
    if has_dates(&request.map) {
        let first = jobs.first().map_or(0, |job| job[field::SUBMIT]);
        let second = u64::try_from(first).unwrap_or(0) / NANOS_PER_SEC;
        zero = second * NANOS_PER_SEC;
        report.unix_start = Some(second);
    }
    if report.format == Format::Swf {
        for (field, (name, _)) in NAMED.iter().enumerate().skip(SITE) {
            let had = jobs.iter().filter(|job| job[named(field)] != ABSENT);
            let had = had.count() as u64;
            if had > 0 {
                report.lost.insert((*name).to_owned(), had);
            }
        }
    }
    let header = header(request, report, comments, read);
    let second = i128::from(NANOS_PER_SEC);
    let added = match report.format {
        Format::Swf => 0,
        Format::Gwf => i128::from(report.unix_start.unwrap_or(0)) * second,
    };
    let shift = added - i128::from(zero);
    let last = jobs.last().map_or(0, |job| job[field::SUBMIT]);
    if u64::try_from(i128::from(last) + shift).is_err() {
        return Err(ConvertError::too_large(&report.file, "submit time"));
    }
    let written = write_jobs(request, report.format, &header, &read.names, jobs, shift);
    written.map_err(|source| ConvertError::Write(report.output.clone(), source))
}

fn write_jobs(
    request: &Request,
    format: Format,
    header: &[(String, String)],
    names: &NameTables,
    jobs: &[Job],
    shift: i128,
) -> io::Result<()> {
    let mut writer = Writer::new(create(&request.output)?, format, header)?;
    let mut record = Record::default();
    for job in jobs {
        for (at, value) in job.iter().enumerate().take(FIELDS) {
            let value = u64::try_from(*value).ok();
            let number: Number = match 1 << at & TIMES > 0 {
                true => value.map(SimDuration::from_nanos).into(),
                false => value.into(),
            };
            record.set(at, number);
        }
        let submit = u64::try_from(i128::from(job[field::SUBMIT]) + shift).ok();
        record.set(field::SUBMIT, submit.map(SimDuration::from_nanos));
        for (at, (_, column)) in NAMED.iter().enumerate() {
            let table = names.of(at);
            let name = usize::try_from(job[named(at)] - 1).ok();
            let name = name
                .and_then(|at| table.in_order.get(at))
                .map_or(&[][..], Vec::as_slice);
            if format == Format::Gwf {
                record.set_column(*column, name.to_vec());
            } else if at < SITE && !table.any_text {
                // Numbers stand for themselves.
                record.set(named(at), parsed::<u64>(name));
            }
        }
        writer.write(&record)?;
    }
    writer.finish()?.commit()
}

/// What the trace says of where it comes from.
fn header(
    request: &Request,
    report: &Report,
    comments: Option<&Header>,
    read: &Jobs<'_>,
) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let mut say = |key: &str, value: String| lines.push((key.to_owned(), value));
    let processors = request.processors.map(|n| n.to_string());
    match report.format {
        Format::Swf => {
            say("Version", "2.2".to_owned());
            processors.into_iter().for_each(|n| say("MaxProcs", n));
            say("MaxJobs", report.jobs.to_string());
            say("MaxRecords", report.jobs.to_string());
        }
        Format::Gwf => processors.into_iter().for_each(|n| say("Processors", n)),
    }
    match (report.unix_start, report.format) {
        (Some(at), _) => say("UnixStartTime", at.to_string()),
        // Without it a reader would count from the first submit.
        (None, Format::Gwf) => say("UnixStartTime", "0".to_owned()),
        (None, Format::Swf) => {}
    }
    if let (Some(name), Some(at)) = (&request.map.zone, report.unix_start) {
        let at = Timestamp::from_second(i64::try_from(at).unwrap_or(0)).unwrap_or_default();
        say(
            "TimeZone",
            read.dates.zone.to_offset(at).seconds().to_string(),
        );
        say("TimeZoneString", name.clone());
    }
    let about = &request.map.about;
    say(
        "Note",
        format!(
            "imported by gridrig trace import; map {}: {about}",
            report.map
        ),
    );
    for (what, jobs) in &report.lost {
        say("Note", format!("lost: {what}, of {jobs} jobs"));
    }
    for (reason, rows) in &report.skipped {
        say("Note", format!("left out: {reason}, {rows} rows"));
    }
    if request.hidden.is_some() {
        say("Note", "names are hashes under a key".to_owned());
    }
    // Comments may hold names.
    let comments = comments.filter(|_| request.hidden.is_none());
    for (key, value) in comments.map_or(&[][..], Header::lines) {
        let colon = if key.is_empty() { "" } else { ": " };
        say("Note", format!("log | {key}{colon}{value}"));
    }
    if report.format == Format::Gwf {
        say("Columns", COLUMN_NAMES.join(" "));
        return lines;
    }
    for (at, (_, column)) in NAMED.iter().enumerate().take(SITE) {
        let table = read.names.of(at);
        for (id, name) in (1..).zip(table.in_order.iter().filter(|_| table.any_text)) {
            let name = String::from_utf8_lossy(name);
            say(&table_key(*column), format!("{id} {name}"));
        }
    }
    lines
}
