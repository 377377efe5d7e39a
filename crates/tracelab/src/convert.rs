//! From one format to the other, sanitized, merged or split, as a stream.
//!
//! Every input is read twice (GWF three times): first to learn what the header
//! of the output has to say (names, counts, the first submit), then to write.
//! Memory does not grow with the number of jobs; it grows with the distinct
//! names, and in a merge with the jobs that arrive within the longest step
//! backwards of the submit times. `docs/gwf.md` says what the formats have in
//! common, `docs/sanitize.md` what the rules are and how to split and merge.

mod header;
mod ids;
mod sinks;
mod source;
mod survey;

use crate::error::ConvertError;
use crate::format::{Format, open};
use crate::sanitize::{RuleReport, Rules, Sanitizer};
use crate::split::{Points, Split};
use gridrig_core::time::SimDuration;
use header::Heading;
use ids::{origins, plan_ids};
use serde::Serialize;
use sinks::{Sinks, StreamPlan};
use source::Merged;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use survey::{Survey, survey};

/// A part of a conversion, or why it cannot be done.
type Result<T, E = ConvertError> = std::result::Result<T, E>;

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Request {
    /// The traces; several are merged.
    pub inputs: Vec<Input>,
    /// The file to write; with a split its name has `{}` where the name of the
    /// stream goes.
    pub output: PathBuf,
    /// Its format; by default what its name says, of a split with a name that
    /// says nothing the format of the inputs.
    pub to: Option<Format>,
    /// Processors of the machine, instead of what the headers say.
    pub processors: Option<u32>,
    /// Jobs to leave out.
    pub rules: Rules,
    /// Into which streams.
    pub split: Option<Split>,
    /// Whether merged traces keep their places in the calendar; else their
    /// times 0 meet.
    pub calendar: bool,
    /// Seed of the lots of a random split.
    pub seed: u64,
    /// Whether files that are there may be replaced.
    pub force: bool,
}

/// A trace to read.
#[derive(Clone, Debug)]
pub struct Input {
    /// The file.
    pub path: PathBuf,
    /// Its format; by default what its first job line says.
    pub from: Option<Format>,
    /// Added to its submit times.
    pub offset: SimDuration,
}

