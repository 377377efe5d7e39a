//! Jobs that go to services that are not ours: nobody tells the client of their
//! ends, so it puts together what their submission said, what their broker says
//! where it can be asked, and what LRMSs have written.

use super::attempts::{Attempt, Attempts, Observation, Place};
use super::{ClientAgent, ClientSetup, GivenUp, Open};
use crate::agent::{Cx, Handle};
use crate::conversation::{FromClient, ToEntry};
use crate::event::{Event, EventKind, Party};
use crate::ids::JobId;
use crate::job::{Entry, Reason};
use crate::message::{EndState, JobEnd};
use crate::time::{SimDuration, SimTime, WallTime};
use std::collections::{BTreeMap, VecDeque};

/// How long after the last word on a job another may come: logs are looked at
/// a few times a second.
const GRACE: SimDuration = SimDuration::from_secs(2);
/// Time between two looks at all jobs: some are over because nothing more has
/// come.
const REVIEW_EVERY: SimDuration = SimDuration::from_millis(250);
/// Time between two rounds of questions about all jobs of a broker.
const ASK_EVERY: SimDuration = SimDuration::from_millis(500);

/// A broker says how a job stands that it has taken ([`ToEntry::Query`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stands {
    /// Which broker.
    pub by: Entry,
    /// The job.
    pub job: JobId,
    /// How it ended; `None` if it has not.
    pub end: Option<JobEnd>,
}

/// All logs of LRMSs are read to their ends: what is known now of the jobs in
/// them, and in none of them, is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LogsRead;

/// What is known of the jobs that go elsewhere.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    /// Those who can be asked how jobs stand, with the questions of a round.
    pub rounds: BTreeMap<Entry, Round>,
    has_logs: bool,
    lost_after: SimDuration,
    /// When there was last anything new of a job.
    last_news: WallTime,
    pub review_at: Option<WallTime>,
    /// What LRMSs have written.
    attempts: BTreeMap<JobId, Attempts>,
    /// What is to be told of jobs, with its instant, unless an LRMS has had them:
    /// that is known when all logs are read to their ends.
    pub verdicts: BTreeMap<JobId, (SimTime, Event<'static>)>,
}

impl Elsewhere {
    /// Of a client that has such jobs, or has not.
    pub fn new(setup: &ClientSetup, has_jobs: bool) -> Self {
        let first = || Round {
            left: VecDeque::new(),
            begins: Some(WallTime::ZERO),
        };
        let answering = setup.answering.iter();
        Elsewhere {
            rounds: answering.map(|at| (*at, first())).collect(),
            has_logs: setup.has_logs,
            lost_after: setup.lost_after,
            review_at: has_jobs.then_some(WallTime::ZERO),
            ..Elsewhere::default()
        }
    }
}

/// Questions about jobs, one after the other.
#[derive(Debug)]
pub(super) struct Round {
    left: VecDeque<JobId>,
    /// When the next one begins; `None` while a question is under way.
    pub begins: Option<WallTime>,
}

/// What is known of one such job that has not ended.
#[derive(Debug, Default)]
pub(super) struct Unplaced {
    /// When its submission was answered, and whether it was taken.
    answer: Option<(WallTime, bool)>,
    /// How it ended, as the broker that took it says, and when that was said.
    told: Option<(WallTime, JobEnd)>,
}

/// What is to be done about a job.
enum Verdict {
    Wait,
    Over(JobEnd),
    /// No LRMS has had it, and its broker says how it ended.
    Told(JobEnd),
    NotTaken,
}

impl Unplaced {
    /// Whether it is with a broker that has not said how it ended.
    pub fn is_there(&self) -> bool {
        self.told.is_none() && self.is_taken()
    }

    fn is_taken(&self) -> bool {
        matches!(self.answer, Some((_, true)))
    }

