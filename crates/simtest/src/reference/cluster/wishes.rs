//! What a plan is told: who holds what, and what a job wants.

use super::RefCluster;
use super::nodes::{counts, is_of_kind};
use crate::reference::plan::{Hold, Place, RefPlan, Wish};
use crate::trail::Share;
use gridrig_core::job::JobSpec;
use gridrig_core::time::{SimDuration, SimTime};

impl RefCluster {
    /// What plans count: resources, or nodes once memory or more is asked for.
    pub(super) fn places(&self) -> Vec<Place> {
        let groups = self.config.resources.groups();
        let place = |resource: u16| {
            let group = &groups[usize::from(resource)];
            Place {
                resource: usize::from(resource),
                processors: u64::from(group.cpu_count),
                memory_kib: group.memory_mib.map(|mib| mib.saturating_mul(1024)),
                generic: counts(&group.generic),
            }
        };
        if self.by_node {
            return self.nodes.iter().map(|node| place(node.resource)).collect();
        }
        let whole = (0u16..).zip(groups).map(|(resource, group)| Place {
            processors: u64::from(group.count) * u64::from(group.cpu_count),
            memory_kib: None,
            ..place(resource)
        });
        whole.collect()
    }

    pub(super) fn plan(&self, holds: Vec<Hold>) -> RefPlan {
        let places = self.places();
        RefPlan { places, holds }
    }

    /// An end that is overdue is expected right after this instant.
    pub(super) fn running_holds(&self, now: SimTime) -> Vec<Hold> {
        let holds = self.running.iter().map(|running| {
            let span = (SimTime::ZERO, running.expected.max(after(now)));
            let shares = self.by_place(&running.placement);
            self.wish(&running.spec).hold(span, shares)
        });
        holds.collect()
    }

    fn by_place(&self, placement: &[Share]) -> Vec<u32> {
        let mut shares = vec![0; self.places().len()];
        for share in placement {
            let place = match self.by_node {
                true => self.nodes.iter().position(|node| node.is_of(*share)),
                false => Some(usize::from(share.resource)),
            };
            if let Some(place) = place {
                shares[place] += share.processors;
            }
        }
        shares
    }

    pub(super) fn wish(&self, job: &JobSpec) -> Wish {
        let memory_kib = job.requirements.memory_kib;
        let groups = self.config.resources.groups();
        let usable = groups.iter().filter(|g| is_of_kind(g, &job.requirements));
        let longest = usable.map(|group| group.speed.divide(estimate(job).as_nanos()));
        let most = |place: &Place| {
            let by_memory = match place.memory_kib {
                Some(memory) if memory_kib > 0 => memory / memory_kib,
                _ => u64::MAX,
            };
            match is_of_kind(&groups[place.resource], &job.requirements) {
                true => u32::try_from(place.processors.min(by_memory)).unwrap_or(u32::MAX),
                false => 0,
            }
        };
        Wish {
            processors: job.processors,
            length: SimDuration::from_nanos(longest.max().unwrap_or(0).max(1)),
            most: self.places().iter().map(most).collect(),
            memory_kib,
            generic: counts(&job.requirements.generic),
        }
    }

    /// The job's hold if it begins then.
    pub(super) fn hold(&self, job: &JobSpec, (from, shares): (SimTime, Vec<u32>)) -> Hold {
        let wish = self.wish(job);
        wish.hold((from, from + wish.length), shares)
    }

    /// Where it goes if the plan and the nodes let it start now.
    pub(super) fn fits_now(
        &self,
        holds: Vec<Hold>,
        job: &JobSpec,
        now: SimTime,
    ) -> Option<Vec<Share>> {
        let shares = self.plan(holds).fit(&self.wish(job), now)?;
        self.place_as_planned(job, &shares)
    }

    /// By node exactly where the plan says, by resource on the first nodes
    /// within what it says.
    pub(super) fn place_as_planned(&self, job: &JobSpec, shares: &[u32]) -> Option<Vec<Share>> {
        match self.by_node {
            true => self.place_on(job, shares),
            false => self.place_within(job, shares),
        }
    }

    /// Whether the job makes a cluster plan by node that has planned by
    /// resource: it asks for generic resources, or one of the resources it may use
    /// has no more memory than said.
    pub(super) fn minds_nodes(&self, job: &JobSpec) -> bool {
        let mut groups = self.config.resources.groups().iter();
        let minds_memory = job.requirements.memory_kib > 0
            && groups.any(|g| is_of_kind(g, &job.requirements) && g.memory_mib.is_some());
        minds_memory || !job.requirements.generic.is_empty()
    }
}

/// The instant right after this one.
pub(super) fn after(now: SimTime) -> SimTime {
    now + SimDuration::from_nanos(1)
}

/// What the user said, else the truth.
pub(super) fn estimate(job: &JobSpec) -> SimDuration {
    job.requested_time.unwrap_or(job.run_time)
}
