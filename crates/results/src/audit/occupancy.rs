//! Who uses which node, rebuilt from starts and ends.

use super::Rule;
use super::history::show_run;
use gridrig_core::generic::untyped;
use gridrig_core::ids::JobId;
use gridrig_core::job::{Component, JobSpec};
use gridrig_core::placement::{PlacementRun, by_component};
use gridrig_core::resource::{Resource, Resources};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The nodes of one cluster and what is used of them.
pub(super) struct Occupancy<'a> {
    resources: &'a Resources,
    groups: Vec<Group>,
}

/// What is used of the nodes of one resource.
struct Group {
    processors: Vec<u64>,
    /// Memory in KiB; empty where it is unlimited.
    memory_kib: Vec<u64>,
    /// Generic resources by name without type, then by node.
    generic: BTreeMap<Arc<str>, Vec<u64>>,
    /// The job that last started there, plus 1; 0 is none.
    last_job: Vec<u64>,
    /// Whether it is down.
    down: Vec<bool>,
}

/// A rule that a placement breaks, and how.
pub(super) type Fault = (Rule, String);

impl<'a> Occupancy<'a> {
    pub(super) fn new(resources: &'a Resources) -> Self {
        let group = |resource: &Resource| {
            let nodes = resource.count as usize;
            let limited = resource.memory_mib.map_or(0, |_| nodes);
            let generic = resource.generic.iter();
            Group {
                processors: vec![0; nodes],
                memory_kib: vec![0; limited],
                generic: generic
                    .map(|(name, _)| (untyped(name).into(), vec![0; nodes]))
                    .collect(),
                last_job: vec![0; nodes],
                down: vec![false; nodes],
            }
        };
        Occupancy {
            groups: resources.groups().iter().map(group).collect(),
            resources,
        }
    }

    /// Whether every node of the placement exists.
    pub(super) fn exists(&self, placement: &[PlacementRun]) -> bool {
        placement.iter().all(|run| self.group_of(run).is_some())
    }

    /// Judges and takes a placement; answers each rule it breaks once per run
    /// of nodes. Runs of nodes that do not exist are not taken.
    pub(super) fn take(&mut self, spec: &JobSpec, placement: &[PlacementRun]) -> Vec<Fault> {
        let mut faults = Vec::new();
        let given = processors_of(placement);
        if given != u64::from(spec.processors()) {
            let message = format!(
                "it was given {given} processors, expected {}",
                spec.processors()
            );
            faults.push((Rule::ProcessorCount, message));
        }
        for (number, (component, own)) in (1..).zip(components(spec, placement)) {
            let own_given = processors_of(own);
            if spec.components.only().is_none() && own_given != u64::from(component.processors) {
                let message = format!(
                    "its component {number} was given {own_given} processors, expected {}",
                    component.processors
                );
                faults.push((Rule::ProcessorCount, message));
            }
            for run in own {
                faults.extend(self.judge_run(spec.id, component, run));
            }
        }
        faults
    }

    fn judge_run(&mut self, job: JobId, component: &Component, run: &PlacementRun) -> Vec<Fault> {
        let Some(resource) = self.group_of(run) else {
            let message = format!("it was given {}, which does not exist", show_run(run));
            return vec![(Rule::NodeExists, message)];
        };
        let mut faults = Vec::from_iter(unmet(resource, component, run));
        if resource.cpu_count < run.processors {
            let message = format!(
                "it was given {}, expected at most {} processors per node",
                show_run(run),
                resource.cpu_count
            );
            faults.push((Rule::NodeExists, message));
        }
        let most = component.requirements.most_on_node();
        // Where nothing but processors counts, these may be reserved by resource, and jobs
        // are not spread then.
        if most < run.processors && self.resources.may_count_by_node() {
            let run = show_run(run);
            let message = format!("it was given {run}, expected at most {most} of each node");
            faults.push((Rule::Requirements, message));
        }
        let down = &self.groups[usize::from(run.resource)].down;
        if let Some(node) = nodes_of(run).find(|node| down[*node]) {
            let message = format!(
                "it was given {}, of which node {node} is down",
                show_run(run)
            );
            faults.push((Rule::NodesUp, message));
        }
        faults.extend(self.take_run(job, component, run));
        faults
    }

