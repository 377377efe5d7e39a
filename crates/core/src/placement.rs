//! Which processors a job gets, node by node (design 4).
//!
//! Resources in file order, nodes in number order, on each as many processors
//! as its free ones, its remaining memory and generic resources allow. The
//! components of a job take theirs one after the other.

mod group;
mod joint;

pub use joint::{Part, by_component};

use crate::job::Requirements;
use crate::load::FreeSpace;
use crate::resource::{Resource, Resources, by_position};
use group::{Group, Taken, push_nodes};
use std::sync::{Arc, OnceLock};

/// `nodes` neighbouring nodes of one resource, each giving `processors`.
///
/// A job's placement is a list of these, in node order; a run of length one is
/// a single node, so nothing about the placement is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlacementRun {
    /// Position of the resource in the file.
    pub resource: u16,
    /// First node, counted within the resource.
    pub node: u32,
    /// How many nodes.
    pub nodes: u32,
    /// Processors taken on each.
    pub processors: u32,
}

/// Processors that a plan has for a job, of a resource or on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its resource, by position in the file.
    pub resource: u16,
    /// Its node, counted within the resource, if nodes are planned.
    pub node: Option<u32>,
    /// How many processors.
    pub processors: u32,
    /// Of which of the job's components, from 0.
    pub component: u16,
}

/// A kind of job, as placement sees it: which resources, and what it takes there
/// beside processors; of a job of several components, what these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u32);

/// The nodes of a cluster with what is free on them.
pub struct Nodes {
    groups: Vec<Group>,
    /// Names of the generic resources that nodes have, in order.
    generic: Vec<Arc<str>>,
    busy: u32,
    classes: Vec<Class>,
    /// Watched classes that take more than processors: the ones whose
    /// availability has to follow each node.
    watched: Vec<ClassId>,
    /// Placements given back, whose memory is used again.
    spare: Vec<Vec<PlacementRun>>,
    /// What is free beside processors, until nodes change that have bounds.
    space: OnceLock<Arc<FreeSpace>>,
    has_bounds: bool,
}

#[derive(Default)]
struct Class {
    /// The components of its jobs, where they have several: what follows is that of
    /// jobs that have one.
    parts: Vec<Part>,
    matching: Vec<u16>,
    taken: Taken,
    /// Kept up to date while watched, for classes that take more than processors.
    available: u32,
}

