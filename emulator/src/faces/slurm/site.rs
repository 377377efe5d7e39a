//! What the commands know of the cluster that does not change: its names, its
//! nodes and its calendar.

use crate::slurm::{hostlist, times};
use gridrig_core::placement::PlacementRun;
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::{SimDuration, SimTime};
use std::collections::{BTreeMap, BTreeSet};

/// The version whose surface is shown.
pub(super) const VERSION: &str = "22.05.8";

/// What `--version` says.
pub(super) const VERSION_LINE: &str = "slurm-wlm 22.05.8\n";

/// How long an ended job stays in squeue and scontrol, as Slurm's default.
pub(super) const MIN_JOB_AGE: SimDuration = SimDuration::from_secs(300);

/// What nodes of this group have, as `GRES` shows it.
pub(super) fn gres(group: &Resource) -> String {
    match group.generic.is_empty() {
        true => "(null)".to_owned(),
        false => group.generic.to_string(),
    }
}

/// The cluster as its commands present it.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub cluster: String,
    pub partition: String,
    pub host: String,
    pub resources: Resources,
    /// Time 0 of the run on the calendar.
    pub epoch_unix_ns: u64,
    pub execute: bool,
    pub discipline: &'static str,
    pub max_jobs: usize,
    /// The nodes that are down, by name.
    pub down: BTreeMap<String, Down>,
}

/// By whom nodes are down that failed by themselves.
pub(super) const NOBODY: &str = "slurm";

/// Why a node is down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Down {
    pub reason: String,
    /// The user who took it down.
    pub by: String,
    pub uid: u32,
    pub at: SimTime,
    /// It was drained rather than taken down.
    pub is_drained: bool,
}

/// One node and what is taken of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub name: String,
    pub group: usize,
    pub cpus: u32,
    pub taken: u32,
    pub down: Option<Down>,
}

impl Node {
    /// `idle`, `mixed`, `allocated`, `down` or `drained`, with the short form.
    pub fn state(&self) -> (&'static str, &'static str) {
        match self.taken {
            _ if self.down.as_ref().is_some_and(|it| it.is_drained) => ("drained", "drain"),
            _ if self.down.is_some() => ("down", "down"),
            0 => ("idle", "idle"),
            taken if taken >= self.cpus => ("allocated", "alloc"),
            _ => ("mixed", "mix"),
        }
    }
}

impl Site {
    /// Whether it is among the clusters that are asked for; `all` are.
    pub fn names(&self, asked: &str) -> bool {
        let mut asked = asked.split(',').map(str::trim);
        asked.any(|one| one == self.cluster || one.eq_ignore_ascii_case("all"))
    }

    /// Whether no other cluster is.
    pub fn is_meant_by(&self, asked: &str) -> bool {
        asked.split(',').all(|one| self.names(one))
    }

    /// An instant in a listing.
    pub fn stamp(&self, at: SimTime) -> String {
        times::stamp(self.unix(at))
    }

    /// The same, or what stands for none.
    pub fn stamp_or(&self, at: Option<SimTime>, none: &str) -> String {
        at.map_or(none.to_owned(), |at| self.stamp(at))
    }

    /// The name of the first node of a placement; empty if there is none.
    pub fn first_node(&self, placement: &[PlacementRun]) -> String {
        let nodes = self.nodes_of(placement);
        let first = nodes.first().map(|(node, _)| format!("n{node}"));
        first.unwrap_or_default()
    }

    /// Seconds since 1970 of an instant of the run.
    pub fn unix(&self, at: SimTime) -> u64 {
        self.epoch_unix_ns.saturating_add(at.as_nanos()) / 1_000_000_000
    }

    /// The instant of the run at a second since 1970.
    pub fn instant(&self, unix: u64) -> SimTime {
        let nanos = unix.saturating_mul(1_000_000_000);
        SimTime::from_nanos(nanos.saturating_sub(self.epoch_unix_ns))
    }

    /// The number before the first node of a resource: nodes are `n1`, `n2`,
    /// ... over all resources in file order.
    fn before(&self, resource: usize) -> u64 {
        let groups = self.resources.groups().iter().take(resource);
        groups.map(|group| u64::from(group.count)).sum()
    }

    /// Names and processors of the nodes of a placement, in node order.
    pub fn nodes_of(&self, placement: &[PlacementRun]) -> Vec<(u64, u32)> {
        let mut taken: BTreeMap<u64, u32> = BTreeMap::new();
        for run in placement {
            let first = self.before(usize::from(run.resource)) + u64::from(run.node) + 1;
            for node in first..first + u64::from(run.nodes) {
                *taken.entry(node).or_default() += run.processors;
            }
        }
        taken.into_iter().collect()
    }

    /// The nodes of a placement as Slurm lists them.
    pub fn node_list(&self, placement: &[PlacementRun]) -> String {
        let names = self.nodes_of(placement);
        let names: Vec<String> = names.iter().map(|(node, _)| format!("n{node}")).collect();
        hostlist::compress(names.iter().map(String::as_str))
    }

    /// All nodes with what these placements take of them.
    pub fn nodes<'a>(&self, running: impl Iterator<Item = &'a [PlacementRun]>) -> Vec<Node> {
        let mut nodes = Vec::new();
        for (group, resource) in self.resources.groups().iter().enumerate() {
            for _ in 0..resource.count {
                let name = format!("n{}", nodes.len() + 1);
                nodes.push(Node {
                    down: self.down.get(&name).cloned(),
                    name,
                    group,
                    cpus: resource.cpu_count,
                    taken: 0,
                });
            }
        }
        for placement in running {
            for run in placement {
                let first = self.before(usize::from(run.resource)) as usize + run.node as usize;
                let run_nodes = nodes.iter_mut().skip(first).take(run.nodes as usize);
                run_nodes.for_each(|node| node.taken += run.processors);
            }
        }
        nodes
    }

    /// These nodes are down, and no others.
    pub fn note_down(&mut self, now: SimTime, down: &[(u16, u32)]) {
        let named = |(resource, node): &(u16, u32)| self.resources.node_name(*resource, *node);
        let down: BTreeSet<String> = down.iter().map(named).collect();
        self.down.retain(|name, _| down.contains(name));
        for name in down {
            self.down.entry(name).or_insert_with(|| Down {
                reason: "Not responding".to_owned(),
                by: NOBODY.to_owned(),
                uid: 0,
                at: now,
                is_drained: false,
            });
        }
    }

    /// Memory of the first node; 1 where there is no limit, as for Slurm.
    pub fn memory_mib(&self) -> u64 {
        let first = self.resources.groups().first();
        first.and_then(|group| group.memory_mib).unwrap_or(1)
    }

    /// Processors of the widest node.
    pub fn widest(&self) -> u32 {
        let groups = self.resources.groups().iter();
        groups.map(|group| group.cpu_count).fold(1, u32::max)
    }
}
