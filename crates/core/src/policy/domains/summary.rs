//! A domain in aggregated form: what the N-to-N inventory of its computer
//! systems tells (LA Grid 2.2), as numbers that a decision reads at once.
//!
//! A computer system is here what a cluster has of one architecture: its
//! `ProcNum` are all of them, so that the greatest is the widest cluster's, and
//! of the load of a mixed cluster it has its share. It contains its processors,
//! each with its speed, and the operating systems of its nodes (`TotalMem` in
//! KiB), and uses their file systems.

use super::{ANY, Kind, Machine, Nodes, Wanted, meets};
use crate::decimal::narrow;
use crate::generic::Generics;

/// The computer systems of one architecture in a domain, all in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    architecture: Kind,
    /// Clusters that have some.
    pub count: u64,
    /// All processors of this architecture.
    pub processors: u64,
    /// The most that one cluster has.
    pub widest: u64,
    /// Mean speed of its processors, in parts of 1e-9.
    pub speed: u64,
    /// The fastest one's.
    fastest: u64,
    /// The most of each generic resource that one of its nodes has.
    generic: Generics,
    /// Busy processors, the load of a mixed cluster being shared out by the
    /// number of processors, rounded down.
    pub busy: u64,
    /// Processors that queued jobs want, likewise.
    pub queued: u64,
}

/// An operating system of a domain: the upper end of its range of memory.
#[derive(Clone, Copy, Debug)]
struct System {
    os: Kind,
    memory_kib: u64,
}

/// A domain in aggregated form.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    aggregates: Vec<Aggregate>,
    systems: Vec<System>,
    /// Which architecture contains which operating system.
    contains: Vec<(Kind, Kind)>,
    disk_mib: u64,
    /// The widest cluster of all: a job that does not ask for an architecture
    /// may span several in one.
    widest: u64,
}

impl Aggregate {
    fn idle(architecture: Kind, machines: &[Machine]) -> Self {
        let alike = |nodes: &&Nodes| nodes.architecture == architecture && nodes.processors() > 0;
        let nodes = || machines.iter().flat_map(|m| &m.nodes).filter(alike);
        let processors = nodes().map(Nodes::processors).sum();
        let speeds = nodes().map(|n| u128::from(n.processors()) * u128::from(n.speed));
        let own = || machines.iter().map(|machine| machine.of(architecture));
        Aggregate {
            architecture,
            count: own().filter(|own| *own > 0).count() as u64,
            processors,
            widest: own().max().unwrap_or(0),
            speed: narrow(speeds.sum::<u128>() / u128::from(processors.max(1))),
            fastest: nodes().map(|nodes| nodes.speed).max().unwrap_or(0),
            generic: nodes().fold(Generics::default(), |all, one| all.or_more(&one.generic)),
            busy: 0,
            queued: 0,
        }
    }
}

impl Summary {
    /// What is told of these clusters, their load included.
    pub fn of(machines: &[Machine]) -> Self {
        let mut summary = Summary {
            widest: machines.iter().map(|m| m.processors).max().unwrap_or(0),
            ..Summary::default()
        };
        let nodes = machines.iter().flat_map(|machine| &machine.nodes);
        for nodes in nodes.filter(|nodes| nodes.processors() > 0) {
            let (architecture, os) = (nodes.architecture, nodes.os);
            let mut known = summary.aggregates.iter();
            if !known.any(|known| known.architecture == architecture) {
                let aggregate = Aggregate::idle(architecture, machines);
                summary.aggregates.push(aggregate);
            }
            if !summary.contains.contains(&(architecture, os)) {
                summary.contains.push((architecture, os));
            }
            let memory_kib = nodes.memory_kib;
            match summary.systems.iter_mut().find(|known| known.os == os) {
                Some(known) => known.memory_kib = known.memory_kib.max(memory_kib),
                None => summary.systems.push(System { os, memory_kib }),
            }
            summary.disk_mib = summary.disk_mib.max(nodes.disk_mib);
        }
        summary.follow(machines);
        summary
    }

    /// Brings the loads up to date: the same totals as the inventory's, without
    /// making it anew.
    pub fn follow(&mut self, machines: &[Machine]) {
        for aggregate in &mut self.aggregates {
            let of = |part: fn(&Machine) -> u64| {
                let parts = machines.iter();
                parts
                    .map(|m| m.share(aggregate.architecture, part(m)))
                    .sum()
            };
            (aggregate.busy, aggregate.queued) = (of(|m| m.busy), of(|m| m.queued));
        }
    }

    /// The aggregates whose ranges the job lies in: an architecture that
    /// contains the operating system somewhere, memory, disk, speed and generic
    /// resources that some node has, and a cluster wide enough. That all of it is true of *one* cluster
    /// is what aggregation has forgotten.
    pub fn matching(&self, wanted: &Wanted, processors: u32) -> impl Iterator<Item = &Aggregate> {
        let fits = move |aggregate: &&Aggregate| {
            let system = |system: &System| {
                meets(system.os, wanted.os)
                    && system.memory_kib >= wanted.memory_kib
                    && self.contains.contains(&(aggregate.architecture, system.os))
            };
            let widest = match wanted.architecture {
                ANY => self.widest,
                _ => aggregate.widest,
            };
            meets(aggregate.architecture, wanted.architecture)
                && widest >= u64::from(processors)
                && self.disk_mib >= wanted.disk_mib
                && aggregate.fastest >= wanted.speed
                && aggregate.generic.cover(&wanted.generic)
                && self.systems.iter().any(system)
        };
        self.aggregates.iter().filter(fits)
    }
}

impl Machine {
    /// Its processors of this architecture.
    fn of(&self, architecture: Kind) -> u64 {
        let nodes = self.nodes.iter();
        let own = nodes.filter(|nodes| nodes.architecture == architecture);
        own.map(Nodes::processors).sum()
    }

    /// The share of that in a load of the whole cluster.
    fn share(&self, architecture: Kind, load: u64) -> u64 {
        match self.of(architecture) {
            0 => 0,
            own if own == self.processors => load,
            own => narrow(u128::from(load) * u128::from(own) / u128::from(self.processors)),
        }
    }
}

#[cfg(test)]
mod tests;
