//! What a plan is told: who holds what, and what a job wants.

use super::RefCluster;
use super::nodes::is_of_kind;
use crate::reference::plan::{Hold, RefPlan, Wish};
use crate::trail::Share;
use gridrig_core::job::JobSpec;
use gridrig_core::time::{SimDuration, SimTime};

impl RefCluster {
    pub(super) fn plan(&self, holds: Vec<Hold>) -> RefPlan<'_> {
        let groups = self.config.resources.groups();
        RefPlan { groups, holds }
    }

    /// An end that is overdue is expected right after this instant.
    pub(super) fn running_holds(&self, now: SimTime) -> Vec<Hold> {
        let next = now + SimDuration::from_nanos(1);
        let holds = self.running.iter().map(|running| {
            let mut shares = vec![0; self.config.resources.groups().len()];
            for share in &running.placement {
                shares[usize::from(share.resource)] += share.processors;
            }
            Hold {
                from: SimTime::ZERO,
                to: running.expected.max(next),
                shares,
                memory_kib: running.spec.requirements.memory_kib,
            }
        });
        holds.collect()
    }

    pub(super) fn wish(&self, job: &JobSpec) -> Wish {
        let memory_kib = job.requirements.memory_kib;
        let groups = self.config.resources.groups().iter();
        let usable = groups.clone().filter(|g| is_of_kind(g, &job.requirements));
        let longest = usable.map(|group| group.speed.divide(estimate(job).as_nanos()));
        let most = groups.map(|group| {
            let by_memory = match group.memory_mib {
                Some(mib) if memory_kib > 0 => mib.saturating_mul(1024) / memory_kib,
                _ => u64::MAX,
            };
            let per_node = u64::from(group.cpu_count).min(by_memory);
            let all = u64::from(group.count) * per_node;
            match is_of_kind(group, &job.requirements) {
                true => u32::try_from(all).unwrap_or(u32::MAX),
                false => 0,
            }
        });
        Wish {
            processors: job.processors,
            length: SimDuration::from_nanos(longest.max().unwrap_or(0)),
            most: most.collect(),
            memory_kib,
        }
    }

    /// Where it goes if the plan and the nodes let it start now.
    pub(super) fn fits_now(
        &self,
        holds: &[Hold],
        job: &JobSpec,
        now: SimTime,
    ) -> Option<Vec<Share>> {
        let shares = self.plan(holds.to_vec()).fit(&self.wish(job), now)?;
        self.place_within(job, &shares)
    }
}

/// What the user said, else the truth.
pub(super) fn estimate(job: &JobSpec) -> SimDuration {
    job.requested_time.unwrap_or(job.run_time)
}
