//! Jobs as the LRMSs see them: their logs are read while a run goes, and the
//! tag of each job says which job of the workload it is, if any.

use gridrig_core::agent::{Observation, Place};
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_protocol::client::{Client, ClientError};
use gridrig_protocol::tag::Tags;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc};

/// Between two looks at a log that has nothing new.
const POLL: Duration = Duration::from_millis(200);

/// Whose a job in an LRMS is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The workload's, by its tag.
    Tagged(JobId),
    /// The workload's, by its tag, in another attempt than the one that counts.
    Repeated(JobId),
    /// The workload's, under its own name: it came by our own interface.
    Named(JobId),
    /// Somebody else's.
    Foreign,
}

/// What jobs are called in each LRMS, and whose they are.
pub type Names = BTreeMap<Place, Owner>;

/// Whose jobs are, as far as is known, for others to look at while a run goes.
#[derive(Clone, Debug, Default)]
pub struct Owners(Arc<parking_lot::Mutex<Names>>);

impl Owners {
    /// Whose the job is that an LRMS calls so; `None` as long as nobody has
    /// looked.
    pub fn owner(&self, cluster: ClusterId, local: JobId) -> Option<Owner> {
        self.0.lock().get(&(cluster, local)).copied()
    }

    /// Notes whose a job is.
    pub fn note(&self, cluster: ClusterId, local: JobId, owner: Owner) {
        self.0.lock().insert((cluster, local), owner);
    }

    /// All that is known.
    pub fn all(&self) -> Names {
        self.0.lock().clone()
    }
}

/// Reads the log of one LRMS.
pub(crate) struct LogReader {
    pub client: Client,
    pub url: String,
    pub cluster: ClusterId,
    pub tags: Tags,
    /// Whether a job of the workload goes by its own name.
    pub is_named: Arc<[bool]>,
    pub out: mpsc::UnboundedSender<Observation>,
    /// How far it is read.
    pub after: Arc<Mutex<u64>>,
    pub owners: Owners,
}

impl LogReader {
    /// Reads on until nobody listens any more.
    pub async fn run(self) {
        while !self.out.is_closed() {
            match self.read_page().await {
                Ok(0) => tokio::time::sleep(POLL).await,
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "the log of an LRMS cannot be read");
                    tokio::time::sleep(POLL).await;
                }
            }
        }
    }

    /// Reads what there is.
    pub async fn catch_up(&self) -> Result<(), ClientError> {
        while self.read_page().await? > 0 {}
        Ok(())
    }

    async fn read_page(&self) -> Result<usize, ClientError> {
        let mut after = self.after.lock().await;
        let page = self.client.events(&self.url, *after).await?;
        if page.first > *after {
            let events = page.first - *after;
            tracing::warn!(
                url = self.url,
                events,
                "events of an LRMS were not read in time"
            );
        }
        for report in &page.events {
            let Some(local) = report.job.map(JobId) else {
                continue;
            };
            let owner = match self.owners.owner(self.cluster, local) {
                Some(owner) => owner,
                None => {
                    let owner = self.owner(local).await?;
                    self.owners.note(self.cluster, local, owner);
                    owner
                }
            };
            let (at, placement) = report.at_and_placement();
            if let (Owner::Tagged(job), Ok(event)) = (owner, report.event(&placement)) {
                // Nobody may be listening any more.
                let _ = self.out.send(Observation {
                    job,
                    place: (self.cluster, local),
                    at,
                    kind: event.kind,
                    reason: event.reason,
                });
            }
        }
        *after = page.next;
        Ok(page.events.len())
    }

    async fn owner(&self, local: JobId) -> Result<Owner, ClientError> {
        let tag = match self.client.job(&self.url, local.0).await {
            Ok(status) => status.tag,
            // It has been forgotten: nobody will know.
            Err(ClientError::Problem { .. }) => None,
            Err(error) => return Err(error),
        };
        let named = self.is_named.get(local.index()).copied().unwrap_or(false);
        Ok(match tag.as_deref().and_then(|tag| self.tags.job_in(tag)) {
            Some(job) if named && job == local => Owner::Named(job),
            Some(job) if job.index() < self.is_named.len() => Owner::Tagged(job),
            _ if named && tag.is_none() => Owner::Named(local),
            _ => Owner::Foreign,
        })
    }
}
