//! The disciplines, each as its page in `docs/disciplines.md` tells it.

use super::wishes::after;
use super::{RefCluster, RefStart};
use crate::reference::plan::Hold;
use crate::trail::Share;
use gridrig_core::job::JobSpec;
use gridrig_core::time::SimTime;

impl RefCluster {
    pub(super) fn first_that_fit(
        &mut self,
        now: SimTime,
        look_at: usize,
        started: &mut Vec<RefStart>,
    ) {
        let everything = vec![u32::MAX; self.config.resources.groups().len()];
        loop {
            let mut candidates = self.queue.iter().take(look_at).enumerate();
            let found = candidates
                .find_map(|(index, job)| Some((index, self.place_within(job, &everything)?)));
            let Some((index, placement)) = found else {
                return;
            };
            started.push(self.start(now, index, placement));
        }
    }

    /// The queue in order; the first that has to wait is promised the earliest
    /// instant for ever, the others may start if that stays true.
    pub(super) fn easy(&mut self, now: SimTime, started: &mut Vec<RefStart>) {
        let mut promise: Option<Hold> = None;
        let mut index = 0;
        while index < self.queue.len() {
            let job = self.queue[index].clone();
            let mut holds = self.running_holds(now);
            holds.extend(promise.clone());
            if let Some(placement) = self.fits_now(holds.clone(), &job, now) {
                started.push(self.start(now, index, placement));
                continue;
            }
            if promise.is_none() {
                let found = self.plan(holds).earliest(&self.wish(&job), after(now));
                promise = found.map(|found| Hold {
                    to: SimTime::MAX,
                    ..self.hold(&job, found)
                });
                if let Some(hold) = &promise {
                    self.promised(now, job.id, hold.from);
                }
            }
            index += 1;
        }
    }

    pub(super) fn conservative(&mut self, now: SimTime, started: &mut Vec<RefStart>) {
        self.keep_promises(now);
        let compress = std::mem::take(&mut self.loosened);
        for job in self.queue.clone() {
            let held = self.take_promise(job.id);
            if let Some(held) = held.filter(|_| !compress) {
                self.promises.push(held);
                continue;
            }
            let found = self
                .plan(self.all_holds(now))
                .earliest(&self.wish(&job), now);
            if let Some(found) = found {
                self.promise(now, &job, found);
            }
        }
        let mut index = 0;
        while index < self.queue.len() {
            match self.due(now, &self.queue[index]) {
                Some(placement) => started.push(self.start(now, index, placement)),
                None => index += 1,
            }
        }
    }

    /// First come, first served beside what is promised; at intervals the
    /// others are promised something, too.
    pub(super) fn slurm_that_promises(&mut self, now: SimTime, started: &mut Vec<RefStart>) {
        self.keep_promises(now);
        let mut tests = match self.is_time_to_plan(now) {
            true => self.config.slurm.bf_max_job_test,
            false => 0,
        };
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
                0 => self.due(now, &job),
                _ => self.start_or_promise(now, &job),
            };
            tests = tests.saturating_sub(1);
            match placement {
                Some(placement) => started.push(self.start(now, index, placement)),
                None => index += 1,
            }
        }
    }

    /// The turn of a job in such a plan: where it goes now; else it has been
    /// promised what there is.
    fn start_or_promise(&mut self, now: SimTime, job: &JobSpec) -> Option<Vec<Share>> {
        let own = self.take_promise(job.id);
        let holds = self.all_holds(now);
        if let Some(placement) = self.fits_now(holds.clone(), job, now) {
            return Some(placement);
        }
        let found = self.plan(holds).earliest(&self.wish(job), after(now));
        match found.filter(|(start, _)| *start <= now + self.config.slurm.bf_window) {
            Some(found) => self.promise(now, job, found),
            None => self.promises.extend(own),
        }
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
            let wish = self.wish(&job);
            let shares = self.plan(holds.clone()).fit(&wish, now);
            let placed = shares.and_then(|shares| {
                let placement = self.place_as_planned(&job, &shares)?;
                Some((shares, placement))
            });
            if let Some((shares, placement)) = placed {
                let to = floor(now + wish.length);
                holds.push(wish.hold((now, to), shares));
                started.push(self.start(now, index, placement));
                continue;
            }
            index += 1;
            if let Some((start, shares)) = self.plan(holds.clone()).earliest(&wish, after(now))
                && start <= now + settings.bf_window
            {
                let step = settings.bf_resolution;
                let to = floor(start + wish.length).max(floor(start) + step);
                if start < to {
                    let hold = wish.hold((start, to), shares);
                    holds.push(hold.clone());
                    let early = floor(start).max(now);
                    let more = self.plan(holds.clone()).before(early, &hold);
                    holds.extend(more);
                }
            }
        }
    }
}
