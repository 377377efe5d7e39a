//! What a machine writes, as it goes over HTTP.

use gridrig_core::agent::Letter;
use gridrig_core::load::LoadSample;
use gridrig_core::message::News;
use gridrig_drivers::real_time::TransportError;
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::{InfoReport, JobNotice, LoadReport};

/// Posts the news of a job that are in this letter, to where its submitter
/// wants them or else to the service at `base`.
///
/// # Errors
/// When it was not delivered.
pub async fn notify<M>(
    client: &Client,
    letter: &Letter<M>,
    news: News,
    base: Result<&str, TransportError>,
) -> Result<(), TransportError> {
    let notice = JobNotice::of(letter.from.into(), letter.id.into(), letter.due, &news);
    let url = match &letter.address {
        Some(address) => address.to_string(),
        None => format!("{}/v1/notifications", base?),
    };
    client
        .notify(&url, &notice)
        .await
        .map_err(TransportError::from)
}

/// Posts the samples that are in this letter to the broker at `base`.
///
/// # Errors
/// When they were not delivered.
pub async fn inform<M>(
    client: &Client,
    letter: &Letter<M>,
    samples: &[LoadSample],
    base: &str,
) -> Result<(), TransportError> {
    let info = InfoReport {
        from: letter.from.into(),
        letter: Some(letter.id.into()),
        meant_ns: Some(letter.due.as_nanos()),
        samples: samples.iter().map(LoadReport::from).collect(),
    };
    client
        .inform(base, &info)
        .await
        .map_err(TransportError::from)
}
