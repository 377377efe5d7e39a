//! Playing a workload in real time: every job is handed over on time, over
//! HTTP, to the broker or LRMS at which it enters, and followed to its end.
//!
//! The player is a client like any other. It follows ends by asking
//! (`GET /v1/ends`, held open by the service until there is news), so it needs
//! no address of its own and works from behind a firewall.

use gridrig_core::event::{Event, EventSink, Party};
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::{Entry, Reason, Submission};
use gridrig_core::load::LoadSample;
use gridrig_core::message::JobEnd;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::real_time::{
    Delivery, Handover, Letter, LetterId, Message, Outbox, Recorder, RunClock, Transport,
    TransportError, submit_on_time,
};
use gridrig_protocol::client::{Client, ClientError};
use gridrig_protocol::rest::{JobSubmission, reason_of_code};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// Where and how a workload is played.
#[derive(Clone, Debug)]
pub struct PlayConfig {
    /// The base URL of each service at which jobs enter.
    pub entries: BTreeMap<Entry, String>,
    /// The clock of the run, shared with the services.
    pub clock: RunClock,
    /// Name of the run; together with a job's number it makes the submission
    /// unique.
    pub run_id: String,
    /// When an entry service counts as lost, in wall time.
    pub patience: Patience,
}

/// When a service counts as lost, in wall time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Time between tries to reach a service that does not answer.
    pub every: Duration,
    /// So many tries in a row that nobody answers the door to.
    pub refused: u32,
    /// So many tries in a row that somebody lets in and does not answer.
    pub silent: u32,
    /// A service may stay away for so long before it counts as lost, whatever
    /// the tries say. When it is there again, jobs that it did not confirm are
    /// submitted once more, and all of them if it was started anew, each under
    /// its key: whoever knows the job answers with the first answer.
    pub comes_back: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            every: Duration::from_millis(500),
            refused: 3,
            silent: 3,
            comes_back: Duration::ZERO,
        }
    }
}

/// Why a workload could not be played at all.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// A job enters where no service is known.
    #[error("{job}: field entry = \"{entry:?}\": expected an entry with a configured address")]
    NoAddress {
        /// The job.
        job: JobId,
        /// Where it enters.
        entry: Entry,
    },
    /// No HTTP client could be set up.
    #[error("the player has no HTTP client")]
    Client(#[source] ClientError),
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The time of the run.
    pub now: SimTime,
    /// Jobs handed over.
    pub submitted: usize,
    /// Jobs whose end is known to the player.
    pub ended: usize,
    /// All jobs.
    pub jobs: usize,
    /// The longest that a job was handed over late so far, in the time of the
    /// run.
    pub worst_lag: SimDuration,
}

/// How a workload was played.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// How punctual the handing over was.
    pub handover: Handover,
    /// Jobs whose end is known, with their end as the entry service told it.
    pub ends: BTreeMap<JobId, JobEnd>,
    /// Jobs that were given up, and why.
    pub given_up: BTreeMap<JobId, String>,
    /// Jobs that were handed over and not known to have ended.
    pub unfinished: Vec<JobId>,
    /// Submissions that reached nobody.
    pub undelivered: u64,
    /// Whether the run was stopped before the last job had ended.
    pub interrupted: bool,
}

/// Plays the submissions until every job has ended or `stop` ends. Jobs that
/// are handed over, and those given up, are told to `recorder`; `progress` is
/// called now and then.
///
/// `submissions` are sorted by time with rising job ids.
///
/// # Errors
/// [`PlayError`], before anything is submitted.
pub async fn play(
    config: &PlayConfig,
    submissions: &[Submission],
    recorder: &Recorder,
    stop: impl Future<Output = ()>,
    mut progress: impl FnMut(Progress),
) -> Result<Played, PlayError> {
    for submission in submissions {
        if !config.entries.contains_key(&submission.entry) {
            let (job, entry) = (submission.spec.id, submission.entry);
            return Err(PlayError::NoAddress { job, entry });
        }
    }
    let client = Client::new(REQUEST).map_err(PlayError::Client)?;
    let (news_in, mut news) = mpsc::unbounded_channel();
    let (reports_in, mut reports) = mpsc::unbounded_channel();
    let transport = Arc::new(HttpTransport {
        client: client.clone(),
        config: config.clone(),
    });
    let mut book = Book::new(config, submissions.len(), recorder.clone());
    let mut outbox = Outbox::new(config.clock, transport, reports_in);
    let mut followers = JoinSet::new();
    for (entry, url) in &config.entries {
        let follower = Follower {
            client: client.clone(),
            url: url.clone(),
            entry: *entry,
            patience: config.patience,
            news: news_in.clone(),
        };
        followers.spawn(follower.run());
    }
    let (letters_in, mut letters) = mpsc::unbounded_channel();
    let (halt, halted) = oneshot::channel::<()>();
    let mut submitting = recorder.clone();
    let hand_over = |submission: &Submission| letters_in.send(submission.clone()).is_ok();
    let halted = Box::pin(async move { drop(halted.await) });
    let submit = submit_on_time(
        config.clock,
        submissions,
        &mut submitting,
        hand_over,
        halted,
    );
    tokio::pin!(submit, stop);
    let mut handover = None;
    let mut tick = tokio::time::interval(PROGRESS);
    loop {
        if handover.is_some() && letters.is_empty() && book.is_done() {
            break;
        }
        tokio::select! {
            biased;
            () = &mut stop => {
                book.played.interrupted = true;
                break;
            }
            Some(submission) = letters.recv() => outbox.send(book.open(&submission)),
            Some(report) = reports.recv() => book.delivered(report),
            Some(item) = news.recv() => book.hear(item).into_iter().for_each(|letter| outbox.send(letter)),
            done = &mut submit, if handover.is_none() => handover = Some(done),
            _ = tick.tick() => progress(book.progress()),
        }
    }
    drop(halt);
    let handover = match handover {
        Some(done) => done,
        None => submit.await,
    };
    followers.abort_all();
    progress(book.progress());
    Ok(book.close(handover))
}