    /// Nodes go down or come up; answers what is wrong with that.
    pub(super) fn change(&mut self, nodes: &[PlacementRun], up: bool) -> Vec<String> {
        let mut faults = Vec::new();
        for run in nodes {
            if self.group_of(run).is_none() {
                faults.push(format!("{} does not exist", show_run(run)));
                continue;
            }
            for down in &mut self.groups[usize::from(run.resource)].down[nodes_of(run)] {
                if *down != up {
                    let state = if up { "up" } else { "down" };
                    faults.push(format!("a node of {} is {state} already", show_run(run)));
                }
                *down = !up;
            }
        }
        faults
    }

    /// Whether any node of the placement is down.
    pub(super) fn has_failed(&self, placement: &[PlacementRun]) -> bool {
        let own = placement.iter().filter(|run| self.group_of(run).is_some());
        own.flat_map(|run| &self.groups[usize::from(run.resource)].down[nodes_of(run)])
            .any(|down| *down)
    }

    /// The first node that is down and in use.
    pub(super) fn in_use_though_down(&self) -> Option<String> {
        self.groups.iter().enumerate().find_map(|(resource, group)| {
            let mut nodes = group.down.iter().zip(&group.processors);
            let node = nodes.position(|(down, used)| *down && *used > 0)?;
            Some(format!(
                "resource {resource} node {node} has failed, where {} processors are in use still{}",
                group.processors[node],
                other(group.last_job[node])
            ))
        })
    }

    /// Gives back what [`Occupancy::take`] took.
    pub(super) fn give_back(&mut self, spec: &JobSpec, placement: &[PlacementRun]) {
        let all = components(spec, placement);
        let all = all.flat_map(|(component, own)| own.iter().map(move |run| (component, run)));
        for (component, run) in all {
            if self.group_of(run).is_none() {
                continue;
            }
            let memory_kib = memory_of(component, run);
            let group = &mut self.groups[usize::from(run.resource)];
            for node in nodes_of(run) {
                let used = &mut group.processors[node];
                *used = used.saturating_sub(run.processors.into());
                if let Some(used) = group.memory_kib.get_mut(node) {
                    *used = used.saturating_sub(memory_kib);
                }
                for (name, count) in component.requirements.generic.iter() {
                    if let Some(used) = group.generic.get_mut(untyped(name)) {
                        used[node] = used[node].saturating_sub(u64::from(count));
                    }
                }
            }
        }
    }

    /// The resource of a run, if all its nodes exist.
    fn group_of(&self, run: &PlacementRun) -> Option<&'a Resource> {
        let resource = self.resources.groups().get(usize::from(run.resource))?;
        let end = u64::from(run.node) + u64::from(run.nodes);
        (run.nodes > 0 && run.processors > 0 && end <= u64::from(resource.count))
            .then_some(resource)
    }

    /// Takes the nodes of a run; the first overlap is told.
    fn take_run(&mut self, job: JobId, component: &Component, run: &PlacementRun) -> Option<Fault> {
        let resource = &self.resources.groups()[usize::from(run.resource)];
        let memory_kib = memory_of(component, run);
        let group = &mut self.groups[usize::from(run.resource)];
        let mut fault = None;
        for node in nodes_of(run) {
            let mut message = None;
            let mut take = |used: &mut u64, taken, all, of: &str, unit: &str, may_be_alone| {
                let before = *used;
                *used = before.saturating_add(taken);
                if *used > all && message.is_none() && (before > 0 || may_be_alone) {
                    message = Some(format!(
                        "it took {taken} of {all} {of} of resource {} node {node}, where \
                         {before}{unit} were in use",
                        run.resource
                    ));
                }
            };
            let (wanted, all) = (run.processors.into(), resource.cpu_count.into());
            let used = &mut group.processors[node];
            take(used, wanted, all, "processors", "", false);
            if let Some(used) = group.memory_kib.get_mut(node) {
                take(used, memory_kib, resource.memory_kib(), "KiB", " KiB", true);
            }
            for (name, count) in component.requirements.generic.iter() {
                if let Some(used) = group.generic.get_mut(untyped(name)) {
                    let all = resource.generic.count(name).into();
                    take(&mut used[node], count.into(), all, name, "", false);
                }
            }
            if let (Some(message), None) = (message, &fault) {
                let other = other(group.last_job[node]);
                fault = Some((Rule::NoOverlap, format!("{message}{other}")));
            }
            group.last_job[node] = u64::from(job.0) + 1;
        }
        fault
    }
}

