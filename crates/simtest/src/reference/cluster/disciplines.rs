//! The disciplines, each as its page in `docs/disciplines.md` tells it.

use super::nodes::Placement;
use super::wishes::{after, estimate, holds as holds_of};
use super::{RefCluster, RefStart};
use crate::reference::plan::Hold;
use gridrig_core::job::JobSpec;
use gridrig_core::time::SimTime;

impl RefCluster {
    pub(super) fn first_that_fit(
        &mut self,
        now: SimTime,
        look_at: usize,
        started: &mut Vec<RefStart>,
    ) {
        let next = |it: &Self| {
            let mut candidates = it.queue.iter().take(look_at).enumerate();
            candidates.find_map(|(index, job)| Some((index, it.place(job)?)))
        };
        while let Some((index, placement)) = next(self) {
            started.push(self.start(now, index, placement));
        }
    }

    /// The same beside what is reserved; whether others pass a job that does not fit.
    pub(super) fn in_order(&mut self, now: SimTime, passes: bool, started: &mut Vec<RefStart>) {
        let mut index = 0;
        while let Some(job) = self.queue.get(index) {
            match self.fits_now(self.running_holds(now), job, now) {
                Some(placement) => started.push(self.start(now, index, placement)),
                None if passes => index += 1,
                None => return,
            }
        }
    }

    /// The shortest is the next, of several the one that came first.
    pub(super) fn shortest_first(&mut self, now: SimTime, started: &mut Vec<RefStart>) {
        let next = |it: &Self| {
            let waiting = it.queue.iter().enumerate();
            let (index, job) = waiting.min_by_key(|(_, job)| estimate(job))?;
            Some((index, it.fits_now(it.running_holds(now), job, now)?))
        };
        while let Some((index, placement)) = next(self) {
            started.push(self.start(now, index, placement));
        }
    }

    /// The queue in order; the first that has to wait is promised the earliest
    /// instant for ever, the others may start if that stays true.
    pub(super) fn easy(&mut self, now: SimTime, started: &mut Vec<RefStart>) {
        self.keep_promises(now);
        let mut promise: Option<Vec<Hold>> = None;
        self.head = None;
        self.start_late(now, started);
        let mut index = 0;
        while index < self.queue.len() {
            let job = self.queue[index].clone();
            let mut holds = self.running_holds(now);
            holds.extend(promise.iter().flatten().cloned());
            let placement = self.fits_now(holds.clone(), &job, now);
            if let Some(placement) = placement.or_else(|| self.due(now, &job)) {
                started.push(self.start(now, index, placement));
                continue;
            }
            if promise.is_none() {
                let own = self.take_promise(job.id);
                let wishes = self.wishes(&job);
                let found = self.plan(holds).earliest(&wishes, after(now));
                self.promise(now, job.id, found, own);
                // Nodes that are down may leave it without any.
                let own = self.take_promise(job.id);
                self.head = own.clone().map(|own| (job.clone(), own));
                promise = own.map(|kept| {
                    let holds = self.hold(&job, kept.start, kept.shares.clone());
                    // One component always finds what was kept for it.
                    if wishes.len() > 1 {
                        self.promises.push(kept);
                    }
                    holds
                });
            }
            index += 1;
        }
    }

    pub(super) fn conservative(&mut self, now: SimTime, started: &mut Vec<RefStart>) {
        self.keep_promises(now);
        let compress = std::mem::take(&mut self.loosened);
        for job in self.queue.clone() {
            let own = self.take_promise(job.id);
            if own.is_some() && !compress {
                self.promises.extend(own);
                continue;
            }
            let plan = self.plan(self.all_holds(now));
            let found = plan.earliest(&self.wishes(&job), now);
            self.promise(now, job.id, found, own);
        }
        self.start_late(now, started);
        self.start_due(now, started);
    }

