//! Which of the searches that are under way at once gives way. Each may hold what another one
//! wants: without an order two jobs that come together could search for ever.

use super::{Around, CoAllocate};
use crate::broker::Broker;
use crate::ids::JobId;
use std::collections::BTreeSet;

impl CoAllocate {
    /// Whether a cluster, by its position, that has refused this search has reserved for a job
    /// that came earlier and is searched for.
    pub(super) fn is_behind(&self, broker: &Broker, job: JobId, cluster: usize) -> bool {
        let arrival = |job: &JobId| broker.jobs.get(job).map(|held| held.arrival);
        let own = arrival(&job);
        !self.placing.keeps_one()
            && self.placed.iter().any(|(other, placed)| {
                let search = placed.search.as_ref();
                search.is_some_and(|it| it.reserved.contains_key(&cluster)) && arrival(other) < own
            })
    }

    /// A search lets go of what it has, and is begun again when no earlier one is under way.
    /// That is no try of its own.
    pub(super) fn fall_behind(&mut self, broker: &mut Broker, cx: &mut Around<'_>, job: JobId) {
        self.end_search(broker, cx, job);
        if let Some(tries) = self.tries.get_mut(&job) {
            *tries = tries.saturating_sub(1);
        }
        if let Some(held) = broker.jobs.get(&job) {
            self.behind.insert(held.arrival);
        }
        self.put_back(broker, cx, job);
    }

    /// Whether one that is behind may be searched for again.
    pub(super) fn may_follow(&self, broker: &Broker) -> bool {
        let first = self.behind.first();
        first.is_some_and(|first| self.follows(broker, *first))
    }

    /// The order of a cycle without those that are behind still, and with those that are no
    /// more.
    pub(super) fn in_turn(&mut self, broker: &Broker, mut order: Vec<u64>) -> Vec<u64> {
        let behind = std::mem::take(&mut self.behind).into_iter();
        let behind: BTreeSet<u64> = behind.filter(|it| broker.queue.contains_key(it)).collect();
        order.retain(|arrival| !behind.contains(arrival));
        let (follow, wait): (Vec<u64>, Vec<u64>) =
            behind.into_iter().partition(|it| self.follows(broker, *it));
        self.behind = wait.into_iter().collect();
        order.extend(follow);
        order.sort_unstable();
        order
    }

    /// Whether no job that came before this arrival is searched for.
    fn follows(&self, broker: &Broker, arrival: u64) -> bool {
        let searched = self.placed.iter().filter(|(_, it)| it.search.is_some());
        let mut searched = searched.filter_map(|(job, _)| broker.jobs.get(job));
        !searched.any(|held| held.arrival < arrival)
    }
}
