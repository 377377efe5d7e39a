//! Where a job stands that has gone on from here: whoever has it is asked, broker
//! after broker, down to the LRMS.

use super::BrokerHandler;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::message::Target;
use gridrig_protocol::lagrid::{JobReport, JobState, QueryJob};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::time::Duration;

/// How long the others on a job's way may take to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// The jobs that are being asked about. A job may come round to a broker that it
/// has left: the question does not follow it more than once.
#[derive(Debug, Default)]
pub(super) struct Asking(Mutex<BTreeSet<JobId>>);

impl Asking {
    /// `None` while somebody asks about the job already.
    fn begin(&self, job: JobId) -> Option<Question<'_>> {
        let new = self.0.lock().insert(job);
        new.then(|| Question { asking: self, job })
    }
}

struct Question<'a> {
    asking: &'a Asking,
    job: JobId,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        self.asking.0.lock().remove(&self.job);
    }
}

impl BrokerHandler {
    /// What whoever has this job says of it; `None` where nobody answers in
    /// time. That it has ended counts when the news of it has come, not before.
    pub(super) async fn follow(&self, job: JobId, to: Target) -> Option<JobReport> {
        let _question = self.asking.begin(job)?;
        let asked = async {
            match to {
                Target::Peer(domain) => self.ask_peer(domain, job).await,
                Target::Cluster(cluster) => self.ask_lrms(cluster, job).await,
            }
        };
        let said = tokio::time::timeout(PATIENCE, asked).await.ok().flatten()?;
        (!said.state.is_end()).then_some(JobReport { job: job.0, ..said })
    }

    async fn ask_peer(&self, domain: DomainId, job: JobId) -> Option<JobReport> {
        let Some(link) = self.links().get(domain) else {
            let peer = self.app.config.peers.get(&domain)?;
            return self.ask_natively(&peer.url, job).await;
        };
        let request = QueryJob {
            connection: link.open_connection()?,
            job: link.state().job_names.theirs(job),
        };
        link.call(&request).await.ok()
    }

    async fn ask_lrms(&self, cluster: ClusterId, job: JobId) -> Option<JobReport> {
        let url = self.app.config.lrms.get(&cluster)?;
        let said = self.ask_natively(url, job).await?;
        Some(JobReport {
            cluster: Some(cluster.0),
            ..said
        })
    }

    async fn ask_natively(&self, url: &str, job: JobId) -> Option<JobReport> {
        let status = self.client.as_ref()?.job(url, job.0).await.ok()?;
        Some(JobReport {
            start_ns: status.start_ns,
            ..JobReport::of(job, JobState::from_name(&status.state)?)
        })
    }
}
