//! What a plan is told: who holds what, and what a job wants.

use super::RefCluster;
use super::nodes::{Placement, counts, is_of_kind};
use crate::reference::plan::{Hold, Place, RefPlan, Wish};
use crate::trail::Share;
use gridrig_core::job::{Component, JobSpec};
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

    /// What runs, is down or is reserved. An end that is overdue is expected right after this instant; of nodes that
    /// are down nobody expects anything.
    pub(super) fn running_holds(&self, now: SimTime) -> Vec<Hold> {
        let holds = self.running.iter().flat_map(|running| {
            let span = (SimTime::ZERO, running.expected.max(after(now)));
            let shares = running.placement.iter().map(|own| self.by_place(own));
            holds(&self.wishes(&running.spec), span, shares.collect())
        });
        let holds = holds.chain(self.down_holds());
        holds.chain(self.kept_holds()).collect()
    }

    pub(super) fn by_place(&self, placement: &[Share]) -> Vec<u32> {
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

    /// How long a job may take wherever each of its components runs.
    pub(super) fn length(&self, job: &JobSpec) -> SimDuration {
        let groups = self.config.resources.groups().iter();
        let usable = groups.filter(|group| {
            let mut all = job.components.iter();
            all.any(|one| is_of_kind(group, &one.requirements))
        });
        let longest = usable.map(|group| group.speed.divide(estimate(job).as_nanos()));
        SimDuration::from_nanos(longest.max().unwrap_or(0).max(1))
    }

    /// What each component wants.
    pub(super) fn wishes(&self, job: &JobSpec) -> Vec<Wish> {
        self.wishes_for(job, self.length(job))
    }

    /// The same for so long.
    pub(super) fn wishes_for(&self, job: &JobSpec, length: SimDuration) -> Vec<Wish> {
        let all = job.components.iter();
        all.map(|one| self.wish(one, length)).collect()
    }

    fn wish(&self, one: &Component, length: SimDuration) -> Wish {
        let memory_kib = one.requirements.memory_kib;
        let groups = self.config.resources.groups();
        let most = |place: &Place| {
            let by_memory = match place.memory_kib {
                Some(memory) if memory_kib > 0 => memory / memory_kib,
                _ => u64::MAX,
            };
            let by_node = match self.most_per_node(&one.requirements) {
                most if most > 0 && self.by_node => u64::from(most),
                _ => u64::MAX,
            };
            let most = place.processors.min(by_memory).min(by_node);
            match is_of_kind(&groups[place.resource], &one.requirements) {
                true => u32::try_from(most).unwrap_or(u32::MAX),
                false => 0,
            }
        };
        Wish {
            processors: one.processors,
            length,
            most: self.places().iter().map(most).collect(),
            memory_kib,
            generic: counts(&one.requirements.generic),
        }
    }

    /// The job's holds if it begins then.
    pub(super) fn hold(&self, job: &JobSpec, from: SimTime, shares: Vec<Vec<u32>>) -> Vec<Hold> {
        let span = (from, from + self.length(job));
        holds(&self.wishes(job), span, shares)
    }

    /// Where it goes if the plan and the nodes let it start now.
    pub(super) fn fits_now(
        &self,
        holds: Vec<Hold>,
        job: &JobSpec,
        now: SimTime,
    ) -> Option<Placement> {
        let shares = self.plan(holds).fit(&self.wishes(job), now)?;
        self.place_as_planned(job, &shares)
    }

    /// By node exactly where the plan says, by resource on the first nodes
    /// within what it says.
    pub(super) fn place_as_planned(&self, job: &JobSpec, shares: &[Vec<u32>]) -> Option<Placement> {
        match self.by_node {
            true => self.place_on(job, shares),
            false => self.place_within(job, shares),
        }
    }

    /// Whether the job makes a cluster plan by node that has planned by
    /// resource: it asks for generic resources, or one of the resources it may use
    /// has no more memory than said.
    pub(super) fn minds_nodes(&self, job: &JobSpec) -> bool {
        job.components.iter().any(|one| {
            let (wanted, mut groups) = (&one.requirements, self.config.resources.groups().iter());
            let minds_memory = wanted.memory_kib > 0
                && groups.any(|g| is_of_kind(g, wanted) && g.memory_mib.is_some());
            let mut groups = self.config.resources.groups().iter();
            let most = self.most_per_node(wanted);
            let minds_number =
                most > 0 && groups.any(|g| is_of_kind(g, wanted) && g.cpu_count > most);
            minds_memory || minds_number || !wanted.generic.is_empty()
        })
    }
}

/// What the components hold for that time.
pub(super) fn holds(wishes: &[Wish], span: (SimTime, SimTime), shares: Vec<Vec<u32>>) -> Vec<Hold> {
    let all = wishes.iter().zip(shares);
    all.map(|(wish, own)| wish.hold(span, own)).collect()
}

/// The instant right after this one.
pub(super) fn after(now: SimTime) -> SimTime {
    now + SimDuration::from_nanos(1)
}

/// What the user said, else the truth.
pub(super) fn estimate(job: &JobSpec) -> SimDuration {
    job.requested_time.unwrap_or(job.run_time)
}
