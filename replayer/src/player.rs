//! Playing a workload in real time: every job is handed over on time, on the
//! [`Outlet`] of where it enters, and followed to its end.
//!
//! The player drives a [`ClientAgent`], which has the rules: it gives it the time
//! and a log, sends what it says and brings the answers. The client follows the
//! ends at a service of ours by asking (`GET /v1/ends`, held open by the service
//! until there is news), so it needs no address of its own and works from behind a
//! firewall. Jobs on other outlets are followed in the logs of the LRMSs, whoever
//! brings them there.

mod played;
mod sender;

pub use gridrig_core::agent::Patience;
pub use played::{Handover, Played, Progress, Unseen};

use crate::observation::{LogReader, Owner, Owners};
use crate::outlet::{Outlet, SubmitRequest};
use gridrig_core::agent::{
    Agent as _, Arrival, ClientAgent, ClientInput, ClientSetup, Due, Envelope, Fate, Freeze,
    FromClient, GivenUp, LogsRead, Observation, Participant as _, Resumed, ToEntry, Undelivered,
};
use gridrig_core::event::{EventKind, MessageKind};
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::{Entry, Submission};
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::faults::Faults;
use gridrig_drivers::real_time::{Delivery, Driven, Journal, Recorder, RunClock, wall_length};
use gridrig_protocol::client::{Client, ClientError};
use gridrig_protocol::tag::Tags;
use sender::{Heard, Senders, error_of, panic_of};
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Where and how a workload is played.
#[derive(Clone, Debug)]
pub struct PlayConfig {
    /// The base URL of each service of ours at which jobs enter.
    pub entries: BTreeMap<Entry, String>,
    /// How jobs leave that enter elsewhere.
    pub outlets: Outlets,
    /// The clock of the run, shared with the services.
    pub clock: RunClock,
    /// Name of the run; together with a job's number it makes the submission
    /// unique.
    pub run_id: String,
    /// When an entry service counts as lost, in wall time.
    pub patience: Patience,
    /// What is planned to go wrong on the way to services of ours.
    pub faults: Faults,
}

/// The outlets that are not our own interface.
#[derive(Clone, Debug)]
pub struct Outlets {
    /// By where jobs enter.
    pub ways: BTreeMap<Entry, Arc<dyn Outlet>>,
    /// The base URL of each LRMS in whose log their jobs are looked for. With
    /// none of them a job counts as done when it has been taken.
    pub logs: BTreeMap<ClusterId, String>,
    /// Jobs that were taken and are in no log are given up when so much wall
    /// time has passed without anything new of any job.
    pub lost_after: Duration,
    /// Where whose jobs are is noted as soon as it is known.
    pub owners: Owners,
}

impl Default for Outlets {
    fn default() -> Self {
        Outlets {
            ways: BTreeMap::new(),
            logs: BTreeMap::new(),
            lost_after: Duration::from_secs(60),
            owners: Owners::default(),
        }
    }
}

/// Why a workload could not be played at all.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// A job enters where no service is known.
    #[error("{0}: field entry = \"{1:?}\": expected an entry with a configured address")]
    NoAddress(JobId, Entry),
    /// No HTTP client could be set up.
    #[error("the player has no HTTP client")]
    Client(#[source] ClientError),
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
    progress: impl FnMut(Progress),
) -> Result<Played, PlayError> {
    let client = config.client(submissions);
    go_on(
        config,
        submissions,
        (client.into(), None),
        recorder,
        stop,
        progress,
    )
    .await
}

/// The same with a client that has begun already, as its journal says if it has one;
/// `recorder` knows what happened before.
///
/// # Errors
/// [`PlayError`], before anything is submitted.
pub async fn go_on(
    config: &PlayConfig,
    submissions: &[Submission],
    (client, journal): (Resumed<ClientAgent>, Option<Journal<ClientInput>>),
    recorder: &Recorder,
    stop: impl Future<Output = ()>,
    mut progress: impl FnMut(Progress),
) -> Result<Played, PlayError> {
    config.knows_all(submissions)?;
    let http = Client::new(REQUEST).map_err(PlayError::Client)?;
    let tags = Tags::of_run(&config.run_id);
    let (reports_in, mut reports) = mpsc::unbounded_channel();
    let (heard_in, mut heard) = mpsc::unbounded_channel();
    let (observed_in, mut observed) = mpsc::unbounded_channel();
    let mut readers = Readers::start(config, &http, &tags, submissions, &observed_in);
    let mut player = Player {
        config,
        jobs: submissions.len(),
        client: Driven::new(client.agent, client.wall, recorder.clone(), journal),
        senders: Senders::new(config, &http, &tags, reports_in, heard_in),
        played: Played::default(),
        errors: BTreeMap::new(),
    };
    player.resume(client.unanswered, recorder);
    tokio::pin!(stop);
    let mut tick = tokio::time::interval(PROGRESS);
    loop {
        let next = player.catch_up();
        if player.client.is_done() {
            break;
        }
        let wall_timer = player.client.wall_timer();
        tokio::select! {
            biased;
            () = &mut stop => {
                player.break_off().await;
                break;
            }
            () = player.senders.panicked() => {}
            error = readers.failed() => {
                // What was seen until then is still told.
                player.break_off().await;
                player.played.broke = Some(error.to_string());
                break;
            }
            Some(report) = reports.recv() => player.note(report, false),
            Some(heard) = heard.recv() => player.hear(heard),
            Some(observation) = observed.recv() => player.tell(observation),
            () = config.clock.sleep_until(next) => {}
            () = wall_timer => {}
            _ = tick.tick() => progress(player.progress()),
        }
    }
    player.senders.stop().await;
    for observation in readers.finish(observed).await {
        player.tell(observation);
    }
    progress(player.progress());
    Ok(player.close())
}

