//! Nodes one by one, and who may use them.

use super::{RefCluster, Running};
use crate::trail::Share;
use gridrig_core::job::{JobSpec, Requirements};
use gridrig_core::resource::Resource;
use gridrig_core::time::SimDuration;

pub(super) struct Node {
    pub(super) resource: u16,
    pub(super) number: u32,
    pub(super) free: u32,
    /// `None` is unlimited.
    pub(super) memory_left_kib: Option<u64>,
}

impl Node {
    pub(super) fn is_of(&self, share: Share) -> bool {
        (self.resource, self.number) == (share.resource, share.node)
    }
}

impl RefCluster {
    /// Resources in file order, nodes in number order, on each as many
    /// processors as it has free and its remaining memory allows.
    pub(super) fn place(&self, job: &JobSpec) -> Option<Vec<Share>> {
        let everything = vec![u32::MAX; self.config.resources.groups().len()];
        self.place_within(job, &everything)
    }

    /// The same, with so many of each resource at most.
    pub(super) fn place_within(&self, job: &JobSpec, shares: &[u32]) -> Option<Vec<Share>> {
        let mut placement = Vec::new();
        let mut missing = job.processors;
        let mut allowed = shares.to_vec();
        for node in &self.nodes {
            let resource = &self.config.resources.groups()[usize::from(node.resource)];
            if missing == 0 || !is_of_kind(resource, &job.requirements) {
                continue;
            }
            let by_memory = match (node.memory_left_kib, job.requirements.memory_kib) {
                (None, _) | (_, 0) => u64::MAX,
                (Some(left), each) => left / each,
            };
            let allowed = &mut allowed[usize::from(node.resource)];
            let here = u64::from(node.free.min(missing).min(*allowed)).min(by_memory);
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

    /// On each node so many as said, if they all are free.
    pub(super) fn place_on(&self, job: &JobSpec, shares: &[u32]) -> Option<Vec<Share>> {
        let mut placement = Vec::new();
        for (node, &processors) in self.nodes.iter().zip(shares) {
            let memory = u64::from(processors) * job.requirements.memory_kib;
            let has_memory = node.memory_left_kib.is_none_or(|left| memory <= left);
            if processors > node.free || !has_memory {
                return None;
            }
            if processors > 0 {
                placement.push(Share {
                    resource: node.resource,
                    node: node.number,
                    processors,
                });
            }
        }
        Some(placement)
    }

    /// Over mixed speeds a job runs at the slowest: the longest of the times
    /// it would take on each of its nodes.
    pub(super) fn time_on(&self, run_time: SimDuration, placement: &[Share]) -> SimDuration {
        let groups = self.config.resources.groups();
        let times = placement.iter().map(|share| {
            let speed = groups[usize::from(share.resource)].speed;
            SimDuration::from_nanos(speed.divide(run_time.as_nanos()))
        });
        times.max().unwrap_or(run_time)
    }

    pub(super) fn take(&mut self, share: Share, memory_kib: u64) {
        for node in &mut self.nodes {
            if node.is_of(share) {
                node.free -= share.processors;
                if let Some(left) = &mut node.memory_left_kib {
                    *left -= u64::from(share.processors) * memory_kib;
                }
            }
        }
    }

    pub(super) fn release(&mut self, running: &Running) {
        let memory_kib = running.spec.requirements.memory_kib;
        for share in &running.placement {
            for node in &mut self.nodes {
                if node.is_of(*share) {
                    node.free += share.processors;
                    if let Some(left) = &mut node.memory_left_kib {
                        *left += u64::from(share.processors) * memory_kib;
                    }
                }
            }
        }
    }
}

pub(super) fn is_of_kind(resource: &Resource, wanted: &Requirements) -> bool {
    let architecture = match (&wanted.architecture, &resource.architecture) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(want), Some(have)) => want.to_ascii_lowercase() == have.to_ascii_lowercase(),
    };
    let os = match (&wanted.os, &resource.os) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(want), Some(have)) => want.to_ascii_lowercase() == have.to_ascii_lowercase(),
    };
    let disk = match resource.disk_mib {
        None => true,
        Some(have) => have >= wanted.disk_mib,
    };
    // Speeds have exact decimals, wishes millionths.
    let (mantissa, scale) = resource.speed.ratio();
    let speed =
        u128::from(mantissa) * 1_000_000 >= u128::from(wanted.speed_millionths) * u128::from(scale);
    architecture && os && disk && speed
}
