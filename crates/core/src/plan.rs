//! What a discipline that plans ahead knows: the jobs that wait with their
//! estimates, and when the running ones are expected to give back what they
//! hold.
//!
//! A plan counts in *columns*. As long as nobody asks for memory that is
//! limited, a column is a resource, which is exact: its processors are alike.
//! From the first job on that does, a column is a node, since memory that is
//! free on several nodes is of no use to a job that needs it on one; jobs then
//! start on the nodes that the plan has for them.
//!
//! The estimate of a job is its requested time, if the trace has one, else its
//! run time; over mixed speeds it is stretched by the slowest resource that
//! the job may use, since the plan is made before the placement. A job past
//! its estimate is expected to end right after the instant of the pass.

mod line;
mod profile;

pub use profile::Profile;

use crate::ids::{IdMap, JobId};
use crate::job::{JobSpec, Requirements};
use crate::placement::{ClassId, PlacementRun, Share};
use crate::queue::Slot;
use crate::resource::Resources;
use crate::time::{Decimal, SimDuration, SimTime};
use line::Step;
use std::collections::{BTreeMap, HashMap};

/// What a job gets, in the order of columns, which is file order.
pub type Shares = Vec<Share>;

/// A job that waits, as a plan sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Place in the order of arrival.
    pub arrival: u64,
    /// The job.
    pub slot: Slot,
    /// Its class.
    pub class: ClassId,
    /// Its processors.
    pub processors: u32,
    /// How long it is expected to take, wherever it runs; above 0.
    pub estimate: SimDuration,
    /// The estimate at speed 1.0.
    at_full_speed: SimDuration,
}

/// What jobs may use: all that a plan has to know of their requirements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Shape {
    /// By resource, the most processors of an empty node; 0 where the resource
    /// does not match.
    per_node: Vec<u32>,
    /// Memory per processor.
    memory_kib: u64,
}

/// What a job may have of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    /// Processors at most, the column being empty.
    most: i64,
    /// KiB for each; 0 where memory does not count.
    each: i64,
}

impl Need {
    /// Processors of what is free in this step.
    fn of(self, step: &Step) -> i64 {
        let free = step.free.min(self.most);
        if free <= 0 {
            return 0;
        }
        match self.each == 0 || self.each.saturating_mul(free) <= step.memory {
            true => free,
            false => (step.memory / self.each).max(0),
        }
    }
}

/// What jobs of one class may use.
#[derive(Clone, Debug)]
struct Class {
    /// Which of the shapes.
    shape: usize,
    /// The slowest resource that matches.
    slowest: Decimal,
}

/// What a plan counts by.
#[derive(Clone, Copy, Debug)]
struct Column {
    resource: u16,
    node: Option<u32>,
    /// Of how many nodes it is.
    nodes: u32,
    processors: u32,
    /// In KiB; `None` is unlimited.
    memory: Option<i64>,
}

/// A running job's hold on the cluster.
#[derive(Clone, Debug)]
struct Hold {
    shares: Shares,
    memory_kib: u64,
    /// When a plan made before the placement was known had it end.
    promised: SimTime,
}

/// The jobs of a cluster as a plan sees them.
#[derive(Debug)]
pub struct Book {
    columns: Vec<Column>,
    /// By resource, where its columns begin.
    first_columns: Vec<u32>,
    by_node: bool,
    /// By resource.
    speeds: Vec<Decimal>,
    /// By class.
    classes: Vec<Class>,
    shapes: Vec<Shape>,
    shape_numbers: HashMap<Shape, usize>,
    waiting: BTreeMap<u64, Waiting>,
    /// By expected end.
    running: BTreeMap<(SimTime, JobId), Hold>,
    /// What these hold of each column: processors and KiB.
    held: Vec<(i64, i64)>,
    expected: IdMap<SimTime>,
    version: u64,
    loosened: u64,
    given_back: u64,
    overran: u64,
}

