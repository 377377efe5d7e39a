//! The peer protocol of LA Grid: jobs are submitted in a session with a broker,
//! of which the replayer is a consumer, and asked about until they end.

use super::{Answer, Fate, Outlet, Result, SubmitRequest};
use gridrig_core::agent::{Ask, PeerLink};
use gridrig_core::ids::JobId;
use gridrig_core::job::Reason;
use gridrig_core::message::{EndState, JobEnd};
use gridrig_core::session::{Auth, Beat, Roles, Stance};
use gridrig_core::time::{SimDuration, SimTime, WallTime};
use gridrig_drivers::real_time::TransportError;
use gridrig_protocol::client::ClientError;
use gridrig_protocol::jsdl::JobDefinition;
use gridrig_protocol::lagrid::{
    CancelJob, Codec, Form, Heartbeat, Initiator, JobLanguage, JobReport, JobState, NoConnection,
    OpenConn, PeerClient, PeerError, QueryJob, Reference, Request, ResourceLanguage, SubmitJob,
};
use gridrig_protocol::soap::ANONYMOUS;
use parking_lot::Mutex as Lock;
use std::collections::BTreeMap;
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Submits to a broker that speaks LA Grid, in SOAP or JSON.
///
/// The session is opened with the first job, kept alive by heartbeats, and
/// opened anew where the broker has forgotten it. The replayer takes no
/// messages: it asks about its jobs with `queryJob`.
#[derive(Debug)]
pub struct LaGrid {
    client: PeerClient,
    url: String,
    /// The initiator that the broker knows this program as.
    initiator: Initiator,
    link: Arc<Lock<PeerLink>>,
    /// One request at a time finds the session closed and opens it.
    opening: Mutex<Option<Heart>>,
    began: Instant,
    /// What the broker calls each job.
    placed: Lock<BTreeMap<JobId, u32>>,
}

/// Rounds of a negotiation.
const ROUNDS: u32 = 5;
/// What is proposed as time between heartbeats, and what is accepted.
const HEARTBEAT: SimDuration = SimDuration::from_secs(5);
const SHORTEST: SimDuration = SimDuration::from_millis(50);
const LONGEST: SimDuration = SimDuration::from_secs(86_400);
/// Tries of a request that a busy broker turns away, and the time between.
const TRIES: u32 = 40;
const BREATH: Duration = Duration::from_millis(250);
/// When a broker that is away is given up: jobs are, sessions are not.
const NEVER: SimDuration = SimDuration::from_nanos(u64::MAX);

/// The heartbeats of a session, which end with it.
#[derive(Debug)]
struct Heart(JoinHandle<()>);

impl Drop for Heart {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl LaGrid {
    /// The broker at this base URL, which knows this program as the initiator
    /// `name`; `life` is greater than those of earlier programs of the name.
    pub fn new(client: PeerClient, codec: Codec, (url, name): (&str, &str), life: u64) -> Self {
        LaGrid {
            client: client.speaking(codec),
            url: url.trim_end_matches('/').to_owned(),
            initiator: Initiator {
                name: name.to_owned(),
                // It cannot be called.
                endpoint: Reference::of(ANONYMOUS),
                incarnation: life,
                stance: stance(),
            },
            link: Arc::new(Lock::new(PeerLink::new(true, NEVER))),
            opening: Mutex::default(),
            began: Instant::now(),
            placed: Lock::default(),
        }
    }

    /// The name of the open connection, which is opened if there is none. Goes on with a
    /// panic of the heartbeats: the broker would forget one session after the other.
    async fn connection(&self) -> Result<Arc<str>> {
        let mut heart = self.opening.lock().await;
        if let Some(mut ended) = heart.take_if(|heart| heart.0.is_finished())
            && let Err(error) = (&mut ended.0).await
            && error.is_panic()
        {
            let why = format!("the heartbeats of the session with {}: {error}", self.url);
            resume_unwind(Box::new(io::Error::other(why)));
        }
        if let Some(open) = self.link.lock().session().connection() {
            return Ok(Arc::clone(open));
        }
        let ask = |request: OpenConn| async move { self.ask(&request).await };
        let agreed = self.initiator.negotiate(None, ask).await;
        let agreed = agreed.map_err(|error| match error {
            NoConnection::Peer(error) => error.delivering(self.url.clone()),
            other => self.refused(&format!("no session: {other}")),
        })?;
        if !agreed.terms.roles.consumer {
            return Err(self.refused("the broker takes no jobs in this session"));
        }
        let name: Arc<str> = agreed.connection.into();
        let (now, life) = (since(self.began), agreed.incarnation);
        self.link
            .lock()
            .opened(now, Arc::clone(&name), agreed.terms, life);
        let beats = Beats {
            client: self.client.clone(),
            url: self.url.clone(),
            link: Arc::clone(&self.link),
            life: self.initiator.incarnation,
            began: self.began,
        };
        *heart = Some(Heart(tokio::spawn(beats.run(Arc::clone(&name)))));
        Ok(name)
    }

