//! A command that submits a job, such as `arcsub … {xrsl}`.

use super::program::{Exit, Ran, run};
use super::{Answer, Outlet, Result, SubmitRequest, Template, TemplateError, shown};
use crate::describe::{Form, whole_seconds};
use gridrig_drivers::real_time::{RunClock, TransportError};
use gridrig_scenario::external::{OF_A_JOB, places_of_a_job};
use parking_lot::Mutex;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Bounds of submissions, by requests or commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long one may take, in wall time.
    pub timeout: Duration,
    /// How many run at a time.
    pub at_once: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            timeout: Duration::from_secs(60),
            at_once: 4,
        }
    }
}

/// Submits each job by a command of its own. No shell has a part in it.
#[derive(Debug)]
pub struct Command {
    words: Vec<Template>,
    fixed: BTreeMap<String, String>,
    forms: BTreeSet<Form>,
    dir: PathBuf,
    runs_in: PathBuf,
    limits: Limits,
    expect: Option<String>,
    log: Arc<CommandLog>,
}

impl Command {
    /// Reads the words of a command whose placeholders are those of a job or
    /// among `fixed`.
    ///
    /// # Errors
    /// [`TemplateError`].
    pub fn read(
        words: &[String],
        fixed: &BTreeSet<String>,
    ) -> Result<Vec<Template>, TemplateError> {
        let known = &places_of_a_job() | fixed;
        let words = words.iter().map(|word| Template::read(word, &known));
        words.collect()
    }

    /// A command that runs in `dir`, where the descriptions of jobs are
    /// written too; `fixed` are the values of the other placeholders. Where
    /// there is a text to `expect`, a command that ends well without having
    /// said it has failed.
    ///
    /// # Errors
    /// When the directory of the descriptions cannot be made.
    pub fn new(
        words: Vec<Template>,
        fixed: BTreeMap<String, String>,
        dir: &Path,
        limits: Limits,
        expect: Option<String>,
        log: Arc<CommandLog>,
    ) -> io::Result<Self> {
        std::fs::create_dir_all(dir.join(JOBS))?;
        let uses = |form: &Form| {
            words
                .iter()
                .any(|word| word.places().any(|p| p == form.name()))
        };
        let forms = Form::ALL.iter().copied().filter(uses).collect();
        Ok(Command {
            words,
            fixed,
            forms,
            dir: dir.to_owned(),
            runs_in: dir.to_owned(),
            limits,
            expect,
            log,
        })
    }

    /// The same, run in another directory than that of the descriptions.
    #[must_use]
    pub fn run_in(self, directory: &Path) -> Self {
        Command {
            runs_in: directory.to_owned(),
            ..self
        }
    }

    fn name(&self) -> String {
        let first = self.words.first().map(|word| word.fill(&[&self.fixed]));
        let first = first.unwrap_or_default();
        first.rsplit('/').next().unwrap_or_default().to_owned()
    }

    /// Writes the descriptions that the command wants; answers the values of
    /// the places that stand for something of the job.
    fn describe(&self, request: &SubmitRequest) -> io::Result<BTreeMap<String, String>> {
        let job = &request.job;
        let limit = job.requested_time.unwrap_or(job.run_time);
        let values = [
            request.tag.clone(),
            job.id.0.to_string(),
            job.processors().to_string(),
            job.run_time.seconds().to_string(),
            whole_seconds(limit).to_string(),
        ];
        let names = OF_A_JOB.map(str::to_owned);
        let mut values: BTreeMap<String, String> = names.into_iter().zip(values).collect();
        for form in &self.forms {
            let file = format!("{}.{}", request.tag, form.name());
            let path = self.dir.join(JOBS).join(file);
            let text = form.describe(job, &request.tag);
            std::fs::write(&path, text.map_err(io::Error::other)?)?;
            values.insert(form.name().to_owned(), path.display().to_string());
        }
        Ok(values)
    }

