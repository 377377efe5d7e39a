//! The reference of policies that predict and reserve (docs/policies.md, "Reservations to know
//! when"): jobs are routed, but for those that are reserved for where they are thought to be
//! first.

use super::{Decision, RefBroker};
use crate::reference::best::{Best, Place};
use crate::reference::matching::{Searching, Sought};
use gridrig_core::message::Target;
use gridrig_core::time::SimTime;

impl RefBroker<'_> {
    pub(in crate::reference) fn keeps_one(&self) -> bool {
        self.parameter("reserve")
            .is_some_and(|which| which != "none")
    }

    /// A job for which this candidate was chosen goes there, or is reserved for.
    pub(super) fn keep_or_send(
        &mut self,
        now: SimTime,
        index: usize,
        chosen: usize,
    ) -> Vec<Decision> {
        match self.keeping(now, index, chosen) {
            Some(search) => self.begin_search(now, index, search),
            None => vec![self.send(now, index, chosen, None)],
        }
    }

    fn keeping(&self, now: SimTime, index: usize, chosen: usize) -> Option<Searching> {
        let visit = &self.visits[index];
        let job = &visit.spec;
        let window = job.start_window.as_deref();
        if !self.keeps_one() || window.is_none() && self.parameter("reserve") == Some("windows") {
            return None;
        }
        let said = job.preferences.as_deref();
        let files = said.and_then(|said| said.stage_in).unwrap_or_default();
        let before = self.startup(1) + self.time("notice", "2s");
        let staged = now + self.settings.lrms_latency + files;
        let soonest = self.soonest(now, index, before).max(staged);
        let (first, last) = self.window(now, index, soonest);
        let at = u128::from(now.as_nanos());
        let opens = window.map_or(0, |window| u128::from(window.earliest.as_nanos()));
        let mut ranked: Vec<(u128, bool, Place)> = Vec::new();
        for view in self.candidates(index).0 {
            let (ready, start) = self.predicted(visit, &self.views[view]);
            let is_own = matches!(self.views[view].target, Target::Cluster(_));
            let rest = ready - start;
            let counts = at.saturating_add(start).max(opens).saturating_add(rest);
            let place = Place {
                view,
                is_own,
                rest,
                // It would not reserve.
                estimate: (!is_own || window.is_none()).then_some(counts),
            };
            ranked.push((ready, view != chosen, place));
        }
        ranked.sort_by_key(|(ready, is_other, _)| (*ready, *is_other));
        if let most @ 1.. = self.count("candidates") {
            ranked.truncate(most as usize);
        }
        let places: Vec<Place> = ranked.into_iter().map(|(.., place)| place).collect();
        if places.iter().all(|place| !place.is_own) {
            return None;
        }
        let components = job.components.iter().count();
        let own = self.own_clusters().iter();
        Some(Searching {
            sought: Sought::Best(Best {
                places,
                all: (1 << components) - 1,
                first,
                last,
            }),
            order: (0..components).collect(),
            lengths: own.map(|id| self.longest(job, 1, &[*id])).collect(),
            timeout: self.settings.co_allocation.claim_timeout + self.further_ahead(index),
            names: Vec::new(),
            answers: Vec::new(),
        })
    }
}