    /// One request; a broker that is busy is asked again.
    async fn ask<R: Request>(&self, request: &R) -> Result<R::Answer, PeerError> {
        let mut tries = 0;
        loop {
            match self.client.call(&self.url, request).await {
                Err(error) if error.fault().is_some() && error.is_passing() && tries < TRIES => {
                    tries += 1;
                    tokio::time::sleep(BREATH).await;
                }
                answer => return answer,
            }
        }
    }

    /// One request in the session, which is opened anew if the broker has
    /// forgotten it. A request without an answer is repeated once: a job is
    /// known by its key, everything else changes nothing a second time.
    async fn in_session<R: Request>(&self, request: impl Fn(String) -> R) -> Result<R::Answer> {
        let mut again = true;
        loop {
            let connection = self.connection().await?;
            let error = match self.ask(&request(connection.to_string())).await {
                Ok(answer) => {
                    self.link.lock().answered(since(self.began));
                    return Ok(answer);
                }
                Err(error) => error,
            };
            let forgotten = error.forgets();
            if forgotten {
                note(&self.link, &connection, since(self.began), Beat::Forgotten);
            }
            let repeat =
                forgotten || matches!(error, PeerError::Lost(ClientError::NoAnswer { .. }));
            if !(repeat && again) {
                return Err(error.delivering(self.url.clone()));
            }
            again = false;
        }
    }

    async fn hand_over(&self, request: &SubmitRequest) -> Result<()> {
        let plain = request.job.plain_component();
        plain.map_err(|why| TransportError::unsaid(&self.url, why))?;
        let job = JobDefinition::of(&request.job, Some(request.tag.clone()));
        let job = job.map_err(|why| TransportError::unsaid(&self.url, why))?;
        let submit = |connection| SubmitJob {
            connection,
            key: request.key.clone(),
            // It enters the grid there.
            origin: None,
            hop: 0,
            ttl: None,
            forwarder: None,
            meant_ns: None,
            job: job.clone(),
        };
        let answer = self.in_session(submit).await?;
        if answer.state == JobState::Rejected {
            let reason = answer.reason.as_deref();
            return Err(TransportError::Answered {
                to: self.url.clone(),
                status: 200,
                reason: reason.and_then(Reason::from_name),
                why: format!("rejected: {}", reason.unwrap_or("no reason is given")),
            });
        }
        self.placed.lock().insert(request.job.id, answer.job);
        Ok(())
    }

    async fn stands(&self, job: JobId) -> Result<Option<JobEnd>> {
        let Some(there) = self.name_there(job) else {
            return Ok(None);
        };
        let query = |connection| QueryJob {
            connection,
            job: there,
        };
        match self.in_session(query).await {
            Ok(report) => Ok(end_of(job, &report)),
            // It was restarted: nobody there will ever tell.
            Err(TransportError::Answered { status: 404, .. }) => {
                Ok(Some(JobEnd::without_run(job, EndState::LOST)))
            }
            Err(error) => Err(error),
        }
    }

