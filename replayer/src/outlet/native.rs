//! Our own interface: `POST /v1/jobs` in JSON.

use super::{Answer, Outlet, Result, SubmitRequest};
use gridrig_core::agent::{Arrival, Published};
use gridrig_core::ids::JobId;
use gridrig_core::job::Entry;
use gridrig_core::message::JobEnd;
use gridrig_drivers::real_time::TransportError;
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::JobSubmission;
use std::time::Duration;

/// Submits to a broker or an LRMS of ours.
#[derive(Clone, Debug)]
pub struct Native {
    client: Client,
    url: String,
    in_run: bool,
}

impl Native {
    /// The service at this base URL.
    pub fn new(client: Client, url: &str) -> Self {
        Native {
            client,
            url: url.trim_end_matches('/').to_owned(),
            in_run: true,
        }
    }

    /// The same for jobs of no run: the service numbers them, whichever it has
    /// had before, and they are meant to arrive when they do.
    #[must_use]
    pub fn without_run(self) -> Self {
        Native {
            in_run: false,
            ..self
        }
    }

    /// The ends that the service publishes from a position on; it may hold the
    /// question until there is one.
    pub(crate) async fn ends(&self, by: Entry, after: u64, wait: Duration) -> Result<Published> {
        let page = self.client.ends(&self.url, after, wait).await?;
        let ends = page.ends.iter();
        Ok(Published {
            by,
            life: page.life,
            next: page.next,
            ends: ends.filter_map(|end| JobEnd::try_from(end).ok()).collect(),
        })
    }
}

impl Outlet for Native {
    fn submit<'a>(&'a self, request: &'a SubmitRequest) -> Answer<'a> {
        let job = JobSubmission::of(&Arrival {
            key: Some(request.key.clone()),
            id: self.in_run.then_some(request.job.id),
            meant: self.in_run.then_some(request.due),
            tag: Some(request.tag.as_str().into()),
            ..Arrival::of(request.job.clone())
        });
        Box::pin(async move {
            let receipt = self.client.submit(&self.url, &job).await;
            receipt.map(drop).map_err(TransportError::from)
        })
    }

    fn cancel(&self, job: JobId) -> Answer<'_> {
        Box::pin(async move {
            let removed = self.client.cancel(&self.url, job.0, None).await;
            removed.map(drop).map_err(TransportError::from)
        })
    }

    /// What was handed over first arrives first.
    fn at_once(&self) -> usize {
        1
    }
}
