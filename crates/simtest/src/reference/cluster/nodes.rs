//! Nodes one by one, and who may use them.

use super::RefCluster;
use crate::trail::Share;
use gridrig_core::generic::Generics;
use gridrig_core::job::{Component, JobSpec, Requirements};
use gridrig_core::resource::Resource;
use gridrig_core::time::SimDuration;
use std::borrow::Cow;
use std::collections::BTreeMap;

#[derive(Clone)]
pub(super) struct Node {
    pub(super) resource: u16,
    pub(super) number: u32,
    pub(super) free: u32,
    /// For so many reasons it is down.
    pub(super) down: u32,
    /// `None` is unlimited.
    pub(super) memory_left_kib: Option<u64>,
    pub(super) generic_left: Counts,
}

/// Generic resources by name, whatever their type: a node has one of each name.
pub(super) type Counts = BTreeMap<String, u64>;

pub(super) fn counts(generic: &Generics) -> Counts {
    let all = generic.iter();
    let without_type = |name: &str| name.split(':').take(1).collect();
    all.map(|(name, count)| (without_type(name), u64::from(count)))
        .collect()
}

/// Whether there are as many of each as wanted.
pub(super) fn has(left: &Counts, wanted: &Generics) -> bool {
    let wanted = counts(wanted);
    wanted
        .iter()
        .all(|(name, count)| left.get(name).is_some_and(|left| left >= count))
}

impl Node {
    pub(super) fn is_of(&self, share: Share) -> bool {
        (self.resource, self.number) == (share.resource, share.node)
    }

    /// Takes what the component gets of this node, or gives it back.
    pub(super) fn change(&mut self, share: Share, one: &Component, takes: bool) {
        let change = |have: u64, by: u64| if takes { have - by } else { have + by };
        let (each, wanted) = (u64::from(share.processors), &one.requirements);
        self.free = u32::try_from(change(u64::from(self.free), each)).unwrap_or(0);
        let memory = each * wanted.memory_kib;
        self.memory_left_kib = self.memory_left_kib.map(|left| change(left, memory));
        for (name, count) in counts(&wanted.generic) {
            let left = self.generic_left.entry(name).or_default();
            *left = change(*left, count);
        }
    }
}

/// What each component of a job gets.
pub(super) type Placement = Vec<Vec<Share>>;

impl RefCluster {
    /// Resources in file order, nodes in number order, on each as many
    /// processors as it has free and its remaining memory allows.
    pub(super) fn place(&self, job: &JobSpec) -> Option<Placement> {
        let everything = vec![u32::MAX; self.config.resources.groups().len()];
        self.place_within(job, &vec![everything; job.components.iter().count()])
    }

    /// The same, with so many of each resource at most.
    pub(super) fn place_within(&self, job: &JobSpec, shares: &[Vec<u32>]) -> Option<Placement> {
        self.place_by(job, |nodes, index, one| {
            self.place_one(nodes, one, &shares[index])
        })
    }

    /// On each node so many as said, if they all are free.
    pub(super) fn place_on(&self, job: &JobSpec, shares: &[Vec<u32>]) -> Option<Placement> {
        self.place_by(job, |nodes, index, one| {
            place_one_on(nodes, one, &shares[index])
        })
    }

    /// One component after the other, each on what is left of the nodes then.
    fn place_by(
        &self,
        job: &JobSpec,
        place: impl Fn(&[Node], usize, &Component) -> Option<Vec<Share>>,
    ) -> Option<Placement> {
        let mut nodes = Cow::Borrowed(&self.nodes);
        let mut placement: Placement = Vec::new();
        let mut before: Option<&Component> = None;
        for (index, one) in job.components.iter().enumerate() {
            if let (Some(before), Some(shares)) = (before, placement.last()) {
                for node in nodes.to_mut() {
                    let own = shares.iter().filter(|share| node.is_of(**share));
                    let own: Vec<Share> = own.copied().collect();
                    own.into_iter()
                        .for_each(|share| node.change(share, before, true));
                }
            }
            placement.push(place(&nodes, index, one)?);
            before = Some(one);
        }
        Some(placement)
    }

    /// How much a job takes of a node at most, 0 for any number: one of which is reserved
    /// by resource is not spread over its nodes.
    pub(super) fn most_per_node(&self, wanted: &Requirements) -> u32 {
        match self.config.reserving.is_none() || self.config.resources.may_count_by_node() {
            true => wanted.most_per_node,
            false => 0,
        }
    }