impl Book {
    /// The book of an empty cluster.
    #[must_use]
    pub fn new(resources: &Resources) -> Self {
        let speeds = resources.groups().iter().map(|group| group.speed);
        let mut book = Book {
            columns: Vec::new(),
            first_columns: Vec::new(),
            by_node: false,
            speeds: speeds.collect(),
            classes: Vec::new(),
            shapes: Vec::new(),
            shape_numbers: HashMap::new(),
            waiting: BTreeMap::new(),
            running: BTreeMap::new(),
            held: Vec::new(),
            expected: IdMap::default(),
            version: 0,
            loosened: 0,
            given_back: 0,
            overran: 0,
        };
        book.make_columns(resources);
        book
    }

    fn make_columns(&mut self, resources: &Resources) {
        self.columns.clear();
        self.first_columns.clear();
        for (resource, group) in resources.groups().iter().enumerate() {
            self.first_columns.push(self.columns.len() as u32);
            let (columns, nodes) = match self.by_node {
                true => (group.count, 1),
                false => (1, group.count),
            };
            self.columns.extend((0..columns).map(|node| Column {
                resource: resource as u16,
                node: self.by_node.then_some(node),
                nodes,
                processors: nodes * group.cpu_count,
                memory: group.memory_mib.map(|_| signed(group.memory_kib())),
            }));
        }
        self.held = vec![(0, 0); self.columns.len()];
    }

    /// Plans by node from now on. These jobs run.
    pub(crate) fn plan_by_node<'a>(
        &mut self,
        resources: &Resources,
        running: impl Iterator<Item = (JobId, &'a [PlacementRun])>,
    ) {
        self.by_node = true;
        self.make_columns(resources);
        for (job, placement) in running {
            let shares = self.shares_of(placement);
            let hold = self.expected.get(&job).map(|end| (*end, job));
            if let Some(hold) = hold.and_then(|key| self.running.get_mut(&key)) {
                hold.shares = shares;
                count(&mut self.held, hold, 1);
            }
        }
    }

    /// Whether a plan counts by node, no longer by resource.
    #[must_use]
    pub fn is_by_node(&self) -> bool {
        self.by_node
    }

    /// Of how many columns a plan is.
    pub(crate) fn columns(&self) -> usize {
        self.columns.len()
    }

    /// So many processors of a column.
    fn share(&self, column: usize, processors: u32) -> Share {
        let Column { resource, node, .. } = self.columns[column];
        Share {
            column: column as u32,
            resource,
            node,
            processors,
        }
    }

    /// The columns of a resource.
    fn columns_of(&self, resource: u16) -> std::ops::Range<usize> {
        let resource = usize::from(resource);
        let next = self.first_columns.get(resource + 1);
        let end = next.map_or(self.columns.len(), |first| *first as usize);
        self.first_columns[resource] as usize..end
    }

    fn shares_of(&self, placement: &[PlacementRun]) -> Shares {
        let mut shares = Shares::new();
        for run in placement {
            let first = self.first_columns[usize::from(run.resource)];
            if self.by_node {
                let nodes = run.node..run.node + run.nodes;
                shares
                    .extend(nodes.map(|node| self.share((first + node) as usize, run.processors)));
                continue;
            }
            let processors = run.nodes * run.processors;
            match shares.last_mut() {
                Some(last) if last.column == first => last.processors += processors,
                _ => shares.push(self.share(first as usize, processors)),
            }
        }
        shares
    }

    /// The jobs that wait and arrived at `arrival` or after, in order.
    pub fn waiting_from(&self, arrival: u64) -> impl Iterator<Item = &Waiting> {
        self.waiting.range(arrival..).map(|(_, waiting)| waiting)
    }

    /// How many jobs wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether this job waits.
    #[must_use]
    pub fn waits(&self, arrival: u64) -> bool {
        self.waiting.contains_key(&arrival)
    }

