//! Files to write jobs into.

use super::header::Heading;
use super::ids::distinct;
use super::source::Job;
use super::{OutputReport, Request, Result};
use crate::error::ConvertError;
use crate::format::{self, Format, NAMED, OutFile, Writer};
use crate::split::{Dealer, MAX_STREAMS, NONE, Points};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Which streams there are and how jobs come into them.
pub(super) enum StreamPlan {
    /// Everything goes into one file.
    One,
    /// Dealt out to submission points.
    Dealt(Points),
    /// By the value of a field.
    By {
        /// The place of the field in [`NAMED`].
        field: usize,
        /// Values and their streams.
        streams: BTreeMap<Option<Vec<u8>>, usize>,
    },
}

impl StreamPlan {
    pub(super) fn by(
        field: usize,
        mut streams: BTreeMap<Option<Vec<u8>>, usize>,
        output: &Path,
    ) -> Result<Self> {
        if streams.len() > MAX_STREAMS {
            let (file, name) = (output.display(), NAMED[field].0);
            return Err(ConvertError::too_many_streams(file, name, MAX_STREAMS));
        }
        for (at, stream) in streams.values_mut().enumerate() {
            *stream = at;
        }
        Ok(StreamPlan::By { field, streams })
    }

    /// Names of the streams, fit for file names and all different.
    fn names(&self) -> Vec<Option<String>> {
        match self {
            StreamPlan::One => vec![None],
            StreamPlan::Dealt(points) => points.points.iter().map(|p| Some(p.0.clone())).collect(),
            StreamPlan::By { streams, .. } => {
                let word = |key: &Option<Vec<u8>>| {
                    key.as_deref().map_or_else(|| NONE.to_owned(), file_word)
                };
                let names = distinct(streams.keys().map(word));
                names.into_iter().map(Some).collect()
            }
        }
    }

    /// What the header of a stream says about it.
    fn note(&self, request: &Request, stream: usize, name: Option<&str>) -> Option<String> {
        let way = request.split.as_ref()?.describe();
        let name = name?;
        Some(match self {
            StreamPlan::By { streams, .. } => {
                let key = streams.iter().find(|(_, at)| **at == stream);
                let value = key.and_then(|(key, _)| key.as_deref());
                let value = value.map_or("not available".into(), String::from_utf8_lossy);
                format!("split {way} by gridrig trace convert; here {value}")
            }
            _ => format!(
                "split {way} by gridrig trace convert, seed {}; here {name}",
                request.seed
            ),
        })
    }
}

/// A value as part of a file name.
fn file_word(value: &[u8]) -> String {
    /// Names of files have an end.
    const LONGEST: usize = 100;
    let part = |(at, b): (usize, &u8)| match *b {
        b if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_') => char::from(b),
        b'.' if at > 0 => '.',
        _ => '_',
    };
    let word: String = value.iter().take(LONGEST).enumerate().map(part).collect();
    match word.is_empty() {
        true => "_".to_owned(),
        false => word,
    }
}

/// All files of the output.
pub(super) struct Sinks {
    plan: StreamPlan,
    dealer: Option<Dealer>,
    outputs: Vec<(Writer<OutFile>, OutputReport)>,
}

impl Sinks {
    pub(super) fn create(
        request: &Request,
        format: Format,
        plan: StreamPlan,
        heading: &Heading,
    ) -> Result<Self> {
        let dealer = match &plan {
            StreamPlan::Dealt(points) => Some(Dealer::new(points, request.seed)),
            _ => None,
        };
        let names = plan.names();
        let mut paths = Vec::with_capacity(names.len());
        for name in &names {
            let path = stream_path(&request.output, name.as_deref());
            check_free(request, &path)?;
            paths.push(path);
        }
        if let Some(folder) = request.output.parent().filter(|_| request.split.is_some()) {
            fs::create_dir_all(folder).map_err(|source| write_error(folder.display(), source))?;
        }
        let mut outputs = Vec::with_capacity(names.len());
        for (stream, (name, path)) in names.into_iter().zip(paths).enumerate() {
            let header = heading.of_stream(plan.note(request, stream, name.as_deref()));
            let failed = |source| write_error(path.display(), source);
            let file = format::create(&path).map_err(failed)?;
            let sink = Writer::new(file, format, &header).map_err(failed)?;
            let report = OutputReport {
                file: path.display().to_string(),
                stream: name,
                jobs: 0,
            };
            outputs.push((sink, report));
        }
        Ok(Sinks {
            plan,
            dealer,
            outputs,
        })
    }

    pub(super) fn write(&mut self, job: &Job) -> Result<()> {
        let stream = match (&self.plan, &mut self.dealer) {
            (StreamPlan::By { streams, .. }, _) => streams.get(&job.key).copied(),
            (_, Some(dealer)) => Some(dealer.next_point()),
            _ => Some(0),
        };
        // A value that was not there the first time: the counts will not
        // agree either, but no job may go to the wrong stream.
        let found = stream.and_then(|stream| self.outputs.get_mut(stream));
        let Some((sink, report)) = found else {
            return Err(ConvertError::Changed {
                file: self.field_name().to_owned(),
                first: 0,
                second: 1,
            });
        };
        report.jobs += 1;
        sink.write(&job.record)
            .map_err(|source| write_error(&report.file, source))
    }

    fn field_name(&self) -> &'static str {
        match self.plan {
            StreamPlan::By { field, .. } => NAMED[field].0,
            _ => "stream",
        }
    }

    /// Ends all files and gives them their names.
    pub(super) fn commit(self) -> Result<Vec<OutputReport>> {
        let mut reports = Vec::with_capacity(self.outputs.len());
        for (sink, report) in self.outputs {
            sink.finish()
                .and_then(OutFile::commit)
                .map_err(|source| write_error(&report.file, source))?;
            reports.push(report);
        }
        Ok(reports)
    }
}

fn write_error(file: impl ToString, source: io::Error) -> ConvertError {
    let file = file.to_string();
    ConvertError::Write(file, source)
}

/// The output with the name of the stream in place of its braces.
fn stream_path(output: &Path, name: Option<&str>) -> PathBuf {
    let Some(name) = name else {
        return output.to_owned();
    };
    let file = output.file_name().unwrap_or_default().to_string_lossy();
    output.with_file_name(file.replace("{}", name))
}

/// Refuses to write over an input, or over anything without being told.
fn check_free(request: &Request, path: &Path) -> Result<()> {
    let refuse = |problem: &str| Err(ConvertError::refused(path.display(), problem));
    let Ok(found) = fs::metadata(path) else {
        return Ok(());
    };
    let there = fs::canonicalize(path).ok();
    let is_input = |input: &super::Input| fs::canonicalize(&input.path).ok() == there;
    if found.is_file() && request.inputs.iter().any(is_input) {
        return refuse("input and output are the same file: expected another name");
    }
    if found.is_dir() || (found.is_file() && !request.force) {
        return refuse("the file is there already: expected a new name, or --force");
    }
    Ok(())
}