    /// First come, first served beside what is promised; at intervals the
    /// others are promised something, too.
    pub(super) fn slurm_that_promises(&mut self, now: SimTime, started: &mut Vec<RefStart>) {
        self.keep_promises(now);
        let mut tests = match self.is_time_to_plan(now) {
            true => self.config.slurm.bf_max_job_test,
            false => 0,
        };
        self.start_late(now, started);
        while let Some(job) = self.queue.first().cloned() {
            let own = self.take_promise(job.id);
            let Some(placement) = self.fits_now(self.all_holds(now), &job, now) else {
                self.promises.extend(own);
                break;
            };
            started.push(self.start(now, 0, placement));
        }
        let mut index = 0;
        while index < self.queue.len() {
            let job = self.queue[index].clone();
            let placement = match tests {
                0 => None,
                _ => self.start_or_promise(now, &job),
            };
            tests = tests.saturating_sub(1);
            match placement {
                Some(placement) => started.push(self.start(now, index, placement)),
                None => index += 1,
            }
        }
        self.start_due(now, started);
    }

    /// Those whose time has come, in order.
    fn start_due(&mut self, now: SimTime, started: &mut Vec<RefStart>) {
        let mut index = 0;
        while index < self.queue.len() {
            match self.due(now, &self.queue[index]) {
                Some(placement) => started.push(self.start(now, index, placement)),
                None => index += 1,
            }
        }
    }

    /// The turn of a job in such a plan: where it goes now; else it has been
    /// promised what there is.
    fn start_or_promise(&mut self, now: SimTime, job: &JobSpec) -> Option<Placement> {
        let own = self.take_promise(job.id);
        let holds = self.all_holds(now);
        if let Some(placement) = self.fits_now(holds.clone(), job, now) {
            return Some(placement);
        }
        let found = self.plan(holds).earliest(&self.wishes(job), after(now));
        let found = found.filter(|(start, _)| *start <= now + self.config.slurm.bf_window);
        self.promise(now, job.id, found, own);
        None
    }

    /// Whether this pass is to plan; it counts as done then.
    fn is_time_to_plan(&mut self, now: SimTime) -> bool {
        let grid = self.config.slurm.bf_interval.as_nanos();
        let plans = self.unplanned && now.as_nanos().is_multiple_of(grid);
        self.unplanned &= !plans;
        plans
    }

    pub(super) fn slurm(&mut self, now: SimTime, started: &mut Vec<RefStart>) {
        let settings = self.config.slurm;
        let plans = self.is_time_to_plan(now);
        while let Some(head) = self.queue.first().cloned() {
            let holds = self.running_holds(now);
            let Some(placement) = self.fits_now(holds, &head, now) else {
                break;
            };
            started.push(self.start(now, 0, placement));
        }
        if !plans {
            return;
        }
        let floor = |at: SimTime| {
            let step = settings.bf_resolution.as_nanos();
            SimTime::from_nanos(at.as_nanos() / step * step)
        };
        // What has started in the plan ends in the plan at a rounded instant.
        let mut holds = self.running_holds(now);
        let mut index = 0;
        for _ in 0..settings.bf_max_job_test {
            let Some(job) = self.queue.get(index).cloned() else {
                break;
            };
            let (wishes, length) = (self.wishes(&job), self.length(&job));
            let shares = self.plan(holds.clone()).fit(&wishes, now);
            let placed = shares.and_then(|shares| {
                let placement = self.place_as_planned(&job, &shares)?;
                Some((shares, placement))
            });
            if let Some((shares, placement)) = placed {
                let to = floor(now + length);
                holds.extend(holds_of(&wishes, (now, to), shares));
                started.push(self.start(now, index, placement));
                continue;
            }
            index += 1;
            if let Some((start, shares)) = self.plan(holds.clone()).earliest(&wishes, after(now))
                && start <= now + settings.bf_window
            {
                let step = settings.bf_resolution;
                let to = floor(start + length).max(floor(start) + step);
                if start < to {
                    let own = holds_of(&wishes, (start, to), shares);
                    holds.extend(own.clone());
                    let early = floor(start).max(now);
                    for hold in own {
                        let more = self.plan(holds.clone()).before(early, &hold);
                        holds.extend(more);
                    }
                }
            }
        }
    }
}
