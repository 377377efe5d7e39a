//! A handler that remembers what it was asked, and answers by fixed rules.

use gridrig_core::ids::ClusterId;
use gridrig_core::load::LoadSample;
use gridrig_core::resource::Resources;
use gridrig_protocol::lagrid::{
    Answers, Caller, CancelJob, ClusterReport, ConnEvent, Form, Handler, Heartbeat,
    HeartbeatAnswer, JobLanguage, JobReport, JobState, NotifyConn, NotifyDrain, NotifyJob,
    OpenConn, OpenConnAnswer, QueryJob, Reference, RequestResourceData, ResourceLanguage,
    ResourceUpdate, SendResourceData, SendResourceDataAnswer, SubmitJob, SubmitJobAnswer, Taken,
    Terms, UpdateKind, UpdateVerdict, Verdict,
};
use gridrig_protocol::rest::Problem;
use gridrig_protocol::rest::{LoadReport, NodeGroup};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

#[derive(Default)]
struct Pages {
    connections: BTreeMap<String, u64>,
    opened: u32,
    jobs: Vec<(SubmitJob, JobState)>,
    news: Option<NotifyJob>,
    caller: Option<Caller>,
    asked: u32,
}

/// The handler.
#[derive(Default)]
pub struct Recorder {
    pages: Mutex<Pages>,
}

/// What it tells of its resources.
pub fn update() -> ResourceUpdate {
    let idle = LoadSample::idle(ClusterId(0), 4);
    ResourceUpdate {
        kind: UpdateKind::Full,
        sequence: 1,
        from_sequence: None,
        form: Form::Flat,
        at_ns: 0,
        clusters: vec![ClusterReport {
            name: Some("c0".to_owned()),
            groups: NodeGroup::all(&Resources::homogeneous(4)),
            load: LoadReport::from(&idle),
        }],
        inventory: None,
        removed: Vec::new(),
    }
}

impl Recorder {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap()
    }

    /// A page of this connection, if it stands.
    fn on(&self, connection: &str) -> Result<MutexGuard<'_, Pages>, Problem> {
        let mut pages = self.pages();
        pages.asked += 1;
        match pages.connections.contains_key(connection) {
            true => Ok(pages),
            false => Err(Problem::unknown_connection(connection)),
        }
    }

    /// How many messages have reached it.
    pub fn asked(&self) -> u32 {
        self.pages().asked
    }

    /// The connections that stand, with the last update on each.
    pub fn connections(&self) -> BTreeMap<String, u64> {
        self.pages().connections.clone()
    }

    /// What was submitted as this job.
    pub fn submitted(&self, job: u32) -> Option<SubmitJob> {
        let pages = self.pages();
        pages.jobs.get(job as usize).map(|(job, _)| job.clone())
    }

    /// The latest news.
    pub fn news(&self) -> Option<NotifyJob> {
        self.pages().news.clone()
    }

    /// Who opened a connection last.
    pub fn caller(&self) -> Option<Caller> {
        self.pages().caller.clone()
    }

    fn report(&self, connection: &str, job: u32, cancel: bool) -> Result<JobReport, Problem> {
        let mut pages = self.on(connection)?;
        let (_, state) = pages
            .jobs
            .get_mut(job as usize)
            .ok_or_else(|| Problem::unknown_job(job))?;
        if cancel {
            *state = JobState::Cancelled;
        }
        Ok(JobReport {
            job,
            state: *state,
            reason: None,
            cluster: None,
            start_ns: None,
            finish_ns: None,
        })
    }
}

impl Handler for Recorder {}

