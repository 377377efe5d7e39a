//! Nodes that fail and are repaired, and what becomes of the jobs that run there.

use super::work::slowest_speed;
use super::{Cluster, Finished};
use crate::event::{Event, EventKind, EventSink};
use crate::job::Reason;
use crate::placement::PlacementRun;
use crate::queue::Slot;
use crate::time::{SimDuration, SimTime};
use std::cmp::Reverse;
use strum::{EnumString, IntoStaticStr, VariantArray};

/// What becomes of a job that runs on a node that fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum OnNodeFailure {
    /// It is lost: it ends as failed.
    Fail,
    /// It waits again at its place in the order of arrival, and runs again from
    /// its beginning, as with Slurm's `JobRequeue=1`.
    #[default]
    Requeue,
    /// The same, but what it has run counts as done: it continues from a
    /// checkpoint that costs nothing to write or to read.
    Resume,
}

impl OnNodeFailure {
    /// All of them.
    pub const ALL: &'static [OnNodeFailure] = <OnNodeFailure as VariantArray>::VARIANTS;

    /// The name used in scenarios.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Neighbouring nodes of one resource go down, or come up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeChange {
    /// Position of the resource in the file.
    pub resource: u16,
    /// The first node, counted within the resource.
    pub node: u32,
    /// How many nodes.
    pub nodes: u32,
    /// Whether they come up.
    pub up: bool,
}

/// A change that is known beforehand to the model, though to nobody in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedChange {
    /// When.
    pub at: SimTime,
    /// What changes.
    pub change: NodeChange,
}

/// Why a node is down: for as long as any of these holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Down {
    /// Planned failures and outages that last.
    planned: u32,
    by_hand: bool,
}

impl Cluster {
    /// When nodes next fail or are repaired as planned.
    #[inline]
    pub fn next_node_change(&self) -> Option<SimTime> {
        self.next_change
    }

    /// The nodes that are down: positions of the resource, and of the node in it.
    pub fn nodes_down(&self) -> impl Iterator<Item = (u16, u32)> {
        self.down.keys().copied()
    }

    /// Nodes fail and are repaired as planned up to this instant. Jobs that are
    /// lost to that are appended to `lost`, with when they ended.
    pub fn handle_node_changes(
        &mut self,
        now: SimTime,
        events: &mut impl EventSink,
        lost: &mut Vec<Finished>,
    ) {
        while let Some(at) = self.next_change.filter(|at| *at <= now) {
            let change = self.config.node_plan[self.changes_made].change;
            self.changes_made += 1;
            let next = self.config.node_plan.get(self.changes_made);
            self.next_change = next.map(|next| next.at);
            self.change(at, change, false, events, lost);
        }
    }

    /// Somebody takes nodes down or up by hand; `false` if they do not exist, or
    /// if a real LRMS has them. A node that is down as planned stays down until it
    /// is repaired as planned too.
    pub fn change_nodes(
        &mut self,
        now: SimTime,
        change: NodeChange,
        events: &mut impl EventSink,
        lost: &mut Vec<Finished>,
    ) -> bool {
        let groups = self.config.resources.groups();
        let resource = groups.get(usize::from(change.resource));
        let end = change.node.checked_add(change.nodes);
        let exist = resource.is_some_and(|all| end.is_some_and(|end| end <= all.count));
        if !exist || self.config.is_real {
            return false;
        }
        self.change(now, change, true, events, lost);
        true
    }

    fn change(
        &mut self,
        now: SimTime,
        change: NodeChange,
        by_hand: bool,
        events: &mut impl EventSink,
        lost: &mut Vec<Finished>,
    ) {
        let now = self.not_before_the_latest(now);
        let changed = self.note_causes(change, by_hand);
        if changed.is_empty() {
            return;
        }
        let kind = match change.up {
            true => EventKind::NodeRepaired,
            false => EventKind::NodeFailed,
        };
        events.emit(now, Event::new(kind, None, self.config.id).on(&changed));
        if !change.up {
            for slot in self.jobs_on(&changed) {
                match self.config.on_node_failure {
                    OnNodeFailure::Fail => self.lose(now, slot, Reason::NodeFailed, events, lost),
                    policy => self.put_back(now, slot, policy, events),
                }
            }
        }
        for run in &changed {
            self.nodes.set_up(run, change.up);
            self.scheduler.change_nodes(now, run, change.up);
            let processors = run.nodes * run.processors;
            self.down_processors = match change.up {
                true => self.down_processors - processors,
                false => self.down_processors + processors,
            };
        }
        // Who was in nobody's way may be now.
        self.reserved.looked = self.reserved.looked.map(|_| SimTime::ZERO);
        self.changed(now);
    }

