//! Our own interface: `POST /v1/jobs` in JSON.

use super::{Answer, Outlet, Ticket};
use gridrig_core::agent::Arrival;
use gridrig_drivers::real_time::TransportError;
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::JobSubmission;

/// Submits to a broker or an LRMS of ours.
#[derive(Clone, Debug)]
pub struct Native {
    client: Client,
    url: String,
}

impl Native {
    /// The service at this base URL.
    #[must_use]
    pub fn new(client: Client, url: &str) -> Self {
        let url = url.trim_end_matches('/').to_owned();
        Native { client, url }
    }
}

impl Outlet for Native {
    fn submit<'a>(&'a self, ticket: &'a Ticket) -> Answer<'a> {
        let job = JobSubmission::of(&Arrival {
            key: Some(ticket.key.clone()),
            id: Some(ticket.job.id),
            meant: Some(ticket.due),
            tag: Some(ticket.tag.as_str().into()),
            ..Arrival::of(ticket.job.clone())
        });
        Box::pin(async move {
            let receipt = self.client.submit(&self.url, &job).await;
            receipt.map(drop).map_err(TransportError::from)
        })
    }

    /// What was handed over first arrives first.
    fn at_once(&self) -> usize {
        1
    }
}
