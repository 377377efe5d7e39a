//! What is free over time.

use super::line::{Line, Need, Offer, Sweep};
use super::{Demand, Layout, Reservation, Shares};
use crate::placement::Share;
use crate::time::{SimDuration, SimTime};

/// What is free of one resource.
#[derive(Debug, Default)]
struct Capacity {
    total: Line,
    /// By node; empty as long as nodes do not count.
    nodes: Vec<Line>,
    /// Generic resources, by position of the name and by node. Nobody asks for
    /// them before nodes count.
    generic: Vec<Vec<Line>>,
}

impl Capacity {
    fn lines(&self) -> impl Iterator<Item = &Line> {
        let nodes = self.nodes.iter().chain(self.generic.iter().flatten());
        nodes.chain([&self.total])
    }

    fn lines_mut(&mut self) -> impl Iterator<Item = &mut Line> {
        let generic = self.generic.iter_mut().flatten();
        let nodes = self.nodes.iter_mut().chain(generic);
        nodes.chain([&mut self.total])
    }

    /// Whether a node has so many of each generic resource all the while.
    fn has(&self, node: usize, generic: &[(usize, i64)], span: (SimTime, SimTime)) -> bool {
        generic.iter().all(|&(kind, count)| {
            let left = &self.generic[kind][node];
            left.least(Need::count(count), span, count) >= count
        })
    }

    /// What a job would get of a node that also takes generic resources there.
    fn offer(
        &self,
        node: usize,
        (need, generic): (Need, &[(usize, i64)]),
        start: SimTime,
        length: SimDuration,
    ) -> Offer {
        let offer = self.nodes[node].offer(need, start, length);
        generic.iter().fold(offer, |offer, &(kind, count)| {
            // A resource without any of them offers nothing already.
            match self.generic[kind].get(node) {
                Some(left) => offer.beside(left.offer(Need::count(count), start, length), count),
                None => offer,
            }
        })
    }
}

/// What is free of each resource and, where they count, of each node.
#[derive(Debug, Default)]
pub struct Free {
    resources: Vec<Capacity>,
    /// For [`earliest`](Self::earliest).
    by_resource: Sweep,
    by_node: Sweep,
    /// For [`longest`](Self::longest): when how much less is free.
    falls: Vec<(SimTime, i64)>,
}

impl Free {
    /// Everything is free.
    pub(super) fn new(layout: &Layout) -> Self {
        let resources = layout.resources.iter().map(|nodes| {
            let memory = nodes.memory.unwrap_or(0);
            let memory = memory.saturating_mul(i64::from(nodes.count));
            let processors = i64::from(nodes.count * nodes.processors);
            Capacity {
                total: Line::new(processors, memory),
                ..Capacity::default()
            }
        });
        Free {
            resources: resources.collect(),
            ..Free::default()
        }
    }

    /// Nodes count from now on: all of them are free.
    pub(super) fn count_by_node(&mut self, layout: &Layout) {
        for (capacity, nodes) in self.resources.iter_mut().zip(&layout.resources) {
            let of_node = Line::new(i64::from(nodes.processors), nodes.memory.unwrap_or(0));
            capacity.nodes = vec![of_node; nodes.count as usize];
            let generic = nodes.generic.iter().map(|each| match each {
                0 => Vec::new(),
                _ => vec![Line::new(i64::from(*each), 0); nodes.count as usize],
            });
            capacity.generic = generic.collect();
        }
    }

    /// The same as another one, whose memory is used again.
    pub(crate) fn copy(&mut self, other: &Free) {
        self.resources.truncate(other.resources.len());
        for (index, from) in other.resources.iter().enumerate() {
            if index == self.resources.len() {
                self.resources.push(Capacity::default());
            }
            let to = &mut self.resources[index];
            to.nodes.resize_with(from.nodes.len(), Line::default);
            to.generic.resize_with(from.generic.len(), Vec::new);
            for (to, from) in to.generic.iter_mut().zip(&from.generic) {
                to.resize_with(from.len(), Line::default);
            }
            for (to, from) in to.lines_mut().zip(from.lines()) {
                to.steps.clone_from(&from.steps);
            }
        }
    }