impl Nodes {
    /// Empty nodes.
    pub fn new(resources: &Resources) -> Self {
        let generic = resources.generic_names();
        let groups = resources.groups().iter();
        let bounds = |group: &Resource| group.memory_mib.or(group.disk_mib).is_some();
        Nodes {
            has_bounds: !generic.is_empty() || groups.clone().any(bounds),
            space: OnceLock::new(),
            groups: groups.map(|group| Group::new(group, &generic)).collect(),
            generic,
            busy: 0,
            classes: Vec::new(),
            watched: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Nodes that nobody uses, with all their processors, go down or come up.
    pub fn set_up(&mut self, nodes: &PlacementRun, up: bool) {
        let group = &mut self.groups[usize::from(nodes.resource)];
        for node in nodes.node as usize..(nodes.node + nodes.nodes) as usize {
            group.set_up(node, up);
        }
        self.space.take();
        for index in 0..self.watched.len() {
            let class = self.watched[index];
            self.classes[class.0 as usize].available = self.count(class);
        }
    }

    /// Processors in use.
    pub fn busy(&self) -> u32 {
        self.busy
    }

    /// Free processors, on nodes that are up.
    pub fn free_processors(&self) -> u32 {
        self.groups.iter().map(|group| group.free_total).sum()
    }

    /// Free memory, disk and generic resources.
    pub fn space(&self) -> Arc<FreeSpace> {
        let found = self.space.get_or_init(|| {
            let groups = self.groups.iter().map(Group::space);
            let mut space = groups.fold(FreeSpace::default(), FreeSpace::and);
            for (kind, name) in self.generic.iter().enumerate() {
                let free = self.groups.iter().map(|group| group.free_generic(kind));
                space.generic.insert(Arc::clone(name), free.sum());
            }
            Arc::new(space)
        });
        Arc::clone(found)
    }

    /// Makes a class of the jobs with these requirements known.
    pub fn add_class(&mut self, resources: &Resources, wanted: &Requirements) -> ClassId {
        let matching = resources.groups().iter().enumerate();
        let matching = matching.filter(|(_, group)| group.meets(wanted));
        let matching = matching.map(|(index, _)| index as u16).collect();
        self.classes.push(Class {
            parts: Vec::new(),
            matching,
            taken: Taken {
                most: wanted.most_on_node(),
                memory_kib: wanted.memory_kib,
                generic: by_position(&self.generic, &wanted.generic),
            },
            available: 0,
        });
        ClassId(self.classes.len() as u32 - 1)
    }

    /// Keeps the availability of a class at hand, as long as jobs of it wait.
    /// A class that takes more than processors costs one look at each node here,
    /// and one at each node that changes afterwards.
    pub fn watch(&mut self, class: ClassId) {
        if self.classes[class.0 as usize].taken.is_nothing() {
            return;
        }
        self.classes[class.0 as usize].available = self.count(class);
        self.watched.push(class);
    }

    /// Processors that a job of this class, of one component, could have this
    /// instant, counted node by node where it takes more than them.
    fn count(&self, class: ClassId) -> u32 {
        let class = &self.classes[class.0 as usize];
        let groups = class.matching.iter();
        let groups = groups.map(|&group| &self.groups[usize::from(group)]);
        groups.map(|group| group.available(&class.taken)).sum()
    }

    /// Ends what [`Nodes::watch`] began.
    pub fn unwatch(&mut self, class: ClassId) {
        self.watched.retain(|watched| *watched != class);
    }

    /// Processors that a job of this watched class could have this instant; with
    /// several components all that they want, or none.
    pub fn available(&mut self, class: ClassId) -> u32 {
        let known = &self.classes[class.0 as usize];
        if !known.taken.is_nothing() {
            return known.available;
        }
        if !known.parts.is_empty() {
            let taken = self.try_parts(class, None);
            return taken.map_or(0, |placement| self.give_back(class, placement));
        }
        let groups = known.matching.iter();
        groups
            .map(|&group| self.groups[usize::from(group)].free_total)
            .sum()
    }

    /// Free processors of a node.
    pub fn free_on(&self, resource: u16, node: u32) -> u32 {
        self.groups[usize::from(resource)].free_on(node as usize)
    }

    /// Whether a job of this class could have, this instant, what was planned.
    pub fn offers(&mut self, class: ClassId, shares: &[Share]) -> bool {
        let Class { parts, taken, .. } = &self.classes[class.0 as usize];
        if !parts.is_empty() {
            let placement = self.try_parts(class, Some(shares));
            return placement.is_some_and(|placement| self.give_back(class, placement) > 0);
        }
        shares.iter().all(|share| {
            let group = &self.groups[usize::from(share.resource)];
            match share.node {
                None => group.free_total >= share.processors,
                Some(node) => group.on_node(node as usize, taken) >= share.processors,
            }
        })
    }

    /// Takes `wanted` processors; the caller has made sure they are there.
    ///
    /// # Panics
    /// When they are not: that would be a processor used twice.
    pub fn take(&mut self, class: ClassId, wanted: u32) -> Vec<PlacementRun> {
        match self.classes[class.0 as usize].parts.is_empty() {
            true => self.take_within(class, wanted, None),
            false => self.take_parts(class, None),
        }
    }

    /// Takes what was planned, of each resource or on each node; the caller has
    /// asked whether the nodes [offer](Self::offers) it.
    ///
    /// # Panics
    /// As [`Nodes::take`].
    pub fn take_planned(&mut self, class: ClassId, shares: &[Share]) -> Vec<PlacementRun> {
        if !self.classes[class.0 as usize].parts.is_empty() {
            return self.take_parts(class, Some(shares));
        }
        let wanted = shares.iter().map(|share| share.processors).sum();
        if shares.iter().any(|share| share.node.is_none()) {
            return self.take_within(class, wanted, Some(shares));
        }
        let mut placement = self.spare.pop().unwrap_or_default();
        for share in shares {
            let (resource, node) = (share.resource, share.node.unwrap_or(0));
            push_nodes(&mut placement, resource, node, 1, share.processors);
        }
        for run in &placement {
            let group = &mut self.groups[usize::from(run.resource)];
            if group.is_plain() {
                group.take_plain_nodes(run);
            }
        }
        self.taken(class, wanted, &placement);
        placement
    }

    /// Takes `wanted` processors, of each resource as many as planned at most.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "without a plan, which is the hot path, nothing of it is left"
    )]
    fn take_within(
        &mut self,
        class: ClassId,
        wanted: u32,
        shares: Option<&[Share]>,
    ) -> Vec<PlacementRun> {
        let known = &self.classes[class.0 as usize];
        let mut placement = self.spare.pop().unwrap_or_default();
        let mut left = wanted;
        for &resource in &known.matching {
            if left == 0 {
                break;
            }
            let planned = shares.map_or(left, |shares| {
                let mut shares = shares.iter();
                let share = shares.find(|share| share.resource == resource);
                share.map_or(0, |share| share.processors.min(left))
            });
            let group = &mut self.groups[usize::from(resource)];
            let missing = match group.is_plain() {
                // Nothing but the bit map has to follow a plain node, so that
                // choosing and taking are one pass.
                true => group.take_plain(resource, planned, &mut placement),
                false => group.choose(resource, &known.taken, planned, &mut placement),
            };
            left -= planned - missing;
        }
        assert_eq!(left, 0, "placement asked for more processors than are free");
        self.taken(class, wanted, &placement);
        placement
    }

