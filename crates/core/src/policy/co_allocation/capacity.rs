//! Which jobs of components have room at all, on clusters that are empty.

use super::{CoReservation, Parts, Placing, SHORTEST};
use crate::ids::ClusterId;
use crate::job::JobSpec;
use crate::policy::{BrokerSettings, CoAllocation, Placement};
use crate::resource::Resources;
use crate::time::{Decimal, SimDuration};
use std::cmp::Reverse;
use std::sync::Arc;

/// In so many steps it is found out whether components could be placed.
const MOST_STEPS: u32 = 10_000;

impl BrokerSettings {
    /// Whether the policy, if it places components, can place as many as a job has.
    pub fn takes_components_of(&self, job: &JobSpec) -> bool {
        let placing = Placing::of(self).filter(|placing| !placing.keeps_one());
        placing.is_none_or(|placing| placing.parts(job, &[]).is_some())
    }

    /// Whether the policy, if it places components, would ever place a job on these clusters:
    /// whether there is room for all of it while they are empty. `reservable` says how many
    /// processors a cluster would reserve for so long.
    pub fn could_place(
        &self,
        clusters: &[(ClusterId, Arc<Resources>)],
        reservable: impl Fn(ClusterId, SimDuration) -> u32,
    ) -> impl Fn(&JobSpec) -> bool {
        let placing = Placing::of(self).filter(|placing| !placing.keeps_one());
        let all = clusters.iter().map(|(_, all)| all.processors());
        let may_take = |all| placing.map_or(all, |placing| placing.may_take(all, all));
        let idle: Vec<u32> = all.map(may_take).collect();
        move |job: &JobSpec| {
            let Some(placing) = placing else {
                return true;
            };
            let parts = placing.parts(job, clusters);
            parts.is_some_and(|parts| match &placing.reservations {
                Some(rules) => {
                    let length = rules.length(&self.co_allocation, job, clusters);
                    let all = clusters.iter().map(|(id, _)| reservable(*id, length));
                    parts.fit_within(all.collect())
                }
                None => placing.place(&parts, &idle).is_some(),
            })
        }
    }
}

impl CoReservation {
    /// For how long processors are reserved for all components of a job: as long as it runs, or
    /// requests, on the slowest nodes, and by how far apart the reservations may start more.
    pub fn length(
        &self,
        costs: &CoAllocation,
        job: &JobSpec,
        clusters: &[(ClusterId, Arc<Resources>)],
    ) -> SimDuration {
        let program = (job.executable, job.processors());
        let some = 1..=job.components.iter().count().min(clusters.len()).max(1);
        let lengths = some.map(|count| costs.length(program, job.run_time, count));
        let longest = lengths.max().unwrap_or(job.run_time);
        let longest = longest.max(job.requested_time.unwrap_or_default());
        let groups = clusters.iter().flat_map(|(_, all)| all.groups());
        let slowest = groups.map(|group| group.speed).min();
        let longest = slowest.unwrap_or(Decimal::ONE).divide(longest.as_nanos());
        SimDuration::from_nanos(longest).max(SHORTEST) + self.deviation
    }
}

impl Parts<'_> {
    /// Whether all components could run at once on the clusters, if they were empty, however
    /// they are placed; also where it would take too long to find out.
    pub fn fit_at_once(&self) -> bool {
        let clusters = self.clusters.iter();
        self.fit_within(clusters.map(|(_, all)| all.processors()).collect())
    }

    /// The same where so many processors of each cluster may be taken.
    fn fit_within(&self, all: Vec<u32>) -> bool {
        let placed = self.one_by_one(&all, Placement::ClusterMinimization);
        if placed.is_some() {
            return true;
        }
        let mut largest: Vec<usize> = (0..self.sizes.len()).collect();
        largest.sort_by_key(|at| Reverse(self.sizes[*at]));
        let (mut taken, mut steps) = (vec![(0_u64, 0_u32); all.len()], MOST_STEPS);
        self.have_room((&largest, 0), &all, &mut taken, &mut steps)
    }

    /// Whether these components have room beside those that clusters have, the first of them
    /// at a cluster from this position on.
    fn have_room(
        &self,
        (components, from): (&[usize], usize),
        all: &[u32],
        taken: &mut [(u64, u32)],
        steps: &mut u32,
    ) -> bool {
        let Some((&first, others)) = components.split_first() else {
            return true;
        };
        let size = self.sizes[first];
        for at in from..taken.len() {
            *steps = steps.saturating_sub(1);
            if *steps == 0 {
                return true;
            }
            let before = taken[at];
            let left = all[at] - before.1;
            let beside = || !self.asks || self.fits_beside(first, before, at);
            if left < size || !self.fits(first, at) || !beside() {
                continue;
            }
            // Equal components are the same in any order.
            let is_alike = |next: &usize| self.components[first] == self.components[*next];
            let next_from = match others.first().is_some_and(is_alike) {
                true => at,
                false => 0,
            };
            taken[at] = (before.0 | 1 << first, before.1 + size);
            if self.have_room((others, next_from), all, taken, steps) {
                return true;
            }
            taken[at] = before;
        }
        false
    }
}
