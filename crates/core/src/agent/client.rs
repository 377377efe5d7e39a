//! A client: hands its jobs over when they are due, and once more to a service
//! that has forgotten them; follows each to its end, or gives it up.

mod attempts;
mod elsewhere;
mod services;
#[cfg(test)]
mod tests;

pub use attempts::{Attempt, Attempts, Observation, Place};
pub use elsewhere::{LogsRead, Stands};
pub use services::{Patience, Published};

use super::{Agent, Cancel, Cx, Due, Freeze, Handle, Participant, SAY_AGAIN};
use crate::conversation::{Arrival, FromClient, ToEntry};
use crate::envelope::{Envelope, EnvelopeId, Fate, Tally, Undelivered};
use crate::event::{Event, EventKind, MessageKind, Party};
use crate::ids::{ClusterId, DomainId, JobId};
use crate::job::{Entry, Reason, Submission};
use crate::message::{EndState, JobEnd};
use crate::submitter::Submitter;
use crate::time::{SimDuration, SimTime, WallTime};
use elsewhere::{Elsewhere, Unplaced};
use services::Service;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How a client is set up.
#[derive(Clone, Debug)]
pub struct ClientSetup {
    /// Name of the run; with where a job enters and its number it makes the
    /// job's key.
    pub run: String,
    /// Services of ours at which jobs enter: they publish the ends of jobs. A
    /// job that enters anywhere else goes to somebody else's broker.
    pub services: BTreeSet<Entry>,
    /// When a service counts as lost.
    pub patience: Patience,
    /// Brokers of others that say how jobs stand when they are asked.
    pub answering: BTreeSet<Entry>,
    /// Whether logs of LRMSs are read for jobs that brokers of others have
    /// brought there. Without, a job counts as done when it has been taken by
    /// somebody who cannot be asked.
    pub has_logs: bool,
    /// Jobs that others have taken and that are in no log are given up when so
    /// much time has passed on the wall without anything new of any job.
    pub lost_after: SimDuration,
}

/// Why a job was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GivenUp {
    /// Nobody has taken it.
    NotTaken,
    /// The service that had it stopped answering.
    ServiceLost,
    /// Its broker took it, and no LRMS has had it.
    NotPlaced,
    /// Its broker says that it failed.
    Failed,
}

/// A client, on links that may fail.
pub struct ClientAgent {
    run: String,
    submitter: Submitter<Arc<[Submission]>>,
    now: SimTime,
    next_id: EnvelopeId,
    services: BTreeMap<Entry, Service>,
    patience: Patience,
    elsewhere: Elsewhere,
    /// Jobs without a known end.
    open: BTreeMap<JobId, Open>,
    ends: BTreeMap<JobId, JobEnd>,
    given_up: Vec<(JobId, GivenUp)>,
    submitted_again: u64,
    /// Requests to remove a job that are made again.
    removals: BTreeSet<(WallTime, JobId)>,
    undelivered: Tally,
    frozen: bool,
}

/// A job that has been handed over.
struct Open {
    submission: Submission,
    /// Whoever it was sent to has it.
    confirmed: bool,
    /// It did not get there, and is to be sent again.
    failed: bool,
    /// It was asked to be removed, and may have been: it is not sent again but
    /// asked for.
    removed: bool,
    /// What is known of a job that goes elsewhere.
    unplaced: Option<Unplaced>,
}

impl ClientAgent {
    /// A client of these jobs, which are sorted by time with rising job ids.
    pub fn new(setup: ClientSetup, submissions: Arc<[Submission]>) -> Self {
        let is_elsewhere = |one: &Submission| !setup.services.contains(&one.entry);
        let services = setup.services.iter();
        ClientAgent {
            services: services.map(|at| (*at, Service::new())).collect(),
            elsewhere: Elsewhere::new(&setup, submissions.iter().any(is_elsewhere)),
            run: setup.run,
            submitter: Submitter::new(submissions),
            now: SimTime::ZERO,
            next_id: EnvelopeId::default(),
            patience: setup.patience,
            open: BTreeMap::new(),
            ends: BTreeMap::new(),
            given_up: Vec::new(),
            submitted_again: 0,
            removals: BTreeSet::new(),
            undelivered: Tally::default(),
            frozen: false,
        }
    }

    /// Whether every job has been handed over, and has ended or been given up.
    pub fn is_done(&self) -> bool {
        self.submitter.remaining() == 0 && self.open.is_empty()
    }

    /// Jobs that were handed over, and have neither ended nor been given up.
    pub fn open(&self) -> impl Iterator<Item = JobId> {
        self.open.keys().copied()
    }

    /// Known ends.
    pub fn ends(&self) -> &BTreeMap<JobId, JobEnd> {
        &self.ends
    }