    fn place_one(&self, nodes: &[Node], one: &Component, shares: &[u32]) -> Option<Vec<Share>> {
        let mut placement = Vec::new();
        let mut missing = one.processors;
        let mut allowed = shares.to_vec();
        for node in nodes {
            let resource = &self.config.resources.groups()[usize::from(node.resource)];
            let wanted = &one.requirements;
            if missing == 0
                || node.down > 0
                || !is_of_kind(resource, wanted)
                || !has(&node.generic_left, &wanted.generic)
            {
                continue;
            }
            let by_memory = match (node.memory_left_kib, wanted.memory_kib) {
                (None, _) | (_, 0) => u64::MAX,
                (Some(left), each) => left / each,
            };
            let allowed = &mut allowed[usize::from(node.resource)];
            let most = match self.most_per_node(wanted) {
                0 => node.free,
                most => node.free.min(most),
            };
            let here = u64::from(most.min(missing).min(*allowed)).min(by_memory);
            let Ok(here) = u32::try_from(here) else {
                continue;
            };
            if here > 0 {
                placement.push(Share {
                    resource: node.resource,
                    node: node.number,
                    processors: here,
                });
                missing -= here;
                *allowed -= here;
            }
        }
        (missing == 0).then_some(placement)
    }

    /// Over mixed speeds a job runs at the slowest: the longest of the times
    /// it would take on each of its nodes.
    pub(super) fn time_on(&self, run_time: SimDuration, placement: &Placement) -> SimDuration {
        let groups = self.config.resources.groups();
        let times = placement.iter().flatten().map(|share| {
            let speed = groups[usize::from(share.resource)].speed;
            SimDuration::from_nanos(speed.divide(run_time.as_nanos()))
        });
        times.max().unwrap_or(run_time)
    }

    /// Takes what a job gets, or gives it back.
    pub(super) fn change(&mut self, job: &JobSpec, placement: &Placement, takes: bool) {
        for (one, shares) in job.components.iter().zip(placement) {
            for share in shares {
                let nodes = self.nodes.iter_mut();
                let own = nodes.filter(|node| node.is_of(*share));
                own.for_each(|node| node.change(*share, one, takes));
            }
        }
    }
}

fn place_one_on(nodes: &[Node], one: &Component, shares: &[u32]) -> Option<Vec<Share>> {
    let mut placement = Vec::new();
    for (node, &processors) in nodes.iter().zip(shares) {
        if processors == 0 {
            continue;
        }
        let memory = u64::from(processors) * one.requirements.memory_kib;
        let has_memory = node.memory_left_kib.is_none_or(|left| memory <= left);
        let most = one.requirements.most_per_node;
        let is_free = node.down == 0 && processors <= node.free && has_memory;
        let has_generic = has(&node.generic_left, &one.requirements.generic);
        if !is_free || !has_generic || most > 0 && processors > most {
            return None;
        }
        placement.push(Share {
            resource: node.resource,
            node: node.number,
            processors,
        });
    }
    Some(placement)
}

pub(super) fn is_of_kind(resource: &Resource, wanted: &Requirements) -> bool {
    let is_as_said = |want: Option<&str>, have: Option<&str>| {
        want.is_none_or(|want| have.is_some_and(|have| want.eq_ignore_ascii_case(have)))
    };
    let architecture = wanted.architecture.as_deref();
    let architecture = is_as_said(architecture, resource.architecture.as_deref());
    let os = is_as_said(wanted.os.as_deref(), resource.os.as_deref());
    let disk = resource.disk_mib.is_none_or(|have| have >= wanted.disk_mib);
    // Speeds have exact decimals, wishes millionths.
    let (mantissa, scale) = resource.speed.ratio();
    let speed =
        u128::from(mantissa) * 1_000_000 >= u128::from(wanted.speed_millionths) * u128::from(scale);
    let named = |name: &str| resource.generic.iter().any(|(own, _)| **own == *name);
    let mut typed = wanted.generic.iter().filter(|(name, _)| name.contains(':'));
    let types = typed.all(|(name, _)| named(name));
    let generic = types && has(&counts(&resource.generic), &wanted.generic);
    architecture && os && disk && speed && generic
}
