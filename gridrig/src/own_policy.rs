//! Forwarding policies of the user's own: a program for each broker, which is asked
//! about the whole queue in every cycle (docs/own-policy.md).

mod program;
mod wire;

pub use wire::Messages;

use crate::exit::Failure;
use crate::scenario::Scenario;
use crate::scenario::document::OwnPolicy;
use crate::words::{hex, many};
use anyhow::{Context as _, bail};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::job::{JobRequest, Reason};
use gridrig_core::message::JobEnd;
use gridrig_core::policy::{Candidate, Choice, Door, Policy, PolicySpec, Queued, Tie, View};
use gridrig_core::time::SimTime;
use parking_lot::Mutex;
use program::Program;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use wire::PROTOCOL;

/// What is shown of a line in a message, in characters.
const SHOWN: usize = 300;
/// Different words of rejections that are kept apart.
const KINDS: usize = 20;
/// Cycles in which everything is held while no candidate has anything to do.
const IDLE_CYCLES: u32 = 100_000;

/// What the brokers of one run have to do with their programs.
#[derive(Default)]
pub struct OwnRun {
    failure: OnceLock<String>,
    /// Whether there is a failure.
    pub broken_off: AtomicBool,
    /// SHA-256 of each file among the words of the program.
    pub files: BTreeMap<String, String>,
    lines: AtomicU64,
    nanos: AtomicU64,
    /// Jobs that were turned away, by the words for it.
    rejected: Mutex<BTreeMap<String, u64>>,
}

/// Refuses a policy of the user's own where no run asks its program.
///
/// # Errors
/// An input error, if it is one.
pub fn refuse(policy: Option<&PolicySpec>, who: &str) -> anyhow::Result<()> {
    match policy.filter(|policy| policy.is_own()) {
        Some(own) => bail!(
            "policy {own}: {who} asks no program of the user's (expected `gridrig run`, or a \
             policy without exec)"
        ),
        None => Ok(()),
    }
}

/// Starts the programs of a policy, if it is the user's own, and gives one to each broker
/// of the grid; two where every line is to be answered twice.
///
/// # Errors
/// When one cannot be started, or says in the beginning what is no answer.
pub fn start(
    scenario: &Scenario,
    policy: Option<&PolicySpec>,
    grid: &mut Grid,
    twice: bool,
) -> Result<Option<Arc<OwnRun>>, Failure> {
    let own = policy
        .filter(|policy| policy.is_own())
        .map(PolicySpec::to_string);
    let Some(own) = own.and_then(|name| scenario.own_policies.get(&name)) else {
        return Ok(None);
    };
    let mut files = BTreeMap::new();
    for word in own.exec.0.iter().filter(|word| Path::new(word).is_file()) {
        let read = std::fs::read(word).with_context(|| word.clone())?;
        files.insert(word.clone(), hex(Sha256::digest(read)));
    }
    let run = Arc::new(OwnRun {
        files,
        ..OwnRun::default()
    });
    for index in 0..grid.domains.len() {
        let domain = DomainId(index as u16);
        let asker = Asker::start(
            own,
            scenario.seed,
            (grid, domain),
            &run,
            1 + usize::from(twice),
        )?;
        let asker = Mutex::new(Some(asker));
        let open = move || -> Box<dyn Policy> {
            Box::new(asker.lock().take().expect("a broker of a run is made once"))
        };
        grid.domains[index].broker.door = Some(Door::new(open));
    }
    Ok(Some(run))
}

impl OwnRun {
    fn fail(&self, why: String) {
        // What follows from the first is not worth a word.
        let _ = self.failure.set(why);
        self.broken_off.store(true, Ordering::Relaxed);
    }

    /// Whether nothing can be asked any more.
    pub fn is_broken_off(&self) -> bool {
        self.broken_off.load(Ordering::Relaxed)
    }

    /// What ended the run, if something has.
    pub fn failure(&self) -> Option<&String> {
        self.failure.get()
    }

    /// What a reader has to know of it.
    pub fn notes(&self) -> Vec<String> {
        let rejected = self.rejected.lock();
        let rejected = rejected.iter().map(|(words, count)| {
            let jobs = many(*count, "job");
            format!("policy-rejected: {jobs} turned away by the policy with the words: {words}")
        });
        let failure = self.failure.get();
        let failure = failure.map(|why| format!("policy-failed: {why}"));
        rejected.chain(failure).collect()
    }

    /// How much it was asked, and how long that took: wall time.
    pub fn asked(&self) -> (u64, f64) {
        let nanos = self.nanos.load(Ordering::Relaxed);
        (self.lines.load(Ordering::Relaxed), nanos as f64 / 1e9)
    }

