//! What a broker says to a peer, as operations of the protocol.

use super::links::Link;
use crate::resources;
use gridrig_core::agent::{Arrival, BrokerSetup, Envelope, FromBroker};
use gridrig_core::ids::JobId;
use gridrig_core::job::SeveralComponents;
use gridrig_core::load::LoadSample;
use gridrig_core::message::News;
use gridrig_core::session::Push;
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::TransportError;
use gridrig_protocol::jsdl::JobDefinition;
use gridrig_protocol::lagrid::terms;
use gridrig_protocol::lagrid::{
    CancelJob, ClusterReport, Form, JobNews, JobReport, JobState, NotifyJob, Origin, PeerError,
    QueryJob, Reference, Request, ResourceUpdate, SendResourceData, SubmitJob, UpdateKind,
    UpdateVerdict,
};
use gridrig_protocol::rest::LoadReport;

/// Why a job is not where it was sent.
const TURNED_AWAY: &str = "it has turned the job away";

impl Link {
    /// The open connection, which messages to the peer go out on.
    ///
    /// # Errors
    /// When there is none: the peer has certainly not seen the message.
    pub(crate) fn connection(&self) -> Result<String, TransportError> {
        let closed = || TransportError::not_reached(&self.setup.url, "no session is open");
        self.open_connection().ok_or_else(closed)
    }

    /// Forwards a job, or asks for it.
    pub(crate) async fn forward(&self, job: &Arrival) -> Result<(), TransportError> {
        let connection = self.connection()?;
        if job.sought {
            let job = self.state().job_names.theirs(job.spec.id);
            let request = QueryJob { connection, job };
            return match self.call(&request).await?.state {
                JobState::Rejected => {
                    Err(TransportError::declined(&self.setup.url, 404, TURNED_AWAY))
                }
                _ => Ok(()),
            };
        }
        let submission = self.submission(connection, job);
        let unsaid = |why| TransportError::unsaid(&self.setup.url, why);
        let answer = self.call(&submission.map_err(unsaid)?).await?;
        self.state().job_names.went(job.spec.id, answer.job);
        Ok(())
    }

    /// Asks for a job to be removed.
    pub(crate) async fn cancel(&self, job: JobId) -> Result<(), TransportError> {
        let connection = self.connection()?;
        let job = self.state().job_names.theirs(job);
        self.call(&CancelJob { connection, job }).await.map(drop)
    }

    /// One operation, with its failure as the outbox understands it. A peer
    /// that does not know the connection has forgotten it.
    pub(crate) async fn call<R: Request>(&self, request: &R) -> Result<R::Answer, TransportError> {
        let asked = self.client.call(&self.setup.url, request).await;
        let answer = asked.map_err(|error| self.failure(&error))?;
        self.note_answer();
        Ok(answer)
    }

    fn failure(&self, error: &PeerError) -> TransportError {
        let to = self.setup.url.clone();
        match error {
            PeerError::Fault { .. } if !error.is_passing() && error.forgets() => {
                self.forgotten();
                TransportError::not_reached(to, error.to_string())
            }
            error => error.delivering(to),
        }
    }

    /// Notes what the peer is told now, and answers all that it then knows.
    pub(super) fn tell(&self, push: &Push) -> Vec<LoadSample> {
        let mut state = self.state();
        if push.full {
            state.told.clear();
        }
        let samples = push.samples.iter();
        let told = samples.map(|sample| (sample.cluster, sample.clone()));
        state.told.extend(told);
        state.told.values().cloned().collect()
    }

    /// The form in which resources are told as records, if they are.
    pub(super) fn agreed_form(&self) -> Option<Form> {
        let state = self.state();
        let terms = state.terms()?;
        terms::tells_records(terms).then_some(terms.form)
    }

    fn submission(
        &self,
        connection: String,
        forward: &Arrival,
    ) -> Result<SubmitJob, SeveralComponents> {
        let job = forward.spec.id.0;
        let name = forward.tag.as_deref();
        let name = name.map_or_else(|| format!("job-{job}"), str::to_owned);
        Ok(SubmitJob {
            connection,
            key: forward.key.clone().unwrap_or_default(),
            origin: forward.route.map(|route| Origin {
                // Whoever forwards knows the job by the number it has in the
                // run.
                domain: self.names.domain(route.origin).into_owned(),
                job,
                user: None,
            }),
            hop: forward.hop(),
            // A job that has settled is forwarded no more.
            ttl: forward.route.filter(|route| route.settled).map(|_| 0),
            forwarder: Some(Reference::of_job(self.endpoint(), job)),
            meant_ns: forward.meant.map(SimTime::as_nanos),
            job: JobDefinition::of(&forward.spec, Some(name))?,
        })
    }

    /// Tells the forwarder of a job how it ended, or that it comes back, under
    /// the reference that the forwarder has tagged it with.
    pub(crate) async fn tell_news(
        &self,
        envelope: &Envelope<FromBroker>,
        said: News,
    ) -> Result<(), TransportError> {
        let (news, report) = match said {
            News::Ended(end) => (JobNews::State, (&end).into()),
            News::Refused { job, reason, .. } => {
                (JobNews::Refused, JobReport::refused(job, reason))
            }
        };
        let job = said.job();
        let request = NotifyJob {
            connection: self.connection()?,
            letter: Some(envelope.id.into()),
            meant_ns: Some(envelope.due.as_nanos()),
            news,
            report,
            reference: self.state().job_names.reference(job),
        };
        self.call(&request).await?;
        self.state().job_names.told(job);
        Ok(())
    }

    /// Tells of the load here.
    pub(crate) async fn update(
        &self,
        push: &Push,
        envelope: &Envelope<FromBroker>,
        setup: &BrokerSetup,
    ) -> Result<(), TransportError> {
        let connection = self.connection()?;
        let mut update = update_of(push);
        let loads = self.tell(push);
        if let Some(form) = self.agreed_form() {
            update.inventory = resources::in_form(setup, form, &loads).ok();
            update.form = form;
        }
        let request = SendResourceData {
            connection,
            letter: Some(envelope.id.into()),
            meant_ns: Some(envelope.due.as_nanos()),
            update,
        };
        match self.call(&request).await?.verdict {
            UpdateVerdict::FullWanted => {
                let why = "an earlier update is missing there: a full one is wanted";
                Err(TransportError::declined(&self.setup.url, 409, why))
            }
            UpdateVerdict::Accepted | UpdateVerdict::Stale => Ok(()),
        }
    }
}

/// An update as it travels.
pub(super) fn update_of(push: &Push) -> ResourceUpdate {
    let taken = push.samples.iter().map(|sample| sample.at).max();
    let clusters = push.samples.iter().map(|sample| ClusterReport {
        name: None,
        groups: Vec::new(),
        load: LoadReport::from(sample),
    });
    ResourceUpdate {
        kind: match push.full {
            true => UpdateKind::Full,
            false => UpdateKind::Incremental,
        },
        sequence: push.sequence,
        from_sequence: (!push.full).then(|| push.sequence.saturating_sub(1)),
        form: Form::Flat,
        at_ns: taken.map_or(0, |at| at.as_nanos()),
        clusters: clusters.collect(),
        inventory: None,
        removed: Vec::new(),
    }
}
