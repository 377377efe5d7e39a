//! Jobs on other outlets than our own: nobody tells the player of them, so it
//! puts together what their submission said and what LRMSs have written.

use super::book::Book;
use super::lane::{Answered, Told};
use crate::sighting::Sighting;
use gridrig_core::event::{Event, EventKind, EventSink, Party};
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::{Entry, Reason};
use gridrig_core::message::{EndState, JobEnd};
use gridrig_core::time::{SimDuration, SimTime};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What there is to know of a run's jobs on other outlets than our own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// Jobs that went to such an outlet.
    pub submitted: usize,
    /// Jobs that it has taken.
    pub taken: usize,
    /// Jobs whose submission failed, and why.
    pub refused: BTreeMap<JobId, String>,
    /// Jobs that had to wait until the outlet had a hand free.
    pub waited: usize,
    /// Jobs that were taken and never seen in an LRMS.
    pub not_placed: BTreeSet<JobId>,
}

impl Unseen {
    /// That no submission has worked, if there were any.
    #[must_use]
    pub fn none_worked(&self) -> Option<String> {
        let (job, why) = self.refused.first_key_value()?;
        let all = self.submitted;
        (self.taken == 0)
            .then(|| format!("none of {all} submissions worked, the first, of {job}: {why}"))
    }
}

/// What is known of one such job that has not ended.
#[derive(Debug, Default)]
pub(super) struct Unplaced {
    /// When the outlet answered, and how.
    answer: Option<(SimTime, Option<String>)>,
    /// How it ended, as the broker that took it says, and when that was said.
    told: Option<(SimTime, JobEnd)>,
    /// Whether it is over, by where it is and what it is called there.
    lives: BTreeMap<(ClusterId, JobId), Option<(EndState, SimTime)>>,
}

/// How long after the last word on a job another may come: logs are looked at
/// a few times a second. Wall time.
const GRACE: Duration = Duration::from_secs(2);

/// What is to be done about a job.
enum Verdict {
    Wait,
    Over(JobEnd),
    /// No LRMS has had it, and its broker says how it ended.
    Told(JobEnd),
    GiveUp(Reason, String),
}

impl Book<'_> {
    /// An outlet has answered.
    pub(super) fn answered(&mut self, answer: Answered) {
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
    pub(super) fn told(&mut self, told: &Told) {
        let now = self.config.clock.now();
        self.last_news = now;
        let Some(end) = told.end else { return };
        if let Some(unplaced) = self.unplaced(told.job) {
            unplaced.told = Some((now, end));
        }
        self.look_at(told.job);
    }

    /// An LRMS has written of a job.
    pub(super) fn sighted(&mut self, sighting: &Sighting) {
        self.last_news = self.config.clock.now();
        let place = (sighting.cluster, sighting.local);
        let ended = sighting.ended.map(|ending| (ending, sighting.at));
        if let Some(unplaced) = self.unplaced(sighting.job) {
            unplaced.lives.insert(place, ended);
        }
        self.look_at(sighting.job);
    }

    /// Looks at all jobs of other outlets: some are over because nothing more
    /// has come. `all_sent` says that the whole workload has been handed over.
    pub(super) fn review(&mut self, all_sent: bool) {
        let unplaced = |open: &super::book::Open| open.unplaced.is_some();
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
        let waiting = self.open.values().filter_map(|open| open.unplaced.as_ref());
        let goes_on = |unplaced: &Unplaced| {
            unplaced.answer.is_none() || unplaced.lives.values().any(Option::is_none)
        };
        if waiting.into_iter().any(goes_on) {
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
        let Some(unplaced) = self.unplaced(job) else {
            return;
        };
        match unplaced.verdict(job, now, grace, has_logs) {
            Verdict::Wait => {}
            Verdict::Over(end) => self.over(end),
            Verdict::Told(end) => self.ended_unseen(end),
            Verdict::GiveUp(reason, why) => self.give_up(job, reason, why),
        }
        // Nobody looks further: that it was taken is all there is to know.
        let taken = |open: &super::book::Open| {
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
        let by = match open.submission.entry {
            Entry::Domain(domain) => Party::Broker(domain),
            Entry::Cluster(cluster) => Party::Lrms(cluster),
        };
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
        self.recorder.emit(now, event);
        let by = Party::Client;
        self.recorder
            .emit(now, Event::new(EventKind::FinishSeen, job, by));
        self.over(end);
    }
}

impl Unplaced {
    fn verdict(&self, job: JobId, now: SimTime, grace: SimDuration, has_logs: bool) -> Verdict {
        let Some((answered, why)) = &self.answer else {
            return Verdict::Wait;
        };
        let end = |state, cluster, finish| JobEnd {
            job,
            state,
            cluster: Some(cluster),
            start: None,
            finish: Some(finish),
        };
        let completed = self.lives.iter().find_map(|((cluster, _), life)| {
            life.and_then(|(state, at)| (state == EndState::Completed).then_some((*cluster, at)))
        });
        if let Some((cluster, at)) = completed {
            return Verdict::Over(end(EndState::Completed, cluster, at));
        }
        if self.lives.values().any(Option::is_none) {
            return Verdict::Wait;
        }
        let last = self.lives.iter().filter_map(|((cluster, _), life)| {
            let (state, at) = (*life)?;
            Some((at, *cluster, state))
        });
        let last = last.max_by_key(|(at, ..)| *at);
        let since = last.map_or(*answered, |(at, ..)| at.max(*answered));
        let since = self.told.map_or(since, |(at, _)| at.max(since));
        // What a broker calls completed has to be in a log.
        let told = self.told.map(|(_, end)| end);
        let told = told.filter(|end| !has_logs || end.state != EndState::Completed);
        let quiet = !has_logs || now.since(since) >= grace;
        match (last, why) {
            _ if !quiet => Verdict::Wait,
            (Some((at, cluster, state)), _) => Verdict::Over(end(state, cluster, at)),
            (None, Some(why)) => Verdict::GiveUp(Reason::SubmitFailed, why.clone()),
            (None, None) => told.map_or(Verdict::Wait, Verdict::Told),
        }
    }
}
