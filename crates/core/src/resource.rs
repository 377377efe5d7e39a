//! What a cluster is made of: groups of identical nodes (LSAP Listing 1).

use crate::generic::{Generics, untyped};
use crate::job::Requirements;
use crate::time::{Decimal, SimDuration};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A group of identical nodes, one `Resource` of the XML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// A name of its own, if the file gives one.
    pub name: Option<String>,
    /// Number of nodes.
    pub count: u32,
    /// Processors per node.
    pub cpu_count: u32,
    /// Processor architecture, such as `x86`; `None` fits no job that asks.
    pub architecture: Option<String>,
    /// Operating system, such as `LINUX`; `None` fits no job that asks.
    pub os: Option<String>,
    /// Memory per node in MiB; `None` is unlimited.
    pub memory_mib: Option<u64>,
    /// Disk per node in MiB; `None` is unlimited.
    pub disk_mib: Option<u64>,
    /// Speed relative to 1.0; run times are divided by it.
    pub speed: Decimal,
    /// What each node has a number of besides.
    pub generic: Generics,
}

/// The nodes of a cluster, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    groups: Vec<Resource>,
    processors: u32,
    nodes: u32,
    benchmarks: Benchmarks,
}

/// What a cluster achieves in benchmarks, by their names; above 0, and the more, the faster.
pub type Benchmarks = BTreeMap<Arc<str>, Decimal>;

/// The most processors of a cluster: for each node about a byte is kept.
pub const MOST_PROCESSORS: u32 = 100_000_000;

impl Resources {
    /// Resources from their groups in file order.
    ///
    /// `None` when there is no processor at all or more than [`MOST_PROCESSORS`].
    pub fn new(groups: Vec<Resource>) -> Option<Self> {
        let mut processors: u32 = 0;
        let mut nodes: u32 = 0;
        for group in &groups {
            if group.speed.is_zero() {
                return None;
            }
            nodes = nodes.checked_add(group.count)?;
            processors = processors.checked_add(group.count.checked_mul(group.cpu_count)?)?;
        }
        (1..=MOST_PROCESSORS)
            .contains(&processors)
            .then_some(Resources {
                groups,
                processors,
                nodes,
                benchmarks: Benchmarks::new(),
            })
    }

    /// `processors` single-processor nodes that offer no limit but their number.
    ///
    /// # Panics
    /// When `processors` is 0.
    pub fn homogeneous(processors: u32) -> Self {
        assert!(processors > 0, "a cluster has at least one processor");
        let group = Resource {
            name: None,
            count: processors,
            cpu_count: 1,
            architecture: None,
            os: None,
            memory_mib: None,
            disk_mib: None,
            speed: Decimal::ONE,
            generic: Generics::default(),
        };
        Resources {
            groups: vec![group],
            processors,
            nodes: processors,
            benchmarks: Benchmarks::new(),
        }
    }

    /// The same with these results in benchmarks.
    #[must_use]
    pub fn with_benchmarks(self, benchmarks: Benchmarks) -> Self {
        Resources { benchmarks, ..self }
    }

    /// What it achieves in benchmarks.
    pub fn benchmarks(&self) -> &Benchmarks {
        &self.benchmarks
    }

    /// The groups in file order.
    pub fn groups(&self) -> &[Resource] {
        &self.groups
    }

    /// All processors.
    pub fn processors(&self) -> u32 {
        self.processors
    }

    /// All nodes.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The position of the resource, and in it of the node, that this name stands for:
    /// nodes are `n1`, `n2`, ... over all resources in file order.
    pub fn node_named(&self, name: &str) -> Option<(u16, u32)> {
        let number = name.strip_prefix('n')?;
        let mut node = number.parse::<u32>().ok()?.checked_sub(1)?;
        if number.starts_with(['0', '+']) {
            return None;
        }
        for (group, resource) in self.groups.iter().zip(0..) {
            match node.checked_sub(group.count) {
                None => return Some((resource, node)),
                Some(left) => node = left,
            }
        }
        None
    }

