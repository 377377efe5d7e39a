//! Playing a workload in real time: every job is handed over on time, on the
//! [`Outlet`] of where it enters, and followed to its end.
//!
//! The player is a client like any other. From a service of ours it follows
//! ends by asking (`GET /v1/ends`, held open by the service until there is
//! news), so it needs no address of its own and works from behind a firewall.
//! Jobs on other outlets are followed in the logs of the LRMSs, whoever brings
//! them there.

mod follow;
mod sender;
mod store;
mod unplaced;

pub use unplaced::Unseen;

use crate::observation::{LogReader, Names, Observation, Owners};
use crate::outlet::{Native, Outlet, Ticket};
use follow::Follower;
use gridrig_core::agent::{Envelope, Submit};
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::{Entry, Submission};
use gridrig_core::load::LoadSample;
use gridrig_core::message::JobEnd;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::real_time::{
    Handover, Outbox, Recorder, RunClock, Transport, TransportError, submit_on_time,
};
use gridrig_protocol::client::{Client, ClientError};
use gridrig_protocol::tag::Tags;
use sender::Senders;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use store::JobStore;
use tokio::sync::{Mutex, mpsc, oneshot};
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
    /// What there is to know of jobs on other outlets than our own.
    pub unseen: Unseen,
    /// Whose the jobs in the logs of LRMSs are, where these were read.
    pub names: Names,
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
    config.knows_all(submissions)?;
    let client = Client::new(REQUEST).map_err(PlayError::Client)?;
    let (followers, mut news) = follow_all(config, &client);
    let (reports_in, mut reports) = mpsc::unbounded_channel();
    let tags = Tags::of_run(&config.run_id);
    let transport = Arc::new(HttpTransport {
        ways: native(config, &client),
        tags: tags.clone(),
    });
    let mut senders = Senders::new(&config.outlets.ways, tags.clone());
    let (observed_in, mut observed) = mpsc::unbounded_channel();
    let readers = Readers::start(config, &client, &tags, submissions, &observed_in);
    let mut store = JobStore::new(config, submissions.len(), recorder.clone());
    let mut outbox = Outbox::new(config.clock, transport, reports_in);
    let (letters_in, mut envelopes) = mpsc::unbounded_channel();
    let (halt, halted) = oneshot::channel::<()>();
    let mut told = recorder.clone();
    let hand_over = |submission: &Submission| letters_in.send(submission.clone()).is_ok();
    let halted = Box::pin(async move { drop(halted.await) });
    let submit = submit_on_time(config.clock, submissions, &mut told, hand_over, halted);
    tokio::pin!(submit, stop);
    let mut handover = None;
    let mut tick = tokio::time::interval(PROGRESS);
    loop {
        if handover.is_some() && envelopes.is_empty() && store.is_done() {
            break;
        }
        tokio::select! {
            biased;
            () = &mut stop => {
                store.played.interrupted = true;
                senders.remove_all().await;
                break;
            }
            Some(submission) = envelopes.recv() => {
                let envelope = store.open(&submission);
                match senders.has(submission.entry) {
                    true => senders.send(submission.entry, &envelope),
                    false => outbox.post(envelope),
                }
            }
            Some(answer) = senders.answers.recv() => store.answered(answer),
            Some(told) = senders.told.recv() => store.told(&told),
            Some(observation) = observed.recv() => store.observed(&observation),
            Some(report) = reports.recv() => store.delivered(report),
            Some(item) = news.recv() => store.hear(item).into_iter().for_each(|envelope| outbox.post(envelope)),
            done = &mut submit, if handover.is_none() => handover = Some(done),
            _ = tick.tick() => {
                store.review(handover.is_some());
                for (entry, job, goes_on) in store.done_with.drain(..) {
                    senders.forget(entry, job, goes_on);
                }
                progress(store.progress());
            }
        }
    }
    drop(halt);
    let handover = match handover {
        Some(done) => done,
        None => submit.await,
    };
    drop(followers);
    senders.stop().await;
    for observation in readers.finish(observed).await {
        store.observed(&observation);
    }
    progress(store.progress());
    Ok(store.close(handover))
}

/// How long a request of the player may take.
const REQUEST: Duration = Duration::from_secs(10);
/// Time between two calls of `progress`.
const PROGRESS: Duration = Duration::from_millis(250);
/// How long a service may hold a request for ends.
const WAIT: Duration = Duration::from_secs(10);

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
            Err(PlayError::NoAddress { job, entry })
        })
    }
}

/// Begins to follow the ends at every service of ours; that ends when the tasks
/// are dropped.
fn follow_all(
    config: &PlayConfig,
    client: &Client,
) -> (JoinSet<()>, mpsc::UnboundedReceiver<store::News>) {
    let (news_in, news) = mpsc::unbounded_channel();
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
    (followers, news)
}

/// What our own interface is spoken with.
fn native(config: &PlayConfig, client: &Client) -> BTreeMap<Entry, Native> {
    let entries = config.entries.iter();
    entries
        .map(|(entry, url)| (*entry, Native::new(client.clone(), url)))
        .collect()
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
            let after = Arc::new(Mutex::new(0));
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
            readers.tasks.spawn(reader().run());
            readers.again.push(reader());
        }
        readers
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
                Ok(Err(error)) => tracing::warn!(%error, "a log is not read to its end"),
                Err(_) => tracing::warn!(url = reader.url, "a log is not read to its end"),
            }
        }
        std::iter::from_fn(|| unheard.try_recv().ok()).collect()
    }
}

/// Submits over HTTP.
struct HttpTransport {
    ways: BTreeMap<Entry, Native>,
    tags: Tags,
}

impl Transport for HttpTransport {
    type Message = Submit;

    async fn deliver(&self, envelope: &Envelope<Submit>) -> Result<(), TransportError> {
        let Some(way) = self.ways.get(&envelope.message.entry) else {
            return Err(nowhere("nobody", "there is no such entry"));
        };
        way.submit(&ticket(envelope, &self.tags)).await
    }

    async fn sample(&self, cluster: ClusterId) -> Result<LoadSample, TransportError> {
        Err(nowhere(&cluster.to_string(), "the player reads no load"))
    }
}

/// The job that a message brings.
fn ticket(envelope: &Envelope<Submit>, tags: &Tags) -> Ticket {
    let Submit { spec, key, .. } = &envelope.message;
    Ticket {
        tag: tags.tag(spec),
        job: spec.clone(),
        key: key.clone(),
        due: envelope.due,
    }
}

fn nowhere(to: &str, why: &str) -> TransportError {
    TransportError::NotReached {
        to: to.to_owned(),
        why: why.to_owned(),
    }
}