    /// The job of this arrival, if it waits.
    #[must_use]
    pub fn waiting_job(&self, arrival: u64) -> Option<&Waiting> {
        self.waiting.get(&arrival)
    }

    /// Changes with every arrival, start, end and removal.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// How often a job has ended before it was promised to, or was removed: a
    /// plan may be tightened when this changes.
    #[must_use]
    pub fn loosened(&self) -> u64 {
        self.loosened
    }

    /// How often a running job has given back what it held, or a waiting one
    /// was removed: as long as this stays and no job runs too long, nothing
    /// fits that did not fit before.
    #[must_use]
    pub fn given_back(&self) -> u64 {
        self.given_back
    }

    /// How often a job has ended after its expected end.
    #[must_use]
    pub fn overran(&self) -> u64 {
        self.overran
    }

    /// Whether a job runs that should have ended by now.
    #[must_use]
    pub fn overrun(&self, now: SimTime) -> bool {
        let first = self.running.first_key_value();
        first.is_some_and(|((end, _), _)| *end <= now)
    }

    /// What is free now, as if it stayed so for ever. As long as nothing is
    /// promised for later, jobs that run only ever give back: what fits now
    /// fits in the whole [profile](Self::profile), and the other way round.
    pub fn present(&self, now: SimTime, profile: &mut Profile) {
        let columns = self.columns.iter().zip(&self.held);
        let free = columns.map(|(column, held)| {
            let processors = i64::from(column.processors) - held.0;
            (
                processors,
                column.memory.map_or(0, |memory| memory - held.1),
            )
        });
        profile.reset(now, free);
    }

    /// What is free from now on if running jobs end as expected and nothing
    /// starts.
    pub fn profile(&self, now: SimTime, profile: &mut Profile) {
        self.present(now, profile);
        // An end that is overdue is expected right after this instant.
        let soonest = now.after();
        for ((end, _), hold) in &self.running {
            profile.give_back((*end).max(soonest), &hold.shares, signed(hold.memory_kib));
        }
    }

    /// How long the job is expected to take on these processors.
    #[must_use]
    pub fn length_on(&self, job: &Waiting, shares: &[Share]) -> SimDuration {
        let speeds = shares
            .iter()
            .map(|share| self.speeds[usize::from(share.resource)]);
        let slowest = speeds.min_by(|a, b| a.compare(*b));
        let slowest = slowest.unwrap_or(Decimal::ONE);
        SimDuration::from_nanos(slowest.divide(job.at_full_speed.as_nanos()))
    }

    /// From when to when the job is expected to hold these processors if it
    /// starts now: for an instant at least, also when it takes no time.
    #[must_use]
    pub fn span_from(&self, now: SimTime, job: &Waiting, shares: &[Share]) -> (SimTime, SimTime) {
        (now, (now + self.length_on(job, shares)).max(now.after()))
    }

    /// The shape of a job: jobs of one shape may use the same.
    pub(crate) fn shape(&self, waiting: &Waiting) -> usize {
        self.classes[waiting.class.0 as usize].shape
    }

    /// What jobs of this shape may have, column by column.
    pub(crate) fn needs_of(&self, shape: usize) -> impl Iterator<Item = Need> {
        let shape = &self.shapes[shape];
        let each = signed(shape.memory_kib);
        self.columns.iter().map(move |column| Need {
            most: i64::from(shape.per_node[usize::from(column.resource)] * column.nodes),
            each: column.memory.map_or(0, |_| each),
        })
    }

    fn needs(&self, waiting: &Waiting) -> impl Iterator<Item = Need> {
        self.needs_of(self.shape(waiting))
    }

    /// KiB for each processor of the job.
    fn memory_of(&self, waiting: &Waiting) -> i64 {
        signed(self.shapes[self.shape(waiting)].memory_kib)
    }