/// How long a request of the player may take.
const REQUEST: Duration = Duration::from_secs(10);
/// Time between two calls of `progress`.
const PROGRESS: Duration = Duration::from_millis(250);
/// How long a service may hold a request for ends.
const WAIT: Duration = Duration::from_secs(10);

/// What a follower finds out.
enum News {
    /// A sign of life, with the ends that it told.
    Ends(Entry, Vec<JobEnd>),
    /// The service was started anew and has forgotten its jobs.
    Restarted(Entry),
    /// The service does not answer any more.
    Lost(Entry),
}

/// The player's account of its jobs.
struct Book<'a> {
    config: &'a PlayConfig,
    jobs: usize,
    recorder: Recorder,
    /// Jobs without a known end, and whether their entry has confirmed them.
    open: BTreeMap<JobId, Open>,
    letters: u64,
    played: Played,
    submitted: usize,
    worst_lag: SimDuration,
}

struct Open {
    submission: Submission,
    confirmed: bool,
    /// It did not get there, and is to be sent again.
    failed: bool,
}

impl<'a> Book<'a> {
    fn new(config: &'a PlayConfig, jobs: usize, recorder: Recorder) -> Self {
        Book {
            config,
            jobs,
            recorder,
            open: BTreeMap::new(),
            letters: 0,
            played: Played::default(),
            submitted: 0,
            worst_lag: SimDuration::ZERO,
        }
    }

    fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    fn progress(&self) -> Progress {
        Progress {
            now: self.config.clock.now(),
            submitted: self.submitted,
            ended: self.played.ends.len() + self.played.given_up.len(),
            jobs: self.jobs,
            worst_lag: self.worst_lag,
        }
    }

    fn open(&mut self, submission: &Submission) -> Letter {
        self.submitted += 1;
        let lag = self.config.clock.now().since(submission.at);
        self.worst_lag = self.worst_lag.max(lag);
        self.open.insert(
            submission.spec.id,
            Open {
                submission: submission.clone(),
                confirmed: false,
                failed: false,
            },
        );
        self.letter(submission)
    }

    /// A submission as it is sent, for the first time or again.
    fn letter(&mut self, submission: &Submission) -> Letter {
        let (spec, entry) = (submission.spec.clone(), submission.entry);
        let (origin, to) = match entry {
            Entry::Domain(domain) => (domain.0, Party::Broker(domain)),
            Entry::Cluster(cluster) => (cluster.0, Party::Lrms(cluster)),
        };
        let id = LetterId {
            incarnation: 0,
            number: self.letters,
        };
        self.letters += 1;
        let key = format!("{}/{origin}/{}/0", self.config.run_id, spec.id.0);
        let message = Message::Submit { spec, key };
        Letter {
            id,
            from: Party::Client,
            to,
            address: None,
            due: submission.at,
            message,
        }
    }

