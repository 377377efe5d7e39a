//! Writes what a model makes as SWF, with a header that says how.

use super::error::{Result, SynthError};
use super::model::Model;
use crate::format::{Format, Writer, field, hex};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::io::Write;

/// Models that are no longer stand in the header as a whole.
const HEADER_MODEL_BYTES: usize = 2_500;

/// Monday, 1 January 2024, 0:00 UTC: where models begin that have no date.
const DEFAULT_START: u64 = 1_704_067_200;

/// What was made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Made {
    /// Jobs.
    pub jobs: u64,
    /// First submission after time 0 of the log (s).
    pub first_submit_s: f64,
    /// First to last submission (s).
    pub span_s: f64,
    /// Demand / (processors x length), the length being that of the model
    /// where it has one, else the span; null for a span of 0.
    pub offered_load: Option<f64>,
    /// Run times (s).
    pub run_time_s: Option<Marginal>,
    /// Sizes.
    pub processors: Option<Marginal>,
    /// Times between submissions (s).
    pub interarrival_s: Option<Marginal>,
    /// Share of jobs on one processor.
    pub serial_share: f64,
    /// Jobs by hour of the day.
    pub hourly: [u64; 24],
}

/// Moments of one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Marginal {
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the sample; null for one value.
    pub sd: Option<f64>,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

