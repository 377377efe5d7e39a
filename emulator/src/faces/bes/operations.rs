//! The operations.

use super::Face;
use super::activity::{state, unknown};
use crate::lrms::Lrms;
use axum::http::header;
use gridrig_core::agent::{Arrival, Cancel, JobHolder as _, JobView, LrmsAgent};
use gridrig_core::event::MessageKind;
use gridrig_core::ids::JobId;
use gridrig_core::job::SeveralComponents;
use gridrig_drivers::real_time::Driven;
use gridrig_protocol::bes::{
    self, ActivityAnswer, ActivityState, BesFault, Factory, FaultName, Operation,
};
use gridrig_protocol::jsdl::JobDefinition;
use gridrig_protocol::rest::Problem;
use gridrig_protocol::soap::{EndpointReference, Fault};
use gridrig_protocol::xml::{Element, Name};
use gridrig_service::http::header_text;
use gridrig_service::soap::Request;
use gridrig_service::tls::ServerTls;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(super) async fn answer(
    face: &Face,
    operation: Operation,
    request: &Request,
    address: &str,
    client: Option<Arc<str>>,
) -> Result<Element, Fault> {
    let body = &request.envelope.body;
    let tls = face.app.config.tls.as_ref();
    let result = match operation {
        Operation::CreateActivity => create(face, request, address, client).await,
        Operation::GetActivityStatuses
        | Operation::TerminateActivities
        | Operation::GetActivityDocuments => about(face, operation, body, client).await,
        Operation::GetFactoryAttributesDocument => attributes(face).await,
        Operation::StopAcceptingNewActivities | Operation::StartAcceptingNewActivities
            if client.is_none() && tls.is_some_and(ServerTls::asks_for_clients) =>
        {
            Err(not_authorized("a client without a certificate"))
        }
        Operation::StopAcceptingNewActivities | Operation::StartAcceptingNewActivities => {
            let accepting = operation == Operation::StartAcceptingNewActivities;
            face.accepting.store(accepting, Ordering::SeqCst);
            tracing::info!(cluster = face.app.config.name, accepting, "BES management");
            Ok(bes::responses(operation, []))
        }
    };
    result.map_err(Fault::from)
}

fn not_authorized(who: &str) -> BesFault {
    let message = format!("{who} is not allowed to do that");
    BesFault::new(FaultName::NotAuthorized, "not-authorized", message)
}

async fn create(
    face: &Face,
    request: &Request,
    address: &str,
    client: Option<Arc<str>>,
) -> Result<Element, BesFault> {
    if !face.accepting.load(Ordering::SeqCst) {
        let message = "the service accepts no new activities at present";
        let name = FaultName::NotAcceptingNewActivities;
        return Err(BesFault::new(name, "not-accepting", message));
    }
    let document = bes::activity_document(&request.envelope.body)?;
    let read = JobDefinition::read_lenient("request", document)?;
    let length = read.job.virtual_length()?;
    let length = length.unwrap_or(face.setup.default_run_time);
    let spec = read.job.to_job(length, &face.names(address))?;
    let arrival = Arrival {
        key: key(request, client.as_deref()),
        tag: read.job.tag().map(Into::into),
        // Whose activity it is, for whoever asks about it.
        identity: client,
        ..Arrival::of(spec)
    };
    let call = |machine: &mut Driven<LrmsAgent>, now| machine.handle(now, arrival);
    let receipt = face.app.message(None, call).await?;
    let receipt = receipt.map_err(|error| {
        let message = format!("header wsa:MessageID: {error}");
        BesFault::invalid("Header/MessageID", message)
    })?;
    let metrics = &face.app.metrics;
    metrics.count_received(MessageKind::Submit, !receipt.repeated);
    receipt.taken.map_err(Problem::rejected)?;
    let bytes = content_length(request);
    face.documents.lock().keep(receipt.job, read.job, bytes);
    let reference = face.reference(address, receipt.job);
    Ok(bes::create_activity_response(&reference, &read.ignored))
}

/// A message that is sent again under its name creates no second activity.
/// Names of different clients have nothing to do with each other.
fn key(request: &Request, client: Option<&str>) -> Option<String> {
    let id = request.addressing.message_id.as_deref()?;
    let key = format!("bes/{}/{id}", client.unwrap_or_default());
    (!id.is_empty() && key.len() <= MAX_KEY).then_some(key)
}

/// Longer names of messages than any client makes are not remembered.
const MAX_KEY: usize = 1000;