/// What was done. The order of the fields is that of `--json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Format of what was written.
    pub format: Format,
    /// What was read, in the order given.
    pub inputs: Vec<InputReport>,
    /// What the rules left out, in their order.
    pub sanitized: Vec<RuleReport>,
    /// What the output cannot hold, by its name, in jobs that had it.
    pub lost: BTreeMap<&'static str, u64>,
    /// What was written, by name of the stream.
    pub outputs: Vec<OutputReport>,
    /// Processors that the outputs' headers name.
    pub processors: Option<u64>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputReport {
    /// The file.
    pub file: String,
    /// Its format.
    pub format: Format,
    /// Job lines.
    pub jobs: u64,
    /// 1 when its last line was cut short and left out.
    pub truncated_last_line: u64,
    /// In a merge, its name in the partition field.
    pub origin: Option<String>,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutputReport {
    /// The file.
    pub file: String,
    /// With a split, the name of the stream.
    pub stream: Option<String>,
    /// Its jobs.
    pub jobs: u64,
}

/// Does it.
///
/// # Errors
/// Any [`ConvertError`]; no output is then there under its name, except for
/// streams that were complete before one could not be written.
pub fn convert(request: &Request) -> Result<Report> {
    check_names(request)?;
    let format = output_format(request)?;
    let mut sanitizer = Sanitizer::new(&request.rules);
    let by = match &request.split {
        Some(Split::By(field)) => Some(*field),
        _ => None,
    };
    let merging = request.inputs.len() > 1;
    let mut surveys = Vec::with_capacity(request.inputs.len());
    for input in &request.inputs {
        surveys.push(survey(input, format, by, merging, &mut sanitizer)?);
    }
    if surveys.iter().all(|s| s.kept == 0) {
        return Err(ConvertError::refused(
            request.output.display(),
            "the rules leave no job: expected some that stay",
        ));
    }
    let origins = origins(&request.inputs);
    let plans = plan_ids(&surveys, &origins)?;
    let offsets = offsets(request, &surveys)?;
    let sanitized = sanitizer.reports();
    let heading = Heading::new(request, format, &surveys, &plans, &offsets, &sanitized);
    let streams = stream_plan(request, &surveys, &plans)?;
    let mut sinks = Sinks::create(request, format, streams, &heading)?;
    let mut merged = Merged::open(request, format, &surveys, &plans, &offsets, &heading)?;
    while let Some(job) = merged.next_job()? {
        sinks.write(job)?;
    }
    merged.check_counts()?;
    let outputs = sinks.commit()?;
    Ok(report(
        request, format, surveys, &origins, sanitized, outputs, &heading,
    ))
}

fn output_format(request: &Request) -> Result<Format> {
    if let Some(format) = request.to.or_else(|| Format::of_name(&request.output)) {
        return Ok(format);
    }
    // A split changes nothing else, so its streams stay what the inputs are.
    let mut formats = Vec::new();
    if request.split.is_some() {
        for input in &request.inputs {
            let format = match input.from {
                Some(format) => format,
                None => open(&input.path)?.format(),
            };
            formats.push(format);
        }
    }
    match formats.split_first() {
        Some((first, others)) if others.iter().all(|format| format == first) => Ok(*first),
        _ => Err(ConvertError::no_format(&request.output)),
    }
}

/// Refuses what would be read only once, or written over what is read.
fn check_names(request: &Request) -> Result<()> {
    for input in &request.inputs {
        // What cannot be looked at cannot be opened either, which is then said.
        if fs::metadata(&input.path).is_ok_and(|found| !found.is_file()) {
            return Err(ConvertError::refused(
                input.path.display(),
                "not a regular file: expected one, since it is read twice",
            ));
        }
    }
    let name = request.output.file_name().unwrap_or_default();
    let braces = name.to_string_lossy().matches("{}").count();
    let expected = match (&request.split, braces) {
        (Some(_), 1) | (None, 0) => return Ok(()),
        (Some(_), _) => "expected a file name with {} once, where the name of the stream goes",
        (None, _) => "expected --split, since the name has {}",
    };
    Err(ConvertError::refused(request.output.display(), expected))
}

/// What is added to the submit times of each input, counted from its own time
/// 0, and the Unix second of the time 0 of the output.
pub(crate) struct Offsets {
    each: Vec<SimDuration>,
    unix_start: Option<u64>,
}

fn offsets(request: &Request, surveys: &[Survey]) -> Result<Offsets> {
    let own = request.inputs.iter().map(|input| input.offset);
    if !request.calendar {
        return Ok(Offsets {
            each: own.collect(),
            unix_start: surveys.first().and_then(|s| s.unix_start),
        });
    }
    let mut starts = Vec::with_capacity(surveys.len());
    for survey in surveys {
        starts.push(survey.unix_start.ok_or_else(|| {
            let problem =
                "the trace does not say when it began: expected a header with UnixStartTime";
            ConvertError::refused(&survey.file, problem)
        })?);
    }
    let first = starts.iter().copied().min().unwrap_or(0);
    let each = own
        .zip(&starts)
        .map(|(own, start)| own + SimDuration::from_secs(start - first));
    Ok(Offsets {
        each: each.collect(),
        unix_start: Some(first),
    })
}

/// Which streams there are and how jobs come into them.
fn stream_plan(
    request: &Request,
    surveys: &[Survey],
    plans: &[ids::InputIds],
) -> Result<StreamPlan> {
    match &request.split {
        None => Ok(StreamPlan::One),
        Some(Split::Points(points)) => Ok(StreamPlan::Dealt(Points::clone(points))),
        Some(Split::By(field)) => {
            let mut keys = BTreeMap::new();
            for (survey, plan) in surveys.iter().zip(plans) {
                for key in survey.keys.keys() {
                    keys.insert(plan.final_key(*field, key.as_deref())?, 0);
                }
            }
            StreamPlan::by(*field, keys, &request.output)
        }
    }
}

fn report(
    request: &Request,
    format: Format,
    surveys: Vec<Survey>,
    origins: &[String],
    sanitized: Vec<RuleReport>,
    outputs: Vec<OutputReport>,
    heading: &Heading,
) -> Report {
    let mut lost: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut warnings = Vec::new();
    let mut inputs = Vec::with_capacity(surveys.len());
    for (index, survey) in surveys.into_iter().enumerate() {
        for (what, jobs) in survey.lost {
            *lost.entry(what).or_default() += jobs;
        }
        warnings.extend(survey.warnings);
        inputs.push(InputReport {
            file: survey.file,
            format: survey.format,
            jobs: survey.read,
            truncated_last_line: survey.truncated,
            origin: origins.get(index).cloned(),
        });
    }
    if heading.processors.is_none() && request.processors.is_none() {
        warnings.push(
            "no header says how many processors the machine has; --processors N writes it"
                .to_owned(),
        );
    }
    warnings.extend(heading.warnings.iter().cloned());
    Report {
        inputs,
        sanitized,
        lost,
        outputs,
        format,
        processors: heading.processors,
        warnings,
    }
}
