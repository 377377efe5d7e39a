//! The reference of choices among candidates: which are closed, which of equals gets the
//! job, and brokers that keep jobs until there is room for them.

use super::RefBroker;
use super::domains::{Chosen, Rank};
use gridrig_core::broker::{MatchmakingKind, OwnDispatch};
use gridrig_core::ids::ClusterId;
use gridrig_core::message::Target;
use gridrig_core::policy::Tie;
use rand::RngExt as _;

impl RefBroker<'_> {
    /// Who gets a waiting job, if it may start in time still.
    pub(super) fn decide(&mut self, index: usize) -> Chosen {
        let window = self.visits[index].spec.start_window.as_deref();
        if window.is_some_and(|window| self.at > Some(window.latest)) {
            return Chosen::TooLate;
        }
        match Rank::of(&self.policy, &self.settings) {
            Some(rank) => self.choose_domain(index, &rank),
            None if self.wanders() => self.wander(index),
            None => self.choose(index),
        }
    }

    /// Who may have a job, as positions in `views`, and whether somebody may have it later.
    pub(super) fn candidates(&self, index: usize) -> (Vec<usize>, bool) {
        let visit = &self.visits[index];
        let mut candidates = Vec::new();
        let mut lacks_room = false;
        for (position, view) in self.views.iter().enumerate() {
            if self.could_ever_run(visit, view.target)
                && !visit.refused_by.contains(&view.target)
                && !self.is_closed(view.target)
            {
                match self.may_have(visit, view) {
                    Some(true) => candidates.push(position),
                    Some(false) => lacks_room = true,
                    None => {}
                }
            }
        }
        (candidates, lacks_room)
    }

    /// One of these, if the job need not wait for room.
    pub(super) fn choose_among(&mut self, index: usize, rule: Tie, mut tied: Vec<usize>) -> Chosen {
        if self.is_late() {
            let job = &self.visits[index].spec;
            tied.retain(|position| {
                let view = &self.views[*position];
                let there: Vec<ClusterId> = view.loads.iter().map(|(id, _)| *id).collect();
                !self.could_hold(job, &there) || view.free(true) >= i128::from(job.processors())
            });
            if tied.is_empty() {
                return Chosen::NoRoom;
            }
        }
        Chosen::View(self.break_tie_by(rule, tied))
    }

    /// Whether what was sent counts.
    pub(super) fn is_debited(&self) -> bool {
        let pushes = self.settings.matchmaking() == MatchmakingKind::Push;
        pushes || self.is_late() || self.settings.own_dispatch == OwnDispatch::Debited
    }

    pub(super) fn break_tie_by(&mut self, rule: Tie, mut tied: Vec<usize>) -> usize {
        let turn = self.turn;
        self.turn += 1;
        if rule == Tie::Local {
            let mut own = tied.clone();
            own.retain(|position| matches!(self.views[*position].target, Target::Cluster(_)));
            if !own.is_empty() {
                tied = own;
            }
        }
        match rule {
            Tie::First => tied[0],
            // Only asking: nothing is drawn.
            Tie::Random if self.at.is_none() => tied[0],
            Tie::Random => tied[self.rng.random_range(0..tied.len())],
            Tie::Rotate | Tie::Local => {
                let position = turn % (tied.len() as u64);
                tied.into_iter().nth(position as usize).unwrap_or_default()
            }
        }
    }

    /// Whether a peer takes no jobs at the instant of the cycle.
    pub(super) fn is_closed(&self, target: Target) -> bool {
        let (Target::Peer(peer), Some(now)) = (target, self.at) else {
            return false;
        };
        for hours in &self.grid.hours {
            if hours.consumer == self.domain && hours.provider == peer {
                let table = &hours.timetable;
                let day = u128::from(table.day().as_nanos());
                let begun = u128::from(table.starts_at().as_nanos());
                let time = (u128::from(now.as_nanos()) + begun) % day;
                return !table.open().iter().any(|part| {
                    let from = u128::from(part.from.as_nanos());
                    (from..u128::from(part.until.as_nanos())).contains(&time)
                });
            }
        }
        false
    }
}
