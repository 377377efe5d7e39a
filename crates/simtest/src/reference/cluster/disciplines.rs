//! The disciplines, each as its page in `docs/disciplines.md` tells it.

use super::{Promise, RefCluster, RefStart};
use crate::reference::plan::Hold;
use gridrig_core::ids::JobId;
use gridrig_core::time::{SimDuration, SimTime};

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
            if let Some(placement) = self.fits_now(&holds, &job, now) {
                started.push(self.start(now, index, placement));
                continue;
            }
            if promise.is_none() {
                let next = now + SimDuration::from_nanos(1);
                let found = self.plan(holds).earliest(&self.wish(&job), next);
                promise = found.map(|(from, shares)| Hold {
                    from,
                    to: SimTime::MAX,
                    shares,
                    memory_kib: job.requirements.memory_kib,
                });
            }
            index += 1;
        }
    }

    pub(super) fn conservative(&mut self, now: SimTime, started: &mut Vec<RefStart>) {
        let waiting: Vec<JobId> = self.queue.iter().map(|job| job.id).collect();
        self.promises
            .retain(|promise| waiting.contains(&promise.job));
        let missed = self.promises.iter().any(|promise| promise.hold.from < now);
        let overrun = self.running.iter().any(|running| running.expected <= now);
        if missed || overrun {
            self.promises.clear();
        }
        let compress = std::mem::take(&mut self.loosened);
        for job in self.queue.clone() {
            let held = self.promises.iter().position(|p| p.job == job.id);
            if held.is_some() && !compress {
                continue;
            }
            if let Some(held) = held {
                self.promises.remove(held);
            }
            let mut holds = self.running_holds(now);
            holds.extend(self.promises.iter().map(|promise| promise.hold.clone()));
            let wish = self.wish(&job);
            if let Some((from, shares)) = self.plan(holds).earliest(&wish, now) {
                let to = from + wish.length;
                let memory_kib = wish.memory_kib;
                let hold = Hold {
                    from,
                    to,
                    shares,
                    memory_kib,
                };
                self.promises.push(Promise { job: job.id, hold });
            }
        }
        let mut index = 0;
        while index < self.queue.len() {
            let job = self.queue[index].clone();
            let promise = self.promises.iter().find(|promise| promise.job == job.id);
            let due = promise.filter(|promise| promise.hold.from <= now);
            match due.and_then(|due| self.place_within(&job, &due.hold.shares)) {
                Some(placement) => {
                    self.promises.retain(|promise| promise.job != job.id);
                    started.push(self.start(now, index, placement));
                }
                None => index += 1,
            }
        }
    }

    pub(super) fn slurm(&mut self, now: SimTime, started: &mut Vec<RefStart>) {
        let settings = self.config.slurm;
        let on_grid = now
            .as_nanos()
            .is_multiple_of(settings.bf_interval.as_nanos());
        let plans = on_grid && self.unplanned;
        if plans {
            self.unplanned = false;
        }
        while let Some(head) = self.queue.first().cloned() {
            let holds = self.running_holds(now);
            let Some(placement) = self.fits_now(&holds, &head, now) else {
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
            let memory_kib = wish.memory_kib;
            let shares = self.plan(holds.clone()).fit(&wish, now);
            let placed = shares.and_then(|shares| {
                let placement = self.place_within(&job, &shares)?;
                Some((shares, placement))
            });
            if let Some((shares, placement)) = placed {
                let to = floor(now + wish.length);
                holds.push(Hold {
                    from: now,
                    to,
                    shares,
                    memory_kib,
                });
                started.push(self.start(now, index, placement));
                continue;
            }
            index += 1;
            let next = now + SimDuration::from_nanos(1);
            if let Some((start, shares)) = self.plan(holds.clone()).earliest(&wish, next)
                && start <= now + settings.bf_window
            {
                let to = floor(start + wish.length);
                if start < to {
                    holds.push(Hold {
                        from: start,
                        to,
                        shares: shares.clone(),
                        memory_kib,
                    });
                    let early = floor(start).max(now);
                    let more = self
                        .plan(holds.clone())
                        .before(early, start, &shares, memory_kib);
                    holds.extend(more);
                }
            }
        }
    }
}
