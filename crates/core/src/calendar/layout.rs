//! What a calendar counts by, and what jobs may use of it.

use super::line::Need;
use super::{Demand, Reservation, Shares, Taken};
use crate::job::Requirements;
use crate::placement::{ClassId, Part, PlacementRun, Share, by_component};
use crate::resource::{Resources, by_position, signed};
use crate::time::{Decimal, SimDuration, SimTime};
use std::collections::HashMap;
use std::sync::Arc;

/// What jobs may use: all that a calendar has to know of their requirements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Shape {
    /// By resource, the most processors of an empty node; 0 where the resource
    /// does not match.
    per_node: Vec<u32>,
    /// Memory per processor.
    memory_kib: u64,
    /// Generic resources of each node, by position of the name.
    generic: Vec<(usize, i64)>,
}

/// What jobs of one class may use.
#[derive(Clone, Debug)]
struct Class {
    /// Which of the shapes.
    shape: usize,
    /// The slowest resource that matches.
    slowest: Decimal,
    /// The components of its jobs, where they have several.
    parts: Vec<Part>,
}

/// A resource: nodes that are alike.
#[derive(Clone, Debug)]
pub(super) struct Nodes {
    pub count: u32,
    /// Of each node.
    pub processors: u32,
    /// Of each node in KiB; `None` is unlimited.
    pub memory: Option<i64>,
    /// Of each node, by position of the name.
    pub generic: Vec<u32>,
    speed: Decimal,
}

/// What a cluster is made of, and what jobs may use of it.
#[derive(Debug)]
pub struct Layout {
    pub(super) resources: Vec<Nodes>,
    /// Names of the generic resources that nodes have, in order.
    generic: Vec<Arc<str>>,
    by_node: bool,
    joint: bool,
    classes: Vec<Class>,
    shapes: Vec<Shape>,
    shape_numbers: HashMap<Shape, usize>,
}

impl Layout {
    pub(super) fn new(resources: &Resources) -> Self {
        let generic = resources.generic_names();
        let resources = resources.groups().iter().map(|group| Nodes {
            count: group.count,
            processors: group.cpu_count,
            memory: group.memory_mib.map(|_| signed(group.memory_kib())),
            generic: generic
                .iter()
                .map(|name| group.generic.count(name))
                .collect(),
            speed: group.speed,
        });
        Layout {
            resources: resources.collect(),
            generic,
            by_node: false,
            joint: false,
            classes: Vec::new(),
            shapes: Vec::new(),
            shape_numbers: HashMap::new(),
        }
    }

    /// Whether nodes count, not resources alone.
    pub fn is_by_node(&self) -> bool {
        self.by_node
    }

    pub(super) fn count_by_node(&mut self) {
        self.by_node = true;
    }

    /// Makes a class known; `true` if nodes have to count for it.
    pub(super) fn know(&mut self, resources: &Resources, wanted: &Requirements) -> bool {
        let groups = resources.groups().iter();
        let per_node = groups.clone().map(|group| match group.meets(wanted) {
            true => group.per_node(wanted),
            false => 0,
        });
        let usable = groups.filter(|group| group.meets(wanted));
        let is_scarce = usable.clone().any(|group| group.memory_mib.is_some());
        let is_spread = (usable.clone()).any(|group| wanted.most_on_node() < group.cpu_count);
        let slowest = usable.map(|group| group.speed).min();
        let shape = Shape {
            per_node: per_node.collect(),
            memory_kib: wanted.memory_kib,
            generic: by_position(&self.generic, &wanted.generic),
        };
        self.add(shape, slowest, Vec::new());
        is_spread || wanted.memory_kib > 0 && is_scarce || !wanted.generic.is_empty()
    }

    /// Makes the class of jobs with these components known. Its shape says no more
    /// than that they need processors, of any kind.
    pub(super) fn know_joint(&mut self, parts: Vec<Part>) {
        let shape = Shape {
            per_node: self.resources.iter().map(|all| all.processors).collect(),
            memory_kib: 0,
            generic: Vec::new(),
        };
        let slowest = parts.iter().map(|part| self.class(part.class).slowest);
        let slowest = slowest.min();
        self.joint = true;
        self.add(shape, slowest, parts);
    }

    fn add(&mut self, shape: Shape, slowest: Option<Decimal>, parts: Vec<Part>) {
        let next = self.shapes.len();
        let number = *self.shape_numbers.entry(shape).or_insert_with_key(|shape| {
            self.shapes.push(shape.clone());
            next
        });
        self.classes.push(Class {
            shape: number,
            slowest: slowest.unwrap_or(Decimal::ONE),
            parts,
        });
    }

