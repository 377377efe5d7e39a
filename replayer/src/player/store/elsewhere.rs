//! Jobs on other outlets than our own: nobody tells the player of them, so it
//! puts together what their submission said and what LRMSs have written.

use super::{JobStore, Open};
use crate::observation::{Attempt, Observation};
use crate::player::sender::{Answered, Told};
use crate::player::unplaced::{GRACE, Unplaced, Verdict};
use gridrig_core::event::{Event, EventKind};
use gridrig_core::ids::JobId;
use gridrig_core::job::{Entry, Reason};
use gridrig_core::message::{EndState, JobEnd};

impl JobStore<'_> {
    /// An outlet has answered.
    pub(in crate::player) fn answered(&mut self, answer: Answered) {
        let Answered {
            job,
            result,
            waited,
        } = answer;
        let unseen = &mut self.played.unseen;
        unseen.submitted += 1;
        unseen.waited += usize::from(waited);
        let why = result.err().map(|error| error.to_string());
        match &why {
            None => unseen.taken += 1,
            Some(why) => {
                tracing::debug!(job = job.0, why, "a submission failed");
                unseen.refused.insert(job, why.clone());
            }
        }
        let now = self.config.clock.now();
        self.last_news = now;
        if let Some(unplaced) = self.unplaced(job) {
            unplaced.answer = Some((now, why));
        }
        self.look_at(job);
    }

    /// The broker that took a job says how it stands. While it says that the
    /// job waits, nobody gives the job up.
    pub(in crate::player) fn told(&mut self, told: &Told) {
        let now = self.config.clock.now();
        self.last_news = now;
        let Some(end) = told.end else { return };
        if let Some(unplaced) = self.unplaced(told.job) {
            unplaced.told = Some((now, end));
        }
        self.look_at(told.job);
    }

    /// An LRMS has written of a job.
    pub(in crate::player) fn observed(&mut self, seen: &Observation) {
        self.last_news = self.config.clock.now();
        Attempt::note(self.attempts.entry(seen.job).or_default(), seen);
        self.look_at(seen.job);
    }

    /// Looks at all jobs of other outlets: some are over because nothing more
    /// has come. `all_sent` says that the whole workload has been handed over.
    pub(in crate::player) fn review(&mut self, all_sent: bool) {
        let unplaced = |open: &Open| open.unplaced.is_some();
        let jobs: Vec<JobId> = self
            .open
            .iter()
            .filter(|(_, open)| unplaced(open))
            .map(|(job, _)| *job)
            .collect();
        for job in &jobs {
            self.look_at(*job);
        }
        let config = self.config;
        let silence = config.clock.now().since(self.last_news);
        if !all_sent || silence < config.clock.run(config.outlets.lost_after) {
            return;
        }
        let runs = |job: &JobId| {
            let attempts = self.attempts.get(job);
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
            let why = "the broker took it, and no LRMS has had it".to_owned();
            if self.open.contains_key(&job) {
                self.played.unseen.not_placed.insert(job);
                self.give_up(job, Reason::NotPlaced, why);
            }
        }
    }

    fn unplaced(&mut self, job: JobId) -> Option<&mut Unplaced> {
        self.open.get_mut(&job)?.unplaced.as_mut()
    }

    fn look_at(&mut self, job: JobId) {
        let config = self.config;
        let (now, grace) = (config.clock.now(), config.clock.run(GRACE));
        let has_logs = !config.outlets.logs.is_empty();
        let unplaced = self.open.get(&job).and_then(|open| open.unplaced.as_ref());
        let Some(unplaced) = unplaced else { return };
        let attempts = self.attempts.get(&job);
        match unplaced.verdict(job, attempts, (now, grace), has_logs) {
            Verdict::Wait => {}
            Verdict::Over(end) => self.over(end),
            Verdict::Told(end) => self.ended_unseen(end),
            Verdict::GiveUp(reason, why) => self.give_up(job, reason, why),
        }
        // Nobody looks further: that it was taken is all there is to know.
        let taken = |open: &Open| {
            let answer = open.unplaced.as_ref().and_then(|u| u.answer.as_ref());
            matches!(answer, Some((_, None)))
        };
        let follows = |entry: &Entry| {
            let way = config.outlets.ways.get(entry);
            way.is_some_and(|outlet| outlet.follows())
        };
        let open = self.open.get(&job).filter(|open| taken(open));
        if !has_logs && open.is_some_and(|open| !follows(&open.submission.entry)) {
            self.open.remove(&job);
        }
    }

    fn over(&mut self, end: JobEnd) {
        if let Some(open) = self.open.remove(&end.job) {
            self.done_with.push((open.submission.entry, end.job, false));
        }
        self.played.ends.insert(end.job, end);
    }

    /// A job never got to an LRMS, and its broker says what became of it: it
    /// is entered in the broker's name, which does not write this log.
    fn ended_unseen(&mut self, end: JobEnd) {
        let Some(open) = self.open.get(&end.job) else {
            return;
        };
        let by = open.submission.entry;
        let (job, now) = (end.job, self.config.clock.now());
        let event = match end.state {
            EndState::Rejected(reason) => Event::new(EventKind::Rejected, job, by).because(reason),
            EndState::Cancelled => Event::new(EventKind::Cancelled, job, by),
            // Without LRMSs to look at, what the broker says is all there is.
            EndState::Completed => return self.over(end),
            EndState::Failed(reason) => {
                let why = "the broker says that it failed".to_owned();
                return self.give_up(job, reason, why);
            }
        };
        self.verdicts.insert(job, (now, event));
        self.over(end);
    }
}