/// Moments as they come, by Welford's method.
#[derive(Clone, Copy, Debug, Default)]
struct Running {
    n: u64,
    mean: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Running {
    fn add(&mut self, value: f64) {
        if self.n == 0 {
            (self.min, self.max) = (value, value);
        }
        self.n += 1;
        let off = value - self.mean;
        self.mean += off / self.n as f64;
        self.squares += off * (value - self.mean);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    fn marginal(&self) -> Option<Marginal> {
        (self.n > 0).then(|| Marginal {
            mean: self.mean,
            sd: (self.n > 1).then(|| (self.squares / (self.n - 1) as f64).sqrt()),
            min: self.min,
            max: self.max,
        })
    }
}

/// Measures the trace of a model without keeping it.
///
/// # Errors
/// [`SynthError::Parameter`] when the model makes no workload.
pub fn measure(model: &Model) -> Result<Made> {
    let mut runs = Running::default();
    let mut sizes = Running::default();
    let mut gaps = Running::default();
    let (mut area, mut serial) = (0.0, 0u64);
    let mut hourly = [0; 24];
    let (mut first, mut last): (Option<f64>, f64) = (None, 0.0);
    let start_s = unix_start(model).unwrap_or(DEFAULT_START) % 86_400;
    for job in model.jobs()? {
        let number = |field| job.count(field).unwrap_or(0) as f64;
        let [submit, run, size] = [field::SUBMIT, field::RUN_TIME, field::ALLOCATED].map(number);
        match first {
            None => first = Some(submit),
            Some(_) => gaps.add(submit - last),
        }
        last = submit;
        runs.add(run);
        sizes.add(size);
        area += run * size;
        serial += u64::from(size == 1.0);
        hourly[(submit as u64 + start_s) as usize / 3_600 % 24] += 1;
    }
    let first_submit_s = first.unwrap_or(0.0);
    let span_s = last - first_submit_s;
    let length = model.length_s().unwrap_or(span_s);
    Ok(Made {
        jobs: runs.n,
        first_submit_s,
        span_s,
        offered_load: (length > 0.0).then(|| area / (length * f64::from(model.processors()))),
        run_time_s: runs.marginal(),
        processors: sizes.marginal(),
        interarrival_s: gaps.marginal(),
        serial_share: serial as f64 / runs.n.max(1) as f64,
        hourly,
    })
}

/// Writes the trace of a model.
///
/// It is made twice, once to be measured, since the header comes first and says
/// how many jobs follow; so nothing but the model is kept in memory. `command`
/// is what a user types to make the same trace.
///
/// # Errors
/// [`SynthError::Parameter`] when the model makes no workload,
/// [`SynthError::Write`] for what the output says.
pub fn write<W: Write>(model: &Model, command: &str, out: W) -> Result<(W, Made)> {
    let made = measure(model)?;
    let write = SynthError::Write;
    let mut writer =
        Writer::new(out, Format::Swf, &header(model, command, &made)).map_err(write)?;
    for job in model.jobs()? {
        writer.write(&job).map_err(write)?;
    }
    Ok((writer.finish().map_err(write)?, made))
}

fn unix_start(model: &Model) -> Option<u64> {
    match model {
        Model::Lublin(model) => Some(DEFAULT_START + u64::from(model.start_hour) * 3_600),
        Model::Poisson(_) | Model::Egee(_) => Some(DEFAULT_START),
        Model::Burst(model) => Some(model.unix_start),
        Model::LookAlike(model) => model.unix_start,
    }
}

fn header(model: &Model, command: &str, made: &Made) -> Vec<(String, String)> {
    let mut header: Vec<(String, String)> = Vec::new();
    let mut say = |key: &str, value: String| header.push((key.to_owned(), value));
    say("Version", "2.2".to_owned());
    say(
        "Computer",
        "none: a generated workload, not the log of any machine".to_owned(),
    );
    say("Installation", "none".to_owned());
    say("Acknowledge", "gridrig".to_owned());
    say("Information", "docs/synthesize.md of gridrig".to_owned());
    say(
        "Conversion",
        format!(
            "generated by gridrig trace synthesize, model {}, seed {}",
            model.kind(),
            model.seed()
        ),
    );
    say("MaxJobs", made.jobs.to_string());
    say("MaxRecords", made.jobs.to_string());
    say("Preemption", "No".to_owned());
    if let Some(start) = unix_start(model) {
        let end = start + (made.first_submit_s + made.span_s) as u64;
        say("UnixStartTime", start.to_string());
        say("TimeZone", "0".to_owned());
        say("TimeZoneString", "UTC".to_owned());
        say("StartTime", date(start));
        say("EndTime", date(end));
    }
    say("MaxNodes", model.processors().to_string());
    say("MaxProcs", model.processors().to_string());
    let longest = made.run_time_s.map_or(0.0, |run| run.max);
    say("MaxRuntime", format!("{longest:.0}"));
    for (key, value) in notes(model) {
        say(key, value);
    }
    if let Some(load) = made.offered_load {
        say("Note", format!("offered load {load:.4}"));
    }
    say("Note", format!("made by {command}"));
    say("Note", describe(model));
    header
}

/// What only one kind of model has to say.
fn notes(model: &Model) -> Vec<(&'static str, String)> {
    match model {
        Model::Lublin(model) => {
            let queue = |(name, class): (&String, &super::lublin::JobClass)| {
                ("Queue", format!("{} {name} jobs", class.queue))
            };
            model.classes.iter().map(queue).collect()
        }
        Model::Poisson(model) => {
            let mut notes = vec![("Note", "the queue is the number of components".to_owned())];
            for (number, application) in (1..).zip(&model.applications) {
                let name = &application.name;
                notes.push(("Note", format!("executable {number} is {name}")));
            }
            notes
        }
        Model::Egee(model) => {
            let processors = model.processors;
            let note = format!("the load is that of {processors} processors of speed 1.0");
            vec![("Note", note)]
        }
        Model::Burst(model) => {
            let mut notes = vec![("MaxQueues", super::burst::QUEUES.len().to_string())];
            notes.extend(super::burst::QUEUES.map(|queue| ("Queue", queue.to_owned())));
            let (runs, sizes, scale) = (model.run_time, model.size, model.scale);
            notes.push(("Note", model.note.clone()));
            notes.push((
                "Note",
                format!(
                    "meant to be played with both time scales {scale} and min_run_time 1s; then \
                     run times have max {} mean {} sd {} and processors max {} mean {} sd {}",
                    runs.max, runs.mean, runs.sd, sizes.max, sizes.mean, sizes.sd
                ),
            ));
            notes
        }
        Model::LookAlike(model) => {
            let source = &model.source;
            let note = format!(
                "a look-alike of {} ({} jobs in {:.1} days); its times go on where those end, so \
                 no job of it is in here",
                source.trace, source.jobs, source.days
            );
            vec![("Note", note)]
        }
    }
}

/// The parameters, or what tells them from others where they are too long.
fn describe(model: &Model) -> String {
    let pretty = model.to_json();
    let compact = serde_json::from_str::<serde_json::Value>(&pretty).map(|v| v.to_string());
    match compact {
        Ok(text) if text.len() <= HEADER_MODEL_BYTES => format!("model {text}"),
        _ => {
            let hash = hex(&Sha256::digest(pretty.as_bytes()));
            format!("model file of {} bytes, SHA-256 {hash}", pretty.len())
        }
    }
}

/// An instant as the headers of the archive spell it, in UTC.
fn date(unix: u64) -> String {
    let unix = i64::try_from(unix).unwrap_or(i64::MAX);
    let at = jiff::Timestamp::from_second(unix).unwrap_or(jiff::Timestamp::MAX);
    at.strftime("%a %b %d %H:%M:%S UTC %Y").to_string()
}
