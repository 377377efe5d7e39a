//! The background load of clusters, which is kept within a range (KOALA, 5.5): a dummy job
//! stands ready whenever it is looked at.

use super::Simulation;
use gridrig_core::agent::Cancel;
use gridrig_core::cluster::JobStatus;
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::time::Decimal;

impl Simulation<'_> {
    /// Whether a job that would enter at a cluster is a dummy that is not needed. Dummies that
    /// are too much are removed then, the latest first.
    pub(super) fn is_needless(&mut self, id: ClusterId, job: JobId) -> bool {
        let Some(background) = self.grid.clusters[id.index()].config.background else {
            return false;
        };
        let mut present = self.present.remove(&id).unwrap_or_default();
        let needed = !self.is_dummy(job) || {
            let cluster = self.lrms[id.index()].cluster();
            present.retain(|job| cluster.query(*job).is_some());
            let processors = u64::from(cluster.resources().processors());
            let (least, most) = (background.least, background.most);
            let mut load: u64 = present.iter().map(|job| self.running(id, *job)).sum();
            while Decimal::from_whole(load) > most.times(processors) {
                let Some(latest) = present.iter().rposition(|job| self.is_dummy(*job)) else {
                    break;
                };
                let latest = present.remove(latest);
                load -= self.running(id, latest);
                self.tell_lrms(id, Cancel(latest));
            }
            // One that waits will be load.
            let waits = |job: &&JobId| self.is_dummy(**job) && self.running(id, **job) == 0;
            let waiting = present.iter().filter(waits);
            let waiting = waiting.map(|job| self.processors(*job));
            Decimal::from_whole(load + waiting.sum::<u64>()) < least.times(processors)
        };
        if needed {
            present.push(job);
        }
        self.present.insert(id, present);
        !needed
    }

    fn is_dummy(&self, job: JobId) -> bool {
        self.submissions[job.index()].label.is_dummy()
    }

    fn processors(&self, job: JobId) -> u64 {
        self.submissions[job.index()].spec.processors().into()
    }

    /// On how many processors of the cluster a job runs.
    fn running(&self, cluster: ClusterId, job: JobId) -> u64 {
        match self.lrms[cluster.index()].cluster().query(job) {
            Some(JobStatus::Running { .. }) => self.processors(job),
            _ => 0,
        }
    }
}
