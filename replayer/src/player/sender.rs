//! What the client says, sent off: to services of ours one message after the
//! other, to outlets so many submissions at a time, and questions whose answers
//! may take their time beside all that.

use super::{PlayConfig, request_of, wall};
use crate::outlet::{Native, Outlet, Result};
use gridrig_core::agent::{Envelope, FromClient, Published, Stands, ToEntry};
use gridrig_core::event::Party;
use gridrig_core::ids::JobId;
use gridrig_core::job::Entry;
use gridrig_drivers::faults::Faults;
use gridrig_drivers::real_time::{Delivery, Outbox, RunClock, Transport, TransportError};
use gridrig_protocol::client::Client;
use gridrig_protocol::tag::Tags;
use std::any::Any;
use std::collections::BTreeMap;
use std::future::{pending, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

/// What comes back.
pub(super) enum Heard {
    /// How a message fared that went by no [`Outbox`], and whether it had to wait
    /// for its turn.
    Fate(Delivery<FromClient>, bool),
    Ends(Published),
    Stands(Stands),
}

/// The ways to everybody.
pub(super) struct Senders {
    services: Arc<Services>,
    outbox: Outbox<Services>,
    outlets: BTreeMap<Entry, (Arc<dyn Outlet>, Arc<Semaphore>)>,
    clock: RunClock,
    tags: Tags,
    under_way: JoinSet<()>,
    heard: mpsc::UnboundedSender<Heard>,
}

/// How long jobs may take to be removed when a run is broken off.
const REMOVAL: Duration = Duration::from_secs(10);

impl Senders {
    pub fn new(
        config: &PlayConfig,
        client: &Client,
        tags: &Tags,
        reports: mpsc::UnboundedSender<Delivery<FromClient>>,
        heard: mpsc::UnboundedSender<Heard>,
    ) -> Self {
        let ways = config.entries.iter();
        let services = Arc::new(Services {
            ways: ways
                .map(|(entry, url)| (*entry, Native::new(client.clone(), url)))
                .collect(),
            tags: tags.clone(),
            faults: config.faults.clone(),
        });
        let outlets = config.outlets.ways.iter();
        let slots = |outlet: &Arc<dyn Outlet>| Arc::new(Semaphore::new(outlet.at_once()));
        Senders {
            outbox: Outbox::new(config.clock, Arc::clone(&services), reports),
            services,
            clock: config.clock,
            outlets: outlets
                .map(|(entry, outlet)| (*entry, (Arc::clone(outlet), slots(outlet))))
                .collect(),
            tags: tags.clone(),
            under_way: JoinSet::new(),
            heard,
        }
    }

    pub fn send(&mut self, envelope: Envelope<FromClient>) {
        let (heard, to) = (self.heard.clone(), envelope.message.to);
        if let ToEntry::Ends { after, wait } = envelope.message.said {
            let (services, now) = (Arc::clone(&self.services), self.clock.now());
            let way = (Party::Client, to.into());
            self.under_way.spawn(async move {
                let answer = match services.ways.get(&to) {
                    Some(outlet) => {
                        let ends = outlet.ends(to, after, wall(wait));
                        services.faults.carry(now, way, false, ends).await
                    }
                    None => Err(nobody()),
                };
                // The player may have stopped.
                let _ = heard.send(match answer {
                    Ok(page) => Heard::Ends(page),
                    Err(error) => failed(envelope, error),
                });
            });
            return;
        }
        let Some((outlet, slots)) = self.outlets.get(&to) else {
            return self.outbox.post(envelope);
        };
        let (outlet, slots) = (Arc::clone(outlet), Arc::clone(slots));
        let (waited, tags) = (slots.available_permits() == 0, self.tags.clone());
        self.under_way.spawn(async move {
            if let ToEntry::Query(job) = envelope.message.said {
                let by = to;
                let _ = heard.send(match outlet.stands(job).await {
                    Ok(end) => Heard::Stands(Stands { by, job, end }),
                    Err(error) => {
                        tracing::debug!(%error, "the state of a job at a broker cannot be read");
                        failed(envelope, error)
                    }
                });
                return;
            }
            // Those that wait are served in order; nobody closes the slots.
            let _slot = match envelope.message.said {
                ToEntry::Submit(_) => slots.acquire_owned().await.ok(),
                _ => None,
            };
            let result = hand_over(&*outlet, &envelope, &tags).await;
            let _ = heard.send(Heard::Fate(Delivery { envelope, result }, waited));
        });
    }

    /// Sends what a client has said before it was restarted, and does not know to have
    /// arrived.
    pub fn send_again(&mut self, envelope: Envelope<FromClient>) {
        self.outbox.post_again(envelope);
    }

    /// Has jobs removed, for a run that is broken off.
    pub async fn remove(&mut self, requests: Vec<Envelope<FromClient>>) {
        let all = async {
            for request in requests {
                if let Some((outlet, _)) = self.outlets.get(&request.message.to) {
                    let _ = hand_over(&**outlet, &request, &self.tags).await;
                }
            }
        };
        if tokio::time::timeout(REMOVAL, all).await.is_err() {
            tracing::warn!("not every job could be removed from its broker in time");
        }
    }

    /// Waits until a task that sends has panicked, and goes on with an error that says of
    /// what: nobody would hear what it had to say.
    pub async fn panicked(&mut self) {
        let (outbox, under_way) = (&mut self.outbox, &mut self.under_way);
        let any = async {
            tokio::select! {
                () = outbox.panicked() => {}
                () = panic_of(under_way) => {}
            }
        };
        resume_unwind(Box::new(error_of("a task that hands jobs over", any).await))
    }

    /// Breaks off what is under way.
    pub async fn stop(&mut self) {
        self.under_way.shutdown().await;
    }
}

/// Waits until one of the tasks has panicked, and goes on with its panic.
pub(super) async fn panic_of(tasks: &mut JoinSet<()>) {
    while let Some(ended) = tasks.join_next().await {
        if let Some(panic) = ended.err().and_then(|error| error.try_into_panic().ok()) {
            resume_unwind(panic);
        }
    }
    pending::<()>().await;
}

/// Waits for a panic of `any`; answers an error that says of what and `whose`, or the error
/// that it was.
pub(super) async fn error_of(whose: &str, any: impl Future<Output = ()>) -> io::Error {
    let mut any = pin!(any);
    let panic: Box<dyn Any + Send> = poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| any.as_mut().poll(context)));
        polled.map_or_else(Poll::Ready, |_| Poll::Pending)
    })
    .await;
    match panic.downcast::<io::Error>() {
        Ok(error) => *error,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref().copied());
            let text = text.unwrap_or("a panic");
            io::Error::other(format!("{whose} panicked: {text}"))
        }
    }
}

