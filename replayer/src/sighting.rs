//! Jobs as the LRMSs see them: their logs are read while a run goes, and the
//! tag of each job says which job of the workload it is, if any.

use gridrig_core::event::EventKind;
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::message::EndState;
use gridrig_core::time::SimTime;
use gridrig_protocol::client::{Client, ClientError};
use gridrig_protocol::rest::EventReport;
use gridrig_protocol::tag::Tags;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex, mpsc};

/// Between two looks at a log that has nothing new.
const POLL: Duration = Duration::from_millis(200);

/// Whose a job in an LRMS is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The workload's, by its tag.
    Tagged(JobId),
    /// The workload's, under its own name: it came by our own interface.
    Named(JobId),
    /// Somebody else's.
    Foreign,
}

/// What jobs are called in each LRMS, and whose they are.
pub type Names = BTreeMap<(ClusterId, JobId), Owner>;

/// Whose jobs are, as far as is known, for others to look at while a run goes.
#[derive(Clone, Debug, Default)]
pub struct Board(Arc<std::sync::Mutex<Names>>);

impl Board {
    /// Whose the job is that an LRMS calls so; `None` as long as nobody has
    /// looked.
    #[must_use]
    pub fn owner(&self, cluster: ClusterId, local: JobId) -> Option<Owner> {
        self.names().get(&(cluster, local)).copied()
    }

    /// Notes whose a job is.
    pub fn note(&self, cluster: ClusterId, local: JobId, owner: Owner) {
        self.names().insert((cluster, local), owner);
    }

    fn names(&self) -> std::sync::MutexGuard<'_, Names> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that an LRMS has written of a job of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The job.
    pub job: JobId,
    /// Where.
    pub cluster: ClusterId,
    /// What it is called there.
    pub local: JobId,
    /// When.
    pub at: SimTime,
    /// Whether it is over there, and how.
    pub ended: Option<EndState>,
}

/// Reads the log of one LRMS.
pub(crate) struct LogReader {
    pub client: Client,
    pub url: String,
    pub cluster: ClusterId,
    pub tags: Tags,
    /// Whether a job of the workload goes by its own name.
    pub is_named: Arc<[bool]>,
    pub out: mpsc::UnboundedSender<Sighting>,
    pub state: Arc<Mutex<LogState>>,
    pub board: Board,
}

/// How far a log is read.
#[derive(Default)]
pub(crate) struct LogState {
    after: u64,
    pub names: BTreeMap<JobId, Owner>,
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
        let mut state = self.state.lock().await;
        let page = self.client.events(&self.url, state.after).await?;
        for report in &page.events {
            let Some(local) = report.job.map(JobId) else {
                continue;
            };
            let owner = match state.names.get(&local) {
                Some(owner) => *owner,
                None => {
                    let owner = self.owner(local).await?;
                    state.names.insert(local, owner);
                    self.board.note(self.cluster, local, owner);
                    owner
                }
            };
            if let (Owner::Tagged(job), Some(ended)) = (owner, seen(report)) {
                // Nobody may be listening any more.
                let _ = self.out.send(Sighting {
                    job,
                    cluster: self.cluster,
                    local,
                    at: SimTime::from_nanos(report.at_ns),
                    ended,
                });
            }
        }
        state.after = page.next;
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

/// Whether an event shows where a job is, and whether it is over there.
fn seen(report: &EventReport) -> Option<Option<EndState>> {
    let (_, placement) = report.at_and_placement();
    let event = report.event(&placement).ok()?;
    match event.kind {
        EventKind::Queued | EventKind::Started => Some(None),
        EventKind::Finished => Some(Some(EndState::Completed)),
        EventKind::Rejected => event.reason.map(EndState::Rejected).map(Some),
        EventKind::Cancelled => Some(Some(EndState::Cancelled)),
        EventKind::Failed => event.reason.map(EndState::Failed).map(Some),
        _ => None,
    }
}