    /// Nobody will ask any more what was free before this instant.
    pub(super) fn forget_before(&mut self, now: SimTime) {
        for resource in &mut self.resources {
            let lines = resource.lines_mut();
            lines.for_each(|line| line.forget_before(now));
        }
    }

    /// Whether any processor is free at this instant.
    pub fn any_at(&self, now: SimTime) -> bool {
        let mut lines = self.resources.iter().map(|resource| &resource.total);
        lines.any(|line| line.steps[line.step_at(now)].free > 0)
    }

    /// What a job would get from `start` on for all of its length: resources in
    /// order, from each, or from each of its nodes, as much as is free all the
    /// while. `None` if that is not enough.
    pub fn fit(&mut self, layout: &Layout, demand: &Demand, start: SimTime) -> Option<Shares> {
        let span = (start, start + demand.length);
        if layout.is_joint(demand.class) {
            return self.in_turn(layout, demand, span, |free, own, _| {
                free.fit(layout, own, start)
            });
        }
        let mut left = i64::from(demand.processors);
        let enough = match self.resources.len() {
            1 => left,
            _ => 1,
        };
        // Most of a long queue is too wide for what is free, and is passed by
        // without a look at the nodes or a list of what there is.
        let needs = layout.needs(layout.shape(demand.class));
        for (resource, need) in self.resources.iter().zip(needs) {
            left -= resource.total.least(need, span, enough);
            if left <= 0 {
                return self.shares(layout, demand, span);
            }
        }
        None
    }

    fn shares(&self, layout: &Layout, demand: &Demand, span: (SimTime, SimTime)) -> Option<Shares> {
        let mut shares = Shares::new();
        let mut missing = demand.processors;
        for resource in 0..self.resources.len() {
            missing = self.take_from(layout, demand, span, (resource, missing), &mut shares);
            if missing == 0 {
                return Some(shares);
            }
        }
        None
    }

    /// The nodes for what was planned by resource, as many processors of each:
    /// the first that are free all the while. `None` if some are missing.
    pub(crate) fn fit_nodes(
        &mut self,
        layout: &Layout,
        demand: &Demand,
        planned: &Reservation,
    ) -> Option<Shares> {
        let span = (planned.start, planned.end);
        let find = |free: &mut Free, demand: &Demand, component: u16| {
            let mut shares = Shares::new();
            let mut own = planned.shares.iter();
            let found = own.all(|share| {
                let wanted = (usize::from(share.resource), share.processors);
                share.component != component
                    || free.take_from(layout, demand, span, wanted, &mut shares) == 0
            });
            found.then_some(shares)
        };
        match layout.is_joint(demand.class) {
            true => self.in_turn(layout, demand, span, find),
            false => find(self, demand, 0),
        }
    }

    /// Adds what a resource has of so many processors; answers how many are
    /// missing.
    fn take_from(
        &self,
        layout: &Layout,
        demand: &Demand,
        span: (SimTime, SimTime),
        (resource, mut missing): (usize, u32),
        shares: &mut Shares,
    ) -> u32 {
        let capacity = &self.resources[resource];
        let Capacity { total, nodes, .. } = capacity;
        let all = layout.resources[resource].count;
        let (lines, each) = match nodes.is_empty() {
            true => (std::slice::from_ref(total), all),
            false => (nodes.as_slice(), 1),
        };
        let shape = layout.shape(demand.class);
        let (need, generic) = (layout.need(shape, resource, each), layout.generic(shape));
        for (line, node) in lines.iter().zip(0..) {
            if missing == 0 {
                break;
            }
            let processors = line.least(need, span, 1).min(i64::from(missing)) as u32;
            if processors > 0 && capacity.has(node as usize, generic, span) {
                shares.push(Share {
                    resource: resource as u16,
                    node: (!nodes.is_empty()).then_some(node),
                    processors,
                    component: 0,
                });
                missing -= processors;
            }
        }
        missing
    }