    async fn call(&self, request: &SubmitRequest) -> Result<()> {
        let to = self.name();
        let not_reached = |error: io::Error| TransportError::not_reached(&to, error.to_string());
        // Placeholders have no words for several components, or for clusters, either.
        let plain = request.job.plain_component();
        plain.map_err(|why| TransportError::unsaid(&to, why))?;
        let values = self.describe(request).map_err(not_reached)?;
        let words = self.words.iter();
        let words: Vec<String> = words
            .map(|word| word.fill(&[&values, &self.fixed]))
            .collect();
        let began = self.log.clock.now();
        let ran = run(&words, &self.runs_in, self.limits.timeout).await;
        let ran = ran.map_err(not_reached)?;
        let took = self.log.clock.wall(self.log.clock.now().since(began));
        self.log.note("submit", Some(&request.tag), &ran, took);
        self.judge(to, &ran)
    }

    fn judge(&self, to: String, ran: &Ran) -> Result<()> {
        let complaint = || match ran.stderr.trim() {
            "" => shown(&ran.stdout),
            said => shown(said),
        };
        let refused = |code: i32, why: String| {
            TransportError::declined(&to, u16::try_from(code).unwrap_or(u16::MAX), why)
        };
        match ran.exit {
            Exit::Code(0) => match &self.expect {
                Some(expected) if !ran.stdout.contains(expected.as_str()) => {
                    let why = format!("without saying {expected:?}: {}", complaint());
                    Err(refused(0, why))
                }
                _ => Ok(()),
            },
            Exit::Code(code) => Err(refused(code, complaint())),
            Exit::Signal(signal) => Err(TransportError::NoAnswer {
                to,
                why: format!("it was ended by signal {signal}"),
            }),
            Exit::TimedOut => Err(TransportError::NoAnswer {
                why: format!("it was killed after {:?}", self.limits.timeout),
                to,
            }),
        }
    }
}

/// Where the descriptions of jobs lie.
const JOBS: &str = "jobs";

impl Outlet for Command {
    fn submit<'a>(&'a self, request: &'a SubmitRequest) -> Answer<'a> {
        Box::pin(self.call(request))
    }

    fn at_once(&self) -> usize {
        self.limits.at_once.max(1)
    }
}

/// What commands have said, one JSON object a line.
#[derive(Debug)]
pub struct CommandLog {
    file: Option<Mutex<File>>,
    clock: RunClock,
}

impl CommandLog {
    /// A log that adds to this file.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path, clock: RunClock) -> io::Result<Self> {
        let file = File::options().create(true).append(true).open(path)?;
        Ok(CommandLog {
            file: Some(Mutex::new(file)),
            clock,
        })
    }

    /// One that keeps nothing.
    pub fn none(clock: RunClock) -> Self {
        CommandLog { file: None, clock }
    }

    /// Notes how a command ended: what it was for, the job's tag if it was for
    /// one, its exit, what it said, when it ended and how long it took on the
    /// wall.
    pub fn note(&self, step: &str, tag: Option<&str>, ran: &Ran, took: Duration) {
        let Some(file) = &self.file else { return };
        let (code, signal) = match ran.exit {
            Exit::Code(code) => (Some(code), None),
            Exit::Signal(signal) => (None, Some(signal)),
            Exit::TimedOut => (None, None),
        };
        let line = json!({
            "unix_s": self.clock.unix_ns(self.clock.now()) as f64 / 1e9,
            "step": step,
            "tag": tag,
            "code": code,
            "signal": signal,
            "timed_out": ran.exit == Exit::TimedOut,
            "took_s": took.as_secs_f64(),
            "stdout": ran.stdout,
            "stderr": ran.stderr,
        });
        let mut file = file.lock();
        if let Err(error) = writeln!(file, "{line}") {
            tracing::warn!(%error, "the output of a command cannot be kept");
        }
    }
}
