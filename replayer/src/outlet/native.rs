//! Our own interface: `POST /v1/jobs` in JSON.

use super::{Answer, Fate, Names, Outlet, Result, SubmitRequest};
use gridrig_core::agent::{Arrival, Published};
use gridrig_core::ids::JobId;
use gridrig_core::job::Entry;
use gridrig_core::message::JobEnd;
use gridrig_drivers::real_time::TransportError;
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::{JobEndReport, JobState, JobSubmission};
use std::time::Duration;

/// Submits to a broker or an LRMS of ours.
#[derive(Clone, Debug)]
pub struct Native {
    client: Client,
    url: String,
    in_run: bool,
    /// The numbers that the service has given jobs of no run.
    numbers: Names<u32>,
}

impl Native {
    /// The service at this base URL.
    pub fn new(client: Client, url: &str) -> Self {
        Native {
            client,
            url: url.trim_end_matches('/').to_owned(),
            in_run: true,
            numbers: Names::default(),
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
            let receipt = self.client.submit(&self.url, &job).await?;
            if !self.in_run {
                self.numbers.lock().insert(request.job.id, receipt.id);
            }
            Ok(())
        })
    }

    /// In a run its ends are told otherwise.
    fn follows(&self) -> bool {
        !self.in_run
    }

    fn stands(&self, job: JobId) -> Fate<'_> {
        Box::pin(async move {
            let Some(number) = self.numbers.lock().get(&job).copied() else {
                return Ok(None);
            };
            let status = self.client.job(&self.url, number).await?;
            let state = JobState::from_name(&status.state).filter(|state| state.is_end());
            let end = state.and_then(|state| {
                let report = JobEndReport {
                    reason: status.reason,
                    ..JobEndReport::of(job, state)
                };
                JobEnd::try_from(&report).ok()
            });
            Ok(end)
        })
    }

    fn cancel(&self, job: JobId) -> Answer<'_> {
        Box::pin(async move {
            let removed = self.client.cancel(&self.url, job.0, None).await;
            removed.map(drop).map_err(TransportError::from)
        })
    }
}
