//! The reference of what a planning discipline believes: a list of who holds
//! what from when to when. Every question looks at the whole list.

use gridrig_core::resource::Resource;
use gridrig_core::time::{SimDuration, SimTime};

/// Processors by resource that somebody has or will have.
#[derive(Clone, Debug)]
pub struct Hold {
    /// From this instant on.
    pub from: SimTime,
    /// Until this instant, which is not included.
    pub to: SimTime,
    /// By resource.
    pub shares: Vec<u32>,
    /// Memory per processor.
    pub memory_kib: u64,
}

/// What a job wants of the plan.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Processors.
    pub processors: u32,
    /// For so long.
    pub length: SimDuration,
    /// By resource, the most it may have on the empty cluster.
    pub most: Vec<u32>,
    /// Memory per processor.
    pub memory_kib: u64,
}

/// A plan over these resources.
#[derive(Clone, Debug)]
pub struct RefPlan<'a> {
    /// The resources.
    pub groups: &'a [Resource],
    /// Who holds what.
    pub holds: Vec<Hold>,
}

impl RefPlan<'_> {
    /// What the job would get by resource, starting then.
    #[must_use]
    pub fn fit(&self, wish: &Wish, start: SimTime) -> Option<Vec<u32>> {
        let end = start + wish.length;
        let begins = self.holds.iter().map(|hold| hold.from);
        let mut instants: Vec<SimTime> = begins.filter(|at| start < *at && *at < end).collect();
        instants.push(start);
        let mut missing = wish.processors;
        let mut shares = Vec::new();
        for (resource, &most) in wish.most.iter().enumerate() {
            let offers = instants.iter().map(|at| self.offer(resource, wish, *at));
            let offer = offers.min().unwrap_or(0).clamp(0, i128::from(most));
            let share = missing.min(u32::try_from(offer).unwrap_or(0));
            missing -= share;
            shares.push(share);
        }
        (missing == 0).then_some(shares)
    }

    /// The first instant from `from` on at which it fits.
    #[must_use]
    pub fn earliest(&self, wish: &Wish, from: SimTime) -> Option<(SimTime, Vec<u32>)> {
        let mut starts: Vec<SimTime> = self.holds.iter().map(|hold| hold.to).collect();
        starts.push(from);
        starts.retain(|at| *at >= from);
        starts.sort_unstable();
        let mut fits = starts.into_iter();
        fits.find_map(|start| Some((start, self.fit(wish, start)?)))
    }

    /// What a reservation of these shares that begins at `start` takes already
    /// from `early` on: whatever is free then and will not be left over.
    #[must_use]
    pub fn before(
        &self,
        early: SimTime,
        start: SimTime,
        shares: &[u32],
        memory_kib: u64,
    ) -> Vec<Hold> {
        let edges = self.holds.iter().flat_map(|hold| [hold.from, hold.to]);
        let mut instants: Vec<SimTime> = edges.filter(|at| early < *at && *at < start).collect();
        instants.extend([early, start]);
        instants.sort_unstable();
        instants.dedup();
        let spans = instants.windows(2);
        let hold = |span: &[SimTime]| Hold {
            from: span[0],
            to: span[1],
            shares: shares
                .iter()
                .enumerate()
                .map(|(resource, &share)| {
                    let idle = self.free(resource, span[0]) - self.free(resource, start);
                    u32::try_from(idle.clamp(0, i128::from(share))).unwrap_or(0)
                })
                .collect(),
            memory_kib,
        };
        spans.map(hold).collect()
    }

    fn free(&self, resource: usize, at: SimTime) -> i128 {
        let group = &self.groups[resource];
        let all = i128::from(group.count) * i128::from(group.cpu_count);
        let held = self.holds.iter();
        let held = held.filter(|hold| hold.from <= at && at < hold.to);
        all - held
            .map(|hold| i128::from(hold.shares[resource]))
            .sum::<i128>()
    }

    fn offer(&self, resource: usize, wish: &Wish, at: SimTime) -> i128 {
        let group = &self.groups[resource];
        let free = self.free(resource, at);
        let mut memory = group
            .memory_mib
            .map(|mib| i128::from(mib) * 1024 * i128::from(group.count));
        for hold in &self.holds {
            if hold.from <= at && at < hold.to {
                let used = i128::from(hold.shares[resource]) * i128::from(hold.memory_kib);
                memory = memory.map(|memory| memory - used);
            }
        }
        match memory {
            Some(memory) if wish.memory_kib > 0 => free.min(memory / i128::from(wish.memory_kib)),
            _ => free,
        }
    }
}
