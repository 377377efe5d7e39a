//! The peer protocol of LA Grid: jobs are submitted in a session with a broker,
//! of which the replayer is a consumer, and asked about until they end.

use super::{Answer, Fate, Outlet, Ticket};
use gridrig_core::ids::JobId;
use gridrig_core::job::Reason;
use gridrig_core::message::{EndState, JobEnd};
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::TransportError;
use gridrig_protocol::jsdl::JobDefinition;
use gridrig_protocol::lagrid::{
    AuthMethod, CancelJob, Codec, Heartbeat, JobLanguage, JobReport, JobState, OpenConn,
    PeerClient, PeerError, Proposal, QueryJob, Reference, Request, ResourceForm, ResourceLanguage,
    Role, SubmitJob, Verdict, codes,
};
use gridrig_protocol::rest::reason_of_code;
use std::collections::BTreeMap;
use std::sync::{Mutex as Lock, PoisonError};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

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
    name: String,
    session: Mutex<Option<Session>>,
    /// What the broker calls each job.
    placed: Lock<BTreeMap<JobId, u32>>,
    /// Which life of this program it is.
    life: u64,
}

/// Requests under way at a time: what was handed over first arrives first.
const AT_ONCE: usize = 1;
/// Rounds of a negotiation.
const ROUNDS: u32 = 5;
/// What is proposed as time between heartbeats.
const HEARTBEAT_MS: u64 = 5_000;
/// Tries of a request that a busy broker turns away, and the time between.
const TRIES: u32 = 40;
const BREATH: Duration = Duration::from_millis(250);
/// WS-Addressing's address of somebody who cannot be called.
const ANONYMOUS: &str = "http://www.w3.org/2005/08/addressing/anonymous";

/// An open session. Its heartbeats end with it.
#[derive(Debug)]
struct Session {
    connection: String,
    heart: JoinHandle<()>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.heart.abort();
    }
}

impl LaGrid {
    /// The broker at this base URL, which knows this program as the initiator
    /// `name`; `life` is greater than those of earlier programs of the name.
    #[must_use]
    pub fn new(client: PeerClient, codec: Codec, (url, name): (&str, &str), life: u64) -> Self {
        LaGrid {
            client: client.speaking(codec),
            url: url.trim_end_matches('/').to_owned(),
            name: name.to_owned(),
            session: Mutex::new(None),
            placed: Lock::default(),
            life,
        }
    }

    /// The name of the open connection, which is opened if there is none.
    async fn connection(&self) -> Result<String, TransportError> {
        let mut session = self.session.lock().await;
        if let Some(open) = session.as_ref().filter(|open| !open.heart.is_finished()) {
            return Ok(open.connection.clone());
        }
        let (connection, heartbeat) = self.negotiate().await?;
        let heart = Heart {
            client: self.client.clone(),
            url: self.url.clone(),
            connection: connection.clone(),
            life: self.life,
        };
        *session = Some(Session {
            connection: connection.clone(),
            heart: tokio::spawn(heart.beat(heartbeat)),
        });
        Ok(connection)
    }