fn other(last_job: u64) -> String {
    match u32::try_from(last_job.wrapping_sub(1)) {
        Ok(job) => format!("; the last to start there was {}", JobId(job)),
        Err(_) => String::new(),
    }
}

fn nodes_of(run: &PlacementRun) -> std::ops::Range<usize> {
    let first = run.node as usize;
    first..first + run.nodes as usize
}

/// The components of a job, each with what it was given; the last one with all that
/// is left.
fn components<'s, 'p>(
    spec: &'s JobSpec,
    placement: &'p [PlacementRun],
) -> impl Iterator<Item = (&'s Component, &'p [PlacementRun])> {
    let all = spec.components.iter();
    let last = all.clone().count() - 1;
    let sizes = all.clone().map(|component| component.processors);
    let sizes = sizes.take(last).chain([u32::MAX]);
    all.zip(by_component(placement, sizes))
}

/// How many processors these are.
pub(super) fn processors_of(placement: &[PlacementRun]) -> u64 {
    let runs = placement.iter();
    let given = runs.map(|run| u64::from(run.nodes) * u64::from(run.processors));
    given.fold(0, u64::saturating_add)
}

/// Memory that the component takes on each node of the run, in KiB.
fn memory_of(component: &Component, run: &PlacementRun) -> u64 {
    let per_processor = component.requirements.memory_kib;
    per_processor.saturating_mul(u64::from(run.processors))
}

/// What nodes of this resource lack for the component.
fn unmet(resource: &Resource, component: &Component, run: &PlacementRun) -> Option<Fault> {
    let wanted = &component.requirements;
    let other = |have: &Option<String>, want: &Option<Arc<str>>| match want {
        Some(want) => !have
            .as_ref()
            .is_some_and(|have| have.eq_ignore_ascii_case(want)),
        None => false,
    };
    let shown = |have: &Option<String>| have.clone().unwrap_or_else(|| "none".to_owned());
    let name = |want: &Option<Arc<str>>| want.as_deref().unwrap_or("any").to_owned();
    let (what, have, want) = if other(&resource.architecture, &wanted.architecture) {
        let have = shown(&resource.architecture);
        ("architecture", have, name(&wanted.architecture))
    } else if other(&resource.os, &wanted.os) {
        ("operating system", shown(&resource.os), name(&wanted.os))
    } else if resource.speed_millionths() < wanted.speed_millionths {
        let want = format!("{} millionths of 1.0", wanted.speed_millionths);
        ("speed", resource.speed.to_string(), want)
    } else if !resource.generic.cover(&wanted.generic) {
        let have = Some(resource.generic.to_string()).filter(|have| !have.is_empty());
        let want = wanted.generic.to_string();
        ("list of generic resources", shown(&have), want)
    } else {
        let disk = resource.disk_mib.filter(|disk| *disk < wanted.disk_mib)?;
        let want = format!("{} MiB", wanted.disk_mib);
        ("disk", format!("{disk} MiB"), want)
    };
    let run = show_run(run);
    let message = format!("it was given {run}, whose {what} is {have}, expected {want}");
    Some((Rule::Requirements, message))
}