    /// What is to be done about the job, which LRMSs have had so, now.
    fn verdict(
        &self,
        job: JobId,
        attempts: Option<&Attempts>,
        now: WallTime,
        has_logs: bool,
    ) -> Verdict {
        let Some((answered, taken)) = self.answer else {
            return Verdict::Wait;
        };
        let counts = attempts.and_then(Attempt::that_counts);
        let over = counts.and_then(|((cluster, _), attempt)| {
            let (at, state) = attempt.end?;
            Some(JobEnd {
                cluster: Some(cluster),
                finish: Some(at),
                ..JobEnd::without_run(job, state)
            })
        });
        if let Some(end) = over.filter(|end| end.state == EndState::Completed) {
            return Verdict::Over(end);
        }
        let mut last = answered;
        for attempt in attempts.into_iter().flat_map(BTreeMap::values) {
            match attempt.end {
                Some(_) => last = last.max(attempt.heard),
                None => return Verdict::Wait,
            }
        }
        let last = self.told.map_or(last, |(at, _)| at.max(last));
        // What a broker calls completed has to be in a log.
        let told = self.told.map(|(_, end)| end);
        let told = told.filter(|end| !has_logs || end.state != EndState::Completed);
        match over {
            _ if has_logs && now < last + GRACE => Verdict::Wait,
            Some(end) => Verdict::Over(end),
            None if !taken => Verdict::NotTaken,
            None => told.map_or(Verdict::Wait, Verdict::Told),
        }
    }
}

impl Handle<Stands> for ClientAgent {
    type Answer = ();

    /// While a broker says that a job waits, nobody gives the job up.
    fn handle(&mut self, cx: &mut impl Cx<FromClient>, Stands { by, job, end }: Stands) {
        let now = cx.wall();
        self.elsewhere.last_news = now;
        if let (Some(unplaced), Some(end)) = (self.unplaced(job), end) {
            unplaced.told = Some((now, end));
            self.look_at(cx, job);
        }
        self.ask_next(cx, by);
    }
}

impl Handle<Observation> for ClientAgent {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<FromClient>, seen: Observation) {
        let now = cx.wall();
        self.elsewhere.last_news = now;
        let attempts = self.elsewhere.attempts.entry(seen.job).or_default();
        Attempt::note(attempts, &seen, now);
        self.look_at(cx, seen.job);
    }
}

impl Handle<LogsRead> for ClientAgent {
    type Answer = ();

    /// Ends in the logs were seen as soon as they were written.
    fn handle(&mut self, cx: &mut impl Cx<FromClient>, _read: LogsRead) {
        let seen = |job| Event::new(EventKind::FinishSeen, job, Party::Client);
        let (attempts, verdicts) = (&self.elsewhere.attempts, &self.elsewhere.verdicts);
        for (job, attempts) in attempts {
            let counts = Attempt::that_counts(attempts);
            if let Some(at) = counts.and_then(|(_, attempt)| attempt.unseen_end()) {
                cx.emit(at, seen(*job));
            }
        }
        for (job, (at, event)) in verdicts {
            if !attempts.contains_key(job) {
                cx.emit(*at, *event);
                if event.kind.is_terminal() {
                    cx.emit(*at, seen(*job));
                }
            }
        }
    }
}

impl ClientAgent {
    /// Whoever takes jobs there has taken one, or has not.
    pub(super) fn answered(&mut self, cx: &mut impl Cx<FromClient>, job: JobId, taken: bool) {
        let now = cx.wall();
        self.elsewhere.last_news = now;
        if let Some(unplaced) = self.unplaced(job) {
            unplaced.answer = Some((now, taken));
        }
        self.look_at(cx, job);
    }

    /// A new round of questions to a broker.
    pub(super) fn ask_round(&mut self, cx: &mut impl Cx<FromClient>, by: Entry) {
        let there = self.open.iter().filter(|(_, open)| {
            open.submission.entry == by && open.unplaced.as_ref().is_some_and(Unplaced::is_there)
        });
        let left = there.map(|(job, _)| *job).collect();
        let round = Round { left, begins: None };
        self.elsewhere.rounds.insert(by, round);
        self.ask_next(cx, by);
    }

    fn ask_next(&mut self, cx: &mut impl Cx<FromClient>, by: Entry) {
        let Some(round) = self.elsewhere.rounds.get_mut(&by) else {
            return;
        };
        while let Some(job) = round.left.pop_front() {
            if self.open.contains_key(&job) {
                return self.say(cx, by, cx.now(), ToEntry::Query(job));
            }
        }
        self.end_round(cx.wall(), by);
    }