    /// Makes a class known; classes come in the order of their numbers. `true`
    /// if it is the first for which a plan has to count by node.
    pub(crate) fn know(
        &mut self,
        class: ClassId,
        resources: &Resources,
        wanted: &Requirements,
    ) -> bool {
        if (class.0 as usize) < self.classes.len() {
            return false;
        }
        let groups = resources.groups().iter();
        let per_node = groups.clone().map(|group| match group.meets(wanted) {
            true => group.per_node(wanted.memory_kib),
            false => 0,
        });
        let usable = groups.filter(|group| group.meets(wanted));
        let is_scarce = usable.clone().any(|group| group.memory_mib.is_some());
        let slowest = usable.map(|group| group.speed).min_by(|a, b| a.compare(*b));
        let shape = Shape {
            per_node: per_node.collect(),
            memory_kib: wanted.memory_kib,
        };
        let next = self.shapes.len();
        let number = *self.shape_numbers.entry(shape).or_insert_with_key(|shape| {
            self.shapes.push(shape.clone());
            next
        });
        self.classes.push(Class {
            shape: number,
            slowest: slowest.unwrap_or(Decimal::ONE),
        });
        !self.by_node && wanted.memory_kib > 0 && is_scarce
    }

    pub(crate) fn arrive(&mut self, job: &JobSpec, class: ClassId, arrival: u64, slot: Slot) {
        let at_full_speed = job.requested_time.unwrap_or(job.run_time);
        let slowest = self.classes[class.0 as usize].slowest;
        let waiting = Waiting {
            arrival,
            slot,
            class,
            processors: job.processors,
            // For an instant at least: else nothing would be held for it, and
            // its promise could be given away.
            estimate: SimDuration::from_nanos(slowest.divide(at_full_speed.as_nanos()).max(1)),
            at_full_speed,
        };
        self.waiting.insert(arrival, waiting);
        self.version += 1;
    }

    /// A waiting job leaves without having run.
    pub(crate) fn withdraw(&mut self, arrival: u64) {
        self.waiting.remove(&arrival);
        self.version += 1;
        self.loosened += 1;
        self.given_back += 1;
    }

    /// A waiting job starts.
    pub(crate) fn start(
        &mut self,
        now: SimTime,
        (job, arrival): (JobId, u64),
        placement: &[PlacementRun],
    ) {
        let Some(waiting) = self.waiting.remove(&arrival) else {
            return;
        };
        let shares = self.shares_of(placement);
        let memory_kib = self.shapes[self.shape(&waiting)].memory_kib;
        let end = now + self.length_on(&waiting, &shares);
        let promised = now + waiting.estimate;
        let hold = Hold {
            shares,
            memory_kib,
            promised,
        };
        count(&mut self.held, &hold, 1);
        self.running.insert((end, job), hold);
        self.expected.insert(job, end);
        self.version += 1;
    }

    /// A running job gives back what it held.
    pub(crate) fn end(&mut self, now: SimTime, job: JobId) {
        if let Some(end) = self.expected.remove(&job) {
            self.version += 1;
            self.given_back += 1;
            self.overran += u64::from(end < now);
            if let Some(hold) = self.running.remove(&(end, job)) {
                count(&mut self.held, &hold, -1);
                self.loosened += u64::from(now < hold.promised);
            }
        }
    }
}

/// Counts what a job holds, once (1) or no more (-1).
fn count(held: &mut [(i64, i64)], hold: &Hold, sign: i64) {
    for share in &hold.shares {
        let processors = sign * i64::from(share.processors);
        let held = &mut held[share.column as usize];
        held.0 += processors;
        let memory = signed(hold.memory_kib).saturating_mul(processors);
        held.1 = held.1.saturating_add(memory);
    }
}

/// No node has more memory than this.
fn signed(kib: u64) -> i64 {
    i64::try_from(kib).map_or(i64::MAX / 4, |kib| kib.min(i64::MAX / 4))
}
