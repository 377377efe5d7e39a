//! The player's account of its jobs.

mod elsewhere;

use super::unplaced::Unplaced;
use super::{PlayConfig, Played, Progress};
use crate::observation::{Attempt, Attempts, Owner};
use gridrig_core::agent::{Envelope, EnvelopeId, Submit};
use gridrig_core::event::{Event, EventKind, EventSink, Party};
use gridrig_core::ids::JobId;
use gridrig_core::job::{Entry, Reason, Submission};
use gridrig_core::message::JobEnd;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::real_time::{Delivery, Handover, Recorder, TransportError};
use std::collections::BTreeMap;

/// What a follower finds out.
pub(super) enum News {
    /// A sign of life, with the ends that it told.
    Ends(Entry, Vec<JobEnd>),
    /// The service was started anew and has forgotten its jobs.
    Restarted(Entry),
    /// The service does not answer any more.
    Lost(Entry),
}

/// The player's account of its jobs.
pub(super) struct JobStore<'a> {
    pub(super) config: &'a PlayConfig,
    jobs: usize,
    pub(super) recorder: Recorder,
    /// Jobs without a known end, and whether their entry has confirmed them.
    pub(super) open: BTreeMap<JobId, Open>,
    envelopes: u64,
    pub(super) played: Played,
    /// When there was last anything new of a job on another outlet.
    pub(super) last_news: SimTime,
    /// What LRMSs have written of jobs of other outlets.
    attempts: BTreeMap<JobId, Attempts>,
    /// What is to be told of jobs of other outlets, with its instant, unless an
    /// LRMS has had them: that is known when all logs are read to their ends.
    pub(super) verdicts: BTreeMap<JobId, (SimTime, Event<'static>)>,
    /// Jobs of other outlets that are closed here, and whether they may go on
    /// there all the same.
    pub(super) done_with: Vec<(Entry, JobId, bool)>,
    submitted: usize,
    worst_lag: SimDuration,
}

pub(super) struct Open {
    pub(super) submission: Submission,
    confirmed: bool,
    /// It did not get there, and is to be sent again.
    failed: bool,
    /// What is known of a job on another outlet than our own.
    pub(super) unplaced: Option<Unplaced>,
}

