//! What policies that weigh whole domains see of the clusters of each
//! (LA Grid 2.2, 2.3 and 4.3.4).

mod summary;

pub use summary::Aggregate;

use crate::generic::Generics;
use crate::ids::{ClusterId, DomainId};
use crate::job::Requirements;
use crate::resource::{Benchmarks, Resource, Resources, fitting};
use summary::Summary;

/// The names of architectures and operating systems, as numbers.
#[derive(Clone, Debug, Default)]
pub struct Kinds(Vec<String>);

/// A name's number.
type Kind = u16;
/// Any will do.
const ANY: Kind = Kind::MAX;
/// Nobody has it.
const UNHEARD: Kind = Kind::MAX - 1;
/// A node that does not say what it is: it does for whoever does not ask.
const UNSAID: Kind = Kind::MAX - 2;

impl Kinds {
    fn learn(&mut self, name: Option<&String>) -> Kind {
        let Some(name) = name else { return UNSAID };
        match self.find(name) {
            UNHEARD => {
                self.0.push(name.clone());
                (self.0.len() - 1) as Kind
            }
            known => known,
        }
    }

    fn find(&self, name: &str) -> Kind {
        let same = |known: &String| known.eq_ignore_ascii_case(name);
        let position = self.0.iter().position(same);
        position.map_or(UNHEARD, |position| position as Kind)
    }

    /// What a job wants, in numbers.
    pub fn wanted(&self, requirements: &Requirements) -> Wanted {
        let kind = |name: Option<&str>| name.map_or(ANY, |name| self.find(name));
        Wanted {
            architecture: kind(requirements.architecture.as_deref()),
            os: kind(requirements.os.as_deref()),
            memory_kib: requirements.memory_kib,
            disk_mib: requirements.disk_mib,
            speed: requirements
                .speed_millionths
                .saturating_mul(SPEED_ONE / 1_000_000),
            most_per_node: requirements.most_on_node(),
            generic: requirements.generic.clone(),
        }
    }
}

/// What a job wants of every node, its names as numbers.
#[derive(Clone, Debug)]
pub struct Wanted {
    architecture: Kind,
    os: Kind,
    memory_kib: u64,
    disk_mib: u64,
    /// The least speed of a node, in parts of 1e-9.
    speed: u64,
    most_per_node: u32,
    generic: Generics,
}

fn meets(have: Kind, want: Kind) -> bool {
    want == ANY || have == want
}

/// Identical nodes of a cluster.
#[derive(Clone, Debug)]
struct Nodes {
    architecture: Kind,
    os: Kind,
    memory_kib: u64,
    disk_mib: u64,
    count: u32,
    cpus: u32,
    /// In parts of 1e-9, rounded down.
    speed: u64,
    generic: Generics,
}

impl Nodes {
    fn of(group: &Resource, kinds: &mut Kinds) -> Self {
        Nodes {
            architecture: kinds.learn(group.architecture.as_ref()),
            os: kinds.learn(group.os.as_ref()),
            memory_kib: group.memory_kib(),
            disk_mib: group.disk_mib.unwrap_or(u64::MAX),
            count: group.count,
            cpus: group.cpu_count,
            speed: group.speed.multiply(SPEED_ONE),
            generic: group.generic.clone(),
        }
    }

    fn processors(&self) -> u64 {
        u64::from(self.count) * u64::from(self.cpus)
    }
}

/// Speed 1.0 in the integers of ranks.
pub(super) const SPEED_ONE: u64 = 1_000_000_000;

/// A cluster with its last known load.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Which.
    pub cluster: ClusterId,
    nodes: Vec<Nodes>,
    /// All its processors.
    pub processors: u64,
    /// Busy ones; more than all where the broker counts what it has sent.
    pub busy: u64,
    /// Processors that queued jobs want.
    pub queued: u64,
    /// Memory that no job has, in KiB: of all nodes, and the most on one.
    pub memory_kib: [u64; 2],
    /// What it achieves in benchmarks.
    pub benchmarks: Benchmarks,
}