    /// `openConn`, round after round, until the sides agree.
    async fn negotiate(&self) -> Result<(String, Duration), TransportError> {
        let mut proposal = wanted();
        let mut connection = None;
        for round in 1..=ROUNDS {
            let request = OpenConn {
                initiator: self.name.clone(),
                endpoint: Reference::of(ANONYMOUS),
                incarnation: self.life,
                connection: connection.take(),
                round,
                max_rounds: ROUNDS,
                proposal: proposal.clone(),
            };
            let answer = self.ask(&request).await;
            let answer = answer.map_err(|error| error.delivering(self.url.clone()))?;
            match answer.verdict {
                Verdict::Accepted(terms) => {
                    let fits = terms.initiator_roles.contains(&Role::Consumer)
                        && terms.responder_roles.contains(&Role::Provider);
                    let heartbeat = Duration::from_millis(terms.heartbeat_ms);
                    return match fits {
                        true => Ok((answer.connection, heartbeat)),
                        false => Err(self.refused("the broker takes no jobs in this session")),
                    };
                }
                Verdict::Counter(counter) => {
                    proposal = meet(&proposal, counter);
                    connection = Some(answer.connection);
                }
                Verdict::Refused(refusal) => {
                    let why = format!("no session: {}: {}", refusal.code, refusal.reason);
                    return Err(self.refused(&why));
                }
            }
        }
        Err(self.refused("no session: no agreement within the rounds allowed"))
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
    async fn in_session<R: Request>(
        &self,
        request: impl Fn(String) -> R,
    ) -> Result<R::Answer, TransportError> {
        let mut again = true;
        loop {
            let connection = self.connection().await?;
            let error = match self.ask(&request(connection.clone())).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let forgotten = error.fault().is_some_and(|fault| forgets(&fault.code));
            if forgotten {
                let mut session = self.session.lock().await;
                if session.as_ref().is_some_and(|s| s.connection == connection) {
                    *session = None;
                }
            }
            let repeat = forgotten || matches!(error, PeerError::NoAnswer { .. });
            if !(repeat && again) {
                return Err(error.delivering(self.url.clone()));
            }
            again = false;
        }
    }

    async fn hand_over(&self, ticket: &Ticket) -> Result<(), TransportError> {
        let job = JobDefinition::of(&ticket.job, Some(ticket.tag.clone()));
        let request = |connection| SubmitJob {
            connection,
            key: ticket.key.clone(),
            // It enters the grid there.
            origin: None,
            hop: 0,
            ttl: None,
            forwarder: None,
            meant_ns: None,
            job: job.clone(),
        };
        let answer = self.in_session(request).await?;
        if answer.state == JobState::Rejected {
            let reason = answer.reason.as_deref();
            return Err(TransportError::Answered {
                to: self.url.clone(),
                status: 200,
                reason: reason.and_then(reason_of_code),
                why: format!("rejected: {}", reason.unwrap_or("no reason is given")),
            });
        }
        self.placed().insert(ticket.job.id, answer.job);
        Ok(())
    }

    async fn stands(&self, job: JobId) -> Result<Option<JobEnd>, TransportError> {
        let Some(there) = self.name_there(job) else {
            return Ok(None);
        };
        let query = |connection| QueryJob {
            connection,
            job: there,
        };
        match self.in_session(query).await {
            Ok(report) => Ok(end_of(job, &report)),
            // It was started anew: nobody there will ever tell.
            Err(TransportError::Answered { status: 404, .. }) => Ok(Some(lost(job))),
            Err(error) => Err(error),
        }
    }

    async fn remove(&self, job: JobId) -> Result<(), TransportError> {
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
        self.placed().get(&job).copied()
    }

    fn placed(&self) -> std::sync::MutexGuard<'_, BTreeMap<JobId, u32>> {
        self.placed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refused(&self, why: &str) -> TransportError {
        TransportError::Answered {
            to: self.url.clone(),
            status: 409,
            reason: None,
            why: why.to_owned(),
        }
    }
}

/// Signs of life of one session.
struct Heart {
    client: PeerClient,
    url: String,
    connection: String,
    life: u64,
}

impl Heart {
    /// Beats until the broker knows the connection no more.
    async fn beat(self, every: Duration) {
        let every = every.max(Duration::from_millis(50));
        for sequence in 1.. {
            tokio::time::sleep(every).await;
            let sign = Heartbeat {
                connection: self.connection.clone(),
                sequence,
                incarnation: self.life,
            };
            // Whether a silent broker lives is found out by the next request.
            if let Err(error) = self.client.call(&self.url, &sign).await
                && error.fault().is_some_and(|fault| forgets(&fault.code))
            {
                return;
            }
        }
    }
}

fn forgets(code: &str) -> bool {
    code == codes::UNKNOWN_CONNECTION || code == codes::NOT_ESTABLISHED
}

/// What is proposed first: to consume what the broker provides.
fn wanted() -> Proposal {
    Proposal {
        authentication: vec![AuthMethod::None],
        initiator_roles: vec![Role::Consumer],
        responder_roles: vec![Role::Provider],
        heartbeat_ms: HEARTBEAT_MS,
        job_languages: vec![JobLanguage::Jsdl],
        resource_languages: ResourceLanguage::ALL.to_vec(),
        resource_forms: ResourceForm::ALL.to_vec(),
    }
}

/// The broker's terms, without what was not offered.
fn meet(offered: &Proposal, counter: Proposal) -> Proposal {
    fn common<T: PartialEq + Clone>(countered: Vec<T>, offered: &[T]) -> Vec<T> {
        let mut common = countered;
        common.retain(|one| offered.contains(one));
        common
    }
    Proposal {
        authentication: common(counter.authentication, &offered.authentication),
        initiator_roles: common(counter.initiator_roles, &offered.initiator_roles),
        responder_roles: common(counter.responder_roles, &offered.responder_roles),
        heartbeat_ms: counter.heartbeat_ms,
        job_languages: common(counter.job_languages, &offered.job_languages),
        resource_languages: common(counter.resource_languages, &offered.resource_languages),
        resource_forms: common(counter.resource_forms, &offered.resource_forms),
    }
}

/// The end that a report tells of, if it tells of one.
fn end_of(job: JobId, report: &JobReport) -> Option<JobEnd> {
    let reason = report.reason.as_deref().and_then(reason_of_code);
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

fn lost(job: JobId) -> JobEnd {
    JobEnd {
        job,
        state: EndState::Failed(Reason::ServiceLost),
        cluster: None,
        start: None,
        finish: None,
    }
}

impl Outlet for LaGrid {
    fn submit<'a>(&'a self, ticket: &'a Ticket) -> Answer<'a> {
        Box::pin(self.hand_over(ticket))
    }

    fn at_once(&self) -> usize {
        AT_ONCE
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
