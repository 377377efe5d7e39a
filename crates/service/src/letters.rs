//! What a machine writes, as it goes over HTTP.

use gridrig_drivers::real_time::{Letter, LetterId, Message, TransportError};
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::{InfoReport, JobNotice, LetterName, LoadReport};

/// Posts the news of a job, to where its submitter wants them or else to the
/// service at `base`. A letter that is no news goes nowhere.
///
/// # Errors
/// When it was not delivered.
pub async fn notify(
    client: &Client,
    letter: &Letter,
    base: Result<&str, TransportError>,
) -> Result<(), TransportError> {
    let (from, name) = (letter.from.into(), letter_name(letter.id));
    let notice = match &letter.message {
        Message::Notice(end) => JobNotice::ended(from, name, letter.due, end),
        Message::Refusal { job, reason } => {
            JobNotice::refused(from, name, letter.due, *job, *reason)
        }
        _ => {
            let (to, why) = ("nobody".to_owned(), "it is no news of a job".to_owned());
            return Err(TransportError::NotReached { to, why });
        }
    };
    let url = match &letter.address {
        Some(address) => address.to_string(),
        None => format!("{}/v1/notifications", base?),
    };
    client
        .notify(&url, &notice)
        .await
        .map_err(TransportError::from)
}

/// Posts these samples to the broker at `base`.
///
/// # Errors
/// When they were not delivered.
pub async fn inform(
    client: &Client,
    letter: &Letter,
    samples: impl IntoIterator<Item = LoadReport>,
    base: &str,
) -> Result<(), TransportError> {
    let info = InfoReport {
        from: letter.from.into(),
        letter: Some(letter_name(letter.id)),
        meant_ns: Some(letter.due.as_nanos()),
        samples: samples.into_iter().collect(),
    };
    client
        .inform(base, &info)
        .await
        .map_err(TransportError::from)
}

/// A letter's name on the wire.
#[must_use]
pub fn letter_name(id: LetterId) -> LetterName {
    LetterName {
        incarnation: id.incarnation,
        number: id.number,
    }
}