/// What a document costs to keep, by what it took to send.
fn content_length(request: &Request) -> usize {
    let length = header_text(&request.headers, header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.parse().ok());
    // Without a length the body came in chunks, and is bounded all the same.
    length.unwrap_or(gridrig_service::http::MAX_BODY_BYTES)
}

/// An operation about activities: one answer for each, in order, by one call
/// to the machine.
async fn about(
    face: &Face,
    operation: Operation,
    body: &Element,
    client: Option<Arc<str>>,
) -> Result<Element, BesFault> {
    let references = bes::identifiers(body)?;
    let named = references.iter().map(|reference| {
        let id = reference.activity().unwrap_or_default();
        face.job(reference).map(|job| (id, job))
    });
    let named: Vec<Result<(String, JobId), BesFault>> = named.collect();
    let terminate = operation == Operation::TerminateActivities;
    let look = move |machine: &mut Driven<LrmsAgent>, now| -> Vec<Found> {
        let mut look = |(id, job): (String, JobId)| {
            let view = machine.view(job).ok_or_else(|| unknown(&id))?;
            if view.identity != client {
                let nobody = "a client without a certificate";
                return Err(not_authorized(client.as_deref().unwrap_or(nobody)));
            }
            let cancelled = terminate && machine.handle(now, Cancel(job));
            Ok((job, cancelled, machine.view(job).unwrap_or(view)))
        };
        let named = named.into_iter();
        named.map(|job| job.and_then(&mut look)).collect()
    };
    let found = references.iter().zip(face.app.call(look).await?);
    let answers = found.map(|(reference, found)| {
        let answer =
            found.and_then(|(job, cancelled, view)| one(face, operation, job, cancelled, &view));
        bes::response(operation, &echo(reference), answer)
    });
    Ok(bes::responses(operation, answers))
}

/// An activity, whether it was cancelled just now, and where it stands.
type Found = Result<(JobId, bool, JobView), BesFault>;

/// The reference as the answer repeats it: its address and the activity, and
/// nothing else that a client may have put there.
fn echo(reference: &EndpointReference) -> EndpointReference {
    match reference.activity() {
        Some(id) => EndpointReference::of_activity(&reference.address, &id),
        None => EndpointReference::of(&reference.address),
    }
}

fn one(
    face: &Face,
    operation: Operation,
    job: JobId,
    cancelled: bool,
    view: &JobView,
) -> ActivityAnswer {
    match operation {
        Operation::TerminateActivities => terminated(cancelled, view),
        Operation::GetActivityDocuments => document(face, job, view),
        _ => Ok(state(view).element()),
    }
}

fn terminated(cancelled: bool, view: &JobView) -> ActivityAnswer {
    let state = state(view);
    if cancelled || state == ActivityState::Terminated {
        return Ok(state.element());
    }
    let name = state.name();
    let message = format!("the activity is {name}: expected Pending or Running");
    let name = FaultName::CantApplyOperationToCurrentState;
    Err(BesFault {
        state: Some(state),
        ..BesFault::new(name, "activity-ended", message)
    })
}

/// The document of an activity. One that is kept no more is made anew from
/// what the cluster knows of the job.
fn document(face: &Face, job: JobId, view: &JobView) -> ActivityAnswer {
    let kept = face.documents.lock().of(job);
    let mut element = match kept {
        Some(document) => document.element(),
        None => {
            let unsaid = |why: SeveralComponents| {
                let (name, why) = (FaultName::UnsupportedFeature, why.to_string());
                BesFault::new(name, "several-components", why)
            };
            let document = JobDefinition::of(&view.spec, None);
            document.map_err(unsaid)?.element()
        }
    };
    // Within this answer the schema has it under the name of the factory.
    element.namespace = Name::Borrowed(bes::FACTORY);
    Ok(element)
}

async fn attributes(face: &Face) -> Result<Element, BesFault> {
    let look = |machine: &mut Driven<LrmsAgent>, _| {
        let cluster = machine.cluster();
        (cluster.present(), cluster.queued(), cluster.busy())
    };
    let (present, queued, busy) = face.app.call(look).await?;
    let config = &face.app.config;
    let resources = &config.cluster.resources;
    let (kind, scheduled) = match config.lrms {
        Lrms::Emulated => ("An emulated", config.cluster.discipline.name()),
        Lrms::Slurm(_) => ("A", "by a real Slurm"),
    };
    let description = format!(
        "{kind} cluster of {} processors, scheduled {scheduled}",
        resources.processors(),
    );
    Ok(bes::factory_attributes_response(&Factory {
        name: &config.name,
        description: &description,
        resources,
        accepting: face.accepting.load(Ordering::SeqCst),
        activities: present as u64,
        queued: queued as u64,
        busy,
    }))
}
