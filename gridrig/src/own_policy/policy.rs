//! A forwarding policy of the user's own.

use super::dialogue::Dialogue;
use super::{IDLE_CYCLES, OwnRun, wire};
use crate::exit::Failure;
use crate::scenario::document::Own;
use gridrig_core::grid::Grid;
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::job::{JobRequest, Reason};
use gridrig_core::message::JobEnd;
use gridrig_core::policy::{Candidate, Choice, Policy, Queued, Tie, View};
use gridrig_core::time::{SimDuration, SimTime};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The policy of one broker: its program, and what that has said of the queue.
pub(super) struct Asker {
    dialogue: Dialogue,
    candidates: Vec<String>,
    columns: Vec<wire::Column>,
    cycle: u64,
    idle: u32,
    ended: Vec<wire::Ended>,
    /// What becomes of each waiting job.
    choices: BTreeMap<JobId, Choice>,
    /// What has been decided and is known from then on.
    decided: Option<(SimTime, BTreeMap<JobId, Choice>)>,
}

impl Asker {
    /// The policy of this domain's broker; so many programs are to answer alike.
    pub fn start(
        own: &Own,
        seed: u64,
        (grid, domain): (&Grid, DomainId),
        (run, count): (&Arc<OwnRun>, usize),
    ) -> Result<Self, Failure> {
        let policy = own.name.0.0.clone();
        let candidates = wire::Known::all(grid, domain);
        let names = candidates.iter().map(|it| it.name.clone()).collect();
        let domain = grid.domains[domain.index()].name.clone();
        let name = format!("policy {policy} of domain {domain}");
        let mut dialogue = Dialogue::start(own, name, (seed, &domain), (run, count))?;
        let names_of_columns = wire::COLUMNS.map(|(name, _)| name);
        let hello = wire::Hello {
            protocol: wire::POLICY,
            policy,
            seed,
            domain,
            candidates,
            columns: names_of_columns.to_vec(),
        };
        let wanted = dialogue.greet(&hello, (wire::POLICY, &names_of_columns))?;
        let columns = wire::COLUMNS.into_iter().zip(wanted);
        let columns = columns.filter_map(|(column, wanted)| wanted.then_some(column));
        Ok(Asker {
            dialogue,
            candidates: names,
            columns: columns.collect(),
            cycle: 0,
            idle: 0,
            ended: Vec::new(),
            choices: BTreeMap::new(),
            decided: None,
        })
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
        let asked = self.dialogue.ask::<wire::CycleAnswer>(&message, &expected);
        let (wire::CycleAnswer { answers }, exchange) = asked?;
        let refused = |why: &str, expected: &str| self.dialogue.refused(why, &exchange, expected);
        if answers.len() != queue.len() {
            let why = format!("it gave {} answers", answers.len());
            return Err(refused(&why, &expected));
        }
        let pairs = (1..).zip(&answers).zip(queue);
        let choices = pairs.map(|((number, answer), queued)| {
            let job = queued.request.id.0;
            let why = || format!("its answer {number} is no candidate of job {job}");
            let choice = self.choice(answer, &queued.possible);
            choice.ok_or_else(|| refused(&why(), &expected))
        });
        let choices: Result<Vec<Choice>, String> = choices.collect();
        let idle = |it: &Candidate| it.queued[0].numerator <= 0 && it.utilization[0].numerator <= 0;
        let holds = |choices: &[Choice]| choices.iter().all(|it| *it == Choice::Hold);
        let waits = choices.as_deref().is_ok_and(holds) && view.candidates.iter().all(idle);
        self.idle = if waits { self.idle + 1 } else { 0 };
        if self.idle == IDLE_CYCLES {
            let why = format!("it has held all jobs in {IDLE_CYCLES} cycles while nothing ran");
            return Err(refused(&why, "a candidate for one of them"));
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
                self.dialogue.run.note_rejected(reject);
                Some(Choice::Reject(Reason::PolicyRejected))
            }
        }
    }
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
        if self.decided.is_none() {
            let decided = match self.dialogue.run.is_broken_off() {
                true => Err(String::new()),
                false => self.decide(now, queue, view),
            };
            let choices = decided.unwrap_or_else(|why| {
                self.dialogue.run.fail(why);
                vec![Choice::Hold; queue.len()]
            });
            let jobs = queue.iter().map(|queued| queued.request.id);
            let known = now + self.dialogue.decision_time();
            self.decided = Some((known, jobs.zip(choices).collect()));
        }
        let known = self.decided.take_if(|(known, _)| *known <= now);
        let mut choices = known.map(|(_, choices)| choices).unwrap_or_default();
        // Those that it does not know of, or who cannot have any more what was chosen then,
        // wait for the next question.
        let mut choice = |queued: &Queued<'_>| match choices.remove(&queued.request.id) {
            Some(Choice::Among(to, _)) if !to.iter().all(|it| queued.possible.contains(it)) => {
                Choice::Hold
            }
            choice => choice.unwrap_or(Choice::Hold),
        };
        let all = queue.iter().map(|it| (it.request.id, choice(it)));
        self.choices = all.collect();
    }

    fn note_end(&mut self, index: usize, _: (SimDuration, SimTime), end: &JobEnd) {
        self.ended.push(wire::Ended::new(index, end));
    }
}
