//! What a discipline that plans ahead knows: the jobs that wait with their
//! estimates, and when the running ones are expected to give back what they
//! hold.
//!
//! A plan counts processors and memory by resource, not by node: that is exact
//! for processors, which are alike within a resource, and a hope for memory,
//! which may be scattered. So whether a job fits is asked of the nodes again
//! when it starts; one that does not waits for the next pass.
//!
//! The estimate of a job is its requested time, if the trace has one, else its
//! run time; over mixed speeds it is stretched by the slowest resource that
//! the job may use, since the plan is made before the placement. A job past
//! its estimate is expected to end right after the instant of the pass.

mod profile;

pub use profile::Profile;

use crate::ids::{IdMap, JobId};
use crate::job::{JobSpec, Requirements};
use crate::placement::{ClassId, PlacementRun};
use crate::queue::Slot;
use crate::resource::Resources;
use crate::time::{Decimal, SimDuration, SimTime};
use std::collections::{BTreeMap, HashMap};

/// Processors of each resource, in file order.
pub type Shares = Vec<u32>;

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
    /// How long it is expected to take, wherever it runs.
    pub estimate: SimDuration,
    /// The estimate at speed 1.0.
    at_full_speed: SimDuration,
}

/// What jobs may use: all that a plan has to know of their requirements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    /// By resource, the most processors on the empty cluster; 0 where the
    /// resource does not match.
    most: Shares,
    /// Memory per processor.
    memory_kib: u64,
}