    /// The longest that jobs of a shape may take that start at `start`: for each
    /// of `sizes`, which rise, as far as that many processors are free at all.
    /// Where nodes count, no job fits that takes longer, and not every job that
    /// does not.
    pub(crate) fn longest(
        &mut self,
        needs: impl Iterator<Item = Need>,
        start: SimTime,
        sizes: &[u32],
        longest: &mut Vec<SimDuration>,
    ) {
        longest.clear();
        self.falls.clear();
        let mut total = 0;
        for (Capacity { total: line, .. }, need) in self.resources.iter().zip(needs) {
            let first = line.step_at(start);
            let mut least = need.of(&line.steps[first]);
            total += least;
            for step in &line.steps[first + 1..] {
                if least == 0 {
                    break;
                }
                let here = need.of(step);
                if here < least {
                    self.falls.push((step.at, least - here));
                    least = here;
                }
            }
        }
        let mut open = sizes.partition_point(|size| i64::from(*size) <= total);
        longest.resize(open, SimDuration::from_nanos(u64::MAX));
        self.falls.sort_unstable_by_key(|fall| fall.0);
        for (at, fall) in &self.falls {
            total -= fall;
            while open > 0 && i64::from(sizes[open - 1]) > total {
                open -= 1;
                longest[open] = at.since(start);
            }
            if open == 0 {
                break;
            }
        }
    }

    /// The earliest instant from `from` on at which the job fits, and what it
    /// gets then. It always fits in the end: the last steps are the empty
    /// cluster, less what is promised for ever.
    pub fn earliest(
        &mut self,
        layout: &Layout,
        demand: &Demand,
        from: SimTime,
    ) -> Option<(SimTime, Shares)> {
        if layout.is_joint(demand.class) {
            return self.earliest_joint(layout, demand, from);
        }
        let (length, wanted) = (demand.length, i64::from(demand.processors));
        self.by_resource.reset();
        self.by_node.reset();
        let mut start = self.earliest_by_resource(layout, demand, from)?;
        // More often than not the nodes have what the resources have.
        let mut found = self.shares(layout, demand, (start, start + length));
        while found.is_none() {
            let shape = layout.shape(demand.class);
            let resources = self.resources.iter().enumerate();
            let nodes = resources.flat_map(|(resource, capacity)| {
                let needs = (layout.need(shape, resource, 1), layout.generic(shape));
                let nodes = 0..capacity.nodes.len();
                nodes.map(move |node| move || capacity.offer(node, needs, start, length))
            });
            let rises = self.by_node.go_to(start, nodes);
            if self.by_node.total >= wanted {
                found = Some(self.offered(demand.processors));
                break;
            }
            if rises == SimTime::MAX {
                return None;
            }
            start = self.earliest_by_resource(layout, demand, rises)?;
        }
        found.map(|shares| (start, shares))
    }

    /// So many processors of what the nodes offer together, the first of them.
    fn offered(&self, mut missing: u32) -> Shares {
        let counts = self.resources.iter().zip(0..);
        let nodes = counts.flat_map(|(capacity, resource)| {
            let nodes = 0..capacity.nodes.len() as u32;
            nodes.map(move |node| (resource, node))
        });
        let mut shares = Shares::new();
        for ((resource, node), offer) in nodes.zip(&self.by_node.offers) {
            let processors = offer.processors.min(i64::from(missing)) as u32;
            if processors > 0 {
                shares.push(Share {
                    resource,
                    node: Some(node),
                    processors,
                    component: 0,
                });
                missing -= processors;
            }
        }
        shares
    }