/// How long a request of the player may take.
const REQUEST: Duration = Duration::from_secs(10);
/// Time between two calls of `progress`.
const PROGRESS: Duration = Duration::from_millis(250);

impl PlayConfig {
    /// Whether every job has somewhere to go.
    fn knows_all(&self, submissions: &[Submission]) -> Result<(), PlayError> {
        let knows = |entry: &Entry| {
            self.entries.contains_key(entry) || self.outlets.ways.contains_key(entry)
        };
        let lost = submissions
            .iter()
            .find(|submission| !knows(&submission.entry));
        lost.map_or(Ok(()), |submission| {
            let (job, entry) = (submission.spec.id, submission.entry);
            Err(PlayError::NoAddress(job, entry))
        })
    }

    /// The client of these jobs, as it begins.
    pub fn client(&self, submissions: &[Submission]) -> ClientAgent {
        ClientAgent::new(self.setup(), submissions.into())
    }

    fn setup(&self) -> ClientSetup {
        let outlets = &self.outlets;
        let ours = self.entries.keys().copied();
        let ours = ours.filter(|entry| !outlets.ways.contains_key(entry));
        let answering = outlets.ways.iter().filter(|(_, outlet)| outlet.follows());
        ClientSetup {
            run: self.run_id.clone(),
            services: ours.collect(),
            patience: self.patience,
            answering: answering.map(|(entry, _)| *entry).collect(),
            has_logs: !outlets.logs.is_empty(),
            lost_after: wall_length(outlets.lost_after),
        }
    }
}

/// The client with what is around it.
struct Player<'a> {
    config: &'a PlayConfig,
    jobs: usize,
    client: Driven<ClientAgent>,
    senders: Senders,
    played: Played,
    /// What was last said against a job.
    errors: BTreeMap<JobId, String>,
}