    /// Jobs that were given up, in order.
    pub fn given_up(&self) -> &[(JobId, GivenUp)] {
        &self.given_up
    }

    /// How often a job was submitted again, beyond the [`Tries`](super::Tries) of
    /// one message.
    pub fn submitted_again(&self) -> u64 {
        self.submitted_again
    }

    fn say(&mut self, cx: &mut impl Cx<FromClient>, to: Entry, due: SimTime, said: ToEntry) {
        cx.send(Envelope {
            id: self.next_id.take(),
            from: Party::Client,
            address: None,
            due,
            message: FromClient { to, said },
        });
    }

    /// A job is sent off, under the key that it always has.
    fn submit(&mut self, cx: &mut impl Cx<FromClient>, submission: &Submission) {
        let (spec, entry) = (&submission.spec, submission.entry);
        let (Entry::Domain(DomainId(origin)) | Entry::Cluster(ClusterId(origin))) = entry;
        let arrival = Arrival {
            key: Some(format!("{}/{origin}/{}/0", self.run, spec.id.0)),
            id: Some(spec.id),
            meant: Some(submission.at),
            sought: self.open.get(&spec.id).is_some_and(|open| open.removed),
            ..Arrival::of(spec.clone())
        };
        self.say(cx, entry, submission.at, ToEntry::Submit(Box::new(arrival)));
    }

    /// Those of a service's jobs are submitted again of which this is true.
    fn submit_again(
        &mut self,
        cx: &mut impl Cx<FromClient>,
        to: Entry,
        which: impl Fn(&Open) -> bool,
    ) {
        let there = self.open.values_mut();
        let there = there.filter(|open| open.submission.entry == to && which(open));
        let again = there.map(|open| {
            (open.confirmed, open.failed) = (false, false);
            open.submission.clone()
        });
        let again: Vec<Submission> = again.collect();
        for submission in &again {
            self.submit(cx, submission);
        }
        self.submitted_again += again.len() as u64;
    }

    /// What has become of a submission.
    fn submitted(
        &mut self,
        cx: &mut impl Cx<FromClient>,
        job: JobId,
        result: Result<(), Undelivered>,
    ) {
        let Some(open) = self.open.get_mut(&job) else {
            return;
        };
        if open.unplaced.is_some() {
            return self.answered(cx, job, result.is_ok());
        }
        let comes_back = !self.patience.comes_back.is_zero();
        match result {
            Ok(()) => open.confirmed = true,
            // The service that turned it away has told its own log. One
            // that is restarted would turn it away once more.
            Err(Undelivered::Declined(Some(reason))) => {
                self.open.remove(&job);
                let end = JobEnd::without_run(job, EndState::Rejected(reason));
                self.ends.insert(job, end);
            }
            // Nobody knows any more whether it was removed.
            Err(Undelivered::Declined(None)) if open.removed => {
                self.give_up(cx, job, GivenUp::ServiceLost, Reason::Lost);
            }
            Err(error) if error.is_passing() && comes_back => open.failed = true,
            Err(_) => {
                self.undelivered.count(MessageKind::Submit);
                self.give_up(cx, job, GivenUp::NotTaken, Reason::Lost);
            }
        }
    }

    /// Whoever has a job tells its end: the client has those only that nobody has
    /// taken.
    fn give_up(&mut self, cx: &mut impl Cx<FromClient>, job: JobId, why: GivenUp, reason: Reason) {
        let Some(open) = self.open.remove(&job) else {
            return;
        };
        let (now, entry) = (cx.now(), open.submission.entry);
        let event = match reason {
            Reason::Lost | Reason::NotPlaced => {
                Event::new(EventKind::LostTouch, job, Party::Client).to(entry)
            }
            _ => Event::new(EventKind::Failed, job, Party::Client),
        };
        let event = event.because(reason);
        match open.unplaced {
            Some(unplaced) => {
                self.elsewhere.verdicts.insert(job, (now, event));
                self.remove_from(cx, entry, job, &unplaced);
            }
            None => cx.emit(now, event),
        }
        self.given_up.push((job, why));
    }

    /// A job that goes on all the same is removed where that can be asked for.
    fn remove_from(
        &mut self,
        cx: &mut impl Cx<FromClient>,
        entry: Entry,
        job: JobId,
        unplaced: &Unplaced,
    ) {
        if unplaced.is_there() && self.elsewhere.rounds.contains_key(&entry) {
            self.say(cx, entry, cx.now(), ToEntry::Cancel(job));
        }
    }

    /// Entries whose timer, which `timer` tells, is due.
    fn due<T>(
        all: &BTreeMap<Entry, T>,
        now: WallTime,
        timer: impl Fn(&T) -> Option<WallTime>,
    ) -> Vec<Entry> {
        let due = |one: &T| timer(one).is_some_and(|at| at <= now);
        let due = all.iter().filter(|(_, one)| due(one));
        due.map(|(entry, _)| *entry).collect()
    }
}