impl Shape {
    /// Whether there is nothing to choose among.
    pub(crate) fn is_of_one_resource(&self) -> bool {
        self.most.iter().filter(|most| **most > 0).count() == 1
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
    /// By resource.
    processors: Shares,
    /// By resource, in KiB; `None` is unlimited.
    memory: Vec<Option<u64>>,
    speeds: Vec<Decimal>,
    /// By class.
    classes: Vec<Class>,
    shapes: Vec<Shape>,
    shape_numbers: HashMap<Shape, usize>,
    waiting: BTreeMap<u64, Waiting>,
    /// By expected end.
    running: BTreeMap<(SimTime, JobId), Hold>,
    /// What these hold of each resource: processors and KiB.
    held: Vec<(i64, i128)>,
    expected: IdMap<SimTime>,
    version: u64,
    loosened: u64,
    given_back: u64,
}

impl Book {
    /// The book of an empty cluster.
    #[must_use]
    pub fn new(resources: &Resources) -> Self {
        let groups = resources.groups();
        let memory = groups.iter().map(|group| {
            group
                .memory_mib
                .map(|_| group.memory_kib().saturating_mul(u64::from(group.count)))
        });
        Book {
            processors: groups.iter().map(|g| g.count * g.cpu_count).collect(),
            memory: memory.collect(),
            speeds: groups.iter().map(|group| group.speed).collect(),
            classes: Vec::new(),
            shapes: Vec::new(),
            shape_numbers: HashMap::new(),
            waiting: BTreeMap::new(),
            running: BTreeMap::new(),
            held: vec![(0, 0); groups.len()],
            expected: IdMap::default(),
            version: 0,
            loosened: 0,
            given_back: 0,
        }
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

    /// Whether a job runs that should have ended by now.
    #[must_use]
    pub fn overrun(&self, now: SimTime) -> bool {
        let first = self.running.first_key_value();
        first.is_some_and(|((end, _), _)| *end <= now)
    }

    /// What is free now, as if it stayed so for ever. As long as nothing is
    /// promised for later, jobs that run only ever give back: what fits now
    /// fits in the whole [profile](Self::profile), and the other way round.
    #[must_use]
    pub fn present(&self, now: SimTime) -> Profile {
        let (free, memory) = self.free();
        Profile::new(now, free, memory)
    }

    /// What is free now, in processors and KiB.
    fn free(&self) -> (Vec<i64>, Vec<i64>) {
        let processors = self.processors.iter().zip(&self.held);
        let memory = self.memory.iter().zip(&self.held);
        let left = |(all, held): (&Option<u64>, &(i64, i128))| {
            let left = i128::from(signed(*all)) - held.1;
            left.clamp(i64::MIN.into(), i64::MAX.into()) as i64
        };
        (
            processors
                .map(|(all, held)| i64::from(*all) - held.0)
                .collect(),
            memory.map(left).collect(),
        )
    }

    /// What is free from now on if running jobs end as expected and nothing
    /// starts.
    #[must_use]
    pub fn profile(&self, now: SimTime) -> Profile {
        let (mut free, mut memory) = self.free();
        let mut profile = Profile::new(now, free.clone(), memory.clone());
        // An end that is overdue is expected right after this instant.
        let soonest = now.after();
        for ((end, _), hold) in &self.running {
            give_back(&mut free, &mut memory, hold);
            profile.append((*end).max(soonest), &free, &memory);
        }
        profile
    }

    /// How long the job is expected to take on these processors.
    #[must_use]
    pub fn length_on(&self, job: &Waiting, shares: &[u32]) -> SimDuration {
        let used = self
            .speeds
            .iter()
            .zip(shares)
            .filter(|(_, share)| **share > 0);
        let slowest = used.map(|(speed, _)| *speed).min_by(|a, b| a.compare(*b));
        let slowest = slowest.unwrap_or(Decimal::ONE);
        SimDuration::from_nanos(slowest.divide(job.at_full_speed.as_nanos()))
    }

    /// From when to when the job is expected to hold these processors if it
    /// starts now: for an instant at least, also when it takes no time.
    #[must_use]
    pub fn span_from(&self, now: SimTime, job: &Waiting, shares: &[u32]) -> (SimTime, SimTime) {
        (now, (now + self.length_on(job, shares)).max(now.after()))
    }

    /// The shape of a job: jobs of one shape may use the same.
    pub(crate) fn shape(&self, waiting: &Waiting) -> usize {
        self.classes[waiting.class.0 as usize].shape
    }

    /// What jobs of this shape may use.
    pub(crate) fn shape_demand(&self, shape: usize) -> &Shape {
        &self.shapes[shape]
    }

    /// What this job may take of each resource at most, and its memory per
    /// processor.
    pub(crate) fn demand(&self, waiting: &Waiting) -> (&[u32], u64) {
        let shape = &self.shapes[self.shape(waiting)];
        (&shape.most, shape.memory_kib)
    }

    /// Makes a class known; classes come in the order of their numbers.
    pub(crate) fn know(&mut self, class: ClassId, resources: &Resources, wanted: &Requirements) {
        if (class.0 as usize) < self.classes.len() {
            return;
        }
        let groups = resources.groups().iter();
        let most = groups.clone().map(|group| match group.meets(wanted) {
            true => group.count * group.per_node(wanted.memory_kib),
            false => 0,
        });
        let usable = groups.filter(|group| group.meets(wanted));
        let slowest = usable.map(|group| group.speed).min_by(|a, b| a.compare(*b));
        let shape = Shape {
            most: most.collect(),
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
    }

    pub(crate) fn arrive(&mut self, job: &JobSpec, class: ClassId, arrival: u64, slot: Slot) {
        let at_full_speed = job.requested_time.unwrap_or(job.run_time);
        let slowest = self.classes[class.0 as usize].slowest;
        let waiting = Waiting {
            arrival,
            slot,
            class,
            processors: job.processors,
            estimate: SimDuration::from_nanos(slowest.divide(at_full_speed.as_nanos())),
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
        let mut shares = vec![0; self.processors.len()];
        for run in placement {
            shares[usize::from(run.resource)] += run.nodes * run.processors;
        }
        let (_, memory_kib) = self.demand(&waiting);
        let end = now + self.length_on(&waiting, &shares);
        let promised = now + waiting.estimate;
        let hold = Hold {
            shares,
            memory_kib,
            promised,
        };
        self.count(&hold, 1);
        self.running.insert((end, job), hold);
        self.expected.insert(job, end);
        self.version += 1;
    }

    /// A running job gives back what it held.
    pub(crate) fn end(&mut self, now: SimTime, job: JobId) {
        if let Some(end) = self.expected.remove(&job) {
            self.version += 1;
            self.given_back += 1;
            if let Some(hold) = self.running.remove(&(end, job)) {
                self.count(&hold, -1);
                self.loosened += u64::from(now < hold.promised);
            }
        }
    }

    /// Counts what a job holds, once (1) or no more (-1).
    fn count(&mut self, hold: &Hold, sign: i64) {
        for (held, &share) in self.held.iter_mut().zip(&hold.shares) {
            held.0 += sign * i64::from(share);
            held.1 += i128::from(sign * hold.memory_of(share));
        }
    }
}

impl Hold {
    /// KiB that so many of its processors take.
    fn memory_of(&self, share: u32) -> i64 {
        signed(Some(self.memory_kib.saturating_mul(u64::from(share))))
    }
}

fn give_back(free: &mut [i64], memory: &mut [i64], hold: &Hold) {
    for (resource, &share) in hold.shares.iter().enumerate() {
        free[resource] += i64::from(share);
        memory[resource] = memory[resource].saturating_add(hold.memory_of(share));
    }
}

/// Unlimited memory is so much that no job's share of it shows.
fn signed(kib: Option<u64>) -> i64 {
    const PLENTY: i64 = i64::MAX / 4;
    kib.map_or(PLENTY, |kib| {
        i64::try_from(kib).map_or(PLENTY, |kib| kib.min(PLENTY))
    })
}
