//! Jobs as they come in.

use crate::http::{NotifyHosts, Result};
use crate::{App, Service};
use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use gridrig_core::agent::{Arrival, Receipt, SubmitError};
use gridrig_core::event::{MessageKind, Party};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::message::Route;
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::Driven;
use gridrig_protocol::lagrid::codes;
use gridrig_protocol::rest::{JobReceipt, JobReservation, JobSubmission, Problem};

/// The job as the machine takes it in.
///
/// # Errors
/// A problem document that names the field that will not do.
pub fn arrival(job: JobSubmission, hosts: NotifyHosts) -> Result<Arrival, Problem> {
    hosts.check(job.notify.as_deref())?;
    let spec = job.spec()?;
    Ok(Arrival {
        id: job.id.map(JobId),
        spec,
        // Only brokers have a way behind them.
        route: job.from.map(|from| Route {
            from: Some(DomainId(from)),
            hop: job.hop,
            origin: DomainId(job.origin.unwrap_or(from)),
            settled: job.settled,
            until: job.until_ns.map(SimTime::from_nanos),
        }),
        meant: job.meant_ns.map(SimTime::from_nanos),
        notify: job.notify.map(Into::into),
        key: job.key,
        tag: job.tag.map(Into::into),
        identity: None,
        reservation: job.reservation.map(JobReservation::checked).transpose()?,
        sought: job.sought,
    })
}

/// A job that names clusters is for a service that `knows` them.
///
/// # Errors
/// A problem document that names the field and what was `expected`.
pub fn check_clusters(
    job: &Arrival,
    knows: impl Fn(ClusterId) -> bool,
    expected: &str,
) -> Result<(), Problem> {
    match job.spec.named_clusters().find(|cluster| !knows(*cluster)) {
        Some(other) => Err(Problem::field("cluster", &other.0.to_string(), expected)),
        None => Ok(()),
    }
}

/// What a submission that contradicts an earlier one is told.
pub fn conflict(error: SubmitError) -> Problem {
    match error {
        SubmitError::IdTaken(_) => Problem::new(409, "job-id-taken", error.to_string()),
        SubmitError::KeyReused(_) => Problem::new(422, codes::KEY_REUSED, error.to_string()),
        SubmitError::NotHere => Problem::new(404, "not-here", error.to_string()),
        SubmitError::NotFoundYet => Problem::new(503, "not-found-yet", error.to_string()),
    }
}

/// Hands a job to the machine, counts it (a broker's under `from_broker`) and
/// answers.
///
/// # Errors
/// A problem document when the job is not taken or the machine cannot be called.
pub async fn submit<S: Service>(
    app: &App<S>,
    arrival: Arrival,
    from_broker: MessageKind,
) -> Result<Response> {
    let (meant, from) = (arrival.meant, arrival.from());
    let call = |machine: &mut Driven<S::Machine>, now| machine.handle(now, arrival);
    let receipt = app.message(meant, call).await?.map_err(conflict)?;
    let kind = match from {
        Party::Broker(_) => from_broker,
        _ => MessageKind::Submit,
    };
    app.metrics.count_received(kind, !receipt.repeated);
    answer(&receipt, from)
}

fn answer(receipt: &Receipt, from: Party) -> Result<Response> {
    let reason = receipt.taken.err();
    let status = match (from, reason) {
        (Party::Broker(_), _) => StatusCode::ACCEPTED,
        (_, None) => StatusCode::CREATED,
        (_, Some(reason)) => return Err(Problem::rejected(reason).into()),
    };
    let state = reason.map_or("queued", |_| "refused");
    let body = JobReceipt {
        id: receipt.job.0,
        state: state.to_owned(),
        reason: reason.map(|reason| reason.name().to_owned()),
        at_ns: receipt.at.as_nanos(),
    };
    let location = format!("/v1/jobs/{}", receipt.job.0);
    Ok((status, [(header::LOCATION, location)], Json(body)).into_response())
}
