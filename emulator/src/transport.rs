//! What an LRMS sends, over HTTP.

use gridrig_core::agent::{Envelope, FromLrms, ToBroker};
use gridrig_core::message::News;
use gridrig_drivers::faults::Faults;
use gridrig_drivers::real_time::{Transport, TransportError};
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::ClaimNotice;
use gridrig_service::{inform, name_of, notify};

/// Posts to the broker, or to where a job's submitter wants its news.
pub struct HttpTransport {
    client: Client,
    broker: Option<String>,
    faults: Faults,
}

impl HttpTransport {
    pub fn new(client: Client, broker: Option<String>, faults: Faults) -> Self {
        HttpTransport {
            client,
            broker,
            faults,
        }
    }

    fn broker(&self) -> Result<&str, TransportError> {
        let none = || TransportError::not_reached("the broker", "none is configured");
        self.broker.as_deref().ok_or_else(none)
    }
}

impl Transport for HttpTransport {
    type Message = FromLrms;

    fn faults(&self) -> Faults {
        self.faults.clone()
    }

    async fn deliver(&self, envelope: &Envelope<FromLrms>) -> Result<(), TransportError> {
        match &envelope.message {
            FromLrms::Broker(_, ToBroker::News(news)) => {
                notify(&self.client, envelope, *news, self.broker()).await
            }
            FromLrms::Broker(_, ToBroker::Claim(asked, answer)) => {
                let notice = ClaimNotice::of(*asked, *answer, name_of(envelope));
                Ok(self.client.tell_claim(self.broker()?, &notice).await?)
            }
            FromLrms::Broker(_, ToBroker::Info(samples)) => {
                inform(&self.client, envelope, samples, self.broker()?).await
            }
            FromLrms::Client(end) => {
                notify(&self.client, envelope, News::Ended(*end), self.broker()).await
            }
        }
    }
}