impl Participant for ClientAgent {
    type Sends = FromClient;

    /// When the next job is to be handed over.
    fn next_due(&self) -> Option<SimTime> {
        self.submitter.poll_timeout().filter(|_| !self.frozen)
    }
}

impl Agent for ClientAgent {
    fn now(&self) -> SimTime {
        self.now
    }

    fn next_wall_due(&self) -> Option<WallTime> {
        let services = self.services.values().filter_map(|one| one.ask_at);
        let rounds = self.elsewhere.rounds.values();
        let rounds = rounds.filter_map(|round| round.begins);
        let removals = self.removals.first().map(|(at, _)| *at);
        let others = removals.into_iter().chain(self.elsewhere.review_at);
        let first = services.chain(rounds).chain(others).min();
        first.filter(|_| !self.frozen)
    }

    /// Ends are published by services.
    fn published(&self) -> u64 {
        0
    }

    fn undelivered(&self) -> Tally {
        self.undelivered
    }
}

impl Handle<Due> for ClientAgent {
    type Answer = ();

    /// At the time of the model one job is handed over: as long as another is due
    /// it is to be asked again, so that the log has each at its own instant.
    fn handle(&mut self, cx: &mut impl Cx<FromClient>, due: Due) {
        self.now = self.now.max(cx.now());
        let now = cx.wall();
        match due {
            Due::Model { .. } => {
                let Some(submission) = self.submitter.handle_timeout(cx.now()) else {
                    return;
                };
                let submission = submission.clone();
                let (job, entry) = (submission.spec.id, submission.entry);
                let submitted = Event::new(EventKind::Submitted, job, Party::Client);
                cx.emit(cx.now(), submitted.to(entry).at(submission.at));
                self.submit(cx, &submission);
                let is_elsewhere = !self.services.contains_key(&entry);
                let open = Open {
                    submission,
                    confirmed: false,
                    failed: false,
                    removed: false,
                    unplaced: is_elsewhere.then(Unplaced::default),
                };
                self.open.insert(job, open);
            }
            Due::Wall => {
                for entry in Self::due(&self.services, now, |one| one.ask_at) {
                    self.ask_for_ends(cx, entry);
                }
                for entry in Self::due(&self.elsewhere.rounds, now, |round| round.begins) {
                    self.ask_round(cx, entry);
                }
                while let Some((due, job)) = self.removals.first().copied()
                    && due <= now
                {
                    self.removals.pop_first();
                    self.handle(cx, Cancel(job));
                }
                if self.elsewhere.review_at.is_some_and(|due| due <= now) {
                    self.review(cx);
                }
            }
        }
    }
}

impl Handle<Fate<FromClient>> for ClientAgent {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<FromClient>, fate: Fate<FromClient>) {
        let FromClient { to, said } = fate.envelope.message;
        match (said, fate.result) {
            (ToEntry::Submit(job), result) => self.submitted(cx, job.spec.id, result),
            (ToEntry::Ends { .. }, Err(error)) => self.unanswered(cx, to, error),
            (ToEntry::Query(_), Err(_)) => self.end_round(cx.wall(), to),
            // What others do not remove goes on.
            (ToEntry::Cancel(job), result) if self.services.contains_key(&to) => {
                if let Some(open) = self.open.get_mut(&job) {
                    // Who does not know it may have removed it at an earlier try.
                    use Undelivered::{Declined, NoAnswer};
                    open.removed |= matches!(result, Ok(()) | Err(NoAnswer | Declined(_)));
                }
                if result.is_err_and(Undelivered::is_passing) {
                    self.removals.insert((cx.wall() + SAY_AGAIN, job));
                }
            }
            _ => {}
        }
    }
}

/// A user wants a job removed. The answer is whether there is such a job.
impl Handle<Cancel> for ClientAgent {
    type Answer = bool;

    fn handle(&mut self, cx: &mut impl Cx<FromClient>, Cancel(job): Cancel) -> bool {
        let all = self.submitter.submissions();
        let found = all.binary_search_by_key(&job, |one| one.spec.id);
        let entry = found.ok().map(|index| all[index].entry);
        if let Some(entry) = entry {
            self.say(cx, entry, cx.now(), ToEntry::Cancel(job));
        }
        entry.is_some()
    }
}

/// The client breaks off: it has everything removed that others have taken and
/// that has not ended.
impl Handle<Freeze> for ClientAgent {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<FromClient>, _freeze: Freeze) {
        self.frozen = true;
        let open = std::mem::take(&mut self.open);
        for (job, open) in &open {
            if let Some(unplaced) = &open.unplaced {
                self.remove_from(cx, open.submission.entry, *job, unplaced);
            }
        }
        self.open = open;
    }
}
