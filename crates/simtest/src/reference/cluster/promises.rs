//! Reservations that are kept from pass to pass.

use super::nodes::Placement;
use super::{Promise, RefCluster};
use crate::reference::plan::Hold;
use gridrig_core::ids::JobId;
use gridrig_core::job::JobSpec;
use gridrig_core::time::SimTime;

impl RefCluster {
    /// A pass begins: who waits no more is promised nothing, a plan that has
    /// not come true is forgotten, and one by resource gets its nodes when
    /// memory has come to matter.
    pub(super) fn keep_promises(&mut self, now: SimTime) {
        let waiting: Vec<JobId> = self.queue.iter().map(|job| job.id).collect();
        self.promises
            .retain(|promise| waiting.contains(&promise.job));
        let missed = self.promises.iter().any(|promise| promise.start < now);
        let overrun = self.running.iter().any(|running| running.expected <= now);
        if missed || overrun {
            self.promises.clear();
        }
        if self.by_node && !self.promises_by_node {
            self.promises_by_node = true;
            self.give_nodes(now);
        }
    }

    /// In order of start, then arrival: the first nodes that are free.
    fn give_nodes(&mut self, now: SimTime) {
        let mut by_resource = std::mem::take(&mut self.promises);
        let arrival = |job: JobId| self.queue.iter().position(|queued| queued.id == job);
        by_resource.sort_by_key(|promise| (promise.start, arrival(promise.job)));
        for Promise { job, start, shares } in by_resource {
            let Some(spec) = self.queue.iter().find(|queued| queued.id == job) else {
                continue;
            };
            let plan = self.plan(self.all_holds(now));
            if let Some(shares) = plan.fit_within(&self.wishes(spec), start, shares) {
                self.promises.push(Promise { job, start, shares });
            }
        }
    }

    /// What runs and what is promised.
    pub(super) fn all_holds(&self, now: SimTime) -> Vec<Hold> {
        let mut holds = self.running_holds(now);
        for Promise { job, start, shares } in &self.promises {
            let spec = self.queue.iter().find(|queued| queued.id == *job);
            let own = spec.map(|spec| self.hold(spec, *start, shares.clone()));
            holds.extend(own.into_iter().flatten());
        }
        holds
    }

    pub(super) fn take_promise(&mut self, job: JobId) -> Option<Promise> {
        let index = self.promises.iter().position(|promise| promise.job == job);
        index.map(|index| self.promises.remove(index))
    }

    /// Promises a job what was found for it, or what it had been promised if that
    /// is sooner: of several components that may be.
    pub(super) fn promise(
        &mut self,
        now: SimTime,
        job: JobId,
        found: Option<(SimTime, Vec<Vec<u32>>)>,
        own: Option<Promise>,
    ) {
        let found = found.map(|(start, shares)| Promise { job, start, shares });
        let all = [found, own].into_iter().flatten();
        if let Some(sooner) = all.min_by_key(|promise| promise.start) {
            self.promised(now, job, sooner.start);
            self.promises.push(sooner);
        }
    }

    pub(super) fn promised(&mut self, now: SimTime, job: JobId, start: SimTime) {
        let mut known = self.first_promises.iter();
        if !known.any(|(_, known, _)| *known == job) {
            self.first_promises.push((now, job, start));
        }
    }

    /// Where the job goes if its time has come and its nodes are free.
    pub(super) fn due(&self, now: SimTime, job: &JobSpec) -> Option<Placement> {
        let promise = self.promises.iter().find(|promise| promise.job == job.id)?;
        let shares = (promise.start == now).then_some(&promise.shares)?;
        self.place_as_planned(job, shares)
    }
}
