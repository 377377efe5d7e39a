//! The reference of what a planning discipline believes: a list of who holds
//! what from when to when. Every question looks at the whole list.

use gridrig_core::time::{SimDuration, SimTime};
use std::collections::BTreeMap;

/// What a plan counts by itself: a node, or a resource as if it were one node.
#[derive(Clone, Debug)]
pub struct Place {
    /// Position of its resource in the file.
    pub resource: usize,
    /// Its processors.
    pub processors: u64,
    /// `None` is unlimited.
    pub memory_kib: Option<u64>,
    /// Generic resources by name.
    pub generic: BTreeMap<String, u64>,
}

/// Processors that somebody has or will have.
#[derive(Clone, Debug)]
pub struct Hold {
    /// From this instant on.
    pub from: SimTime,
    /// Until this instant, which is not included.
    pub to: SimTime,
    /// By place.
    pub shares: Vec<u32>,
    /// Memory per processor.
    pub memory_kib: u64,
    /// Generic resources by name, then by place.
    pub generic: BTreeMap<String, Vec<u64>>,
}

/// What a job wants of the plan.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Processors.
    pub processors: u32,
    /// For so long.
    pub length: SimDuration,
    /// By place, the most it may have on the empty cluster.
    pub most: Vec<u32>,
    /// Memory per processor.
    pub memory_kib: u64,
    /// Generic resources of each place it has processors of.
    pub generic: BTreeMap<String, u64>,
}

impl Wish {
    /// What it holds from one instant to another if it gets these.
    pub fn hold(&self, (from, to): (SimTime, SimTime), shares: Vec<u32>) -> Hold {
        let of = |count: u64| {
            let shares = shares.iter();
            shares.map(|share| u64::from(*share > 0) * count).collect()
        };
        let generic = self.generic.iter();
        Hold {
            from,
            to,
            generic: generic
                .map(|(name, count)| (name.clone(), of(*count)))
                .collect(),
            memory_kib: self.memory_kib,
            shares,
        }
    }
}

/// A plan over these places.
#[derive(Clone, Debug)]
pub struct RefPlan {
    /// In file order, nodes in number order.
    pub places: Vec<Place>,
    /// Who holds what.
    pub holds: Vec<Hold>,
}

impl RefPlan {
    /// What each component of a job would get by place, starting then.
    pub fn fit(&self, wishes: &[Wish], start: SimTime) -> Option<Vec<Vec<u32>>> {
        let resources = self.places.last().map_or(0, |last| last.resource + 1);
        let everything = vec![vec![u32::MAX; resources]; wishes.len()];
        self.fit_within(wishes, start, everything)
    }

    /// The same, with so many processors of each resource at most. What one
    /// component gets the next ones do not.
    pub fn fit_within(
        &self,
        wishes: &[Wish],
        start: SimTime,
        of_resource: Vec<Vec<u32>>,
    ) -> Option<Vec<Vec<u32>>> {
        let mut plan = self.clone();
        let mut all = Vec::new();
        for (wish, of_resource) in wishes.iter().zip(of_resource) {
            let shares = plan.fit_one(wish, start, of_resource)?;
            let span = (start, start + wish.length);
            plan.holds.push(wish.hold(span, shares.clone()));
            all.push(shares);
        }
        Some(all)
    }

    fn fit_one(&self, wish: &Wish, start: SimTime, mut of_resource: Vec<u32>) -> Option<Vec<u32>> {
        let end = start + wish.length;
        let begins = self.holds.iter().map(|hold| hold.from);
        let mut instants: Vec<SimTime> = begins.filter(|at| start < *at && *at < end).collect();
        instants.push(start);
        if !self.has_in_all(wish, &instants) {
            return None;
        }
        let mut offers = wish.most.clone();
        for at in instants.into_iter().rev() {
            for (place, offer) in offers
                .iter_mut()
                .enumerate()
                .filter(|(_, offer)| **offer > 0)
            {
                *offer = (*offer).min(self.offer(place, wish, at));
            }
        }
        let mut missing = wish.processors;
        let mut shares = Vec::new();
        for (place, offer) in self.places.iter().zip(offers) {
            let left = &mut of_resource[place.resource];
            let share = missing.min(offer).min(*left);
            missing -= share;
            *left -= share;
            shares.push(share);
        }
        (missing == 0).then_some(shares)
    }

    /// Whether there is enough of the resources at these instants, whatever their nodes have.
    /// Where reservations that are late overlap, who comes after them finds as much less as
    /// they have twice.
    fn has_in_all(&self, wish: &Wish, instants: &[SimTime]) -> bool {
        let resources = self.places.last().map_or(0, |last| last.resource + 1);
        let offer = |resource: usize, at: SimTime| {
            let all = self.places.iter().enumerate();
            let own = all.filter(|(_, place)| place.resource == resource);
            let (mut free, mut most, mut memory) = (0, 0, Some(0));
            for (place, _) in own {
                let (processors, left) = self.free(place, at);
                free += processors;
                most += i128::from(wish.most[place]);
                memory = memory.zip(left).map(|(sum, left)| sum + left);
            }
            let free = free.min(most).max(0);
            match memory.filter(|_| wish.memory_kib > 0) {
                Some(memory) => free.min(memory.max(0) / i128::from(wish.memory_kib)),
                None => free,
            }
        };
        let least = |resource| {
            let offers = instants.iter().map(|at| offer(resource, *at));
            offers.min().unwrap_or(0)
        };
        let all: i128 = (0..resources).map(least).sum();
        all >= i128::from(wish.processors)
    }