    /// What has to follow when these are taken; plain nodes are already.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "part of the hot path above")]
    fn taken(&mut self, class: ClassId, wanted: u32, placement: &[PlacementRun]) {
        for run in placement {
            match self.groups[usize::from(run.resource)].is_plain() {
                true => self.change_plain(run, |available, nodes| available - nodes),
                false => self.change(class, run, Group::use_node),
            }
        }
        self.busy += wanted;
        if self.has_bounds {
            self.space.take();
        }
    }

    /// Gives back what [`Nodes::take`] gave; answers how many processors.
    ///
    /// # Panics
    /// When a node would have more free processors than it owns.
    pub fn give_back(&mut self, class: ClassId, mut placement: Vec<PlacementRun>) -> u32 {
        let busy = self.busy;
        match self.classes[class.0 as usize].parts.is_empty() {
            true => self.free(class, &placement),
            false => self.free_parts(class, &placement),
        }
        placement.clear();
        self.spare.push(placement);
        busy - self.busy
    }

    fn free(&mut self, class: ClassId, placement: &[PlacementRun]) {
        for run in placement {
            let group = &mut self.groups[usize::from(run.resource)];
            if group.is_plain() {
                group.free_plain(run);
                self.change_plain(run, |available, nodes| available + nodes);
            } else {
                self.change(class, run, Group::free_node);
            }
            self.busy -= run.nodes * run.processors;
        }
        if self.has_bounds {
            self.space.take();
        }
    }

    /// Keeps the watched classes right when plain nodes change: each node is
    /// worth one processor to every class that may use it.
    fn change_plain(&mut self, run: &PlacementRun, change: impl Fn(u32, u32) -> u32) {
        for &class in &self.watched {
            let class = &mut self.classes[class.0 as usize];
            if class.matching.contains(&run.resource) {
                class.available = change(class.available, run.nodes);
            }
        }
    }