impl Answers<OpenConn> for Recorder {
    async fn answer(&self, caller: &Caller, request: OpenConn) -> Result<OpenConnAnswer, Problem> {
        let mut pages = self.pages();
        pages.asked += 1;
        pages.caller = Some(caller.clone());
        let connection = request.connection.clone().unwrap_or_else(|| {
            pages.opened += 1;
            format!("conn-{}", pages.opened)
        });
        let wanted = request.proposal;
        let verdict = if wanted.heartbeat_ms < 1000 {
            Verdict::Counter(gridrig_protocol::lagrid::Proposal {
                heartbeat_ms: 1000,
                ..wanted
            })
        } else {
            pages.connections.insert(connection.clone(), 0);
            Verdict::Accepted(Terms {
                authentication: wanted.authentication[0],
                initiator_roles: wanted.initiator_roles,
                responder_roles: wanted.responder_roles,
                heartbeat_ms: wanted.heartbeat_ms,
                job_language: JobLanguage::Jsdl,
                resource_language: ResourceLanguage::Clusters,
                resource_form: Form::Flat,
            })
        };
        Ok(OpenConnAnswer {
            responder: "a".to_owned(),
            endpoint: Reference::of(format!("{}/lagrid", caller.base)),
            incarnation: 1,
            connection,
            round: request.round,
            verdict,
        })
    }
}

impl Answers<NotifyConn> for Recorder {
    async fn answer(&self, _caller: &Caller, request: NotifyConn) -> Result<Taken, Problem> {
        let mut pages = self.on(&request.connection)?;
        if request.event == ConnEvent::End {
            pages.connections.remove(&request.connection);
        }
        Ok(Taken::default())
    }
}

impl Answers<Heartbeat> for Recorder {
    async fn answer(
        &self,
        _caller: &Caller,
        request: Heartbeat,
    ) -> Result<HeartbeatAnswer, Problem> {
        drop(self.on(&request.connection)?);
        Ok(HeartbeatAnswer {
            sequence: request.sequence,
            incarnation: 1,
        })
    }
}

impl Answers<RequestResourceData> for Recorder {
    async fn answer(
        &self,
        _caller: &Caller,
        request: RequestResourceData,
    ) -> Result<ResourceUpdate, Problem> {
        drop(self.on(&request.connection)?);
        Ok(update())
    }
}

impl Answers<SendResourceData> for Recorder {
    async fn answer(
        &self,
        _caller: &Caller,
        request: SendResourceData,
    ) -> Result<SendResourceDataAnswer, Problem> {
        let mut pages = self.on(&request.connection)?;
        let have = pages.connections.entry(request.connection).or_default();
        let update = request.update;
        let verdict = match update.from_sequence {
            _ if update.sequence <= *have => UpdateVerdict::Stale,
            Some(from) if from != *have => UpdateVerdict::FullWanted,
            _ => {
                *have = update.sequence;
                UpdateVerdict::Accepted
            }
        };
        Ok(SendResourceDataAnswer {
            verdict,
            have: *have,
        })
    }
}

impl Answers<SubmitJob> for Recorder {
    async fn answer(
        &self,
        caller: &Caller,
        request: SubmitJob,
    ) -> Result<SubmitJobAnswer, Problem> {
        let mut pages = self.on(&request.connection)?;
        let known = pages
            .jobs
            .iter()
            .position(|(job, _)| job.key == request.key);
        let job = known.unwrap_or(pages.jobs.len());
        if known.is_none() {
            pages.jobs.push((request, JobState::Queued));
        }
        let job = u32::try_from(job).unwrap();
        Ok(SubmitJobAnswer {
            job,
            state: JobState::Queued,
            reason: None,
            at_ns: 1,
            repeated: known.is_some(),
            endpoint: Reference::of_job(format!("{}/lagrid", caller.base), job),
        })
    }
}

impl Answers<QueryJob> for Recorder {
    async fn answer(&self, _caller: &Caller, request: QueryJob) -> Result<JobReport, Problem> {
        self.report(&request.connection, request.job, false)
    }
}

impl Answers<NotifyJob> for Recorder {
    async fn answer(&self, _caller: &Caller, request: NotifyJob) -> Result<Taken, Problem> {
        let mut pages = self.on(&request.connection)?;
        pages.news = Some(request);
        Ok(Taken::default())
    }
}

impl Answers<NotifyDrain> for Recorder {
    async fn answer(&self, _caller: &Caller, _request: NotifyDrain) -> Result<Taken, Problem> {
        Ok(Taken::default())
    }
}

impl Answers<CancelJob> for Recorder {
    async fn answer(&self, _caller: &Caller, request: CancelJob) -> Result<JobReport, Problem> {
        self.report(&request.connection, request.job, true)
    }
}