    /// The first instant from `from` on at which it fits: that one, or one at
    /// which something becomes free.
    pub fn earliest(&self, wishes: &[Wish], from: SimTime) -> Option<(SimTime, Vec<Vec<u32>>)> {
        let ends = self.holds.iter().map(|hold| hold.to);
        // Nobody starts at the end of all time.
        let ends = ends.filter(|at| *at < SimTime::MAX);
        let mut starts: Vec<SimTime> = ends.filter(|at| *at > from && self.rises(*at)).collect();
        starts.push(from);
        starts.sort_unstable();
        starts.dedup();
        let mut fits = starts.into_iter();
        fits.find_map(|start| Some((start, self.fit(wishes, start)?)))
    }

    /// Whether more of anything is free anywhere than right before.
    fn rises(&self, at: SimTime) -> bool {
        let before = SimTime::from_nanos(at.as_nanos() - 1);
        (0..self.places.len()).any(|place| {
            let (now, then) = (self.free(place, at), self.free(place, before));
            let mut generic = self.places[place].generic.keys();
            now.0 > then.0
                || now.1 > then.1
                || generic.any(|name| {
                    self.free_generic(place, name, at) > self.free_generic(place, name, before)
                })
        })
    }

    /// What this reservation takes already from `early` on: whatever is free then
    /// and will not be left over when it begins.
    pub fn before(&self, early: SimTime, held: &Hold) -> Vec<Hold> {
        let start = held.from;
        let edges = self.holds.iter().flat_map(|hold| [hold.from, hold.to]);
        let mut instants: Vec<SimTime> = edges.filter(|at| early < *at && *at < start).collect();
        instants.extend([early, start]);
        instants.sort_unstable();
        instants.dedup();
        let spans = instants.windows(2);
        let hold = |span: &[SimTime]| Hold {
            from: span[0],
            to: span[1],
            shares: (0..self.places.len())
                .map(|place| {
                    let idle = self.free(place, span[0]).0 - self.free(place, start).0;
                    u32::try_from(idle.clamp(0, i128::from(held.shares[place]))).unwrap_or(0)
                })
                .collect(),
            memory_kib: held.memory_kib,
            generic: held
                .generic
                .iter()
                .map(|(name, counts)| {
                    let left = |place, at| self.free_generic(place, name, at);
                    let idle = |place| left(place, span[0]) - left(place, start);
                    let taken = counts.iter().enumerate().map(|(place, count)| {
                        u64::try_from(idle(place).clamp(0, i128::from(*count))).unwrap_or(0)
                    });
                    (name.clone(), taken.collect())
                })
                .collect(),
        };
        spans.map(hold).collect()
    }

    /// Processors and memory that nobody holds at this instant; below 0 where
    /// reservations overlap.
    fn free(&self, place: usize, at: SimTime) -> (i128, Option<i128>) {
        let all = &self.places[place];
        let (mut processors, mut memory) =
            (i128::from(all.processors), all.memory_kib.map(i128::from));
        for hold in &self.holds {
            let share = i128::from(hold.shares[place]);
            if share > 0 && hold.from <= at && at < hold.to {
                processors -= share;
                memory = memory.map(|memory| memory - share * i128::from(hold.memory_kib));
            }
        }
        (processors, memory)
    }

    /// How many of a generic resource nobody holds at this instant.
    fn free_generic(&self, place: usize, name: &str, at: SimTime) -> i128 {
        let all = self.places[place].generic.get(name).copied().unwrap_or(0);
        let holds = self.holds.iter();
        let now = holds.filter(|hold| hold.from <= at && at < hold.to);
        let held = now.filter_map(|hold| Some(i128::from(hold.generic.get(name)?[place])));
        i128::from(all) - held.sum::<i128>()
    }

    /// Processors that the job could have there at this instant.
    fn offer(&self, place: usize, wish: &Wish, at: SimTime) -> u32 {
        let mut wanted = wish.generic.iter();
        if wanted.any(|(name, count)| self.free_generic(place, name, at) < i128::from(*count)) {
            return 0;
        }
        let offer = match self.free(place, at) {
            (processors, Some(memory)) if wish.memory_kib > 0 => {
                processors.min(memory.max(0) / i128::from(wish.memory_kib))
            }
            (processors, _) => processors,
        };
        u32::try_from(offer.clamp(0, i128::from(u32::MAX))).unwrap_or(0)
    }
}