    fn note_rejected(&self, words: &str) {
        let mut rejected = self.rejected.lock();
        let words: String = words.chars().take(SHOWN).collect();
        let known = rejected.len() < KINDS || rejected.contains_key(&words);
        let words = if known { words } else { "others".to_owned() };
        *rejected.entry(words).or_default() += 1;
    }
}

/// The policy of one broker: its program, and what that has said of the queue.
struct Asker {
    run: Arc<OwnRun>,
    /// The policy and its domain, for messages.
    name: String,
    /// One, or two that are to give the same answers.
    programs: Vec<Program>,
    candidates: Vec<String>,
    columns: Vec<wire::Column>,
    cycle: u64,
    idle: u32,
    ended: Vec<wire::Ended>,
    /// What becomes of each waiting job.
    choices: BTreeMap<JobId, Choice>,
}

impl Asker {
    fn start(
        own: &OwnPolicy,
        seed: u64,
        (grid, domain): (&Grid, DomainId),
        run: &Arc<OwnRun>,
        count: usize,
    ) -> Result<Self, Failure> {
        let policy = own.name.0.0.clone();
        let timeout = own
            .timeout
            .as_ref()
            .map_or(0, |timeout| timeout.0.0.as_nanos());
        let words = &own.exec.0;
        let started = || Program::start(words, Duration::from_nanos(timeout));
        let programs = (0..count).map(|_| started()).collect::<Result<_, _>>();
        let programs = programs.with_context(|| {
            let exec = words.join(" ");
            format!("policy {policy}: exec: `{exec}` cannot be started (expected a program)")
        })?;
        let candidates = wire::Known::all(grid, domain);
        let names = candidates.iter().map(|it| it.name.clone()).collect();
        let domain = grid.domains[domain.index()].name.clone();
        let mut asker = Asker {
            run: Arc::clone(run),
            name: format!("policy {policy} of domain {domain}"),
            programs,
            candidates: names,
            columns: wire::COLUMNS.to_vec(),
            cycle: 0,
            idle: 0,
            ended: Vec::new(),
            choices: BTreeMap::new(),
        };
        let columns = wire::COLUMNS.map(|(name, _)| name).to_vec();
        let hello = wire::Hello {
            protocol: PROTOCOL,
            policy,
            seed,
            domain,
            candidates,
            columns,
        };
        asker
            .greet(&hello)
            .map_err(|why| Failure::Run(anyhow::Error::msg(why)))?;
        Ok(asker)
    }

    fn greet(&mut self, hello: &wire::Hello) -> Result<(), String> {
        let expected = format!(
            "{{\"protocol\":\"{PROTOCOL}\"}}, with \"columns\" out of {} if not all are wanted",
            hello.columns.join(", ")
        );
        let (answer, exchange) = self.ask::<wire::HelloAnswer>(hello, &expected)?;
        let wanted = answer.columns.as_ref();
        let known = wanted
            .into_iter()
            .flatten()
            .find(|it| !hello.columns.contains(&it.as_str()));
        if answer.protocol != PROTOCOL || known.is_some() {
            return Err(self.refused("", &exchange, &expected));
        }
        let wants = |name: &str| wanted.is_none_or(|all| all.iter().any(|it| it == name));
        self.columns.retain(|(name, _)| wants(name));
        Ok(())
    }

