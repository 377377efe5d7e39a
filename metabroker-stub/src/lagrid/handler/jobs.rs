//! Jobs and resources as peers bring them.

use super::BrokerHandler;
use crate::lagrid::deliver::update_of;
use crate::lagrid::links::Link;
use gridrig_core::agent::{
    Arrival, BrokerAgent, JobState as Stands, JobView, Pull, Received, ToPeer, Unexpected, Updated,
};
use gridrig_core::event::MessageKind;
use gridrig_core::ids::JobId;
use gridrig_core::load::LoadSample;
use gridrig_core::message::{Route, Target};
use gridrig_core::session::{Push, Taken as Counted};
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::{Actor, Driven};
use gridrig_protocol::lagrid::{
    Answers, Caller, CancelJob, JobReport, JobState, QueryJob, Reference, RequestResourceData,
    ResourceUpdate, SOAP_PATH, SendResourceData, SendResourceDataAnswer, SubmitJob,
    SubmitJobAnswer, UpdateKind, UpdateVerdict, codes,
};
use gridrig_protocol::rest::{LetterName, Problem, Result};
use gridrig_service::{conflict, gone};
use std::sync::Arc;

/// `submitJob`: a peer that consumes what this broker provides forwards a
/// job.
impl Answers<SubmitJob> for BrokerHandler {
    async fn answer(&self, caller: &Caller, request: SubmitJob) -> Result<SubmitJobAnswer> {
        let no = "this broker takes no jobs on this connection";
        let link = self.admit_as(caller, &request.connection, |r| r.provider, no)?;
        let forwarder = request.forwarder.clone();
        let arrival = arrival(&link, request)?;
        let meant = arrival.meant;
        let peer = Arc::clone(&link);
        let call = move |broker: &mut Driven<BrokerAgent>, now: SimTime| {
            let receipt = broker.handle(now, arrival)?;
            // Noted before there can be any news of it.
            peer.state().job_names.came(receipt.job, forwarder);
            Ok(receipt)
        };
        let receipt = self.app.message(meant, call).await?.map_err(conflict)?;
        let metrics = &self.app.metrics;
        metrics.count_received(MessageKind::Forward, !receipt.repeated);
        Ok(SubmitJobAnswer {
            job: receipt.job.0,
            state: match receipt.taken {
                Ok(()) => JobState::Queued,
                Err(_) => JobState::Rejected,
            },
            reason: receipt.taken.err().map(|reason| reason.name().to_owned()),
            at_ns: receipt.at.as_nanos(),
            repeated: receipt.repeated,
            endpoint: Reference::of_job(format!("{}{SOAP_PATH}", caller.base), receipt.job.0),
        })
    }
}

/// `queryJob`.
impl Answers<QueryJob> for BrokerHandler {
    async fn answer(&self, caller: &Caller, request: QueryJob) -> Result<JobReport> {
        let link = self.admit(caller, &request.connection)?;
        let (domain, job) = (link.domain, JobId(request.job));
        let look = move |broker: &mut Driven<BrokerAgent>, _| broker.view_for(domain, job);
        let view = self.app.call(look).await?;
        let view = view.ok_or_else(|| Problem::unknown_job(request.job))?;
        if let Stands::Sent { to } = view.state
            && let Some(said) = self.follow(job, to).await
        {
            return Ok(said);
        }
        Ok(report(&view))
    }
}

/// `cancelJob`.
impl Answers<CancelJob> for BrokerHandler {
    async fn answer(&self, caller: &Caller, request: CancelJob) -> Result<JobReport> {
        let link = self.admit(caller, &request.connection)?;
        let (domain, job) = (link.domain, JobId(request.job));
        let cancel = Received::new(Target::Peer(domain), ToPeer::Cancel(job));
        let call = self.app.call(move |broker, now| {
            broker.view_for(domain, job)?;
            let _ = broker.handle(now, cancel);
            broker.view_for(domain, job)
        });
        let view = call.await?;
        let view = view.ok_or_else(|| Problem::unknown_job(request.job))?;
        let report = report(&view);
        if report.state.is_end() && report.state != JobState::Cancelled {
            let reason = format!("job {} is {}", request.job, report.state.name());
            return Err(Problem::of_code(codes::JOB_ENDED, reason));
        }
        Ok(report)
    }
}

/// `requestResourceData`: a consumer asks.
impl Answers<RequestResourceData> for BrokerHandler {
    async fn answer(
        &self,
        caller: &Caller,
        request: RequestResourceData,
    ) -> Result<ResourceUpdate> {
        let no = "this broker tells of no resources on this connection";
        let link = self.admit_as(caller, &request.connection, |r| r.provider, no)?;
        let (peer, since) = (link.domain, request.since);
        let pull = Pull { peer, since };
        let call = self.app.call(move |broker, now| broker.handle(now, pull));
        let push = call
            .await?
            .ok_or_else(|| Problem::unknown_connection(&request.connection))?;
        link.tell(&push);
        let form = request.form.or_else(|| link.agreed_form());
        self.described(update_of(&push), form).await
    }
}

