//! The capacity of a cluster over time: what running jobs hold, as estimated,
//! and what is reserved.
//!
//! Capacity is counted by resource, and, from the first job on that asks for
//! memory that is limited or for generic resources, by node too, since memory
//! that is free on several nodes is of no use to a job that needs it on one; jobs
//! then start on the nodes that the calendar has for them. Before that, counting by resource is
//! exact: its processors are alike. Afterwards it bounds what the nodes can
//! offer, so that most questions never get as far as the nodes.
//!
//! The calendar is kept from pass to pass and only its changes are entered. A
//! job past its estimate is expected to end right after the instant of the
//! pass.

mod free;
mod joint;
mod layout;
mod line;

pub use free::Free;
pub use layout::Layout;

use line::{Line, Need};

use crate::ids::{IdMap, JobId};
use crate::job::Requirements;
use crate::placement::{ClassId, Part, PlacementRun, Share};
use crate::resource::Resources;
use crate::time::{SimDuration, SimTime};
use std::collections::BTreeMap;

/// What a job gets, in file order and, by node, in number order.
pub type Shares = Vec<Share>;

/// What is asked of a calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// What it may use.
    pub class: ClassId,
    /// Processors.
    pub processors: u32,
    /// For how long; above 0 where a calendar is asked.
    pub length: SimDuration,
}

/// Processors, and their memory, that are somebody's for a time.
#[derive(Clone, Debug)]
pub struct Reservation {
    /// From this instant on.
    pub start: SimTime,
    /// Until this instant, which is not included; the latest one is never.
    pub end: SimTime,
    /// Which processors.
    pub shares: Shares,
    /// What the first component takes of their nodes.
    pub first: Taken,
    /// What the others take.
    pub more: Vec<Taken>,
}

/// What a component takes of nodes beside processors.
#[derive(Clone, Debug)]
pub struct Taken {
    /// KiB for each of its processors.
    pub memory_kib: i64,
    /// Generic resources of each node, by position of the name.
    pub generic: Vec<(usize, i64)>,
}

impl Reservation {
    /// What a component takes.
    fn taken(&self, component: u16) -> &Taken {
        let other = usize::from(component).checked_sub(1);
        other.map_or(&self.first, |other| &self.more[other])
    }

    /// Whether it says on which nodes.
    pub(crate) fn is_by_node(&self) -> bool {
        self.shares.iter().any(|share| share.node.is_some())
    }
}

/// How many processors may still be taken when, wherever they are.
#[derive(Debug)]
pub(crate) struct Quota(Line);

impl Quota {
    pub(crate) fn new(processors: u32) -> Self {
        Quota(Line::new(processors.into(), 0))
    }

    /// The earliest instant from `from` on at which a job may have its processors.
    pub(crate) fn earliest(&self, demand: &Demand, from: SimTime) -> Option<SimTime> {
        let wanted = i64::from(demand.processors);
        let need = Need::count(wanted);
        self.0.earliest(need, wanted, from, demand.length)
    }

    /// Takes what is reserved (-1), or gives it back (1).
    pub(crate) fn change(&mut self, held: &Reservation, sign: i64) {
        let taken = held.shares.iter();
        let taken: i64 = taken.map(|share| i64::from(share.processors)).sum();
        self.0.change((held.start, held.end), sign * taken, 0);
    }
}

/// What a running job holds.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    held: Reservation,
    /// When it should end by its estimate, on the nodes that it has.
    pub expected: SimTime,
    /// When a plan made before the placement was known had it end.
    pub promised: SimTime,
}

/// The capacity of a cluster over time.
pub struct Calendar {
    /// What the cluster is made of, and what jobs may use of it.
    pub layout: Layout,
    /// What is free, beside the running jobs and what is reserved.
    pub free: Free,
    /// By expected end.
    running: BTreeMap<(SimTime, JobId), Hold>,
    expected: IdMap<SimTime>,
    /// Nodes that are down, by resource and number: until further notice.
    down: BTreeMap<(u16, u32), Reservation>,
}

impl Calendar {
    /// The calendar of an empty cluster.
    pub fn new(resources: &Resources) -> Self {
        let layout = Layout::new(resources);
        Calendar {
            free: Free::new(&layout),
            layout,
            running: BTreeMap::new(),
            expected: IdMap::default(),
            down: BTreeMap::new(),
        }
    }

    /// Makes a class known; classes come in the order of their numbers. These
    /// jobs run.
    pub(crate) fn know<'a>(
        &mut self,
        resources: &Resources,
        wanted: &Requirements,
        running: impl Iterator<Item = (JobId, ClassId, &'a [PlacementRun])>,
    ) {
        if !self.layout.know(resources, wanted) || self.layout.is_by_node() {
            return;
        }
        self.layout.count_by_node();
        self.free.count_by_node(&self.layout);
        for (job, class, placement) in running {
            let hold = self.expected.get(&job).map(|end| (*end, job));
            if let Some(hold) = hold.and_then(|key| self.running.get_mut(&key)) {
                self.free.release(&hold.held);
                hold.held.shares = self.layout.shares_of(class, placement);
                self.free.reserve(&hold.held);
            }
        }
        for ((_, node), held) in &mut self.down {
            self.free.release(held);
            held.shares[0].node = Some(*node);
            self.free.reserve(held);
        }
    }