    fn class(&self, class: ClassId) -> &Class {
        &self.classes[class.0 as usize]
    }

    /// Whether jobs of this class have several components.
    pub(crate) fn is_joint(&self, class: ClassId) -> bool {
        !self.class(class).parts.is_empty()
    }

    /// Whether a job of several components has been known.
    pub(crate) fn has_joint(&self) -> bool {
        self.joint
    }

    /// What each of several components demands.
    pub(super) fn demands(&self, demand: &Demand) -> impl Iterator<Item = Demand> {
        let (parts, length) = (self.class(demand.class).parts.iter(), demand.length);
        parts.map(move |part| Demand {
            class: part.class,
            processors: part.processors,
            length,
        })
    }

    /// How long a job of this class takes wherever it runs, if it takes so long
    /// at speed 1.0; above 0, else nothing would be held for it and its promise
    /// could be given away.
    pub(crate) fn longest(&self, class: ClassId, at_full_speed: SimDuration) -> SimDuration {
        let slowest = self.class(class).slowest;
        SimDuration::from_nanos(slowest.divide(at_full_speed.as_nanos()).max(1))
    }

    /// How long it takes on these processors.
    pub fn length_on(&self, at_full_speed: SimDuration, shares: &[Share]) -> SimDuration {
        let resources = shares.iter().map(|share| usize::from(share.resource));
        let speeds = resources.map(|resource| self.resources[resource].speed);
        let slowest = speeds.min().unwrap_or(Decimal::ONE);
        SimDuration::from_nanos(slowest.divide(at_full_speed.as_nanos()))
    }

    /// The shape of a class: jobs of one shape may use the same.
    pub(crate) fn shape(&self, class: ClassId) -> usize {
        self.class(class).shape
    }

    /// What jobs of this shape may have of each resource.
    pub(crate) fn needs(&self, shape: usize) -> impl Iterator<Item = Need> {
        let resources = self.resources.iter().enumerate();
        resources.map(move |(resource, nodes)| self.need(shape, resource, nodes.count))
    }

    /// Generic resources that jobs of this shape take of each node.
    pub(super) fn generic(&self, shape: usize) -> &[(usize, i64)] {
        &self.shapes[shape].generic
    }

    /// What jobs of this shape may have of so many nodes of a resource. Where
    /// these have more memory than can be counted, it does not count.
    pub(super) fn need(&self, shape: usize, resource: usize, nodes: u32) -> Need {
        let shape = &self.shapes[shape];
        let memory = self.resources[resource].memory;
        let memory = memory.and_then(|of_node| of_node.checked_mul(i64::from(nodes)));
        Need {
            most: i64::from(shape.per_node[resource] * nodes),
            each: memory.map_or(0, |_| signed(shape.memory_kib)),
        }
    }

    /// These processors for a job of this class.
    pub(crate) fn reservation(
        &self,
        class: ClassId,
        (start, end): (SimTime, SimTime),
        shares: Shares,
    ) -> Reservation {
        let taken = |class: ClassId| {
            let shape = &self.shapes[self.shape(class)];
            Taken {
                memory_kib: signed(shape.memory_kib),
                generic: shape.generic.clone(),
            }
        };
        let parts = &self.class(class).parts;
        let more = parts.iter().skip(1).map(|part| taken(part.class));
        Reservation {
            start,
            end,
            shares,
            first: taken(parts.first().map_or(class, |part| part.class)),
            more: more.collect(),
        }
    }

    pub(crate) fn shares_of(&self, class: ClassId, placement: &[PlacementRun]) -> Shares {
        let mut shares = Shares::new();
        let parts = &self.class(class).parts;
        if parts.is_empty() {
            self.add_shares(0, placement, &mut shares);
        }
        let all = by_component(placement, parts.iter().map(|part| part.processors));
        for (own, component) in all.zip(0..) {
            self.add_shares(component, own, &mut shares);
        }
        shares
    }

    fn add_shares(&self, component: u16, placement: &[PlacementRun], shares: &mut Shares) {
        for run in placement {
            let share = Share {
                resource: run.resource,
                node: None,
                processors: run.processors,
                component,
            };
            if self.by_node {
                shares.extend((run.node..run.node + run.nodes).map(|node| Share {
                    node: Some(node),
                    ..share
                }));
                continue;
            }
            let processors = run.nodes * run.processors;
            match shares.last_mut() {
                Some(last) if (last.resource, last.component) == (run.resource, component) => {
                    last.processors += processors;
                }
                _ => shares.push(Share {
                    processors,
                    ..share
                }),
            }
        }
    }
}