    /// What the program answers to a message, and both lines.
    #[allow(
        clippy::disallowed_methods,
        reason = "how long answers take stands under host"
    )]
    fn ask<A: DeserializeOwned>(
        &mut self,
        message: &impl Serialize,
        expected: &str,
    ) -> Result<(A, [String; 2]), String> {
        let mut line = serde_json::to_string(message).map_err(|why| why.to_string())?;
        line.push('\n');
        let begin = Instant::now();
        let asked = self.programs.iter_mut().map(|it| it.ask(line.as_bytes()));
        let answers: Result<Vec<String>, String> = asked.collect();
        let nanos = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.run.nanos.fetch_add(nanos, Ordering::Relaxed);
        self.run.lines.fetch_add(1, Ordering::Relaxed);
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
    fn refused(&self, why: &str, [line, answer]: &[String; 2], expected: &str) -> String {
        let answer = match (answer.is_empty(), why.is_empty()) {
            (true, _) => why.to_owned(),
            (false, true) => format!("it answered {}", shown(answer)),
            (false, false) => format!("{why}, once {}", shown(answer)),
        };
        let (name, line) = (&self.name, shown(line));
        format!("{name}: {answer} to the line {line} (expected {expected})")
    }

    /// What becomes of the waiting jobs, in their order.
    fn decide(
        &mut self,
        now: SimTime,
        queue: &[Queued<'_>],
        view: &View,
    ) -> Result<Vec<Choice>, String> {
        self.cycle += 1;
        let columns = self.columns.iter().map(|(name, of)| {
            let values = view.candidates.iter().map(of);
            (*name, values.collect())
        });
        let message = wire::Cycle {
            cycle: self.cycle,
            now_s: now.as_secs_f64(),
            candidates: columns.collect(),
            requests: queue.iter().map(wire::Request::from).collect(),
            ended: std::mem::take(&mut self.ended),
        };
        let expected = format!(
            "{{\"answers\":[...]}} with {} of: the position or the name of a candidate of the \
             request, \"hold\", {{\"reject\":\"why\"}}",
            queue.len()
        );
        let (answer, exchange) = self.ask::<wire::CycleAnswer>(&message, &expected)?;
        if answer.answers.len() != queue.len() {
            let why = format!("it gave {} answers", answer.answers.len());
            return Err(self.refused(&why, &exchange, &expected));
        }
        let pairs = answer.answers.iter().zip(queue).enumerate();
        let choices: Result<Vec<Choice>, String> = pairs
            .map(|(index, (answer, queued))| {
                let choice = self.choice(answer, &queued.possible);
                choice.ok_or_else(|| {
                    let why = format!(
                        "answer {} of it is no candidate of job {}",
                        index + 1,
                        queued.request.id.0
                    );
                    self.refused(&why, &exchange, &expected)
                })
            })
            .collect();
        let idle = |it: &Candidate| it.queued[0].numerator <= 0 && it.utilization[0].numerator <= 0;
        let holds = |choices: &[Choice]| choices.iter().all(|it| *it == Choice::Hold);
        let waits = choices.as_deref().is_ok_and(holds) && view.candidates.iter().all(idle);
        self.idle = if waits { self.idle + 1 } else { 0 };
        if self.idle == IDLE_CYCLES {
            let why = format!("it has held all jobs in {IDLE_CYCLES} cycles while nothing ran");
            return Err(self.refused(&why, &exchange, "a candidate for one of them"));
        }
        choices
    }

    /// What an answer means; `None` if it names no possible candidate.
    fn choice(&self, answer: &wire::Answer, possible: &[usize]) -> Option<Choice> {
        let to = |index: usize| Choice::Among(vec![index], Tie::First);
        match answer {
            wire::Answer::Index(index) => possible.contains(index).then(|| to(*index)),
            wire::Answer::Name(name) if name == "hold" => Some(Choice::Hold),
            wire::Answer::Name(name) => {
                let mut named = possible.iter().filter(|it| self.candidates[**it] == *name);
                named.next().map(|index| to(*index))
            }
            wire::Answer::Reject { reject } => {
                self.run.note_rejected(reject);
                Some(Choice::Reject(Reason::PolicyRejected))
            }
        }
    }
}

/// A line as far as it is shown.
fn shown(line: &str) -> String {
    let line = line.trim_end();
    let mut shown: String = line.chars().take(SHOWN).collect();
    if shown.len() < line.len() {
        shown.push_str("...");
    }
    format!(
        "`{}`",
        shown.escape_debug().to_string().replace("\\\"", "\"")
    )
}

impl Policy for Asker {
    fn choose(&mut self, request: &JobRequest<'_>, view: &View) -> Choice {
        let choice = self.choices.remove(&request.id);
        // Of those that nobody was asked about, the broker asks who could have them.
        choice.unwrap_or_else(|| Choice::Among(view.possible.clone(), Tie::First))
    }

    fn reads_queue(&self) -> bool {
        true
    }

    fn read_queue(&mut self, now: SimTime, queue: &[Queued<'_>], view: &View) {
        if queue.is_empty() {
            return;
        }
        let decided = match self.run.is_broken_off() {
            true => Err(String::new()),
            false => self.decide(now, queue, view),
        };
        let choices = decided.unwrap_or_else(|why| {
            self.run.fail(why);
            vec![Choice::Hold; queue.len()]
        });
        let jobs = queue.iter().map(|queued| queued.request.id);
        self.choices = jobs.zip(choices).collect();
    }

    fn note_end(&mut self, index: usize, _sent: SimTime, end: &JobEnd) {
        self.ended.push(wire::Ended::new(index, end));
    }
}