    /// Makes the class of jobs with these components known.
    pub(crate) fn know_joint(&mut self, parts: Vec<Part>) {
        self.layout.know_joint(parts);
    }

    /// It is this instant now: a job that should have ended by now holds what
    /// it has a little longer.
    pub(crate) fn advance(&mut self, now: SimTime) {
        self.free.forget_before(now);
        for ((expected, _), Hold { held, .. }) in &mut self.running {
            if *expected > now {
                break;
            }
            if held.end <= now {
                (held.start, held.end) = (now, now.after());
                self.free.reserve(held);
            }
        }
    }

    /// Nodes count from the beginning.
    pub(crate) fn by_node(mut self) -> Self {
        self.layout.count_by_node();
        self.free.count_by_node(&self.layout);
        self
    }

    /// Jobs that run and should have ended by now, the one that should have ended first
    /// before the others.
    pub(crate) fn overrunning(&self, now: SimTime) -> impl Iterator<Item = JobId> {
        let running = self.running.keys();
        let late = running.take_while(move |(expected, _)| *expected <= now);
        late.map(|(_, job)| *job)
    }

    /// When the next running job should end by its estimate, after an instant.
    pub(crate) fn next_expected(&self, after: SimTime) -> Option<SimTime> {
        let mut later = self.running.range((after.after(), JobId(0))..);
        later.next().map(|((expected, _), _)| *expected)
    }

    /// Jobs that run, with when they should end by their estimates, in the order of that,
    /// and their processors.
    pub fn running(&self) -> impl Iterator<Item = ((SimTime, JobId), u32)> {
        let running = self.running.iter();
        running.map(|(key, hold)| (*key, hold.held.shares.iter().map(|it| it.processors).sum()))
    }

    /// Whether a job runs that should have ended by now.
    pub fn overrun(&self, now: SimTime) -> bool {
        let first = self.running.first_key_value();
        first.is_some_and(|((expected, _), _)| *expected <= now)
    }

    /// Nodes, with all their processors, go down or come up. Nobody knows when one
    /// that is down will be repaired: the plan has it for ever without them, and is
    /// made again then.
    pub(crate) fn change_nodes(&mut self, now: SimTime, nodes: &PlacementRun, up: bool) {
        for node in nodes.node..nodes.node + nodes.nodes {
            let key = (nodes.resource, node);
            if up {
                if let Some(mut held) = self.down.remove(&key) {
                    held.start = now;
                    self.free.release(&held);
                }
                continue;
            }
            let share = Share {
                resource: nodes.resource,
                node: self.layout.is_by_node().then_some(node),
                processors: nodes.processors,
                component: 0,
            };
            // Without processors the rest of a node is of no use.
            let held = Reservation {
                start: now,
                end: SimTime::MAX,
                shares: vec![share],
                first: Taken {
                    memory_kib: 0,
                    generic: Vec::new(),
                },
                more: Vec::new(),
            };
            self.free.reserve(&held);
            self.down.insert(key, held);
        }
    }

    /// A job starts, that takes so long at speed 1.0 and was to end by then.
    pub(crate) fn start(
        &mut self,
        now: SimTime,
        job: (JobId, ClassId, SimDuration),
        promised: SimTime,
        placement: &[PlacementRun],
    ) {
        let (id, class, at_full_speed) = job;
        let shares = self.layout.shares_of(class, placement);
        let expected = now + self.layout.length_on(at_full_speed, &shares);
        // For an instant at least, also when it takes no time.
        let end = expected.max(now.after());
        let held = self.layout.reservation(class, (now, end), shares);
        self.free.reserve(&held);
        let hold = Hold {
            held,
            expected,
            promised,
        };
        self.running.insert((expected, id), hold);
        self.expected.insert(id, expected);
    }

    /// What a running job holds is its own until then, whatever it was estimated to need.
    pub(crate) fn hold_until(&mut self, job: JobId, end: SimTime) {
        let expected = self.expected.insert(job, end);
        let hold = expected.and_then(|expected| self.running.remove(&(expected, job)));
        if let Some(mut hold) = hold {
            self.free.release(&hold.held);
            (hold.held.end, hold.expected, hold.promised) = (end, end, end);
            self.free.reserve(&hold.held);
            self.running.insert((end, job), hold);
        }
    }

    /// A running job gives back what it held.
    pub(crate) fn end(&mut self, now: SimTime, job: JobId) -> Option<Hold> {
        let expected = self.expected.remove(&job)?;
        let mut hold = self.running.remove(&(expected, job))?;
        hold.held.start = now;
        self.free.release(&hold.held);
        Some(hold)
    }
}
