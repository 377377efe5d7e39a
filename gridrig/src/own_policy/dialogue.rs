//! What is asked of programs and what they answer, by whatever they are run.

use super::OwnRun;
use super::lua::Script;
use super::program::Program;
use super::wire::HelloAnswer;
use crate::exit::Failure;
use crate::scenario::document::Own;
use anyhow::{Context as _, anyhow};
use gridrig_core::time::SimDuration;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What is shown of a line in a message, in characters.
pub(super) const SHOWN: usize = 300;

/// What runs a program.
enum Carrier {
    /// A process, over its standard input and output.
    Process(Program),
    /// Lua, in this one.
    Lua(Box<Script>),
}

impl Carrier {
    fn start(own: &Own, seed: (u64, &str)) -> anyhow::Result<Self> {
        if let Some(written) = &own.lua {
            let text = match own.lua_file() {
                Some(file) => std::fs::read_to_string(file).with_context(|| file.clone())?,
                None => written.clone(),
            };
            let name = own.lua_file().unwrap_or(&own.name.0.0);
            let script = Script::new(name, text, seed).map_err(|why| anyhow!("{why}"))?;
            return Ok(Carrier::Lua(Box::new(script)));
        }
        let words = own.exec.as_ref().map_or(&[][..], |exec| &exec.0);
        let timeout = own.timeout.as_ref();
        let timeout = timeout.map_or(0, |timeout| timeout.0.0.as_nanos());
        let started = Program::start(words, Duration::from_nanos(timeout));
        started.map(Carrier::Process).with_context(|| {
            let exec = words.join(" ");
            format!("exec: `{exec}` cannot be started (expected a program)")
        })
    }

    fn ask(&mut self, line: &str) -> Result<String, String> {
        match self {
            Carrier::Process(program) => program.ask(line.as_bytes()),
            Carrier::Lua(script) => script.ask(line),
        }
    }
}

/// A policy or discipline of one participant: its program, or two that are to give the
/// same answers.
pub(super) struct Dialogue {
    pub run: Arc<OwnRun>,
    /// What it is and of whom, for messages.
    name: String,
    carriers: Vec<Carrier>,
    /// How long a decision takes in the model; `None`: as long as the last one took.
    decision_time: Option<SimDuration>,
    last: SimDuration,
}

impl Dialogue {
    /// Starts so many programs; `seed` is that of the run, with who asks.
    pub fn start(
        own: &Own,
        name: String,
        seed: (u64, &str),
        (run, count): (&Arc<OwnRun>, usize),
    ) -> Result<Self, Failure> {
        let carriers = (0..count).map(|_| Carrier::start(own, seed));
        let carriers = carriers.collect::<Result<_, _>>();
        let time = own.decision_time;
        Ok(Dialogue {
            run: Arc::clone(run),
            carriers: carriers.with_context(|| name.clone())?,
            name,
            decision_time: time.map_or(Some(SimDuration::ZERO), |it| it.0.0),
            last: SimDuration::ZERO,
        })
    }

    /// How long the last decision takes in the model.
    pub fn decision_time(&self) -> SimDuration {
        self.decision_time.unwrap_or(self.last)
    }

    /// The first line; answers which of its columns are wanted.
    pub fn greet(
        &mut self,
        hello: &impl Serialize,
        (protocol, columns): (&str, &[&str]),
    ) -> Result<Vec<bool>, Failure> {
        let failed = |why: String| Failure::Run(anyhow!(why));
        let expected = format!(
            "{{\"protocol\":\"{protocol}\"}}, with \"columns\" out of {} if not all are wanted",
            columns.join(", ")
        );
        let asked = self.ask::<HelloAnswer>(hello, &expected);
        let (answer, exchange) = asked.map_err(failed)?;
        let wanted = answer.columns.as_ref();
        let mut all = wanted.into_iter().flatten();
        if answer.protocol != protocol || all.any(|it| !columns.contains(&it.as_str())) {
            return Err(failed(self.refused("", &exchange, &expected)));
        }
        let wants = |name: &&str| wanted.is_none_or(|all| all.iter().any(|it| it == name));
        Ok(columns.iter().map(wants).collect())
    }

    /// The programs, if they are in Lua.
    pub fn scripts(&mut self) -> Option<Vec<&mut Script>> {
        let carriers = self.carriers.iter_mut();
        let scripts = carriers.map(|carrier| match carrier {
            Carrier::Lua(script) => Some(&mut **script),
            Carrier::Process(_) => None,
        });
        scripts.collect()
    }

    /// Whether the program is in Lua.
    pub fn is_lua(&self) -> bool {
        matches!(self.carriers[..], [Carrier::Lua(_), ..])
    }

    /// Counts what was asked since then.
    pub fn note(&mut self, begin: Instant) {
        let nanos = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.last = SimDuration::from_nanos(nanos);
        self.run.nanos.fetch_add(nanos, Ordering::Relaxed);
        self.run.lines.fetch_add(1, Ordering::Relaxed);
    }

    /// What is wrong with an answer.
    pub fn wrong(&self, why: &str, expected: &str) -> String {
        format!("{}: {why} (expected {expected})", self.name)
    }

    /// What the program answers to a message, and both lines.
    #[allow(
        clippy::disallowed_methods,
        reason = "how long answers take stands under host"
    )]
    pub fn ask<A: DeserializeOwned>(
        &mut self,
        message: &impl Serialize,
        expected: &str,
    ) -> Result<(A, [String; 2]), String> {
        let mut line = serde_json::to_string(message).map_err(|why| why.to_string())?;
        line.push('\n');
        let begin = Instant::now();
        let asked = self.carriers.iter_mut().map(|it| it.ask(&line));
        let answers: Result<Vec<String>, String> = asked.collect();
        self.note(begin);
        let mut answers =
            answers.map_err(|why| self.refused(&why, &[line.clone(), String::new()], expected))?;
        if let Some(other) = answers.get(1).filter(|other| **other != answers[0]) {
            let why = format!(
                "asked twice (--check-determinism) it answered once {}",
                shown(other)
            );
            let expected = "the same answer from two programs that were told the same";
            return Err(self.refused(&why, &[line, answers.swap_remove(0)], expected));
        }
        let exchange = [line, answers.swap_remove(0)];
        match serde_json::from_str(&exchange[1]) {
            Ok(answer) => Ok((answer, exchange)),
            Err(_) => Err(self.refused("", &exchange, expected)),
        }
    }

    /// What is wrong with an answer to a line.
    pub fn refused(&self, why: &str, [line, answer]: &[String; 2], expected: &str) -> String {
        if self.is_lua() && answer.is_empty() {
            // It has been told no line.
            return format!("{}: {why}", self.name);
        }
        let answer = match (answer.is_empty(), why.is_empty()) {
            (true, _) => why.to_owned(),
            (false, true) => format!("it answered {}", shown(answer)),
            (false, false) => format!("{why}, once {}", shown(answer)),
        };
        self.wrong(&format!("{answer} to the line {}", shown(line)), expected)
    }
}

/// A line as far as it is shown.
fn shown(line: &str) -> String {
    let line = line.trim_end();
    let mut shown: String = line.chars().take(SHOWN).collect();
    if shown.len() < line.len() {
        shown.push_str("...");
    }
    let shown = shown.escape_debug().to_string().replace("\\\"", "\"");
    format!("`{shown}`")
}