    async fn remove(&self, job: JobId) -> Result<()> {
        let Some(there) = self.name_there(job) else {
            return Ok(());
        };
        let cancel = |connection| CancelJob {
            connection,
            job: there,
        };
        match self.in_session(cancel).await {
            // It has ended: there is nothing left to remove.
            Ok(_) | Err(TransportError::Answered { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn name_there(&self, job: JobId) -> Option<u32> {
        self.placed.lock().get(&job).copied()
    }

    fn refused(&self, why: &str) -> TransportError {
        TransportError::declined(&self.url, 409, why)
    }
}

fn since(began: Instant) -> WallTime {
    let nanos = began.elapsed().as_nanos();
    WallTime::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// What has become of a request in a session, unless another session has been
/// opened meanwhile; whether it has not.
fn note(link: &Lock<PeerLink>, connection: &Arc<str>, now: WallTime, beat: Beat) -> bool {
    let mut link = link.lock();
    let is_open = link.session().connection() == Some(connection);
    if is_open {
        link.beat(now, beat);
    }
    is_open
}

/// Signs of life of one session.
struct Beats {
    client: PeerClient,
    url: String,
    link: Arc<Lock<PeerLink>>,
    life: u64,
    began: Instant,
}

impl Beats {
    /// Beats until the broker knows the connection no more.
    async fn run(self, connection: Arc<str>) {
        let mut sequence = 0;
        loop {
            let wake = Duration::from_nanos(self.link.lock().wake().as_nanos());
            tokio::time::sleep_until(self.began + wake).await;
            let (_, ask) = self.link.lock().see_to(since(self.began));
            match ask {
                // The next request opens another session.
                Some(Ask::Open) => return,
                Some(Ask::Heartbeat) => sequence += 1,
                // A request that was answered meanwhile is as good.
                None => continue,
            }
            let sign = Heartbeat {
                connection: connection.to_string(),
                sequence,
                incarnation: self.life,
            };
            let beat = match self.client.call(&self.url, &sign).await {
                Ok(_) => Beat::Answered,
                Err(error) if error.forgets() => Beat::Forgotten,
                // Whether a silent broker lives is found out by the next request.
                Err(_) => Beat::Silence,
            };
            if !note(&self.link, &connection, since(self.began), beat) {
                return;
            }
        }
    }
}

/// What is agreed to: to consume what the broker provides.
fn stance() -> Stance {
    let languages = ResourceLanguage::ALL.iter();
    Stance {
        auth: vec![Auth::None],
        roles: Roles::CONSUMER,
        heartbeat: HEARTBEAT,
        shortest: SHORTEST,
        longest: LONGEST,
        job_languages: vec![JobLanguage::Jsdl.name().into()],
        resource_languages: languages.map(|one| one.name().into()).collect(),
        forms: vec![Form::Flat, Form::OneToN, Form::Unique, Form::NToN],
        rounds: ROUNDS,
    }
}

/// The end that a report tells of, if it tells of one.
fn end_of(job: JobId, report: &JobReport) -> Option<JobEnd> {
    let reason = report.reason.as_deref().and_then(Reason::from_name);
    let state = match report.state {
        JobState::Completed => EndState::Completed,
        JobState::Cancelled => EndState::Cancelled,
        JobState::Rejected => EndState::Rejected(reason.unwrap_or(Reason::AllRefused)),
        JobState::Failed => EndState::Failed(reason.unwrap_or(Reason::ServiceLost)),
        _ => return None,
    };
    Some(JobEnd {
        job,
        state,
        // The broker's number of a cluster says nothing here.
        cluster: None,
        start: report.start_ns.map(SimTime::from_nanos),
        finish: report.finish_ns.map(SimTime::from_nanos),
    })
}

impl Outlet for LaGrid {
    fn submit<'a>(&'a self, request: &'a SubmitRequest) -> Answer<'a> {
        Box::pin(self.hand_over(request))
    }

    fn follows(&self) -> bool {
        true
    }

    fn stands(&self, job: JobId) -> Fate<'_> {
        Box::pin(self.stands(job))
    }

    fn cancel(&self, job: JobId) -> Answer<'_> {
        Box::pin(self.remove(job))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_protocol::tls::peer_client;

    #[tokio::test]
    async fn a_panic_of_heartbeats_is_named_by_the_next_request() {
        let client = peer_client(None, Duration::from_secs(1)).unwrap();
        let broker = ("http://127.0.0.1:9", "replay");
        let outlet = LaGrid::new(client, Codec::default(), broker, 1);
        let beats: JoinHandle<()> = tokio::spawn(async { panic!("a broken invariant") });
        while !beats.is_finished() {
            tokio::task::yield_now().await;
        }
        *outlet.opening.lock().await = Some(Heart(beats));
        let asked = tokio::spawn(async move { outlet.connection().await.is_ok() });
        let panic = asked.await.unwrap_err().into_panic();
        let why = panic.downcast::<io::Error>().unwrap().to_string();
        assert!(why.contains("http://127.0.0.1:9: task "), "{why}");
        assert!(why.contains("a broken invariant"), "{why}");
    }
}