    /// The first start from `from` on at which the resources have enough, and
    /// so perhaps their nodes; calls come with later and later starts.
    fn earliest_by_resource(
        &mut self,
        layout: &Layout,
        demand: &Demand,
        from: SimTime,
    ) -> Option<SimTime> {
        let (length, wanted) = (demand.length, i64::from(demand.processors));
        let shape = layout.shape(demand.class);
        if let [only] = self.resources.as_slice() {
            let need = layout.needs(shape).next()?;
            return only.total.earliest(need, wanted, from, length);
        }
        let mut start = from;
        // What all resources offer together grows only where one of them does.
        while start < SimTime::MAX {
            let totals = self.resources.iter().map(|resource| &resource.total);
            let lines = totals.zip(layout.needs(shape));
            let offers = lines.map(|(line, need)| move || line.offer(need, start, length));
            let rises = self.by_resource.go_to(start, offers);
            if self.by_resource.total >= wanted {
                return Some(start);
            }
            start = rises;
        }
        None
    }

    /// The first instant after this one at which something becomes free.
    pub(super) fn next_rise(&self, layout: &Layout, after: SimTime) -> Option<SimTime> {
        let all = self.resources.iter().zip(&layout.resources);
        let rises = all.flat_map(|(capacity, made_of)| {
            let generic = capacity.generic.iter().flatten();
            let by_node = capacity.nodes.iter().chain(generic);
            let total = capacity.nodes.is_empty().then_some(&capacity.total);
            let lines = by_node.chain(total);
            lines.filter_map(move |line| line.next_rise(after, made_of.memory.is_some()))
        });
        rises.min()
    }

    /// Takes these processors out of what is free.
    pub fn reserve(&mut self, held: &Reservation) {
        self.change(held, held.end, -1);
    }

    /// Undoes [`reserve`](Self::reserve).
    pub fn release(&mut self, held: &Reservation) {
        self.change(held, held.end, 1);
    }

    fn change(&mut self, held: &Reservation, end: SimTime, sign: i64) {
        let span = (held.start, end);
        if end <= held.start {
            return;
        }
        let alike = |a: &Share, b: &Share| (a.resource, a.component) == (b.resource, b.component);
        for shares in held.shares.chunk_by(alike) {
            let taken = held.taken(shares[0].component);
            let Capacity {
                total,
                nodes,
                generic,
            } = &mut self.resources[usize::from(shares[0].resource)];
            let mut sum = 0;
            for share in shares {
                let processors = sign * i64::from(share.processors);
                sum += processors;
                if let Some(node) = share.node {
                    let memory = taken.memory_kib.saturating_mul(processors);
                    nodes[node as usize].change(span, processors, memory);
                    for (kind, count) in &taken.generic {
                        generic[*kind][node as usize].change(span, sign * count, 0);
                    }
                }
            }
            total.change(span, sum, taken.memory_kib.saturating_mul(sum));
        }
    }

    /// Takes these processors, which are free until `fits`, from the start of
    /// the reservation to its end; and those of them that are not busy anyway
    /// already from `early` on: what becomes free in between is somebody else's
    /// until then, and nothing is taken for it. What is not free after `fits` is
    /// not taken: nothing can be released later.
    pub fn reserve_early(&mut self, held: &Reservation, fits: SimTime, early: SimTime) {
        self.change(held, fits.min(held.end), -1);
        for share in &held.shares {
            let taken = held.taken(share.component);
            let Capacity {
                total,
                nodes,
                generic,
            } = &mut self.resources[usize::from(share.resource)];
            let (before, beyond) = ((early, held.start), (fits, held.end));
            if let Some(node) = share.node {
                for (kind, count) in &taken.generic {
                    let left = &mut generic[*kind][node as usize];
                    let then = left.steps[left.step_at(held.start)].free;
                    for (span, kept) in [(before, then), (beyond, 0)] {
                        left.take_free(span, (*count, 0), kept, |_, _, _| ());
                    }
                }
            }
            let mut node = share.node.map(|node| &mut nodes[node as usize]);
            let line = node.as_deref().unwrap_or(total);
            let then = line.steps[line.step_at(held.start)].free;
            let wanted = (i64::from(share.processors), taken.memory_kib);
            for (span, kept) in [(before, then), (beyond, 0)] {
                match &mut node {
                    None => total.take_free(span, wanted, kept, |_, _, _| ()),
                    Some(node) => node.take_free(span, wanted, kept, |span, free, memory| {
                        total.change(span, -free, -memory);
                    }),
                }
            }
        }
    }
}