    fn delivered(&mut self, report: Delivery) {
        let Some(job) = report.letter.message.job() else {
            return;
        };
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
                self.give_up(job, error.to_string());
            }
        }
    }

    /// Answers the submissions that are to be sent again.
    fn hear(&mut self, news: News) -> Vec<Letter> {
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
                    self.give_up(job, "the service that had it stopped answering".to_owned());
                }
                Vec::new()
            }
        }
    }

    fn again(&mut self, entry: Entry, which: impl Fn(&Open) -> bool) -> Vec<Letter> {
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

    fn give_up(&mut self, job: JobId, why: String) {
        if self.open.remove(&job).is_none() {
            return;
        }
        let (by, reason) = (Party::Client, Reason::ServiceLost);
        let now = self.config.clock.now();
        tracing::warn!(job = job.0, why, "a job is given up");
        self.recorder.emit(now, Event::Failed { job, by, reason });
        self.recorder.emit(now, Event::FinishSeen { job, by });
        self.played.given_up.insert(job, why);
    }

    fn close(mut self, handover: Handover) -> Played {
        self.played.handover = handover;
        self.played.unfinished = self.open.into_keys().collect();
        self.played
    }
}

/// Follows the ends at one entry service.
struct Follower {
    client: Client,
    url: String,
    entry: Entry,
    patience: Patience,
    news: mpsc::UnboundedSender<News>,
}

impl Follower {
    async fn run(self) {
        let mut after = 0;
        let mut life = None;
        let mut signs = Signs::default();
        loop {
            // After a silence the first answer is wanted at once: it says
            // whether the service was started anew.
            let wait = if signs.is_well() {
                WAIT
            } else {
                Duration::ZERO
            };
            match self.client.ends(&self.url, after, wait).await {
                Ok(page) => {
                    signs = Signs::default();
                    let before = life.replace(page.life);
                    if before.is_some_and(|before| before != page.life) {
                        after = 0;
                        if self.news.send(News::Restarted(self.entry)).is_err() {
                            return;
                        }
                        continue;
                    }
                    after = page.next;
                    let ends = page
                        .ends
                        .iter()
                        .filter_map(|end| JobEnd::try_from(end).ok());
                    let news = News::Ends(self.entry, ends.collect());
                    if self.news.send(news).is_err() {
                        return;
                    }
                    continue;
                }
                Err(ClientError::NotReached { .. }) => signs.refused += 1,
                Err(ClientError::NoAnswer { .. }) => signs.silent += 1,
                Err(_busy_or_confused) => signs = Signs::default(),
            }
            if signs.are_fatal(self.patience) && self.news.send(News::Lost(self.entry)).is_err() {
                return;
            }
            tokio::time::sleep(self.patience.every).await;
        }
    }
}

/// What is known of a service that may be gone.
#[derive(Default)]
struct Signs {
    refused: u32,
    silent: u32,
    since: Option<tokio::time::Instant>,
}

impl Signs {
    fn is_well(&self) -> bool {
        self.refused == 0 && self.silent == 0
    }

    fn are_fatal(&mut self, patience: Patience) -> bool {
        if self.is_well() {
            return false;
        }
        let since = self.since.get_or_insert_with(tokio::time::Instant::now);
        let tried = self.refused >= patience.refused || self.silent >= patience.silent;
        tried && since.elapsed() >= patience.comes_back
    }
}

/// Submits over HTTP.
struct HttpTransport {
    client: Client,
    config: PlayConfig,
}

impl Transport for HttpTransport {
    async fn deliver(&self, letter: &Letter) -> Result<(), TransportError> {
        let entry = match letter.to {
            Party::Broker(domain) => Entry::Domain(domain),
            Party::Lrms(cluster) => Entry::Cluster(cluster),
            Party::Client => return Err(nowhere("a client", "nobody submits to it")),
        };
        let (Some(url), Message::Submit { spec, key }) =
            (self.config.entries.get(&entry), &letter.message)
        else {
            return Err(nowhere("nobody", "there is no such entry"));
        };
        let job = JobSubmission::of(spec, key.clone(), None, 0, letter.due);
        self.client
            .submit(url, &job)
            .await
            .map(drop)
            .map_err(failure)
    }

    async fn sample(&self, cluster: ClusterId) -> Result<LoadSample, TransportError> {
        Err(nowhere(&cluster.to_string(), "the player reads no load"))
    }
}

fn nowhere(to: &str, why: &str) -> TransportError {
    TransportError::NotReached {
        to: to.to_owned(),
        why: why.to_owned(),
    }
}

fn failure(error: ClientError) -> TransportError {
    let why = |source: &dyn std::error::Error| source.to_string();
    match error {
        ClientError::NotReached { url, source } => TransportError::NotReached {
            to: url,
            why: why(&source),
        },
        ClientError::NoAnswer { url, source } => TransportError::NoAnswer {
            to: url,
            why: why(&source),
        },
        ClientError::Busy { url } => TransportError::Busy { to: url },
        ClientError::Problem { url, problem } => TransportError::Answered {
            to: url,
            status: problem.status,
            reason: reason_of_code(&problem.code),
            why: problem.detail,
        },
        ClientError::Setup(source) => nowhere("anybody", &source.to_string()),
    }
}
