//! The execution driver.

use super::clusters::{ClusterArgs, Known};
use super::filter::{self, Request, say};
use super::job;
use crate::exit::Failure;
use gridrig_core::time::SimDuration;
use gridrig_protocol::client::ClientError;
use gridrig_protocol::rest::JobStatus;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// How long a cluster may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Jobs that have ended and are still answered for.
const KEEP_ENDED: usize = 10_000;

pub(super) struct Driver(Arc<Inner>);

struct Inner {
    known: Known,
    default: SimDuration,
    jobs: Mutex<Jobs>,
}

/// The jobs by gwd's numbers.
#[derive(Default)]
struct Jobs {
    by_number: BTreeMap<String, Job>,
    /// Those that have ended, oldest first.
    ended: VecDeque<String>,
}

#[derive(Clone)]
struct Job {
    /// The address of its cluster.
    url: String,
    /// Its number there.
    id: u32,
    /// What gwd has been told last.
    told: State,
    /// Whether gwd has its contact: it expects to hear nothing of it before.
    known: bool,
    /// Whether gwd wants it cancelled.
    unwanted: bool,
}

/// A state in gwd's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
enum State {
    Pending,
    Active,
    Done,
    Failed,
}

impl State {
    fn is_over(self) -> bool {
        matches!(self, State::Done | State::Failed)
    }

    /// GridWay's own BES driver calls a cancelled job done: gwd waits for
    /// that word when it has cancelled one. One that somebody else has cancelled, at the
    /// cluster, has failed.
    fn of(job: &JobStatus, unwanted: bool) -> Self {
        match job.state.as_str() {
            "running" => State::Active,
            "completed" => State::Done,
            "cancelled" if unwanted => State::Done,
            "rejected" | "failed" | "cancelled" => State::Failed,
            _ => State::Pending,
        }
    }
}

impl Jobs {
    /// Notes where a job stands; `false` if gwd knows it already.
    fn tell(&mut self, number: &str, state: State) -> bool {
        let Some(job) = self.by_number.get_mut(number) else {
            return false;
        };
        if job.told == state || job.told.is_over() {
            return false;
        }
        job.told = state;
        if state.is_over() {
            self.ended.push_back(number.to_owned());
            if self.ended.len() > KEEP_ENDED
                && let Some(oldest) = self.ended.pop_front()
                // Its number may have been given to another job since.
                && self.by_number.get(&oldest).is_some_and(|job| job.told.is_over())
            {
                self.by_number.remove(&oldest);
            }
        }
        true
    }
}

impl Driver {
    pub(super) fn new(args: ClusterArgs, default: SimDuration) -> Result<Self, Failure> {
        Ok(Driver(Arc::new(Inner {
            known: Known::new(args, TIMEOUT)?,
            default,
            jobs: Mutex::default(),
        })))
    }

    /// Looks at the jobs that have not ended, again and again, and tells gwd
    /// what has changed without being asked.
    pub(super) fn watch(&self, interval: Duration) {
        let inner = Arc::clone(&self.0);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(interval).await;
                inner.look().await;
            }
        });
    }
}

impl Inner {
    async fn look(self: &Arc<Self>) {
        let jobs = self.jobs.lock().await;
        let mut by_cluster: BTreeMap<String, Vec<(String, Job)>> = BTreeMap::new();
        for (number, job) in &jobs.by_number {
            if job.known && !job.told.is_over() {
                let entry = (number.clone(), job.clone());
                by_cluster.entry(job.url.clone()).or_default().push(entry);
            }
        }
        drop(jobs);
        let mut looking = tokio::task::JoinSet::new();
        for (url, jobs) in by_cluster {
            let inner = Arc::clone(self);
            looking.spawn(async move {
                for (number, job) in jobs {
                    if !inner.look_at(&number, &job).await {
                        // The others of this cluster would not be heard of
                        // either; they are asked for in the next round.
                        tracing::warn!(url, "the cluster does not answer");
                        return;
                    }
                }
            });
        }
        while looking.join_next().await.is_some() {}
    }

    /// Whether the cluster has answered.
    async fn look_at(&self, number: &str, job: &Job) -> bool {
        let found = self.known.client.job(&job.url, job.id).await;
        let mut jobs = self.jobs.lock().await;
        let now = jobs.by_number.get(number);
        let unwanted = now.is_some_and(|now| now.unwanted);
        // A cancelled and submitted again job has another number there.
        let same = now.is_some_and(|now| now.id == job.id);
        let (state, why) = match found {
            Ok(status) => {
                let state = State::of(&status, unwanted);
                (state, status.reason.or(Some(status.state)))
            }
            Err(ClientError::Problem(_, problem)) if problem.code == "unknown-job" => {
                (State::Failed, Some(problem.code))
            }
            Err(_) => return false,
        };
        if same && jobs.tell(number, state) {
            say(&callback(number, state, why.as_deref()));
        }
        true
    }

