//! The nodes of one resource with what is free on them.

use super::PlacementRun;
use crate::load::FreeSpace;
use crate::resource::{fitting, signed};
use std::sync::Arc;

/// What jobs of a class take of each node beside processors.
pub(super) struct Taken {
    /// Processors at most.
    pub most: u32,
    /// For each processor.
    pub memory_kib: u64,
    /// So many, by position of the name.
    pub generic: Vec<(usize, i64)>,
}

impl Taken {
    pub(super) fn is_nothing(&self) -> bool {
        self.most == u32::MAX && self.memory_kib == 0 && self.generic.is_empty()
    }
}

impl Default for Taken {
    fn default() -> Self {
        Taken {
            most: u32::MAX,
            memory_kib: 0,
            generic: Vec::new(),
        }
    }
}

/// The nodes of one resource.
pub(super) struct Group {
    cpu_count: u32,
    /// See [`is_plain`](Self::is_plain).
    is_plain: bool,
    /// Free processors by node; empty for plain nodes.
    free: Vec<u32>,
    /// Free memory by node in KiB; empty where memory is unlimited. Below 0
    /// where a real LRMS gives more than there is.
    memory_left: Vec<i64>,
    /// The sum of it.
    memory_free: u128,
    /// Memory of one node in KiB.
    memory_kib: i64,
    /// Free generic resources by position of the name and by node; a name that
    /// these nodes do not have has none.
    generic: Vec<Vec<i64>>,
    /// Those of one node, by position of the name.
    generic_each: Vec<i64>,
    /// Disk of one node in MiB.
    disk_mib: Option<u64>,
    /// One bit per node with a free processor.
    open: Vec<u64>,
    /// No open node lies in a word before this one.
    first_open: usize,
    /// Free processors of the whole group.
    pub(super) free_total: u32,
}

impl Group {
    pub(super) fn new(resource: &crate::resource::Resource, names: &[Arc<str>]) -> Self {
        let count = resource.count as usize;
        let mut open = vec![u64::MAX; count / 64];
        if !count.is_multiple_of(64) {
            open.push((1 << (count % 64)) - 1);
        }
        let memory_left = match resource.memory_mib {
            Some(_) => vec![signed(resource.memory_kib()); count],
            None => Vec::new(),
        };
        let generic = names.iter().map(|name| match resource.generic.count(name) {
            0 => Vec::new(),
            each => vec![i64::from(each); count],
        });
        let each = names.iter();
        let each = each.map(|name| i64::from(resource.generic.count(name)));
        let memory = memory_left.iter();
        let is_plain =
            resource.cpu_count == 1 && memory_left.is_empty() && resource.generic.is_empty();
        Group {
            cpu_count: resource.cpu_count,
            is_plain,
            free: match is_plain {
                true => Vec::new(),
                false => vec![resource.cpu_count; count],
            },
            memory_free: memory.map(|left| u128::from(left.cast_unsigned())).sum(),
            memory_left,
            memory_kib: signed(resource.memory_kib()),
            generic: generic.collect(),
            generic_each: each.collect(),
            disk_mib: resource.disk_mib,
            open,
            first_open: 0,
            free_total: resource.count * resource.cpu_count,
        }
    }

    /// How many of a generic resource are free.
    pub(super) fn free_generic(&self, kind: usize) -> u64 {
        let left = self.generic[kind].iter();
        left.map(|left| (*left).max(0).cast_unsigned()).sum()
    }

    /// Free memory and disk.
    pub(super) fn space(&self) -> FreeSpace {
        // The nodes at the end are the last to be taken, so that a look at one of
        // them says most often that some node has all of its memory.
        let left = self.memory_left.iter().rev().copied();
        let whole = left.clone().find(|left| *left == self.memory_kib);
        let most = whole.or_else(|| left.max());
        let sum = most.map(|_| u64::try_from(self.memory_free).unwrap_or(u64::MAX));
        let open = || self.open.iter().map(|word| word.count_ones()).sum::<u32>();
        FreeSpace {
            memory_kib: sum,
            node_memory_kib: most.map(|most| most.max(0).cast_unsigned()),
            disk_mib: self.disk_mib.map(|disk| disk.saturating_mul(open().into())),
            ..FreeSpace::default()
        }
    }

    /// Free processors of any node.
    pub(super) fn free_on(&self, node: usize) -> u32 {
        match self.is_plain() {
            true => (self.open[node / 64] >> (node % 64) & 1) as u32,
            false => self.free[node],
        }
    }

    /// Processors of any node, for a job that takes this.
    pub(super) fn on_node(&self, node: usize, taken: &Taken) -> u32 {
        match self.is_plain() {
            true => self.free_on(node),
            false => self.fitting(node, taken),
        }
    }

    /// Processors of a node that is not plain, for a job that takes this.
    pub(super) fn fitting(&self, node: usize, taken: &Taken) -> u32 {
        let lacks = |(kind, count): &(usize, i64)| self.generic[*kind][node] < *count;
        if taken.generic.iter().any(lacks) {
            return 0;
        }
        let left = self.memory_left.get(node);
        let left = left.map_or(u64::MAX, |left| (*left).max(0).cast_unsigned());
        fitting(self.free[node].min(taken.most), left, taken.memory_kib)
    }

    pub(super) fn available(&self, taken: &Taken) -> u32 {
        let any_memory = taken.memory_kib == 0 || self.memory_left.is_empty();
        let any_number = taken.most >= self.cpu_count;
        if any_number && any_memory && taken.generic.is_empty() {
            return self.free_total;
        }
        (0..self.free.len())
            .map(|node| self.fitting(node, taken))
            .sum()
    }

