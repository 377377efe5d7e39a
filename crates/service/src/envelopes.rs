//! What a machine writes, as it goes over HTTP.

use gridrig_core::agent::Envelope;
use gridrig_core::load::LoadSample;
use gridrig_core::message::News;
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::TransportError;
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::{InfoReport, JobNotice, LetterName, LoadReport, Place};

/// Posts the news of a job that are in this message, to where its submitter
/// wants them or else to the service at `base`.
///
/// # Errors
/// When it was not delivered.
pub async fn notify<M>(
    client: &Client,
    envelope: &Envelope<M>,
    news: News,
    base: Result<&str, TransportError>,
) -> Result<(), TransportError> {
    let (from, letter, due) = name_of(envelope);
    let notice = JobNotice::of(from, letter, due, &news);
    let url = match &envelope.address {
        Some(address) => address.to_string(),
        None => format!("{}/v1/notifications", base?),
    };
    Ok(client.notify(&url, &notice).await?)
}

/// Whose message it is, its name, and when it is meant to arrive.
pub fn name_of<M>(envelope: &Envelope<M>) -> (Place, LetterName, SimTime) {
    (envelope.from.into(), envelope.id.into(), envelope.due)
}

/// Posts the samples that are in this message to the broker at `base`.
///
/// # Errors
/// When they were not delivered.
pub async fn inform<M>(
    client: &Client,
    envelope: &Envelope<M>,
    samples: &[LoadSample],
    base: &str,
) -> Result<(), TransportError> {
    let info = InfoReport {
        from: envelope.from.into(),
        letter: Some(envelope.id.into()),
        meant_ns: Some(envelope.due.as_nanos()),
        samples: samples.iter().map(LoadReport::from).collect(),
    };
    Ok(client.inform(base, &info).await?)
}