impl Player<'_> {
    /// Says again what it does not know to have arrived. A question for ends is not
    /// said again, since the client asks by itself.
    fn resume(&mut self, unanswered: Vec<Envelope<FromClient>>, recorder: &Recorder) {
        let counts = recorder.counts();
        let handed_over = counts
            .events()
            .find(|(kind, _)| *kind == EventKind::Submitted);
        self.played.handover.submitted = handed_over.map_or(0, |(_, count)| count as usize);
        let mut asked = BTreeMap::new();
        for envelope in unanswered {
            match envelope.message.said {
                ToEntry::Ends { .. } => drop(asked.insert(envelope.message.to, envelope)),
                _ => self.senders.send_again(envelope),
            }
        }
        for envelope in asked.into_values() {
            let result = Err(Undelivered::Busy);
            self.tell(Fate { envelope, result });
        }
    }

    /// What is due: jobs that are handed over late have the instant at which they
    /// are in the log. Answers when the next one is.
    fn catch_up(&mut self) -> SimTime {
        let clock = self.config.clock;
        let mut now = clock.now();
        let next = loop {
            match self.client.next_due() {
                Some(due) if due <= now => {
                    self.played.handover.note(now.since(due));
                    let loads = Vec::new();
                    self.client.handle(now, Due::Model { loads });
                    now = clock.now();
                }
                next => break next.unwrap_or(SimTime::MAX),
            }
        };
        if self.client.is_wall_due() {
            self.tell(Due::Wall);
        }
        for envelope in self.client.take_envelopes() {
            self.senders.send(envelope);
        }
        next
    }

    /// The client handles an input; jobs that it has given up are noted.
    fn tell<I: Clone>(&mut self, input: I)
    where
        ClientAgent: gridrig_core::agent::Handle<I>,
        ClientInput: From<I>,
    {
        self.client.handle(self.config.clock.now(), input);
        let given_up = self.client.given_up();
        for (job, why) in &given_up[self.played.given_up.len()..] {
            let why = match why {
                GivenUp::NotTaken => self.errors.get(job).cloned().unwrap_or_default(),
                GivenUp::ServiceLost => "the service that had it stopped answering".to_owned(),
                GivenUp::NotPlaced => "the broker took it, and no LRMS has had it".to_owned(),
                GivenUp::Failed => "the broker says that it failed".to_owned(),
            };
            tracing::warn!(job = job.0, why, "a job is given up");
            self.played.given_up.insert(*job, why);
        }
    }

    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Fate(delivery, waited) => self.note(delivery, waited),
            Heard::Stands(stands) => self.tell(stands),
            Heard::Ends(page) => {
                let (by, before) = (page.by, self.client.submitted_again());
                self.tell(page);
                let jobs = self.client.submitted_again() - before;
                if jobs > 0 {
                    tracing::info!(jobs, entry = ?by, "jobs are submitted again");
                }
            }
        }
    }

    /// What has become of a message.
    fn note(&mut self, delivery: Delivery<FromClient>, waited: bool) {
        let Delivery { envelope, result } = delivery;
        if let ToEntry::Submit(job) = &envelope.message.said {
            let job = job.spec.id;
            let why = result.as_ref().err().map(ToString::to_string);
            if let Some(why) = &why {
                tracing::debug!(job = job.0, why, "a submission failed");
                self.errors.insert(job, why.clone());
            }
            if self.config.outlets.ways.contains_key(&envelope.message.to) {
                self.played.unseen.note(job, why, waited);
            }
        }
        let result = result.map_err(|error| error.fate());
        self.tell(Fate { envelope, result });
    }

    /// The run is broken off.
    async fn break_off(&mut self) {
        self.played.interrupted = true;
        self.tell(Freeze);
        let requests = self.client.take_envelopes();
        self.senders.remove(requests).await;
    }

    fn progress(&self) -> Progress {
        Progress {
            now: self.config.clock.now(),
            submitted: self.played.handover.submitted,
            ended: self.client.ends().len() + self.played.given_up.len(),
            jobs: self.jobs,
            worst_lag: self.played.handover.worst_lag,
        }
    }

    /// All logs are read.
    fn close(mut self) -> Played {
        self.tell(LogsRead);
        let mut played = self.played;
        let given_up = self.client.given_up().iter();
        let not_placed = given_up.filter(|(_, why)| *why == GivenUp::NotPlaced);
        played.unseen.not_placed = not_placed.map(|(job, _)| *job).collect();
        played.names = self.config.outlets.owners.all();
        let repeated = self.client.repeated();
        played
            .names
            .extend(repeated.map(|(place, job)| (place, Owner::Repeated(job))));
        played.ends = self.client.ends().clone();
        played.unfinished = self.client.open().collect();
        played.undelivered = self.client.undelivered().of(MessageKind::Submit);
        played
    }
}

/// The tasks that read the logs of LRMSs.
struct Readers {
    tasks: JoinSet<()>,
    again: Vec<LogReader>,
}

/// How long the last look at all logs may take.
const LAST_LOOK: Duration = Duration::from_secs(60);

impl Readers {
    fn start(
        config: &PlayConfig,
        client: &Client,
        tags: &Tags,
        submissions: &[Submission],
        out: &mpsc::UnboundedSender<Observation>,
    ) -> Self {
        let is_named = submissions.iter();
        let is_named: Arc<[bool]> = is_named
            .map(|submission| config.entries.contains_key(&submission.entry))
            .collect();
        let mut readers = Readers {
            tasks: JoinSet::new(),
            again: Vec::new(),
        };
        for (cluster, url) in &config.outlets.logs {
            let after = Arc::default();
            let reader = || LogReader {
                client: client.clone(),
                url: url.clone(),
                cluster: *cluster,
                tags: tags.clone(),
                is_named: Arc::clone(&is_named),
                out: out.clone(),
                after: Arc::clone(&after),
                owners: config.outlets.owners.clone(),
            };
            let first = reader();
            readers.tasks.spawn(async move {
                if let Err(error) = first.run().await {
                    resume_unwind(Box::new(error));
                }
            });
            readers.again.push(reader());
        }
        readers
    }

    /// Waits until a task has panicked or cannot go on; answers why: the ends that it would
    /// have read would be waited for for ever.
    async fn failed(&mut self) -> io::Error {
        error_of("a task that reads logs", panic_of(&mut self.tasks)).await
    }

    /// Looks at every log a last time; answers what has not been heard of it.
    async fn finish(
        mut self,
        mut unheard: mpsc::UnboundedReceiver<Observation>,
    ) -> Vec<Observation> {
        self.tasks.shutdown().await;
        for reader in self.again {
            match tokio::time::timeout(LAST_LOOK, reader.catch_up()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "a log was not read to its end"),
                Err(_) => tracing::warn!(url = reader.url, "a log was not read to its end"),
            }
        }
        std::iter::from_fn(|| unheard.try_recv().ok()).collect()
    }
}

/// The job that a message brings.
fn request_of(job: &Arrival, due: SimTime, tags: &Tags) -> SubmitRequest {
    SubmitRequest {
        tag: tags.tag(&job.spec),
        job: job.spec.clone(),
        key: job.key.clone().unwrap_or_default(),
        due,
    }
}

/// A length of time on the wall.
fn wall(length: SimDuration) -> Duration {
    Duration::from_nanos(length.as_nanos())
}
