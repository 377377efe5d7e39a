//! The jobs of a cluster, and the classes they are of.

use super::kept::Kept;
use super::{Cluster, MOST_CLASSES};
use crate::calendar::Demand;
use crate::ids::{IdMap, JobId};
use crate::job::{Components, JobSpec, Reason, Requirements};
use crate::placement::{ClassId, Part, PlacementRun};
use crate::queue::Slot;
use crate::time::{SimDuration, SimTime};
use std::collections::HashMap;

/// A job that waits or runs.
pub(super) struct Job {
    pub id: JobId,
    /// For its run time at speed 1.0. Its class says what it requires.
    pub demand: Demand,
    /// The estimate at speed 1.0.
    pub estimate: SimDuration,
    pub arrival: u64,
    pub queued: SimTime,
    pub running: Option<Running>,
    /// Where it is part of a job that several clusters run together.
    pub claim: Option<Claim>,
    /// When that was asked for.
    pub asked: SimTime,
    /// What is reserved for it, while it waits for that.
    pub reserved: Option<Box<Kept>>,
}

/// What is known of a job's requirements before it is here.
pub(super) struct Known {
    /// `None`: nobody has asked for these before.
    pub class: Option<ClassId>,
    pub processors: u32,
}

/// Since when it runs, until when and where.
pub(super) struct Running {
    pub start: SimTime,
    pub finish: SimTime,
    pub placement: Vec<PlacementRun>,
}

impl Job {
    /// Whether what is reserved for it is to be used, as far as is known.
    pub fn is_sure(&self) -> bool {
        self.claim != Some(Claim::Reserved)
    }

    /// Whether it runs, if it has processors.
    pub fn has_begun(&self) -> bool {
        matches!(self.claim, None | Some(Claim::Runs(_)))
    }
}

/// How far a part has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// It waits for a pass; what is held then is given back after so long.
    Asked(SimDuration),
    /// Its processors are held.
    Held,
    /// They are reserved, and nobody has said yet that the job begins.
    Reserved,
    /// It is no part: they are reserved without a job.
    Advance,
    /// The job begins at the instant that is its end so far, or at which its reservation
    /// starts, runs for so long, and this cluster may be the one that tells of it.
    Begins(SimDuration, bool),
    /// It runs.
    Runs(bool),
}

impl Claim {
    /// Processors are held for it, for how long at most.
    pub fn hold(&mut self) -> SimDuration {
        match *self {
            Claim::Asked(timeout) => {
                *self = Claim::Held;
                timeout
            }
            _ => SimDuration::ZERO,
        }
    }
}

/// The jobs that wait or run, in reused slots.
#[derive(Default)]
pub(super) struct JobTable {
    pub slots: Vec<Option<Job>>,
    pub free: Vec<Slot>,
    pub by_id: IdMap<Slot>,
}

impl JobTable {
    pub fn insert(&mut self, job: Job) -> Slot {
        let id = job.id;
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(job);
                slot
            }
            None => {
                self.slots.push(Some(job));
                self.slots.len() as Slot - 1
            }
        };
        let before = self.by_id.insert(id, slot);
        assert!(before.is_none(), "{id} was submitted twice to one cluster");
        slot
    }

    pub fn get(&self, slot: Slot) -> &Job {
        self.slots[slot as usize].as_ref().expect("a slot in use")
    }

    pub fn get_mut(&mut self, slot: Slot) -> &mut Job {
        self.slots[slot as usize].as_mut().expect("a slot in use")
    }

    pub fn remove(&mut self, slot: Slot) -> Job {
        let job = self.slots[slot as usize].take().expect("a slot in use");
        self.by_id.remove(&job.id);
        self.free.push(slot);
        job
    }

    pub fn running(&self) -> impl Iterator<Item = (JobId, ClassId, &[PlacementRun])> {
        let jobs = self.slots.iter().flatten();
        jobs.filter_map(|job| {
            let running = job.running.as_ref()?;
            Some((job.id, job.demand.class, running.placement.as_slice()))
        })
    }
}

/// The requirement classes met so far.
#[derive(Default)]
pub(super) struct Classes {
    pub any: Option<ClassId>,
    pub others: HashMap<Requirements, ClassId>,
    joint: HashMap<Vec<Part>, ClassId>,
    /// What the empty cluster offers each class.
    pub capacity: Vec<u32>,
}

impl Classes {
    pub fn known(&self, job: &Components) -> Option<ClassId> {
        if let Some(only) = job.only() {
            return self.known_one(&only.requirements);
        }
        let parts = job.iter().map(|component| {
            Some(Part {
                class: self.known_one(&component.requirements)?,
                processors: component.processors,
            })
        });
        self.joint.get(&parts.collect::<Option<Vec<_>>>()?).copied()
    }

    pub fn known_one(&self, wanted: &Requirements) -> Option<ClassId> {
        match wanted.is_any() {
            true => self.any,
            false => self.others.get(wanted).copied(),
        }
    }

    pub fn add_joint(&mut self, parts: Vec<Part>, capacity: u32) {
        let class = ClassId(self.capacity.len() as u32);
        self.capacity.push(capacity);
        self.joint.insert(parts, class);
    }

    pub fn add(&mut self, wanted: &Requirements, capacity: u32) {
        let class = ClassId(self.capacity.len() as u32);
        self.capacity.push(capacity);
        match wanted.is_any() {
            true => self.any = Some(class),
            false => {
                self.others.insert(wanted.clone(), class);
            }
        }
    }
}

impl Cluster {
    /// What is known of a job that could run here.
    pub(super) fn class_of(&self, job: &JobSpec) -> Result<Known, Reason> {
        let processors = job.processors();
        let class = self.classes.known(&job.components);
        let fits = match class {
            Some(class) => processors <= self.classes.capacity[class.0 as usize],
            None => self.config.resources.could_run(&job.components),
        };
        if !fits || job.components.iter().any(|one| one.processors == 0) {
            return Err(Reason::NeverFits);
        }
        if self.config.is_real && job.components.only().is_none() {
            return Err(Reason::LrmsRefused);
        }
        match class.is_none() && self.classes.capacity.len() >= MOST_CLASSES {
            true => Err(Reason::QueueFull),
            false => Ok(Known { class, processors }),
        }
    }

    pub(super) fn know(&mut self, job: &Components) -> ClassId {
        let parts = job.iter().map(|component| Part {
            class: self.know_one(&component.requirements),
            processors: component.processors,
        });
        let parts: Vec<Part> = parts.collect();
        if let [only] = parts[..] {
            return only.class;
        }
        self.scheduler.know_joint(parts.clone());
        self.classes.add_joint(parts.clone(), job.processors());
        self.nodes.add_joint_class(parts)
    }

    fn know_one(&mut self, wanted: &Requirements) -> ClassId {
        if let Some(known) = self.classes.known_one(wanted) {
            return known;
        }
        let resources = &self.config.resources;
        // What is reserved by resource is of no node, and jobs are not spread there.
        let by_node = self.config.reserving.is_none() || resources.may_count_by_node();
        let held = Requirements {
            most_per_node: if by_node { wanted.most_per_node } else { 0 },
            ..wanted.clone()
        };
        let class = self.nodes.add_class(resources, &held);
        self.classes.add(wanted, resources.capacity(wanted));
        self.scheduler.know(resources, &held, self.jobs.running());
        class
    }
}
