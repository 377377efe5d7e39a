//! Outlets at work: so many submissions at a time, the others wait their turn.

use super::ticket;
use crate::outlet::Outlet;
use gridrig_core::agent::{Envelope, Submit};
use gridrig_core::ids::JobId;
use gridrig_core::job::Entry;
use gridrig_core::message::JobEnd;
use gridrig_drivers::real_time::TransportError;
use gridrig_protocol::tag::Tags;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

/// Whether an outlet has taken a job.
pub(super) struct Answered {
    pub job: JobId,
    pub result: Result<(), TransportError>,
    /// Whether it had to wait for its turn.
    pub waited: bool,
}

/// What a broker says of a job that it has taken: how it ended, or that it has
/// not.
pub(super) struct Told {
    pub job: JobId,
    pub end: Option<JobEnd>,
}

/// One sender for each outlet.
pub(super) struct Senders {
    senders: BTreeMap<Entry, Sender>,
    tags: Tags,
    under_way: JoinSet<()>,
    answers_in: mpsc::UnboundedSender<Answered>,
    pub answers: mpsc::UnboundedReceiver<Answered>,
    pub told: mpsc::UnboundedReceiver<Told>,
}

struct Sender {
    outlet: Arc<dyn Outlet>,
    slots: Arc<Semaphore>,
    /// Jobs that were taken and are asked about.
    followed: Arc<Mutex<BTreeSet<JobId>>>,
}

/// Time between two rounds of questions about all jobs of an outlet.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// How long jobs may take to be removed when a run is broken off.
const REMOVAL: Duration = Duration::from_secs(10);

impl Senders {
    pub fn new(ways: &BTreeMap<Entry, Arc<dyn Outlet>>, tags: Tags) -> Self {
        let (told_in, told) = mpsc::unbounded_channel();
        let mut under_way = JoinSet::new();
        let mut sender = |outlet: &Arc<dyn Outlet>| {
            let followed = Arc::default();
            if outlet.follows() {
                let (outlet, followed) = (Arc::clone(outlet), Arc::clone(&followed));
                under_way.spawn(follow(outlet, followed, told_in.clone()));
            }
            Sender {
                outlet: Arc::clone(outlet),
                slots: Arc::new(Semaphore::new(outlet.at_once())),
                followed,
            }
        };
        let (answers_in, answers) = mpsc::unbounded_channel();
        Senders {
            senders: ways.iter().map(|(at, way)| (*at, sender(way))).collect(),
            tags,
            under_way,
            answers_in,
            answers,
            told,
        }
    }

    /// Nothing more is to be found out about a job. One that goes on all the
    /// same is removed where that can be asked for.
    pub fn forget(&mut self, entry: Entry, job: JobId, goes_on: bool) {
        let Some(sender) = self.senders.get(&entry) else {
            return;
        };
        if lock(&sender.followed).remove(&job) && goes_on {
            let outlet = Arc::clone(&sender.outlet);
            self.under_way
                .spawn(async move { remove(&outlet, job).await });
        }
    }

    /// Has everything removed that was taken and has not ended, for a run that
    /// is broken off.
    pub async fn remove_all(&mut self) {
        let all = async {
            for sender in self.senders.values() {
                let left = std::mem::take(&mut *lock(&sender.followed));
                for job in left {
                    remove(&sender.outlet, job).await;
                }
            }
        };
        if tokio::time::timeout(REMOVAL, all).await.is_err() {
            tracing::warn!("not every job could be removed from its broker in time");
        }
    }

    pub fn has(&self, entry: Entry) -> bool {
        self.senders.contains_key(&entry)
    }

    /// Hands a job to its outlet, in its turn.
    pub fn send(&mut self, entry: Entry, envelope: &Envelope<Submit>) {
        while self.under_way.try_join_next().is_some() {}
        let Some(sender) = self.senders.get(&entry) else {
            return;
        };
        let ticket = ticket(envelope, &self.tags);
        let (outlet, slots) = (Arc::clone(&sender.outlet), Arc::clone(&sender.slots));
        let answers = self.answers_in.clone();
        let followed = outlet.follows().then(|| Arc::clone(&sender.followed));
        let waited = slots.available_permits() == 0;
        self.under_way.spawn(async move {
            // Those that wait are served in order; nobody closes the slots.
            let _slot = slots.acquire_owned().await;
            let result = outlet.submit(&ticket).await;
            let job = ticket.job.id;
            if let Some(followed) = followed.filter(|_| result.is_ok()) {
                lock(&followed).insert(job);
            }
            // The player may have stopped.
            let _ = answers.send(Answered {
                job,
                result,
                waited,
            });
        });
    }

    /// Breaks off what is under way.
    pub async fn stop(&mut self) {
        self.under_way.shutdown().await;
    }
}

/// Asks about every job of an outlet, again and again, until each has ended.
async fn follow(
    outlet: Arc<dyn Outlet>,
    followed: Arc<Mutex<BTreeSet<JobId>>>,
    told: mpsc::UnboundedSender<Told>,
) {
    while !told.is_closed() {
        tokio::time::sleep(ASK_EVERY).await;
        let open: Vec<JobId> = lock(&followed).iter().copied().collect();
        for job in open {
            match outlet.stands(job).await {
                Ok(end) => {
                    if end.is_some() {
                        lock(&followed).remove(&job);
                    }
                    // The player may have stopped.
                    let _ = told.send(Told { job, end });
                }
                Err(error) => {
                    tracing::debug!(%error, "a broker does not say how its jobs stand");
                    break;
                }
            }
        }
    }
}

async fn remove(outlet: &Arc<dyn Outlet>, job: JobId) {
    if let Err(error) = outlet.cancel(job).await {
        tracing::warn!(job = job.0, %error, "a job could not be removed from its broker");
    }
}

fn lock(jobs: &Mutex<BTreeSet<JobId>>) -> MutexGuard<'_, BTreeSet<JobId>> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner)
}
