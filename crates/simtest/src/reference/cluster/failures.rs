//! Nodes that fail and are repaired.

use super::RefCluster;
use crate::reference::plan::Hold;
use crate::trail::Share;
use gridrig_core::cluster::{NodeChange, OnNodeFailure};
use gridrig_core::ids::JobId;
use gridrig_core::job::JobSpec;
use gridrig_core::time::{SimDuration, SimTime};
use std::collections::BTreeMap;

/// What a job lost that ran on a node that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefLoss {
    /// All: it is over.
    Job,
    /// Its place; so many nanoseconds of its run time count as done.
    Place(u64),
}

/// Nodes that change, and whether they come up.
pub type Turned = Vec<(Vec<Share>, bool)>;

impl RefCluster {
    /// When nodes next fail or are repaired as planned.
    pub(super) fn next_change(&self) -> Option<SimTime> {
        let next = self.config.node_plan.get(self.changes);
        next.map(|planned| planned.at)
    }

    /// What is planned for this instant: the jobs that lose something, and the nodes
    /// that go down or (`true`) come up.
    pub fn change_nodes(&mut self, now: SimTime) -> (Vec<(JobId, RefLoss)>, Turned) {
        let (mut lost, mut changed) = (Vec::new(), Turned::new());
        while self.next_change() == Some(now) {
            let change = self.config.node_plan[self.changes].change;
            self.changes += 1;
            let Some(failed) = self.turn(change) else {
                continue;
            };
            self.unplanned = true;
            self.loosened = true;
            self.promises.clear();
            self.head = None;
            if !change.up {
                lost.extend(self.take_off(now, &failed));
            }
            self.note(now);
            changed.push((failed, change.up));
        }
        (lost, changed)
    }

    /// The nodes that are up and were down, or the other way round.
    fn turn(&mut self, change: NodeChange) -> Option<Vec<Share>> {
        let mut turned = Vec::new();
        for node in &mut self.nodes {
            let within = change.node..change.node + change.nodes;
            if node.resource != change.resource || !within.contains(&node.number) {
                continue;
            }
            let before = node.down;
            node.down = if change.up { before - 1 } else { before + 1 };
            if (before == 0) != (node.down == 0) {
                turned.push(Share {
                    resource: node.resource,
                    node: node.number,
                    processors: 0,
                });
            }
        }
        (!turned.is_empty()).then_some(turned)
    }

    fn take_off(&mut self, now: SimTime, failed: &[Share]) -> Vec<(JobId, RefLoss)> {
        let is_hit = |share: &Share| {
            let mut nodes = failed.iter();
            nodes.any(|node| (node.resource, node.node) == (share.resource, share.node))
        };
        let hit = self.running.iter();
        let hit = hit.filter(|it| it.placement.iter().flatten().any(is_hit));
        let mut hit: Vec<JobId> = hit.map(|it| it.spec.id).collect();
        hit.sort_unstable();
        let mut lost = Vec::new();
        for job in hit {
            let Some(index) = self.running.iter().position(|r| r.spec.id == job) else {
                continue;
            };
            let running = self.end(now, index);
            if self.config.on_node_failure == OnNodeFailure::Fail {
                lost.push((job, RefLoss::Job));
                continue;
            }
            let mut done = 0;
            let mut spec = running.spec;
            if self.config.on_node_failure == OnNodeFailure::Resume {
                let ran = now.since(running.start).as_nanos();
                let groups = self.config.resources.groups();
                let speeds = running.placement.iter().flatten();
                let speeds = speeds.map(|share| groups[usize::from(share.resource)].speed);
                done = speeds.map(|speed| speed.multiply(ran)).min().unwrap_or(0);
                let done = SimDuration::from_nanos(done);
                // Neither is below 0.
                spec.run_time = spec.run_time - done;
                spec.requested_time = spec.requested_time.map(|said| said - done);
            }
            self.wait_again(spec);
            lost.push((job, RefLoss::Place(done)));
        }
        lost
    }

    /// Before all who came later.
    fn wait_again(&mut self, spec: JobSpec) {
        let came = |job: JobId| self.arrivals.iter().position(|known| *known == job);
        let before = |other: &&JobSpec| came(other.id) < came(spec.id);
        let at = self.queue.iter().filter(before).count();
        self.queue.insert(at, spec);
    }

    /// Processors of nodes that are up.
    pub(super) fn processors_up(&self) -> u64 {
        let groups = self.config.resources.groups();
        let up = self.nodes.iter().filter(|node| node.down == 0);
        up.map(|node| u64::from(groups[usize::from(node.resource)].cpu_count))
            .sum()
    }

    /// Whatever is planned, nodes that are down are not there.
    pub(super) fn down_holds(&self) -> Vec<Hold> {
        let groups = self.config.resources.groups();
        let down = self.nodes.iter().filter(|node| node.down > 0);
        let hold = |node: &super::nodes::Node| Hold {
            from: SimTime::ZERO,
            to: SimTime::MAX,
            shares: self.by_place(&[Share {
                resource: node.resource,
                node: node.number,
                processors: groups[usize::from(node.resource)].cpu_count,
            }]),
            memory_kib: 0,
            generic: BTreeMap::new(),
        };
        down.map(hold).collect()
    }
}