    /// Counts why nodes are down; answers those that were not and now are, or the
    /// other way round, with all their processors.
    fn note_causes(&mut self, change: NodeChange, by_hand: bool) -> Vec<PlacementRun> {
        let resource = change.resource;
        let processors = self.config.resources.groups()[usize::from(resource)].cpu_count;
        let mut changed: Vec<PlacementRun> = Vec::new();
        for node in change.node..change.node + change.nodes {
            let before = self.down.remove(&(resource, node));
            let mut down = before.unwrap_or_default();
            match (by_hand, change.up) {
                (true, up) => down.by_hand = !up,
                (false, true) => down.planned = down.planned.saturating_sub(1),
                (false, false) => down.planned += 1,
            }
            let is_down = down.by_hand || down.planned > 0;
            if is_down {
                self.down.insert((resource, node), down);
            }
            if before.is_some() == is_down {
                continue;
            }
            match changed.last_mut() {
                Some(last) if last.node + last.nodes == node => last.nodes += 1,
                _ => changed.push(PlacementRun {
                    resource,
                    node,
                    nodes: 1,
                    processors,
                }),
            }
        }
        changed
    }

    /// The jobs that run on some of these nodes, in the order of their ids.
    fn jobs_on(&self, failed: &[PlacementRun]) -> Vec<Slot> {
        let meets = |own: &PlacementRun| {
            failed.iter().any(|run| {
                let apart = own.node >= run.node + run.nodes || run.node >= own.node + own.nodes;
                own.resource == run.resource && !apart
            })
        };
        let hit = self.jobs.running();
        let hit = hit.filter(|(_, _, placement)| placement.iter().any(meets));
        let mut hit: Vec<_> = hit.map(|(job, ..)| job).collect();
        hit.sort_unstable();
        hit.iter().map(|job| self.jobs.by_id[job]).collect()
    }

    /// A job that runs fails for this reason.
    pub(super) fn lose(
        &mut self,
        now: SimTime,
        slot: Slot,
        reason: Reason,
        events: &mut impl EventSink,
        lost: &mut Vec<Finished>,
    ) {
        let job = self.jobs.get(slot);
        let (job, start) = (job.id, job.running.as_ref().map_or(now, |it| it.start));
        self.remove(now, job);
        let failed = Event::new(EventKind::Failed, job, self.config.id);
        events.emit(now, failed.because(reason));
        let finish = now;
        lost.push(Finished { job, start, finish });
    }

    /// A job that ran waits again, at its place.
    fn put_back(
        &mut self,
        now: SimTime,
        slot: Slot,
        policy: OnNodeFailure,
        events: &mut impl EventSink,
    ) {
        let job = self.jobs.get_mut(slot);
        let Some(running) = job.running.take() else {
            return;
        };
        let ran = now.since(running.start).as_nanos();
        let done = match policy {
            OnNodeFailure::Resume => {
                slowest_speed(&self.config.resources, &running.placement).multiply(ran)
            }
            _ => 0,
        };
        let left =
            |length: SimDuration| SimDuration::from_nanos(length.as_nanos().saturating_sub(done));
        job.demand.length = left(job.demand.length);
        job.estimate = left(job.estimate);
        let (id, demand) = (job.id, job.demand);
        self.ends.retain(|Reverse((_, _, ending))| *ending != slot);
        self.scheduler.end(now, id);
        self.nodes.give_back(demand.class, running.placement);
        self.work.end(demand.processors, running.finish);
        self.leave_block(now, id);
        self.work.queue(demand.processors, demand.length);
        self.scheduler
            .put_back(self.jobs.get(slot), slot, &mut self.nodes);
        let requeued = Event::new(EventKind::Requeued, id, self.config.id);
        events.emit(now, requeued.with(i64::try_from(done).unwrap_or(i64::MAX)));
    }
}
