//! A scheduling discipline of the user's own.

use super::dialogue::Dialogue;
use super::lua::told;
use super::wire::{self, PassAnswer, Runs, Waits};
use super::{IDLE_CYCLES, OwnRun};
use crate::exit::Failure;
use crate::scenario::document::Own;
use gridrig_core::discipline::{Outlook, PlannedStart, Planner, Promises};
use gridrig_core::grid::GridCluster;
use gridrig_core::ids::{IdMap, JobId};
use gridrig_core::plan::Waiting;
use gridrig_core::time::SimTime;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

const EXPECTED: &str = "{\"start\":[...]} with numbers of jobs that wait, each once, and at most \
                        \"wakeup_s\", after now_s, beside it";
const EXPECTED_OF_LUA: &str = "a list of numbers of jobs that wait, each once, and at most one \
                               more value: an instant after now_s";

/// The discipline of one cluster: its program, and what that has said in this pass.
pub(super) struct Scheduler {
    dialogue: Dialogue,
    waiting: bool,
    running: bool,
    pass: u64,
    idle: u32,
    /// Who is to be started, in this order.
    starts: VecDeque<Waiting>,
    /// Who has started since the program was asked, by arrival.
    started: Vec<u64>,
    wakeup: Option<SimTime>,
    /// Who starts from then on, by what has been decided before.
    decided: Option<(SimTime, VecDeque<Waiting>)>,
    promises: Promises,
}

impl Scheduler {
    /// The discipline of a cluster; so many programs are to answer alike.
    pub fn start(
        own: &Own,
        seed: u64,
        cluster: &GridCluster,
        (run, count): (&Arc<OwnRun>, usize),
    ) -> Result<Self, Failure> {
        let discipline = own.name.0.0.clone();
        let name = format!("discipline {discipline} of cluster {}", cluster.name);
        let mut dialogue = Dialogue::start(own, name, (seed, &cluster.name), (run, count))?;
        let hello = wire::DisciplineHello {
            protocol: wire::DISCIPLINE,
            discipline,
            seed,
            cluster: wire::Known::cluster(cluster),
            columns: wire::LISTS.to_vec(),
        };
        let wanted = dialogue.greet(&hello, (wire::DISCIPLINE, &wire::LISTS))?;
        Ok(Scheduler {
            dialogue,
            waiting: wanted[0],
            running: wanted[1],
            pass: 0,
            idle: 0,
            starts: VecDeque::new(),
            started: Vec::new(),
            wakeup: None,
            decided: None,
            promises: Promises::default(),
        })
    }