    /// The name of a node of a resource, the other way round.
    pub fn node_name(&self, resource: u16, node: u32) -> String {
        let before = self.groups.iter().take(usize::from(resource));
        let before: u64 = before.map(|group| u64::from(group.count)).sum();
        format!("n{}", before + u64::from(node) + 1)
    }

    /// Whether a job may need more of a node than processors.
    pub fn may_count_by_node(&self) -> bool {
        let mut groups = self.groups.iter();
        groups.any(|group| group.memory_mib.is_some() || !group.generic.is_empty())
    }

    /// The names of all generic resources that nodes have here, without their types
    /// and in order.
    pub fn generic_names(&self) -> Vec<Arc<str>> {
        let groups = self.groups.iter().filter(|group| group.count > 0);
        let names = groups.flat_map(|group| group.generic.iter().map(|(name, _)| untyped(name)));
        let names: std::collections::BTreeSet<&str> = names.collect();
        names.into_iter().map(Arc::from).collect()
    }

    /// The most processors that a job with these requirements could ever get
    /// here, the cluster being empty.
    pub fn capacity(&self, requirements: &Requirements) -> u32 {
        if requirements.is_any() {
            return self.processors;
        }
        self.groups
            .iter()
            .filter(|group| group.meets(requirements))
            .map(|group| group.count * group.per_node(requirements))
            .sum()
    }
}

impl Resource {
    /// Whether nodes of this group are of the wanted kind. Memory is judged
    /// by [`Resource::per_node`].
    pub fn meets(&self, wanted: &Requirements) -> bool {
        let same = |have: &Option<String>, want: &Option<Arc<str>>| match (have, want) {
            (_, None) => true,
            (Some(have), Some(want)) => have.eq_ignore_ascii_case(want),
            (None, Some(_)) => false,
        };
        same(&self.architecture, &wanted.architecture)
            && same(&self.os, &wanted.os)
            && self.disk_mib.is_none_or(|disk| disk >= wanted.disk_mib)
            && self.speed >= Decimal::from_millionths(wanted.speed_millionths)
            && self.generic.cover(&wanted.generic)
    }

    /// Its speed as jobs ask for it, in millionths, rounded down.
    pub fn speed_millionths(&self) -> u64 {
        self.speed.multiply(1_000_000)
    }

    /// Processors of one empty node that a job may take which needs this of them.
    pub fn per_node(&self, wanted: &Requirements) -> u32 {
        let most = self.cpu_count.min(wanted.most_on_node());
        fitting(most, self.memory_kib(), wanted.memory_kib)
    }

    /// Memory of one node in KiB, the greatest value if unlimited.
    pub fn memory_kib(&self) -> u64 {
        self.memory_mib
            .map_or(u64::MAX, |mib| mib.saturating_mul(1024))
    }

    /// How long a job of this length at speed 1.0 takes here.
    pub fn stretch(&self, run_time: SimDuration) -> SimDuration {
        SimDuration::from_nanos(self.speed.divide(run_time.as_nanos()))
    }
}

/// The wanted ones by their positions among these names, which have no types; one
/// that is not among them is nobody's.
pub(crate) fn by_position(names: &[Arc<str>], wanted: &Generics) -> Vec<(usize, i64)> {
    let position = |name| {
        names
            .binary_search_by(|known| (**known).cmp(untyped(name)))
            .ok()
    };
    let wanted = wanted.iter();
    let numbered = wanted.filter_map(|(name, count)| Some((position(name)?, i64::from(count))));
    numbered.collect()
}

/// Memory as a number that may fall below 0. No node has more than the greatest.
pub(crate) fn signed(kib: u64) -> i64 {
    i64::try_from(kib).map_or(i64::MAX / 4, |kib| kib.min(i64::MAX / 4))
}

/// Processors that fit a node with `free` processors and `memory_kib` left.
pub fn fitting(free: u32, memory_left_kib: u64, memory_kib: u64) -> u32 {
    if memory_kib == 0 || memory_left_kib == u64::MAX {
        return free;
    }
    u32::try_from(memory_left_kib / memory_kib).map_or(free, |by_memory| by_memory.min(free))
}