    async fn submit(&self, number: &str, contact: &str, rsl: &str) -> Result<String, String> {
        let name = contact.split('/').next().unwrap_or_default();
        let url = self.known.url(name).await?;
        let submission = job::read(Path::new(rsl), self.default);
        let submission = submission.map_err(|error| format!("{error:#}"))?;
        let receipt = self.known.client.submit(&url, &submission).await;
        let receipt = receipt.map_err(|error| error.to_string())?;
        self.follow(number, &url, receipt.id).await;
        Ok(format!("{name}/{}", receipt.id))
    }

    async fn follow(&self, number: &str, url: &str, id: u32) {
        let job = Job {
            url: url.to_owned(),
            id,
            told: State::Pending,
            known: false,
            unwanted: false,
        };
        let mut jobs = self.jobs.lock().await;
        jobs.by_number.insert(number.to_owned(), job);
    }

    async fn poll(&self, number: &str) -> Result<String, String> {
        let job = self.job(number).await?;
        let status = self.known.client.job(&job.url, job.id).await;
        let state = State::of(&status.map_err(|error| error.to_string())?, job.unwanted);
        self.jobs.lock().await.tell(number, state);
        Ok(state.to_string())
    }

    async fn recover(&self, number: &str, contact: &str) -> Result<String, String> {
        let parts = contact.rsplit_once('/');
        let parts = parts.and_then(|(name, id)| Some((name, id.parse::<u32>().ok()?)));
        let (name, id) =
            parts.ok_or_else(|| format!("contact {contact}: expected what SUBMIT has answered"))?;
        let url = self.known.url(name).await?;
        let status = self.known.client.job(&url, id).await;
        let state = State::of(&status.map_err(|error| error.to_string())?, false);
        self.follow(number, &url, id).await;
        self.jobs.lock().await.tell(number, state);
        Ok(state.to_string())
    }

    async fn cancel(&self, number: &str) -> Result<String, String> {
        let job = self.job(number).await?;
        // Before: whoever looks meanwhile sees why it is cancelled.
        if let Some(job) = self.jobs.lock().await.by_number.get_mut(number) {
            job.unwanted = true;
        }
        let status = self.known.client.cancel(&job.url, job.id, None).await;
        status
            .map(|_| "-".to_owned())
            .map_err(|error| error.to_string())
    }

    async fn job(&self, number: &str) -> Result<Job, String> {
        let jobs = self.jobs.lock().await;
        let job = jobs.by_number.get(number).cloned();
        job.ok_or_else(|| format!("job {number}: expected one that was submitted or recovered"))
    }
}

impl filter::Driver for Driver {
    async fn handle(&self, request: &Request) -> Result<String, String> {
        let (inner, number) = (&self.0, request.id.as_str());
        match request.operation.as_str() {
            "INIT" => Ok("-".to_owned()),
            "SUBMIT" => inner.submit(number, request.word(0), request.word(1)).await,
            "POLL" => inner.poll(number).await,
            "RECOVER" => inner.recover(number, request.word(0)).await,
            "CANCEL" => inner.cancel(number).await,
            other => Err(format!(
                "operation {other}: expected INIT, SUBMIT, POLL, RECOVER or CANCEL"
            )),
        }
    }

    async fn said(&self, request: &Request) {
        if matches!(request.operation.as_str(), "SUBMIT" | "RECOVER") {
            let mut jobs = self.0.jobs.lock().await;
            if let Some(job) = jobs.by_number.get_mut(&request.id) {
                job.known = true;
            }
        }
    }
}

/// What gwd is told unasked. `SUCCESS FAILED` means to it that its user has
/// cancelled the job, which it then takes for done; a job that has failed is a
/// `FAILURE` (`gw_em_listener.c`; GridWay's own driver for GRAM does so too).
fn callback(number: &str, state: State, why: Option<&str>) -> String {
    match state {
        State::Failed => format!("CALLBACK {number} FAILURE {}", why.unwrap_or("failed")),
        state => format!("CALLBACK {number} SUCCESS {state}"),
    }
}