/// `sendResourceData`: a provider tells.
impl Answers<SendResourceData> for BrokerHandler {
    async fn answer(
        &self,
        caller: &Caller,
        request: SendResourceData,
    ) -> Result<SendResourceDataAnswer> {
        let no = "this broker uses no resources of the sender's on this connection";
        let link = self.admit_as(caller, &request.connection, |r| r.consumer, no)?;
        let meant = request.meant_ns.map(SimTime::from_nanos);
        let update = &request.update;
        let updated = take_update(&self.app.actor, &link, update, meant, request.letter).await?;
        match updated.taken {
            None => self.app.metrics.count_repeated(),
            // The sender counts what it has to send again as not delivered.
            Some(Counted::Gap) => {}
            Some(_) => self.app.metrics.count_message(MessageKind::Info),
        }
        Ok(SendResourceDataAnswer {
            verdict: match updated.taken {
                Some(Counted::New) => UpdateVerdict::Accepted,
                Some(Counted::Gap) => UpdateVerdict::FullWanted,
                Some(Counted::Old) | None => UpdateVerdict::Stale,
            },
            have: updated.have,
        })
    }
}

/// Takes in an update about a peer's clusters, pushed or pulled.
pub(in crate::lagrid) async fn take_update(
    actor: &Actor<BrokerAgent>,
    link: &Arc<Link>,
    update: &ResourceUpdate,
    meant: Option<SimTime>,
    letter: Option<LetterName>,
) -> Result<Updated> {
    let samples = update.clusters.iter().map(|cluster| &cluster.load);
    let samples: Vec<LoadSample> = samples
        .map(LoadSample::try_from)
        .collect::<Result<_, _>>()?;
    let received = Received {
        from: Target::Peer(link.domain),
        id: letter.map(Into::into),
        meant,
        said: Push {
            sequence: update.sequence,
            full: update.kind == UpdateKind::Full,
            samples,
        },
    };
    let peer = Arc::clone(link);
    let records = update.inventory.clone().map(Arc::new);
    let call = actor.message(meant, move |broker, now| {
        let updated = broker.handle(now, received)?;
        if let (Some(Counted::New), Some(records)) = (updated.taken, records) {
            peer.state().records = Some(records);
        }
        Ok(updated)
    });
    let updated = call.await.map_err(gone)?;
    updated.map_err(|Unexpected| {
        let detail = "field clusters: expected clusters of the sender's, sampled no later than now";
        Problem::of_code("unexpected-samples", detail)
    })
}

fn arrival(link: &Link, request: SubmitJob) -> Result<Arrival> {
    let length = request.job.virtual_length()?.ok_or_else(|| {
        let expected = "how long the job runs on a node of speed 1.0";
        Problem::field("RunTime", "", expected)
    })?;
    let spec = request.job.to_job(length, &[])?;
    let name = request.job.identification.name.as_deref();
    // A broker that was given no name for a job writes its number.
    let origin = request.origin.as_ref();
    let number = origin.map(|origin| format!("job-{}", origin.job));
    let tag = name.filter(|name| Some(*name) != number.as_deref());
    if request.hop == 0 && origin.is_some() {
        let expected = "at least 1 for a job that entered elsewhere";
        return Err(Problem::field("hop", "0", expected));
    }
    Ok(Arrival {
        key: Some(request.key),
        // A job has one number in the whole run.
        id: origin.map(|origin| JobId(origin.job)),
        route: Some(Route {
            from: Some(link.domain),
            hop: request.hop,
            origin: origin
                .and_then(|origin| link.names.find_domain(&origin.domain))
                .unwrap_or(link.domain),
            settled: request.ttl == Some(0),
            until: None,
        }),
        tag: tag.map(Arc::from),
        identity: link.setup.local_identity.clone(),
        meant: request.meant_ns.map(SimTime::from_nanos),
        ..Arrival::of(spec)
    })
}

fn report(view: &JobView) -> JobReport {
    let of = |state| JobReport::of(view.spec.id, state);
    match &view.state {
        Stands::Queued { .. } => of(JobState::Queued),
        Stands::Running { start, .. } => JobReport {
            start_ns: Some(start.as_nanos()),
            ..of(JobState::Running)
        },
        Stands::Sent { .. } => of(JobState::Sent),
        Stands::Ended(end) => end.into(),
    }
}