    /// What the program says of a pass.
    #[allow(
        clippy::disallowed_methods,
        reason = "how long answers take stands under host"
    )]
    fn answer(&mut self, outlook: &Outlook<'_>) -> Result<PassAnswer, String> {
        self.pass += 1;
        if let Some(scripts) = self.dialogue.scripts() {
            let (now, started) = ((self.pass, self.running), &self.started);
            let begin = Instant::now();
            let answers = scripts.into_iter().map(|it| it.pass(outlook, now, started));
            let answers: mlua::Result<Vec<PassAnswer>> = answers.collect();
            self.started.clear();
            self.dialogue.note(begin);
            let mut answers = answers.map_err(|why| self.wrong(&told(&why), outlook))?;
            let answer = answers.swap_remove(0);
            return match answers.first().is_none_or(|other| *other == answer) {
                true => Ok(answer),
                false => Err(self.wrong("asked twice it gave two answers", outlook)),
            };
        }
        self.started.clear();
        let waiting = outlook.backlog.waiting_from(0).map(Waits::from);
        let running = outlook.calendar.running();
        let message = wire::Pass {
            pass: self.pass,
            now_s: outlook.now.as_secs_f64(),
            free: outlook.nodes.free_processors(),
            waiting: self.waiting.then(|| waiting.collect()),
            running: self.running.then(|| running.map(Runs::from).collect()),
        };
        let asked = self.dialogue.ask::<PassAnswer>(&message, EXPECTED);
        asked.map(|(answer, _)| answer)
    }

    /// What is wrong with an answer in this pass.
    fn wrong(&self, why: &str, outlook: &Outlook<'_>) -> String {
        let (pass, now) = (self.pass, outlook.now.as_secs_f64());
        let why = format!("pass {pass}, at {now} s: {why}");
        let expected = match self.dialogue.is_lua() {
            true => EXPECTED_OF_LUA,
            false => EXPECTED,
        };
        self.dialogue.wrong(&why, expected)
    }

    /// Takes what the program wants in this pass.
    fn take(&mut self, answer: PassAnswer, outlook: &mut Outlook<'_>) -> Result<(), String> {
        let mut wanted: IdMap<Option<Waiting>> =
            answer.start.iter().map(|job| (JobId(*job), None)).collect();
        let mut missing = wanted.len();
        for job in outlook.backlog.waiting_from(0) {
            if missing == 0 {
                break;
            }
            if let Some(found) = wanted.get_mut(&job.job) {
                *found = Some(*job);
                missing -= 1;
            }
        }
        for job in answer.start {
            let found = wanted.get_mut(&JobId(job)).and_then(Option::take);
            let why = || format!("it starts job {job}, which is not waiting or was named before");
            let job = found.ok_or_else(|| self.wrong(&why(), outlook))?;
            self.starts.push_back(job);
        }
        if let Some(at) = answer.wakeup_s {
            let nanos = (at * 1e9).round();
            let known = (0.0..9e18).contains(&nanos);
            let wakeup = known.then(|| SimTime::from_nanos(nanos as u64));
            let later = wakeup.filter(|wakeup| *wakeup > outlook.now);
            let why = || format!("it asks for a pass at {at} s");
            self.wakeup = Some(later.ok_or_else(|| self.wrong(&why(), outlook))?);
        }
        self.goes_on(outlook)
    }

    /// Refuses what would go on for ever, or never.
    fn goes_on(&mut self, outlook: &mut Outlook<'_>) -> Result<(), String> {
        if !self.starts.is_empty() || outlook.calendar.running().next().is_some() {
            self.idle = 0;
            return Ok(());
        }
        self.idle += 1;
        let backlog = outlook.backlog;
        let mut waiting = backlog.waiting_from(0);
        let fits = waiting.find(|job| outlook.fit_now(None, job).is_some());
        let (Some(job), true) = (fits, self.wakeup.is_none() || self.idle >= IDLE_CYCLES) else {
            return Ok(());
        };
        let why = match self.wakeup {
            None => format!("nothing runs, job {} fits and is not started", job.job.0),
            Some(_) => format!("it has started nothing in {IDLE_CYCLES} passes"),
        };
        Err(self.wrong(&why, outlook))
    }
}

impl From<((SimTime, JobId), u32)> for Runs {
    fn from(((end, job), processors): ((SimTime, JobId), u32)) -> Self {
        Runs {
            job: job.0,
            processors,
            expected_end_s: end.as_secs_f64(),
        }
    }
}

impl Planner for Scheduler {
    fn begin(&mut self, outlook: &mut Outlook<'_>) {
        self.starts.clear();
        self.wakeup = None;
        if outlook.backlog.waiting() == 0 || self.dialogue.run.is_broken_off() {
            return;
        }
        if self.decided.is_none() {
            let answer = self.answer(outlook);
            if let Err(why) = answer.and_then(|answer| self.take(answer, outlook)) {
                self.starts.clear();
                self.dialogue.run.fail(why);
            }
            let takes = self.dialogue.decision_time();
            if !takes.is_zero() && !self.starts.is_empty() {
                let starts = std::mem::take(&mut self.starts);
                self.decided = Some((outlook.now + takes, starts));
            }
        }
        let Some((known, starts)) = &mut self.decided else {
            return;
        };
        if *known > outlook.now {
            self.wakeup = Some(*known);
            return;
        }
        let waits = |job: &Waiting| outlook.backlog.waits(job.arrival);
        self.starts = std::mem::take(starts).into_iter().filter(waits).collect();
        self.decided = None;
        // What has come meanwhile is asked about.
        self.wakeup = Some(outlook.now.after());
    }

    fn next_start(&mut self, outlook: &mut Outlook<'_>) -> Option<PlannedStart> {
        while let Some(job) = self.starts.pop_front() {
            // Who does not fit, beside those before it, goes on waiting.
            let start = outlook.fit_now(None, &job);
            if start.is_some() {
                self.started.push(job.arrival);
                return start;
            }
        }
        None
    }

    fn promises(&mut self) -> &mut Promises {
        &mut self.promises
    }

    fn wakeup(&self, _outlook: &Outlook<'_>) -> Option<SimTime> {
        self.wakeup
    }
}