    /// Changes the nodes of a run, for a job of this class, keeping the watched
    /// classes right.
    fn change(
        &mut self,
        class: ClassId,
        run: &PlacementRun,
        change: impl Fn(&mut Group, usize, u32, &Taken),
    ) {
        let group = &mut self.groups[usize::from(run.resource)];
        for node in run.node as usize..(run.node + run.nodes) as usize {
            for &class in &self.watched {
                let class = &mut self.classes[class.0 as usize];
                if class.matching.contains(&run.resource) {
                    class.available -= group.fitting(node, &class.taken);
                }
            }
            change(
                group,
                node,
                run.processors,
                &self.classes[class.0 as usize].taken,
            );
            for &class in &self.watched {
                let class = &mut self.classes[class.0 as usize];
                if class.matching.contains(&run.resource) {
                    class.available += group.fitting(node, &class.taken);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Decimal;

    fn group(count: u32, cpu_count: u32, memory_mib: u64) -> Resource {
        Resource {
            name: None,
            count,
            cpu_count,
            architecture: None,
            os: None,
            memory_mib: Some(memory_mib),
            disk_mib: None,
            speed: Decimal::ONE,
            generic: Default::default(),
        }
    }

    fn run(resource: u16, node: u32, nodes: u32, processors: u32) -> PlacementRun {
        PlacementRun {
            resource,
            node,
            nodes,
            processors,
        }
    }

    fn setup(resources: &Resources, memory_kib: u64) -> (Nodes, ClassId) {
        let mut nodes = Nodes::new(resources);
        let wanted = Requirements {
            memory_kib,
            ..Requirements::default()
        };
        let class = nodes.add_class(resources, &wanted);
        nodes.watch(class);
        (nodes, class)
    }

    #[test]
    fn a_job_takes_the_lowest_nodes_and_spills_into_the_next_resource() {
        let resources = Resources::new(vec![group(2, 2, 1024), group(3, 4, 1024)]).unwrap();
        let (mut nodes, any) = setup(&resources, 0);
        assert_eq!(nodes.take(any, 7), [run(0, 0, 2, 2), run(1, 0, 1, 3)]);
        assert_eq!(nodes.take(any, 5), [run(1, 0, 1, 1), run(1, 1, 1, 4)]);
        nodes.give_back(any, vec![run(0, 0, 2, 2), run(1, 0, 1, 3)]);
        assert_eq!(nodes.take(any, 1), [run(0, 0, 1, 1)]);
        assert_eq!(nodes.busy(), 6);
    }

    #[test]
    fn memory_bounds_the_processors_taken_on_a_node() {
        let resources = Resources::new(vec![group(3, 4, 1)]).unwrap();
        let (mut nodes, hungry) = setup(&resources, 400);
        let any = nodes.add_class(&resources, &Requirements::default());
        assert_eq!(nodes.available(hungry), 6);
        assert_eq!(nodes.take(hungry, 3), [run(0, 0, 1, 2), run(0, 1, 1, 1)]);
        assert_eq!(nodes.available(hungry), 3);
        assert_eq!(nodes.available(any), 9);
        assert_eq!(
            nodes.take(any, 9),
            [run(0, 0, 1, 2), run(0, 1, 1, 3), run(0, 2, 1, 4)]
        );
        assert_eq!(nodes.available(hungry), 0);
        nodes.give_back(hungry, vec![run(0, 0, 1, 2), run(0, 1, 1, 1)]);
        assert_eq!(nodes.available(hungry), 3);
        nodes.give_back(any, vec![run(0, 0, 1, 2), run(0, 1, 1, 3), run(0, 2, 1, 4)]);
        assert_eq!(nodes.available(hungry), 6);
        nodes.unwatch(hungry);
        assert_eq!(nodes.take(any, 12).len(), 1);
    }

    #[test]
    fn a_wide_cluster_is_searched_across_words() {
        let resources = Resources::homogeneous(200);
        let (mut nodes, any) = setup(&resources, 0);
        assert_eq!(nodes.take(any, 130), [run(0, 0, 130, 1)]);
        nodes.give_back(any, vec![run(0, 64, 1, 1)]);
        assert_eq!(nodes.take(any, 3), [run(0, 64, 1, 1), run(0, 130, 2, 1)]);
        assert_eq!(nodes.take(any, 68), [run(0, 132, 68, 1)]);
        assert_eq!(nodes.available(any), 0);
    }
}