/// What a cluster has for a job.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// The most processors it could ever have there.
    pub capacity: u64,
    /// Mean speed of the processors that will do, in parts of 1e-9.
    pub speed: u64,
}

impl Machine {
    /// A cluster of which no load is known.
    pub fn idle(cluster: ClusterId, resources: &Resources, kinds: &mut Kinds) -> Self {
        let groups = resources.groups().iter();
        Machine {
            cluster,
            nodes: groups.map(|group| Nodes::of(group, kinds)).collect(),
            processors: u64::from(resources.processors()),
            busy: 0,
            queued: 0,
            memory_kib: [u64::MAX; 2],
            benchmarks: resources.benchmarks().clone(),
        }
    }

    /// What it has for a job that wants this.
    pub fn offer(&self, wanted: &Wanted) -> Offer {
        let (mut capacity, mut weighted, mut speed) = (0u64, 0u128, 0);
        for nodes in &self.nodes {
            if meets(nodes.architecture, wanted.architecture)
                && meets(nodes.os, wanted.os)
                && nodes.disk_mib >= wanted.disk_mib
                && nodes.speed >= wanted.speed
                && nodes.generic.cover(&wanted.generic)
            {
                let most = nodes.cpus.min(wanted.most_per_node);
                let each = fitting(most, nodes.memory_kib, wanted.memory_kib);
                let processors = u64::from(nodes.count) * u64::from(each);
                capacity += processors;
                weighted += u128::from(processors) * u128::from(nodes.speed);
                speed = nodes.speed;
            }
        }
        if self.nodes.len() > 1 && capacity > 0 {
            speed = (weighted / u128::from(capacity)) as u64;
        }
        Offer { capacity, speed }
    }

    /// Free processors that would do for the job: the load is not told by
    /// kind of node, so all free ones may be of the wanted kind.
    pub fn free(&self, offer: Offer) -> u64 {
        let free = self.processors.saturating_sub(self.busy);
        free.min(offer.capacity)
    }

    /// Free processors that no queued job is waiting for.
    pub fn unclaimed(&self, offer: Offer) -> u64 {
        self.free(offer).saturating_sub(self.queued)
    }

    /// Those of them on nodes that have the memory free, as far as is told of it:
    /// the sum, and the most on one node. A node that does not say how much it has
    /// will always do.
    pub fn startable(&self, wanted: &Wanted) -> u64 {
        let [all, most] = self.memory_kib;
        let unclaimed = self.unclaimed(self.offer(wanted));
        let mut nodes = self.nodes.iter().filter(|nodes| nodes.processors() > 0);
        if nodes.any(|nodes| nodes.memory_kib == u64::MAX) {
            return unclaimed;
        }
        match wanted.memory_kib {
            memory if memory > most => 0,
            memory => unclaimed.min(all.checked_div(memory).unwrap_or(u64::MAX)),
        }
    }
}

/// The clusters of one domain, and the same in aggregated form.
#[derive(Clone, Debug)]
pub struct Site {
    /// Whose.
    pub domain: DomainId,
    /// Cluster by cluster, in file order.
    pub machines: Vec<Machine>,
    /// Made when it is first asked for.
    summary: Option<Summary>,
}

impl Site {
    /// A domain of which no load is known.
    pub fn new(domain: DomainId, machines: Vec<Machine>) -> Self {
        Site {
            domain,
            machines,
            summary: None,
        }
    }

    /// Brings the aggregated form up to date with the loads of the clusters.
    pub fn sum_up(&mut self) {
        match &mut self.summary {
            Some(summary) => summary.follow(&self.machines),
            None => self.summary = Some(Summary::of(&self.machines)),
        }
    }

    /// The aggregates whose ranges the job lies in; none before
    /// [`sum_up`](Self::sum_up).
    pub fn matching(&self, wanted: &Wanted, processors: u32) -> impl Iterator<Item = &Aggregate> {
        let known = self.summary.iter();
        known.flat_map(move |summary| summary.matching(wanted, processors))
    }
}
