//! What a machine writes, as it goes over HTTP.

use gridrig_core::agent::{Letter, LetterId};
use gridrig_core::load::LoadSample;
use gridrig_core::message::News;
use gridrig_drivers::real_time::TransportError;
use gridrig_protocol::client::{Client, ClientError};
use gridrig_protocol::rest::{InfoReport, JobNotice, LetterName, LoadReport, reason_of_code};

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
    let (from, name) = (letter.from.into(), letter_name(letter.id));
    let notice = match news {
        News::Ended(end) => JobNotice::ended(from, name, letter.due, &end),
        News::Refused { job, reason } => JobNotice::refused(from, name, letter.due, job, reason),
    };
    let url = match &letter.address {
        Some(address) => address.to_string(),
        None => format!("{}/v1/notifications", base?),
    };
    client.notify(&url, &notice).await.map_err(failure)
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
        letter: Some(letter_name(letter.id)),
        meant_ns: Some(letter.due.as_nanos()),
        samples: samples.iter().map(LoadReport::from).collect(),
    };
    client.inform(base, &info).await.map_err(failure)
}

/// A letter's name on the wire.
#[must_use]
pub fn letter_name(id: LetterId) -> LetterName {
    LetterName {
        incarnation: id.incarnation,
        number: id.number,
    }
}

/// What a failed request means for the letter in it.
#[must_use]
pub fn failure(error: ClientError) -> TransportError {
    let why = |source: &dyn std::error::Error| source.to_string();
    match error {
        ClientError::NotReached { url, source } => TransportError::NotReached {
            to: url,
            why: why(&source),
        },
        ClientError::NoAnswer { url, source } => TransportError::NoAnswer {
            to: url,
            why: why(&source),
        },
        ClientError::Busy { url } => TransportError::Busy { to: url },
        ClientError::Problem { url, problem } => TransportError::Answered {
            to: url,
            status: problem.status,
            reason: reason_of_code(&problem.code),
            why: problem.detail,
        },
        ClientError::Setup(source) => TransportError::NotReached {
            to: "anybody".to_owned(),
            why: why(&source),
        },
    }
}