impl<'a> JobStore<'a> {
    pub(super) fn new(config: &'a PlayConfig, jobs: usize, recorder: Recorder) -> Self {
        JobStore {
            config,
            jobs,
            recorder,
            open: BTreeMap::new(),
            envelopes: 0,
            played: Played::default(),
            last_news: SimTime::ZERO,
            attempts: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            done_with: Vec::new(),
            submitted: 0,
            worst_lag: SimDuration::ZERO,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn progress(&self) -> Progress {
        Progress {
            now: self.config.clock.now(),
            submitted: self.submitted,
            ended: self.played.ends.len() + self.played.given_up.len(),
            jobs: self.jobs,
            worst_lag: self.worst_lag,
        }
    }

    pub(super) fn open(&mut self, submission: &Submission) -> Envelope<Submit> {
        self.submitted += 1;
        let lag = self.config.clock.now().since(submission.at);
        self.worst_lag = self.worst_lag.max(lag);
        self.open.insert(
            submission.spec.id,
            Open {
                submission: submission.clone(),
                confirmed: false,
                failed: false,
                unplaced: (self.config.outlets.ways.contains_key(&submission.entry))
                    .then(Unplaced::default),
            },
        );
        self.envelope(submission)
    }

    /// A submission as it is sent, for the first time or again.
    fn envelope(&mut self, submission: &Submission) -> Envelope<Submit> {
        let (spec, entry) = (submission.spec.clone(), submission.entry);
        let origin = match entry {
            Entry::Domain(domain) => domain.0,
            Entry::Cluster(cluster) => cluster.0,
        };
        let id = EnvelopeId {
            incarnation: 0,
            number: self.envelopes,
        };
        self.envelopes += 1;
        let key = format!("{}/{origin}/{}/0", self.config.run_id, spec.id.0);
        Envelope {
            id,
            from: Party::Client,
            address: None,
            due: submission.at,
            message: Submit { entry, spec, key },
        }
    }

    pub(super) fn delivered(&mut self, report: Delivery<Submit>) {
        let job = report.envelope.message.spec.id;
        match report.result {
            Ok(()) => {
                if let Some(open) = self.open.get_mut(&job) {
                    open.confirmed = true;
                }
            }
            // The service has told its own log, and tells the end in its turn.
            Err(TransportError::Answered {
                reason: Some(_), ..
            }) => {
                if let Some(open) = self.open.get_mut(&job) {
                    open.confirmed = true;
                }
            }
            Err(error) => {
                let silence = matches!(
                    error,
                    TransportError::NotReached { .. }
                        | TransportError::NoAnswer { .. }
                        | TransportError::Busy { .. }
                );
                if silence && !self.config.patience.comes_back.is_zero() {
                    if let Some(open) = self.open.get_mut(&job) {
                        open.failed = true;
                    }
                    return;
                }
                self.played.undelivered += 1;
                self.give_up(job, Reason::Lost, error.to_string());
            }
        }
    }

    /// Answers the submissions that are to be sent again.
    pub(super) fn hear(&mut self, news: News) -> Vec<Envelope<Submit>> {
        match news {
            News::Ends(entry, ends) => {
                for end in ends {
                    // Others may submit to the same service.
                    let known = self.played.ends.get(&end.job);
                    let was_lost = known.is_some_and(|known| known.state.is_lost());
                    if self.open.remove(&end.job).is_some() || was_lost {
                        self.played.ends.insert(end.job, end);
                    }
                }
                self.again(entry, |open| open.failed)
            }
            News::Restarted(entry) => self.again(entry, |open| open.confirmed || open.failed),
            News::Lost(entry) => {
                let there = |(_, open): &(&JobId, &Open)| {
                    open.submission.entry == entry && (open.confirmed || open.failed)
                };
                let lost: Vec<JobId> = self
                    .open
                    .iter()
                    .filter(there)
                    .map(|(job, _)| *job)
                    .collect();
                for job in lost {
                    let why = "the service that had it stopped answering".to_owned();
                    self.give_up(job, Reason::Lost, why);
                }
                Vec::new()
            }
        }
    }

    fn again(&mut self, entry: Entry, which: impl Fn(&Open) -> bool) -> Vec<Envelope<Submit>> {
        let there = self.open.values_mut();
        let there = there.filter(|open| open.submission.entry == entry && which(open));
        let again: Vec<Submission> = there
            .map(|open| {
                (open.confirmed, open.failed) = (false, false);
                open.submission.clone()
            })
            .collect();
        if !again.is_empty() {
            tracing::info!(jobs = again.len(), ?entry, "jobs are submitted again");
        }
        let envelopes = again.iter().map(|submission| self.envelope(submission));
        envelopes.collect()
    }

    pub(super) fn give_up(&mut self, job: JobId, reason: Reason, why: String) {
        let Some(open) = self.open.remove(&job) else {
            return;
        };
        let entry = open.submission.entry;
        let now = self.config.clock.now();
        tracing::warn!(job = job.0, why, "a job is given up");
        // Whoever has a job tells its end: the client has those only that
        // nobody has taken.
        let event = match reason {
            Reason::Lost | Reason::NotPlaced => {
                Event::new(EventKind::LostTouch, job, Party::Client).to(entry)
            }
            _ => Event::new(EventKind::Failed, job, Party::Client),
        };
        let event = event.because(reason);
        if open.unplaced.is_some() {
            self.done_with.push((entry, job, true));
            self.verdicts.insert(job, (now, event));
        } else {
            self.recorder.emit(now, event);
        }
        self.played.given_up.insert(job, why);
    }

    /// Tells what is known now that all logs are read: that the ends in them
    /// were seen, as soon as they were written, and what became of jobs that are
    /// in none.
    pub(super) fn close(mut self, handover: Handover) -> Played {
        let seen = |job| Event::new(EventKind::FinishSeen, job, Party::Client);
        let mut names = self.config.outlets.owners.all();
        for (job, attempts) in &self.attempts {
            let Some((place, attempt)) = Attempt::that_counts(attempts) else {
                continue;
            };
            let others = attempts.keys().filter(|other| **other != place);
            names.extend(others.map(|other| (*other, Owner::Repeated(*job))));
            if let Some(at) = attempt.unseen_end() {
                self.recorder.emit(at, seen(*job));
            }
        }
        for (job, (at, event)) in &self.verdicts {
            if !self.attempts.contains_key(job) {
                self.recorder.emit(*at, *event);
                if event.kind.is_terminal() {
                    self.recorder.emit(*at, seen(*job));
                }
            }
        }
        self.played.names = names;
        self.played.handover = handover;
        self.played.unfinished = self.open.into_keys().collect();
        self.played
    }
}
