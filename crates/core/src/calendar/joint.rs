//! What is free for jobs of several components.
//!
//! What one component gets may be in the way of the next, so that more room is not
//! always better: a job that fits at one instant need not fit wherever more is free.

use super::free::Free;
use super::{Demand, Layout, Reservation, Shares};
use crate::placement::Share;
use crate::time::SimTime;

impl Free {
    /// What the components get, one after the other, if `find` finds something for
    /// each beside what those before it get.
    pub(super) fn in_turn(
        &mut self,
        layout: &Layout,
        demand: &Demand,
        span: (SimTime, SimTime),
        find: impl Fn(&mut Free, &Demand, u16) -> Option<Shares>,
    ) -> Option<Shares> {
        let mut held: Vec<Reservation> = Vec::new();
        let fit = layout.demands(demand).zip(0..).all(|(own, component)| {
            let found = find(self, &own, component);
            found.is_some_and(|shares| {
                let one = layout.reservation(own.class, span, shares);
                self.reserve(&one);
                held.push(one);
                true
            })
        });
        held.iter().for_each(|one| self.release(one));
        let shares = held.into_iter().zip(0..).flat_map(|(one, component)| {
            let own = one.shares.into_iter();
            own.map(move |share| Share { component, ..share })
        });
        fit.then(|| shares.collect())
    }

    /// The first instant from `from` on that is it, or at which something becomes
    /// free, and at which they all fit; and what they get then.
    pub(super) fn earliest_joint(
        &mut self,
        layout: &Layout,
        demand: &Demand,
        from: SimTime,
    ) -> Option<(SimTime, Shares)> {
        let mut start = from;
        loop {
            // Not before each of them would fit alone.
            for own in layout.demands(demand) {
                start = self.earliest(layout, &own, start)?.0;
            }
            if let Some(shares) = self.fit(layout, demand, start) {
                return Some((start, shares));
            }
            start = self.next_rise(layout, start)?;
        }
    }
}