    /// All questions are asked, or the broker does not answer.
    pub(super) fn end_round(&mut self, now: WallTime, by: Entry) {
        let (left, begins) = (VecDeque::new(), Some(now + ASK_EVERY));
        self.elsewhere.rounds.insert(by, Round { left, begins });
    }

    /// Looks at all jobs elsewhere. When the whole workload has been handed over
    /// and there is nothing new for long, those are given up that are nowhere.
    pub(super) fn review(&mut self, cx: &mut impl Cx<FromClient>) {
        let now = cx.wall();
        self.elsewhere.review_at = Some(now + REVIEW_EVERY);
        let open = self.open.iter().filter(|(_, open)| open.unplaced.is_some());
        let jobs: Vec<JobId> = open.map(|(job, _)| *job).collect();
        for job in &jobs {
            self.look_at(cx, *job);
        }
        let elsewhere = &self.elsewhere;
        let is_quiet = elsewhere.last_news + elsewhere.lost_after <= now;
        if self.submitter.remaining() > 0 || !is_quiet {
            return;
        }
        let runs = |job: &JobId| {
            let attempts = elsewhere.attempts.get(job);
            attempts.is_some_and(|all| all.values().any(|one| one.end.is_none()))
        };
        let goes_on = |(job, open): (&JobId, &Open)| {
            let unplaced = open.unplaced.as_ref();
            unplaced.is_some_and(|unplaced| unplaced.answer.is_none() || runs(job))
        };
        if self.open.iter().any(goes_on) {
            return;
        }
        for job in jobs {
            self.give_up(cx, job, GivenUp::NotPlaced, Reason::NotPlaced);
        }
    }

    /// Jobs that were in LRMSs more than once, where each attempt was that does
    /// not count.
    pub fn repeated(&self) -> impl Iterator<Item = (Place, JobId)> {
        let all = self.elsewhere.attempts.iter();
        all.flat_map(|(job, attempts)| {
            let counts = Attempt::that_counts(attempts).map(|(place, _)| place);
            let others = attempts.keys().filter(move |place| Some(**place) != counts);
            others.map(|place| (*place, *job))
        })
    }

    fn unplaced(&mut self, job: JobId) -> Option<&mut Unplaced> {
        self.open.get_mut(&job)?.unplaced.as_mut()
    }

    fn look_at(&mut self, cx: &mut impl Cx<FromClient>, job: JobId) {
        let has_logs = self.elsewhere.has_logs;
        let Some(open) = self.open.get(&job) else {
            return;
        };
        let Some(unplaced) = &open.unplaced else {
            return;
        };
        let attempts = self.elsewhere.attempts.get(&job);
        // Nobody looks further: that it was taken is all there is to know.
        let is_all = !has_logs
            && unplaced.is_taken()
            && !self.elsewhere.rounds.contains_key(&open.submission.entry);
        match unplaced.verdict(job, attempts, cx.wall(), has_logs) {
            Verdict::Wait if is_all => drop(self.open.remove(&job)),
            Verdict::Wait => {}
            Verdict::Over(end) => self.over(end),
            Verdict::Told(end) => self.ended_unseen(cx, end),
            Verdict::NotTaken => self.give_up(cx, job, GivenUp::NotTaken, Reason::SubmitFailed),
        }
    }

    fn over(&mut self, end: JobEnd) {
        self.open.remove(&end.job);
        self.ends.insert(end.job, end);
    }

    /// A job never got to an LRMS, and its broker says what became of it: it
    /// is entered in the broker's name, which does not write this log.
    fn ended_unseen(&mut self, cx: &mut impl Cx<FromClient>, end: JobEnd) {
        let Some(open) = self.open.get(&end.job) else {
            return;
        };
        let (job, by) = (end.job, open.submission.entry);
        let event = match end.state {
            EndState::Rejected(reason) => Event::new(EventKind::Rejected, job, by).because(reason),
            EndState::Cancelled => Event::new(EventKind::Cancelled, job, by),
            // Without LRMSs to look at, what the broker says is all there is.
            EndState::Completed => return self.over(end),
            EndState::Failed(reason) => return self.give_up(cx, job, GivenUp::Failed, reason),
        };
        self.elsewhere.verdicts.insert(job, (cx.now(), event));
        self.over(end);
    }
}