    /// Picks up to `left` processors and answers how many are still missing.
    pub(super) fn choose(
        &self,
        resource: u16,
        taken: &Taken,
        mut left: u32,
        placement: &mut Vec<PlacementRun>,
    ) -> u32 {
        for word in self.first_open..self.open.len() {
            let mut bits = self.open[word];
            while bits != 0 && left > 0 {
                let node = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let here = self.fitting(node, taken).min(left);
                if here > 0 {
                    push_nodes(placement, resource, node as u32, 1, here);
                    left -= here;
                }
            }
            if left == 0 {
                break;
            }
        }
        left
    }

    /// Single-processor nodes without a memory limit or generic resources: the
    /// bit map says all there is to know, and runs of nodes are handled a word at
    /// a time.
    pub(super) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Takes up to `left` nodes and answers how many are still missing.
    pub(super) fn take_plain(
        &mut self,
        resource: u16,
        wanted: u32,
        placement: &mut Vec<PlacementRun>,
    ) -> u32 {
        let mut left = wanted;
        let mut word = self.first_open;
        while left > 0 && word < self.open.len() {
            let mut bits = self.open[word];
            while bits != 0 && left > 0 {
                let first = bits.trailing_zeros();
                let nodes = (bits >> first).trailing_ones().min(left);
                bits &= !span(first, nodes);
                push_nodes(placement, resource, word as u32 * 64 + first, nodes, 1);
                left -= nodes;
            }
            self.open[word] = bits;
            word += usize::from(bits == 0);
        }
        self.first_open = word;
        self.free_total -= wanted - left;
        left
    }

    pub(super) fn take_plain_nodes(&mut self, run: &PlacementRun) {
        for_words(run, |word, mask| {
            assert_eq!(self.open[word] & mask, mask, "a processor is used twice");
            self.open[word] &= !mask;
        });
        self.free_total -= run.nodes;
        while self.open.get(self.first_open) == Some(&0) {
            self.first_open += 1;
        }
    }

    pub(super) fn free_plain(&mut self, run: &PlacementRun) {
        for_words(run, |word, mask| {
            assert_eq!(
                self.open[word] & mask,
                0,
                "a processor was given back twice"
            );
            self.open[word] |= mask;
        });
        self.free_total += run.nodes;
        self.first_open = self.first_open.min(run.node as usize / 64);
    }

    pub(super) fn use_node(&mut self, node: usize, processors: u32, taken: &Taken) {
        self.free[node] -= processors;
        self.free_total -= processors;
        if self.free[node] == 0 {
            self.open[node / 64] &= !(1 << (node % 64));
            while self.open.get(self.first_open) == Some(&0) {
                self.first_open += 1;
            }
        }
        let memory = taken.memory_kib * u64::from(processors);
        self.change_memory(node, -memory.cast_signed());
        for (kind, count) in &taken.generic {
            // A real LRMS may place a job where there are none.
            if let Some(left) = self.generic[*kind].get_mut(node) {
                *left -= count;
            }
        }
    }

    /// A node that nobody uses goes down, with all that it has, or comes up.
    pub(super) fn set_up(&mut self, node: usize, up: bool) {
        if self.is_plain {
            let run = PlacementRun {
                resource: 0,
                node: node as u32,
                nodes: 1,
                processors: 1,
            };
            return match up {
                true => self.free_plain(&run),
                false => self.take_plain_nodes(&run),
            };
        }
        let sign = if up { 1 } else { -1 };
        match up {
            true => self.free_node(node, self.cpu_count, &Taken::default()),
            false => self.use_node(node, self.cpu_count, &Taken::default()),
        }
        self.change_memory(node, sign * self.memory_kib);
        for (left, each) in self.generic.iter_mut().zip(&self.generic_each) {
            if let Some(left) = left.get_mut(node) {
                *left += sign * each;
            }
        }
    }

    fn change_memory(&mut self, node: usize, by: i64) {
        if let Some(left) = self.memory_left.get_mut(node) {
            self.memory_free -= u128::from((*left).max(0).cast_unsigned());
            *left += by;
            self.memory_free += u128::from((*left).max(0).cast_unsigned());
        }
    }

    pub(super) fn free_node(&mut self, node: usize, processors: u32, taken: &Taken) {
        self.free[node] += processors;
        assert!(
            self.free[node] <= self.cpu_count,
            "a processor was given back twice"
        );
        self.free_total += processors;
        self.open[node / 64] |= 1 << (node % 64);
        self.first_open = self.first_open.min(node / 64);
        let memory = taken.memory_kib * u64::from(processors);
        self.change_memory(node, memory.cast_signed());
        for (kind, count) in &taken.generic {
            if let Some(left) = self.generic[*kind].get_mut(node) {
                *left += count;
            }
        }
    }
}

/// `nodes` bits from bit `first` on; together they stay within a word.
fn span(first: u32, nodes: u32) -> u64 {
    (u64::MAX >> (64 - nodes)) << first
}

/// Calls back with each word of the bit map that the run touches, and the bits
/// of it that are the run's.
fn for_words(run: &PlacementRun, mut change: impl FnMut(usize, u64)) {
    let (mut node, mut left) = (run.node, run.nodes);
    while left > 0 {
        let here = left.min(64 - node % 64);
        change(node as usize / 64, span(node % 64, here));
        node += here;
        left -= here;
    }
}

pub(super) fn push_nodes(
    placement: &mut Vec<PlacementRun>,
    resource: u16,
    node: u32,
    nodes: u32,
    processors: u32,
) {
    if let Some(last) = placement.last_mut()
        && last.resource == resource
        && last.processors == processors
        && last.node + last.nodes == node
    {
        last.nodes += nodes;
        return;
    }
    placement.push(PlacementRun {
        resource,
        node,
        nodes,
        processors,
    });
}
