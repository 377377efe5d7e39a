//! What an LRMS sends, over HTTP.

use gridrig_core::ids::ClusterId;
use gridrig_core::load::LoadSample;
use gridrig_drivers::real_time::{Letter, LetterId, Message, Transport, TransportError};
use gridrig_protocol::client::{Client, ClientError};
use gridrig_protocol::rest::{InfoReport, JobNotice, LetterName, LoadReport, reason_of_code};

/// Posts to the broker, or to where a job's submitter wants its news.
pub(crate) struct HttpTransport {
    client: Client,
    broker: Option<String>,
}

impl HttpTransport {
    pub(crate) fn new(client: Client, broker: Option<String>) -> Self {
        HttpTransport { client, broker }
    }

    fn broker(&self) -> Result<&str, TransportError> {
        self.broker
            .as_deref()
            .ok_or_else(|| TransportError::NotReached {
                to: "the broker".to_owned(),
                why: "none is configured".to_owned(),
            })
    }

    async fn notify(&self, letter: &Letter, notice: JobNotice) -> Result<(), TransportError> {
        let url = match &letter.address {
            Some(address) => address.to_string(),
            None => format!("{}/v1/notifications", self.broker()?),
        };
        self.client.notify(&url, &notice).await.map_err(failure)
    }
}

impl Transport for HttpTransport {
    async fn deliver(&self, letter: &Letter) -> Result<(), TransportError> {
        let (from, name) = (letter.from.into(), name(letter.id));
        match &letter.message {
            Message::Notice(end) => {
                self.notify(letter, JobNotice::ended(from, name, letter.due, end))
                    .await
            }
            Message::Refusal { job, reason } => {
                self.notify(
                    letter,
                    JobNotice::refused(from, name, letter.due, *job, *reason),
                )
                .await
            }
            Message::Info(samples) => {
                let samples = samples.iter().map(LoadReport::from).collect();
                let info = InfoReport {
                    from,
                    letter: Some(name),
                    meant_ns: Some(letter.due.as_nanos()),
                    samples,
                };
                self.client
                    .inform(self.broker()?, &info)
                    .await
                    .map_err(failure)
            }
            Message::Submit { .. }
            | Message::Dispatch { .. }
            | Message::Forward { .. }
            | Message::Cancel(_) => {
                let to = "nobody".to_owned();
                let why = "an LRMS sends no jobs".to_owned();
                Err(TransportError::NotReached { to, why })
            }
        }
    }

    async fn sample(&self, cluster: ClusterId) -> Result<LoadSample, TransportError> {
        let to = cluster.to_string();
        Err(TransportError::NotReached {
            to,
            why: "an LRMS reads no other".to_owned(),
        })
    }
}

fn name(id: LetterId) -> LetterName {
    LetterName {
        incarnation: id.incarnation,
        number: id.number,
    }
}

fn failure(error: ClientError) -> TransportError {
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
