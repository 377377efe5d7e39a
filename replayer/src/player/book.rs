//! The player's account of its jobs.

use super::unseen::Unplaced;
use super::{PlayConfig, Played, Progress};
use gridrig_core::agent::{Letter, LetterId, Submit};
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
pub(super) struct Book<'a> {
    pub(super) config: &'a PlayConfig,
    jobs: usize,
    pub(super) recorder: Recorder,
    /// Jobs without a known end, and whether their entry has confirmed them.
    pub(super) open: BTreeMap<JobId, Open>,
    letters: u64,
    pub(super) played: Played,
    /// When there was last anything new of a job on another outlet.
    pub(super) last_news: SimTime,
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

impl<'a> Book<'a> {
    pub(super) fn new(config: &'a PlayConfig, jobs: usize, recorder: Recorder) -> Self {
        Book {
            config,
            jobs,
            recorder,
            open: BTreeMap::new(),
            letters: 0,
            played: Played::default(),
            last_news: SimTime::ZERO,
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

    pub(super) fn open(&mut self, submission: &Submission) -> Letter<Submit> {
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
        self.letter(submission)
    }

    /// A submission as it is sent, for the first time or again.
    fn letter(&mut self, submission: &Submission) -> Letter<Submit> {
        let (spec, entry) = (submission.spec.clone(), submission.entry);
        let origin = match entry {
            Entry::Domain(domain) => domain.0,
            Entry::Cluster(cluster) => cluster.0,
        };
        let id = LetterId {
            incarnation: 0,
            number: self.letters,
        };
        self.letters += 1;
        let key = format!("{}/{origin}/{}/0", self.config.run_id, spec.id.0);
        Letter {
            id,
            from: Party::Client,
            address: None,
            due: submission.at,
            message: Submit { entry, spec, key },
        }
    }

    pub(super) fn delivered(&mut self, report: Delivery<Submit>) {
        let job = report.letter.message.spec.id;
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
                self.give_up(job, Reason::ServiceLost, error.to_string());
            }
        }
    }

    /// Answers the submissions that are to be sent again.
    pub(super) fn hear(&mut self, news: News) -> Vec<Letter<Submit>> {
        match news {
            News::Ends(entry, ends) => {
                for end in ends {
                    // Others may submit to the same service.
                    if self.open.remove(&end.job).is_some() {
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
                    self.give_up(job, Reason::ServiceLost, why);
                }
                Vec::new()
            }
        }
    }

    fn again(&mut self, entry: Entry, which: impl Fn(&Open) -> bool) -> Vec<Letter<Submit>> {
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
        let letters = again.iter().map(|submission| self.letter(submission));
        letters.collect()
    }

    pub(super) fn give_up(&mut self, job: JobId, reason: Reason, why: String) {
        let Some(open) = self.open.remove(&job) else {
            return;
        };
        if open.unplaced.is_some() {
            self.done_with.push((open.submission.entry, job, true));
        }
        let by = Party::Client;
        let now = self.config.clock.now();
        tracing::warn!(job = job.0, why, "a job is given up");
        self.recorder
            .emit(now, Event::new(EventKind::Failed, job, by).because(reason));
        self.recorder
            .emit(now, Event::new(EventKind::FinishSeen, job, by));
        self.played.given_up.insert(job, why);
    }

    pub(super) fn close(mut self, handover: Handover) -> Played {
        self.played.handover = handover;
        self.played.unfinished = self.open.into_keys().collect();
        self.played
    }
}
