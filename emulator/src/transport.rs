//! What an LRMS sends, over HTTP.

use gridrig_core::ids::ClusterId;
use gridrig_core::load::LoadSample;
use gridrig_drivers::real_time::{Letter, Message, Transport, TransportError};
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::LoadReport;
use gridrig_service::{inform, notify};

/// Posts to the broker, or to where a job's submitter wants its news.
pub struct HttpTransport {
    client: Client,
    broker: Option<String>,
}

impl HttpTransport {
    pub fn new(client: Client, broker: Option<String>) -> Self {
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
}

impl Transport for HttpTransport {
    async fn deliver(&self, letter: &Letter) -> Result<(), TransportError> {
        match &letter.message {
            Message::Notice(_) | Message::Refusal { .. } => {
                notify(&self.client, letter, self.broker()).await
            }
            Message::Info(samples) => {
                let samples = samples.iter().map(LoadReport::from);
                inform(&self.client, letter, samples, self.broker()?).await
            }
            Message::Submit { .. }
            | Message::Dispatch { .. }
            | Message::Forward { .. }
            | Message::Update(_)
            | Message::Cancel(_)
            | Message::Locate(_) => {
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