/// Hands a job over, or has one removed.
async fn hand_over(
    outlet: &dyn Outlet,
    envelope: &Envelope<FromClient>,
    tags: &Tags,
) -> Result<()> {
    match &envelope.message.said {
        ToEntry::Submit(job) => outlet.submit(&request_of(job, envelope.due, tags)).await,
        ToEntry::Cancel(job) => removed(*job, outlet.cancel(*job).await),
        // These are no messages but questions, with answers of their own.
        ToEntry::Query(_) | ToEntry::Ends { .. } => Ok(()),
    }
}

fn removed(job: JobId, result: Result<()>) -> Result<()> {
    if let Err(error) = &result {
        tracing::warn!(job = job.0, %error, "a job could not be removed from its broker");
    }
    result
}

fn failed(envelope: Envelope<FromClient>, error: TransportError) -> Heard {
    let result = Err(error);
    Heard::Fate(Delivery { envelope, result }, false)
}

/// Services of ours, over HTTP.
struct Services {
    ways: BTreeMap<Entry, Native>,
    tags: Tags,
    faults: Faults,
}

impl Transport for Services {
    type Message = FromClient;

    fn faults(&self) -> Faults {
        self.faults.clone()
    }

    async fn deliver(&self, envelope: &Envelope<FromClient>) -> Result<()> {
        match self.ways.get(&envelope.message.to) {
            Some(way) => hand_over(way, envelope, &self.tags).await,
            None => Err(nobody()),
        }
    }
}

fn nobody() -> TransportError {
    TransportError::not_reached("nobody", "there is no such entry")
}

#[cfg(test)]
mod tests {
    use super::super::{Outlets, Patience, Readers, play};
    use super::*;
    use crate::outlet::{Answer, SubmitRequest};
    use gridrig_core::ids::DomainId;
    use gridrig_core::job::{JobLabel, JobSpec, Submission};
    use gridrig_core::time::{Decimal, SimDuration, SimTime};
    use gridrig_drivers::real_time::Recorder;

    #[derive(Debug)]
    struct Broken;

    impl Outlet for Broken {
        fn submit<'a>(&'a self, _request: &'a SubmitRequest) -> Answer<'a> {
            panic!("a broken invariant")
        }
    }

    /// Plays a job for which there is that outlet.
    async fn play_one() -> bool {
        let entry = Entry::Domain(DomainId(0));
        let way: Arc<dyn Outlet> = Arc::new(Broken);
        let config = PlayConfig {
            entries: BTreeMap::new(),
            outlets: Outlets {
                ways: BTreeMap::from([(entry, way)]),
                ..Outlets::default()
            },
            clock: RunClock::starting_in(Duration::ZERO, Decimal::ONE),
            run_id: "broken".to_owned(),
            patience: Patience::default(),
            faults: Faults::default(),
        };
        let job = Submission {
            spec: JobSpec::rigid(JobId(0), 1, SimDuration::from_secs(1)),
            at: SimTime::ZERO,
            entry,
            label: JobLabel::default(),
        };
        let stop = tokio::time::sleep(Duration::from_secs(60));
        let (jobs, recorder) = ([job], Recorder::default());
        let played = play(&config, &jobs, &recorder, stop, |_| {});
        played.await.is_ok()
    }

    #[test]
    fn a_panic_of_a_task_that_hands_jobs_over_ends_the_run_and_is_named() {
        let run = std::thread::spawn(|| {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().unwrap();
            runtime.block_on(play_one())
        });
        let panic = run.join().unwrap_err();
        let why = panic.downcast::<io::Error>().unwrap().to_string();
        assert!(why.contains("over panicked: a broken invariant"), "{why}");
    }

    #[tokio::test]
    async fn a_panic_of_a_task_that_reads_logs_is_named_and_an_end_is_none() {
        let why_of = async |task: fn()| {
            let mut tasks = JoinSet::new();
            tasks.spawn(async {});
            tasks.spawn(async move { task() });
            let mut readers = Readers {
                tasks,
                again: Vec::new(),
            };
            readers.failed().await.to_string()
        };
        let why = why_of(|| panic!("a broken line")).await;
        assert_eq!(why, "a task that reads logs panicked: a broken line");
        let why = why_of(|| resume_unwind(Box::new(io::Error::other("forgotten")))).await;
        assert_eq!(why, "forgotten");
    }
}
